"""A sitting at the arm: one trial whose course somebody else decides, step by step, through the stages of every trial.

It keeps to an order in which nothing is dropped and nothing is judged twice: look, pick, place, judge, and retreat from
wherever something went wrong. The judge is asked as in any trial; what it said stays with the record until the trial is
final, and after that nothing is picked any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from runner.agent.cell_view import CellView
from runner.agent.errors import NotNow
from runner.agent.limits import Meter
from runner.table.plan import PlacePlan
from runner.trial.errors import InvalidStart, Stopped
from runner.trial.gate import why_not
from runner.trial.look import look
from runner.trial.sequence import not_picked, placed
from runner.trial.stages.find import best_of, look_until_clear, reckon_with
from runner.trial.stages.pick import approach_pick, pick, step_aside
from runner.trial.stages.pick import retreat as retreat_from_pick
from runner.trial.stages.place import (
    approach_place,
    ask_placed,
    finish,
    place,
    release,
    step_clear,
    swing_clear,
)
from runner.trial.trial import Seen, Trial
from runs.schema.agent import Proposal
from runs.schema.run import Ending
from runs.schema.verdict import Verdict

Standing = Literal["free", "holding", "placed", "astray", "final"]

_FIRST = {
    "holding": "something is held: place it, or retreat to set it down",
    "placed": "the block has been let go: judge it, or retreat and try again",
    "astray": "the last step came to nothing: retreat first",
    "final": "this trial is final: it has been judged, and another one is another sitting",
}


@dataclass(frozen=True, slots=True)
class View:
    """What a look has shown: both things, or what is missing, and why no pick can begin with it."""

    seen: Seen | None
    missing: str | None
    no_pick_because: str | None
    at_s: float


class Sitting:
    """The trial under way and where it stands. `view` is what was seen last."""

    def __init__(self, cell: CellView, trial: Trial, meter: Meter) -> None:
        self.cell, self.trial, self.meter = cell, trial, meter
        self.standing: Standing = "free"
        self.view: View | None = None
        self.proposals: list[Proposal] = []
        self._ready: Seen | None = None
        self._picked: tuple[Seen, Verdict] | None = None
        self._released: tuple[Seen, PlacePlan] | None = None  # let go over the box since the last pick, not judged
        self._placed: Verdict | None = None

    def check_stop(self) -> None:
        """Before each call, also of a tool that moves nothing.

        Raises:
            Stopped: a person asked for it, or one is latched.
        """
        if self.trial.switch.asked:
            raise Stopped(at_once=self.trial.switch.now)
        stop = self.trial.bench.latch.read()
        if stop is not None:
            raise Stopped(at_once=False, by=stop.by, why=stop.why)

    def look(self, *, aside: bool) -> View:
        """Look from where the arm stands; empty-handed also from aside, where it may hide something."""
        trial = self.trial
        with trial.stage("agent_look", attempt=trial.attempt):
            looks = [look(trial, "look")]
            seen, missing = None, None
            try:
                may_swing = aside and self.standing in ("free", "final")
                seen = look_until_clear(trial, looks) if may_swing else best_of(trial, looks)
            except InvalidStart as error:
                missing = error.message
            reason = missing if seen is None else why_not(seen, trial.bench.config)
            self.view = View(seen, missing, reason, trial.bench.clock.now_s())
            if self.standing == "free":
                self._ready = seen if reason is None else None
                if self._ready is not None:
                    reckon_with(trial, self._ready)
        return self.view

    def pick(self) -> float:
        """Stages 3 to 6 at the block that was seen last; returns the residual of the plan, mm.

        Raises:
            NotNow, LimitReached: not begun. PlanningError, Refused, ArmError: see the stages.
        """
        self._only_from("free")
        seen = self._ready
        if seen is None:
            why = None if self.view is None else self.view.no_pick_because
            raise NotNow(f"no pick can begin: {why}" if why else "nothing has been looked at yet: look first")
        self.meter.take_pick()
        with self._astray_unless_done():
            plan = approach_pick(self.trial, seen)
            self._released = None
            verdict = pick(self.trial, seen, plan)
            self._picked = (seen, verdict)
        self._ready = None
        self.standing = "holding" if self.trial.may_hold or self.trial.dry_run else "astray"
        return plan.residual_mm

    def place(self) -> float:
        """Stages 7 to 9, and aside to where the box can be seen; returns the residual of the plan, mm.

        Raises:
            NotNow: not begun. BlockLost: the gripper is empty. PlanningError, Refused, ArmError: see the stages.
        """
        self._only_from("holding")
        assert self._picked is not None
        seen = self._picked[0]
        with self._astray_unless_done():
            plan = approach_place(self.trial, seen)
            place(self.trial, plan)
            release(self.trial)
            self._released = (seen, plan)
            with self.trial.stage("stage9b_lift", attempt=self.trial.attempt):
                step_clear(self.trial, seen, plan)
        self.standing = "placed"
        return plan.residual_mm

    def retreat(self) -> View:
        """Set down what is held where it was taken, open, swing aside, look again; the next try may begin.

        What was placed before can be judged until something is picked again.

        Raises:
            NotNow: the trial is final.
        """
        if self.standing == "final":
            raise NotNow(_FIRST["final"])
        missing = None
        try:
            seen = step_aside(self.trial) if self.standing == "placed" else retreat_from_pick(self.trial)
        except InvalidStart as error:
            seen, missing = None, error.message
        self.view = View(seen, missing, missing, self.trial.bench.clock.now_s())
        self.standing, self._ready = "free", seen
        return self.view

    def judge(self) -> None:
        """Stage 9b and 10: the judge's word on what was placed. From now on the trial is final.

        Raises:
            NotNow: nothing has been placed.
        """
        if self.standing == "final" or self._released is None:
            told = {**_FIRST, "free": "nothing has been placed", "holding": "nothing has been placed: it is held"}
            raise NotNow(told[self.standing])
        (seen, plan), stands_clear = self._released, self.standing == "placed"
        with self.trial.stage("stage9b_judge_place", attempt=self.trial.attempt):
            if not stands_clear:
                swing_clear(self.trial, seen)
            self._placed = ask_placed(self.trial, seen)
        self.standing = "final"
        if stands_clear:  # else the way to rest is the way home
            finish(self.trial, plan)

    def final_verdicts(self) -> list[Verdict]:
        """The verdicts that count, once nothing can change them any more; none before."""
        if self.standing != "final":
            return []
        assert self._placed is not None
        picked = [] if self._picked is None else [self._picked[1]]
        return [*picked, self._placed]

    def ending(self) -> Ending:
        """How the trial ends. What was placed and not judged is judged now: nobody gets round the judge.

        That holds after a retreat too, unless something was picked since.
        """
        if self._placed is None and self._released is not None:
            self.judge()
        if self._placed is not None:
            return placed(self.trial, self._placed)
        if self._picked is not None and self._picked[1].verdict != "yes":
            return not_picked(self.trial, self._picked[1]).model_copy(update={"stage": self.trial.last_stage})
        what = "nothing was picked up" if self._picked is None else "what was picked up was not placed"
        reason = f"{what}, so there was nothing to judge"
        return Ending(result="unjudged", stage=self.trial.last_stage, reason=reason)

    def _only_from(self, standing: Standing) -> None:
        if self.standing != standing:
            raise NotNow(_FIRST.get(self.standing, "nothing is held: pick first"))

    @contextmanager
    def _astray_unless_done(self) -> Iterator[None]:
        """What ends half-way is to be retreated from."""
        before = self.standing
        self.standing = "astray"
        yield
        self.standing = before
