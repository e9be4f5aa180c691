"""The offer in the words of MCP: the one module that imports the `mcp` package.

Two doors: stdio and HTTP on an address. Calls are done on threads, so that a move of the arm keeps no other client
waiting for its answer. HTTP lets in who names this machine in its Host header and, where there is a token, has it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from judges.backend import clean
from runner.agent.serving.offer import INSTRUCTIONS, RESOURCES, RUN_TEMPLATE, Offer, base64_of
from runner.review.doors import Doors
from runner.review.server import ReadyServer, bound_socket
from runs.errors import TrialcellError

PATH = "/mcp"
_MOST_BODY_BYTES = 256 * 1024


def server_of(offer: Offer, *, version: str) -> Server[Any]:
    """A server of the offer, ready to be run over a transport."""

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.about,
                    input_schema=tool.input_schema,
                    output_schema=tool.output_schema,
                    annotations=types.ToolAnnotations(read_only_hint=not tool.moves, open_world_hint=tool.moves),
                )
                for tool in offer.tools()
            ]
        )

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        told = partial(offer.call, _client(ctx), params.name, params.arguments or {})
        answered = await anyio.to_thread.run_sync(told, abandon_on_cancel=True)
        content: list[Any] = [types.TextContent(text=json.dumps(answered.answer, ensure_ascii=False))]
        for label, jpeg in answered.pictures.items():
            content.append(types.TextContent(text=f"picture {label}: data, as the camera saw it"))
            content.append(types.ImageContent(data=base64_of(jpeg), mime_type="image/jpeg"))
        return types.CallToolResult(content=content, structured_content=answered.answer, is_error=not answered.done)

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=each.uri, name=each.name, description=each.about, mime_type=each.mime)
                for each in RESOURCES
            ]
        )

    async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
        told = types.ResourceTemplate(
            uri_template=RUN_TEMPLATE,
            name="run",
            description="the log of a run that has ended",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[told])

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            found = await anyio.to_thread.run_sync(offer.read, uri, abandon_on_cancel=True)
        except TrialcellError as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        part: Any
        if found.data is not None:
            part = types.BlobResourceContents(uri=uri, mime_type=found.mime, blob=base64_of(found.data))
        else:
            part = types.TextResourceContents(uri=uri, mime_type=found.mime, text=found.text or "")
        return types.ReadResourceResult(contents=[part])

    return Server(
        "trialcell",
        version=version,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def serve_stdio(offer: Offer, *, version: str, close: Callable[[], None]) -> None:
    """Over standard input and output, until the client closes them or dies, or a signal asks to end.

    What waits for the next line of standard input can't be called off. So a signal closes on a thread of its own and
    then ends the process, whether the client keeps its end open or not.

    Args:
        close: brings the arm to rest and completes the log; may be called more than once.
    """
    server = server_of(offer, version=version)
    asked = threading.Event()

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    def end() -> None:
        try:
            close()
        except Exception:  # noqa: BLE001 - told; nobody is left to take it
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def on_signal(_: int, __: object) -> None:
        if not asked.is_set():
            asked.set()
            threading.Thread(target=end, name="ending").start()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)
    try:
        anyio.run(serve)
    finally:
        close()


class HttpDoor:
    """Streamable HTTP at an address. Making one opens the port; `run` serves."""

    def __init__(self, offer: Offer, *, host: str, port: int, token: str | None, version: str) -> None:
        """Open the port.

        Raises:
            NeedsToken: that address can be reached from elsewhere, and there is no token or a short one.
            AddressTaken: the port can't be had.
        """
        Doors.at(host, port, token)  # refused before anything is opened
        self._socket = bound_socket(host, port)
        self.port = int(self._socket.getsockname()[1])
        own = [] if token is None else [socket.gethostname().lower(), socket.getfqdn().lower()]
        self._doors = Doors.at(host, self.port, token, own_names=[name for name in own if name])
        shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
        self.url = f"http://{shown}:{self.port}{PATH}"
        self._server = server_of(offer, version=version)
        self._uvicorn: ReadyServer | None = None

    def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`, Ctrl-C or SIGTERM.

        uvicorn raises a signal that ended it once more, so it must not be one that kills. After that signals are of no
        more use: the arm is on its way to rest.
        """
        on_main = threading.current_thread() is threading.main_thread()
        if on_main:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        inner = self._server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=_MOST_BODY_BYTES,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `_Guarded` does it
        )
        config = uvicorn.Config(
            _Guarded(inner, self._doors), ws="none", lifespan="on", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=3, proxy_headers=False,
        )  # fmt: skip
        self._uvicorn = ReadyServer(config, on_ready)
        try:
            with suppress(KeyboardInterrupt):
                asyncio.run(self._uvicorn.serve(sockets=[self._socket]))
        finally:
            if on_main:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
            self._socket.close()

    def stop(self) -> None:
        """End it, from any thread."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True


class _Guarded:
    """Lets in who names us, is no page of another site and, where there is a token, carries it."""

    def __init__(self, inner: ASGIApp, doors: Doors) -> None:
        self._inner, self._doors = inner, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            if not self._doors.knows_host(headers.get("host")):
                await PlainTextResponse("this server has another name", 421)(scope, receive, send)
                return
            origin = headers.get("origin")
            if origin is not None and not self._doors.knows_host(urlsplit(origin).netloc):
                await PlainTextResponse("a page of another site", 403)(scope, receive, send)
                return
            if self._doors.token is not None and not _has(headers.get("authorization", ""), self._doors.token):
                refusal = PlainTextResponse("a token is needed", 401, {"www-authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._inner(scope, receive, send)


def _has(authorization: str, token: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and compare_digest(given.strip().encode(), token.encode())


def _client(ctx: Any) -> str:
    """What the client says of itself; nobody has checked it."""
    params = ctx.session.client_params
    info = None if params is None else params.client_info
    return "a client" if info is None else str(clean(f"{info.name} {info.version}"))[:80]
