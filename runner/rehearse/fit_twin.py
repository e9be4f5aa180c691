"""The twin made truer by real logs: sag and lag from the moves, camera from the tips, friction from the picks.

Some runs are held out, and the twin's moves are held against them before and after, by `twin parity`'s own measure. A
figure that the logs don't determine is left out rather than made up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from runner.arm_calibration import model_name
from runner.config import Config
from runner.kinematics.model import ArmModel
from runner.rehearse.doubt import doubt_of, draw
from runner.rehearse.hindsight import SEEN_SD_MM, PickInLog
from runner.rehearse.nominal import nominal_scene
from runner.rehearse.tries import try_picks
from runner.table.plan import PickPlan, Planner
from runner.twin.drive_file import DriveFile
from runner.twin.drive_fit import fit_drive, moves_of
from runner.twin.many import Many
from runner.twin.parity import MoveParity, compared, hold_against, rms_deg
from runner.twin.profiles import Profile
from runs.schema.run import RunLog
from vision.calibration.kept import now_text

HELD_OUT_EVERY = 4  # of the runs; of one run alone the last quarter of its moves
FEWEST_TIPS = 3
FEWEST_GRASPS = 6
_GRASP = "stage4_pick"
FRICTIONS = (0.02, 0.03, 0.045, 0.07, 0.12, 0.2, 0.4, 0.8)
_TRIES = 8  # of each pick at each friction
_MEASURED = {
    "left_deg": ("left_deg", "left_sd_deg", "grasps"),
    "tip_bias_mm": ("tip_bias_mm", "tip_sd_mm", "tips"),
    "pad_friction": ("pad_friction", "picks"),
}  # beside the drive: there where its first is
_DETERMINED = 3.0  # times as likely as the worst, in natural logarithms: else the picks say too little


@dataclass(frozen=True, slots=True)
class Split:
    """Runs to fit to, and those to be held against: each with the first of its moves that the fit has not seen."""

    fit: tuple[RunLog, ...]
    held: tuple[tuple[RunLog, int], ...]


@dataclass(frozen=True, slots=True)
class Rubbed:
    """How likely each friction of the pads makes what came of the picks, natural logarithm; the best first met."""

    log_likelihood: tuple[float, ...]
    picks: int

    @property
    def best(self) -> float | None:
        """The likeliest friction; None where the picks hardly tell."""
        values = np.array(self.log_likelihood)
        if not self.picks or values.max() - values.min() < _DETERMINED:
            return None
        return FRICTIONS[int(values.argmax())]


def split(logs: Sequence[RunLog]) -> Split:
    """Every fourth run is held out; with fewer than four, the last quarter of each one's moves."""
    logs = [log for log in logs if compared(log)]
    if len(logs) >= HELD_OUT_EVERY:
        held = logs[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
        return Split(tuple(log for log in logs if log not in held), tuple((log, 0) for log in held))
    fit, held_moves = [], []
    for log in logs:
        cut = len(compared(log)) * (HELD_OUT_EVERY - 1) // HELD_OUT_EVERY
        fit.append(log.model_copy(update={"moves": tuple(compared(log)[:cut])}))
        held_moves.append((log, cut))
    return Split(tuple(fit), tuple(held_moves))


def fit_twin(
    logs: Sequence[RunLog],
    config: Config,
    arm: ArmModel,
    before: Profile,
    *,
    seeds: Sequence[int],
    source: str,
    progress: Callable[[str], None] = lambda text: None,
) -> DriveFile:
    """Fit sag, dead band and lag, and hold both twins against the runs that were left out.

    Where the fit makes the twin no truer, its figures stay those of before; what was measured at grasps and tips stands
    in the file all the same.

    Args:
        arm: with its tool.
        before: the profile of the twin as it is now.
        seeds: of the twins that are held against the held-out moves.

    Raises:
        TooFewMoves: the logs have not enough. NothingToCompare: of this arm.
    """
    parts = split(logs)
    speed = config.arm.speed_percent
    moves = moves_of(parts.fit, arm, speed_percent=speed)
    progress(f"fitting to {len(moves)} moves")
    found = fit_drive(moves, arm)
    errors = []
    for profile in (before, found):
        progress(f"the held-out moves by the twin with the profile {profile.name}")
        errors.append(rms_deg(_held_moves(parts, config, profile, seeds)))
    if errors[1] >= errors[0]:
        found, errors[1] = before, errors[0]
    bias, spread, tips = camera_off_mm(logs)
    left, left_sd, grasps = left_at_grasps(logs)

    def each(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(float(values[min(joint, len(values) - 1)]) for joint in range(arm.n_joints))

    return DriveFile(
        made_at=now_text(),
        source=source,
        arm_model=model_name(config),
        offset_deg=each(found.offset_deg),
        half_width_deg=each(found.half_width_deg),
        lag_deg=each(found.lag_deg),
        lag_s=found.lag_s,
        ripple_deg=each(found.ripple_deg),
        left_deg=left,
        left_sd_deg=left_sd,
        grasps=grasps,
        moves=len(moves),
        held_out=sum(len(compared(log)) - first for log, first in parts.held),
        before=before.name,
        before_deg=round(errors[0], 4),
        after_deg=round(errors[1], 4),
        tip_bias_mm=bias,
        tip_sd_mm=spread,
        tips=tips,
    )


def to_keep(fit: DriveFile, existing: DriveFile | None) -> DriveFile | None:
    """What is worth keeping of a fit where one may stand already; None where that is nothing.

    A truer fit, with what it could not measure carried over from the existing file. One that is no truer leaves the
    existing sag, dead band and lag as they are, with their errors and moves; only what it measured at grasps and tips
    and of the pads is taken from it. Where nothing stands, the profile of before is kept for its grasps' sake.
    """
    if existing is None:
        return fit if fit.truer or fit.left_deg else None
    new, old = (
        {
            name: getattr(of, name)
            for head, names in _MEASURED.items()
            if getattr(of, head) not in (None, ())
            for name in names
        }
        for of in (fit, existing)
    )
    if fit.truer:
        return fit.model_copy(update=old | new)
    if not new:
        return None
    source = f"{existing.source}; what was measured besides: {fit.source}"
    return existing.model_copy(update={**new, "made_at": fit.made_at, "source": source})


def left_at_grasps(
    logs: Sequence[RunLog],
) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """What each joint was read to be left beside its goal when the arm had come down to a block: middle, spread, count.

    A correction within the dead band moves nothing, so this is no noise round zero; it is what a grasp meets.
    """
    moves = [move for log in logs for move in compared(log) if move.label == _GRASP]
    if len(moves) < FEWEST_GRASPS:
        return (), (), len(moves)
    off = np.array([np.subtract(move.post_actual or (), move.target_angles) for move in moves])
    return tuple(off.mean(axis=0).round(3).tolist()), tuple(off.std(axis=0).round(3).tolist()), len(moves)


def camera_off_mm(
    logs: Sequence[RunLog],
) -> tuple[tuple[float, float] | None, tuple[float, float] | None, int]:
    """Where the camera sees the tip beside where the joints' readings have it, x and z: middle, spread, how many."""
    seen = np.array([t.unexplained_mm for log in logs for t in log.tip_measurements if t.unexplained_mm is not None])
    if len(seen) < FEWEST_TIPS:
        return None, None, len(seen)
    middle = np.median(seen, axis=0)
    spread = 1.4826 * np.median(np.abs(seen - middle), axis=0)
    (bx, bz), (sx, sz) = middle.round(2).tolist(), spread.round(2).tolist()
    return (bx, bz), (sx, sz), len(seen)


def rub_of(picks: Sequence[tuple[PickInLog, PickPlan]], planner: Planner, config: Config, drive: Profile) -> Rubbed:
    """How likely each friction of the pads makes what came of the picks, their misses known.

    Args:
        picks: judged attempts with their tip measured, each with the way that was gone.
    """
    total = np.zeros(len(FRICTIONS))
    n = len(FRICTIONS) * _TRIES
    doubt = replace(doubt_of(config.rehearse, drive), block_mm=(SEEN_SD_MM, SEEN_SD_MM))
    many = Many(nominal_scene(config), n)
    for number, (pick, plan) in enumerate(picks):
        off = draw(doubt, _TRIES, planner.arm.n_joints, number).rows(np.tile(np.arange(_TRIES), len(FRICTIONS)))
        off = replace(off, pad_friction=np.repeat(FRICTIONS, _TRIES))
        (x, z), (dx, dz) = pick.target_xz_m, pick.missed_mm or (0.0, 0.0)
        assert pick.obstacles.block is not None
        there = replace(pick.obstacles.block, xz_m=(x - dx / 1000.0, z - dz / 1000.0))
        among = replace(pick.obstacles, block=there)
        out = try_picks(many, planner.arm, [plan.path_deg], np.zeros(n, np.intp), off, among, config)
        rate = (out.picked.reshape(len(FRICTIONS), _TRIES).sum(axis=1) + 0.5) / (_TRIES + 1.0)
        total += np.log(rate if pick.verdict == "yes" else 1.0 - rate)
    return Rubbed(tuple(round(float(v), 3) for v in total), len(picks))


def _held_moves(parts: Split, config: Config, profile: Profile, seeds: Sequence[int]) -> list[MoveParity]:
    return [
        move
        for log, first in parts.held
        for move in hold_against(log, config, seeds=seeds, profile=profile).moves[first:]
    ]
