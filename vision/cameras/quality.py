"""Is a picture fit to be used: sharp, lit, alive? A verdict for the preflight, with the figures behind it.

Judges the picture only, not what is in it, and never mends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vision.cameras.protocol import Picture
from vision.levels import percentile

DARK_BELOW_LEVEL = 18.0  # mean grey level 0…255: nothing can be told apart
BRIGHT_ABOVE_LEVEL = 245.0
FLAT_BELOW_LEVELS = 3.0  # spread of grey levels: a lens cap, a wall, a dead sensor
BLURRED_BELOW = 12.0  # sharpness below which edges are smeared over several pixels
LOOK_WIDTH_PX = 640


@dataclass(frozen=True, slots=True)
class Quality:
    """`sharpness`: strength of the steepest edges, 0…255; `mean_level` and `spread` of grey levels; what is wrong."""

    sharpness: float
    mean_level: float
    spread: float
    problem: str | None

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None


def assess(image_bgr: Picture) -> Quality:
    """Sharpness, light and contrast of one picture (h, w, 3), and the first thing that is wrong with it.

    Sharpness is the 99.9th percentile of the difference between pixels two apart, on a copy at most 640 px wide: a
    scene needs some edge for it, which a table with anything on it has.
    """
    width = image_bgr.shape[1]
    grey = cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY)
    if width > LOOK_WIDTH_PX:
        scale = LOOK_WIDTH_PX / width
        grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    mean_level, spread = float(grey.mean()), float(grey.std())
    smooth = cv2.GaussianBlur(grey, (3, 3), 0)
    across, down = cv2.absdiff(smooth[:, 2:], smooth[:, :-2]), cv2.absdiff(smooth[2:], smooth[:-2])
    sharpness = max(percentile(np.asarray(slopes, np.uint8), 99.9) for slopes in (across, down))
    problem = None
    if mean_level < DARK_BELOW_LEVEL:
        problem = f"dark: mean level {mean_level:.0f} of 255 (at least {DARK_BELOW_LEVEL:.0f}); switch on the light"
    elif mean_level > BRIGHT_ABOVE_LEVEL:
        problem = f"overexposed: mean level {mean_level:.0f} of 255; dim the light or shorten the exposure"
    elif spread < FLAT_BELOW_LEVELS:
        problem = "without any contrast; take off the lens cap"
    elif sharpness < BLURRED_BELOW:
        problem = f"blurred: sharpness {sharpness:.0f} (at least {BLURRED_BELOW:.0f}); focus or clean the lens"
    return Quality(sharpness, mean_level, spread, problem)


def frozen(pictures: Sequence[Picture]) -> bool:
    """Whether two or more pictures are equal to the last bit: a live sensor's noise never is."""
    return len(pictures) > 1 and all(np.array_equal(pictures[0], other) for other in pictures[1:])
