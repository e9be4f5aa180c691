"""A trial as it happens, for people: one line a stage, what was found and done in it, and how it came out.

Draws what the log gets and nothing else. On a terminal the lines live; elsewhere each is printed when its stage ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.status import Status
from rich.table import Table
from rich.text import Text

from runs.events import Payload, StageEnded, StageStarted
from runs.figures import clean
from runs.schema.agent import AgentAnswer, AgentCall, AgentTurn
from runs.schema.detection import DetectRecord
from runs.schema.motion import GripperRecord, LookupRecord, MoveRecord
from runs.schema.run import CorrectionUse, Note, TipMeasurement
from runs.schema.verdict import Verdict
from runs.transcript import in_short

TITLES = {
    "stage1": "home, gripper open",
    "stage2": "find block and box",
    "stage3_approach_pick": "approach the block",
    "stage4_pick": "down to the block",
    "stage5": "close the gripper",
    "stage6": "lift, judge the pick",
    "stage6_set_down": "set down what is held",
    "stage6_retreat": "aside, look again",
    "stage7_approach_place": "carry over the box",
    "stage8_place": "down into the box",
    "stage9": "let go",
    "stage9b_judge_place": "aside, judge the place",
    "stage10": "home",
    "agent_look": "look",
    "stage9b_lift": "aside",
    "rest": "come to rest",
}
DRY_RUN, DRY_RUN_TOLD = "dry_run", "dry run"
_SAID_CHARS = 300
STOPPING = "stopping after this motion; Ctrl-C again to stop now"
_MARKS = {
    "done": ("✓", "green"),
    "invalid": ("○", "yellow"),
    "refused": ("◆", "yellow"),
    "stopped": ("■", "yellow"),
    "limit": ("■", "yellow"),
    "not_now": ("○", "yellow"),
}


@dataclass(slots=True)
class _Line:
    """One stage. `told` holds what it has to say, by kind, so that a later word of a kind replaces an earlier one."""

    name: str
    attempt: int | None
    started_s: float | None
    outcome: str | None = None
    seconds: float | None = None
    looks: int = 0
    told: dict[str, str] = field(default_factory=dict)

    def take(self, record: Payload) -> None:
        """Keep what a record has to say."""
        self.looks += isinstance(record, DetectRecord)
        told = in_words(record)
        if told is None or (isinstance(record, GripperRecord) and not self._worth_telling(record)):
            return
        kind = type(record).__name__
        if isinstance(record, MoveRecord | Note):
            kind += str(len(self.told))
        self.told[kind] = told + (f", in {self.looks} looks" if kind == "DetectRecord" and self.looks > 1 else "")

    def _worth_telling(self, check: GripperRecord) -> bool:
        """Whether the gripper says anything but what is expected there; lifted, the verdict tells of it."""
        if check.dry_run:
            return True
        expected = {"stage1": False, "stage7_approach_place": True, "stage9": False}
        holding = None if check.reading is None else check.reading.holding
        return self.name != "stage6" and (self.name not in expected or holding is not expected[self.name])

    def end(self, ended: StageEnded) -> None:
        """How it came out. An error's words are told once, below all stages, where the trial ends with them."""
        self.outcome = ended.outcome
        if ended.ended_s is not None and self.started_s is not None:
            self.seconds = ended.ended_s - self.started_s
        if ended.outcome != "done":
            self.told["end"] = ended.note if ended.outcome == "failed" and ended.note else ended.outcome


class LiveTrial:
    """Watches a trial: give `observe` to the sequence as its observer."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: list[_Line] = []
        self._stopping = self._told_stopping = False
        self._status: Status | None = None
        self._topic: str | None = None
        self._asked = ""
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self._all)

    def __enter__(self) -> Self:
        self._end_status()
        if self._console.is_terminal:
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopping = False
        if self._console.is_terminal:
            self._live.__exit__(kind, error, at)

    def preparing(self, text: str) -> None:
        """How far the preparations are, as `topic: detail`. On a terminal in one line, elsewhere each topic once."""
        topic = text.partition(":")[0]
        if not self._console.is_terminal:
            if topic != self._topic:
                self._console.print(Text(topic, style="dim"))
        elif self._status is None:
            self._status = self._console.status(Text(text))
            self._status.start()
        else:
            self._status.update(Text(text))
        self._topic = topic

    def prepared(self) -> None:
        """The preparations are over, however they ended."""
        self._end_status()

    def stopping(self) -> None:
        """Somebody asked to stop. Called from a signal's handler, so it only makes a note of it."""
        self._stopping = True

    def observe(self, record: Payload) -> None:
        """One record of the log."""
        if isinstance(record, StageStarted):
            self._lines.append(_Line(record.name, record.attempt, record.started_s))
        elif isinstance(record, AgentTurn | AgentCall | AgentAnswer):
            self._of_agent(record)
        elif self._lines:
            line = self._lines[-1]
            between = line.outcome is not None
            if isinstance(record, StageEnded):
                line.end(record)
                self._print(self._grid([line]))
            else:
                line.take(record)
                if between and isinstance(record, Note):
                    self._print(Text(clean(record.text), style="yellow"))
        if self._stopping and not self._told_stopping:
            self._told_stopping = True
            self._print(Text(STOPPING, style="yellow"))

    def _of_agent(self, record: AgentTurn | AgentCall | AgentAnswer) -> None:
        """What an agent says, asks for and is told, each in a line of its own."""
        if isinstance(record, AgentCall):
            self._asked = f"▸ {record.tool}"
            return
        line = _Line("▸ says" if isinstance(record, AgentTurn) else self._asked, None, None)
        if isinstance(record, AgentTurn):
            line.outcome = "done" if record.gate == "passed" else record.gate
            line.told["said"] = in_short(record.text or record.detail or "nothing", _SAID_CHARS)
        else:
            line.outcome, line.seconds = record.outcome, record.arm_s or None
            line.told["answer"] = in_short(record.reason or "", _SAID_CHARS)
        self._lines.append(line)
        self._print(self._grid([line]))

    def _print(self, what: Table | Text) -> None:
        """Where nothing lives, each thing is printed when it is complete."""
        if not self._console.is_terminal:
            self._console.print(what)

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _all(self) -> Group:
        footer = [Text(f"■ {STOPPING}", style="yellow")] if self._stopping else []
        return Group(self._grid(self._lines), *footer)

    def _grid(self, lines: list[_Line]) -> Table:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=1)
        grid.add_column(width=26, no_wrap=True)
        grid.add_column(width=6, justify="right")
        grid.add_column(ratio=1)
        for line in lines:
            title = TITLES.get(line.name) or clean(line.name)
            if line.attempt is not None and line.attempt > 1:
                title = f"{title} ({line.attempt})"
            seconds = "" if line.seconds is None else f"{line.seconds:.1f} s"
            mark, style = _MARKS.get(line.outcome or "", ("✗", "red"))
            sign = Spinner("dots") if line.outcome is None else Text(mark, style=style)
            told = clean("; ".join(line.told.values()))  # a judge, a gripper or an error may have said it
            grid.add_row(sign, Text(title), Text(seconds, style="dim"), Padding(Text(told, style="dim"), (0, 0, 0, 1)))
        return grid


def in_words(record: Payload) -> str | None:
    """What a record says to somebody who watches; None for those that are for the log only."""
    if isinstance(record, DetectRecord):
        return f"block {_place(record.block_xz_m)}, box {_place(record.box_xz_m)}"
    if isinstance(record, LookupRecord):
        return _lookup(record)
    if isinstance(record, MoveRecord):
        return _move(record)
    if isinstance(record, GripperRecord):
        return _gripper(record)
    if isinstance(record, TipMeasurement):
        return _tip(record)
    if isinstance(record, CorrectionUse) and record.applied:
        shift = f"({-(record.dx_mm or 0):.1f}, {-(record.dz_mm or 0):.1f}) mm".replace("-", "−")
        return f"{record.phase} corrected by {shift}"
    if isinstance(record, Verdict):
        word = record.verdict or f"no verdict ({record.error})"
        return None if record.error == DRY_RUN else f"{record.stage} {word}: {record.reason}"
    return record.text if isinstance(record, Note) else None


def _place(xz_m: tuple[float, float] | None) -> str:
    return "not found" if xz_m is None else f"({xz_m[0] * 1000:.0f}, {xz_m[1] * 1000:.0f}) mm".replace("-", "−")


def _lookup(record: LookupRecord) -> str | None:
    if record.abort_reason or record.guard_reason:
        return f"{record.pose_id or record.method}: {record.abort_reason or record.guard_reason}"
    if record.phase.startswith("approach") or record.refined is None:
        return None
    off = "" if record.total_residual_m is None else f", {record.total_residual_m * 1000:.1f} mm off"
    return f"from {record.pose_id}{off}, refined to {record.refined.residual_mm:.2f} mm"


def _gripper(record: GripperRecord) -> str | None:
    if record.dry_run:
        return None if record.action == "check" else f"would {record.action} the gripper"
    return None if record.reading is None else record.reading.reason


def _tip(record: TipMeasurement) -> str | None:
    if record.diff is not None:
        return f"tip {record.diff.dist_mm:.1f} mm from the block"
    return None if record.reason == DRY_RUN_TOLD else f"tip not measured: {record.reason}"


def _move(record: MoveRecord) -> str | None:
    if record.dry_run:
        angles = ", ".join(f"{a:.0f}" for a in (round(angle) + 0 for angle in record.target_angles)).replace("-", "−")
        return f"would send ({angles})°, {record.waypoints} waypoint{'s' if record.waypoints != 1 else ''}"
    return f"{record.rejected_readings} readings rejected" if record.rejected_readings else None
