"""Verdicts from a camera without calibration: pixels, with the block's own size as the scale.

Neither sizes nor heights can be told from one such picture: what has the block's colour may be anything. So a pick is
never a yes here, a place only with a gripper that says it is empty and a block far from every wall, and both stages are
unsure wherever outlines don't speak clearly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from judges.change import OTHER_SCENE, changed_share
from judges.finding import Finding, unsure
from judges.protocol import Evidence
from runs.schema.detection import BlockDetection, BoxDetection
from vision.cameras.protocol import Picture
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.inside import inside_by

STAYED_MM = 15.0
SURE_INSIDE_MM = 20.0  # a block on a corner of the rim may have its centre 16 mm inside
SURE_OUTSIDE_MM = 8.0
OVER_RIM_MM = 6.0  # the rim is nearer to a camera above than a block in the box, which so covers none of it
HIGHEST = 0.97  # nothing in pixels is surer


def placed(evidence: Evidence, after: Picture, before: Picture | None, out: dict[str, Any]) -> Finding:
    """Does the block lie in the box, as far as outlines tell?"""
    if before is not None and changed_share(before, after) > OTHER_SCENE:
        return unsure("the two pictures show different scenes")
    boxes, blocks = find_box(after, None, evidence.settings), find_block(after, None, evidence.settings)
    if boxes.best is None:
        return unsure("no box can be seen")
    if blocks.best is None:
        return unsure("no block can be seen")
    box, block = boxes.best, blocks.best
    inside_mm, over_mm = _inside_mm(block, box, evidence), _over_rim_mm(block, box, evidence)
    holding = None if evidence.grip is None else evidence.grip.holding
    out |= {
        "inside_by_mm": inside_mm,
        "over_rim_mm": over_mm,
        "blocks_seen": len(blocks.accepted),
        "box_score": box.score,
        "block_score": block.score,
        "grip_holding": holding,
    }
    where = f"the block's centre is {abs(inside_mm):.0f} mm {'inside' if inside_mm >= 0 else 'outside'} the inner walls"
    if holding:
        return unsure(f"{where}, yet the gripper seems to hold something", 0.2)
    if len(blocks.accepted) > 1:
        return unsure(f"{len(blocks.accepted)} blocks are seen; the best: {where}", 0.2)
    if inside_mm > -SURE_OUTSIDE_MM and over_mm > OVER_RIM_MM:
        return unsure(f"{where}, but it reaches {over_mm:.0f} mm over the rim and may lie on it", 0.3)
    if inside_mm <= -SURE_OUTSIDE_MM:
        return Finding("no", 0.9, where)
    if inside_mm < SURE_INSIDE_MM:
        return unsure(f"{where}: too near a wall to tell", 0.4)
    if before is not None and (was := _lay_there(block, before, evidence)) is not None:
        return unsure(f"{where}, but a block lay {was:.0f} mm from there before the step already", 0.3)
    if holding is None:
        return unsure(f"{where}, but without calibration or gripper reading its height can't be told", 0.4)
    sure = min(box.score, block.score)
    return Finding("yes", float(np.clip(0.5 + 0.5 * sure, 0, HIGHEST)), f"{where}, and the gripper is empty")


def picked(evidence: Evidence, after: Picture, before: Picture, out: dict[str, Any]) -> Finding:
    """Is the block in the gripper? Its old place and the jaws' opening are looked at; a yes takes a calibration."""
    if changed_share(before, after) > OTHER_SCENE:
        return unsure("the two pictures show different scenes")
    old = find_block(before, None, evidence.settings).accepted
    if not old:
        return unsure("the picture from before shows no block")
    seen = find_block(after, None, evidence.settings).accepted
    apart_mm = [min((_apart_mm(o, s, evidence) for s in seen), default=float("inf")) for o in old]
    stayed = [d for d in apart_mm if d <= STAYED_MM]
    holding = None if evidence.grip is None else evidence.grip.holding
    out |= {"block_moved_mm": min(apart_mm), "blocks_before": len(old), "blocks_seen": len(seen)}
    out |= {"blocks_stayed": len(stayed), "grip_holding": holding}
    grip = "the gripper gives no reading" if evidence.grip is None else evidence.grip.reason
    if len(stayed) == len(old):
        what = f"the block still lies {max(stayed):.0f} mm from its old place"
        return unsure(f"{what}, yet {grip}", 0.3) if holding else Finding("no", 0.95, f"{what}; {grip}")
    gone = "what had the block's colour is no longer where it was"
    if holding is False:
        return Finding("no", 0.9, f"{gone}, but {grip}")
    return unsure(f"{gone} and {grip}, but without calibration its size can't be told", 0.4)


def _inside_mm(block: BlockDetection, box: BoxDetection, evidence: Evidence) -> float:
    return inside_by(box.inside_px, block.centre_px) * _mm_per_px(block, evidence)


def _over_rim_mm(block: BlockDetection, box: BoxDetection, evidence: Evidence) -> float:
    """How far the block's outline reaches in the picture beyond the rim's inner edge, mm; 0 where it stays within."""
    within_px = min((inside_by(box.inside_px, corner) for corner in block.outline_px), default=0.0)
    return max(0.0, -within_px) * _mm_per_px(block, evidence)


def _lay_there(block: BlockDetection, before: Picture, evidence: Evidence) -> float | None:
    old = find_block(before, None, evidence.settings).best
    apart_mm = None if old is None else _apart_mm(old, block, evidence)
    return apart_mm if apart_mm is not None and apart_mm <= STAYED_MM else None


def _apart_mm(one: BlockDetection, other: BlockDetection, evidence: Evidence) -> float:
    return float(np.hypot(*np.subtract(one.centre_px, other.centre_px)) * _mm_per_px(one, evidence))


def _mm_per_px(block: BlockDetection, evidence: Evidence) -> float:
    return evidence.settings.block_side_mm / max(min(block.size_px), 1.0)
