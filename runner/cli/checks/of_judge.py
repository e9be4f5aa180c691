"""Whether the judge can be asked: its server reached, or, where that may cost something, asked two small questions."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from runner.cell import Cell
from runner.cli.checks.light import Finding, green, red

_REACHED_S = 3.0


def judge(opened: Cell, *, ask: bool) -> Iterator[Finding]:
    """Of the settings' judge; `ask` puts two questions to a model."""
    from runner.judging import backend_of, judging_by

    config = opened.config
    kind = config.judge.panel_model if config.judge.kind == "panel" else config.judge.kind
    if kind not in ("claude", "compatible"):
        yield green("judge", f"{kind}: asks no server")
        return
    backend = backend_of(judging_by(config, kind))
    if not ask:
        yield _reached(backend.kind, _address_of(opened, kind))
        return
    from judges.probe import CannotJudge, probe

    found = probe(backend, deadline_s=config.judge.deadline_s)
    if not found.sees_in_order:
        raise CannotJudge(backend.host, "pictures", f"it does not tell two pictures apart: {found.told}")
    form = (
        "holds replies to their form" if found.enforces_form else "does not hold replies to their form (checked here)"
    )
    model = found.model_returned or backend.model
    told = f"{backend.kind} at {backend.host}: {model} answers in {found.seconds:.1f} s, sees pictures in order, {form}"
    yield green("judge", told)


def _address_of(opened: Cell, kind: str) -> str:
    from runner.judging import address_of

    return opened.config.judge.base_url if kind == "compatible" else address_of(opened.config)


def _reached(kind: str, url: str) -> Finding:
    """Whether somebody listens there. Nothing is said to them, so it costs nothing and proves no more."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((host, port), timeout=_REACHED_S):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        step = "look at the network and at judge.base_url, or judge with measured"
        return red("judge", f"{kind} at {host}:{port} is not reached: {why}", step, exit_code=6)
    return green("judge", f"{kind} at {host}:{port} is reached, and a key is there", "ask it: trialcell doctor --judge")
