"""Which answers count as joint readings: lists of finite numbers inside the arm's reach, and nothing else.

A rejected answer is an error with its reason; it is never repaired and never replaced by zeros.
"""

from __future__ import annotations

import numpy as np

from runner.arms.errors import NoReading, ReadingRejected
from runner.arms.protocol import Arm, Clock
from runner.kinematics.model import ArmModel, FloatArray


def checked_reading(answer: object, model: ArmModel, *, margin_deg: float = 5.0) -> FloatArray:
    """A driver's raw answer as a reading, shape (n_joints,), degrees.

    Raises:
        ReadingRejected: not a list (−1, None and empty answers included), another length, not finite, or more than
            `margin_deg` outside a mechanical limit.
    """
    if not isinstance(answer, (list, tuple, np.ndarray)):
        raise ReadingRejected(answer, f"the answer is {answer!r}, not a list of angles")
    try:
        q = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise ReadingRejected(answer, f"the answer holds something that is no number: {answer!r}") from None
    if q.shape != (model.n_joints,):
        raise ReadingRejected(answer, f"{q.size} angles for {model.n_joints} joints")
    if not np.isfinite(q).all():
        raise ReadingRejected(answer, "an angle is not finite")
    beyond = np.maximum(model.min_deg - q, q - model.max_deg)
    worst = int(beyond.argmax())
    if beyond[worst] > margin_deg:
        raise ReadingRejected(
            answer, f"{model.data.joint[worst].name} at {q[worst]:.1f}° is {beyond[worst]:.1f}° outside its limit"
        )
    return q


class Readings:
    """Reads an arm's joints with patience, and counts what it had to reject."""

    def __init__(
        self, arm: Arm, clock: Clock, *, margin_deg: float = 5.0, tries: int = 8, pause_s: float = 0.4
    ) -> None:
        self._arm, self._clock, self._margin_deg = arm, clock, margin_deg
        self._tries, self._pause_s = tries, pause_s
        self.rejected = 0

    def read_deg(self) -> FloatArray:
        """A reading that counts, shape (n_joints,), degrees.

        Raises:
            NoReading: none in as many tries as are allowed.
        """
        why = ""
        for attempt in range(self._tries):
            if attempt:
                self._clock.sleep(self._pause_s)
            try:
                return checked_reading(self._arm.read_angles_deg(), self._arm.model, margin_deg=self._margin_deg)
            except ReadingRejected as error:
                self.rejected += 1
                why = error.why
        raise NoReading(self._tries, why)
