"""What can go wrong with an arm: the guard's refusals and the arm's faults."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class ArmError(TrialcellError):
    """A fault of the arm or of its connection."""

    family: ClassVar[Family] = "device"


class ReadingRejected(ArmError):
    """An answer that can't be a reading of this arm."""

    def __init__(self, got: object, why: str) -> None:
        self.got, self.why = got, why
        super().__init__(f"rejected a joint reading: {why}")


class NoReading(ArmError):
    """No usable reading in as many tries as are allowed."""

    def __init__(self, tries: int, last: str) -> None:
        self.tries, self.last = tries, last
        super().__init__(
            f"no usable joint reading in {tries} tries (last: {last})",
            next_step="check power and cable, then: trialcell doctor",
        )


class MoveStalled(ArmError):
    """The arm stopped short of its goal and makes no progress."""

    def __init__(
        self, label: str, short_deg: float, tolerance_deg: float, after_s: float, because: str | None = None
    ) -> None:
        self.label, self.short_deg, self.tolerance_deg, self.after_s = label, short_deg, tolerance_deg, after_s
        self.because = because
        super().__init__(
            f"{label}: the arm stopped {short_deg:.1f}° short (allowed {tolerance_deg:.1f}°) after {after_s:.1f} s"
            + (f": {because}" if because else ""),
            next_step="look for something in its way, a servo that is off or a latched error",
        )

    def explained(self, because: str | None) -> MoveStalled:
        """The same with what is wrong with the arm, as far as it says."""
        return MoveStalled(self.label, self.short_deg, self.tolerance_deg, self.after_s, because)


class LeftItsWay(ArmError):
    """The arm went elsewhere than it was told before it came to its goal."""

    def __init__(self, label: str, off_deg: float, complaint: str) -> None:
        self.label, self.off_deg, self.complaint = label, off_deg, complaint
        super().__init__(
            f"{label}: the arm first went {off_deg:.1f}° past its goal, and now {complaint}",
            next_step="look at the arm and at what it may have touched, then clear its error",
        )


class MoveTimedOut(ArmError):
    """The arm is still moving at the deadline."""

    def __init__(self, label: str, deadline_s: float, rejected: int) -> None:
        self.label, self.deadline_s, self.rejected = label, deadline_s, rejected
        words = f"; {rejected} of its answers were no readings" if rejected else ""
        super().__init__(
            f"{label}: the arm was still moving after {deadline_s:.0f} s{words}",
            next_step="look at the cable or the network" if rejected else "look for what keeps it from resting",
        )


class Refused(TrialcellError):
    """The guard's no: which rule, by how much, and what to do."""

    family: ClassVar[Family] = "refused"

    def __init__(self, rule: str, message: str, *, value: float, limit: float, next_step: str) -> None:
        self.rule, self.value, self.limit = rule, value, limit
        super().__init__(message, next_step=next_step)


class JawsStuck(ArmError):
    """The jaws were told to open and still hold."""

    def __init__(self, reading: str) -> None:
        self.reading = reading
        super().__init__(
            f"the jaws were told to open, twice over, and still hold: {reading}",
            next_step="take the block out by hand and look at the gripper",
        )


class ArmNotReady(ArmError):
    """The arm can't be worked with as it is."""


class ArmUnreachable(ArmError):
    """No arm could be reached at an address."""

    def __init__(self, address: str, why: str, *, next_step: str | None = None) -> None:
        self.address, self.why = address, why
        super().__init__(
            f"no arm can be reached at {address}: {why}",
            next_step=next_step or "check power, cable and arm.address, then: trialcell arm ports",
        )


class ArmLost(ArmError):
    """The connection broke, and could not be had again or was needed at that moment."""

    def __init__(self, address: str, what: str, why: str) -> None:
        self.address, self.what, self.why = address, what, why
        super().__init__(
            f"the connection to the arm at {address} broke during {what}: {why}",
            next_step="look whether the arm still moves; check its power and cable",
        )


class NoAnswer(ArmError):
    """The arm stayed silent to a question."""

    def __init__(self, question: str, waited_s: float) -> None:
        self.question, self.waited_s = question, waited_s
        super().__init__(
            f"the arm gave no answer to {question} within {waited_s:.1f} s",
            next_step="check its power, then: trialcell doctor",
        )


class OddAnswer(ArmError):
    """An answer that can't be what was asked for."""

    def __init__(self, question: str, got: object) -> None:
        self.question, self.got = question, got
        super().__init__(f"the arm answered {got!r} to {question}", next_step="trialcell doctor")


class CommandRejected(ArmError):
    """The arm's own client would not send a command."""

    def __init__(self, command: str, why: str) -> None:
        self.command, self.why = command, why
        super().__init__(f"{command} was not sent: {why}")


class ArmRestarted(ArmError):
    """The controller has restarted since it was connected: what it was doing is lost."""

    def __init__(self, before: int, now: int) -> None:
        self.before, self.now = before, now
        super().__init__(
            f"the arm's controller has restarted (count {before} before, {now} now)",
            next_step="look at the supply: a gripper or pump that starts can pull it down",
        )


class PortBusy(ArmError):
    """Another process drives this arm."""

    family: ClassVar[Family] = "busy"

    def __init__(self, address: str, holder: str) -> None:
        self.address, self.holder = address, holder
        super().__init__(f"the arm at {address} is in use by {holder}", next_step="wait for it, or end that program")
