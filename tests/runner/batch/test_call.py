"""A person is called in every way that the settings name; a way that fails is written down and stops nothing."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from runner.batch.call import call_person
from runner.config import BadSetting, Config, with_overrides
from runner.settings.batch import BatchSettings
from runs.batches import BatchStore


@pytest.fixture
def batch(tmp_path, planned):
    return BatchStore(tmp_path / "cell").create(planned(2))


@pytest.fixture
def web():
    """An address that keeps what is posted to it."""
    posted: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Be quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/call", posted
    server.shutdown()
    server.server_close()


def test_a_command_and_an_address_are_told_with_picture_and_suggestion(batch, tmp_path, web):
    url, posted = web
    code = f"import sys, pathlib; pathlib.Path({str(tmp_path / 'told')!r}).write_text(sys.argv[1])"
    settings = BatchSettings(call_command=(sys.executable, "-c", code), call_url=url, call_desktop=False)
    called = call_person(
        batch, settings, start=1, why="the block is gone", suggestion="put it back", picture=tmp_path / "a.jpg"
    )
    assert called.told_by == ("command", "web")
    told = (tmp_path / "told").read_text()
    assert "the block is gone" in told
    assert "put it back" in told
    assert "a.jpg" in told
    assert posted[0]["suggestion"] == "put it back"
    assert batch.events() == [called]


def test_ways_that_fail_are_written_down(batch):
    settings = BatchSettings(call_command=("/no/such/program",), call_url="http://127.0.0.1:9/none", call_desktop=False)
    called = call_person(batch, settings, start=None, why="a", suggestion="b", picture=None)
    assert called.told_by == ()
    assert [each.split(":")[0] for each in called.not_told] == ["command", "web"]
    assert batch.events() == [called]


def test_an_address_is_a_web_address():
    with pytest.raises(BadSetting, match="http"):
        with_overrides(Config(), ["batch.call_url=file:///etc/passwd"])
