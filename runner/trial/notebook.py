"""Writes the trial down and tells whoever watches: every record goes to the log first, then to the observer.

It adds nothing of its own and holds nothing back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2

from runs.events import Payload, StageEnded, StageJudged, StageStarted, utc_text
from runs.schema.run import Capture, Ending, Note, RunLog, StageOutcome
from runs.schema.verdict import JudgedStage, Judgment
from runs.writer import RunWriter
from vision.cameras.protocol import Picture

Observer = Callable[[Payload], None]

_JPEG_QUALITY = 92


class Notebook:
    """The open run, and who watches it."""

    def __init__(self, writer: RunWriter, observer: Observer | None = None) -> None:
        self._writer, self._observer = writer, observer

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self._writer.run_id

    @property
    def log(self) -> RunLog:
        """The log so far."""
        return self._writer.log

    @property
    def open_stage(self) -> str | None:
        """The stage that has begun and not ended."""
        return self._writer.open_stage

    def add(self, record: Payload) -> None:
        """Write one record down."""
        self._writer.add(record)
        self._tell(record)

    def stage_started(self, name: str, started_s: float, attempt: int | None) -> None:
        """A stage begins."""
        self.add(StageStarted(name=name, started_s=started_s, attempt=attempt))

    def stage_ended(self, name: str, outcome: StageOutcome, ended_s: float, note: str | None = None) -> None:
        """The open stage ends."""
        self.add(StageEnded(name=name, outcome=outcome, ended_s=ended_s, note=note))

    def judged(self, stage: JudgedStage, judgment: Judgment) -> None:
        """The judgment that stands at the end of a stage."""
        self.add(StageJudged(stage=stage, judgment=judgment))

    def note(self, text: str, *, aloud: bool = False) -> None:
        """A sentence worth keeping; `aloud`: whoever watches is told it too."""
        if aloud:
            self.add(Note(at=utc_text(), stage=self.open_stage, text=text))
        else:
            self._writer.note(text)

    def picture(self, label: str, image_bgr: Picture, **fields: Any) -> Capture:
        """Keep a picture as JPEG."""
        done, jpeg = cv2.imencode(".jpg", image_bgr, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        assert done, "OpenCV encodes any picture of 8 bits"
        height, width = image_bgr.shape[:2]
        capture = self._writer.picture(label, jpeg.tobytes(), width_px=width, height_px=height, **fields)
        self._tell(capture)
        return capture

    def sent_picture(self, label: str, jpeg: bytes, width_px: int, height_px: int, attempt: int) -> str:
        """Keep a picture exactly as it is sent to a judge; returns where it is."""
        capture = self._writer.picture(label, jpeg, width_px=width_px, height_px=height_px, attempt=attempt)
        self._tell(capture)
        return capture.image

    def finish(self, ending: Ending, *, duration_s: float, wall_s: float) -> RunLog:
        """Write the end."""
        return self._writer.finish(ending, duration_s=duration_s, wall_s=wall_s)

    def close(self) -> None:
        """Let go of the run without an end, as if the process had died."""
        self._writer.close()

    def _tell(self, record: Payload) -> None:
        if self._observer is not None:
            self._observer(record)
