"""A synced state as a picture for people: seen, rendered, and the twin's outlines over the seen one."""

from __future__ import annotations

import cv2
import numpy as np

from runner.rehearse.sync import Synced
from vision.cameras.protocol import Picture
from vision.overlay import BLOCK_COLOUR, BOX_COLOUR, FONT, WHITE, strip

_ARM_COLOUR = (255, 170, 40)
_DARK = (20, 20, 20)


def overlay(found: Synced) -> Picture:
    """Three pictures side by side; in the last one half of each, with the differences written beside the outlines."""
    both = np.asarray(cv2.addWeighted(found.seen, 0.5, found.rendered, 0.5, 0.0), np.uint8)
    for outline in found.arm_outlines_px:
        cv2.polylines(both, [outline], True, _ARM_COLOUR, 2, cv2.LINE_AA)
    block, box = found.seen_block, found.seen_box
    things = (
        ("block", () if block is None else block.outline_px, BLOCK_COLOUR),
        ("box", () if box is None else box.corners_px, BOX_COLOUR),
    )
    for name, corners, colour in things:
        if not corners:
            continue
        points = np.array(corners, np.float64).round().astype(np.int32).reshape(-1, 1, 2)
        cv2.polylines(both, [points], True, colour, 2, cv2.LINE_AA)
        off = found.differences.get(name)
        if off is not None:
            u, v = points[:, 0].max(axis=0).tolist()
            _write(both, f"{name}: {off.px:.1f} px, {off.mm:.1f} mm", (u + 8, v))
    arm = found.differences.get("arm")
    if arm is not None:
        u, v = found.arm_outlines_px[0][:, 0].min(axis=0).tolist()
        _write(both, f"arm: {arm.px:.1f} px, {arm.mm:.1f} mm", (max(8, u - 10), max(24, v - 12)))
    return strip((("seen", found.seen), ("the twin", found.rendered), ("both", both)), height_px=480)


def _write(picture: Picture, text: str, at: tuple[int, int]) -> None:
    u = min(at[0], picture.shape[1] - 320)
    for colour, thick in ((_DARK, 5), (WHITE, 2)):
        cv2.putText(picture, text, (u, at[1]), FONT, 0.8, colour, thick, cv2.LINE_AA)
