"""Events read back from disk, whatever state a crash left them in, and the log that they make.

A torn last line is the event that was in flight and is left out. A damaged line elsewhere is left out too, and the log
says so in a note. Nothing is mended in `events.jsonl` itself.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from runs.errors import NewerThanUs, NotARunLog
from runs.events import Event, Fold, RunEnded, StageEnded, parse_line
from runs.schema.base import SCHEMA_VERSION
from runs.schema.run import Ending, Note, RunLog


@dataclass(frozen=True, slots=True)
class EventsRead:
    """Events folded so far, and a sentence for everything that could not be read."""

    state: Fold
    n_events: int
    damage: tuple[str, ...]


def _check_version(path: Path, line: bytes) -> None:
    found = None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        found = json.loads(line)["data"]["schema_version"]
    if type(found) is int and found > SCHEMA_VERSION:
        raise NewerThanUs(path, found, SCHEMA_VERSION)


def read_events(path: Path) -> EventsRead:
    """Fold the events of a file.

    Raises:
        NotARunLog: there is no such file, or its first event can't be read.
        NewerThanUs: a later version of the program wrote it.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise NotARunLog(path, (error.strerror or str(error)).lower()) from None
    _check_version(path, lines[0])
    try:
        state = Fold(parse_line(lines[0]))
    except ValueError as error:
        raise NotARunLog(path, f"its first line is {error}") from None
    damage: list[str] = []
    n_events = 1
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            event = parse_line(line)
            if event.seq > state.next_seq:
                damage.append(f"events {state.next_seq} to {event.seq - 1} are missing")
            state.add(event)
            n_events += 1
        except ValueError as error:
            if number < len(lines):  # the last piece has no newline: it was in flight
                damage.append(f"line {number} of {path.name} was left out: {error}")
    return EventsRead(state, n_events, tuple(damage))


def rebuilt(read: EventsRead) -> RunLog:
    """The log of events whose run may never have been brought to its end.

    With no ending among them the result is `crashed`, and a stage that was open is `cut_off`.
    """
    state = read.state
    for sentence in read.damage:
        state.add(Event(state.next_seq, state.last_at, "note", Note(at=state.last_at, stage=None, text=sentence)))
    if not state.ended:
        stage = state.open_stage
        if stage is not None:
            cut_off = StageEnded(name=stage, outcome="cut_off")
            state.add(Event(state.next_seq, state.last_at, "stage_ended", cut_off))
        ending = Ending(
            result="crashed",
            stage=stage or state.last_stage,
            reason=f"the program ended before the run did; rebuilt from its {read.n_events} events",
        )
        state.add(Event(state.next_seq, state.last_at, "run_ended", RunEnded(ending=ending)))
    return state.log(recovered=True)
