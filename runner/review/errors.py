"""What a request of the page can be refused for, each with its status in HTTP."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class ReviewError(TrialcellError):
    """Something that a browser asked for and does not get."""

    family: ClassVar[Family] = "usage"
    status: ClassVar[int] = 400


class Malformed(ReviewError):
    """A request that says something other than it must."""


class NotThere(ReviewError):
    """No such run, step or picture."""

    status: ClassVar[int] = 404


class TooBig(ReviewError):
    """A picture or a request beyond what is opened here."""

    status: ClassVar[int] = 413


class NeedsToken(ReviewError):
    """An address other than this machine's own is served only with a token that is long enough."""

    def __init__(self, host: str, why: str) -> None:
        self.host = host
        super().__init__(
            f"{host} can be reached from other machines: {why}",
            next_step="leave --host away, or give a --token of at least 16 characters, or --token new",
        )


class AddressTaken(ReviewError):
    """The port can't be had."""

    family: ClassVar[Family] = "busy"

    def __init__(self, host: str, port: int, why: str) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"can't serve at {host}:{port}: {why}", next_step="take another port: trialcell review --port 0"
        )
