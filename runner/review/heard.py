"""What browsers say: small, read within a time, checked word for word. It writes nothing."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from runner.review.errors import Malformed, TooBig
from runs.schema.verdict import JudgedStage, Word

MOST_SAID_BYTES = 16_384
SAID_WITHIN_S = 10.0
"""What a browser says is smaller and comes sooner."""


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)

    cell: int = Field(ge=0)
    by: str = Field(min_length=1, max_length=80)


class SaidOfStep(_Said):
    """A person about a step."""

    run_id: str = Field(max_length=64)
    stage: JudgedStage


class SaidWord(SaidOfStep):
    """A person's word on a step. `blind` is what the page believes; what was shown to it is what counts.

    `known` is how many rulings on the step there were when the page was shown it.
    """

    verdict: Word
    reason: str = Field("", max_length=2000)
    blind: bool = False
    known: int = Field(0, ge=0)


class SaidStop(_Said):
    """A person stops a cell."""

    why: str = Field("stopped on the review page", min_length=1, max_length=500)


M = TypeVar("M", bound=BaseModel)


async def heard(request: Request, model: type[M]) -> M:
    """What a request says.

    Raises:
        TooBig, Malformed
        TimeoutError: it did not come within `SAID_WITHIN_S`.
    """
    return _parsed(model, await asyncio.wait_for(_body(request), SAID_WITHIN_S))


async def _body(request: Request) -> bytes:
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_SAID_BYTES:
            raise TooBig("that is more than is taken here")
    return data


def _parsed(model: type[M], text: bytes) -> M:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Malformed(f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()) from None
