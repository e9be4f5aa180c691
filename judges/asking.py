"""Asks a model until it has answered, within a deadline of our own: the loop that every backend shares.

One deadline counts for everything: connecting, waiting, retrying. `retry-after` is honoured only inside it. At most
three tries, for what may pass by itself; a cut-off or garbled text gets one more with room for more. Each try has its
record, also one that the deadline tore off, and one whose answer nobody could read.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

from judges.backend import UNREADABLE, Answer, Backend, Question, as_text, clean
from judges.budget import Budget
from judges.prices import Prices
from judges.reply import Reading, Unreadable
from runs.events import utc_text
from runs.schema.verdict import JudgeAttempt

TRIES = 3
BACK_OFF_S = 0.5
LARGER = 2  # times max_tokens, after a text that was cut off or garbled
MOST_TOKENS = 20_000  # beyond 21,333 the SDK wants a stream
TEXT_TOKENS_PER_CHAR = 1.0  # an upper bound: Japanese has about one token a character, English a quarter
SCHEMA_TOKENS = 1_000
RAW_CHARS = 20_000  # kept of what a model wrote
GRACE_S = 1.0  # for a thread to come home after the deadline; a hanging name server can keep it longer
POLL_S = 0.05
PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Policy:
    """How long and how much. `deadline_s` is the whole judgement's."""

    deadline_s: float
    max_tokens: int
    tries: int = TRIES


@dataclass(slots=True)
class Asked:
    """How it went so far. `reading` is set only by a reply that passed every check of form."""

    attempts: list[JudgeAttempt] = field(default_factory=list)
    reading: Reading | None = None
    code: str = "timeout"
    why: str = "nothing came within the deadline"


Read = Callable[[str], Reading | Unreadable]


def ask_model(
    backend: Backend,
    question: Question,
    policy: Policy,
    *,
    budget: Budget,
    prices: Prices,
    read: Read,
    begun_s: float | None = None,
    given_up: Callable[[], bool] | None = None,
) -> Asked:
    """Ask, and come back within the deadline, whatever the server does. It counts from `begun_s`, now by default.

    It runs on a thread of its own, so that Ctrl-C and a caller's own event loop are left in peace.
    """
    over_s = (monotonic() if begun_s is None else begun_s) + policy.deadline_s
    talk = _Talk(backend, question, policy, budget, prices, read, over_s)
    thread = threading.Thread(target=talk.run, name="judge", daemon=True)
    thread.start()
    while not talk.over.wait(POLL_S):
        if given_up is not None and given_up():
            talk.cancel("stopped", "a person asked to stop while the judge was waited for")
            talk.over.wait(GRACE_S)
            break
        if monotonic() > over_s + GRACE_S:
            talk.cancel("timeout", f"nothing came within {policy.deadline_s:g} s")
            break
    return talk.result()


class _Talk:
    """One judgement's requests. Everything that is known is in `asked` at any moment."""

    def __init__(
        self,
        backend: Backend,
        question: Question,
        policy: Policy,
        budget: Budget,
        prices: Prices,
        read: Read,
        over_s: float,
    ) -> None:
        self._over_s = over_s
        self._backend, self._question, self._policy = backend, question, policy
        self._budget, self._prices, self._read = budget, prices, read
        self._asked = Asked()
        self._turn = threading.Lock()
        self._given: tuple[str, str] | None = None
        self._open: _Open | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._crash: BaseException | None = None
        self.over = threading.Event()

    def run(self) -> None:
        """The thread's work."""
        try:
            asyncio.run(self._within_deadline())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            self._crash = error
        finally:
            self.over.set()

    def cancel(self, code: str, why: str) -> None:
        """Stop waiting; the open try is written down as this."""
        with self._turn:
            self._given = (code, why)
            self._tear_off(code, why)
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just closed
                self._loop.call_soon_threadsafe(self._task.cancel)

    def result(self) -> Asked:
        """How it went; a fault of our own in the thread is raised here."""
        if self._crash is not None:
            raise self._crash
        with self._turn:
            return self._asked

    async def _within_deadline(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            async with asyncio.timeout(max(0.0, self._over_s - monotonic())):
                await self._ask()
        except TimeoutError:
            with self._turn:
                self._tear_off("timeout", f"nothing came within {self._policy.deadline_s:g} s")

    async def _ask(self) -> None:
        max_tokens = self._policy.max_tokens
        garbled = False
        for attempt in range(1, self._policy.tries + 1):
            if self._given is not None:
                return
            most_usd = self._most_usd(max_tokens)
            over = self._budget.take(most_usd)
            if over is not None:
                self._end("budget", over)
                return
            self._open = _Open(attempt, max_tokens, most_usd, utc_text(), monotonic())
            answer, read = await self._answer(max_tokens)
            if not self._written(answer, read) or isinstance(read, Reading):
                return
            wait_s = answer.retry_after_s
            if isinstance(read, Unreadable) or answer.code in ("truncated", "malformed"):
                if garbled:
                    return
                garbled, wait_s, max_tokens = True, 0.0, min(max_tokens * LARGER, max(MOST_TOKENS, max_tokens))
            elif not answer.again:
                return
            elif wait_s is None:
                wait_s = BACK_OFF_S * 2 ** (attempt - 1)
            if attempt == self._policy.tries or monotonic() + wait_s >= self._over_s:
                return
            await asyncio.sleep(wait_s)

    async def _answer(self, max_tokens: int) -> tuple[Answer, Reading | Unreadable | None]:
        """One answer and what it says. Whatever is wrong with what came is a garbled answer, never a crash."""
        answer = None
        try:
            answer = await self._backend.send(self._question, max_tokens=max_tokens)
            read = self._read(answer.text) if answer.code is None and answer.text is not None else None
        except UNREADABLE as error:
            why = f"the answer can't be read: {type(error).__name__}: {error}"
            return Answer("malformed", why) if answer is None else replace(answer, code="malformed", detail=why), None
        return answer, read

    def _written(self, answer: Answer, read: Reading | Unreadable | None) -> bool:
        """Write a try down that came to its end; False where the caller has already given up on it."""
        with self._turn:
            opened, self._open = self._open, None
            if opened is None or self._given is not None:
                return False
            cost = self._cost(answer)
            self._budget.settle(opened.most_usd, cost)
            gate: str
            detail: str
            if isinstance(read, Reading):
                self._asked.reading = read
                gate, detail = read.doubt or PASSED, read.reply.verdict
            elif isinstance(read, Unreadable):
                gate, detail = read.code, read.why
            else:
                gate, detail = answer.code or "malformed", answer.detail
            self._asked.code, self._asked.why = gate, clean(detail)
            self._asked.attempts.append(self._record(opened, answer, gate, detail, cost))
            return True

    def _end(self, code: str, why: str) -> None:
        with self._turn:
            self._asked.code, self._asked.why = code, why

    def _tear_off(self, code: str, why: str) -> None:
        """The deadline or a person ended it; a try in flight has its record all the same."""
        opened, self._open = self._open, None
        if opened is not None:
            lost = Answer(code=None, detail=why)
            self._asked.attempts.append(self._record(opened, lost, code, why, None))
        if self._asked.reading is None and (opened is not None or self._given is not None):
            self._asked.code, self._asked.why = code, why

    def _record(self, opened: _Open, answer: Answer, gate: str, detail: str, cost: float | None) -> JudgeAttempt:
        return attempt_of(
            answer,
            attempt=opened.attempt,
            gate=gate,
            detail=detail,
            model_requested=self._backend.model,
            max_tokens=opened.max_tokens,
            started_at=opened.started_at,
            seconds=monotonic() - opened.begun_s,
            cost_usd=cost,
        )

    def _most_usd(self, max_tokens: int) -> float | None:
        prompt = self._question.prompt
        text = (len(prompt.system) + len(prompt.text)) * TEXT_TOKENS_PER_CHAR
        pictures = sum(picture.tokens for picture in self._question.pictures)
        return self._prices.most_usd(self._backend.model, round(text) + pictures + SCHEMA_TOKENS, max_tokens)

    def _cost(self, answer: Answer) -> float | None:
        return cost_of(answer, self._backend.model, self._prices)


def cost_of(answer: Answer, model: str, prices: Prices, *, batch: bool = False) -> float | None:
    """What an answer cost, USD; None where nobody knows."""
    if answer.usage is not None:
        return prices.cost_usd(answer.model or model, answer.usage, batch=batch)
    return 0.0 if answer.billed is False else None


def attempt_of(
    answer: Answer,
    *,
    attempt: int,
    gate: str,
    detail: str,
    model_requested: str,
    max_tokens: int,
    started_at: str,
    seconds: float,
    cost_usd: float | None,
) -> JudgeAttempt:
    """The record of one request: what was asked for, and all that the answer says."""
    return JudgeAttempt(
        attempt=attempt,
        gate=gate,
        detail=clean(detail),
        model_requested=model_requested,
        model_returned=answer.model,
        max_tokens=max_tokens,
        started_at=started_at,
        seconds=seconds,
        http_status=answer.http_status,
        error_type=answer.error_type,
        retry_after_s=answer.retry_after_s,
        request_id=answer.request_id,
        message_id=answer.message_id,
        stop_reason=answer.stop_reason,
        stop_details=answer.stop_details,
        usage=answer.usage,
        cost_usd=cost_usd,
        raw=None if answer.text is None else as_text(answer.text, RAW_CHARS),
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """A try in flight."""

    attempt: int
    max_tokens: int
    most_usd: float | None
    started_at: str
    begun_s: float
