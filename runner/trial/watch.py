"""Is a picture one of now? A camera that hangs, or hands out what lay in its buffer, must not decide anything.

Two things give it away: a picture that equals the one before to the last bit, which no live sensor gives; and a picture
in which nothing has changed where the arm has been and where it has gone since. The second also finds an arm that says
it has moved and has not. It looks at changes only and knows nothing of what is in the pictures.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.trial.errors import PictureNotOfNow
from vision.cameras.protocol import Picture
from vision.cameras.quality import frozen
from vision.levels import strongest

SHRINK = 4  # pictures are compared at a fourth of their size, which also takes the noise out of them
LEAST_REGION_PX = 250  # of the small picture: a smaller part that the arm has left or come to says nothing
LEAST_CHANGE = (
    0.15  # share of that part that differs when the arm has moved: 0.7 and more in trials, 0.02 if it has not
)
_DIFFERS_LEVELS = 12
_UNSURE_PX = 5  # of the small picture: how far the arm may be seen beside where it is reckoned to be
_KEPT = 4

Mask = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """A picture at a fourth of its size, and where the arm was reckoned to be in it, 255 inside."""

    small: Picture
    arm: Mask


class PictureWatch:
    """Remembers a trial's last pictures of a live camera."""

    def __init__(self) -> None:
        self._last: Picture | None = None
        self._shown: deque[_Shown] = deque(maxlen=_KEPT)

    def check(self, image_bgr: Picture, arm_px: tuple[FloatArray, FloatArray] | None, camera: str) -> None:
        """Hold a picture (h, w, 3) against those before.

        Args:
            arm_px: where the arm is reckoned to be seen, discs as centres (n, 2) and radii (n,), pixels; None where
                that is not known.
            camera: its name.

        Raises:
            PictureNotOfNow: it can't be a picture of now.
        """
        if self._last is not None and frozen((self._last, image_bgr)):
            raise PictureNotOfNow(camera, "it gave the same picture twice, equal to the last bit")
        self._last = image_bgr
        if arm_px is None:
            return
        now = _Shown(_small(image_bgr), _arm_mask(image_bgr.shape[:2], *arm_px))
        for before in reversed(self._shown):
            changed = change_where_the_arm_went(before.small, before.arm, now.small, now.arm)
            if changed is None:
                continue
            if changed < LEAST_CHANGE:
                raise PictureNotOfNow(
                    camera,
                    "its picture does not show that the arm has moved: it hands out old pictures, or the arm is not "
                    f"where it says it is ({changed:.0%} of what it has left or come to has changed)",
                )
            break
        self._shown.append(now)


def change_where_the_arm_went(before: Picture, arm_before: Mask, now: Picture, arm_now: Mask) -> float | None:
    """The share of what the arm has left, or of what it has come to, that differs between two pictures, 0…1.

    Of the two the smaller share: a picture that lags behind shows the arm leave one place, but not come to the other.
    None where both are too little of the picture to say anything: the arm has hardly moved.
    """
    wide = np.ones((2 * _UNSURE_PX + 1,) * 2, np.uint8)
    differs = strongest(np.asarray(cv2.absdiff(before, now), np.uint8)) > _DIFFERS_LEVELS
    shares = []
    for there, other in ((arm_before, arm_now), (arm_now, arm_before)):
        only_there = (there > 0) & (cv2.dilate(other, wide) == 0)
        if np.count_nonzero(only_there) >= LEAST_REGION_PX:
            shares.append(float(differs[only_there].mean()))
    return min(shares, default=None)


def _small(image_bgr: Picture) -> Picture:
    high, wide = image_bgr.shape[:2]
    return np.asarray(cv2.resize(image_bgr, (wide // SHRINK, high // SHRINK), interpolation=cv2.INTER_AREA), np.uint8)


def _arm_mask(shape: tuple[int, ...], centres_px: FloatArray, radii_px: FloatArray) -> Mask:
    mask = np.zeros((shape[0] // SHRINK, shape[1] // SHRINK), np.uint8)
    near = np.abs(centres_px).max(axis=1) < 1e4 * SHRINK  # and no NaN
    discs = np.column_stack((centres_px[near], radii_px[near])) / SHRINK
    for u, v, radius in np.unique(np.rint(discs).astype(int), axis=0).tolist():  # many fall together
        cv2.circle(mask, (u, v), max(1, radius), 255, -1)
    return mask
