"""What surfaces are like: colour, gloss, rounded edges, how much of the room is seen from the box, the board's print.

Answers for points that a ray has met; casts none. Kept apart from light, so that both can change alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.twin.textures import Pixels, pyramid, sample
from runner.twin.world import IntArray, World

_GLOSS = {"table": 1.0, "box": 0.35, "block": 0.9, "look": 1.3, "hand": 0.8, "pad": 0.2, "mug": 2.0, "coffee": 2.0}
_GLOSS_ELSE = 0.6
_EDGE_M = 0.0028  # radius of moulded edges
_EDGE_SHARE = 0.4  # but no more than this of a thing's half thickness


class Materials:
    """Surfaces of one world's geoms. Lists of points come with the geom of each; geom -1 is nothing."""

    def __init__(self, world: World, board: Pixels, focal_px: float) -> None:
        self._scene = world.scene
        self.names = world.geom_names()
        self.kinds, self.sizes_m, self.groups, rgb = world.geom_table()
        self.albedo = rgb[:, ::-1].astype(np.float32)
        gloss = [_GLOSS.get(name.split("_")[0], _GLOSS_ELSE) for name in self.names]
        self.gloss = np.array([*gloss, 0.0], np.float32)
        self.table, self.board = self.names.index("table"), self.names.index("board")
        self._box_floor = self.names.index("box_floor")
        self._of_box = np.array([*(n.startswith("box_") for n in self.names), False])
        self._is_box = np.array([*(k == "box" for k in self.kinds), False])
        self._edge_m = np.minimum(_EDGE_M, _EDGE_SHARE * self.sizes_m.min(axis=1, initial=1.0, where=self.sizes_m > 0))
        self._prints, self._focal_px = pyramid(board, 4), focal_px

    def round_edges(
        self,
        geom: IntArray,
        points_m: Pixels,
        normals: Pixels,
        places_m: FloatArray,
        turns: FloatArray,
    ) -> None:
        """Bend the normals of points near the edges of box geoms, in place: no plastic part has a knife's edge."""
        rows = np.flatnonzero(self._is_box[geom])
        g = geom[rows]
        turn, off = turns[g], points_m[rows] - places_m[g]
        local = [off[:, 0] * turn[:, 0, j] + off[:, 1] * turn[:, 1, j] + off[:, 2] * turn[:, 2, j] for j in range(3)]
        edge, half = self._edge_m[g], self.sizes_m[g]
        bend = [np.clip((np.abs(local[j]) - half[:, j]) / edge + 1.0, 0.0, 1.0) * np.sign(local[j]) for j in range(3)]
        length = np.sqrt(bend[0] ** 2 + bend[1] ** 2 + bend[2] ** 2)
        near = length > 1.0 + 1e-6
        if not near.any():
            return
        turn, length = turn[near], length[near]
        b0, b1, b2 = (b[near] / length for b in bend)
        for i in range(3):
            normals[rows[near], i] = turn[:, i, 0] * b0 + turn[:, i, 1] * b1 + turn[:, i, 2] * b2

    def room_seen(
        self, geom: IntArray, points_m: Pixels, places_m: FloatArray, turns: FloatArray
    ) -> NDArray[np.float32]:
        """How much of the room each point sees, (n,): inside the box less, the deeper and the nearer to a corner."""
        room = np.ones(len(geom), np.float32)
        rows = np.flatnonzero(self._of_box[geom])
        settings = self._scene.config.box
        off, turn = points_m[rows] - places_m[self._box_floor], turns[self._box_floor]
        along, across, up = (off[:, 0] * turn[0, i] + off[:, 1] * turn[1, i] + off[:, 2] * turn[2, i] for i in range(3))
        half = (np.array(settings.outside_mm) / 2 - settings.wall_mm) / 1000.0 + 0.0003
        left, near = half[0] - np.abs(along), half[1] - np.abs(across)
        rise = np.clip(up / (settings.wall_height_mm / 1000.0), 0.0, 1.0)
        corner = np.clip(np.minimum(left, near) / 0.03, 0.0, 1.0)
        dark = np.minimum(0.58 + 0.34 * rise + 0.14 * corner * (1 - rise), 1.0)
        room[rows] = np.where((left > 0) & (near > 0), dark, 1.0)
        return room

    def printed_on_board(
        self, points_m: Pixels, distance_m: FloatArray, places_m: FloatArray, turns: FloatArray
    ) -> Pixels:
        """The print at points on the board, from the copy whose pixels are about as large as the camera's."""
        off, turn = points_m - places_m[self.board], turns[self.board]
        along, across, up = (off[:, 0] * turn[0, i] + off[:, 1] * turn[1, i] + off[:, 2] * turn[2, i] for i in range(3))
        width_m, height_m = self._scene.board_size_m
        seen_texels = float(np.median(distance_m)) / self._focal_px / (width_m / self._prints[0].shape[1])
        level = int(np.clip(np.floor(np.log2(max(seen_texels, 1.0))), 0, len(self._prints) - 1))
        image = self._prints[level]
        u = (along / width_m + 0.5) * image.shape[1] - 0.5
        v = (0.5 - across / height_m) * image.shape[0] - 0.5
        return np.where((up > -0.0002)[:, None], sample(image, u, v), self.albedo[self.board])
