"""What agents have proposed, and what people decided about it.

A proposal does nothing; a person's decision is on record. Accepting a proposed ruling is a ruling of that person. For
anything else a person gives the command that stands with the proposal: nothing is done here on an agent's word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from runs.appended import DECISIONS_FILE, append
from runs.errors import Family, RecordError
from runs.events import utc_text
from runs.index.questions import ManyRuns
from runs.index.select import Condition, Selection
from runs.rulings import rule
from runs.schema.agent import Proposal, ProposalDecision
from runs.schema.run import RunLog
from runs.store import RunStore, StoredRun


class NothingToDecide(RecordError):
    """No such proposal, or one that somebody has decided on."""

    family: ClassVar[Family] = "usage"

    def __init__(self, run_id: str, number: int, why: str) -> None:
        self.run_id, self.number, self.why = run_id, number, why
        super().__init__(
            f"proposal {number} of {run_id}: {why}", next_step="list what there is: trialcell runs proposals"
        )


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal, the run it was made in, and the decision on it, None where nobody has decided."""

    run_id: str
    proposal: Proposal
    decision: ProposalDecision | None


def proposals_in(log: RunLog) -> list[Proposed]:
    """The proposals of one run."""
    if log.agent is None:
        return []
    decided = {decision.number: decision for decision in log.decisions}
    return [Proposed(log.run_id, one, decided.get(one.number)) for one in log.agent.proposals]


def all_proposals(cell: Path) -> Iterator[Proposed]:
    """Those of all runs of a cell that have ended, the oldest run first."""
    store = RunStore(cell / "runs")
    of_agents = Selection((Condition("agent", "!=", "none"), Condition("state", "!=", "running")))
    with ManyRuns([cell]) as many:
        many.refresh()
        ids = sorted(row["run_id"] for row in many.stream(of_agents, ("run_id",)))
    for run_id in ids:
        yield from proposals_in(store.open(run_id).log)


def decide(store: RunStore, wanted: str, number: int, *, accepted: bool, by: str, why: str = "") -> StoredRun:
    """A person's decision on a proposal, kept beside its run; an accepted ruling is made as that person's.

    Args:
        wanted: the run of the proposal, as `RunStore.find` takes it.
        by: who decides.

    Raises:
        NothingToDecide: no such proposal, or it is decided. ValueError: no name.
        RunNotFound, NotARunLog, NothingToRule, StorageUnwritable
    """
    if not by.strip():
        raise ValueError("a decision has a name")
    stored = store.open(wanted)
    found = next((each for each in proposals_in(stored.log) if each.proposal.number == number), None)
    if found is None:
        raise NothingToDecide(stored.entry.run_id, number, "there is none")
    if found.decision is not None:
        done = "accepted" if found.decision.accepted else "declined"
        raise NothingToDecide(stored.entry.run_id, number, f"{found.decision.by} has {done} it")
    one = found.proposal
    if accepted and one.kind == "ruling":
        assert one.run_id is not None
        assert one.stage is not None
        assert one.verdict is not None
        reason = why.strip() or f"as proposed in {stored.entry.run_id}: {one.text}"
        rule(store, one.run_id, one.stage, one.verdict, by=by, reason=reason)
    decision = ProposalDecision(number=number, accepted=accepted, by=by.strip(), at=utc_text(), why=why.strip())
    append(stored.entry.folder / DECISIONS_FILE, [decision])
    return store.open(stored.entry.run_id)
