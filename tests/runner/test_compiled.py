"""Machine code is handed out where it lies ready, made in the background where it doesn't, and never waited for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner import compiled
from runner.compiled import CACHE, SWITCH, CodeState, code_report, compile_now, kernels

SOURCE = """
from runner.compiled import kernel

@kernel("float64(float64[::1])")
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s
"""
ASK = """
import sys
from runner.compiled import code_report, kernels
got = kernels("tiny_kernels")
print("numba" in sys.modules, code_report("tiny_kernels").state.value, None if got is None else got.__name__)
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of kernels that this machine has never seen, with a cache of its own."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    compiled._key.cache_clear()
    path = tmp_path / "tiny_kernels.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def ask() -> list[str]:
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_first_call_gives_none_and_the_code_is_there_soon(tiny):
    assert ask() == ["False", "compiling", "None"]
    until = time.monotonic() + 120
    while code_report("tiny_kernels").state is not CodeState.READY:
        assert time.monotonic() < until, "nobody compiled it"
        time.sleep(0.1)
    assert ask() == ["True", "ready", "tiny_kernels"]
    tiny.write_text(SOURCE + "\n", encoding="utf-8")
    compiled._key.cache_clear()
    assert code_report("tiny_kernels").state is CodeState.COMPILING


def test_compiled_now_it_answers(tiny):
    assert compile_now("tiny_kernels")
    code = "import numpy as np; from runner.compiled import kernels; print(kernels('tiny_kernels').total(np.ones(3)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3.0"


def test_switched_off_it_is_numpy(tiny, monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    assert kernels("tiny_kernels") is None
    assert code_report("tiny_kernels").state is CodeState.OFF


def test_without_a_place_for_the_cache_it_is_numpy(tiny, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    assert kernels("tiny_kernels") is None
    report = code_report("tiny_kernels")
    assert report.state is CodeState.MISSING
    assert "NumPy" in report.reason


def test_without_the_compiler_it_is_numpy(tiny, monkeypatch):
    monkeypatch.setattr(compiled, "_version", lambda name: None if name == "numba" else "1")
    assert kernels("tiny_kernels") is None
    assert code_report("tiny_kernels").reason.startswith("numba is not installed")


def test_kernels_that_build_on_others_are_compiled_after_them_and_anew_when_those_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(SWITCH, "wait")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "runner_numbers.py").write_text("TWO = 2.0\n", encoding="utf-8")
    below, above = tmp_path / "runner_low_kernels.py", tmp_path / "runner_high_kernels.py"
    kernel_of = 'from runner.compiled import kernel\n{}\n\n@kernel("f8(f8)")\ndef {}(x):\n    return {}\n'
    below.write_text(kernel_of.format("from runner_numbers import TWO", "doubled", "TWO * x"), encoding="utf-8")
    above.write_text(
        kernel_of.format("from runner_low_kernels import doubled", "more", "doubled(x) + 1.0"), encoding="utf-8"
    )
    for cached in (compiled._key, compiled._imported):
        cached.cache_clear()
    code = kernels("runner_high_kernels")
    assert code is not None
    assert code.more(3.0) == 7.0
    assert code_report("runner_low_kernels").state is CodeState.READY
    (tmp_path / "runner_numbers.py").write_text("TWO = 2.5\n", encoding="utf-8")
    for cached in (compiled._key, compiled._imported):
        cached.cache_clear()
    assert code_report("runner_high_kernels").state is CodeState.COMPILING
