"""Stage 2: where block and box are; aside and again where the arm may hide something; the start-state gate."""

from __future__ import annotations

import numpy as np

from judges.protocol import LabelledPicture
from runner.geometry import obstacles_of
from runner.kinematics.model import FloatArray
from runner.trial.errors import InvalidStart
from runner.trial.gate import why_not
from runner.trial.look import Look, look
from runner.trial.trial import Seen, Trial
from runs.schema.detection import BlockDetection, BoxDetection
from runs.schema.geometry import TablePoint
from vision.cameras.quality import assess


def find_things(trial: Trial) -> Seen:
    """Look from home, then from j0 = ±swept where something is missing or near the arm; then the gate.

    Raises:
        InvalidStart: the camera has moved, block or box are not found, or the scene is none to start from.
    """
    with trial.stage("stage2", attempt=trial.attempt):
        first = look(trial, "detect")
        seen = look_until_clear(trial, [first])
        reason = why_not(seen, trial.bench.config)
        if reason is not None:
            raise InvalidStart(reason)
        reckon_with(trial, seen)
    return seen


def look_again(trial: Trial) -> Seen:
    """The same for a later attempt, from where the arm stands now, after it stepped aside.

    Raises:
        InvalidStart: see `find_things`.
    """
    seen = look_until_clear(trial, [look(trial, "detect")])
    reason = why_not(seen, trial.bench.config)
    if reason is not None:
        raise InvalidStart(reason)
    reckon_with(trial, seen)
    return seen


def reckon_with(trial: Trial, seen: Seen, *, block_xz_m: TablePoint | None = None) -> None:
    """From now on paths keep clear of what was seen.

    Args:
        block_xz_m: where the arm has to be told to go to come to the block, where that is corrected: to an arm that
            misses, the block stands there. The box is kept clear of where it was seen.
    """
    assert seen.block.xz_m is not None
    trial.bench.arm.obstacles = obstacles_of(
        trial.bench.config,
        box_xz_m=box_xz_m(seen),
        box_yaw_deg=seen.box.yaw_deg or 0.0,
        block_xz_m=block_xz_m or seen.block.xz_m,
        block_yaw_deg=seen.block.yaw_deg or 0.0,
    )


def box_xz_m(seen: Seen) -> TablePoint:
    """The box's place; the gate has made sure that there is one."""
    assert seen.box.xz_m is not None
    return seen.box.xz_m


def swept_deg(trial: Trial, j0_deg: float) -> FloatArray:
    """The home posture with j0 swept aside."""
    pose = np.asarray(trial.bench.config.arm.home_deg, dtype=np.float64).copy()
    pose[0] = j0_deg
    return pose


def look_until_clear(trial: Trial, looks: list[Look]) -> Seen:
    """Look aside as long as the arm may hide something; what was seen best.

    Raises:
        InvalidStart: block or box are not found.
    """
    swept = trial.bench.config.trial.swept_j0_deg
    for side in _sides(looks[0], swept):
        if not (_open_doubt(looks, "block") or _open_doubt(looks, "box")) or trial.dry_run:
            break
        trial.travel("stage2_look_aside", swept_deg(trial, side), trial.bench.config.arm.tol_pick_place_deg)
        looks.append(look(trial, f"detect_j0_{'plus' if side > 0 else 'minus'}"))
    return best_of(trial, looks)


def _sides(first: Look, swept: float) -> tuple[float, float]:
    """A doubtful box is looked at from the other side than a doubtful block: the arm swings over one of them."""
    return (swept, -swept) if first.block_doubt and not first.box_doubt else (-swept, swept)


def _open_doubt(looks: list[Look], what: str) -> bool:
    return all(getattr(one, f"{what}_doubt") for one in looks)


def best_of(trial: Trial, looks: list[Look]) -> Seen:
    """What several looks showed, each thing as it was seen best.

    Raises:
        InvalidStart: block or box are not found.
    """
    block, picture = _block_of(looks)
    box = _box_of(trial, looks)
    if block is None:
        raise InvalidStart(f"no block was found: {_reasons(trial, looks, 'block')}", next_step=_HOW_TO_SEE)
    if box is None:
        raise InvalidStart(f"no box was found: {_reasons(trial, looks, 'box')}", next_step=_HOW_TO_SEE)
    return Seen(block, box, picture)


_HOW_TO_SEE = "look at the pictures of this run, then try: trialcell detect PICTURE"


def _block_of(looks: list[Look]) -> tuple[BlockDetection | None, LabelledPicture]:
    for one in sorted(looks, key=lambda each: each.block_doubt is not None):
        if one.block is not None:
            return one.block, LabelledPicture("before", "before", one.frames[-1].image_bgr)
    return None, LabelledPicture("before", "before", looks[0].frames[-1].image_bgr)


def _box_of(trial: Trial, looks: list[Look]) -> BoxDetection | None:
    for one in sorted(looks, key=lambda each: each.box_doubt is not None):
        if one.box is not None:
            return one.box
    settings = trial.bench.config.box
    if not settings.fallback:
        return None
    trial.book.note(f"no box was found; taken to be at the fallback {settings.fallback_xz_m}")
    x, z = settings.fallback_xz_m
    half = [side / 2000.0 - settings.wall_mm / 1000.0 for side in settings.outside_mm]
    inside = tuple((x + i * half[0], z + j * half[1]) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    return BoxDetection(
        centre_px=(0.0, 0.0),
        corners_px=(),
        inside_px=(),
        score=0.0,
        touches_border=False,
        xz_m=(x, z),
        yaw_deg=0.0,
        inside_xz_m=inside,
    )


def _reasons(trial: Trial, looks: list[Look], what: str) -> str:
    problem = assess(looks[-1].frames[-1].image_bgr).problem
    if problem is not None:
        return f"the camera's picture is of no use: {problem}"
    dropped = [d for record in trial.book.log.detect for d in record.dropped if d.what == what]
    if not dropped:
        return f"nothing that looks like a {what}"
    largest = sorted(dropped, key=lambda d: -d.area_px)[:3]
    return "; ".join(f"at ({d.centre_px[0]:.0f}, {d.centre_px[1]:.0f}) px {d.reason}" for d in largest)
