"""`corrections.json` of a cell and its history. One file holds a state for each thing that corrections can belong to.

The history is written first and only grows; the file is replaced as a whole and says how many lines it holds. Where a
crash came between the two, the missing line is taken in on the next reading. A file that can't be read is an error,
never an empty one; one of version 1 is put aside by the first change. Changes take a lock, so a command beside a
running trial loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from pydantic import Field, ValidationError

from runs.corrections.history import HistoryLine, PersonsWord, State, after, state_at
from runs.corrections.history_file import HistoryFile
from runs.corrections.model import NO_MODEL, CorrectionModel
from runs.corrections.proof import Proof
from runs.corrections.rule import RuleSettings, model_of
from runs.corrections.table import BelongsTo, Lesson
from runs.errors import CorrectionsUnreadable, NewerThanUs, NoSuchPoint, NothingToPromote, NotPromoted
from runs.events import utc_text
from runs.files import storage, write_atomic
from runs.schema.base import Record
from runs.schema.run import CorrectionChange

CORRECTIONS_VERSION = 2


class CorrectionStates(Record):
    """The whole file: states by the key of what they belong to; `lines` of the history are in it."""

    corrections_version: Literal[2]
    lines: int = 0
    states: dict[str, State] = Field(default_factory=dict)


class CorrectionFile:
    """The corrections of one cell. Making one touches no disk."""

    def __init__(self, cell: Path) -> None:
        self.path = cell / "corrections.json"
        self.history_path = cell / "corrections_history.jsonl"
        self._history = HistoryFile(self.history_path)
        self._lock = cell / "corrections.lock"

    def load(self, belongs_to: BelongsTo) -> State:
        """How things stand with exactly this calibration, reach table, tool and profile; empty if nothing is known.

        Raises:
            CorrectionsUnreadable, NewerThanUs
        """
        return self._states().states.get(belongs_to.key, State.empty(belongs_to))

    def all_states(self) -> list[State]:
        """Every state in the file, whatever it belongs to.

        Raises:
            CorrectionsUnreadable, NewerThanUs
        """
        return list(self._states().states.values())

    def history(self) -> list[HistoryLine]:
        """Every change, the oldest first. A line that a crash tore off is none.

        Raises:
            CorrectionsUnreadable: a line in the middle can't be read.
        """
        return self._history.lines()

    def state_at(self, belongs_to: BelongsTo, seq: int) -> State:
        """How things stood after line `seq` of the history; 0 is before all.

        Raises:
            NoSuchPoint: the history has no such line.
            CorrectionsUnreadable
        """
        lines = self.history()
        if not 0 <= seq <= len(lines):
            raise NoSuchPoint(str(seq), len(lines))
        return state_at(belongs_to, lines, seq)

    def learn(self, belongs_to: BelongsTo, lesson: Lesson) -> CorrectionChange:
        """Keep what a trial taught. No model changes by it.

        Raises:
            StorageUnwritable: what is on the disk is as it was.
            CorrectionsUnreadable, NewerThanUs: see `load`.
        """
        with self._changing(belongs_to) as state:
            change = state.table.change(lesson)
            self._write(belongs_to, kind="learned", by=lesson.run_id, lesson=lesson, change=change)
        return change

    def propose(
        self, belongs_to: BelongsTo, settings: RuleSettings, *, by: str, but: Collection[str] = ()
    ) -> CorrectionModel | None:
        """Make the candidate from all lessons so far; None where it would be what is live or proposed already.

        Args:
            but: runs whose lessons don't count, see `overruled`.

        Raises:
            StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `learn`.
        """
        with self._changing(belongs_to) as state:
            model = model_of(state.table.without(but), settings)
            if model.lessons == 0 or model in (state.live, state.candidate) or not model.says_anything:
                return None
            self._write(belongs_to, kind="proposed", by=by, model=model)
        return model

    def record_proof(self, belongs_to: BelongsTo, proof: Proof, *, by: str) -> None:
        """Keep what trials have said of the candidate, for or against.

        Raises:
            NotPromoted: it is about another candidate, or against another model than the live one.
            StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `learn`.
        """
        with self._changing(belongs_to) as state:
            _check_about(state, proof)
            self._write(belongs_to, kind="proved", by=by, proof=proof)

    def promote(self, belongs_to: BelongsTo, grounds: Proof | PersonsWord, *, by: str) -> CorrectionModel:
        """Make the candidate the live model, in the place of the one before.

        Raises:
            NothingToPromote: there is no candidate.
            NotPromoted: the proof does not hold, or is about something else.
            StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `learn`.
        """
        with self._changing(belongs_to) as state:
            if state.candidate is None:
                raise NothingToPromote
            if isinstance(grounds, Proof):
                _check_about(state, grounds)
                if not grounds.holds:
                    raise NotPromoted(grounds.reason)
            proof = grounds if isinstance(grounds, Proof) else state.proof
            word = grounds if isinstance(grounds, PersonsWord) else None
            model = state.candidate
            self._write(belongs_to, kind="promoted", by=by, model=model, proof=proof, word=word)
        return model

    def roll_back(self, belongs_to: BelongsTo, seq: int, word: PersonsWord) -> State:
        """Put everything back to how it stood after line `seq`: lessons, candidate and live model.

        Raises:
            NoSuchPoint: the history has no such line.
            StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `learn`.
        """
        with self._changing(belongs_to):
            lines = self._history.count()
            if not 0 <= seq <= lines:
                raise NoSuchPoint(str(seq), lines)
            now = self._write(belongs_to, kind="rolled_back", by=word.by, word=word, to_seq=seq)
        assert now is not None
        return now

    def merge(self, belongs_to: BelongsTo, lessons: Sequence[Lesson], *, source: str, by: str) -> int:
        """Take in lessons from elsewhere that belong to the same; returns how many were new. No model changes by it.

        Raises:
            StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `learn`.
        """
        with self._changing(belongs_to) as state:
            new = state.table.missing_from(lessons)
            if new:
                self._write(belongs_to, kind="merged", by=by, lessons=tuple(new), source=source)
        return len(new)

    @contextmanager
    def _changing(self, belongs_to: BelongsTo) -> Iterator[State]:
        """How things stand for that, while nobody else changes anything.

        A file that was taken away is begun anew; the history says so and goes on.
        """
        with storage(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._lock)
            lock.acquire()
        try:
            self._put_older_aside()
            if not self.path.exists():
                lines = self._history.count()
                self._replace(CorrectionStates(corrections_version=2, lines=lines))
                if lines:
                    self._write(None, kind="begun_anew", by="corrections.json was taken away")
            yield self.load(belongs_to)
        finally:
            lock.release()

    def _put_older_aside(self) -> None:
        """Lessons of version 1 don't know their places, so nothing can be made of them; the files stay beside ours."""
        try:
            raw = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return
        if not isinstance(raw, dict) or raw.get("corrections_version") != 1:
            return
        with storage(self.path):
            for path in (self.history_path, self.path):
                if path.exists():
                    path.rename(path.with_name(f"{path.stem}_version_1{path.suffix}"))
        self._replace(CorrectionStates(corrections_version=2))
        self._write(None, kind="begun_anew", by="lessons of version 1 were put aside")

    def _write(self, belongs_to: BelongsTo | None, **told: Any) -> State | None:
        """One line more: into the history, then into the file. Returns how things stand then."""
        states = self._states()
        line = HistoryLine(
            seq=states.lines + 1, at=utc_text(), belongs_to=belongs_to, code_version=_code_version(), **told
        )
        known, now = dict(states.states), None
        if belongs_to is None:
            known = {}
        else:
            before = known.get(belongs_to.key, State.empty(belongs_to))
            now = after(before, line, self.history() if line.kind == "rolled_back" else ())
            known[belongs_to.key] = now
            line = line.model_copy(update={"hash_before": before.content_hash, "hash_after": now.content_hash})
        self._history.append(line)
        self._replace(CorrectionStates(corrections_version=2, lines=line.seq, states=known))
        return now

    def _replace(self, states: CorrectionStates) -> None:
        write_atomic(self.path, states.model_dump_json(indent=1, exclude_defaults=True).encode() + b"\n")

    def _states(self) -> CorrectionStates:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return CorrectionStates(corrections_version=2)
        except OSError as error:
            raise CorrectionsUnreadable(self.path, (error.strerror or str(error)).lower()) from None
        states = _parsed(self.path, text)
        if states is None:
            return CorrectionStates(corrections_version=2)
        if self._history.count() <= states.lines:
            return states
        known = dict(states.states)
        lines = self.history()
        for line in lines[states.lines :]:
            if line.kind == "begun_anew" or line.belongs_to is None:
                known = {}
                continue
            key = line.belongs_to.key
            known[key] = after(known.get(key, State.empty(line.belongs_to)), line, lines[: line.seq - 1])
        return CorrectionStates(corrections_version=2, lines=len(lines), states=known)


def model_in_use(state: State, settings: RuleSettings, use: Literal["live", "candidate"]) -> CorrectionModel:
    """The model that a trial applies: the field's rule at once, as there; else what is live, or the candidate.

    Without a candidate the live one is used, and where there is none of these, one that corrects nothing.
    """
    if settings.rule == "field":
        return model_of(state.table, settings)
    proposed = state.candidate if use == "candidate" else None
    return proposed or state.live or NO_MODEL


def _check_about(state: State, proof: Proof) -> None:
    if state.candidate is None:
        raise NothingToPromote
    if proof.candidate != state.candidate.content_hash:
        raise NotPromoted("the proof is about another candidate")
    live = None if state.live is None else state.live.content_hash
    if proof.against != live:
        raise NotPromoted("another model has gone live since the proof was begun")


def _parsed(path: Path, text: bytes) -> CorrectionStates | None:
    """What a file says; None where it is of version 1."""
    try:
        raw = json.loads(text)
    except ValueError:
        raise CorrectionsUnreadable(path, "it is cut off or no JSON") from None
    found = raw.get("corrections_version") if isinstance(raw, dict) else None
    if type(found) is not int:
        raise CorrectionsUnreadable(path, "it says no corrections_version")
    if found > CORRECTIONS_VERSION:
        raise NewerThanUs(path, found, CORRECTIONS_VERSION)
    if found < CORRECTIONS_VERSION:
        return None
    try:
        return CorrectionStates.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise CorrectionsUnreadable(path, f"{key}: {first['msg'].lower()}") from None


@cache
def _code_version() -> str:
    return version("trialcell")
