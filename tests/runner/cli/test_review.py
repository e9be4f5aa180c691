"""`trialcell review`: serves until it is told to end, and refuses what it can't do in one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_it_serves_and_ends_at_ctrl_c(cell):
    command = [sys.executable, "-c", "from runner.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "review", "--cell", str(cell), "--port", "0", "--json"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["url"] == f"http://127.0.0.1:{told['port']}/"
        with urllib.request.urlopen(told["url"], timeout=20) as page:
            assert b"Queue" in page.read()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--host", "0.0.0.0"], 2, "needs a token"),
        (["--host", "0.0.0.0", "--token", "short"], 2, "less than 16 characters"),
        (["--cell", "nowhere"], 2, "nowhere"),
        (["--port", "70000"], 2, "less than or equal to 65535"),
        (["--share", "2"], 2, "less than or equal to 1"),
        (["--host", "192.0.2.1", "--token", "a-token-that-is-long"], 5, "can't serve at 192.0.2.1"),
    ],
)
def test_what_it_cant_do_is_said(trialcell, cell, arguments, code, said):
    told = trialcell("review", "--no-browser", *(["--cell", cell] if "--cell" not in arguments else []), *arguments)
    assert told.code == code, told.err
    assert said in told.err
    assert "Traceback" not in told.err


def test_a_slip_is_taken_back_at_the_terminal_too(trialcell, cell):
    told = trialcell("runs", "rule", "1", "--stage", "place", "--take-back", "--by", "Maya", "--cell", cell)
    assert told.code == 2
    assert "has said nothing to take back" in told.err
