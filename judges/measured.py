"""The measuring judge: OpenCV and the gripper's own reading, nothing else.

It says yes only where everything that it measured agrees, no where something speaks plainly against, and unsure in all
other cases: a dark, blurred or hidden scene, evidence that contradicts itself, or a block too near a wall to tell. Its
reason names what it measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from judges.errors import BadEvidence
from judges.protocol import Evidence, LabelledPicture
from runs.schema.detection import BlockDetection, BoxDetection
from runs.schema.verdict import JudgeAudit, Verdict, Word
from vision.cameras.quality import assess
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.inside import inside_by
from vision.detect.protocol import Found

STAYED_MM = 15.0  # a block seen this near its old place has not been picked
SURE_INSIDE_MM = 8.0  # centre at least this far inside the inner walls: half a cube is 15, the measurement good to 4
SURE_OUTSIDE_MM = 8.0
OVER_RIM_MM = 6.0  # the rim is nearer to a camera above than a block in the box, which so covers none of it
MOVED_BOX_MM = 60.0  # a box that seems to have moved farther is not the same one, or not seen well


@dataclass(frozen=True, slots=True)
class _Finding:
    word: Word
    confidence: float
    reason: str


class MeasuredJudge:
    """Measures where the block is, before and after, and what the gripper says."""

    name = "measured"

    def judge(self, evidence: Evidence) -> Verdict:
        """Yes, no or unsure, with the measurements in the audit.

        Raises:
            BadEvidence: there is no picture from after the step.
        """
        begun_s = monotonic()
        after = evidence.last("after")
        if after is None:
            raise BadEvidence("there is no picture from after the step", next_step="hand one over with --after")
        measured: dict[str, Any] = {}
        poor = assess(after.image_bgr).problem
        if poor is not None:
            finding = _Finding("unsure", 0.0, f"the picture can't be judged: {poor}")
        elif evidence.stage == "pick":
            finding = _picked(evidence, after, measured)
        else:
            finding = _placed(evidence, after, measured)
        return Verdict(
            stage=evidence.stage,
            verdict=finding.word,
            confidence=finding.confidence,
            reason=finding.reason,
            audit=JudgeAudit(
                judge=self.name,
                image_hashes=tuple(picture.sha256 for picture in evidence.pictures),
                seconds=monotonic() - begun_s,
                measurements=measured,
            ),
            attempt=evidence.attempt,
        )


def _picked(evidence: Evidence, after: LabelledPicture, measured: dict[str, Any]) -> _Finding:
    """Is the block in the gripper? Its old place, the whole table, and the jaws' opening are looked at."""
    before = evidence.last("before")
    if before is None:
        return _Finding("unsure", 0.0, "there is no picture from before, so nothing to compare with")
    old = find_block(before.image_bgr, evidence.view, evidence.settings).best
    if old is None:
        return _Finding("unsure", 0.0, "the picture from before shows no block")
    seen = find_block(after.image_bgr, evidence.view, evidence.settings)
    moved_mm = _distance(old, seen.best, evidence)
    holding = None if evidence.grip is None else evidence.grip.holding
    measured |= {"block_moved_mm": moved_mm, "grip_holding": holding}
    if evidence.grip is not None:
        measured["grip_opening_mm"] = evidence.grip.opening_mm
    grip = "the gripper gives no reading" if evidence.grip is None else evidence.grip.reason
    if moved_mm is not None and moved_mm <= STAYED_MM:
        if holding:
            return _Finding("unsure", 0.3, f"the block is seen {moved_mm:.0f} mm from its old place, yet {grip}")
        return _Finding("no", 0.95, f"the block still lies {moved_mm:.0f} mm from its old place; {grip}")
    gone = "is nowhere on the table" if moved_mm is None else f"is {moved_mm:.0f} mm from its old place"
    if holding is True:
        return _Finding("yes", 0.95, f"the block {gone}; {grip}")
    if holding is False:
        return _Finding("no", 0.9, f"the block {gone}, but {grip}")
    return _Finding("unsure", 0.4, f"the block {gone}, but {grip}")


def _placed(evidence: Evidence, after: LabelledPicture, measured: dict[str, Any]) -> _Finding:
    """Does the block lie in the box? Its centre against the inner walls, heights reckoned with, and the gripper."""
    boxes = find_box(after.image_bgr, evidence.view, evidence.settings)
    blocks = find_block(after.image_bgr, evidence.view, evidence.settings)
    if boxes.best is None:
        return _Finding("unsure", 0.0, "no box can be seen" + _why(boxes))
    if blocks.best is None:
        return _Finding("unsure", 0.0, "no block can be seen" + _why(blocks))
    inside_mm = inside_by_mm(blocks.best, boxes.best, evidence)
    holding = None if evidence.grip is None else evidence.grip.holding
    over_rim_mm = _over_rim_mm(blocks.best, boxes.best, evidence)
    measured |= {
        "inside_by_mm": inside_mm,
        "over_rim_mm": over_rim_mm,
        "blocks_seen": len(blocks.accepted),
        "box_score": boxes.best.score,
        "block_score": blocks.best.score,
        "grip_holding": holding,
    }
    before = evidence.last("before")
    old_box = None if before is None else find_box(before.image_bgr, evidence.view, evidence.settings).best
    if old_box is not None and old_box.xz_m is not None and boxes.best.xz_m is not None:
        measured["box_moved_mm"] = float(np.hypot(*np.subtract(boxes.best.xz_m, old_box.xz_m)) * 1000)
    where = f"the block's centre is {abs(inside_mm):.0f} mm {'inside' if inside_mm >= 0 else 'outside'} the inner walls"
    if holding:
        return _Finding("unsure", 0.2, f"{where}, yet the gripper seems to hold something")
    if len(blocks.accepted) > 1:
        return _Finding("unsure", 0.2, f"{len(blocks.accepted)} blocks are seen; the best: {where}")
    if measured.get("box_moved_mm", 0.0) > MOVED_BOX_MM:
        return _Finding("unsure", 0.2, f"the box seems to have moved by {measured['box_moved_mm']:.0f} mm; {where}")
    if inside_mm > -SURE_OUTSIDE_MM and over_rim_mm > OVER_RIM_MM:
        return _Finding("unsure", 0.3, f"{where}, but it reaches {over_rim_mm:.0f} mm over the rim and may lie on it")
    if inside_mm >= SURE_INSIDE_MM:
        grip = "" if holding is None else ", and the gripper is empty"
        sure = min(boxes.best.score, blocks.best.score)
        return _Finding("yes", float(np.clip(0.5 + 0.5 * sure, 0, 0.99)), where + grip)
    if inside_mm <= -SURE_OUTSIDE_MM:
        return _Finding("no", 0.9, where)
    return _Finding("unsure", 0.4, f"{where}: too near a wall to tell")


def inside_by_mm(block: BlockDetection, box: BoxDetection, evidence: Evidence) -> float:
    """How far the block's centre lies inside the inner walls, mm; negative outside. By the view, else by its scale."""
    if block.xz_m is not None and box.inside_xz_m is not None:
        return inside_by(box.inside_xz_m, block.xz_m) * 1000.0
    return inside_by(box.inside_px, block.centre_px) * _mm_per_px(block, evidence)


def _over_rim_mm(block: BlockDetection, box: BoxDetection, evidence: Evidence) -> float:
    """How far the block's outline reaches in the picture beyond the rim's inner edge, mm; 0 where it stays within."""
    within_px = min((inside_by(box.inside_px, corner) for corner in block.outline_px), default=0.0)
    return max(0.0, -within_px) * _mm_per_px(block, evidence)


def _mm_per_px(block: BlockDetection, evidence: Evidence) -> float:
    return evidence.settings.block_side_mm / max(min(block.size_px), 1.0)


def _distance(old: BlockDetection, new: BlockDetection | None, evidence: Evidence) -> float | None:
    if new is None:
        return None
    if old.xz_m is not None and new.xz_m is not None:
        return float(np.hypot(*np.subtract(new.xz_m, old.xz_m)) * 1000)
    return float(np.hypot(*np.subtract(new.centre_px, old.centre_px)) * _mm_per_px(old, evidence))


def _why(found: Found[Any]) -> str:
    return f" ({found.dropped[0].reason})" if found.dropped else ""
