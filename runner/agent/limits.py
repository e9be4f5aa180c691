"""What a sitting has used up against what it may: seconds, dollars, answers, calls, moves, tries at the block.

Limits come from the settings and are read once; nothing here raises one. They are looked at before each thing that uses
them up. Coming to rest at the end is free of them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

from judges.budget import Budget
from runner.agent.errors import LimitReached
from runner.settings.agent import AgentSettings
from runner.trial.stop import StopSwitch
from runs.events import Payload
from runs.schema.agent import AgentLimits
from runs.schema.motion import MoveRecord

Clock = Callable[[], float]

_SLICE_S = 0.1


class Meter:
    """Counts. `now_s` is our clock; the arm's is told by `begin`, once there is an arm."""

    def __init__(self, settings: AgentSettings, *, now_s: Clock = monotonic) -> None:
        self.limits = AgentLimits(
            time_s=settings.time_s,
            budget_usd=settings.budget_usd,
            turns=settings.turns,
            calls=settings.calls,
            motions=settings.motions,
            picks=settings.picks,
        )
        self.budget = Budget(limit_usd=settings.budget_usd, limit_calls=settings.turns)
        self._now_s, self._begun_s = now_s, now_s()
        self._arm_now_s: Clock | None = None
        self._arm_begun_s = 0.0
        self.calls = self.motions = self.picks = 0

    def begin(self, arm_now_s: Clock) -> None:
        """The sitting begins: from now on time counts, on both clocks, and moves; the preflight's are not its own."""
        self._begun_s, self._arm_now_s, self._arm_begun_s = self._now_s(), arm_now_s, arm_now_s()
        self.motions = 0

    @property
    def begun(self) -> bool:
        """Whether the sitting has begun; before that nothing is counted against a limit."""
        return self._arm_now_s is not None

    @property
    def arm_s(self) -> float:
        """Seconds of the arm's clock since the beginning."""
        return 0.0 if self._arm_now_s is None else self._arm_now_s() - self._arm_begun_s

    @property
    def wall_s(self) -> float:
        """Seconds of ours."""
        return self._now_s() - self._begun_s

    @property
    def used_s(self) -> float:
        """Whichever has gone farther."""
        return max(self.wall_s, self.arm_s)

    @property
    def left_s(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self.limits.time_s - self.used_s)

    @property
    def turns(self) -> int:
        """Answers of the model so far."""
        return self.budget.calls

    @property
    def spent_usd(self) -> float:
        """What they have cost so far, lost ones at their most."""
        return self.budget.spent_usd

    def observe(self, record: Payload) -> None:
        """Every record of the log: its moves are counted."""
        self.motions += isinstance(record, MoveRecord)

    def check_time(self) -> None:
        """Before anything.

        Raises:
            LimitReached: no second is left.
        """
        if self.left_s <= 0:
            raise LimitReached("time", self.used_s, self.limits.time_s, " s")

    def check_motion(self) -> None:
        """Before a move, and before a stage that may hold some.

        Raises:
            LimitReached
        """
        self.check_time()
        if self.motions >= self.limits.motions:
            raise LimitReached("moves of the arm", self.motions, self.limits.motions, "")

    def take_call(self) -> None:
        """Count one more call of a tool.

        Raises:
            LimitReached: then it is not counted.
        """
        self.check_time()
        if self.calls >= self.limits.calls:
            raise LimitReached("calls of tools", self.calls, self.limits.calls, "")
        self.calls += 1

    def take_pick(self) -> None:
        """Count one more try at the block.

        Raises:
            LimitReached: then it is not counted.
        """
        if self.picks >= self.limits.picks:
            raise LimitReached("tries at the block", self.picks, self.limits.picks, "")
        self.picks += 1

    def as_words(self) -> dict[str, str]:
        """What is used of what, for the agent itself."""
        limits = self.limits
        return {
            "time": f"{self.used_s:.0f} of {limits.time_s:g} s",
            "spent": f"${self.spent_usd:.4f} of ${limits.budget_usd:g}",
            "calls": f"{self.calls} of {limits.calls}",
            "moves": f"{self.motions} of {limits.motions}",
            "picks": f"{self.picks} of {limits.picks}",
        }


class LimitedSwitch(StopSwitch):
    """A stop switch that a sitting's limits press too: asked before every stage and every move of the arm."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self._over = False

    def over(self) -> None:
        """The agent has come to its end: what follows is the program's own way to the judge and to rest."""
        self._over = True

    def wait(self, seconds: float) -> None:
        """Wait on our own clock, or until somebody asks to stop."""
        end_s = monotonic() + seconds
        while not self.asked and (left_s := end_s - monotonic()) > 0:
            sleep(min(_SLICE_S, left_s))

    def check(self) -> None:
        """Between two steps.

        Raises:
            Stopped: somebody asked. LimitReached: a limit, once the sitting has begun and until the arm is on its way
                to rest.
        """
        super().check()
        if self._meter.begun and not (self._heard or self._over):
            self._meter.check_motion()
