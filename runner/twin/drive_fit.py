"""Sag, dead band and lag of each joint from the moves of real logs: what was commanded against what was read.

Each move begins where the arm was read to stand, so no error is carried from one to the next. Two readings tell of it:
the one on arrival, when a lag may still be there, and the one before the next move, when it has passed. A joint that is
driven one way comes to rest by half its dead band short of its offset; that is all that is assumed
(`profiles.Imperfection` is the same arm, step by step). What is left over becomes the ripple's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import least_squares

from runner.kinematics.model import ArmModel, FloatArray
from runner.kinematics.motion import RateLimits, set_points
from runner.twin.profiles import Profile
from runs.errors import Family, TrialcellError
from runs.schema.motion import MoveRecord
from runs.schema.run import RunLog

FEWEST_MOVES = 8
_LAGS_S = (0.15, 0.25, 0.4, 0.6, 0.9, 1.4)
_STARTS = ((0.0, 0.2, 0.3), (1.0, 0.6, 1.5), (-1.0, 0.6, 1.5))
_BOUNDS = ((-8.0, 0.0, 0.0), (8.0, 4.0, 5.0))  # offset, half width, lag; degrees
_ROBUST_DEG = 0.3  # an error beyond this counts less and less
_WAIT_S = 0.6  # from a corrective move's command to the first reading


class TooFewMoves(TrialcellError):
    """Too few moves to tell sag from dead band."""

    family: ClassVar[Family] = "usage"

    def __init__(self, found: int) -> None:
        super().__init__(
            f"{found} moves can't tell an arm's sag from its dead band: at least {FEWEST_MOVES} are asked for",
            next_step="give more runs with --log or --last, of this arm, with moves that were made and read back",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Moves as the fit takes them. Degrees; (m, n) unless it says otherwise; NaN where nothing was read."""

    before_deg: FloatArray  # read before the move
    way_deg: FloatArray  # (m, w, n): commands in order, the last repeated; a correction is the last
    rate_deg_s: FloatArray  # how fast the last of them was come to
    since_s: FloatArray  # (m,): from the end of the set-points to the reading on arrival
    arrived_deg: FloatArray  # read on arrival
    later_deg: FloatArray  # read before the next move of the same run

    def __len__(self) -> int:
        return len(self.since_s)

    def rows(self, which: FloatArray) -> Moves:
        """Some of them; `which` is a mask or numbers."""
        return Moves(*(getattr(self, name)[which] for name in self.__slots__))


def usable(moves: Iterable[MoveRecord]) -> list[MoveRecord]:
    """Those that were made, arrived and were read before and after."""
    return [m for m in moves if m.arrived and not m.dry_run and m.post_actual is not None and m.pre_actual is not None]


def moves_of(logs: Sequence[RunLog], arm: ArmModel, *, speed_percent: int) -> Moves:
    """The moves of some logs that a fit can use.

    Args:
        speed_percent: where a move doesn't say its own.

    Raises:
        TooFewMoves: there are not enough.
    """
    rows: list[tuple[FloatArray, list[FloatArray], FloatArray, float, FloatArray, FloatArray]] = []
    for log in logs:
        moves = [m for m in usable(log.moves) if len(m.target_angles) == arm.n_joints]
        for move in moves:
            following = log.moves[log.moves.index(move) + 1 :][:1]
            later = following[0].pre_actual if following else None
            rows.append(_row(move, later, arm, move.speed_percent or speed_percent))
    if len(rows) < FEWEST_MOVES:
        raise TooFewMoves(len(rows))
    longest = max(len(row[1]) for row in rows)
    ways = [np.array([*row[1], *[row[1][-1]] * (longest - len(row[1]))]) for row in rows]
    return Moves(
        before_deg=np.array([row[0] for row in rows]),
        way_deg=np.array(ways),
        rate_deg_s=np.array([row[2] for row in rows]),
        since_s=np.array([row[3] for row in rows]),
        arrived_deg=np.array([row[4] for row in rows]),
        later_deg=np.array([row[5] for row in rows]),
    )


def fit_drive(moves: Moves, arm: ArmModel) -> Profile:
    """The profile that explains the readings best, joint by joint, with one time constant for all.

    Raises:
        TooFewMoves: there are not enough.
    """
    if len(moves) < FEWEST_MOVES:
        raise TooFewMoves(len(moves))
    best: tuple[float, float, list[FloatArray]] | None = None
    for lag_s in _LAGS_S:
        found = [_fit_joint(moves, joint, lag_s) for joint in range(arm.n_joints)]
        cost = sum(each[1] for each in found)
        if best is None or cost < best[0]:
            best = cost, lag_s, [each[0] for each in found]
    assert best is not None
    _, lag_s, values = best
    servo = arm.data.servo
    rounding = 0.0 if servo is None else 360.0 / servo.encoder_steps / np.sqrt(12.0)
    left = [_left(value, moves, joint, lag_s) for joint, value in enumerate(values)]
    spread = [1.4826 * float(np.median(np.abs(each))) for each in left]  # robust: a bump is no ripple
    return Profile(
        "fitted",
        offset_deg=tuple(round(float(v[0]), 4) for v in values),
        half_width_deg=tuple(round(float(v[1]), 4) for v in values),
        lag_deg=tuple(round(float(v[2]), 4) for v in values),
        lag_s=lag_s,
        ripple_deg=tuple(round(float(np.sqrt(2.0 * max(0.0, s**2 - rounding**2))), 4) for s in spread),
        zero_sigma_deg=0.0,
    )


def predicted_deg(profile: Profile, moves: Moves, *, later: bool = False) -> FloatArray:
    """Where each move would come to rest, (m, n), on arrival or later, without ripple."""
    n = moves.before_deg.shape[1]

    def of(values: Sequence[float], joint: int) -> float:
        return float(values[min(joint, len(values) - 1)])

    columns = []
    for joint in range(n):
        value = np.array([of(profile.offset_deg, joint), of(profile.half_width_deg, joint), of(profile.lag_deg, joint)])
        columns.append(_rests(value, moves, joint, profile.lag_s)[1 if later else 0])
    return np.stack(columns, axis=1)


def _row(
    move: MoveRecord, later: Sequence[float] | None, arm: ArmModel, speed_percent: int
) -> tuple[FloatArray, list[FloatArray], FloatArray, float, FloatArray, FloatArray]:
    assert move.pre_actual is not None
    assert move.post_actual is not None
    before = np.array(move.pre_actual)
    commanded = np.array(move.target_angles if move.commanded is None else move.commanded)
    corrective = np.zeros_like(commanded) if move.corrective_deg is None else np.array(move.corrective_deg)
    way = [*(np.array(pose) for pose in move.via), commanded - corrective]
    rates, motion_s = _pace(before, way, arm, speed_percent)
    since_s = max(0.0, (move.duration_s or motion_s + 1.0) - motion_s)
    if corrective.any():
        way.append(commanded)
        back, back_s = _pace(commanded - corrective, [commanded], arm, speed_percent)
        since_s = max(0.0, _WAIT_S + (move.settle_s or 0.0) - back_s)
        rates = np.where(corrective != 0, back, rates)
    after = np.full_like(before, np.nan) if later is None else np.array(later)
    return before, way, rates, since_s, np.array(move.post_actual), after


def _pace(start: FloatArray, way: list[FloatArray], arm: ArmModel, speed_percent: int) -> tuple[FloatArray, float]:
    """How fast each joint comes to its end, and how long the way takes."""
    servo = arm.data.servo
    if servo is None:
        return np.full(arm.n_joints, np.inf), 0.0
    rates = RateLimits.even(
        arm.n_joints,
        speed_deg_s=servo.max_speed_deg_s * speed_percent / 100.0,
        acceleration_deg_s2=servo.max_acceleration_deg_s2,
    )
    dt_s = 0.02
    points = set_points(start, np.array(way), rates, dt_s=dt_s)
    last = points[-min(len(points), round(0.4 / dt_s)) :]
    return np.asarray((points[-1] - last[0]) / (dt_s * max(1, len(last) - 1))), len(points) * dt_s


def _rests(value: FloatArray, moves: Moves, joint: int, lag_s: float) -> tuple[FloatArray, FloatArray]:
    """Where a joint with (offset, half width, lag) rests on arrival, (m,), and later."""
    offset, half, lag = value
    at = moves.before_deg[:, joint]
    way = moves.way_deg[:, :, joint]
    for command in way[:, :-1].T:
        at = np.clip(at, command + offset - half, command + offset + half)
    rate = moves.rate_deg_s[:, joint]
    behind = np.sign(rate) * np.minimum(lag, np.abs(rate) * lag_s) * np.exp(-moves.since_s / lag_s)
    middle = way[:, -1] + offset
    arrived = np.clip(at, middle - behind - half, middle - behind + half)
    later = np.clip(moves.arrived_deg[:, joint], middle - half, middle + half)
    return arrived, later


def _left(value: FloatArray, moves: Moves, joint: int, lag_s: float) -> FloatArray:
    """What the joint's readings leave unexplained."""
    arrived, later = _rests(value, moves, joint, lag_s)
    known = ~np.isnan(moves.later_deg[:, joint])
    return np.concatenate([moves.arrived_deg[:, joint] - arrived, (moves.later_deg[:, joint] - later)[known]])


def _fit_joint(moves: Moves, joint: int, lag_s: float) -> tuple[FloatArray, float]:
    found = [
        least_squares(
            lambda value: _left(value, moves, joint, lag_s),
            start,
            bounds=_BOUNDS,
            loss="soft_l1",
            f_scale=_ROBUST_DEG,
            diff_step=1e-3,
        )
        for start in _STARTS
    ]
    best = min(found, key=lambda each: float(each.cost))
    return np.asarray(best.x), float(best.cost)
