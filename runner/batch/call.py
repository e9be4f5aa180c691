"""Calls a person, once for each thing that only a person can do: desktop, a command, an address on the net.

A way of telling that does not work is written down and stops nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

from runner.settings.batch import BatchSettings
from runs.batch_records import Called
from runs.batches import BatchFolder
from runs.events import utc_text

_PATIENCE_S = 10.0


def call_person(
    batch: BatchFolder, settings: BatchSettings, *, start: int | None, why: str, suggestion: str, picture: Path | None
) -> Called:
    """Tell a person in every way that the settings name, and write it down.

    Args:
        start: the planned start that it is about.
        picture: what the camera saw, if anything.
    """
    told: list[str] = []
    not_told: list[str] = []
    for name, tell in _ways(settings, f"{batch.batch_id}: {why}", suggestion, picture):
        try:
            tell()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            not_told.append(f"{name}: {error}")
        else:
            told.append(name)
    called = Called(
        at=utc_text(),
        start=start,
        why=why,
        suggestion=suggestion,
        picture=None if picture is None else str(picture),
        told_by=tuple(told),
        not_told=tuple(not_told),
    )
    batch.add(called)
    return called


def _ways(
    settings: BatchSettings, why: str, suggestion: str, picture: Path | None
) -> list[tuple[str, Callable[[], object]]]:
    ways: list[tuple[str, Callable[[], object]]] = []
    seen = "" if picture is None else f"\n{picture}"
    notify = shutil.which("notify-send") if settings.call_desktop else None
    if notify is not None:
        ways.append(("desktop", lambda: _run([notify, "--urgency=critical", why, suggestion + seen])))
    if settings.call_command:
        ways.append(("command", lambda: _run([*settings.call_command, f"{why}\n{suggestion}{seen}"])))
    if settings.call_url:
        body = {"why": why, "suggestion": suggestion, "picture": None if picture is None else str(picture)}
        ways.append(("web", lambda: _post(settings.call_url, body)))
    return ways


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=_PATIENCE_S, capture_output=True)


def _post(url: str, body: dict[str, str | None]) -> None:
    request = urllib.request.Request(
        url, data=json.dumps(body).encode(), headers={"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as reply:
        reply.read()
