"""Pictures from rays: what the camera sees of the world, one ray a pixel, without OpenGL.

What stands still is cast and shaded once and kept. For each picture only pixels inside the outlines of things that can
move, and of their shadows, are cast again; a render that casts everything gives the same picture to the last bit. It
looks at the world through a snapshot and changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.twin.lens import pixel_directions
from runner.twin.materials import Materials
from runner.twin.outlines import Mask, fill, footprint_points_m, grown, hull_points_m, nearness, shadow_points_m
from runner.twin.scene import BOARD, MOVING, STILL
from runner.twin.shading import Light, Sensor, shade
from runner.twin.textures import Decal, Pixels, sample_table, table_top, with_cables
from runner.twin.world import IntArray, Rays, Snapshot, World
from vision.calibration.view import View

SHADOW_BLUR_PX = 2.0  # half-shadow of a small lamp
_REACH_PX = 7  # of that blur
_EPSILON_M = 0.0004
_NOTHING = np.float32(0.02)
Flat = NDArray[np.intp]  # numbers of pixels, row by row, rising


@dataclass(frozen=True, slots=True, eq=False)
class Surfaces:
    """What some pixels show, row by row."""

    geom: IntArray  # (n,), -1 nothing
    points_m: Pixels  # (n, 3), base frame
    normals: Pixels  # (n, 3)
    albedo: Pixels  # (n, 3)

    def at(self, rows: Flat) -> Surfaces:
        """Some of them, as copies."""
        return Surfaces(self.geom[rows], self.points_m[rows], self.normals[rows], self.albedo[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Where some things may be seen, where their shadows may fall on the table, and how they darken it; (h, w)."""

    seen: Mask
    shadowed: Mask
    near: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Thrown:
    """Pixels of still things that are not the table, and which pixel of the table lies behind each as the lamp sees it.

    A shadow falls on such a pixel only if it would fall on that place of the table.
    """

    pixels: Flat  # (k,)
    behind: Flat  # (k,), -1 where that place is out of the picture

    def at(self, shadowed: Mask) -> Mask:
        """255 at those of the pixels on which these shadows may fall, (h, w)."""
        out = np.zeros_like(shadowed)
        hit = (self.behind < 0) | (shadowed.reshape(-1)[self.behind] != 0)
        out.reshape(-1)[self.pixels[hit]] = 255
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Still:
    """All about the things that never move, for one camera and one light."""

    distance_m: FloatArray  # (n,)
    surfaces: Surfaces
    thrown: Thrown
    lit: Mask  # (h, w): 255 where the lamp is seen
    near: Mask
    picture: NDArray[np.uint8]  # (h, w, 3), developed, not blurred


class Renderer:
    """One camera's renderer. `begin` gives it a light; `developed` makes the noiseless picture of a snapshot."""

    def __init__(self, world: World, view: View, board: Pixels) -> None:
        self._world, self._view, self._base = world, view, world.scene.base
        self._materials = Materials(world, board, float(view.K[0, 0]))
        self._eye_m = self._base.to_base(np.array(view.camera_m))
        self._width, self._height = view.size_px
        self._shape = self._height, self._width
        self._bare: tuple[FloatArray, Surfaces] | None = None
        self._still: Still | None = None
        self._light: Light | None = None

    def begin(self, light: Light, decals: Sequence[Decal], texture_seed: int) -> None:
        """A new desk in a new light; what is kept is made anew when the next picture is asked for."""
        self._light, self._decals, self._texture_seed = light, tuple(decals), texture_seed
        self._lamp_m = self._base.to_base(np.array(light.lamp_m))
        self._still = None

    def developed(self, snapshot: Snapshot, *, board_shown: bool = False, full: bool = False) -> NDArray[np.uint8]:
        """The picture of a snapshot, (h, w, 3), blurred, without noise.

        `full` keeps nothing and casts every pixel at everything; the result is equal.
        """
        if full:
            still = self._make_still(snapshot, self._cast_still(snapshot, full=True), full=True)
        else:
            self._bare = self._bare or self._cast_still(snapshot)
            still = self._still = self._still or self._make_still(snapshot, self._bare)
        groups = (MOVING, BOARD) if board_shown else (MOVING,)
        outlines = self._outlines(snapshot, groups, full=full)
        may_show = np.flatnonzero(outlines.seen != 0)
        shown, front = self._moving_surfaces(snapshot, may_show, groups, still)
        lit, layer, dark = self._shadows(snapshot, outlines.shadowed, front, shown, still)
        touched, soft = _softened(lit, layer, dark, outlines.near)
        surfaces = still.surfaces.at(touched)
        at = np.searchsorted(touched, front)
        surfaces.geom[at], surfaces.points_m[at] = shown.geom, shown.points_m
        surfaces.normals[at], surfaces.albedo[at] = shown.normals, shown.albedo
        near = _either(outlines.near, still.near).reshape(-1)[touched]
        picture = still.picture.copy()
        picture.reshape(-1, 3)[touched] = Sensor.developed(self._radiance(snapshot, surfaces, soft, near))
        return Sensor.blurred(picture)

    # Steps of a picture.

    def _outlines(self, snapshot: Snapshot, groups: Sequence[int], *, full: bool = False) -> Outlines:
        """The outlines of things of these groups (never of the table); `full`: everywhere, but where they are near."""
        m, table_z_m = self._materials, self._world.scene.table_z_m
        places, turns = snapshot.geom_place_m, snapshot.geom_turn
        chosen = [g for g in np.flatnonzero(np.isin(m.groups, groups)) if m.kinds[g] != "plane"]
        hulls = [hull_points_m(m.kinds[g], m.sizes_m[g], places[g], turns[g]) for g in chosen]
        seen, shadowed = np.zeros(self._shape, np.uint8), np.zeros(self._shape, np.uint8)
        for pixels in self._on_screen(hulls):
            fill(seen, pixels)
        for pixels in self._on_screen([shadow_points_m(hull, self._lamp_m, table_z_m) for hull in hulls]):
            fill(shadowed, pixels)
        if full:
            seen[:], shadowed[:] = 255, 255
        heights = [float(hull[:, 2].min()) - table_z_m for hull in hulls]
        down = self._on_screen([footprint_points_m(hull, table_z_m) for hull in hulls])
        return Outlines(seen, shadowed, nearness(down, heights, self._view.size_px))

    def _on_screen(self, groups_m: Sequence[FloatArray]) -> list[FloatArray]:
        """Pixels of several lists of points, one projection for all."""
        cuts = np.cumsum([len(points) for points in groups_m])[:-1]
        pixels = self._view.point_to_pixel(self._base.to_cell(np.concatenate(groups_m)))
        return np.split(pixels, cuts)

    def _moving_surfaces(
        self, snapshot: Snapshot, may_show: Flat, groups: Sequence[int], still: Still
    ) -> tuple[Surfaces, Flat]:
        """What is seen of moving things, and the pixels that show it."""
        directions = self._directions()[may_show]
        rays = snapshot.cast(self._eye_m, directions, groups, normals=True)
        front = rays.distance_m < still.distance_m[may_show]
        geom, distance = rays.geom[front], rays.distance_m[front]
        points = self._on_rays(directions[front], distance)
        m, places, turns = self._materials, snapshot.geom_place_m, snapshot.geom_turn
        albedo = m.albedo[geom]
        on_board = geom == m.board
        if on_board.any():
            albedo[on_board] = m.printed_on_board(points[on_board], distance[on_board], places, turns)
        normals = _normals(rays)[front]
        m.round_edges(geom, points, normals, places, turns)
        return Surfaces(geom, points, normals, albedo), may_show[front]

    def _shadows(
        self, snapshot: Snapshot, shadowed: Mask, front: Flat, shown: Surfaces, still: Still
    ) -> tuple[Mask, Mask, Mask]:
        """Which pixels the lamp reaches, which show moving things, and which may differ from the still picture in that.

        (h, w) each, 0 or 255. On still things one ray serves four pixels, for their shadows are soft; what is turned
        away from the lamp gets nothing of it, so no ray is spent on it.
        """
        dark = grown(_either(shadowed, still.thrown.at(shadowed)), 1)
        rows, columns = np.nonzero(dark[::2, ::2])
        points = still.surfaces.points_m[2 * rows * self._width + 2 * columns]
        coarse = np.full(dark[::2, ::2].shape, 255, np.uint8)
        coarse[rows, columns] = self._lamp_seen(snapshot, points, (MOVING, BOARD))
        lit = still.lit & coarse.repeat(2, axis=0).repeat(2, axis=1)[: self._height, : self._width]
        layer = np.zeros_like(dark)
        layer.reshape(-1)[front] = 255
        facing = ((self._lamp_m.astype(np.float32) - shown.points_m) * shown.normals).sum(axis=1) > 0.0
        reached = np.zeros(len(front), np.uint8)
        reached[facing] = self._lamp_seen(snapshot, shown.points_m[facing], (STILL, MOVING, BOARD))
        lit.reshape(-1)[front] = reached
        return lit, layer, _either(dark, layer)

    def _lamp_seen(self, snapshot: Snapshot, points_m: Pixels, groups: Sequence[int]) -> Mask:
        """255 where nothing stands between lamp and point, (n,)."""
        toward = points_m - self._lamp_m.astype(np.float32)
        distance = np.sqrt(toward[:, 0] ** 2 + toward[:, 1] ** 2 + toward[:, 2] ** 2)
        toward /= distance[:, None]
        rays = snapshot.cast(self._lamp_m, toward, groups)
        return np.where(rays.distance_m >= distance - _EPSILON_M, np.uint8(255), np.uint8(0))

    def _radiance(self, snapshot: Snapshot, seen: Surfaces, lit: NDArray[np.float32], near: Mask) -> Pixels:
        """Radiance of surfaces, (n, 3)."""
        assert self._light is not None
        m = self._materials
        room = m.room_seen(seen.geom, seen.points_m, snapshot.geom_place_m, snapshot.geom_turn)
        hidden = near.astype(np.float32) * np.float32(1 / 255.0)
        room = np.where(seen.geom == m.table, np.float32(1.0) - hidden, room)
        gloss = m.gloss[seen.geom] * np.float32(self._light.glare)
        out = shade(self._light, self._lamp_m, self._eye_m, seen.points_m, seen.normals, seen.albedo, lit, room, gloss)
        out[seen.geom < 0] = _NOTHING
        return out

    # What is kept.

    def _directions(self) -> Pixels:
        return pixel_directions(self._view, self._base)

    def _on_rays(self, directions: Pixels, distance_m: FloatArray) -> Pixels:
        points = directions * distance_m.astype(np.float32)[:, None]
        points += self._eye_m.astype(np.float32)
        return np.asarray(points)

    def _cast_still(self, snapshot: Snapshot, *, full: bool = False) -> tuple[FloatArray, Surfaces]:
        """What all pixels show of still things: distances, and surfaces without colour. Outlives light and textures.

        Rays say what is seen; where on the table follows from its plane.
        """
        directions, m = self._directions(), self._materials
        with np.errstate(divide="ignore"):
            distance = (self._world.scene.table_z_m - self._eye_m[2]) / directions[:, 2]
        distance = np.where(distance > 0, distance, np.inf)
        geom = np.where(np.isfinite(distance), np.int32(m.table), np.int32(-1))
        normals = np.zeros((len(geom), 3), np.float32)
        normals[:, 2] = 1.0
        mask = np.full(self._shape, 255, np.uint8)
        if not full:
            mask[:] = 0
            for pixels in self._on_screen(self._upright_hulls(snapshot)):
                fill(mask, pixels)
        where = np.flatnonzero(mask)
        rays = snapshot.cast(self._eye_m, directions[where], (STILL,), normals=True)
        upright = (rays.geom >= 0) & (rays.geom != m.table)
        at = where[upright]
        geom[at], distance[at], normals[at] = rays.geom[upright], rays.distance_m[upright], _normals(rays)[upright]
        points = self._on_rays(directions, np.where(np.isfinite(distance), distance, 5.0))
        on = normals[at]
        m.round_edges(geom[at], points[at], on, snapshot.geom_place_m, snapshot.geom_turn)
        normals[at] = on
        return distance, Surfaces(geom, points, normals, np.empty((0, 3), np.float32))

    def _make_still(self, snapshot: Snapshot, bare: tuple[FloatArray, Surfaces], *, full: bool = False) -> Still:
        assert self._light is not None
        distance, found = bare
        m = self._materials
        albedo = m.albedo[found.geom]
        on_table = found.geom == m.table
        top = table_top(self._light.table_kind, self._texture_seed)
        top = with_cables(top) if self._world.scene.config.twin.clutter else top
        M, shift = self._base.M.astype(np.float32), self._base.shift_m.astype(np.float32)
        px, py, pz = (found.points_m[on_table, i] for i in range(3))
        x, z = (M[i, 0] * px + M[i, 1] * py + M[i, 2] * pz + shift[i] for i in (0, 2))
        albedo[on_table] = sample_table(top, self._decals, x, z)
        surfaces = Surfaces(found.geom, found.points_m, found.normals, albedo)
        outlines = self._outlines(snapshot, (STILL,), full=full)
        upright = np.where(on_table, np.uint8(0), np.uint8(255)).reshape(self._shape)
        dark = _either(outlines.shadowed, outlines.seen, upright)
        where = np.flatnonzero(dark)
        lit = np.full(self._width * self._height, 255, np.uint8)
        lit[where] = self._lamp_seen(snapshot, found.points_m[where], (STILL,))
        lit = lit.reshape(self._shape)
        everything = np.full(self._shape, 255, np.uint8)
        _, soft = _softened(lit, np.zeros(self._shape, np.uint8), everything, everything)
        radiance = self._radiance(snapshot, surfaces, soft, outlines.near.reshape(-1))
        picture = Sensor.developed(radiance).reshape(*self._shape, 3)
        return Still(distance, surfaces, self._thrown(found, upright), lit, outlines.near, picture)

    def _thrown(self, found: Surfaces, upright: Mask) -> Thrown:
        pixels = np.flatnonzero(upright)
        on_table = shadow_points_m(found.points_m[pixels], self._lamp_m, self._world.scene.table_z_m)
        assert len(on_table) == len(pixels), "no still thing stands as high as the lamp"
        column, row = np.rint(self._view.point_to_pixel(self._base.to_cell(on_table))).T
        inside = (column >= 0) & (column < self._width) & (row >= 0) & (row < self._height)
        behind = np.where(inside, row * self._width + column, -1).astype(np.intp)
        return Thrown(pixels, behind)

    def _upright_hulls(self, snapshot: Snapshot) -> list[FloatArray]:
        m, places, turns = self._materials, snapshot.geom_place_m, snapshot.geom_turn
        chosen = [g for g in np.flatnonzero(m.groups == STILL) if m.kinds[g] != "plane"]
        return [hull_points_m(m.kinds[g], m.sizes_m[g], places[g], turns[g]) for g in chosen]


def _normals(rays: Rays) -> NDArray[np.float32]:
    assert rays.normal is not None
    return rays.normal.astype(np.float32)


def _either(*masks: Mask) -> Mask:
    """The largest of them at each pixel."""
    return np.asarray(np.maximum.reduce(masks), np.uint8)


def _softened(lit: Mask, layer: Mask, dark: Mask, near: Mask) -> tuple[Flat, NDArray[np.float32]]:
    """Pixels whose brightness may differ from that of the still picture, and how much of the lamp each sees, 0…1.

    Shadows are blurred, but not across the edges of moving things.
    """
    touched = _either(grown(dark, _REACH_PX), near)
    x, y, w, h = cv2.boundingRect(touched)
    a, b = max(0, y - _REACH_PX), max(0, x - _REACH_PX)
    part = slice(a, y + h + _REACH_PX), slice(b, x + w + _REACH_PX)
    lit, layer, chosen = lit[part], layer[part], touched[part] != 0
    kernel = (2 * _REACH_PX + 1,) * 2

    def blurred(image: Mask) -> Mask:
        whole: Mask = np.asarray(cv2.GaussianBlur(image, kernel, SHADOW_BLUR_PX), np.uint8)
        return np.asarray(whole[chosen])

    moving = layer[chosen] != 0
    rest = ~layer
    light = np.where(moving, blurred(lit & layer), blurred(lit & rest))
    space = np.where(moving, blurred(layer), blurred(rest))
    soft = np.minimum(light.astype(np.float32) / np.maximum(space, 1).astype(np.float32), np.float32(1.0))
    return np.flatnonzero(touched != 0), soft
