"""What the tests of the review page share: cells of synthetic runs with pictures, a real server on loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from runner.review.server import ReviewServer
from runs.index.questions import ManyRuns
from runs.index.select import Selection

LABELS = ("detect_1", "detect_2", "detect_3", "stage4_pick_tip", "pick", "place_pre", "place")


@pytest.fixture(scope="session")
def made_once(generator, tmp_path_factory) -> Path:
    """A cell of 60 synthetic runs with two small pictures each. Not to be written to."""
    cell = tmp_path_factory.mktemp("review") / "bench"
    generator.make_runs(cell / "runs", 60)
    coded = {name: _picture(name, level) for name, level in (("before", 150), ("after", 110))}
    for name, data in coded.items():
        (cell / f"{name}.jpg").write_bytes(data)
    for folder in (cell / "runs").glob("run_*"):
        made: dict[str, Path] = {}
        for label in LABELS:
            which = "after" if label in ("pick", "place") else "before"
            names = [f"{folder.name}_{label}.jpg", *([f"{label}.jpg"] if label.startswith("detect") else [])]
            for path in (folder / name for name in names):
                if which in made:
                    os.link(made[which], path)
                else:
                    path.write_bytes(coded[which])
                    made[which] = path
    return cell


def _picture(name: str, level: int) -> bytes:
    image = np.full((360, 640, 3), level, dtype=np.uint8)
    cv2.rectangle(image, (300, 120), (360, 180), (40, 40, 210), -1)
    cv2.putText(image, name, (20, 340), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (20, 20, 20), 2)
    return bytes(cv2.imencode(".jpg", image)[1].tobytes())


def _picture_linked(source: str, target: str) -> object:
    return os.link(source, target) if source.endswith(".jpg") else shutil.copy2(source, target)


@pytest.fixture
def bench(made_once, tmp_path) -> Path:
    """A cell with 60 runs of the test's own."""
    return Path(shutil.copytree(made_once, tmp_path / "bench", copy_function=_picture_linked))


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def object(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server of a cell on loopback, and a plain client of it that keeps its cookies."""

    cell: Path
    server: ReviewServer
    secret: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return self.server.address.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """One request; names of headers with _ for -, and an empty value leaves one out."""
        given = {"Host": f"127.0.0.1:{self.port}"} | {name.replace("_", "-"): v for name, v in headers.items()}
        if self.cookies and "cookie" not in {name.lower() for name in given}:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            got = connection.getresponse()
            answer = Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()
        return answer

    def open(self) -> Served:
        """What a browser does first: load the page, keep its cookie and its secret."""
        page = self.ask("/")
        assert page.status == 200, page.text
        found = re.search(r'name="trialcell-token" content="([^"]+)"', page.text)
        assert found is not None
        self.secret = found[1]
        self.cookies |= dict([page.headers["set-cookie"].split(";")[0].split("=", 1)])
        return self

    def say(self, path: str, what: Any, **headers: str) -> Answer:
        """Something said, as our own page says it."""
        given = {"Content_Type": "application/json", "X_Trialcell_Token": self.secret} | headers
        body = what if isinstance(what, bytes) else json.dumps(what).encode()
        return self.ask(path, method="POST", body=body, **given)

    def queue(self, share: float) -> list[tuple[str, str]]:
        """Run and step of the queue as `runs queue` has it."""
        with ManyRuns([self.cell]) as many:
            many.refresh()
            return [(each["run_id"], each["stage"]) for each in many.queue(Selection(), share=share)[0]]

    def rulings(self, run_id: str) -> list[dict[str, Any]]:
        """The lines of a run's rulings."""
        path = self.cell / "runs" / run_id / "rulings.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def all_rulings(self) -> list[dict[str, Any]]:
        """Every line of every run's rulings, with the run's name."""
        names = sorted(path.name for path in (self.cell / "runs").glob("run_*"))
        return [{"run_id": name, **line} for name in names for line in self.rulings(name)]


def _started(stack: ExitStack, cell: Path, **settings: Any) -> Served:
    server = ReviewServer([cell], port=0, version="test", **settings)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    stack.callback(thread.join, 15)
    stack.callback(server.stop)
    assert ready.wait(20)
    return Served(cell, server)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serve a cell: `serve(cell, share=…, host=…, token=…)`; it ends with the test."""
    with ExitStack() as stack:
        yield lambda cell, **settings: _started(stack, cell, **settings)


@pytest.fixture
def review(serve, bench) -> Served:
    """The 60 runs served, every step in the queue, opened by a browser."""
    return serve(bench, share=1.0).open()


@pytest.fixture(scope="module")
def standing(made_once) -> Iterator[Served]:
    """The same for all tests of a module, of a cell that nothing may be written to."""
    with ExitStack() as stack:
        yield _started(stack, made_once, share=1.0).open()
