"""What was decided: verdicts with their reasons, the audit of each, and a person's rulings over them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from runs.schema.base import Record

Word = Literal["yes", "no", "unsure"]
JudgedStage = Literal["pick", "place"]


class SentImage(Record):
    """A picture as a model got it: its place in the order, its part, and what its bytes hash to.

    `image` says where those very bytes are kept, as in `Capture`; None where nobody kept them. `sha256_source` is the
    hash of the file it was made from, else of its pixels. `crop_of` is the index of the picture that it shows a part
    of, `crop_px` that part: left, top, width, height.
    """

    index: int
    role: Literal["before", "during", "after"]
    sha256_sent: str
    sha256_source: str
    width_px: int
    height_px: int
    n_bytes: int
    crop_of: int | None = None
    crop_px: tuple[int, int, int, int] | None = None
    image: str | None = None


class JudgeAttempt(Record):
    """One request to a model and what came of it. `gate` is "passed", or the code of what kept it from a verdict.

    What a server does not say is None, never 0. `raw` is the text that the model wrote, whatever it was.
    """

    attempt: int
    gate: str
    detail: str
    model_requested: str
    model_returned: str | None = None
    max_tokens: int
    started_at: str
    seconds: float
    http_status: int | None = None
    error_type: str | None = None
    retry_after_s: float | None = None
    request_id: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    raw: str | None = None


class JudgeAudit(Record):
    """Where a verdict came from: enough to ask again and to hold the judge to account.

    For a model: `prompt` is what it read beside the pictures, `prompt_hash` its hash with the system text,
    `template_hash` that of the rubric's texts alone, `schema_hash` that of the form of reply that was asked for.
    `attempts` holds every request, `cost_usd` is what is known to have been billed. A yes or no less sure than
    `threshold` was made unsure; `crops` says whether closer looks were to be sent. `repeats` is how often a judge was
    to be asked about a step, where that is more than once, `repeat_below` the confidence below which it was asked
    again.
    """

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
    backend: str | None = None
    host: str | None = None
    sdk: str | None = None
    api_version: str | None = None
    language: str | None = None
    template_id: str | None = None
    template_hash: str | None = None
    schema_hash: str | None = None
    system: str | None = None
    prompt: str | None = None
    effort: str | None = None
    threshold: float | None = None
    crops: bool | None = None
    max_tokens: int | None = None
    repeats: int | None = None
    repeat_below: float | None = None
    geometry_in_prompt: bool = False
    price_table: str | None = None
    images: tuple[SentImage, ...] = ()
    attempts: tuple[JudgeAttempt, ...] = ()
    reply: dict[str, Any] | None = None


class Verdict(Record):
    """A judge's answer. `verdict` None means that there is none, and `error` says why; it is never read as yes.

    `members` are the answers that this one was made from, where it was: of a panel, of repeats, of a person who was
    shown a machine's answer. `alongside` are answers that were had for the record only: they have no part in the word.
    """

    stage: JudgedStage
    verdict: Word | None
    confidence: float | None = Field(default=None, ge=0, le=1)
    reason: str
    error: str | None = None
    audit: JudgeAudit
    attempt: int = 1
    at: str | None = None
    members: tuple[Verdict, ...] = ()
    alongside: tuple[Verdict, ...] = ()


class Ruling(Record):
    """A person's word on a stage: stands over every judge's, which stays on record.

    With `takes_back` it is no new word: that person's last one on the stage no longer counts, and what stood before it
    stands again. Both stay on record; `verdict` says once more which word is taken back.
    """

    stage: JudgedStage
    verdict: Word
    by: str
    at: str
    reason: str = ""
    blind: bool = False
    takes_back: bool = False


class Rejudged(Record):
    """A later verdict on a step of a finished run. It is added to the record and replaces nothing.

    `id` is the same for the same question (run, step, attempt, judge, model, prompt, repeat), so that asking twice is
    seen; `batch` names the message batch that it came by.
    """

    id: str
    at: str
    verdict: Verdict
    batch: str | None = None
    supersedes: None = None


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
