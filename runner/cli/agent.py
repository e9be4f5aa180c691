"""`trialcell agent`: a task for an agent at the arm, shown as it happens, with its log at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, ProfileOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

    from runs.schema.run import RunLog

app = typer.Typer()


@app.command(epilog='Example: trialcell agent "find out why the left side fails and propose a fix"')
def agent(
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="What to do, in words; the standard job if you say nothing.")
    ] = None,
    by: Annotated[
        Literal["auto", "claude", "scripted"] | None,
        typer.Option("--by", help="Who does it; auto: claude where there is a key, else the script."),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Everything but moving: the log says what would be sent.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="The twin's seed: fixes block, box, light and noise.")] = None,
    block: Annotated[str | None, typer.Option(metavar="X,Z", help="Put the twin's block here, metres.")] = None,
    box: Annotated[str | None, typer.Option(metavar="X,Z", help="Put the twin's box here, metres.")] = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Give a task to an agent: it looks, plans, picks, places and asks through guarded tools, within limits.

    Limits of time, money, calls, moves and tries are settings (agent.time_s, agent.budget_usd, …); it can't raise them.
    What it proposes is kept: trialcell runs proposals.
    Ctrl-C once: finish the motion, stop, park, write. Twice: stop now.
    """
    from runner.agent.cell_view import CellView
    from runner.agent.course import run_sitting
    from runner.agent.limits import LimitedSwitch, Meter
    from runner.agent.who import choose
    from runner.cell import open_cell
    from runner.cli.live import LiveTrial
    from runner.cli.run import overrides_of, point_of
    from runner.rig import Request, build_rig
    from runner.trial.stop import listening
    from runs.lock import CellLock

    out = Output(as_json=json)
    request = Request(seed=seed, block_xz_m=point_of(block, "--block"), box_xz_m=point_of(box, "--box"), dry_run=dry)
    chosen_by = [] if by is None else [f"agent.by={by}"]
    opened = open_cell(cell, [*overrides_of(set_, profile, None), *chosen_by])
    meter = Meter(opened.config.agent)
    switch = LimitedSwitch(meter)
    chosen = choose(opened.config, task, meter, wait=switch.wait)
    view = LiveTrial(out.aside if json else out.console)
    with CellLock(opened.folder):
        try:
            rig = build_rig(opened, request, switch=switch, progress=view.preparing)
        finally:
            view.prepared()
        with rig, view, listening(switch, on_first=view.stopping):
            log = run_sitting(
                rig.bench, CellView(opened), chosen.driver, chosen.begun,
                meter=meter, switch=switch, observer=view.observe,
            )  # fmt: skip
            truth = rig.truth()
    answer = _answer(log, truth, opened.runs_dir / log.run_id)
    out.answer(answer, *_summary(log, answer, opened.folder))
    return _exit_code(log)


def _exit_code(log: RunLog) -> int:
    """As a trial's; a sitting that ended by itself without having placed anything is done as well."""
    from runner.cli.failures import DONE, EXIT_CODE_OF_FAMILY
    from runner.cli.run import exit_code_of

    ended = None if log.agent is None else log.agent.ended
    if log.result == "unjudged" and log.ending is not None and log.ending.family is not None:
        return EXIT_CODE_OF_FAMILY[log.ending.family]
    if log.result == "unjudged" and ended is not None and ended.by == "done" and not log.judgments:
        return DONE
    return exit_code_of(log)


def _answer(log: RunLog, truth: dict[str, Any] | None, run_dir: Path) -> dict[str, Any]:
    assert log.agent is not None
    ended = log.agent.ended
    return {
        "result": log.result,
        "reason": log.ending.reason if log.ending else None,
        "stage": log.ending.stage if log.ending else None,
        "run_id": log.run_id,
        "run_dir": str(run_dir),
        "by": log.agent.begun.by,
        "model": log.agent.begun.model,
        "task": log.agent.begun.task,
        "ended": None if ended is None else ended.model_dump(mode="json"),
        "proposals": [each.model_dump(mode="json") for each in log.agent.proposals],
        "verdicts": {stage: judgment.verdict for stage, judgment in log.judgments.items()},
        "truth": truth,
        "dry_run": log.dry_run,
        "duration_s": log.duration_s,
        "wall_s": log.wall_s,
    }


def _summary(log: RunLog, answer: dict[str, Any], cell: Path) -> list[Any]:
    from rich.text import Text

    from runner.cli.run import summary_row
    from runs.figures import clean

    ended = answer["ended"] or {}
    words = ", ".join(f"{stage} {word or 'no verdict'}" for stage, word in answer["verdicts"].items())
    used = (
        f"{ended.get('calls', 0)} calls, {ended.get('motions', 0)} moves, {ended.get('turns', 0)} answers, "
        f"{ended.get('spent_usd', 0.0):.4f} USD"
    )
    rows = [
        ("said", ended.get("said") or ""),
        ("ended", ended.get("detail") or ""),
        ("verdicts", "" if log.dry_run else words),
        ("used", used),
        ("proposes", _proposed(log)),
        ("log", answer["run_dir"]),
        ("see it", f"trialcell runs show {log.run_id}{'' if cell == DEFAULT_CELL else f' --cell {cell}'}"),
    ]
    style = {"completed": "bold green", "failed": "bold red", "crashed": "bold red"}.get(str(log.result), "bold yellow")
    first = Text.assemble((str(log.result), style), f"  {clean(answer['reason'] or '')}")
    return ["", first, *(summary_row(name, text) for name, text in rows if text)]


def _proposed(log: RunLog) -> str:
    n = len(log.agent.proposals) if log.agent is not None else 0
    return f"{n}, for you to decide on: trialcell runs proposals {log.run_id}" if n else ""
