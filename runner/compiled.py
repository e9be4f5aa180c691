"""Compiled kernels: machine code where it lies ready, nothing where it does not, and never a wait.

numba takes ten seconds and more to compile what a machine sees for the first time, and a third of a second to import.
So a module of kernels is handed out only if its machine code is in the cache already. If it isn't, a process of its own
compiles it in the background, and the caller goes on in NumPy, which gives the same answers. Every kernel has that twin
in NumPy; nothing may depend on the machine code being there.

A module of kernels imports nothing of ours but `kernel`, other modules of kernels (their names end in `kernels`) and
modules of constants; it decorates each function with its full signature and is listed by nobody: its name is what
`kernels` is asked for. Kernels let go of the interpreter's lock, so that threads share the cores; they don't use
numba's own threads, which can't be called from two threads at a time.

The cache is a folder of the user (`$TRIALCELL_CACHE`, else the system's place for caches). A change of the source, the
interpreter, the library or the processor makes another entry. `$TRIALCELL_COMPILED` is `0` for NumPy only, `wait` to
compile at once in this process, which is what tests and benchmarks want.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import filelock

F = TypeVar("F", bound=Callable[..., Any])

SWITCH = "TRIALCELL_COMPILED"
CACHE = "TRIALCELL_CACHE"
_STAMP = "compiled"
_LIBRARIES = ("numba", "llvmlite", "numpy")


class CodeState(StrEnum):
    """Whether a module's machine code can be had."""

    READY = "ready"
    COMPILING = "compiling"  # another process is at it, or has just been started
    OFF = "off"  # switched off
    MISSING = "missing"  # no compiler, or no place to keep what it makes


@dataclass(frozen=True, slots=True)
class CodeReport:
    """What stands for a module of kernels, and why."""

    state: CodeState
    reason: str


def kernel(signature: str | list[str], **options: Any) -> Callable[[F], F]:
    """Compile the function for `signature` when its module is imported, or take it from the cache.

    Only modules of kernels use this, and only `kernels` imports those.
    """
    from numba import njit

    compiler: Any = njit(signature, cache=True, nogil=True, error_model="numpy", **options)
    return cast(Callable[[F], F], compiler)


def kernels(module: str) -> ModuleType | None:
    """The module with its compiled functions, or None: go on in NumPy.

    Args:
        module: the dotted name of a module of kernels.

    Returns:
        None while its machine code isn't ready. The first such call starts a process that compiles it.
    """
    if module in _given:
        return _given[module]
    wanted = os.environ.get(SWITCH, "")
    if wanted == "wait":
        return _take(module) if compile_now(module) else None
    if code_report(module).state is CodeState.READY:
        return _take(module)
    if code_report(module).state is CodeState.COMPILING and module not in _started:
        _started.add(module)
        _compile_in_background(module)
    return None


def code_report(module: str) -> CodeReport:
    """What `kernels` would do now. Starts nothing."""
    if os.environ.get(SWITCH) == "0":
        return CodeReport(CodeState.OFF, f"{SWITCH} is 0: NumPy only")
    missing = [name for name in _LIBRARIES if _version(name) is None]
    if missing:
        return CodeReport(CodeState.MISSING, f"{missing[0]} is not installed: NumPy only")
    folder = _folder(module)
    if all((_folder(name) / _STAMP).exists() for name in (module, *_below(module))):
        return CodeReport(CodeState.READY, "compiled")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return CodeReport(CodeState.MISSING, f"{folder} can't be written ({error.strerror}): NumPy only")
    if not os.access(folder, os.W_OK):
        return CodeReport(CodeState.MISSING, f"{folder} can't be written: NumPy only")
    return CodeReport(CodeState.COMPILING, "being compiled in the background: NumPy until then")


def compile_now(module: str) -> bool:
    """Compile in this process and wait for it. Only one process does it at a time; the others find it done.

    Returns:
        Whether the machine code is there.
    """
    report = code_report(module)
    if report.state is not CodeState.COMPILING:
        return report.state is CodeState.READY
    for below in _below(module):
        compile_now(below)
    folder = _folder(module)
    with filelock.FileLock(folder / "lock"):
        if not (folder / _STAMP).exists():
            _import(module)
            (folder / _STAMP).touch()
    return True


_given: dict[str, ModuleType] = {}
_started: set[str] = set()


def _take(module: str) -> ModuleType:
    return _given.setdefault(module, _import(module))


def _import(module: str) -> ModuleType:
    """Import with this module's own folder as numba's cache, after those that it builds on with theirs."""
    for below in _below(module):
        _import(below)
    config: Any = importlib.import_module("numba.core.config")
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_folder(module))
    try:
        return importlib.import_module(module)
    finally:
        config.CACHE_DIR = before


def _compile_in_background(module: str) -> None:
    """Start a process that compiles and ends by itself, whatever becomes of this one."""
    code = f"from runner.compiled import compile_now; compile_now({module!r})"
    environment = {k: v for k, v in os.environ.items() if k != SWITCH} | {"PYTHONPATH": os.pathsep.join(sys.path)}
    niced = [] if os.name == "nt" else ["nice", "-n", "10"]
    try:
        subprocess.Popen(
            [*niced, sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment,
        )
    except OSError:  # no process to be had: the next start tries again, and NumPy does until then
        return


def _folder(module: str) -> Path:
    return cache_folder() / "kernels" / f"{module}-{_key(module)}"


def cache_folder() -> Path:
    """Where this user's machine keeps what can be made again."""
    if given := os.environ.get(CACHE):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "trialcell" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "trialcell"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trialcell"


@lru_cache
def _key(module: str) -> str:
    """What the machine code depends on, as twelve hex digits."""
    parts = [
        *(_source(name).read_bytes() for name in (module, *_imported(module))),
        str(_source(module)).encode(),
        platform.python_version().encode(),
        _processor().encode(),
        *(f"{name} {_version(name)}".encode() for name in _LIBRARIES),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


@lru_cache
def _imported(module: str) -> tuple[str, ...]:
    """Our modules that this one imports, and those below them, the lowest first; not this one here."""
    text = _source(module).read_text(encoding="utf-8")
    direct = [name for name in re.findall(r"^from (runner[\w.]*) import", text, re.MULTILINE) if name != __name__]
    return tuple(dict.fromkeys(name for one in direct for name in (*_imported(one), one)))


def _below(module: str) -> list[str]:
    """The modules of kernels that this one builds on."""
    return [name for name in _imported(module) if name.endswith("kernels")]


def _source(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None, f"no module {module}"
    assert found.origin is not None, f"{module} has no source"
    return Path(found.origin)


@lru_cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor and what it can do; a laptop's disk may be moved into another machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = {line.split(":")[0].strip(): line for line in reversed(lines)}
    return " ".join(told.get(key, "") for key in ("model name", "flags", "Features"))
