"""`trialcell twin rehearse`: what other ways to the block would have come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.rehearse.hindsight import Hindsight

EPILOG = "Example: trialcell twin rehearse --log latest   or   trialcell twin rehearse --log 12 --as-before --tries 256"


def rehearse(
    log: Annotated[str, typer.Option(metavar="RUN", help="A run of this cell by name, or a log by its file.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="Only this attempt at the block; else each.")] = None,
    tries: Annotated[int | None, typer.Option(min=16, max=2048, help="Tries of a rehearsal.")] = None,
    as_before: Annotated[
        bool,
        typer.Option("--as-before", help="As it was known before the pick: not what the tip missed by."),
    ] = False,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Try a run's picks again in the twin, with other headings, tilts and aims: what would have happened?

    Where the camera measured the tip, the block lies where it was then seen to lie; nothing moves and the run's log
    stays as it is.
    """
    from functools import partial

    from runner.arm_calibration import model_name
    from runner.cell import open_cell
    from runner.rehearse.hindsight import NothingToRehearse, picks_in, rehearse_again
    from runner.rehearse.rehearsal import Rehearsal
    from runner.table.cell_tables import open_tables
    from runner.twin.drive_file import drive_of
    from runs.store import RunStore, open_any

    out = Output(as_json=json)
    told = [f"rehearse.tries={tries}"] if tries else []
    opened = open_cell(cell, [*(set_ or []), *told])
    found = open_any(log, RunStore(opened.runs_dir)).log
    picks = [pick for pick in picks_in(found, opened.config) if attempt in (None, pick.attempt)]
    if not picks:
        raise NothingToRehearse(found.run_id, f"it has no attempt {attempt}")
    drive = partial(drive_of, opened.calibration_dir, model_name(opened.config))
    planner = open_tables(opened.folder, opened.config).planner(opened.config)
    rehearsal, choices = Rehearsal(planner.arm, opened.config, drive), opened.config.rehearse.choices
    again = []
    with out.aside.status("trying other ways in the twin"):
        for pick in picks:
            again.append(rehearse_again(pick, planner, rehearsal, choices=choices, knowing=not as_before))
    out.answer({"run_id": found.run_id, "attempts": [_answer(each) for each in again]}, *_told(again))
    return 0


def _answer(each: Hindsight) -> dict[str, Any]:
    return {
        "attempt": each.pick.attempt,
        "verdict": each.pick.verdict,
        "missed_mm": each.pick.missed_mm,
        "knowing_the_miss": each.knowing,
        "way_gone": each.pick.way,
        "way_gone_is_choice": each.gone,
        **each.record.model_dump(mode="json", exclude={"attempt", "at", "policy", "phase"}),
    }


def _told(again: list[Hindsight]) -> list[Any]:
    from rich.text import Text

    from runner.cli.show.rehearsals import choices_table

    parts: list[Any] = []
    for each in again:
        pick, record = each.pick, each.record
        missed = "the tip was not measured"
        if pick.missed_mm is not None:
            missed = "the tip was seen to miss by x {:+.1f}, z {:+.1f} mm".format(*pick.missed_mm)
        parts.append(Text(f"attempt {pick.attempt}: judged {pick.verdict or 'not'}; {missed}", style="bold"))
        parts.append(choices_table(record))
        if each.gone is None:
            parts.append(Text("the way that was gone is not among these", style="dim"))
        elif record.choices[each.gone].name != record.chosen:
            gone = record.choices[each.gone]
            parts.append(Text(f"gone was way {each.gone + 1}: picked {gone.picked} of {gone.tries}", style="dim"))
        known = "knowing the miss" if each.knowing else "knowing what was known before"
        parts.append(Text(f"{known}: {record.why}"))
    return parts
