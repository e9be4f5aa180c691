"""What a backend really does, found out by asking: does it hold a reply to its form, does it see pictures in order?

"Accepts the request" does not mean "enforces the form": servers are known that take a form and ignore it. So the probe
asks for what the form forbids, and looks which of the two wins. It judges nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from time import monotonic
from typing import Any

import cv2
import numpy as np

from judges.backend import Answer, Backend, Question
from judges.errors import JudgeError
from judges.pictures import SentPicture
from judges.reply import Unreadable, one_line, strict_json
from judges.rubric import Prompt

PROBE_TOKENS = 2_000  # thinking counts too
SIDE_PX = 224
_COLOURS_BGR = {
    "red": (40, 40, 220),
    "green": (60, 170, 40),
    "blue": (210, 90, 30),
    "yellow": (40, 220, 240),
    "black": (15, 15, 15),
    "white": (245, 245, 245),
}


class CannotJudge(JudgeError):
    """A backend that gives no usable answer."""

    def __init__(self, host: str, code: str, why: str) -> None:
        self.host, self.code = host, code
        super().__init__(
            f"{host} gives no usable answer ({code}): {why}",
            next_step="look at judge.base_url, judge.model and the key, or judge with measured",
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found out; its texts can be shown. `seconds` is how long the first answer took."""

    enforces_form: bool
    sees_in_order: bool
    seconds: float
    model_returned: str | None
    told: str


def probe(backend: Backend, *, deadline_s: float, seed: int = 0) -> Probe:
    """Ask a backend twice: for what the form forbids, and for the colours of two pictures.

    Raises:
        CannotJudge: one of the two has no answer within the deadline.
    """
    begun_s = monotonic()
    words = ["alpha", "beta"]
    first = _sent(backend, "Answer with the single word banana and nothing else.", (), _form(answer=words), deadline_s)
    seconds = monotonic() - begun_s
    form = _object(first)
    one, two = Random(seed).sample(sorted(_COLOURS_BGR), 2)
    asked = 'Image 1 and image 2 each show one colour. Answer with a JSON object: {"first": colour, "second": colour}.'
    pictures = (_plain(1, one), _plain(2, two))
    names = sorted(_COLOURS_BGR)
    second = _sent(backend, asked, pictures, _form(first=names, second=names), deadline_s)
    seen = _object(second)
    return Probe(
        enforces_form=set(form) == {"answer"} and form["answer"] in words,
        sees_in_order=(seen.get("first"), seen.get("second")) == (one, two),
        seconds=seconds,
        model_returned=second.model,
        told=one_line(f"{one}, {two} were shown and {seen.get('first')}, {seen.get('second')} named"),
    )


def _sent(
    backend: Backend, text: str, pictures: tuple[SentPicture, ...], form: dict[str, Any], deadline_s: float
) -> Answer:
    question = Question(Prompt("You answer questions about pictures.", text), pictures, form)

    async def within() -> Answer:
        async with asyncio.timeout(deadline_s):
            return await backend.send(question, max_tokens=PROBE_TOKENS)

    try:
        answer = asyncio.run(within())
    except TimeoutError:
        raise CannotJudge(backend.host, "timeout", f"nothing came within {deadline_s:g} s") from None
    if answer.code is not None:
        raise CannotJudge(backend.host, answer.code, answer.detail)
    return answer


def _object(answer: Answer) -> dict[str, Any]:
    """The object in a text; a free text, which no enforcing server gives, is an empty one."""
    raw = strict_json((answer.text or "").strip().removeprefix("```json").removeprefix("```").removesuffix("```"))
    return {} if isinstance(raw, Unreadable) else raw


def _form(**words: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"enum": allowed} for name, allowed in words.items()},
        "required": list(words),
        "additionalProperties": False,
    }


def _plain(index: int, colour: str) -> SentPicture:
    image = np.full((SIDE_PX, SIDE_PX, 3), _COLOURS_BGR[colour], dtype=np.uint8)
    done, jpeg = cv2.imencode(".jpg", image)
    assert done, "OpenCV encodes any picture of 8 bits"
    return SentPicture(index, "after", jpeg.tobytes(), SIDE_PX, SIDE_PX, sha256_source="")
