"""What is not known before a move: drawn as disturbances, the same for every candidate.

The spreads are the settings' and the fit's; nothing here looks at the twin that stands in for a desk. Draws are
Latin squares: each quantity is spread evenly over its own distribution however few the tries, and two sets of the same
seed begin alike.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import hypot

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from runner.kinematics.model import FloatArray
from runner.settings.rehearse import RehearseSettings
from runner.twin.profiles import Profile

_LEFT_OF_BAND = 0.6  # of half the dead band: a joint rests anywhere within it, and a small correction does not move it


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Standard deviations, and middles of what is no error but unknown."""

    block_mm: tuple[float, float]  # x, z
    block_deg: float
    box_mm: float
    box_deg: float
    zero_deg: float  # of each joint's zero, which no encoder tells
    left_mid_deg: tuple[float, ...]  # what each joint is left beside its goal once the arm was corrected, in the mean
    left_deg: tuple[float, ...]  # and its spread
    lag_deg: tuple[float, ...]  # most that a moving joint is behind, in the middle
    lag_s: float
    pad_friction: float  # middle
    table_friction: float  # middle
    friction_factor: float  # of both: two thirds lie within this factor of the middle


@dataclass(frozen=True, slots=True, eq=False)
class Disturbances:
    """One row a try."""

    block_m: FloatArray  # (n, 2): the block beside where it was seen, x and z, cell frame
    block_deg: FloatArray  # (n,)
    box_m: FloatArray  # (n, 2)
    box_deg: FloatArray  # (n,)
    zero_deg: FloatArray  # (n, n_joints)
    left_deg: FloatArray  # (n, n_joints): at the goal
    back_deg: FloatArray  # (n, n_joints): on the way back, on the other side of the dead band
    lag_deg: FloatArray  # (n, n_joints)
    pad_friction: FloatArray  # (n,)
    table_friction: FloatArray  # (n,)
    lag_s: float  # time constant in which a lag is made up

    def __len__(self) -> int:
        return len(self.block_deg)

    def rows(self, which: NDArray[np.intp]) -> Disturbances:
        """These rows, in this order."""
        arrays = {f.name: getattr(self, f.name)[which] for f in fields(self) if f.name != "lag_s"}
        return replace(self, **arrays)


def draw(doubt: Doubt, n: int, n_joints: int, seed: int) -> Disturbances:
    """So many disturbances, each quantity spread evenly over its distribution."""
    rng = np.random.default_rng([seed, 9])
    columns = 8 + 4 * n_joints
    even = (np.argsort(rng.random((columns, n)), axis=1) + rng.random((columns, n))) / n
    z = np.asarray(ndtri(even)).T
    joints = z[:, 8:].reshape(n, 4, n_joints)
    lag, left, middle = (
        np.array([v[min(i, len(v) - 1)] for i in range(n_joints)])
        for v in (doubt.lag_deg, doubt.left_deg, doubt.left_mid_deg)
    )
    factor = np.log(doubt.friction_factor)
    return Disturbances(
        block_m=z[:, 0:2] * np.array(doubt.block_mm) / 1000.0,
        block_deg=z[:, 2] * doubt.block_deg,
        box_m=z[:, 3:5] * doubt.box_mm / 1000.0,
        box_deg=z[:, 5] * doubt.box_deg,
        zero_deg=joints[:, 0] * doubt.zero_deg,
        left_deg=middle + joints[:, 1] * left,
        back_deg=middle + joints[:, 2] * left,
        lag_deg=lag * np.exp(0.5 * joints[:, 3]),
        pad_friction=doubt.pad_friction * np.exp(factor * z[:, 6]),
        table_friction=doubt.table_friction * np.exp(factor * z[:, 7]),
        lag_s=doubt.lag_s,
    )


def doubt_of(settings: RehearseSettings, drive: Profile, *, seen_spread_mm: float = 0.0) -> Doubt:
    """What is not known before a pick in this cell.

    Args:
        drive: the arm's dead bands and lags, as fitted or as recorded of such an arm.
        seen_spread_mm: how far apart the captures saw the block.
    """
    block_mm = hypot(settings.block_sd_mm, seen_spread_mm / 2.0)
    return Doubt(
        block_mm=(block_mm, block_mm),
        block_deg=settings.block_sd_deg,
        box_mm=settings.box_sd_mm,
        box_deg=settings.box_sd_deg,
        zero_deg=settings.zero_sd_deg,
        left_mid_deg=tuple(drive.left_deg) or (0.0,),
        left_deg=tuple(drive.left_sd_deg) or tuple(_LEFT_OF_BAND * half for half in drive.half_width_deg),
        lag_deg=tuple(drive.lag_deg),
        lag_s=drive.lag_s,
        pad_friction=settings.pad_friction,
        table_friction=settings.table_friction,
        friction_factor=settings.friction_factor,
    )
