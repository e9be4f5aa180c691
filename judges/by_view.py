"""Verdicts from a calibrated camera: places and heights in millimetres, each with its uncertainty.

A place is a yes only if one block is seen, whole but for what a wall hides, inside the opening without covering the
rim, and as low as the floor of the box; the gripper may not say otherwise. A pick is a yes only if the gripper says
that it holds something as wide as the block, and one block fewer stands on the table.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from judges.change import OTHER_SCENE, changed_patches, changed_share
from judges.finding import Finding, confidence_of, unsure
from judges.protocol import Evidence
from judges.sight import Sight, Sighting, between_pads, look_at
from vision.calibration.view import View
from vision.cameras.protocol import Picture

STAYED_MM = 15.0  # a block seen this near its old place has not been picked
SURE_INSIDE_MM = 8.0  # a block that lies flat inside has its centre half its side from any wall
ON_FLOOR_MM = 17.0  # underside at most this high: a floor is 3 mm thick, a block under the block at least 20 mm high
DOUBTFUL_ON_FLOOR_MM = 10.0  # where it may be higher than it looks
RAISED_MM = 23.0  # underside at least this high: not on the floor
RAISED_SIGMA = 0.9  # and by so many standard deviations above what a block on the floor may have
OFF_TABLE_MM = 30.0  # the same on the table, where dark wood and shadows make a block look higher, by up to 20 mm
SURE_CROSSED_MM = 3.0
MOVED_BOX_MM = 60.0  # a box that seems to have moved farther is not the same one, or not seen well
SAME_BOX_MM = 4.0
PIECE = 0.2  # a change of this share of a block's face could hide or be one
HOLDS, HOLDS_NOT = "yet the gripper seems to hold something", "the gripper is empty"


def placed(evidence: Evidence, view: View, after: Picture, before: Picture | None, out: dict[str, Any]) -> Finding:
    """Does the block lie in the box, and did it not lie there before?"""
    other = _other_scene(before, after, out)
    if other is not None:
        return other
    sight = look_at(after, view, evidence.settings)
    earlier = None if before is None else look_at(before, view, evidence.settings)
    _note(out, evidence, sight)
    if sight.rim is None:
        return _without_box(sight, earlier)
    moved_mm = _box_moved_mm(sight, earlier, out)
    if moved_mm is not None and moved_mm > MOVED_BOX_MM:
        return unsure(f"the box seems to have moved by {moved_mm:.0f} mm", 0.2)
    crossing = [s for s in sight.blocks if s.where == "across"]
    inside = [s for s in sight.blocks if s.where == "in_opening"]
    outside = [s for s in sight.blocks if s.where == "outside"]
    if crossing:
        return _crossing(crossing, evidence, out)
    if len(inside) > 1 or (inside and outside):
        return unsure(f"{len(sight.blocks)} blocks are seen, {len(inside)} of them in the box's opening", 0.2)
    if inside:
        return _in_opening(inside[0], evidence, earlier, out)
    return _none_inside(sight, earlier, outside, evidence, out)


def _in_opening(block: Sighting, evidence: Evidence, earlier: Sight | None, out: dict[str, Any]) -> Finding:
    """One block in the opening and none elsewhere: on the floor, or above it?"""
    holding = _holding(evidence)
    if block.cube is None or block.inside_mm is None:
        return unsure("what is seen in the box's opening has not the size of the block", 0.1)
    out |= {
        "inside_by_mm": block.inside_mm,
        "inside_by_sigma_mm": block.xz_sigma_mm,
        "height_mm": block.height_mm,
        "height_sigma_mm": block.height_sigma_mm,
        "cut_by_wall": block.cut,
        "over_rim_mm": block.over_mm,
        "block_fit": block.cube.inliers,
    }
    cut = ", part of it hidden by the wall" if block.cut else ""
    where = f"{_inside_text(block)}, its underside {_height_text(block)}{cut}"
    raised = _raised(block, RAISED_MM)
    if holding and (raised or not block.clean):
        return Finding("no", 0.85, f"{where}, and the gripper holds something: it has not been let go")
    if holding:
        return unsure(f"{where}, {HOLDS}", 0.2)
    if not block.clean:
        return unsure(f"{where}, but only {block.cube.inliers:.0%} of its outline is a block's: hidden in part", 0.3)
    most_mm = DOUBTFUL_ON_FLOOR_MM if block.doubtful else ON_FLOOR_MM
    above_sigma = (block.height_mm - most_mm) / block.height_sigma_mm
    if raised:
        return Finding("no", confidence_of(above_sigma), f"{where}: it does not lie on the box's floor")
    if above_sigma > 0:
        return unsure(f"{where}: too high to be sure that it lies on the floor", 0.3)
    if block.inside_mm - block.xz_sigma_mm < SURE_INSIDE_MM:
        return unsure(f"{where}: too near a wall to tell", 0.4)
    was = None if earlier is None else _lay_there(block, earlier)
    if was is not None:
        out["lay_there_before_mm"] = was
        if was <= STAYED_MM:
            return Finding("no", 0.9, f"the block lay in the box before the step already, {was:.0f} mm from there")
        return unsure("a block lay in the box before the step already, at another place", 0.2)
    on_floor = (RAISED_MM - block.height_mm) / block.height_sigma_mm
    sure = confidence_of(on_floor, block.inside_mm / block.xz_sigma_mm)
    return Finding("yes", sure, where + ("" if holding is None else f", and {HOLDS_NOT}"))


def _crossing(crossing: list[Sighting], evidence: Evidence, out: dict[str, Any]) -> Finding:
    """Something of the block's colour covers the rim, so it is higher than the rim."""
    worst = max(crossing, key=lambda s: min(s.over_mm, s.into_mm))
    by_mm = min(worst.over_mm, worst.into_mm)
    out |= {"over_rim_mm": worst.over_mm, "into_box_mm": worst.into_mm, "inside_by_mm": worst.inside_mm}
    out |= {"height_mm": worst.height_mm, "height_sigma_mm": worst.height_sigma_mm}
    what = f"the block covers the rim of the box, {worst.over_mm:.0f} mm out and {worst.into_mm:.0f} mm in"
    if by_mm < SURE_CROSSED_MM:
        if worst.clean and _raised(worst, RAISED_MM):
            return Finding(
                "no", 0.9, f"{what}, its underside {_height_text(worst)}: it does not lie on the box's floor"
            )
        return unsure(f"{what}: too near to tell", 0.3)
    held = "; the gripper still holds something" if _holding(evidence) else ""
    return Finding("no", confidence_of(by_mm / 1.5), f"{what}: it lies on it or hangs above{held}")


def _none_inside(
    sight: Sight, earlier: Sight | None, outside: list[Sighting], evidence: Evidence, out: dict[str, Any]
) -> Finding:
    """No patch of the colour in the opening: is the block elsewhere, or is the box hidden?"""
    whole = [s for s in outside if s.cube is not None and (s.clean or s.cut or s.cube.inliers > 0.6)]
    before = 1 if earlier is None else max(1, len(earlier.blocks))
    in_opening = [f for f in sight.fragments if f.where != "outside"]
    if whole and len(whole) >= before:
        nearest = min(whole, key=lambda s: s.into_mm - (s.inside_mm or 0.0))
        out |= {"inside_by_mm": nearest.inside_mm, "inside_by_sigma_mm": nearest.xz_sigma_mm}
        out |= {"height_mm": nearest.height_mm, "height_sigma_mm": nearest.height_sigma_mm}
        more = f"; all {len(whole)} blocks are outside" if len(whole) > 1 else ""
        return Finding("no", 0.95, _inside_text(nearest) + more)
    state = _box_state(sight, earlier, evidence, out)
    if state == "hidden" or in_opening:
        return unsure("no block can be seen, and something hides part of the box", 0.1)
    if state is None:
        return unsure("no block can be seen, nor what the box looked like before", 0.1)
    other = ", only another thing" if state == "other" else ""
    held = "; the gripper holds something" if _holding(evidence) else ""
    return Finding("no", 0.85, f"the box is in plain sight and has no block of the right colour in it{other}{held}")


def _box_state(sight: Sight, earlier: Sight | None, evidence: Evidence, out: dict[str, Any]) -> str | None:
    """What has happened in the opening since before: `same`, `other` (a thing lies in it), `hidden`, None: unknown."""
    if earlier is None or earlier.rim is None or sight.rim is None:
        return None
    moved = out.get("box_moved_mm", 0.0) > SAME_BOX_MM
    if moved or any(s.where != "outside" for s in earlier.blocks):
        return None
    side_px = evidence.settings.block_side_mm / _mm_per_px(sight, evidence)
    patches = changed_patches(earlier.image_bgr, sight.image_bgr, sight.rim.opening_px)
    large = [(area, out_of) for area, out_of in patches if area > PIECE * side_px**2]
    out["opening_changes"] = len(large)
    if not large:
        return "same"
    return "hidden" if any(out_of for _, out_of in large) else "other"


def _without_box(sight: Sight, earlier: Sight | None) -> Finding:
    """No box is seen. A block that still lies where it lay was not placed; anything else can't be told."""
    for block in sight.blocks:
        if earlier is not None and block.clean and block.height_mm < OFF_TABLE_MM:
            stayed = [d for s in earlier.blocks if s.where != "in_opening" and (d := _apart_mm(block, s)) <= STAYED_MM]
            if stayed and len(sight.blocks) == len(earlier.blocks) == 1:
                return Finding(
                    "no", 0.9, f"the block still lies {min(stayed):.0f} mm from its old place; no box is seen"
                )
    return unsure(f"no box can be seen ({sight.no_box})")


def picked(evidence: Evidence, view: View, after: Picture, before: Picture, out: dict[str, Any]) -> Finding:
    """Is the block in the gripper? What stood on the table before and stands there now, and the jaws' opening."""
    other = _other_scene(before, after, out)
    if other is not None:
        return other
    old = [s for s in look_at(before, view, evidence.settings).blocks if s.clean and s.height_mm < OFF_TABLE_MM]
    if not old:
        return unsure("the picture from before shows no block")
    sight = look_at(after, view, evidence.settings)
    _note(out, evidence, sight)
    clean = [s for s in sight.blocks if s.clean]
    moved = [s for s in clean if min(_apart_mm(s, o) for o in old) > STAYED_MM]
    up = [s for s in moved if _raised(s, OFF_TABLE_MM) or between_pads(s, after, view, evidence.settings)]
    down = [s for s in clean if s not in up]
    apart = [min((_apart_mm(o, d) for d in down), default=float("inf")) for o in old]
    stayed = [apart_mm for apart_mm in apart if apart_mm <= STAYED_MM]
    out |= {"blocks_before": len(old), "blocks_on_table": len(down), "blocks_stayed": len(stayed)}
    out |= {"blocks_at_the_gripper": len(up), "block_moved_mm": min(apart)}
    holding, grip = _holding(evidence), _grip_text(evidence)
    if len(down) >= len(old):
        return _all_there(down, old, stayed, min(apart), holding, grip)
    gone = "the block is nowhere on the table" if len(old) == 1 else f"of {len(old)} blocks {len(down)} are left"
    if up:
        gone += "; one is seen at the gripper"
    if holding is True:
        return Finding("yes", 0.97 if up else 0.95, f"{gone}; {grip}")
    if holding is False and not up:
        return Finding("no", 0.9, f"{gone}, but {grip}")
    return unsure(f"{gone}, but {grip}", 0.4)


def _all_there(
    down: list[Sighting],
    old: list[Sighting],
    stayed: list[float],
    nearest_mm: float,
    holding: bool | None,
    grip: str,
) -> Finding:
    """As many blocks stand on the table as before."""
    if len(stayed) == len(old):
        sigma = max(s.xz_sigma_mm for s in down)
        what = f"the block still lies {max(stayed):.0f} ± {sigma:.0f} mm from its old place"
    else:
        what = f"the block lies on the table, {nearest_mm:.0f} mm from its old place"
    if holding:
        return unsure(f"{what}, yet {grip}", 0.3)
    return Finding("no", 0.97 if holding is False else 0.93, f"{what}; {grip}")


# Shared.


def _other_scene(before: Picture | None, after: Picture, out: dict[str, Any]) -> Finding | None:
    if before is None:
        return None
    share = changed_share(before, after)
    out["changed_share"] = share
    if share <= OTHER_SCENE:
        return None
    return unsure(f"the two pictures show different scenes: {share:.0%} of the picture has changed")


def _note(out: dict[str, Any], evidence: Evidence, sight: Sight) -> None:
    out |= {"blocks_seen": len(sight.blocks), "grip_holding": _holding(evidence)}
    if evidence.grip is not None:
        out["grip_opening_mm"] = evidence.grip.opening_mm
    if sight.rim is not None:
        out["box_score"] = sight.rim.box.score


def _box_moved_mm(sight: Sight, earlier: Sight | None, out: dict[str, Any]) -> float | None:
    if earlier is None or earlier.rim is None or sight.rim is None:
        return None
    old, new = earlier.rim.box.xz_m, sight.rim.box.xz_m
    if old is None or new is None:
        return None
    out["box_moved_mm"] = float(np.hypot(*np.subtract(new, old)) * 1000)
    return float(out["box_moved_mm"])


def _lay_there(block: Sighting, earlier: Sight) -> float | None:
    """How far the block is from one that lay in the box before; None where none did."""
    return min((_apart_mm(block, s) for s in earlier.blocks if s.where == "in_opening"), default=None)


def _apart_mm(one: Sighting, other: Sighting) -> float:
    return float(np.hypot(*np.subtract(one.xz_m, other.xz_m)) * 1000)


def _raised(block: Sighting, least_mm: float) -> bool:
    """Whether it is seen clearly above the box's floor, or the table."""
    above_sigma = (block.height_mm - ON_FLOOR_MM) / block.height_sigma_mm
    return block.height_mm >= least_mm and above_sigma >= RAISED_SIGMA


def _holding(evidence: Evidence) -> bool | None:
    return None if evidence.grip is None else evidence.grip.holding


def _grip_text(evidence: Evidence) -> str:
    return "the gripper gives no reading" if evidence.grip is None else evidence.grip.reason


def _inside_text(block: Sighting) -> str:
    inside_mm = block.inside_mm if block.inside_mm is not None else 0.0
    side = "inside" if inside_mm >= 0 else "outside"
    return f"the block's centre is {abs(inside_mm):.0f} ± {block.xz_sigma_mm:.0f} mm {side} the inner walls"


def _height_text(block: Sighting) -> str:
    return f"{block.height_mm:.0f} ± {block.height_sigma_mm:.0f} mm above the table"


def _mm_per_px(sight: Sight, evidence: Evidence) -> float:
    """At the rim, from the box's known size."""
    assert sight.rim is not None
    area_px = float(cv2.contourArea(sight.rim.outer_px.astype(np.float32)))
    size = sight.rim.box.size_mm or evidence.settings.box_outer_mm
    return float(np.sqrt(size[0] * size[1] / max(area_px, 1.0)))
