"""What was decided: verdicts with their reasons, the audit of each, and a person's rulings over them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from runs.schema.base import Record

Word = Literal["yes", "no", "unsure"]
JudgedStage = Literal["pick", "place"]


class JudgeAudit(Record):
    """Where a verdict came from: enough to ask again and to hold the judge to account."""

    judge: str
    model: str | None = None
    prompt_hash: str | None = None
    image_hashes: tuple[str, ...] = ()
    request_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    raw: str | None = None
    measurements: dict[str, Any] = Field(default_factory=dict)


class Verdict(Record):
    """A judge's answer. `verdict` None means that there is none, and `error` says why; it is never read as yes."""

    stage: JudgedStage
    verdict: Word | None
    confidence: float | None = Field(default=None, ge=0, le=1)
    reason: str
    error: str | None = None
    audit: JudgeAudit
    attempt: int = 1
    at: str | None = None


class Ruling(Record):
    """A person's word on a stage: stands over every judge's, which stays on record."""

    stage: JudgedStage
    verdict: Word
    by: str
    at: str
    reason: str = ""
    blind: bool = False


class Judgment(Record):
    """The field log's summary of the verdict that stood at the end of a stage."""

    verdict: Word | None
    confidence: float | None
    reason: str
    model: str | None
    raw: str | None = None
    image: str | None = None
    vlm_verdict: Word | None = None
    human_verdict: Word | None = None
    dist_override: bool | None = None
    error: str | None = None
