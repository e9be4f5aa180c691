"""The judge that asks a model: prepares pictures and question, asks through a backend, and answers for it in the audit.

Claude and local servers differ only in their backend. What is not a clean, consistent reply is unsure or no verdict at
all; there is no way here from an error to a yes. The pictures are kept exactly as sent before they are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from judges.asking import Asked, Policy, ask_model
from judges.backend import Backend, BadKey, NoKey, Question
from judges.budget import Budget
from judges.errors import JudgeError
from judges.opening import OpenBackend, Opening
from judges.pictures import SentPicture, prepare, reordered, sent_again
from judges.prices import Prices, count, load_prices
from judges.protocol import Evidence
from judges.reply import Reading, Unreadable, read_reply, reply_schema, schema_hash
from judges.rubric import Language, Prompt, Rubric, load_rubric, render
from runs.schema.verdict import JudgeAudit, SentImage, Verdict


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is asked. `threshold`: a yes or no less sure than this is unsure."""

    language: Language = "en"
    crops: bool = True
    policy: Policy = field(default_factory=lambda: Policy(deadline_s=60.0, max_tokens=4000))
    threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question ready to be asked, with what its audit says of it."""

    rubric: Rubric
    question: Question

    @property
    def prompt(self) -> Prompt:
        """What the model reads."""
        return self.question.prompt


def prepare_question(evidence: Evidence, *, language: Language, crops: bool) -> Prepared:
    """The question that this evidence puts, in the form in which it is sent; a repeat has other order and words.

    Its pictures are those that were sent before, where there are any, else those of the evidence.

    Raises:
        BadEvidence: there is no picture from after the step.
    """
    rubric = load_rubric(evidence.stage, language)
    made = sent_again(evidence.sent) if evidence.sent else prepare(evidence, crops=crops)
    pictures = reordered(made, evidence.repeat)
    prompt = render(rubric, pictures, evidence.settings, wording=evidence.repeat)
    return Prepared(rubric, Question(prompt, pictures, reply_schema(rubric.criteria), language))


class ModelJudge:
    """Puts pictures before a vision-language model. `open_backend` is called at the first question, then kept."""

    def __init__(
        self,
        name: str,
        open_backend: OpenBackend,
        settings: ModelSettings,
        budget: Budget,
        *,
        model: str,
        prices: Prices | None = None,
    ) -> None:
        self.name, self.settings, self.budget, self.model = name, settings, budget, model
        self.prices = load_prices() if prices is None else prices
        self._opening = Opening(open_backend)

    def judge(self, evidence: Evidence) -> Verdict:
        """A verdict, or none with its code in `error`; the audit holds every request.

        Raises:
            BadEvidence: there is no picture from after the step.
            StorageUnwritable: the pictures can't be kept, so they are not sent.
        """
        begun_s = monotonic()
        prepared = prepare_question(evidence, language=self.settings.language, crops=self.settings.crops)
        return self._judged(evidence, prepared, begun_s)

    def judge_prepared(self, evidence: Evidence, prepared: Prepared) -> Verdict:
        """The same for a question that is ready."""
        return self._judged(evidence, prepared, monotonic())

    def _judged(self, evidence: Evidence, prepared: Prepared, begun_s: float) -> Verdict:
        """The deadline counts from `begun_s`, so that it holds with all that is loaded and kept before asking."""
        policy = self.settings.policy
        audit = self._audit_of(prepared)
        try:
            backend = self._opening.until(begun_s + policy.deadline_s, evidence.given_up)
        except JudgeError as error:
            code = "auth" if isinstance(error, NoKey | BadKey) else "bad_request"
            return _verdict(evidence, None, str(error), code, audit, begun_s)
        if backend is None:
            code, why = _not_open(evidence, policy.deadline_s)
            return _verdict(evidence, None, why, code, audit, begun_s)
        audit = self.audit_before(evidence, prepared, backend)
        asked = ask_model(
            backend,
            prepared.question,
            policy,
            begun_s=begun_s,
            budget=self.budget,
            prices=self.prices,
            read=lambda text: self._read(text, prepared, backend),
            given_up=evidence.given_up,
        )
        return answered(evidence, asked, audit, begun_s)

    def audit_before(self, evidence: Evidence, prepared: Prepared, backend: Backend) -> JudgeAudit:
        """All that the audit knows before anything is sent; the pictures are kept then, if the evidence keeps them.

        Raises:
            StorageUnwritable: the pictures can't be kept.
        """
        audit = _told_by(backend, self._audit_of(prepared))
        images = tuple(_kept(evidence, picture) for picture in prepared.question.pictures)
        return audit.model_copy(update={"images": images})

    def _read(self, text: str, prepared: Prepared, backend: Backend) -> Reading | Unreadable:
        return read_reply(
            text,
            stage=prepared.rubric.stage,
            criteria=prepared.rubric.criteria,
            n_images=len(prepared.question.pictures),
            threshold=self.settings.threshold,
            allow_fence=backend.allow_fence,
        )

    def _audit_of(self, prepared: Prepared) -> JudgeAudit:
        return JudgeAudit(
            judge=self.name,
            model=self.model,
            prompt_hash=prepared.prompt.sha256,
            image_hashes=tuple(picture.sha256_sent for picture in prepared.question.pictures),
            language=prepared.rubric.language,
            template_id=prepared.rubric.template_id,
            template_hash=prepared.rubric.template_hash,
            schema_hash=schema_hash(prepared.question.schema),
            threshold=self.settings.threshold,
            crops=self.settings.crops,
            max_tokens=self.settings.policy.max_tokens,
            system=prepared.prompt.system,
            prompt=prepared.prompt.text,
            price_table=self.prices.version,
        )


def answered(evidence: Evidence, asked: Asked, audit: JudgeAudit, begun_s: float) -> Verdict:
    """What was asked, as a verdict with its audit."""
    last = asked.attempts[-1] if asked.attempts else None
    usage = {} if last is None or last.usage is None else last.usage
    audit = audit.model_copy(
        update={
            "model": audit.model if last is None else last.model_returned or audit.model,
            "request_id": None if last is None else last.request_id,
            "input_tokens": count(usage, "input_tokens"),
            "output_tokens": count(usage, "output_tokens"),
            "cost_usd": _sum([attempt.cost_usd for attempt in asked.attempts]),
            "raw": None if last is None else last.raw,
            "attempts": tuple(asked.attempts),
            "reply": None if asked.reading is None else asked.reading.reply.model_dump(mode="json"),
        }
    )
    reading = asked.reading
    if reading is None:
        return _verdict(evidence, None, f"no verdict: {asked.why}", asked.code, audit, begun_s)
    verdict = _verdict(evidence, reading, reading.reason, reading.doubt, audit, begun_s)
    assert verdict.verdict != "yes" or reading.reply.verdict == "yes", "a yes is the model's own"
    return verdict


def _verdict(
    evidence: Evidence, reading: Reading | None, reason: str, code: str | None, audit: JudgeAudit, begun_s: float
) -> Verdict:
    return Verdict(
        stage=evidence.stage,
        verdict=None if reading is None else reading.word,
        confidence=None if reading is None else reading.reply.confidence,
        reason=reason,
        error=code,
        audit=audit.model_copy(update={"seconds": monotonic() - begun_s}),
        attempt=evidence.attempt,
    )


def _told_by(backend: Backend, audit: JudgeAudit) -> JudgeAudit:
    return audit.model_copy(
        update={
            "backend": backend.kind,
            "host": backend.host,
            "sdk": backend.sdk,
            "api_version": backend.api_version,
            "effort": backend.effort,
        }
    )


def _kept(evidence: Evidence, picture: SentPicture) -> SentImage:
    """The picture's line in the audit, once its bytes are where the evidence keeps them."""
    attempt = f"_a{evidence.attempt}" if evidence.attempt > 1 else ""
    label = f"{evidence.stage}_sent_{picture.index}{attempt}"
    sha256 = picture.sha256_sent
    where = next((kept.record.image for kept in evidence.sent if kept.record.sha256_sent == sha256), None)
    if where is None and evidence.keep is not None:
        where = evidence.keep(label, picture.jpeg, picture.width_px, picture.height_px)
    return picture.record(where)


def _not_open(evidence: Evidence, deadline_s: float) -> tuple[str, str]:
    if evidence.given_up is not None and evidence.given_up():
        return "stopped", "a person asked to stop while the judge was made ready"
    return "timeout", f"what the judge is reached through was not loaded within {deadline_s:g} s; nothing was sent"


def _sum(costs: Sequence[float | None]) -> float | None:
    """What all of them cost; None where it is not known of one: a part is no sum."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
