"""`trialcell corrections propose | promote | rollback | merge`: the changes that a person makes to what is applied.

The commands are registered in `corrections.py`. Each leaves a line in the history; none applies to a trial under way.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runs.corrections.history import PersonsWord

ByOption = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answers for it; $USER by default.")]
WhyOption = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason; it stays on record.")]


def propose(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> None:
    """Make a candidate from all lessons so far. Trials apply it only when asked to try it, or once it is promoted."""
    from runner.cell import open_cell
    from runner.cli.show.corrections import figures
    from runner.learning import belongs_here, rule_of
    from runs.corrections.file import CorrectionFile
    from runs.corrections.overruled import overruled
    from runs.corrections.words import named

    out, opened = Output(as_json=json), open_cell(cell)
    rule = rule_of(opened.config)
    if rule.rule == "field":
        raise typer.BadParameter(
            "by the field's rule lessons apply at once; set corrections.rule = robust to prove first"
        )
    file, belongs = CorrectionFile(cell), belongs_here(opened)
    left_out = overruled(opened.runs_dir, file.load(belongs).table.lessons)
    model = file.propose(belongs, rule, by="corrections propose", but=left_out)
    if model is None:
        state = file.load(belongs)
        why = "nothing has been learned yet" if not state.table.cells else "all lessons are in what is there already"
        out.answer({"candidate": None, "reason": why}, f"nothing new to propose: {why}")
        return
    data = {"candidate": model.content_hash, "lessons": model.lessons, "outliers": model.outliers}
    data["overruled"] = sorted(left_out)
    told = [f"left out: {len(left_out)} lessons of trials that a person ruled no success"] if left_out else []
    out.answer(data, f"candidate {named(model)}", *told, *figures(model), "\nprove it: trialcell corrections prove")


def promote(
    by: ByOption = None, why: WhyOption = None, cell: CellOption = DEFAULT_CELL, json: JsonOption = False
) -> None:
    """Let the candidate go live: on its proof, or on somebody's word with a name and a reason."""
    from runner.cell import open_cell
    from runner.learning import belongs_here
    from runs.corrections.file import CorrectionFile
    from runs.corrections.words import named
    from runs.errors import NothingToPromote, NotPromoted

    out, file, belongs = Output(as_json=json), CorrectionFile(cell), belongs_here(open_cell(cell))
    state = file.load(belongs)
    if state.candidate is None:
        raise NothingToPromote
    word = None if why is None else _word(by, why)
    if word is None and state.proof is None:
        raise NotPromoted("it has no proof yet")
    grounds = word if word is not None else state.proof
    assert grounds is not None
    model = file.promote(belongs, grounds, by=word.by if word is not None else "corrections promote")
    said = "on its proof" if word is None else f"on the word of {word.by}"
    out.answer({"live": model.content_hash, "by": None if word is None else word.by}, f"live {said}: {named(model)}")


def rollback(
    point: Annotated[
        str, typer.Argument(metavar="POINT", help="A line of the history, now-1 (before the last), a time.")
    ],
    by: ByOption = None,
    why: WhyOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Put everything back to how it stood at a point: lessons, candidate, what is live. The history only grows."""
    from runner.cell import open_cell
    from runner.cli.show.corrections import standing
    from runner.learning import belongs_here, rule_of
    from runs.corrections.file import CorrectionFile
    from runs.corrections.overview import point_of

    out, opened = Output(as_json=json), open_cell(cell)
    file, belongs = CorrectionFile(cell), belongs_here(opened)
    to = point_of(point, file.history())
    state = file.roll_back(belongs, to, _word(by, why))
    data: dict[str, Any] = {
        "to": to,
        "lessons": len(state.table.lessons),
        "live": None if state.live is None else state.live.content_hash,
        "candidate": None if state.candidate is None else state.candidate.content_hash,
    }
    told = standing(state, at_once=rule_of(opened.config).rule == "field")
    out.answer(data, f"as it stood after line {to} of the history:", *told)


def merge(
    other: Annotated[Path, typer.Argument(metavar="CELL|FILE", help="Another cell's folder or its corrections.json.")],
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Take in the lessons of another cell that were learned with the same calibration, table, tool and profile."""
    from runner.cell import open_cell
    from runner.learning import belongs_here
    from runs.corrections.file import CorrectionFile

    out, file, belongs = Output(as_json=json), CorrectionFile(cell), belongs_here(open_cell(cell))
    folder = other.parent if other.name == "corrections.json" else other
    if not (folder / "corrections.json").is_file():
        raise typer.BadParameter(f"{folder} has no corrections.json")
    states = [state for state in CorrectionFile(folder).all_states() if not state.nothing]
    same = [state for state in states if state.table.belongs_to == belongs]
    left = [" and ".join(belongs.unlike(s.table.belongs_to)) for s in states if s.table.belongs_to != belongs]
    lessons = [lesson for state in same for lesson in state.table.lessons]
    new = file.merge(belongs, lessons, source=folder.name, by="corrections merge")
    told = [f"{new} new lessons of {len(lessons)} taken in from {folder}"]
    told += [f"left out: what was learned with another {what}" for what in left]
    out.answer({"new": new, "offered": len(lessons), "left_out": left}, *told)
    return 0 if same or not states else 3


def _word(by: str | None, why: str | None) -> PersonsWord:
    from runs.corrections.history import PersonsWord

    name = (by or os.environ.get("USER", "")).strip()
    if not name:
        raise typer.BadParameter("who says so? give --by NAME")
    if not (why or "").strip():
        raise typer.BadParameter("it needs a reason that stays on record: give --why TEXT")
    return PersonsWord(by=name, reason=(why or "").strip())
