"""The root of every error that trialcell raises on purpose, and the family of the run record.

An error keeps its facts as attributes and says what to do next. Its `family` says what kind of trouble it is, in the
words of the command line's exit codes; `cli/failures.py` turns the family into the code. A package sets it on the root
of its own errors, and again on those that are of another kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

Family = Literal["failed", "usage", "refused", "invalid", "device", "busy", "verdict"]


class TrialcellError(Exception):
    """Root of all our errors: one sentence for a person, and the next step where there is one.

    `family` is "usage" (asked for wrongly), "refused" (a guard or a rule said no), "invalid" (a file, a setting or the
    cell's state is not as it must be), "device" (arm, camera or disk), "busy" (another process has the cell),
    "verdict" (no verdict could be had) or "failed" (anything else that went wrong).
    """

    family: ClassVar[Family] = "failed"

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        self.message = message
        self.next_step = next_step
        super().__init__(message if next_step is None else f"{message}; {next_step}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel from a worker process with every fact, whatever the constructor takes."""
        return _arrived, (type(self), self.args, vars(self))


def _arrived(kind: type[TrialcellError], args: tuple[Any, ...], facts: dict[str, Any]) -> TrialcellError:
    error = kind.__new__(kind, *args)
    vars(error).update(facts)
    return error


class RecordError(TrialcellError):
    """Something about a run log, its folder or its events is not as it must be."""

    family: ClassVar[Family] = "invalid"


class RunNotFound(RecordError):
    """No run of that name in the folder that was searched."""

    family: ClassVar[Family] = "usage"

    def __init__(self, wanted: str, searched: Path) -> None:
        self.wanted, self.searched = wanted, searched
        super().__init__(f"no run {wanted!r} in {searched}", next_step="list them with: trialcell runs list")


class RunExists(RecordError):
    """A run of that name is there already; none is ever written over."""

    def __init__(self, run_id: str, runs_dir: Path) -> None:
        self.run_id, self.runs_dir = run_id, runs_dir
        super().__init__(f"{run_id} is already in {runs_dir}")


class NotARunLog(RecordError):
    """A file that can't be read as a run log: cut off, not JSON, or another kind of JSON.

    `problems` names each key that is wrong, as `moves.3.arrived: …`, where it got as far as that.
    """

    def __init__(
        self, path: Path | str, why: str, *, next_step: str | None = None, problems: Sequence[str] = ()
    ) -> None:
        self.path, self.why, self.problems = path, why, tuple(problems)
        super().__init__(f"{path} is not a run log: {why}", next_step=next_step)


class NewerThanUs(RecordError):
    """A file written by a later version of the program."""

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        self.path, self.found, self.known = path, found, known
        super().__init__(
            f"{path} has schema version {found}, this program reads up to {known}",
            next_step="update trialcell to read it",
        )


class StorageUnwritable(RecordError):
    """The folder for runs can't be written; nothing is ever written elsewhere instead.

    `errno` is the system's number for it, `free_bytes` and `needed_bytes` are set where space is what is missing.
    """

    family: ClassVar[Family] = "device"

    def __init__(
        self,
        path: Path,
        why: str,
        *,
        errno: int | None = None,
        free_bytes: int | None = None,
        needed_bytes: int | None = None,
    ) -> None:
        self.path, self.why, self.errno = path, why, errno
        self.free_bytes, self.needed_bytes = free_bytes, needed_bytes
        super().__init__(
            f"can't write to {path}: {why}",
            next_step="free space or mend the permissions, or name another cell with --cell",
        )


class RunInProgress(RecordError):
    """A process is still writing this run, so it is neither recovered nor changed."""

    family: ClassVar[Family] = "busy"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"{run_id} is still being written", next_step="wait until its trial has ended")


class RunClosed(RecordError):
    """An event for a run whose end is already written down."""

    def __init__(self, run_id: str, kind: str) -> None:
        self.run_id, self.kind = run_id, kind
        super().__init__(f"{run_id} has ended and takes no {kind} any more")


class CellBusy(RecordError):
    """Another process drives this cell. The facts of the holder are None where its note can't be read."""

    family: ClassVar[Family] = "busy"

    def __init__(
        self, cell: Path, *, pid: object = None, host: object = None, since: object = None, command: object = None
    ) -> None:
        self.cell, self.pid, self.host, self.since, self.command = cell, pid, host, since, command
        who = "another process" if pid is None else f"process {pid} on {host} ({command}), since {since}"
        super().__init__(f"the cell {cell} is in use by {who}", next_step="wait for it, or stop it: trialcell stop")


class CorrectionsUnreadable(RecordError):
    """The correction table's file can't be read. It is never taken as an empty table."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} is not a correction table: {why}",
            next_step="put a good copy in its place, or move it away to begin anew (the history remains)",
        )


class NoSuchPoint(RecordError):
    """A point in the history of the corrections that is not there."""

    family: ClassVar[Family] = "usage"

    def __init__(self, wanted: str, lines: int) -> None:
        self.wanted, self.lines = wanted, lines
        super().__init__(
            f"the history of the corrections has no point {wanted!r}: it has {lines} lines",
            next_step="see them with: trialcell corrections history",
        )


class NothingToPromote(RecordError):
    """There is no candidate for a correction that could go live."""

    def __init__(self) -> None:
        super().__init__(
            "no correction has been proposed that is not live already",
            next_step="let trials teach, then: trialcell corrections propose",
        )


class NotPromoted(RecordError):
    """A candidate that may not go live, and why."""

    family: ClassVar[Family] = "refused"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"the candidate is not promoted: {why}",
            next_step="prove it: trialcell corrections prove; or answer for it: corrections promote --by NAME --why …",
        )


class CannotCorrect(TrialcellError):
    """The data can't carry a success rate corrected for the judge's error, so there is none."""

    family: ClassVar[Family] = "refused"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"the rate can't be corrected for the judge's error: {why}",
            next_step="label more steps and measure the judge: trialcell judge calibrate",
        )


class AppendedUnreadable(RecordError):
    """A line of a run's rulings or later verdicts can't be read. Nothing that a person said is left out in silence."""

    def __init__(self, path: Path, line: int, why: str) -> None:
        self.path, self.line, self.why = path, line, why
        super().__init__(f"{path}, line {line}: {why}", next_step="mend that line; nothing else in the file is wrong")


class NothingToRule(RecordError):
    """A ruling on a step that the run never came to."""

    family: ClassVar[Family] = "usage"

    def __init__(self, run_id: str, stage: str, why: str) -> None:
        self.run_id, self.stage = run_id, stage
        super().__init__(
            f"{run_id} has no {stage} to rule on: {why}", next_step=f"see it with: trialcell runs show {run_id}"
        )
