"""The global fit: the few figures that explain how the tip misses all over the table, by robust least squares.

Parameters that the lessons can't tell apart are left alone and named: each is taken in turn, in a fixed order, and only
if what it does, beyond what those already taken can do, is known well. It fits no squares and decides about no use.

Source: iteratively reweighted least squares, Huber's weights and then Tukey's biweight (Huber and Ronchetti, Robust
Statistics, 2009), with a normal prior on each parameter, so that what little data says moves little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runs.corrections.model import JOINTS, TOOL, LeftAlone, Parameter, columns_at
from runs.corrections.table import Lesson

Array = NDArray[np.float64]

PRIORS: dict[str, tuple[Literal["mm", "deg", "%"], float]] = {
    **dict.fromkeys(JOINTS, ("deg", 2.0)),
    **dict.fromkeys(TOOL, ("mm", 5.0)),
    "shift_x": ("mm", 20.0),
    "shift_z": ("mm", 20.0),
    "yaw": ("deg", 3.0),
    "scale": ("%", 1.0),
    "height": ("mm", 20.0),
}
"""Unit and how far off each is taken to be at most or so before anything is known, in the order of being taken.

What an arm has comes first: a joint's zero and the gripper's place also say how far the tip is up, and by how much the
camera therefore sees it elsewhere than it is. What a camera has can imitate the horizontal part of that, and then takes
for a miss what is none. A calibrated camera's scale is nearly right.
"""

KNOWN = 0.33
"""A parameter is taken if its standard deviation falls to this share of the prior's."""

OF_ITS_OWN = 0.02
"""And if at least this share of what it does can't be done by those already taken."""

LEAST_NOISE_MM = 0.5
"""A camera's measurement is never believed better than this."""

USUAL_NOISE_MM = 1.5
"""What is expected of a measurement before much is known; it counts as much as `USUAL_LESSONS` lessons."""

USUAL_LESSONS = 5

OUTLIER = 5.0
"""Lessons that lie off by so many times the noise don't count at all."""

RAYLEIGH_MEDIAN = 1.1774
"""Median length of a vector of two normal coordinates of standard deviation 1."""


@dataclass(frozen=True, slots=True, eq=False)
class WideFit:
    """The global fit of some lessons. `residual_mm` (n, 2) is what it leaves; `weight` (n,) is 0 for an outlier."""

    parameters: tuple[Parameter, ...]
    covariance: Array
    left_alone: tuple[LeftAlone, ...]
    about_xz_mm: tuple[float, float]
    noise_mm: float
    residual_mm: Array
    weight: Array


def alike(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Those that say of their way all that most say: a few from elsewhere must take no parameter from all."""
    said = [set(columns_at(lesson.xz_m, lesson.way, (0.0, 0.0))) for lesson in lessons]
    most = {name for name in PRIORS if 2 * sum(name in one for one in said) > len(said)}
    return [lesson for lesson, one in zip(lessons, said, strict=True) if most <= one]


def fit_wide(lessons: Sequence[Lesson]) -> WideFit:
    """Fit the parameters that the lessons can tell. At least one lesson; with one or two only a shift, and little."""
    missed = np.array([lesson.uncorrected_mm for lesson in lessons], dtype=np.float64)
    places = np.array([lesson.xz_m for lesson in lessons], dtype=np.float64) * 1000
    middle = np.median(places, axis=0)
    about = (float(middle[0]), float(middle[1]))
    found = [columns_at(lesson.xz_m, lesson.way, about, seen=True) for lesson in lessons]
    names = [name for name in PRIORS if all(name in one for one in found)]
    A = np.array([[one[name] for name in names] for one in found], dtype=np.float64).transpose(0, 2, 1)
    prior = np.array([PRIORS[name][1] for name in names])
    _, _, noise, _ = _robust(A, missed, prior)  # with all of them, to know the noise
    taken, left = _told_apart(A, names, prior, noise)
    value, covariance, noise, weight = _robust(A[:, :, taken], missed, prior[taken])
    unknown = [name for name in PRIORS if name not in names and any(name in one for one in found)]
    left += [LeftAlone(name=name, why="not every lesson says what it does") for name in unknown]
    parameters = tuple(
        Parameter(name=names[k], unit=PRIORS[names[k]][0], value=float(v), sd=float(np.sqrt(covariance[i, i])))
        for i, (k, v) in enumerate(zip(taken, value, strict=True))
    )
    residual = missed - A[:, :, taken] @ value
    return WideFit(parameters, covariance, tuple(left), about, noise, residual, weight)


def _told_apart(A: Array, names: list[str], prior: Array, noise: float) -> tuple[list[int], list[LeftAlone]]:
    """Which columns can be told apart, in the order of `PRIORS`; the others with the reason."""
    whole = A.reshape(-1, len(names)) * prior / noise
    taken: list[int] = []
    left: list[LeftAlone] = []
    for k, name in enumerate(names):
        column, basis = whole[:, k], whole[:, taken]
        size = float(column @ column)
        if size < 1e-9:
            left.append(LeftAlone(name=name, why="it does not move the tip where the lessons are"))
            continue
        share, *_ = np.linalg.lstsq(basis, column, rcond=None)
        own = column - basis @ share
        information = float(own @ own)
        if information < OF_ITS_OWN * size:
            alike = [names[taken[i]] for i in np.argsort(-np.abs(share)) if abs(share[i]) > 0.1 * np.abs(share).max()]
            left.append(LeftAlone(name=name, why=f"does here what {' and '.join(alike[:3])} can do as well"))
        elif 1 / np.sqrt(1 + information) > KNOWN:
            left.append(LeftAlone(name=name, why="too few lessons, or too near one another, to tell it"))
        else:
            taken.append(k)
    return taken, left


def _robust(A: Array, missed: Array, prior: Array) -> tuple[Array, Array, float, Array]:
    """Value (k,), covariance (k, k), noise in mm a coordinate, weight (n,) of the lessons."""
    n, _, k = A.shape
    weight, value = np.ones(n), np.zeros(k)
    residual = missed - np.median(missed, axis=0)
    covariance = np.diag(prior**2)
    noise = LEAST_NOISE_MM
    for turn in range(40):
        size = np.linalg.norm(residual, axis=1)
        seen = float(np.median(size)) / RAYLEIGH_MEDIAN
        noise = max(LEAST_NOISE_MM, np.sqrt((n * seen**2 + USUAL_LESSONS * USUAL_NOISE_MM**2) / (n + USUAL_LESSONS)))
        z = size / noise
        if turn < 12:
            weight = np.minimum(1.0, 2.0 / np.maximum(z, 1e-12))
        else:
            weight = np.where(z < OUTLIER, (1 - (z / OUTLIER) ** 2) ** 2, 0.0)
        weighted = A * weight[:, None, None] / noise**2
        information = np.einsum("nik,nil->kl", weighted, A) + np.diag(1 / prior**2)
        covariance = np.linalg.inv(information)
        before, value = value, covariance @ np.einsum("nik,ni->k", weighted, missed)
        residual = missed - A @ value
        if turn > 14 and np.abs((value - before) / prior).max(initial=0.0) < 1e-7:
            break
    return value, covariance, noise, weight
