"""`trialcell judge make-set`: a labelled set to hold judges against, rendered in the twin or from labelled pictures.

The command is registered in `judge.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from judges.labelled import OpenSet
    from runner.calibrate.judge_set.make import ReadGrip
    from runner.cell import Cell

SCENES = 200


def make_set(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the set.")],
    scenes: Annotated[int, typer.Option(help="How many scenes to render, half of them failures.")] = SCENES,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same scenes.")] = 1,
    stage: Annotated[str, typer.Option(help="place, pick or both.")] = "both",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that render.")] = 1,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take these pictures and their labels instead of rendering.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The list of labels; labels.csv beside the pictures by default.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Make a set of labelled pictures with near misses. Labels come from the twin's truth, or from your list."""
    from functools import partial

    from runner.calibrate.first_use import calibrate_twin
    from runner.calibrate.judge_set.folder import set_from_folder
    from runner.calibrate.judge_set.make import make_set as render
    from runner.cell import open_cell
    from runner.kinematics.gripper import gripper_of
    from runner.table.postures import arm_of
    from runner.trial.grip import judge_reading

    if stage not in ("place", "pick", "both"):
        raise typer.BadParameter(f"--stage is place, pick or both; got {stage!r}")
    if labels is not None and pictures is None:
        raise typer.BadParameter("--labels goes with --pictures DIR")
    out, opened = Output(as_json=json), open_cell(cell)
    config = opened.config
    read: ReadGrip = partial(
        judge_reading, gripper=gripper_of(arm_of(config)[0]), settings=config.gripper, block=config.block
    )
    left_out: list[str] = []
    if pictures is not None:
        calibration = opened.calibration_dir if _calibrated(opened) else None
        made, left_out = set_from_folder(
            folder, pictures, read=read, labels=labels, calibration=calibration, progress=out.aside.print
        )
    else:
        if not _calibrated(opened):
            calibrate_twin(config, opened.calibration_dir, out.aside.print)
        made = render(
            folder,
            config,
            opened.calibration_dir,
            scenes=scenes,
            seed=seed,
            read=read,
            stages=("place", "pick") if stage == "both" else ("place",) if stage == "place" else ("pick",),
            workers=workers,
            progress=out.aside.print,
        )
    _tell(out, made, left_out)
    return 0


def _calibrated(opened: Cell) -> bool:
    from runner.rig import saved_view

    return saved_view(opened) is not None


def _tell(out: Output, made: OpenSet, left_out: list[str]) -> None:
    """The set in figures: how many of each kind, and what was left out."""
    from collections import Counter

    from rich.table import Table

    items = made.content.items
    kinds = Counter((item.stage, item.kind, item.label) for item in items)
    failures = sum(item.label == "no" for item in items)
    answer = {
        "folder": str(made.folder),
        "scenes": len(items),
        "failures": failures,
        "content_hash": made.content_hash,
        "kinds": [{"stage": s, "kind": k, "label": label, "scenes": n} for (s, k, label), n in sorted(kinds.items())],
        "left_out": left_out,
    }
    table = Table("stage", "kind", "label", "scenes")
    for (of_stage, kind, label), n in sorted(kinds.items()):
        table.add_row(of_stage, kind, label, str(n))
    said = f"{len(items)} scenes in {made.folder}, {failures} of them failures"
    out.answer(answer, said, table, *(f"left out: {why}" for why in left_out))
