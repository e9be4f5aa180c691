"""One look at the table: pictures of the still scene, block and box as medians over them, written down.

Finds; decides nothing, but that through a camera that was moved nothing is found. Whether a look is good enough is said
by `doubt`, with the reason. Stored pictures may each show another scene, so of those a look takes one.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.trial.drift import moved_camera
from runner.trial.errors import InvalidStart
from runner.trial.sight import arm_discs_px, gap_px
from runner.trial.trial import Trial, joints_of
from runs.schema.detection import BlockDetection, BoxDetection, DetectRecord
from vision.cameras.protocol import Frame
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.repeat import repeated

_NEAR_ARM_PX = 6.0  # an outline this near the arm's may be hidden in part


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What several pictures of one still scene showed."""

    block: BlockDetection | None
    box: BoxDetection | None
    frames: tuple[Frame, ...]
    block_doubt: str | None
    box_doubt: str | None


def look(trial: Trial, label: str) -> Look:
    """Look from where the arm stands, and write down what was seen.

    Raises:
        InvalidStart: the camera has moved, so that nothing has a place on the table.
    """
    bench, first = trial.bench, not trial.book.log.detect
    frames = trial.capture(label, captures=1 if bench.camera.replays else bench.config.camera.captures)
    images = [frame.image_bgr for frame in frames]
    moved = moved_camera(trial, images[0], noted=not first)
    blocks = repeated([find_block(image, bench.view, bench.detect) for image in images], bench.detect)
    boxes = repeated([find_box(image, bench.view, bench.detect) for image in images], bench.detect)
    block, box = blocks.best, boxes.best
    seen = Look(
        block=block,
        box=box,
        frames=tuple(frames),
        block_doubt="no block is seen" if block is None else _near_arm(trial, "block", block.outline_px),
        box_doubt="no box is seen" if box is None else _near_arm(trial, "box", box.corners_px),
    )
    trial.book.add(
        DetectRecord(
            stage=2,
            source="live" if not bench.dry_run else "dry_run",
            block_xz_m=None if block is None else block.xz_m,
            box_xz_m=None if box is None else box.xz_m,
            block_score=None if block is None else block.score,
            box_score=None if box is None else box.score,
            n_captures=len(frames),
            top_camera_index=bench.camera.index,
            attempt=trial.attempt,
            arm_joints_deg=None if trial.standing_deg is None else joints_of(trial.standing_deg),
            block=block,
            box=box,
            dropped=tuple(blocks.dropped + boxes.dropped),
            images=tuple(capture.image for capture in trial.book.log.vlm_captures[-len(frames) :]),
            note="; ".join(d for d in (moved, seen.block_doubt, seen.box_doubt) if d) or None,
        )
    )
    if moved is not None:
        raise InvalidStart(moved, next_step="calibrate again: trialcell calibrate plane")
    return seen


def _near_arm(trial: Trial, what: str, outline_px: tuple[tuple[float, float], ...]) -> str | None:
    bench = trial.bench
    if bench.view is None or trial.standing_deg is None or bench.dry_run:
        return None
    gap = gap_px(outline_px, *arm_discs_px(trial.standing_deg, bench.arm.model, bench.base, bench.view))
    return None if gap > _NEAR_ARM_PX else f"the arm may hide part of the {what}"
