"""The twin held against a recorded run: the same moves, and what the joints read back beside their commands.

Each move of the log is made again by the twin, for several seeds, and read as the log's own system read: at rest, or,
in the field, as soon as the move counted as arrived. Two questions are answered. Does every recorded error lie in the
twin's spread of that joint, over all moves? And, which asks more, in the spread of that very move? It compares joints
only, the jaws stay open and empty, and the twin is not fitted to anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.twin.arm import TwinArm
from runner.twin.profiles import Profile
from runner.twin.setup import Twin, build_twin
from runner.twin.world import Resting
from runs.errors import Family, TrialcellError
from runs.schema.motion import MoveRecord
from runs.schema.run import RunLog

_AWAY_BLOCK, _AWAY_BOX = Resting((0.0, -0.30), 0.0), Resting((0.0, -0.43), 0.0)  # behind the arm
_LOOK_S, _STILL_S, _STILL_DEG = 0.1, 1.0, 0.05
_LONGEST_S = 30.0
_READING_S = 0.5  # between an arrival and the reading of it that stands in a log: field logs don't say
_FIRST_FROM_DEG = 30.0  # where an arm came from before the first move is in no log: from anywhere near


class NothingToCompare(TrialcellError):
    """A log without a move that can be compared."""

    family: ClassVar[Family] = "usage"

    def __init__(self, run_id: str, n_joints: int) -> None:
        super().__init__(
            f"{run_id} has no move of an arm with {n_joints} joints that was made and read back",
            next_step="take a log of a whole trial, and the cell of its arm",
        )


@dataclass(frozen=True, slots=True, eq=False)
class MoveParity:
    """One move: read back minus commanded, degrees, recorded and as the twin has it. All of shape (n_joints,)."""

    label: str
    recorded_deg: FloatArray
    low_deg: FloatArray
    high_deg: FloatArray

    @property
    def beyond_deg(self) -> FloatArray:
        """By how much the recorded error lies outside what the twin shows in this very move; 0 inside."""
        return beyond(self.recorded_deg, self.low_deg, self.high_deg)

    @property
    def off_deg(self) -> FloatArray:
        """The recorded error less the middle of what the twin shows in this very move."""
        return self.recorded_deg - (self.low_deg + self.high_deg) / 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Parity:
    """A whole run against the twin."""

    run_id: str
    profile: str
    seeds: int
    moves: tuple[MoveParity, ...]

    @property
    def low_deg(self) -> FloatArray:
        """The smallest error that the twin shows of each joint, over all moves, (n_joints,)."""
        return np.asarray(np.min([move.low_deg for move in self.moves], axis=0))

    @property
    def high_deg(self) -> FloatArray:
        """The largest."""
        return np.asarray(np.max([move.high_deg for move in self.moves], axis=0))

    @property
    def beyond_deg(self) -> FloatArray:
        """By how much each recorded error lies outside its joint's spread, (moves, n_joints)."""
        return np.stack([beyond(move.recorded_deg, self.low_deg, self.high_deg) for move in self.moves])

    @property
    def inside(self) -> bool:
        """Whether every recorded error of every joint lies in that joint's spread."""
        return not self.beyond_deg.any()

    @property
    def error_deg(self) -> float:
        """How far the twin is off: recorded error less the middle of its own, rms over moves and joints."""
        return rms_deg(self.moves)

    @property
    def inside_own_move(self) -> tuple[int, int]:
        """How many recorded errors lie in the spread of their own move, and of how many."""
        each = np.stack([move.beyond_deg for move in self.moves])
        return int((each == 0).sum()), each.size


def rms_deg(moves: Sequence[MoveParity]) -> float:
    """The parity error of some moves, degrees."""
    return float(np.sqrt(np.mean([move.off_deg**2 for move in moves])))


def beyond(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """How far values lie outside their bounds; 0 inside."""
    return np.asarray(np.maximum(np.maximum(low - value, value - high), 0.0))


def hold_against(
    log: RunLog,
    config: Config,
    *,
    seeds: Sequence[int],
    on_seed: Callable[[int], None] = lambda done: None,
    profile: Profile | None = None,
) -> Parity:
    """Every move of a log that was made and read back, against the twin of the settings.

    Args:
        config: whose arm and profile the twin has; its speed is used where the log doesn't say.
        seeds: of the twin's imperfections.
        on_seed: told how many seeds are done.
        profile: how imperfect the twin's arm is, where that is not the settings' profile.

    Raises:
        NothingToCompare: no such move, or one of an arm with other joints.
    """
    moves = compared(log)
    speed = log.constants.get("SPEED")
    speed_percent = speed if isinstance(speed, int) else config.arm.speed_percent
    lows, highs = [], []
    twin = build_twin(config, seed=seeds[0], profile=profile)
    try:
        if not moves or any(len(_command(move)) != twin.arm.model.n_joints for move in moves):
            raise NothingToCompare(log.run_id, twin.arm.model.n_joints)
        for done, seed in enumerate(seeds, start=1):
            low, high = _replayed(twin, seed, moves, speed_percent)
            lows.append(low)
            highs.append(high)
            on_seed(done)
    finally:
        twin.close()
    servo = twin.arm.model.data.servo
    rounding_deg = 0.0 if servo is None else 2 * 360.0 / servo.encoder_steps  # of the log's readings and the twin's
    low, high = np.min(lows, axis=0) - rounding_deg, np.max(highs, axis=0) + rounding_deg
    return Parity(
        log.run_id,
        config.twin.profile if profile is None else profile.name,
        len(seeds),
        tuple(
            MoveParity(move.label, np.asarray(move.post_actual) - _command(move), low[i], high[i])
            for i, move in enumerate(moves)
        ),
    )


def compared(log: RunLog) -> list[MoveRecord]:
    """The moves of a log that were made and read back."""
    return [move for move in log.moves if move.arrived and not move.dry_run and move.post_actual is not None]


def _command(move: MoveRecord) -> FloatArray:
    """What the move commanded last."""
    return np.asarray(move.target_angles if move.commanded is None else move.commanded, dtype=np.float64)


def _replayed(twin: Twin, seed: int, moves: Sequence[MoveRecord], speed_percent: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest error of each move, (moves, n_joints), for one seed."""
    twin.reset(seed)
    twin.world.put_block(_AWAY_BLOCK)
    twin.world.put_box(_AWAY_BOX)
    rng = np.random.default_rng([seed, 0])
    arm, first = twin.arm, _command(moves[0])
    near = np.clip(
        first + rng.uniform(-_FIRST_FROM_DEG, _FIRST_FROM_DEG, len(first)), arm.model.min_deg, arm.model.max_deg
    )
    arm.send_path(near[None], speed_percent=100)
    _until_still(twin, near, 0.0, at_rest=True)
    lows, highs = [], []
    for move in moves:
        speed, at_rest = move.speed_percent or speed_percent, move.settle_s is not None
        command, corrective = _command(move), np.zeros(len(first))
        if move.corrective_deg is not None:
            corrective = np.asarray(move.corrective_deg)
        path = np.vstack([*(np.asarray(pose) for pose in move.via), command - corrective])
        arm.send_path(path, speed_percent=speed)
        errors = _until_still(twin, command - corrective, move.reach_tol_deg, at_rest=at_rest)
        if corrective.any():
            arm.send_path(command[None], speed_percent=speed)
            errors = _until_still(twin, command, move.reach_tol_deg, at_rest=at_rest)
        lows.append(errors.min(axis=0))
        highs.append(errors.max(axis=0))
    return np.array(lows), np.array(highs)


def _until_still(twin: Twin, command_deg: FloatArray, tolerance_deg: float, *, at_rest: bool) -> FloatArray:
    """Let a move come to rest; errors (k, n_joints) as they could have been read.

    `at_rest`: once the arm was still. Else as the field system did: as soon as every joint was within the tolerance,
    for as long as one reading may take; at rest where that never came.
    """
    arm: TwinArm = twin.arm
    errors: list[FloatArray] = []
    still_s, began_s, last = 0.0, twin.clock.now_s(), arm.read_angles_deg()
    while still_s < _STILL_S and twin.clock.now_s() - began_s < _LONGEST_S:
        twin.clock.sleep(_LOOK_S)
        now = arm.read_angles_deg()
        still = not arm.moving and float(np.abs(now - last).max()) <= _STILL_DEG
        still_s, last = (still_s + _LOOK_S if still else 0.0), now
        arrived = float(np.abs(now - command_deg).max()) <= tolerance_deg
        if not at_rest and (errors or arrived) and len(errors) * _LOOK_S < _READING_S:
            errors.append(now - command_deg)
    return np.array([*errors, last - command_deg] if at_rest or not errors else errors)
