"""Fixtures that many tests share: the shared folder where it is present, the arm, a server that plays Claude."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runner.compiled import SWITCH
from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, load_arm
from runs.events import RUN_FILE
from runs.files import mark_changed
from runs.schema.agent import AgentBegun, AgentLimits, AgentLog

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault(SWITCH, "wait")  # compiled kernels are there in every test that doesn't ask for NumPy


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real pictures and logs beside the checkout; tests that need it are skipped where it is not."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("skipped: the folder of real pictures and logs is not beside this checkout")
    return folder


@pytest.fixture
def field_log() -> Path:
    """One real run of the field system, which stands beside the repository and not in it."""
    path = ROOT.parent / "shared" / "data" / "field_run_0001.json"
    if not path.exists():
        pytest.skip("the field log is not there")
    return path


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    """The generator of synthetic runs that ships under benchmarks/."""
    spec = spec_from_file_location("make_runs", ROOT / "benchmarks" / "make_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def by_agent() -> Callable[[Path], None]:
    """Makes the run in a folder an agent's: its log says the same, and that an agent sat at the arm."""

    def become(folder: Path) -> None:
        limits = AgentLimits(time_s=60, budget_usd=1, turns=5, calls=5, motions=5, picks=1)
        begun = AgentBegun(by="claude", task="put it into the box", limits=limits, tools=("pick",))
        log = json.loads((folder / RUN_FILE).read_bytes())
        log["agent"] = AgentLog(begun=begun).model_dump(mode="json")
        (folder / RUN_FILE).write_text(json.dumps(log), encoding="utf-8")
        mark_changed(folder)

    return become


@pytest.fixture(scope="session")
def config() -> Config:
    return Config()


@pytest.fixture(scope="session")
def arm(config: Config) -> ArmModel:
    """The mechArm with the tool of the default cell."""
    return load_arm(config.arm.model).with_tool(tcp_mm=config.arm.tcp_mm, roll_deg=config.arm.tool_roll_deg)


@pytest.fixture(scope="session")
def base(config: Config) -> BaseInCell:
    return BaseInCell.at(config.arm.base_shift_m, config.arm.base_yaw_deg)


@dataclass(frozen=True)
class Seen:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def images(self) -> list[str]:
        """Base64 of the pictures, in order; of either kind of server."""
        content = self.body["messages"][-1]["content"]
        ours = [block["source"]["data"] for block in content if block["type"] == "image"]
        return ours or [block["image_url"]["url"].split(",")[1] for block in content if block["type"] == "image_url"]

    @property
    def schema(self) -> dict[str, Any]:
        """The form of reply that was asked for, of either kind of server."""
        if "output_config" in self.body:
            return self.body["output_config"]["format"]["schema"]
        return self.body["response_format"]["json_schema"]["schema"]


@dataclass(frozen=True)
class Step:
    """What the server does with one request. `body` may be made from the request.

    `drip_s` is waited between two bytes, `silent_s` before anything is said; `cut_at` closes the connection after so
    many bytes of the body, `reset` at once and hard; `endless` says the body again and again.
    """

    status: int = 200
    body: bytes | Callable[[Seen], bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)
    drip_s: float = 0.0
    silent_s: float = 0.0
    cut_at: int | None = None
    reset: bool = False
    endless: bool = False


class ClaudeServer:
    """Speaks the Messages API and chat completions from a script, on loopback. `seen` holds every request.

    Steps are played in order, then `always` for ever. Without steps it answers with a reply that fits the request's own
    form, with `verdict`.
    """

    step = Step

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.seen: list[Seen] = []
        self.verdict = "no"
        self.always: Step | None = None
        self.model = "claude-haiku-5-5"
        self._over = threading.Event()
        self._turn = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server._serve(self)

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                """Be quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()

    def play(self, *steps: Step) -> None:
        """Do these next, one a request."""
        self.steps += steps

    def fitting(self, verdict: str, /, **changes: Any) -> Callable[[Seen], dict[str, Any]]:
        """A reply of nine fields for the request, consistent with the verdict, with changes."""

        def make(seen: Seen) -> dict[str, Any]:
            ids = seen.schema["properties"]["criteria"]["items"]["properties"]["id"]["enum"]
            picking = "between_fingers" in ids
            met = {"yes": "yes", "no": "no", "unsure": "unclear"}[verdict]
            there = "in_gripper" if picking else "inside"
            where = {"yes": there, "no": "outside", "unsure": "not_visible"}[verdict]
            last = len(seen.images)
            reply = {
                "image_quality": {"usable": True, "issues": ["none"]},
                "observations": [{"image_index": n, "text": f"what picture {n} shows"} for n in range(1, last + 1)],
                "target_location": where,
                "released": "no" if picking else "yes",
                "criteria": [{"id": each, "met": met, "image_index": last} for each in ids],
                "evidence_against": "",
                "verdict": verdict,
                "confidence": 0.9,
                "reason": f"the pictures say {verdict}",
            }
            return {**reply, **changes}

        return make

    def message(self, content: Any = None, *, stop_reason: Any = "end_turn", **more: Any) -> Callable[[Seen], bytes]:
        """The body of a message. `content` is a text, blocks, or made from the request; by default it fits."""

        def make(seen: Seen) -> bytes:
            told = self.fitting(self.verdict) if content is None else content
            told = told(seen) if callable(told) else told
            text = json.dumps(told, ensure_ascii=False) if isinstance(told, dict) else told
            if seen.path.endswith("/chat/completions"):
                return json.dumps(_completion(self.model, text, stop_reason, more)).encode()
            blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
            usage = {"input_tokens": 3000, "output_tokens": 400, "service_tier": "standard"}
            whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": blocks}
            whole |= {"stop_reason": stop_reason, "stop_sequence": None, "usage": usage}
            return json.dumps({**whole, **more}, ensure_ascii=False).encode()

        return make

    def reply(self, content: Any = None, **more: Any) -> Step:
        """A step that answers with a message."""
        return Step(body=self.message(content, **more), headers={"request-id": "req_1"})

    def error(self, status: int, kind: str = "api_error", *, code: str | None = None, **headers: str) -> Step:
        """A step that answers with an API error."""
        fault: dict[str, Any] = {"type": kind, "message": f"injected {status}"}
        if code is not None:
            fault["details"] = {"error_code": code}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps({"type": "error", "error": fault, "request_id": "req_2"}).encode()
        return Step(status, body, {"request-id": "req_2", **named})

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length", 0))
        seen = Seen(
            handler.command,
            handler.path,
            {k.lower(): v for k, v in handler.headers.items()},
            handler.rfile.read(length),
        )
        with self._turn:
            self.seen.append(seen)
            step = self.steps.pop(0) if self.steps else self.always or self.reply()
        if step.silent_s:
            self._over.wait(step.silent_s)
        if step.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        body = step.body(seen) if callable(step.body) else step.body
        try:
            self._write(handler, step, body)
        except OSError:
            handler.close_connection = True

    def _write(self, handler: BaseHTTPRequestHandler, step: Step, body: bytes) -> None:
        handler.send_response(step.status)
        for name, value in {"content-type": "application/json", **step.headers}.items():
            handler.send_header(name, value)
        if step.status != 204 and not step.endless:
            handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        while step.endless and not self._over.is_set():
            handler.wfile.write(body)
        sent = body if step.cut_at is None else body[: step.cut_at]
        if step.drip_s:
            for at in range(len(sent)):
                handler.wfile.write(sent[at : at + 1])
                if self._over.wait(step.drip_s):
                    return
        else:
            handler.wfile.write(sent)
        handler.close_connection = handler.close_connection or step.cut_at is not None


def _completion(model: str, text: Any, stop_reason: Any, more: dict[str, Any]) -> dict[str, Any]:
    stop = {"end_turn": "stop", "max_tokens": "length"}.get(stop_reason, stop_reason)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": stop}
    usage = {"prompt_tokens": 3000, "completion_tokens": 400, "total_tokens": 3400}
    return {"id": "chat_1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage, **more}


@pytest.fixture
def make_server() -> Iterator[Callable[[], ClaudeServer]]:
    """Makes servers on loopback that play Claude."""
    made: list[ClaudeServer] = []

    def make() -> ClaudeServer:
        made.append(ClaudeServer())
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def claude_server(make_server, monkeypatch) -> ClaudeServer:
    """A server that plays Claude (or a chat-completions server) on loopback, with the environment pointing at it.

    Loading the SDK takes seconds and counts in a judgement's deadline, so it is loaded before.
    """
    import_module("judges.client")
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE", "ANTHROPIC_LOG"):
        monkeypatch.delenv(name, raising=False)
    server = make_server()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    return server
