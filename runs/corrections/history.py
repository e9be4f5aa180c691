"""The history of a cell's corrections: every change a line, and the one way from lines to how things stand.

A line holds all that it changes, so that any point in time can be told again from the lines before it. Lines are only
ever added; taking something back is a line as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from runs.corrections.model import CorrectionModel
from runs.corrections.proof import Proof
from runs.corrections.table import BelongsTo, CorrectionTable, Lesson
from runs.schema.base import Record
from runs.schema.run import CorrectionChange

Kind = Literal["learned", "proposed", "proved", "promoted", "rolled_back", "merged", "begun_anew"]


class PersonsWord(Record):
    """Somebody answers for a promotion, with a name and a reason."""

    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class State(Record):
    """How things stand for one calibration, table, tool and profile.

    `live` is applied to trials; `candidate` is what was proposed last, from `proposed_from` lessons in all, and `proof`
    what trials have said of it. `refusals` counts proofs that did not hold since something last went live.
    """

    table: CorrectionTable
    candidate: CorrectionModel | None = None
    proof: Proof | None = None
    live: CorrectionModel | None = None
    proposed_from: int = 0
    refusals: int = 0

    @classmethod
    def empty(cls, belongs_to: BelongsTo) -> State:
        """Nothing learned."""
        return cls(table=CorrectionTable(belongs_to=belongs_to))

    @property
    def nothing(self) -> bool:
        """Whether there is nothing in it."""
        return not self.table.cells and self.candidate is None and self.live is None

    @property
    def content_hash(self) -> str:
        """SHA-256 of all that it says."""
        parts = (self.table, self.candidate, self.live)
        text = "|".join("none" if part is None else part.content_hash for part in parts)
        return hashlib.sha256(text.encode()).hexdigest()


class HistoryLine(Record):
    """One change in `corrections_history.jsonl`. `seq` counts from 1; `by` is a run, a person or a command.

    What belongs to the kind is set: `lesson` and `change` (learned), `model` (proposed, promoted), `proof` (proved,
    promoted), `word` (promoted on somebody's word, rolled back), `to_seq` (rolled back), `lessons` and
    `source` (merged).
    """

    seq: int
    at: str
    kind: Kind
    by: str
    belongs_to: BelongsTo | None
    code_version: str
    hash_before: str | None = None
    hash_after: str | None = None
    lesson: Lesson | None = None
    change: CorrectionChange | None = None
    model: CorrectionModel | None = None
    proof: Proof | None = None
    word: PersonsWord | None = None
    to_seq: int | None = None
    lessons: tuple[Lesson, ...] = ()
    source: str | None = None

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs that the change rests on."""
        taught = tuple(one.run_id for one in ((self.lesson,) if self.lesson else self.lessons))
        return taught + (self.proof.run_ids if self.proof else ())


def after(state: State, line: HistoryLine, earlier: Sequence[HistoryLine]) -> State:
    """How things stand after a line for what it belongs to. `earlier` are all lines before it, for a rollback."""
    if line.kind == "learned" and line.lesson is not None:
        return state.model_copy(update={"table": state.table.learned(line.lesson)})
    if line.kind == "merged":
        return state.model_copy(update={"table": state.table.learned(*line.lessons)})
    if line.kind == "proposed":
        taught = sum(len(lessons) for lessons in state.table.cells.values())
        return state.model_copy(update={"candidate": line.model, "proof": None, "proposed_from": taught})
    if line.kind == "proved":
        held = line.proof is not None and line.proof.holds
        return state.model_copy(update={"proof": line.proof, "refusals": state.refusals + (not held)})
    if line.kind == "promoted":
        return state.model_copy(update={"live": line.model, "candidate": None, "proof": None, "refusals": 0})
    if line.kind == "rolled_back" and line.to_seq is not None:
        return state_at(state.table.belongs_to, earlier, line.to_seq)
    return state


def state_at(belongs_to: BelongsTo, lines: Iterable[HistoryLine], seq: int) -> State:
    """How things stood after line `seq`; empty before the first and after a new beginning."""
    past: list[HistoryLine] = []
    state = State.empty(belongs_to)
    for line in lines:
        if line.seq > seq:
            break
        if line.kind == "begun_anew":
            state = State.empty(belongs_to)
        elif line.belongs_to == belongs_to:
            state = after(state, line, past)
        past.append(line)
    return state
