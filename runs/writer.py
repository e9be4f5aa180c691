"""Writes one run down while it happens. Made by `RunStore.create`; one process and one writer a run.

A call that returns has put its event on the disk. A call that raises has left the file as it was.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

from filelock import FileLock

from runs.errors import RunClosed
from runs.events import (
    EVENTS_FILE,
    KIND_OF,
    RUN_FILE,
    Event,
    Fold,
    NotLearned,
    Payload,
    RunEnded,
    StageEnded,
    StageJudged,
    StageStarted,
    event_line,
    parse_line,
    utc_text,
)
from runs.files import append_synced, mark_changed, sha256_hex, storage, write_atomic
from runs.recover import read_events, rebuilt
from runs.schema.run import Capture, Ending, Note, RunLog, StageOutcome
from runs.schema.verdict import JudgedStage, Judgment

LABEL = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


def log_bytes(log: RunLog) -> bytes:
    """A log as the text of `run.json`."""
    return log.model_dump_json(indent=2).encode() + b"\n"


class RunWriter:
    """The open run: add events, keep pictures, finish."""

    def __init__(self, folder: Path, created: Event, lock: FileLock) -> None:
        self.folder = folder
        self.events_path = folder / EVENTS_FILE
        self._state = Fold(created)
        self._lock = lock
        self._turn = threading.RLock()
        with storage(self.events_path):
            self._fd = os.open(self.events_path, os.O_WRONLY | os.O_APPEND)

    @property
    def run_id(self) -> str:
        """The run's name, which is its folder's too."""
        return self._state.header.run_id

    @property
    def log(self) -> RunLog:
        """The log of what has happened so far."""
        with self._turn:
            return self._state.log()

    @property
    def open_stage(self) -> str | None:
        """The stage that began and has not ended."""
        return self._state.open_stage

    def add(self, record: Payload) -> None:
        """Write down one record of any kind in `events.KINDS`. An `at` left None becomes the event's time.

        Raises:
            StorageUnwritable: the event is not on the disk; the file is as it was before.
            RunClosed: the run has ended.
            ValueError: a stage ends that is not open.
        """
        with self._turn:
            if self._state.ended:
                raise RunClosed(self.run_id, KIND_OF[type(record)])
            if isinstance(record, StageEnded) and record.name != self.open_stage:
                raise ValueError(f"stage {record.name} can't end: open is {self.open_stage or 'none'}")
            line = event_line(self._state.next_seq, utc_text(), record)
            event = parse_line(line)
            expected_size = os.fstat(self._fd).st_size + len(line)
            try:
                append_synced(self._fd, self.events_path, line)
            except KeyboardInterrupt:
                if os.fstat(self._fd).st_size == expected_size:  # it came after the line was written
                    self._state.add(event)
                raise
            self._state.add(event)

    def stage_started(self, name: str, *, started_s: float | None = None, attempt: int | None = None) -> None:
        """A stage begins; `started_s` is the arm's clock. One that is still open is cut off by it."""
        self.add(StageStarted(name=name, started_s=started_s, attempt=attempt))

    def stage_ended(
        self, name: str, outcome: StageOutcome, *, ended_s: float | None = None, note: str | None = None
    ) -> None:
        """The open stage ends; `ended_s` is the arm's clock."""
        self.add(StageEnded(name=name, outcome=outcome, ended_s=ended_s, note=note))

    def judgment(self, stage: JudgedStage, judgment: Judgment) -> None:
        """The judgment that stands at the end of a stage; a later one for the same stage takes its place."""
        self.add(StageJudged(stage=stage, judgment=judgment))

    def not_learned(self, reason: str) -> None:
        """Why this trial teaches the corrections nothing."""
        self.add(NotLearned(reason=reason))

    def note(self, text: str, *, stage: str | None = None) -> None:
        """A sentence worth keeping; `stage` is the open one by default."""
        self.add(Note(at=utc_text(), stage=stage or self.open_stage, text=text))

    def picture(self, label: str, jpeg: bytes, **fields: Any) -> Capture:
        """Keep a picture as `<run id>_<label>.jpg` and write its capture down, hash included.

        Nothing is overwritten: a label that is taken gets `_2`, `_3`, …; the capture says which.

        Args:
            label: small letters, digits and `_`.
            jpeg: the file's bytes, kept as they are.
            fields: more of `Capture`: `width_px`, `attempt`, `sharpness`, `arm_joints_deg`, …
        """
        if not LABEL.fullmatch(label):
            raise ValueError(f"a picture can't be labelled {label!r}")
        with self._turn:
            if self._state.ended:
                raise RunClosed(self.run_id, "capture")
            free, n = label, 1
            while (path := self.folder / f"{self.run_id}_{free}.jpg").exists():
                n += 1
                free = f"{label}_{n}"
            header = self._state.header
            values = {"dry_run": header.dry_run, "at": utc_text()} | fields
            capture = Capture(label=free, image=f"{header.frames_dir}/{path.name}", sha256=sha256_hex(jpeg), **values)
            write_atomic(path, jpeg)
            self.add(capture)
        return capture

    def finish(self, ending: Ending, *, duration_s: float | None = None, wall_s: float | None = None) -> RunLog:
        """Write the end down and `run.json`, read back from the events on the disk, and let go of the run.

        Args:
            ending: result, stage and reason. A stage still open ends with it.
            duration_s: the arm's clock, start to end.
            wall_s: our own clock, start to end.

        Raises:
            StorageUnwritable: `run.json` could not be written; `RunStore.recover` makes it later from the events.
        """
        with self._turn:
            self.add(RunEnded(ending=ending, duration_s=duration_s, wall_s=wall_s))
            try:
                read = read_events(self.events_path)
                log = rebuilt(read) if read.damage else read.state.log()
                write_atomic(self.folder / RUN_FILE, log_bytes(log))
                mark_changed(self.folder)
                (self.folder / WRITING_LOCK).unlink(missing_ok=True)
            finally:
                self.close()
        return log

    def close(self) -> None:
        """Let go of the run without ending it, as if the process had died here. Safe more than once."""
        with self._turn:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
                self._lock.release()


WRITING_LOCK = ".writing.lock"
"""Held by the process that writes a run, so that nobody recovers it under its hands."""
