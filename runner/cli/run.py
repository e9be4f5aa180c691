"""`trialcell run`: one whole trial, shown as it happens, with its log at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, ProfileOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

    from runner.cell import Cell
    from runner.rig import Rig
    from runs.schema.run import RunLog

app = typer.Typer()


@app.command(epilog="Example: trialcell run --seed 7 --profile field   or   trialcell run --block 0.20,0.20 --dry-run")
def run(
    seed: Annotated[int | None, typer.Option(min=0, help="The twin's seed: fixes block, box, light and noise.")] = None,
    block: Annotated[str | None, typer.Option(metavar="X,Z", help="Put the twin's block here, metres.")] = None,
    box: Annotated[str | None, typer.Option(metavar="X,Z", help="Put the twin's box here, metres.")] = None,
    profile: ProfileOption = None,
    camera: Annotated[
        str | None, typer.Option(metavar="KIND[:SOURCE]", help="Another camera, for example folder:pictures/.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but move; say what would be sent.")] = False,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Do one whole trial: find, pick, place, judge, write down.

    With nothing plugged in it runs on the digital twin.
    Ctrl-C once: finish the motion, stop, park, write. Twice: stop now.
    """
    from rich.console import Console

    from runner.cell import open_cell
    from runner.cli.live import LiveTrial
    from runner.rig import Request, build_rig
    from runner.trial.sequence import run_trial
    from runner.trial.stop import StopSwitch, listening
    from runs.lock import CellLock
    from runs.store import RunStore

    out = Output(as_json=json)
    request = Request(
        seed=seed,
        block_xz_m=point_of(block, "--block"),
        box_xz_m=point_of(box, "--box"),
        dry_run=dry_run,
    )
    opened = open_cell(cell, overrides_of(set_, profile, camera))
    console = out.aside if json else out.console
    if opened.config.judge.kind == "person":  # lines that live would be drawn over the questions
        console = Console(file=console.file, force_terminal=False, highlight=False)
    switch, view = StopSwitch(), LiveTrial(console)
    with CellLock(opened.folder):
        try:
            rig = build_rig(opened, request, switch=switch, progress=view.preparing)
        finally:
            view.prepared()
        with rig, view, listening(switch, on_first=view.stopping):
            log = run_trial(rig.bench, RunStore(opened.runs_dir), switch=switch, observer=view.observe)
            answer = _answer(log, rig, opened.runs_dir / log.run_id)
    answer["certified"] = _certified(opened, log)
    out.answer(answer, *_summary(log, answer, opened.folder))
    return exit_code_of(log)


def exit_code_of(log: RunLog) -> int:
    """How it ended as an exit code; one that an error of ours ended has that error's code."""
    from runner.cli.failures import DONE, EXIT_CODE_OF_FAMILY, EXIT_CODE_OF_RESULT

    if log.dry_run and log.result == "unjudged":
        return DONE
    if log.result == "crashed" and log.ending is not None and log.ending.family is not None:
        return EXIT_CODE_OF_FAMILY[log.ending.family]
    return EXIT_CODE_OF_RESULT[log.result or "crashed"]


def overrides_of(set_: list[str] | None, profile: str | None, camera: str | None) -> list[str]:
    """The options as settings."""
    chosen = list(set_ or [])
    if profile is not None:
        chosen.append(f"twin.profile={profile}")
    if camera is not None:
        kind, _, source = camera.partition(":")
        if kind not in ("auto", "twin", "folder", "opencv"):
            raise typer.BadParameter(f"--camera is twin, folder:PATH or opencv:NAME; got {camera!r}")
        chosen += [f"camera.kind={kind}", *([f"camera.source={source}"] if source else [])]
    return chosen


def point_of(text: str | None, option: str) -> tuple[float, float] | None:
    """Two metres with a comma between them."""
    if text is None:
        return None
    from math import isfinite

    try:
        x, z = (float(part) for part in text.split(","))
    except ValueError:
        x = z = float("nan")
    if not (isfinite(x) and isfinite(z)):
        raise typer.BadParameter(f"{option} wants two numbers in metres, X,Z, for example 0.20,0.22; got {text!r}")
    return (x, z)


def _answer(log: RunLog, rig: Rig, run_dir: Any) -> dict[str, Any]:
    truth = rig.truth()
    return {
        "result": log.result,
        "reason": log.ending.reason if log.ending else None,
        "stage": log.ending.stage if log.ending else None,
        "run_id": log.run_id,
        "run_dir": str(run_dir),
        "verdicts": {stage: judgment.verdict for stage, judgment in log.judgments.items()},
        "attempts": len(log.pick_attempts),
        "truth": truth,
        "dry_run": log.dry_run,
        "duration_s": log.duration_s,
        "wall_s": log.wall_s,
    }


def _summary(log: RunLog, answer: dict[str, Any], cell: Path) -> list[Any]:
    """How it ended and where to read on; what the stages have told already is not said again."""
    from rich.text import Text

    from runs.figures import clean

    style = {"completed": "bold green", "failed": "bold red", "crashed": "bold red"}.get(
        log.result or "", "bold yellow"
    )
    words = ", ".join(f"{stage} {word or 'no verdict'}" for stage, word in answer["verdicts"].items())
    told = any(verdict.reason == answer["reason"] for verdict in log.verdicts)
    rows = [] if log.dry_run else [("verdicts", words)]
    if answer["truth"] is not None and not log.dry_run:
        rows.append(("truth", f"the twin's block is {'' if answer['truth']['block_in_box'] else 'not '}in the box"))
    rows += [
        ("judge", _trusted(answer["certified"])),
        ("held", _held(log)),
        ("learned", _learned(log)),
        ("time", f"{log.duration_s or 0:.0f} s of the arm's, {log.wall_s or 0:.1f} s of yours"),
        ("log", answer["run_dir"]),
        ("see it", f"trialcell runs show {log.run_id}{'' if cell == DEFAULT_CELL else f' --cell {cell}'}"),
    ]
    reason = "" if told else str(answer["reason"]).removeprefix(f"{log.result} ")
    first = Text.assemble((str(log.result), style), f"  {clean(reason)}")
    return ["", first, *(summary_row(name, text) for name, text in rows if text)]


def summary_row(name: str, text: str) -> Any:
    """A line of the summary; a path or a command is never broken, so that it can be copied."""
    from rich.text import Text

    from runs.figures import clean

    return Text(clean(f"{name:9} {text}"), no_wrap=name in ("log", "see it"))


def _certified(opened: Cell, log: RunLog) -> dict[str, Any]:
    """Whether the judges behind the verdicts were measured in this cell and found good enough."""
    from dataclasses import asdict

    from runner.cli.trust import trust_in_run

    if log.dry_run:
        return {}
    found = trust_in_run(opened, log, opened.runs_dir / log.run_id)
    return {stage: asdict(standing) for stage, standing in found.items()}


def _trusted(certified: dict[str, Any]) -> str:
    """One line: certified, or the first reason why not."""
    why = [standing["why"] for standing in certified.values() if not standing["certified"]]
    return f"uncertified: {why[0]}" if why else "certified" if certified else ""


def _held(log: RunLog) -> str:
    held = log.ending.block_held if log.ending is not None else False
    if held is False or log.dry_run:
        return ""
    return "the block is still in the gripper" if held else "the block may still be in the gripper"


def _learned(log: RunLog) -> str:
    learned = log.correction.learned
    if learned:
        return ", ".join(f"sample {change.after[2]} at {change.cell_key}" for change in learned)
    return f"nothing: {log.correction.not_learned}" if log.result == "completed" else ""
