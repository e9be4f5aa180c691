"""`trialcell runs proposals` and `decide`: what agents have proposed, and a person's word on it.

The commands are registered in `runs.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runs.proposals import Proposed


def proposals(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Of one run only: its id, number or latest.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only those that nobody has decided on.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """List what agents have proposed. A proposal changes nothing: a person decides, and gives the command."""
    from rich.text import Text

    from runs.figures import clean
    from runs.proposals import all_proposals, proposals_in
    from runs.store import RunStore

    found = list(all_proposals(cell)) if run is None else proposals_in(RunStore(cell / "runs").open(run).log)
    shown = [each for each in found if not (open_only and each.decision is not None)]
    told: list[Any] = []
    for each in shown:
        told.append(Text(clean(f"{each.run_id}  {each.proposal.number}  {each.proposal.kind}, {_state(each)}")))
        told.append(Text(f"    {clean(each.proposal.text)}"))
        if each.proposal.command is not None:
            told.append(Text(f"    {clean(each.proposal.command)}", style="dim", no_wrap=True))
    data = {"proposals": [_as_object(each) for each in shown]}
    Output(as_json=json).answer(data, *(told or ["no agent has proposed anything"]))


def decide(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run it was proposed in: its id, number or latest.")],
    number: Annotated[int, typer.Argument(metavar="N", help="Which of its proposals.")],
    accept: Annotated[bool, typer.Option("--accept/--decline", help="Your decision.")],
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides; $USER by default.")] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason; it stays on record.")] = "",
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Accept or decline a proposal. An accepted ruling becomes yours; anything else you do yourself."""
    from rich.text import Text

    from runs.figures import clean
    from runs.proposals import decide as put
    from runs.proposals import proposals_in
    from runs.store import RunStore

    name = (by or os.environ.get("USER", "")).strip()
    if not name:
        raise typer.BadParameter("who decides? give --by NAME")
    stored = put(RunStore(cell / "runs"), run, number, accepted=accept, by=name, why=why)
    found = next(each for each in proposals_in(stored.log) if each.proposal.number == number)
    done = "accepted" if accept else "declined"
    told = [f"{found.run_id} proposal {number}: {done} by {name}"]
    if accept and found.proposal.kind == "ruling":
        told.append(f"{found.proposal.run_id} {found.proposal.stage}: {found.proposal.verdict} is now your ruling")
    elif accept and found.proposal.command is not None:
        told.append(f"nothing has changed yet; give it yourself: {found.proposal.command}")
    Output(as_json=json).answer(_as_object(found), *(Text(clean(line)) for line in told))


def _state(each: Proposed) -> str:
    if each.decision is None:
        return "not decided"
    return f"{'accepted' if each.decision.accepted else 'declined'} by {each.decision.by}"


def _as_object(each: Proposed) -> dict[str, Any]:
    decision = None if each.decision is None else each.decision.model_dump(mode="json")
    return {"run_id": each.run_id, **each.proposal.model_dump(mode="json", exclude={"run_id"}),
            "of_run": each.proposal.run_id, "decision": decision}  # fmt: skip
