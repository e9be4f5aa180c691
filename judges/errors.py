"""What can go wrong while judging. None of it is ever a yes."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from runs.errors import Family, TrialcellError


class JudgeError(TrialcellError):
    """No verdict could be had."""

    family: ClassVar[Family] = "verdict"


class BadEvidence(JudgeError):
    """What was handed to the judge can't be judged at all."""

    family: ClassVar[Family] = "usage"

    def __init__(self, why: str, *, next_step: str | None = None) -> None:
        super().__init__(why, next_step=next_step)


class LabelledSetUnreadable(JudgeError):
    """A folder that is not a labelled set."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, folder: Path, why: str) -> None:
        self.folder, self.why = folder, why
        super().__init__(
            f"{folder} is not a labelled set: {why}", next_step="make one with: trialcell judge make-set DIR"
        )


class NobodyThere(JudgeError):
    """A person was to be asked, and none can answer."""

    def __init__(self, why: str) -> None:
        super().__init__(f"nobody can be asked: {why}", next_step="run it in a terminal, or choose another judge")


class CertificateUnreadable(JudgeError):
    """The file of the judges' certificates can't be read. It is never taken as a certificate."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} holds no certificates: {why}",
            next_step="move it away, and measure the judge again: trialcell judge calibrate",
        )


class BatchFailed(JudgeError):
    """Handing in, asking about or fetching a batch did not work. No verdict comes of it."""

    def __init__(self, what: str, why: str) -> None:
        self.what, self.why = what, why
        super().__init__(f"can't {what}: {why}", next_step="try again later; what was handed in is not asked twice")


class BatchRefused(BatchFailed):
    """The server has surely not taken the batch; nothing of it is under way."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.next_step = "nothing of it is under way: put right what it says, and hand it in again"
        self.args = (f"{self.message}; {self.next_step}",)


class ForeignResults(JudgeError):
    """A server says that results lie somewhere else; the key is not sent there."""

    family: ClassVar[Family] = "refused"

    def __init__(self, origin: str, expected: str) -> None:
        self.origin, self.expected = origin, expected
        super().__init__(
            f"the results are said to lie at {origin}, not at {expected}; nothing was asked of it",
            next_step="make sure whom judge.base_url names",
        )


class BatchFileUnreadable(JudgeError):
    """The note of a batch that was handed in can't be read."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} is no note of a batch: {why}", next_step="move it away to go on without that batch")
