"""What has become of a batch: its plan and its events, folded into counts and rates. It reads nothing and runs nothing.

`finished` counts planned starts with a final result; a trial that was cut off or stopped is none, and its start is due
again. Invalid, refused and crashed starts are neither success nor failure and are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from runs.batch_records import (
    BatchEvent,
    BatchPlan,
    Called,
    Enough,
    Finished,
    LessonKept,
    Paused,
    PlannedStart,
    ResetEnded,
    Rested,
    RoundTaught,
    SceneMade,
    Started,
    TrialEnded,
    TrialStarted,
)
from runs.events import seconds_between
from runs.statistics import Rate, exact_rate

JUDGED = ("completed", "failed", "unjudged")
"""Results that count in a success rate."""


@dataclass(slots=True)
class BatchState:
    """The batch so far. `final`: each finished start's last word; `open`: trials that have begun and not ended."""

    plan: BatchPlan
    final: dict[int, TrialEnded] = field(default_factory=dict)
    open: dict[int, TrialStarted] = field(default_factory=dict)
    ended: list[TrialEnded] = field(default_factory=list)
    resets: list[ResetEnded] = field(default_factory=list)
    scenes: list[SceneMade] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    taught: dict[int, RoundTaught] = field(default_factory=dict)
    lessons: dict[str, LessonKept] = field(default_factory=dict)
    rested_s: float = 0.0
    worked_wall_s: float = 0.0
    paused: Paused | None = None
    enough: Enough | None = None
    finished_at: str | None = None
    last: TrialEnded | None = None
    _told: set[str] = field(default_factory=set)
    _since: str | None = None
    _last_at: str | None = None

    @classmethod
    def of(cls, plan: BatchPlan, events: Iterable[BatchEvent]) -> BatchState:
        """The state after those events."""
        state = cls(plan)
        for event in events:
            state.add(event)
        return state

    def add(self, event: BatchEvent) -> None:
        """Take the next event in."""
        match event:
            case Started():
                self.paused = None
                self._since = event.at
            case TrialStarted():
                self.open[event.start] = event
            case TrialEnded():
                self._trial_ended(event)
            case ResetEnded():
                self.resets.append(event)
                self.rested_s += event.rested_s
            case SceneMade():
                self.scenes.append(event)
            case Called():
                self.calls.append(event)
            case LessonKept() | RoundTaught():
                self._learned(event)
            case Rested():
                self.rested_s += event.seconds
            case Paused():
                self.paused = event
            case Enough():
                self.enough = event
            case Finished():
                self.finished_at = event.at
        if not isinstance(event, Started) and self._last_at is not None and self._since is not None:
            self.worked_wall_s += max(0.0, seconds_between(max(self._last_at, self._since), event.at) or 0.0)
        self._last_at = event.at

    def _learned(self, event: LessonKept | RoundTaught) -> None:
        if isinstance(event, LessonKept):
            self.lessons[event.lesson.run_id] = event
        else:
            self.taught[event.round] = event

    def _trial_ended(self, event: TrialEnded) -> None:
        begun = self.open.get(event.start)
        if begun is not None and begun.run_id == event.run_id:
            del self.open[event.start]
        if event.run_id in self._told:
            return  # told twice: by the worker, and by whoever found its run
        self._told.add(event.run_id)
        self.ended.append(event)
        self.rested_s += event.rested_s
        self.last = event
        if not event.cut_off and event.result != "stopped":
            self.final[event.start] = event

    @property
    def due(self) -> list[PlannedStart]:
        """Starts without a final result, in order."""
        return [start for start in self.plan.starts if start.index not in self.final]

    @property
    def done(self) -> bool:
        """Whether every planned start has a final result, or enough is known without the rest."""
        return self.enough is not None or len(self.final) == len(self.plan.starts)

    def pairs(self) -> tuple[int, int, int, int]:
        """Pairs of which both trials were judged: both completed, only A's, only B's, neither."""
        counts: Counter[tuple[bool, bool]] = Counter()
        by_pair: dict[int, dict[str | None, bool]] = {}
        for start in self.plan.starts:
            end = self.final.get(start.index)
            if end is not None and end.result in JUDGED:
                by_pair.setdefault(start.pair, {})[start.arm] = end.result == "completed"
        counts.update((won["A"], won["B"]) for won in by_pair.values() if "A" in won and "B" in won)
        return counts[True, True], counts[True, False], counts[False, True], counts[False, False]

    def counts(self) -> Counter[str]:
        """How the finished starts ended."""
        return Counter(str(event.result) for event in self.final.values())

    def success(self, *, first_attempt: bool = False, arm: str | None = None) -> Rate:
        """Completed of those that were judged; on the first attempt at the block, or with retries."""
        of_arm = {start.index for start in self.plan.starts if arm is None or start.arm == arm}
        judged = [e for i, e in self.final.items() if e.result in JUDGED and i in of_arm]
        good = [e for e in judged if e.result == "completed" and (not first_attempt or e.attempts == 1)]
        return exact_rate(len(good), len(judged))

    @property
    def arm_s(self) -> float:
        """The arm's clock over all trials, resets and waits for a person, rests left out, seconds."""
        trials_s = sum((e.duration_s or 0.0) - e.rested_s for e in self.ended)
        resets_s = sum((r.duration_s or 0.0) - r.rested_s for r in self.resets)
        return trials_s + resets_s + sum(scene.waited_s for scene in self.scenes)

    @property
    def clock_s(self) -> float:
        """The same with rests: what a clock beside the arm would say, seconds."""
        return self.arm_s + self.rested_s

    def per_hour(self) -> float | None:
        """Finished starts an hour of the arm's clock, resets included and rests left out."""
        return len(self.final) / self.arm_s * 3600.0 if self.arm_s > 0 and self.final else None

    def per_hour_wall(self) -> float | None:
        """Finished starts an hour of our clock, over the time in which the batch ran."""
        return len(self.final) / self.worked_wall_s * 3600.0 if self.worked_wall_s > 0 and self.final else None

    def summary(self, *, running: bool) -> dict[str, Any]:
        """All figures, ready for JSON."""
        counts, closed = self.counts(), Counter(str(e.result) for e in self.ended)
        scored = [e for e in self.final.values() if e.truth_in_box is not None and e.result == "completed"]
        arms = [arm for arm in ("A", "B") if any(start.arm == arm for start in self.plan.starts)]
        return {
            "batch_id": self.plan.batch_id,
            "state": self.word(running=running),
            "running": running,
            "planned": len(self.plan.starts),
            "finished": len(self.final),
            **{name: counts[name] for name in ("completed", "failed", "unjudged", "invalid", "refused")},
            "crashed": closed["crashed"],
            "cut_off": sum(e.cut_off for e in self.ended),
            "stopped": closed["stopped"],
            "finished_crashed": counts["crashed"],
            "success": asdict(self.success()),
            "first_attempt": asdict(self.success(first_attempt=True)),
            "arms": {
                arm: {"success": asdict(self.success(arm=arm)),
                      "first_attempt": asdict(self.success(arm=arm, first_attempt=True))}
                for arm in arms
            },
            "false_successes": sum(e.truth_in_box is False for e in scored) if scored else None,
            "resets": {"done": sum(r.done for r in self.resets), "failed": sum(not r.done for r in self.resets),
                       "teleported": sum(s.by == "teleport" for s in self.scenes),
                       "by_twin_person": sum(s.by == "twin person" for s in self.scenes)},
            "calls": [call.model_dump(mode="json") for call in self.calls],
            "pairs": dict(zip(("both", "only_a", "only_b", "neither"), self.pairs(), strict=True)) if arms else None,
            "enough": None if self.enough is None else self.enough.why,
            "rounds_taught": len(self.taught),
            "units_per_hour": self.per_hour(),
            "units_per_hour_wall": self.per_hour_wall(),
            "arm_s": self.arm_s,
            "rested_s": self.rested_s,
            "paused": None if self.paused is None else self.paused.why,
            "last": None if self.last is None else self.last.model_dump(mode="json"),
        }  # fmt: skip

    def word(self, *, running: bool) -> str:
        """`running`, `finished`, `paused`, or `interrupted` where the process that ran it has died."""
        if running:
            return "running"
        if self.done:
            return "finished"
        if self.paused is not None:
            return "paused"
        return "interrupted" if self._since is not None else "planned"
