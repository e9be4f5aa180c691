"""A session keeps to one core, so that as many as there are cores run side by side and none waits for another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import cv2

from runner.kinematics.threads import on_one_core


@contextmanager
def keeping_to_one_core() -> Iterator[None]:
    """While inside, neither our own work nor OpenCV's is shared out. What comes out is the same."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        with on_one_core():
            yield
    finally:
        cv2.setNumThreads(before)
