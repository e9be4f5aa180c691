"""How a call of a tool, or a whole sitting, comes to nothing."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class AgentError(TrialcellError):
    """Root of this package's errors."""


class NotNow(AgentError):
    """A tool that can't be used as things stand, and what to do first."""

    family: ClassVar[Family] = "refused"


class NotHere(AgentError):
    """Something that this cell, camera or mode has not."""

    family: ClassVar[Family] = "refused"


class LimitReached(AgentError):
    """A limit of the sitting. Nothing lifts it; a person sets it in the cell's settings."""

    family: ClassVar[Family] = "refused"

    def __init__(self, what: str, used: float, limit: float, unit: str) -> None:
        self.what, self.used, self.limit, self.unit = what, used, limit, unit
        super().__init__(f"the limit of {what} is reached: {used:.6g} of {limit:.6g}{unit}")


class NoModel(AgentError):
    """A task that only a model can be given."""

    family: ClassVar[Family] = "usage"

    def __init__(self) -> None:
        super().__init__(
            "the script does the standard job only, and no other task",
            next_step="leave the task out, or take a model: --by claude",
        )


class NoPrice(AgentError):
    """A model whose price is not known can't be kept to a budget."""

    family: ClassVar[Family] = "usage"

    def __init__(self, model: str) -> None:
        self.model = model
        super().__init__(
            f"the price of {model!r} is not known, so no budget can be kept",
            next_step="set agent.model to one of judges/prices.toml",
        )


class ArmIsHeld(AgentError):
    """Another client has the arm."""

    family: ClassVar[Family] = "busy"

    def __init__(self, by: str, left_s: float) -> None:
        self.by, self.left_s = by, left_s
        super().__init__(f"the arm is held by {by}, for another {left_s:.0f} s at least unless it lets go before")


class NoLease(AgentError):
    """A call for the arm by somebody who does not hold it."""

    family: ClassVar[Family] = "refused"

    def __init__(self, why: str) -> None:
        super().__init__(why, next_step="take_arm first, and give the lease that it returns with each call")
