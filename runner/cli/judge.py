"""`trialcell judge`: ask a judge about pictures, without a trial."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.judge_calibrate import calibrate, compare
from runner.cli.judge_make_set import make_set
from runner.cli.judge_rejudge import collect, rejudge
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from judges.labelled import PictureLabel
    from judges.protocol import LabelledPicture
    from runs.schema.verdict import Verdict

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
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as you like.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep the answer, and what was sent, in the cell if there is one.")
    ] = True,
    json: JsonOption = False,
) -> int:
    """Ask once. Exit code 0 for a verdict (unsure is one), 6 for none."""
    from judges.budget import spent_on
    from judges.kept import new_judging
    from judges.protocol import Evidence
    from runner.cell import Cell, open_cell
    from runner.cli.trust import camera_of_cell, level_of, trust_in
    from runner.config import CELL_FILE, Config, with_overrides
    from runner.judging import judge_of
    from runner.kinematics.gripper import gripper_of
    from runner.rig import detect_settings, saved_view
    from runner.table.postures import arm_of
    from runner.trial.grip import judge_reading
    from vision.cameras.protocol import read_picture

    if stage not in ("pick", "place"):
        raise typer.BadParameter(f"--stage is pick or place; got {stage!r}")
    out = Output(as_json=json)
    in_cell = (cell / CELL_FILE).exists()
    opened = open_cell(cell) if in_cell else Cell(cell, Config())
    overrides = [*(set_ or []), *([] if judge is None else [f"judge.kind={judge}"])]
    config = with_overrides(opened.config, overrides) if overrides else opened.config
    pictures = _pictures(before, after, crop)
    view = saved_view(opened)
    if view is not None and not all(view.matches(picture.image_bgr) for picture in pictures if not picture.crop):
        view = None
    grip = None
    if gripper_value is not None:
        grip = judge_reading(gripper_value, gripper_of(arm_of(config)[0]), config.gripper, config.block)
    asked = judge_of(config)
    judging = new_judging(opened.folder) if in_cell and keep else None
    evidence = Evidence(
        stage="pick" if stage == "pick" else "place",
        pictures=pictures,
        grip=grip,
        settings=detect_settings(config),
        view=view,
        keep=None if judging is None else judging.keep,
    )
    waits = config.judge.kind in ("claude", "compatible", "panel")
    try:
        with out.aside.status(f"asking {config.judge.kind}") if waits else nullcontext():
            verdict = asked.judge(evidence)
        if judging is not None:
            judging.add("ask", verdict)
    finally:
        if judging is not None:
            judging.tidy()
    answer = {
        **verdict.model_dump(mode="json"),
        "attempts": _attempts(verdict),
        "cost_usd": spent_on(verdict),
        "calibrated": view is not None,
        "kept_in": None if judging is None else str(judging.folder),
    }
    trust = trust_in(opened, verdict, camera=camera_of_cell(opened), level=level_of(read_picture(after)))
    answer |= {"certified": trust.certified, "certified_why": trust.why}
    out.answer(answer, *_told(verdict, answer))
    return 0 if verdict.verdict is not None else 6


def _pictures(before: Path | None, after: Path, crop: Path | None) -> tuple[LabelledPicture, ...]:
    """The named files as evidence, in order."""
    from judges.labelled import labelled_picture

    named: tuple[tuple[Path | None, PictureLabel], ...] = ((before, "before"), (after, "after"), (crop, "crop"))
    return tuple(labelled_picture(path, label) for path, label in named if path is not None)


def _attempts(verdict: Verdict) -> int:
    """How often somebody was asked: requests to models, and one for each judge that needs none."""
    if verdict.members:
        return sum(_attempts(member) for member in verdict.members)
    return len(verdict.audit.attempts) if verdict.audit.template_id is not None else 1


def _told(verdict: Verdict, answer: dict[str, Any]) -> list[Any]:
    """The answer for people. What a model wrote is shown as it is, never read as markup."""
    from rich.text import Text

    lines = [Text.assemble((verdict.verdict or f"no verdict ({verdict.error})", "bold"), f"  {verdict.reason}")]
    if verdict.confidence is not None:
        lines.append(Text(f"confidence {verdict.confidence:g}" + (f", {verdict.error}" if verdict.error else "")))
    if verdict.audit.template_id is not None:
        cost = "cost unknown" if answer["cost_usd"] is None else f"${answer['cost_usd']:.4f}"
        tries = f"{answer['attempts']} request{'' if answer['attempts'] == 1 else 's'}"
        lines.append(Text(f"{verdict.audit.model}, {tries}, {cost}, {verdict.audit.seconds or 0:.1f} s"))
    standing = "certified" if answer["certified"] else "uncertified"
    lines.append(Text(f"{standing}: {answer['certified_why']}", style="dim"))
    if answer["kept_in"] is not None:
        lines.append(Text(f"kept in {answer['kept_in']}", style="dim", no_wrap=True))
    return lines


app.command(epilog="Example: trialcell judge calibrate labelled/ --judge measured")(calibrate)
app.command(epilog="Example: trialcell judge compare measured claude labelled/ --limit 200")(compare)
app.command(epilog="Example: trialcell judge rejudge all --judge claude --stage place --batch")(rejudge)
app.command(epilog="Example: trialcell judge collect")(collect)
app.command("make-set", epilog="Example: trialcell judge make-set judging-set --scenes 200 --seed 1")(make_set)
