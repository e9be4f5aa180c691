"""What a fault of the arm may change: what the arm hears, what it says, or what state it is in.

When one begins is `faults.py`'s business; nothing here touches the runner, and nothing of the runner knows of it.
"""

from __future__ import annotations

from typing import ClassVar

from runner.arms.wire import Cmd, WireFrame
from runner.twin.firmware.controller import Controller
from runner.twin.firmware.ports import Reply

JAW_ORDERS = (Cmd.SET_GRIPPER_STATE, Cmd.SET_GRIPPER_VALUE)
"""Commands that open and close the jaws."""


class Fault:
    """One fault. Subclasses override what they change; `since_s` is when it began, in the twin's time."""

    name: ClassVar[str]
    row: ClassVar[int]
    what: ClassVar[str]
    since_s: float = 0.0

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def begins(self, now_s: float) -> None:
        """Its moment has come."""
        self.since_s = now_s

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """What the arm makes of a request; None: it acknowledges it and does nothing."""
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """What is sent for the replies that a sound arm would send."""
        return replies

    def passes(self, now_s: float) -> None:
        """Time goes by."""

    def line_is_down(self, now_s: float) -> bool:
        """Whether nobody can be reached at the arm's address, and whoever was connected is so no more."""
        return False
