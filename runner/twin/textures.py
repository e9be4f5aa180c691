"""What is printed and grown on surfaces: the table top, markers, calibration board, things lying flat on the desk.

Makes images of linear reflectance and looks them up; knows no light and no camera. Colours are blue, green, red.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import cos, radians, sin

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.twin.streams import stream

Pixels = NDArray[np.float32]
Column = NDArray[np.float32] | NDArray[np.float64]
_FOLD = 4096  # cv2.remap takes no map with a side of 32,767 or more: long lists are folded into rows

TABLE_PX_PER_M = 800.0
TABLE_X_M, TABLE_Z_M = (-0.66, 0.66), (-0.22, 0.60)  # what of the table has a texture, cell frame

# Table tops: (dark, light) linear blue, green, red, and how strong the grain is.
_WOODS = {
    "oak": ((0.115, 0.205, 0.315), (0.185, 0.315, 0.450), 1.0),
    "beech": ((0.215, 0.335, 0.455), (0.275, 0.400, 0.525), 0.7),
    "walnut": ((0.030, 0.052, 0.088), (0.070, 0.110, 0.170), 1.0),
}
_LAMINATES = {
    "grey": ((0.160, 0.158, 0.152), (0.200, 0.197, 0.190)),
    "slate": ((0.060, 0.058, 0.055), (0.080, 0.078, 0.074)),
    "sand": ((0.250, 0.290, 0.320), (0.300, 0.340, 0.370)),
}
TABLE_KINDS = (*_WOODS, *_LAMINATES)


@dataclass(frozen=True, slots=True, eq=False)
class Decal:
    """A picture lying flat: `image` (h, w, 3) linear reflectance, its first row at the far end (+v)."""

    centre_xz_m: tuple[float, float]
    yaw_deg: float  # of its width, from +x toward +z
    size_m: tuple[float, float]  # width, height
    image: Pixels


def sample(image: Pixels, u_px: Column, v_px: Column) -> Pixels:
    """Values at pixel places, (n, 3), bilinear; beyond the edge the edge's value."""
    n = len(u_px)
    rows = -(-n // _FOLD)
    maps = np.zeros((2, rows * _FOLD), np.float32)
    maps[0, :n], maps[1, :n] = u_px, v_px
    out = cv2.remap(
        image,
        maps[0].reshape(rows, _FOLD),
        maps[1].reshape(rows, _FOLD),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(out, np.float32).reshape(-1, 3)[:n]


def sample_table(table: Pixels, decals: Sequence[Decal], x_m: Column, z_m: Column) -> Pixels:
    """Reflectance of the table, (n, 3), at points of the cell frame, (n,) each; decals lie over it, the last on top."""
    u = (x_m - TABLE_X_M[0]) * TABLE_PX_PER_M - 0.5
    v = (z_m - TABLE_Z_M[0]) * TABLE_PX_PER_M - 0.5
    out = sample(table, u, v)
    for decal in decals:
        c, s = cos(radians(decal.yaw_deg)), sin(radians(decal.yaw_deg))
        dx, dz = x_m - decal.centre_xz_m[0], z_m - decal.centre_xz_m[1]
        along, across = c * dx + s * dz, c * dz - s * dx
        inside = np.flatnonzero((np.abs(along) < decal.size_m[0] / 2) & (np.abs(across) < decal.size_m[1] / 2))
        if len(inside):
            h, w = decal.image.shape[:2]
            u = (along[inside] / decal.size_m[0] + 0.5) * w - 0.5
            v = (0.5 - across[inside] / decal.size_m[1]) * h - 0.5
            out[inside] = sample(decal.image, u, v)
    return out


@lru_cache(maxsize=4)
def table_top(kind: str, seed: int) -> Pixels:
    """The table's reflectance, one row a line of z, first row at `TABLE_Z_M[0]`; read-only by agreement."""
    rng = stream(seed, f"table {kind}")
    h = round((TABLE_Z_M[1] - TABLE_Z_M[0]) * TABLE_PX_PER_M)
    w = round((TABLE_X_M[1] - TABLE_X_M[0]) * TABLE_PX_PER_M)
    if kind in _WOODS:
        dark, light, strength = _WOODS[kind]
        share = _grain(rng, h, w, strength)
    else:
        dark, light = _LAMINATES[kind]
        share = 0.5 + 0.35 * _noise(rng, h, w, 6, 6) + 0.4 * _noise(rng, h, w, h // 3, w // 3)
    share = np.clip(share, 0.0, 1.0).astype(np.float32)
    a, b = (np.array(c, np.float32) for c in (dark, light))
    return np.asarray(a + share[..., None] * (b - a), np.float32)


def with_cables(table: Pixels) -> Pixels:
    """The table with two cables lying on it: from the mast to the right, from the base to the left."""
    out = table.copy()
    for course in (
        ((0.03, 0.52), (0.10, 0.485), (0.24, 0.470), (0.37, 0.478), (0.62, 0.452)),
        ((-0.05, -0.03), (-0.13, -0.055), (-0.25, -0.048), (-0.36, -0.070), (-0.62, -0.064)),
    ):
        places = (np.array(course) - (TABLE_X_M[0], TABLE_Z_M[0])) * TABLE_PX_PER_M
        t = np.linspace(0, len(course) - 1, 60)
        bends = np.stack([np.interp(t, np.arange(len(course)), places[:, i]) for i in (0, 1)], axis=1)
        bends = np.asarray(cv2.blur(bends.astype(np.float32), (1, 13), borderType=cv2.BORDER_REPLICATE))
        line = [np.rint(bends * 16).astype(np.int32)]
        for width, colour in ((5, (0.020, 0.020, 0.021)), (1, (0.10, 0.10, 0.10))):
            cv2.polylines(out, line, False, colour, width, cv2.LINE_AA, 4)
    return out


def _noise(rng: np.random.Generator, h: int, w: int, rows: int, columns: int) -> Pixels:
    """Smooth noise, about -1…1, with that many cells down and across."""
    small = rng.normal(0.0, 0.5, (max(rows, 2), max(columns, 2))).astype(np.float32)
    return np.asarray(cv2.resize(small, (w, h), interpolation=cv2.INTER_CUBIC), np.float32)


def _grain(rng: np.random.Generator, h: int, w: int, strength: float) -> Pixels:
    """Planks along x with year rings that wander, fine pores, and a tone for each plank; 0…1."""
    rows = np.broadcast_to(np.arange(h, dtype=np.float32)[:, None], (h, w))
    plank_px = 0.125 * TABLE_PX_PER_M
    first_px = float(rng.uniform(0, plank_px))
    plank = np.floor((rows + first_px) / plank_px).astype(int)
    n = int(plank.max()) + 1
    tone, shift = rng.normal(0.0, 0.13, n).astype(np.float32), rng.uniform(0, 40, n).astype(np.float32)
    wander = 2.4 * _noise(rng, h, w, 12, 3) + 0.9 * _noise(rng, h, w, 40, 9)
    rings = np.sin(rows / 9.0 + shift[plank] + 2.2 * wander) * 0.5 + np.sin(rows / 3.1 + 3.0 * wander) * 0.22
    pores = _noise(rng, h, w, h // 2, w // 40)
    share = 0.55 + strength * (0.20 * rings + 0.16 * pores + 0.10 * _noise(rng, h, w, 5, 5)) + tone[plank]
    seam = np.abs((rows + first_px) % plank_px - plank_px / 2) > plank_px / 2 - 0.8
    return np.asarray(np.where(seam, share - 0.35, share), np.float32)


def printed(grey: NDArray[np.uint8], *, paper: float = 0.78, ink: float = 0.035) -> Pixels:
    """A black-and-white print as linear reflectance, (h, w, 3)."""
    share = (grey.astype(np.float32) / 255.0)[..., None]
    tint = np.array([0.985, 1.0, 1.0], np.float32)
    return np.asarray((ink + share * (paper - ink)) * tint, np.float32)


def marker_image(marker_id: int, *, cells_px: int = 24) -> NDArray[np.uint8]:
    """An ArUco marker of DICT_4X4_50 with a white rim of one cell, grey, (8 × cells_px) on a side."""
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    inner = cv2.aruco.generateImageMarker(dictionary, marker_id, 6 * cells_px)
    return np.asarray(
        cv2.copyMakeBorder(inner, cells_px, cells_px, cells_px, cells_px, cv2.BORDER_CONSTANT, value=255), np.uint8
    )


def pyramid(image: Pixels, levels: int) -> list[Pixels]:
    """The image and its halves, for looking up at several distances."""
    out = [image]
    for _ in range(levels - 1):
        out.append(np.asarray(cv2.resize(out[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.float32))
    return out
