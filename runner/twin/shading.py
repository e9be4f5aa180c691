"""Light and sensor: how bright a seen point is, and how a picture of it comes out.

One small lamp with a shadow, light from the room, a highlight on smooth surfaces; then exposure, white balance, blur,
gamma and noise. Knows no geometry beyond the points and directions that it is given.
Arithmetic is the same for one pixel as for all, so that a part of a picture equals that part of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.twin.streams import stream
from runner.twin.textures import TABLE_KINDS, Pixels

NOISE_SIGMA = 2.0  # of 255
BLUR_PX = 0.6
GAMMA = 2.2
WHITE = 0.8  # share of the sensor's range that a radiance of 1 takes
_LEVELS = 65536
_BANK_MARGIN_PX = 192


@dataclass(frozen=True, slots=True, eq=False)
class Light:
    """Lamp, room, table top and the camera's answer to them, for one seed. Colours are blue, green, red."""

    lamp_m: tuple[float, float, float]  # cell frame
    lamp: NDArray[np.float32]  # (3,), irradiance at the middle of the table, lamp straight above
    room: NDArray[np.float32]  # (3,)
    glare: float
    table_kind: str
    lamp_k: float  # colour temperature


def light_for(seed: int, height_m: float) -> Light:
    """The light of a seed: place, warm to cold, strength, and how well the camera corrects for it."""
    rng = stream(seed, "light")
    lamp_k, room_k = float(rng.uniform(2900, 6400)), float(rng.uniform(4500, 7000))
    corrected = float(rng.uniform(0.55, 0.9))  # how much of the cast the white balance takes out
    lamp_share, exposure = float(rng.uniform(0.5, 0.72)), float(rng.uniform(0.84, 1.08))
    cast = _blackbody(lamp_k) * lamp_share + _blackbody(room_k) * (1 - lamp_share)
    balance = (cast / cast[1]) ** corrected
    place = (
        float(rng.uniform(-0.45, 0.45)),
        height_m + float(rng.uniform(-0.08, 0.08)),
        float(rng.uniform(-0.15, 0.40)),
    )
    return Light(
        lamp_m=place,
        lamp=(exposure * lamp_share * _blackbody(lamp_k) / balance).astype(np.float32),
        room=(exposure * (1 - lamp_share) * _blackbody(room_k) / balance).astype(np.float32),
        glare=float(rng.uniform(0.02, 0.10)),
        table_kind=str(rng.choice(TABLE_KINDS)),
        lamp_k=lamp_k,
    )


def _blackbody(kelvin: float) -> FloatArray:
    """Rough linear blue, green, red of a lamp, green 1: a fit through 2,700 K and 6,500 K."""
    t = (kelvin - 6500.0) / 1000.0
    return np.array([np.exp(0.23 * t), 1.0, np.exp(-0.16 * t)])


def shade(
    light: Light,
    lamp_at_m: FloatArray,
    eye_m: FloatArray,
    points_m: Pixels,
    normals: Pixels,
    albedo: Pixels,
    lit: NDArray[np.float32],
    room: NDArray[np.float32],
    gloss: NDArray[np.float32],
) -> Pixels:
    """Radiance toward the eye, (n, 3), 1 for a white sheet in the middle of the table.

    Args:
        lamp_at_m, eye_m: (3,), in the frame of `points_m`.
        points_m, normals: (n, 3), normals unit and outward.
        albedo: (n, 3); lit: (n,), how much of the lamp is seen; room: (n,), how much of the room is seen.
        gloss: (n,), strength of the highlight.
    """
    out = np.empty((len(points_m), 3), np.float32)
    lx, ly, lz = (np.float32(lamp_at_m[i]) - points_m[:, i] for i in range(3))
    nx, ny, nz = (normals[:, i] for i in range(3))
    d2 = lx * lx + ly * ly + lz * lz
    d = np.sqrt(d2)
    facing = np.maximum((lx * nx + ly * ny + lz * nz) / d, np.float32(0.0))
    reach = np.float32(lamp_at_m[2] * lamp_at_m[2]) / d2
    direct = facing * reach * lit
    ex, ey, ez = (np.float32(eye_m[i]) - points_m[:, i] for i in range(3))
    e = np.sqrt(ex * ex + ey * ey + ez * ez)
    hx, hy, hz = lx / d + ex / e, ly / d + ey / e, lz / d + ez / e
    shine = np.maximum((hx * nx + hy * ny + hz * nz) / np.sqrt(hx * hx + hy * hy + hz * hz), np.float32(0.0))
    for _ in range(6):  # to the 64th
        shine = shine * shine
    shine = shine * gloss * lit
    sky = room * (np.float32(0.62) + np.float32(0.38) * nz)
    for c in range(3):
        out[:, c] = albedo[:, c] * (light.lamp[c] * direct + light.room[c] * sky) + light.lamp[c] * shine
    return out


class Sensor:
    """Radiance to pictures: gamma, blur, noise. Two captures of the same radiance differ in noise alone."""

    def __init__(self, size_px: tuple[int, int], seed: int) -> None:
        self._width, self._height = size_px
        self._rng = stream(seed, "noise")

    @staticmethod
    def developed(radiance: Pixels) -> NDArray[np.uint8]:
        """Radiance (n, 3) as 8 bit values, before blur and noise."""
        stored = np.minimum(radiance * np.float32(WHITE * _LEVELS), np.float32(_LEVELS - 1))
        return np.asarray(_gamma_table()[stored.astype(np.uint16)], np.uint8)

    @staticmethod
    def blurred(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The lens's softness over a developed picture, (h, w, 3)."""
        return np.asarray(cv2.GaussianBlur(picture, (5, 5), BLUR_PX), np.uint8)

    def capture(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """One capture of a blurred picture: windows of the stock of noise at random places, maybe turned over."""
        places = self._rng.integers(0, _BANK_MARGIN_PX, (3, 2)).tolist()
        flips, minus = int(self._rng.integers(4)), bool(self._rng.integers(2))
        bank = _noise_bank(self._width, self._height)
        turns = slice(None, None, -1 if flips & 1 else 1), slice(None, None, -1 if flips & 2 else 1)
        noise = cv2.merge([bank[y : y + self._height, x : x + self._width][turns] for y, x in places])
        put = cv2.subtract if minus else cv2.add
        return np.asarray(put(picture, noise, dtype=cv2.CV_8U), np.uint8)


@cache
def _gamma_table() -> NDArray[np.uint8]:
    return np.asarray(np.round(255.0 * np.linspace(0.0, 1.0, _LEVELS) ** (1 / GAMMA)), np.uint8)


@cache
def _noise_bank(width: int, height: int) -> NDArray[np.int8]:
    """A stock of noise larger than a picture, the same for every seed; seeds choose where to look."""
    shape = (height + _BANK_MARGIN_PX, width + _BANK_MARGIN_PX)
    drawn = stream(0, "stock of noise").standard_normal(shape, dtype=np.float32)
    return np.asarray(np.rint(drawn * NOISE_SIGMA), np.int8)
