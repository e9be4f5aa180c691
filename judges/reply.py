"""A model's text to a verdict or an error code, never to a guess.

The reply is one strict JSON object of nine fields. What is not exactly that has no verdict; what contradicts itself, or
was judged on pictures that can't be judged, is unsure. Only fields of the form are read: whatever the texts in them say
changes nothing.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runs.schema.verdict import JudgedStage, Word

REPLY_VERSION = 1

Issue = Literal["blur", "dark", "occluded", "out_of_frame", "wrong_scene", "none"]
Location = Literal["inside", "partly_inside", "on_rim", "outside", "in_gripper", "not_visible"]
Tri = Literal["yes", "no", "unclear"]
ReplyCode = Literal["malformed", "schema"]
DoubtCode = Literal["inconsistent", "image_unusable", "low_confidence"]

MAX_DEPTH = 50  # of one thing in another; a reply has 3
MAX_DIGITS = 18  # of a whole number

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n```\s*\Z", re.DOTALL)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class ImageQuality(_Part):
    """Whether the pictures can be judged at all."""

    usable: bool
    issues: tuple[Issue, ...]


class Observation(_Part):
    """What one picture shows."""

    image_index: int = Field(ge=1)
    text: str


class Criterion(_Part):
    """One criterion of the rubric, and the picture that shows it best."""

    id: str
    met: Tri
    image_index: int = Field(ge=1)


class Reply(_Part):
    """The nine fields, in the order in which they are asked for: evidence first, then the verdict."""

    image_quality: ImageQuality
    observations: tuple[Observation, ...]
    target_location: Location
    released: Tri
    criteria: tuple[Criterion, ...]
    evidence_against: str
    verdict: Word
    confidence: float = Field(ge=0, le=1)
    reason: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A text that is no reply: the code and a sentence on what is wrong."""

    code: ReplyCode
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply and the word that it comes to. `doubt` says why a yes or no became unsure."""

    reply: Reply
    word: Word
    reason: str
    doubt: DoubtCode | None = None


def reply_schema(criteria: tuple[str, ...]) -> dict[str, Any]:
    """The form of reply as JSON Schema, in what structured output supports: all required, all closed, no limits.

    The service does not enforce limits of numbers and lengths; `read_reply` does.
    """
    met = {"enum": list(get_args(Tri))}
    picture = {"type": "integer", "description": "number of the picture, counted from 1"}
    return _closed(
        image_quality=_closed(
            usable={"type": "boolean"}, issues={"type": "array", "items": {"enum": list(get_args(Issue))}}
        ),
        observations={"type": "array", "items": _closed(image_index=picture, text={"type": "string"})},
        target_location={"enum": list(get_args(Location))},
        released=met,
        criteria={"type": "array", "items": _closed(id={"enum": list(criteria)}, met=met, image_index=picture)},
        evidence_against={"type": "string"},
        verdict={"enum": list(get_args(Word))},
        confidence={"type": "number", "description": "from 0 to 1"},
        reason={"type": "string"},
    )


def schema_hash(schema: dict[str, Any]) -> str:
    """Hash of a form of reply."""
    return sha256(json.dumps(schema, ensure_ascii=False).encode()).hexdigest()


def read_reply(
    text: str,
    *,
    stage: JudgedStage,
    criteria: tuple[str, ...],
    n_images: int,
    threshold: float = 0.0,
    allow_fence: bool = False,
) -> Reading | Unreadable:
    """What a model's text comes to.

    Args:
        criteria: the rubric's ids; each must be there once.
        n_images: pictures that were sent; a reply that speaks of another is none.
        threshold: a yes or no less sure than this becomes unsure.
        allow_fence: take the text out of one ```json fence, as servers give it that don't enforce the form.
    """
    fence = _FENCE.match(text) if allow_fence else None
    raw = strict_json(text if fence is None else fence.group(1))
    if isinstance(raw, Unreadable):
        return raw
    try:
        reply = Reply.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        return Unreadable("schema", f"{'.'.join(str(p) for p in first['loc']) or 'reply'}: {first['msg']}")
    wrong = _does_not_fit(reply, criteria, n_images)
    if wrong is not None:
        return Unreadable("schema", wrong)
    return _weighed(reply, stage, threshold)


def strict_json(text: str) -> dict[str, Any] | Unreadable:
    """One JSON object and nothing else: no key twice, no NaN, no endless number or nesting, no fence, no prose."""
    try:
        raw = json.loads(
            text,
            object_pairs_hook=_no_key_twice,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_of_few_digits,
        )
    except ValueError as error:
        return Unreadable("malformed", f"the reply is not strict JSON: {error}")
    except RecursionError:
        return Unreadable("malformed", "the reply is not strict JSON: nested too deeply")
    if _is_deep(raw):
        return Unreadable("malformed", f"the reply is nested more than {MAX_DEPTH} deep")
    if not isinstance(raw, dict):
        return Unreadable("schema", "the reply is JSON but no object")
    return raw


def one_line(text: str) -> str:
    """A foreign text as one printable line: no line breaks, no control signs that a terminal would obey."""
    return "".join(sign if sign.isprintable() else "�" for sign in " ".join(text.split()))


def _does_not_fit(reply: Reply, criteria: tuple[str, ...], n_images: int) -> str | None:
    """What is wrong with a reply of the right form, against this rubric and these pictures."""
    named = [criterion.id for criterion in reply.criteria]
    if sorted(named) != sorted(criteria):
        return f"criteria: expected each of {', '.join(criteria)} once, got {', '.join(named) or 'none'}"
    indices = [seen.image_index for seen in reply.observations] + [met.image_index for met in reply.criteria]
    beyond = next((index for index in indices if index > n_images), None)
    if beyond is not None:
        return f"image_index: there is no image {beyond}, only {n_images}"
    if not reply.reason.strip():
        return "reason: there is none"
    return None


def _weighed(reply: Reply, stage: JudgedStage, threshold: float) -> Reading:
    """The word that stands after the checks; they only ever turn a yes or no into unsure."""
    told = one_line(reply.reason)
    if not reply.image_quality.usable:
        issues = ", ".join(reply.image_quality.issues) or "no issue named"
        return Reading(reply, "unsure", f"the pictures can't be judged ({issues}): {told}", "image_unusable")
    against = _contradiction(reply, stage)
    if against is not None:
        return Reading(
            reply,
            "unsure",
            f"the reply contradicts itself ({reply.verdict}, but {against}): {told}",
            "inconsistent",
        )
    if reply.verdict != "unsure" and reply.confidence < threshold:
        why = f"{reply.verdict} with confidence {reply.confidence:g}, below {threshold:g}: {told}"
        return Reading(reply, "unsure", why, "low_confidence")
    return Reading(reply, reply.verdict, told)


def _contradiction(reply: Reply, stage: JudgedStage) -> str | None:
    """What in the reply speaks against its own verdict, None where nothing does."""
    issues = set(reply.image_quality.issues)
    if "none" in issues and len(issues) > 1:
        return f"the picture issues are none and {', '.join(sorted(issues - {'none'}))}"
    good_place, good_released = ("inside", {"yes"}) if stage == "place" else ("in_gripper", {"no", "unclear"})
    unmet = [criterion for criterion in reply.criteria if criterion.met != "yes"]
    if reply.verdict == "yes":
        if "wrong_scene" in issues:
            return "the scene is a wrong one"
        if reply.target_location != good_place:
            return f"the object is {reply.target_location}"
        if reply.released not in good_released:
            return f"released is {reply.released}"
        if unmet:
            return f"{unmet[0].id} is {unmet[0].met}"
    all_good = reply.target_location == good_place and reply.released in good_released and not unmet
    if reply.verdict == "no" and all_good:
        return "everything is met"
    return None


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands there twice")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _of_few_digits(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a whole number has more than {MAX_DIGITS} digits")
    return int(text)


def _is_deep(raw: Any) -> bool:
    """Whether something lies deeper in it than `MAX_DEPTH`; looked at level by level, so that depth costs no stack."""
    level = [raw]
    for _ in range(MAX_DEPTH):
        held = [part for part in level if isinstance(part, dict | list)]
        if not held:
            return False
        level = [item for part in held for item in (part.values() if isinstance(part, dict) else part)]
    return any(isinstance(part, dict | list) for part in level)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value
