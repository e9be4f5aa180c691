"""What single squares add to the global fit: the middle of their lessons' rests, shrunk towards their neighbours.

How far squares differ at all is estimated from the lessons themselves: where they don't, nothing is left to correct.

Source: best linear prediction of a normal field from noisy means (kriging; Cressie, Statistics for Spatial Data, 1993);
the middle of a square is Huber's estimate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import hypot

import numpy as np
from numpy.typing import NDArray

from runs.corrections.model import SquareValue, square_key
from runs.corrections.table import SQUARE_MM, Direction, Lesson

Array = NDArray[np.float64]

REACH_MM = 30.0
"""Over this distance squares have much in common."""

OTHER_DIRECTION = 0.5
"""How much a square has in common with itself when the tool comes from elsewhere."""

MOST_DIFFERENCE_MM = 4.0
"""Squares are never taken to differ by more than this in the mean; what is more is a matter of the global fit."""


def fit_squares(
    lessons: Sequence[Lesson], residual_mm: Array, weight: Array, noise_mm: float, cap_mm: float
) -> dict[str, SquareValue]:
    """Values by `square_key`, each at most `cap_mm` long.

    Args:
        residual_mm: what the global fit leaves of each lesson, shape (n, 2).
        weight: 0 for a lesson that is an outlier there; it counts only where its square agrees with it.
    """
    by_square: dict[tuple[str, Direction], list[int]] = defaultdict(list)
    for i, lesson in enumerate(lessons):
        by_square[lesson.key, lesson.way.direction].append(i)
    keep: list[tuple[str, Direction]] = []
    middles, spreads, counts = [], [], []
    for square, members in sorted(by_square.items()):
        believed = members if len(members) >= 3 else [i for i in members if weight[i] > 0]
        if not believed:
            continue
        middle, spread = _middle(residual_mm[believed], noise_mm)
        keep.append(square)
        middles.append(middle)
        spreads.append(spread)
        counts.append(len(believed))
    if not keep:
        return {}
    values = _shrunk(keep, np.array(middles), np.array(counts, dtype=np.float64), noise_mm)
    found = {}
    for (key, direction), (dx, dz), n, spread in zip(keep, values.tolist(), counts, spreads, strict=True):
        size = hypot(dx, dz)
        share = 1.0 if size <= cap_mm else cap_mm / size
        way = lessons[by_square[key, direction][0]].way
        found[square_key(key, way)] = SquareValue(dx_mm=dx * share, dz_mm=dz * share, n=n, spread_mm=spread)
    return found


def _middle(points: Array, noise_mm: float) -> tuple[Array, float | None]:
    """Huber's middle of some points (n, 2), and the median distance from it."""
    middle = np.median(points, axis=0)
    for _ in range(20):
        size = np.linalg.norm(points - middle, axis=1)
        weight = np.minimum(1.0, 1.5 * noise_mm / np.maximum(size, 1e-12))
        middle = (points * weight[:, None]).sum(axis=0) / weight.sum()
    spread = float(np.median(np.linalg.norm(points - middle, axis=1))) if len(points) > 1 else None
    return middle, spread


def _shrunk(squares: list[tuple[str, Direction]], middles: Array, counts: Array, noise_mm: float) -> Array:
    """The middles (m, 2) drawn towards zero and towards each other by how little is known of them."""
    doubt = noise_mm**2 / counts
    weight = counts / counts.sum()
    differ = float((weight[:, None] * middles**2).sum() / 2 - (weight * doubt).sum())
    tau2 = min(MOST_DIFFERENCE_MM**2, max(0.0, differ))
    if tau2 <= 0.0:
        return np.zeros_like(middles)
    limit = 3 * np.sqrt(tau2 + doubt)[:, None]  # one wild square must not pull its neighbours along
    size = np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), 1e-12)
    believed = middles * np.minimum(1.0, limit / size)
    at = np.array([_centre_mm(key) for key, _ in squares])
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    alike = np.exp(-(apart**2) / (2 * REACH_MM**2))
    phases = np.array([key.partition("_")[0] for key, _ in squares])
    directions = np.array([direction for _, direction in squares])
    alike *= phases[:, None] == phases[None]
    alike *= np.where(directions[:, None] == directions[None], 1.0, OTHER_DIRECTION)
    K = tau2 * alike
    return np.asarray(K @ np.linalg.solve(K + np.diag(doubt), believed))


def _centre_mm(key: str) -> tuple[float, float]:
    _, x, z = key.split("_")
    return float(x[1:]), float(z[1:])


assert SQUARE_MM <= REACH_MM
