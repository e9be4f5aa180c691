"""The measuring judge: OpenCV and the gripper's own reading, nothing else.

It says yes only where everything that it measured agrees, no where something speaks plainly against, and unsure in all
other cases: a dark, blurred or hidden scene, two different scenes, evidence that contradicts itself, or a block too
near a wall to tell. Its reason names what it measured, and how well; the audit has all of it.
"""

from __future__ import annotations

from math import isfinite
from time import monotonic
from typing import Any

from judges import by_pixels, by_view
from judges.errors import BadEvidence
from judges.finding import Finding, unsure
from judges.protocol import Evidence
from runs.schema.verdict import JudgeAudit, Verdict
from vision.cameras.quality import assess


class MeasuredJudge:
    """Measures where the block is, before and after, and what the gripper says."""

    name = "measured"

    def judge(self, evidence: Evidence) -> Verdict:
        """Yes, no or unsure, with the measurements in the audit.

        Raises:
            BadEvidence: there is no picture from after the step.
        """
        begun_s = monotonic()
        measured: dict[str, Any] = {}
        finding = _found(evidence, measured)
        return Verdict(
            stage=evidence.stage,
            verdict=finding.word,
            confidence=finding.confidence,
            reason=finding.reason,
            audit=JudgeAudit(
                judge=self.name,
                image_hashes=tuple(picture.sha256 for picture in evidence.pictures),
                seconds=monotonic() - begun_s,
                measurements={key: _plain(value) for key, value in measured.items()},
            ),
            attempt=evidence.attempt,
        )


def _found(evidence: Evidence, measured: dict[str, Any]) -> Finding:
    """Quality first, then the stage's own measurements, in millimetres where the camera is calibrated."""
    whole = [picture for picture in evidence.pictures if not picture.crop]
    after = next((p.image_bgr for p in reversed(whole) if p.role == "after"), None)
    before = next((p.image_bgr for p in reversed(whole) if p.role == "before"), None)
    if after is None:
        raise BadEvidence("there is no picture from after the step", next_step="hand one over with --after")
    quality = assess(after)
    measured |= {"sharpness": quality.sharpness, "mean_level": quality.mean_level}
    if quality.problem is not None:
        return unsure(f"the picture can't be judged: {quality.problem}")
    if before is not None and (problem := assess(before).problem) is not None:
        return unsure(f"the picture from before can't be judged: {problem}")
    view = evidence.view
    if evidence.stage == "pick":
        if before is None:
            return unsure("there is no picture from before, so nothing to compare with")
        if view is None:
            return by_pixels.picked(evidence, after, before, measured)
        return by_view.picked(evidence, view, after, before, measured)
    if view is None:
        return by_pixels.placed(evidence, after, before, measured)
    return by_view.placed(evidence, view, after, before, measured)


def _plain(value: Any) -> Any:
    """A measurement as it can stand in a log: what is not finite is not known."""
    return None if isinstance(value, float) and not isfinite(value) else value
