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
    json: JsonOption = False,
) -> int:
    """Ask once. Exit code 0 for a verdict (unsure is one), 6 for none."""
    from judges.protocol import Evidence, LabelledPicture
    from runner.cell import Cell, open_cell
    from runner.cli.trust import camera_of_cell, level_of, trust_in
    from runner.config import CELL_FILE, Config, with_overrides
    from runner.kinematics.gripper import gripper_of
    from runner.rig import detect_settings, judge_of, saved_view
    from runner.table.postures import arm_of
    from runner.trial.grip import judge_reading
    from runs.files import sha256_hex
    from vision.cameras.protocol import read_picture

    if stage not in ("pick", "place"):
        raise typer.BadParameter(f"--stage is pick or place; got {stage!r}")
    out = Output(as_json=json)
    opened = open_cell(cell) if (cell / CELL_FILE).exists() else Cell(cell, Config())
    overrides = [*(set_ or []), *([] if judge is None else [f"judge.kind={judge}"])]
    config = with_overrides(opened.config, overrides) if overrides else opened.config
    named = [("before", before, False), ("after", after, False), ("after", crop, True)]
    pictures = [
        LabelledPicture(
            "crop" if closer else role,
            "before" if role == "before" else "after",
            read_picture(path),
            crop=closer,
            source_sha256=sha256_hex(path.read_bytes()),
        )
        for role, path, closer in named
        if path is not None
    ]
    view = saved_view(opened)
    if view is not None and not all(view.matches(picture.image_bgr) for picture in pictures if not picture.crop):
        view = None
    grip = None
    if gripper_value is not None:
        grip = judge_reading(gripper_value, gripper_of(arm_of(config)[0]), config.gripper, config.block)
    evidence = Evidence(
        stage="pick" if stage == "pick" else "place",
        pictures=tuple(pictures),
        grip=grip,
        settings=detect_settings(config),
        view=view,
    )
    waits = config.judge.kind in ("claude", "compatible", "panel")
    with out.aside.status(f"asking {config.judge.kind}") if waits else nullcontext():
        verdict = judge_of(config).judge(evidence)
    answer = {
        **verdict.model_dump(mode="json"),
        "attempts": _attempts(verdict),
        "cost_usd": _cost_usd(verdict),
        "calibrated": view is not None,
    }
    trust = trust_in(opened, verdict, camera=camera_of_cell(opened), level=level_of(read_picture(after)))
    answer |= {"certified": trust.certified, "certified_why": trust.why}
    out.answer(answer, *_told(verdict, answer))
    return 0 if verdict.verdict is not None else 6


def _attempts(verdict: Verdict) -> int:
    """How often somebody was asked: requests to models, and one for each judge that needs none."""
    if verdict.members:
        return sum(_attempts(member) for member in verdict.members)
    return len(verdict.audit.attempts) if verdict.audit.template_id is not None else 1


def _cost_usd(verdict: Verdict) -> float | None:
    """What is known to have been billed; None where a model was asked and nobody knows."""
    audits = [member.audit for member in verdict.members] or [verdict.audit]
    unknown = any(audit.attempts and audit.cost_usd is None for audit in audits)
    return None if unknown else sum(audit.cost_usd or 0.0 for audit in audits)


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
    return lines


app.command(epilog="Example: trialcell judge calibrate labelled/ --judge measured")(calibrate)
app.command(epilog="Example: trialcell judge compare measured claude labelled/ --limit 200")(compare)
app.command(epilog="Example: trialcell judge rejudge all --judge claude --stage place --batch")(rejudge)
app.command(epilog="Example: trialcell judge collect")(collect)
app.command("make-set", epilog="Example: trialcell judge make-set judging-set --scenes 200 --seed 1")(make_set)
