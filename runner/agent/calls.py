"""One call of a tool, from a name and arguments that nobody has checked to an answer, with both written down.

The call is in the log before anything is done for it. Whatever is wrong with it is an answer as well; only a fault of
the arm, of the disk or of ours, and a stop, come out of here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from judges.backend import clean
from judges.budget import spent_on
from runner.agent.cell_view import CellView
from runner.agent.errors import LimitReached, NotHere, NotNow
from runner.agent.fence import quoted
from runner.agent.models import In
from runner.agent.sitting import Sitting
from runner.agent.tool import Result, Tool
from runner.agent.toolbox import TOOLS
from runner.arms.errors import ArmError
from runner.trial.errors import BlockLost, PictureNotOfNow, Stopped
from runs.errors import StorageUnwritable, TrialcellError
from runs.schema.agent import AgentAnswer, AgentCall, CallOutcome
from vision.errors import CameraUnavailable

MOST_ARGUMENT_BYTES = 8_000
MOST_ANSWER_CHARS = 16_000
SHOWN_CHARS = 400
_FATAL = (ArmError, PictureNotOfNow, CameraUnavailable, Stopped, StorageUnwritable)


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What the caller is told. `answer` is plain JSON; pictures are JPEG by their label."""

    outcome: CallOutcome
    answer: dict[str, Any]
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether the tool did what it does."""
        return self.outcome == "done"


def answer_of(tool: Tool, at: Sitting | CellView, arguments: Mapping[str, Any]) -> Result | Answered:
    """Check the arguments and do it; a refusal of any kind is an answer too.

    Raises:
        ArmError, PictureNotOfNow, CameraUnavailable, Stopped, StorageUnwritable: the sitting can't go on.
    """
    try:
        asked: In = tool.arguments.model_validate_json(json.dumps(arguments, allow_nan=False), strict=True)
    except (ValidationError, ValueError, RecursionError) as error:
        return _refusal("wrong_arguments", _what_is_wrong(error))
    subject: Any = at
    if tool.needs == "cell" and isinstance(at, Sitting):
        subject = at.cell
    if tool.needs == "sitting" and not isinstance(at, Sitting):
        return _refusal("not_now", f"{tool.name} needs the arm, and this is for reading only")
    try:
        return tool.act(subject, asked)
    except _FATAL:
        raise
    except LimitReached as error:
        return _refusal("limit", error.message)
    except (NotNow, NotHere) as error:
        return _refusal("not_now", error.message)
    except BlockLost as error:
        return _refusal("failed", error.message)
    except TrialcellError as error:
        return _refusal("refused" if error.family in ("refused", "invalid") else "failed", error.message)


class CallBook:
    """Makes calls in a sitting and writes them down."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting

    def call(self, name: str, arguments: Any, *, turn: int | None = None) -> Answered:
        """One call and its answer.

        Raises:
            As `answer_of`.
        """
        sitting, meter, book = self._sitting, self._sitting.meter, self._sitting.trial.book
        try:
            meter.take_call()
        except LimitReached as error:
            return _refusal("limit", error.message)
        book.add(_written(meter.calls, name, arguments, turn))
        number, motions, verdicts = meter.calls, meter.motions, len(book.log.verdicts)
        begun_s, arm_begun_s = meter.wall_s, meter.arm_s
        images: tuple[str, ...] = ()

        def keep(outcome: CallOutcome, result: dict[str, Any] | None, reason: str | None) -> None:
            book.add(
                AgentAnswer(
                    call=number,
                    outcome=outcome,
                    result=result,
                    reason=reason,
                    images=images,
                    seconds=round(meter.wall_s - begun_s, 3),
                    arm_s=round(meter.arm_s - arm_begun_s, 3),
                    motions=meter.motions - motions,
                    cost_usd=spent_on(*book.log.verdicts[verdicts:]),
                    spent_usd=meter.spent_usd,
                )
            )

        try:
            sitting.check_stop()
            answered = self._answer(name, arguments)
        except StorageUnwritable:
            raise
        except TrialcellError as error:
            keep("fault", None, str(error))
            raise
        images = tuple(answered.pictures)
        told = answered.answer
        keep(answered.outcome, told if answered.done else None, None if answered.done else str(told.get("reason")))
        return answered

    def _answer(self, name: str, arguments: Any) -> Answered:
        tool = TOOLS.get(name)
        if tool is None:
            known = ", ".join(TOOLS)
            return _refusal("no_such_tool", f"there is no tool {clean(name)[:60]!r}; there are: {known}")
        size = _size(arguments)
        if not isinstance(arguments, Mapping):
            return _refusal("wrong_arguments", "arguments are an object of names and values")
        if size is None or size > MOST_ARGUMENT_BYTES:
            told = "no JSON" if size is None else f"{size} bytes"
            return _refusal("wrong_arguments", f"the arguments are {told}; a call has at most {MOST_ARGUMENT_BYTES}")
        done = answer_of(tool, self._sitting, arguments)
        return done if isinstance(done, Answered) else told_of(done)


def told_of(result: Result) -> Answered:
    """A tool's result as it is told and kept: plain JSON of bounded size."""
    answer = result.answer.model_dump(mode="json")
    size = len(json.dumps(answer, ensure_ascii=False))
    if size > MOST_ANSWER_CHARS:
        told = f"the answer has {size} signs, more than is told; ask for less"
        return Answered("failed", {"outcome": "failed", "reason": told}, result.pictures)
    return Answered("done", answer, result.pictures)


def _refusal(outcome: CallOutcome, why: str) -> Answered:
    return Answered(outcome, {"outcome": outcome, "reason": quoted(why)})


def _written(number: int, name: str, arguments: Any, turn: int | None) -> AgentCall:
    """A call for the log: whole where it is small, else its beginning and its size."""
    size = _size(arguments)
    tool = str(clean(name))[:60]
    if size is not None and size <= MOST_ARGUMENT_BYTES and isinstance(arguments, Mapping):
        return AgentCall(call=number, tool=tool, turn=turn, arguments=_whole(arguments), n_bytes=size)
    begin = str(clean(repr(arguments)[:SHOWN_CHARS]))
    return AgentCall(call=number, tool=tool, turn=turn, arguments_begin=begin, n_bytes=size or 0)


def _whole(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """As they came, fit for a file: no lone surrogates."""
    kept: dict[str, Any] = json.loads(json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace"))
    return kept


def _size(arguments: Any) -> int | None:
    try:
        return len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError):
        return None


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, ValidationError):
        told = [f"{'.'.join(str(part) for part in one['loc']) or 'arguments'}: {one['msg']}" for one in error.errors()]
        return "; ".join(told[:4])
    return str(error)
