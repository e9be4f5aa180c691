"""`trialcell judge`: ask a judge about pictures, without a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer(
    no_args_is_help=True, epilog="Example: trialcell judge ask --stage place --before before.jpg --after after.jpg"
)


@app.callback()
def _judge() -> None:
    """Judges: evidence in, a verdict out."""


@app.command(epilog="Example: trialcell judge ask --stage place --before before.jpg --after after.jpg")
def ask(
    stage: Annotated[str, typer.Option(help="pick or place.")],
    after: Annotated[Path, typer.Option(help="The picture from after the step.")],
    before: Annotated[Path | None, typer.Option(help="The picture from before.")] = None,
    crop: Annotated[Path | None, typer.Option(help="A closer look at what decides, from after.")] = None,
    judge: Annotated[str | None, typer.Option(help="Which judge; the cell's by default.")] = None,
    gripper_value: Annotated[
        float | None, typer.Option(min=0, max=100, help="The gripper's reading, 0 closed to 100 open.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Ask once. Exit code 0 for a verdict (unsure is one), 6 for none."""
    from judges.protocol import Evidence, LabelledPicture
    from runner.cell import Cell, open_cell
    from runner.config import CELL_FILE, Config, with_overrides
    from runner.kinematics.gripper import gripper_of
    from runner.rig import detect_settings, judge_of, saved_view
    from runner.table.postures import arm_of
    from runner.trial.grip import judge_reading
    from vision.cameras.protocol import read_picture

    if stage not in ("pick", "place"):
        raise typer.BadParameter(f"--stage is pick or place; got {stage!r}")
    out = Output(as_json=json)
    opened = open_cell(cell) if (cell / CELL_FILE).exists() else Cell(cell, Config())
    config = opened.config if judge is None else with_overrides(opened.config, [f"judge.kind={judge}"])
    pictures = [LabelledPicture("before", "before", read_picture(before))] if before is not None else []
    pictures += [LabelledPicture("after", "after", read_picture(path)) for path in (crop, after) if path is not None]
    view = saved_view(opened)
    if view is not None and not all(view.matches(picture.image_bgr) for picture in pictures):
        view = None
    grip = None
    if gripper_value is not None:
        grip = judge_reading(gripper_value, gripper_of(arm_of(config)[0]), config.gripper, config.block)
    verdict = judge_of(config).judge(
        Evidence(
            stage="pick" if stage == "pick" else "place",
            pictures=tuple(pictures),
            grip=grip,
            settings=detect_settings(config),
            view=view,
        )
    )
    answer = {
        **verdict.model_dump(mode="json"),
        "attempts": 1,
        "cost_usd": verdict.audit.cost_usd or 0.0,
        "calibrated": view is not None,
    }
    word = verdict.verdict or f"no verdict ({verdict.error})"
    out.answer(answer, f"[bold]{word}[/bold]  {verdict.reason}", f"confidence {verdict.confidence}")
    return 0 if verdict.verdict is not None else 6
