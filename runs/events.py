"""The events of a run, one line each, and the one way from events to a run log.

A trial is written down as it happens: each event is a line `{"seq", "at", "kind", "data"}` in `events.jsonl`. `Fold`
turns events into a `RunLog`; the live log, the finished one and a recovered one all come from it, so they can't differ.
It reads and writes no file, and it guesses nothing: what has no event is not in the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError

from runs.schema.agent import AgentAnswer, AgentBegun, AgentCall, AgentEnded, AgentLog, AgentTurn, Proposal
from runs.schema.base import Record
from runs.schema.detection import DetectRecord
from runs.schema.motion import GripperRecord, GuardRecord, HealthRecord, LookupRecord, MoveRecord
from runs.schema.rehearsal import Foretold, RehearsalRecord
from runs.schema.run import (
    Capture,
    CorrectionChange,
    CorrectionUse,
    DriftRecord,
    Ending,
    Note,
    PickAttempt,
    PoseUsed,
    Provenance,
    RunLog,
    StageOutcome,
    StageRecord,
    TipMeasurement,
)
from runs.schema.verdict import JudgedStage, Judgment, Ruling, Verdict

EVENTS_FILE = "events.jsonl"
RUN_FILE = "run.json"


def utc_text(moment: datetime | None = None) -> str:
    """A moment (now by default) as the log writes it: UTC, milliseconds, `2026-07-03T13:23:10.629Z`."""
    moment = datetime.now(UTC) if moment is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(start: str, end: str | None) -> float | None:
    """Seconds from one time of the log to another, None where they can't be compared."""
    if end is None:
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


class RunHeader(Record):
    """What is known before a trial begins. `started_at` is ISO 8601 with its offset, UTC; now by default."""

    started_at: str = Field(default_factory=utc_text)
    dry_run: bool = False
    constants: dict[str, Any] = Field(default_factory=dict)
    provenance: Provenance | None = None


class RunCreated(RunHeader):
    """First event of every run: the header, and where the run lives."""

    schema_version: Literal[1] = 1
    run_id: str
    frames_dir: str


class StageStarted(Record):
    """A stage begins. `started_s` is the arm's clock, seconds."""

    name: str
    started_s: float | None = None
    attempt: int | None = None


class StageEnded(Record):
    """The open stage comes to its end. `ended_s` is the arm's clock, seconds."""

    name: str
    outcome: StageOutcome
    ended_s: float | None = None
    note: str | None = None


class StageJudged(Record):
    """The judgment that stands at the end of a stage."""

    stage: JudgedStage
    judgment: Judgment


class NotLearned(Record):
    """Why this trial taught the corrections nothing."""

    reason: str


class RunEnded(Record):
    """Last event of a run that the program brought to its end. `duration_s` is the arm's clock, `wall_s` ours."""

    ending: Ending
    duration_s: float | None = None
    wall_s: float | None = None


Payload = (
    RunCreated
    | StageStarted
    | StageEnded
    | DetectRecord
    | LookupRecord
    | GuardRecord
    | MoveRecord
    | GripperRecord
    | HealthRecord
    | Capture
    | StageJudged
    | Verdict
    | PickAttempt
    | TipMeasurement
    | DriftRecord
    | CorrectionUse
    | CorrectionChange
    | NotLearned
    | PoseUsed
    | RehearsalRecord
    | Foretold
    | Note
    | Ruling
    | AgentBegun
    | AgentTurn
    | AgentCall
    | AgentAnswer
    | Proposal
    | AgentEnded
    | RunEnded
)

KINDS: dict[str, type[Payload]] = {
    "run_created": RunCreated,
    "stage_started": StageStarted,
    "stage_ended": StageEnded,
    "detect": DetectRecord,
    "lookup": LookupRecord,
    "guard": GuardRecord,
    "move": MoveRecord,
    "gripper": GripperRecord,
    "health": HealthRecord,
    "capture": Capture,
    "judgment": StageJudged,
    "verdict": Verdict,
    "pick_attempt": PickAttempt,
    "tip": TipMeasurement,
    "drift": DriftRecord,
    "correction_used": CorrectionUse,
    "correction_learned": CorrectionChange,
    "correction_not_learned": NotLearned,
    "pose_used": PoseUsed,
    "rehearsal": RehearsalRecord,
    "foretold": Foretold,
    "note": Note,
    "ruling": Ruling,
    "agent_begun": AgentBegun,
    "agent_turn": AgentTurn,
    "agent_call": AgentCall,
    "agent_answer": AgentAnswer,
    "agent_proposal": Proposal,
    "agent_ended": AgentEnded,
    "run_ended": RunEnded,
}
KIND_OF: dict[type[Payload], str] = {model: kind for kind, model in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its number in the run (from 0), when (UTC, ISO 8601), its kind and its record."""

    seq: int
    at: str
    kind: str
    data: Payload


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy's kind as plain ones, wherever a record holds a value of any type."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a run log can't hold a {type(value).__name__}")


def event_line(seq: int, at: str, record: Payload) -> bytes:
    """One event as its line, newline included. NaN and infinity in an open field (`measurements`, …) become null."""
    data = TypeAdapter(type(record)).dump_python(record, mode="json", fallback=_plain)
    line = {"seq": seq, "at": at, "kind": KIND_OF[type(record)], "data": data}
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def parse_line(line: bytes) -> Event:
    """The event of a line.

    Raises:
        ValueError: the line is torn, or no event of a kind that this program knows.
    """
    try:
        raw = json.loads(line)
        seq, at, kind, data = raw["seq"], raw["at"], raw["kind"], raw["data"]
        model = KINDS[kind]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an event: {error}") from None
    if type(seq) is not int or type(at) is not str:
        raise ValueError("not an event: seq or at has the wrong type")
    try:
        record = model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise ValueError(f"not a {kind} event: {error.errors()[0]['msg']}") from None
    return Event(seq, at, kind, record)


def _with_time(record: Record, at: str) -> Any:
    """The record with its own `at`, or the event's where it has none."""
    if "at" in type(record).model_fields and getattr(record, "at", None) is None:
        return record.model_copy(update={"at": at})
    return record


_LISTS: dict[str, str] = {
    "detect": "detect",
    "lookup": "lookups",
    "guard": "guards",
    "move": "moves",
    "gripper": "gripper",
    "health": "health",
    "capture": "vlm_captures",
    "verdict": "verdicts",
    "pick_attempt": "pick_attempts",
    "tip": "tip_measurements",
    "drift": "drift",
    "rehearsal": "rehearsals",
    "foretold": "foretold",
    "note": "notes",
    "ruling": "rulings",
}
"""Kinds that simply add to a list of the log, and the list's name."""

_OF_AGENT: dict[str, str] = {
    "agent_turn": "turns",
    "agent_call": "calls",
    "agent_answer": "answers",
    "agent_proposal": "proposals",
}
"""The same for lists of the agent's part of the log."""


class Fold:
    """Events so far, as a log. Give it events in order with `add`; ask for the log at any time."""

    def __init__(self, created: Event) -> None:
        header = created.data
        if not isinstance(header, RunCreated):
            raise ValueError(f"a {created.kind}, not the run_created that every run begins with")  # noqa: TRY004
        self.header = header
        self.last_at = created.at
        self.next_seq = created.seq + 1
        self.ended = False
        self._lists: dict[str, list[Record]] = {name: [] for name in _LISTS.values()}
        self._stages: list[StageRecord] = []
        self._open = False
        self._values: dict[str, Any] = {}
        self._judgments: dict[JudgedStage, Judgment] = {}
        self._corrections: dict[str, Any] = {}
        self._learned: list[CorrectionChange] = []
        self._poses: dict[str, Any] = {}
        self._agent: dict[str, Any] = {}
        self._of_agent: dict[str, list[Record]] = {name: [] for name in _OF_AGENT.values()}
        self._apply: dict[type[Record], Callable[[Any, str], None]] = {
            StageStarted: self._stage_started,
            StageEnded: self._stage_ended,
            StageJudged: self._judged,
            CorrectionUse: self._correction_used,
            CorrectionChange: self._correction_learned,
            NotLearned: self._not_learned,
            PoseUsed: self._pose_used,
            AgentBegun: self._agent_begun,
            AgentEnded: self._agent_ended,
            RunEnded: self._run_ended,
        }

    @property
    def open_stage(self) -> str | None:
        """The stage that began and has not ended."""
        return self._stages[-1].name if self._open else None

    @property
    def last_stage(self) -> str | None:
        """The stage that began last."""
        return self._stages[-1].name if self._stages else None

    def add(self, event: Event) -> None:
        """Take the next event in."""
        if event.kind in _LISTS:
            self._lists[_LISTS[event.kind]].append(_with_time(event.data, event.at))
        elif event.kind in _OF_AGENT:
            self._of_agent[_OF_AGENT[event.kind]].append(_with_time(event.data, event.at))
        elif type(event.data) in self._apply:
            self._apply[type(event.data)](event.data, event.at)
        else:
            raise ValueError("a run is created once")
        self.last_at, self.next_seq = event.at, event.seq + 1

    def _close_stage(
        self, outcome: StageOutcome, at: str, ended_s: float | None = None, note: str | None = None
    ) -> None:
        stage = self._stages[-1]
        known = ended_s is not None and stage.started_s is not None
        duration_s = ended_s - stage.started_s if known else None  # type: ignore[operator]
        update = {"outcome": outcome, "ended_at": at, "duration_s": duration_s, "note": note}
        self._stages[-1] = stage.model_copy(update=update)
        self._open = False

    def _stage_started(self, started: StageStarted, at: str) -> None:
        if self._open:
            self._close_stage("cut_off", at)
        self._stages.append(
            StageRecord(
                name=started.name,
                outcome="cut_off",
                started_at=at,
                started_s=started.started_s,
                attempt=started.attempt,
            )
        )
        self._open = True

    def _stage_ended(self, ended: StageEnded, at: str) -> None:
        if self.open_stage != ended.name:
            raise ValueError(f"stage {ended.name} can't end: open is {self.open_stage or 'none'}")
        self._close_stage(ended.outcome, at, ended.ended_s, ended.note)

    def _judged(self, judged: StageJudged, _: str) -> None:
        self._judgments[judged.stage] = judged.judgment

    def _correction_used(self, use: CorrectionUse, _: str) -> None:
        self._corrections["last" if use.phase == "pick" else "place_last"] = use

    def _correction_learned(self, change: CorrectionChange, _: str) -> None:
        self._learned.append(change)

    def _not_learned(self, why: NotLearned, _: str) -> None:
        self._corrections["not_learned"] = why.reason

    def _pose_used(self, pose: PoseUsed, _: str) -> None:
        self._poses |= {name: value for name, value in pose if value is not None}

    def _agent_begun(self, begun: AgentBegun, _: str) -> None:
        self._agent["begun"] = begun

    def _agent_ended(self, ended: AgentEnded, _: str) -> None:
        self._agent["ended"] = ended

    def _agent_log(self) -> AgentLog | None:
        """The agent's part; what came without a beginning, whose line was damaged, is in no log."""
        if "begun" not in self._agent:
            return None
        lists = {name: tuple(records) for name, records in self._of_agent.items()}
        return AgentLog.model_validate(self._agent | lists)

    def _run_ended(self, ended: RunEnded, at: str) -> None:
        if self._open:
            result = ended.ending.result
            own = result in get_args(StageOutcome) and ended.ending.stage == self.open_stage
            self._close_stage(result if own else "cut_off", at)  # type: ignore[arg-type]
        self._values = {
            "ending": ended.ending,
            "result": ended.ending.result,
            "duration_s": ended.duration_s,
            "wall_s": ended.wall_s,
            "ended_at": at,
        }
        self.ended = True

    def log(self, *, recovered: bool = False) -> RunLog:
        """The log of the events so far. Without an end, `result` and `ended_at` are None."""
        header = self.header
        values: dict[str, Any] = {
            "run_id": header.run_id,
            "started_at": header.started_at,
            "dry_run": header.dry_run,
            "frames_dir": header.frames_dir,
            "constants": header.constants,
            "provenance": header.provenance,
            "stages": tuple(dict.fromkeys(stage.name for stage in self._stages)),
            "stage_records": tuple(self._stages),
            "judgments": dict(self._judgments),
            "correction": {**self._corrections, "learned": tuple(self._learned)},
            "pose_used": self._poses,
            "agent": self._agent_log(),
            "result": None,
            "ended_at": None,
            "recovered": recovered,
        }
        values |= {name: tuple(records) for name, records in self._lists.items()}
        return RunLog.model_validate(values | self._values)
