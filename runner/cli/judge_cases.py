"""Labelled steps for the commands that measure judges: from sets and from runs that people have ruled on.

It only gathers; the label goes to whoever counts, never to a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from judges.calibrate import Case
from judges.certificate import CameraPart
from judges.labelled import SET_FILE, OpenSet, evidence_of, read_set
from judges.steps import Step, answers_on, evidence_of_step, label_on, steps_of
from runner.cell import Cell
from runner.cli.trust import camera_of_cell, camera_of_run
from runner.rig import WrongRequest, detect_settings, saved_view
from runs.errors import RecordError
from runs.schema.verdict import Verdict
from runs.store import RunStore, open_any
from runs.verdicts import PERSON
from vision.calibration.file import load_view
from vision.calibration.view import View


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Cases, where their labels come from, and how many judged steps of the named runs nobody has ruled on."""

    cases: tuple[Case, ...]
    sources: tuple[str, ...]
    unruled: int


def view_for(cell: Cell) -> Callable[[Step], View | None]:
    """The cell's view for those steps that were seen by the camera as it is calibrated now, None for others."""
    view, here = saved_view(cell), camera_of_cell(cell)

    def of(step: Step) -> View | None:
        then = camera_of_run(step.log)
        same = (then.lens_hash, then.plane_hash) == (here.lens_hash, here.plane_hash) and then.plane_hash is not None
        return view if same else None

    return of


def gather(cell: Cell, paths: Sequence[str], *, recorded_by: str | None = None) -> Gathered:
    """The labelled steps of sets (folders with a set.json) and of runs; of all runs of the cell where none is named.

    Args:
        recorded_by: the judge or model whose recorded answers the cases carry; the trial's own judge by default.

    Raises:
        LabelledSetUnreadable, RunNotFound, NotARunLog, CalibrationUnreadable
        WrongRequest: nothing in them has a label.
    """
    store = RunStore(cell.runs_dir)
    cases: list[Case] = []
    sources: list[str] = []
    unruled = 0
    view_of = view_for(cell)
    for path in paths or [entry.run_id for entry in store.list()]:
        if (Path(path) / SET_FILE).exists():
            opened = read_set(Path(path))
            cases += _of_set(cell, opened)
            sources.append(f"set {opened.content_hash[:12]} ({len(opened.content.items)} items)")
            continue
        try:
            stored = open_any(path, store)
        except RecordError:
            if paths:
                raise
            continue
        for step in steps_of(stored):
            case = _of_step(cell, step, view_of(step), recorded_by)
            unruled += case is None and step.is_last
            cases += [] if case is None else [case]
        sources += [stored.entry.run_id] if any(label_on(step) for step in steps_of(stored)) else []
    if not cases:
        raise WrongRequest(
            "there is no labelled step in them" if paths else "no run of this cell has been ruled on by a person",
            next_step="render a set: trialcell judge make-set DIR, or rule on runs: trialcell runs queue",
        )
    return Gathered(tuple(cases), tuple(sources), unruled)


def _of_set(cell: Cell, opened: OpenSet) -> Iterator[Case]:
    content = opened.content
    if content.calibration is not None:
        view: View | None = load_view(opened.folder / content.calibration)
    else:
        here = camera_of_cell(cell)
        same = content.plane_hash is not None and content.plane_hash == here.plane_hash
        view = saved_view(cell) if same else None
    camera = CameraPart(name=content.camera, lens_hash=content.lens_hash, plane_hash=content.plane_hash)
    settings = detect_settings(cell.config)
    for item in content.items:
        yield Case(
            id=f"{opened.content_hash[:8]}/{item.id}",
            stage=item.stage,
            label=item.label,
            kind=item.kind,
            light=item.light,
            camera=camera,
            evidence=partial(evidence_of, opened, item, settings, view),
            blind=item.blind,
        )


def _of_step(cell: Cell, step: Step, view: View | None, recorded_by: str | None) -> Case | None:
    labelled = label_on(step)
    if labelled is None:
        return None
    label, ruling = labelled
    return Case(
        id=step.name,
        stage=step.stage,
        label=label,
        kind="run",
        light="as in the runs",
        camera=camera_of_run(step.log),
        evidence=partial(evidence_of_step, step, detect_settings(cell.config), view),
        recorded=_recorded(step, recorded_by),
        blind=ruling.blind,
    )


def _recorded(step: Step, by: str | None) -> Verdict | None:
    """The latest recorded answer of that judge or model; without a name, that of the trial's own judge."""
    if by is None:
        own = [v for v in step.log.verdicts if v.stage == step.stage and v.attempt == step.attempt]
        return own[-1] if own and own[-1].audit.judge != PERSON else None
    found = [v for v in answers_on(step) if by in (v.audit.judge, v.audit.model)]
    return found[-1] if found else None
