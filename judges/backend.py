"""The contract between a judge and the door through which it reaches a model: one question in, one answer out.

A backend sends once and never retries, never follows a redirect, never raises for what a server does: everything that
came back is in the answer, with a code where it is no finished text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from math import isfinite
from os import environ
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from judges.errors import JudgeError
from judges.pictures import SentPicture
from judges.reply import one_line
from judges.rubric import Language, Prompt

AnswerCode = Literal[
    "timeout",
    "rate_limited",
    "spend_limit",
    "overloaded",
    "server_error",
    "auth",
    "bad_request",
    "image_too_large",
    "redirect",
    "refusal",
    "truncated",
    "malformed",
    "unexpected_stop",
    "stream_cut",
    "connection",
]

STATUS_CODES: dict[int, AnswerCode] = {
    401: "auth",
    402: "spend_limit",
    403: "auth",
    408: "timeout",
    409: "overloaded",
    413: "image_too_large",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
AGAIN_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
SPEND_LIMITS = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
LOOPBACK = frozenset({"::1", "localhost"})
MAX_TOLD_CHARS = 500  # kept of each thing that a server says beside the text
MAX_TOLD_PARTS = 100
MAX_TOLD_DEPTH = 60
SHOWN_OF_KEY = 6  # a key's first signs are the same in all

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What reading foreign data raises where it is not as it should be."""


class BadAddress(JudgeError):
    """A base URL that can't be one."""

    def __init__(self, url: str, why: str) -> None:
        self.url = url
        super().__init__(f"judge.base_url {url!r} {why}", next_step="give it as http://HOST:PORT, without a path")


class NoKey(JudgeError):
    """There is no key to ask with."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        super().__init__(
            f"there is no key in the environment variable {variable}",
            next_step=f"set {variable} (a local server takes any text), or name another in judge.key_variable",
        )


class BadKey(JudgeError):
    """A key that can't be one. It is not shown."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        super().__init__(
            f"what {variable} holds can't be a key", next_step="it has signs that no key has: copy it anew"
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: system text, the prompt with its pictures, and the form that the reply must have."""

    prompt: Prompt
    pictures: tuple[SentPicture, ...]
    schema: dict[str, Any]
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `code` None: a text that the model finished by itself; nothing else may become a verdict.

    `again` says whether asking once more can help, `billed` whether it may have cost something. All but `text` is fit
    to be written down and shown: `clean` has been over it.
    """

    code: AnswerCode | None
    detail: str
    text: str | None = None
    again: bool = False
    billed: bool | None = None
    http_status: int | None = None
    error_type: str | None = None
    retry_after_s: float | None = None
    model: str | None = None
    request_id: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Clean what a server gave, wherever an answer is made."""
        for each in fields(self):
            if each.name != "text":
                object.__setattr__(self, each.name, clean(getattr(self, each.name)))

    def without(self, key: str) -> Answer:
        """The same with the key blotted out: a server may send it back in a message, and it goes no further."""
        return Answer(**{each.name: blotted(getattr(self, each.name), key) for each in fields(self)})


class Backend(Protocol):
    """One way to a model. It keeps its key to itself."""

    @property
    def kind(self) -> str:
        """How the audit calls it."""

    @property
    def host(self) -> str:
        """Host and port it talks to, without the rest of the address."""

    @property
    def model(self) -> str:
        """The model it asks for."""

    @property
    def effort(self) -> str | None:
        """How hard the model is asked to think; None where nothing is said about it."""

    @property
    def sdk(self) -> str | None:
        """The library it talks through, with its version."""

    @property
    def api_version(self) -> str | None:
        """The version of the interface it asks for."""

    @property
    def allow_fence(self) -> bool:
        """Whether a reply may come in a code fence, because the server enforces no form."""

    async def send(self, question: Question, *, max_tokens: int) -> Answer:
        """Ask once."""


def checked_url(url: str) -> str:
    """A base URL without a trailing slash or `/v1`, which the backends add themselves.

    Raises:
        BadAddress: it is none, or holds a user's name, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadAddress(url, f"can't be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadAddress(url, "is no address of a server")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise BadAddress(f"{parts.scheme}://{parts.hostname}", "must hold neither a name, a query nor a fragment")
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def key_in(variable: str) -> str | None:
    """The key in an environment variable, without blanks round it; None where there is none.

    Raises:
        BadKey: it holds what no header can.
    """
    key = environ.get(variable, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise BadKey(variable)
    return key or None


def host_of(url: str) -> str:
    """Host and port of a URL."""
    return urlsplit(url).netloc


def is_loopback(url: str) -> bool:
    """Whether it is this machine."""
    host = urlsplit(url).hostname or ""
    return host in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def status_code(status: int, *, error_type: str | None = None, error_code: str | None = None) -> AnswerCode:
    """The code of an HTTP status that is no success."""
    if error_code in SPEND_LIMITS:
        return "spend_limit"
    if error_code == "image_dimensions_too_large":
        return "image_too_large"
    if 300 <= status < 400:
        return "redirect"
    if status in STATUS_CODES:
        return STATUS_CODES[status]
    if error_type == "overloaded_error":
        return "overloaded"
    return "server_error" if status >= 500 else "bad_request"


def retry_after_s(headers: Any) -> float | None:
    """How long a server wants us to wait, seconds; None where it says nothing usable."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def blotted(value: Any, key: str) -> Any:
    """Plain JSON with the key blotted out of every text in it."""
    if isinstance(value, str):
        return _without_its_start(value.replace(key, "[key]"), key)
    if isinstance(value, dict):
        return {blotted(k, key): blotted(v, key) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [blotted(item, key) for item in value]
    return value


def _without_its_start(text: str, key: str) -> str:
    """A text that was cut in the middle of the key ends before it."""
    for size in range(len(key) - 1, SHOWN_OF_KEY, -1):
        if text.endswith(key[:size]):
            return f"{text[:-size]}[key]"
    return text


def clean(value: Any, depth: int = 0) -> Any:
    """What a server sent, fit to be written down and shown: plain JSON of bounded size, texts in one printable line."""
    if isinstance(value, str):
        return one_line(value[:MAX_TOLD_CHARS])
    if isinstance(value, dict | list | tuple) and depth >= MAX_TOLD_DEPTH:
        return None
    if isinstance(value, dict):
        parts = list(value.items())[:MAX_TOLD_PARTS]
        return {clean(str(key)): clean(item, depth + 1) for key, item in parts}
    if isinstance(value, list | tuple):
        return [clean(item, depth + 1) for item in value[:MAX_TOLD_PARTS]]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else clean(str(value))


def as_text(text: str, most_chars: int) -> str:
    """What a model wrote, as it is, cut, and fit for a file: no lone surrogates."""
    return text[:most_chars].encode("utf-8", "replace").decode("utf-8")
