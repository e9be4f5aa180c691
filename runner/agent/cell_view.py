"""A cell as an agent may read it: tables, corrections, runs that have ended, calibrated view. Changes nothing.

What is dear to open is opened when it is asked for, once.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from runner.agent.errors import NotHere
from runner.cell import Cell, making
from runner.learning import belongs_here
from runner.rig import detect_settings, saved_view
from runner.table.cell_tables import CellTables, open_tables
from runner.table.plan import Planner
from runner.table.region import FillPhase, Ground
from runner.table.survey import Survey
from runs.corrections.file import CorrectionFile
from runs.corrections.history import State
from runs.store import RunStore, StoredRun, picture_path
from vision.calibration.view import View
from vision.detect.protocol import DetectSettings

_RUNS_BACK = 50


class CellView:
    """What tools that need no arm are given."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.config = cell.config
        self.store = RunStore(cell.runs_dir)

    @cached_property
    def tables(self) -> CellTables:
        """The cell's tables, made if they are missing."""
        with making(self.cell.folder):
            return open_tables(self.cell.folder, self.config)

    @cached_property
    def planner(self) -> Planner:
        """Plans with nothing on the desk but what the settings say."""
        return self.tables.planner(self.config)

    @cached_property
    def view(self) -> View | None:
        """The calibrated camera, None where it has none."""
        return saved_view(self.cell)

    @cached_property
    def detect(self) -> DetectSettings:
        """What detectors look for."""
        return detect_settings(self.config)

    def survey(self, phase: FillPhase) -> Survey:
        """The squares of a phase."""
        return Survey.of(self.cell, self.tables, Ground.of(self.config, phase))

    def corrections(self) -> State:
        """What has been learned with what stands here now."""
        return CorrectionFile(self.cell.folder).load(belongs_here(self.cell))

    def ended_run(self, wanted: str) -> StoredRun:
        """A run that has ended; `latest` is the last of those.

        Raises:
            NotHere: it is under way: what is decided in it is not final.
            RunNotFound, NotARunLog: there is none.
        """
        if wanted == "latest":
            wanted = next((e.run_id for e in self.store.newest(_RUNS_BACK) if e.state != "running"), wanted)
        stored = self.store.open(wanted)
        if stored.entry.state == "running":
            raise NotHere(f"{stored.entry.run_id} is under way; it can be read once it has ended")
        return stored

    def kept_picture(self, stored: StoredRun, label: str) -> tuple[str, Path]:
        """A picture of a run by its label, or the last one; its label and its file.

        Raises:
            NotHere: there is none.
        """
        shots = [shot for shot in stored.log.vlm_captures if label in ("last", shot.label)]
        path = picture_path(shots[-1].image, stored.entry.folder) if shots else None
        if path is None:
            raise NotHere(f"{stored.entry.run_id} has no picture {label!r} that is still there")
        return shots[-1].label, path
