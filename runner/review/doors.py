"""Who gets in: the machine's own browser, or whoever has the token; never a page of another site.

A request's Host must be ours, so that a name somebody else bends to this machine opens nothing. A page of another site
can send a browser here to look at a page, and that is all: what it would embed, read or change is refused. Whatever
changes something carries a secret that only our own pages know. Every answer forbids scripts other than our files.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.review.errors import NeedsToken

LEAST_TOKEN = 16
"""Characters of a token that nobody guesses."""

TOKEN_HEADER = "x-trialcell-token"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_WILD = ("", "0.0.0.0", "::", "[::]")
_YEAR_S = 365 * 24 * 3600

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""No script but our files. Attributes of style are ours alone (widths of drawings); no text of a log comes into one."""

HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Doors:
    """What opens them. `token` None lets in everyone who can reach the port, which is only for loopback."""

    port: int
    names: tuple[str, ...] | None
    token: str | None
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @classmethod
    def at(cls, host: str, port: int, token: str | None, *, own_names: Iterable[str] = ()) -> Doors:
        """The doors of a server at that address.

        Args:
            own_names: what else this machine is called, where it is served on all its addresses.

        Raises:
            NeedsToken: others could reach it, and there is no token or a short one.
        """
        if token is not None and len(token) < LEAST_TOKEN:
            raise NeedsToken(host or "all addresses", f"its token has less than {LEAST_TOKEN} characters")
        if is_loopback(host):
            own = (host if ":" not in host else f"[{host.strip('[]')}]",)
            return cls(port, tuple(dict.fromkeys((*LOOPBACK_NAMES, *own))), token)
        if token is None:
            raise NeedsToken(host or "all addresses", "it needs a token")
        names = (*LOOPBACK_NAMES, *own_names)
        return cls(port, names if host in _WILD else (*names, host), token)

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token; cookies don't tell ports apart."""
        return f"trialcell_key_{self.port}"

    def knows_host(self, host: str | None) -> bool:
        """Whether a Host header names us, with our port or none. Served with a token, a bare address will do."""
        if not host:
            return False
        name, port = _split_host(host)
        if port is not None and port != self.port:
            return False
        if self.names is None or name in self.names:
            return True
        if self.token is None:
            return False
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


class Guarded:
    """An application behind the doors."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        self._app, self._doors = app, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through, or answer why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = _why_not(scope, self._doors)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (answer or self._app)(scope, receive, send_with_headers)


def _why_not(scope: Scope, doors: Doors) -> Response | None:
    headers = Headers(scope=scope)
    host = headers.get("host")
    if len(headers.getlist("host")) != 1 or not doors.knows_host(host):
        return _refused(403, "this address is not known here; use the one that trialcell review printed")
    why = _from_elsewhere(scope, headers, str(host))
    if why is not None:
        return _refused(403, why)
    if doors.token is not None:
        answer = _without_token(scope, headers, doors)
        if answer is not None:
            return answer
    if scope["method"] in ("GET", "HEAD"):
        return None
    if scope["method"] != "POST":
        return _refused(405, "only looking and saying is possible here")
    if not _same(headers.get(TOKEN_HEADER), doors.secret):
        return _refused(403, "this page is older than the server that answers: load it again")
    if headers.get("content-type", "").split(";")[0].strip() != "application/json":
        return _refused(415, "what is said must be JSON")
    return None


def _from_elsewhere(scope: Scope, headers: Headers, host: str) -> str | None:
    """Why a request that another site's page sent is refused; None where it is our own, or only leads a browser here.

    Source: W3C Fetch Metadata Request Headers; browsers that don't send those send an Origin with whatever changes.
    """
    site = headers.get("sec-fetch-site")
    looks = scope["method"] in ("GET", "HEAD")
    if site in ("cross-site", "same-site"):
        arrives = looks and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if not arrives:
            return "a page of another site asked for this"
    origin = headers.get("origin")
    if origin is not None and not (looks and origin == "null"):
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != host.lower():
            return "a page of another site asked for this"
    return None


def _without_token(scope: Scope, headers: Headers, doors: Doors) -> Response | None:
    """A link with the token puts it into a cookie and leads on to the page without it; else the cookie must have it."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if "token" in query and scope["method"] == "GET":
        if not _same(query["token"][0], doors.token):
            return _refused(401, "that token is not the one of this server")
        rest = urlencode({name: values for name, values in query.items() if name != "token"}, doseq=True)
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), status_code=303)
        answer.set_cookie(doors.cookie, str(doors.token), httponly=True, samesite="strict", path="/", max_age=_YEAR_S)
        return answer
    if _same(cookie_in(headers, doors.cookie), doors.token):
        return None
    return _refused(401, "this page needs the token: open the whole address that trialcell review printed")


def cookie_in(headers: Headers, name: str) -> str | None:
    """A cookie of a request."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _same(given: str | None, wanted: str | None) -> bool:
    return given is not None and wanted is not None and compare_digest(given.encode(), wanted.encode())


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(why + "\n", status_code=status)


def _split_host(host: str) -> tuple[str, int | None]:
    name, colon, port = host.lower().rpartition(":")
    if not colon or host.endswith("]"):
        return host.lower(), None
    return name, int(port) if port.isdigit() and port.isascii() else -1
