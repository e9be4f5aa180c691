"""Settings to a judge: the only place that picks one. What a judge is made of is imported where it is asked for."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from json import dumps
from typing import TYPE_CHECKING

from judges.protocol import Judge
from runner.config import Config
from runner.station import WrongRequest

if TYPE_CHECKING:
    from judges.backend import Backend
    from judges.budget import Budget
    from judges.claude import ModelJudge

ANTHROPIC_URL = "https://api.anthropic.com"
DEFAULT_KEY_VARIABLE = "ANTHROPIC_API_KEY"  # Anthropic's own: never sent to a local server


def judge_of(config: Config) -> Judge:
    """The judge of the settings."""
    if config.judge.kind == "measured":
        from judges.measured import MeasuredJudge

        return MeasuredJudge()
    if config.judge.kind in ("claude", "compatible"):
        return _asked_again(config, model_judge(config))
    if config.judge.kind == "panel":
        return _panel(config)
    if config.judge.kind == "person":
        return _person(config)
    raise WrongRequest(f"there is no judge {config.judge.kind!r} to run with", next_step="set judge.kind = measured")


def judge_key(config: Config) -> str:
    """What tells the judge of these settings from others: not its budget and deadline, which change no answer."""
    settings = config.judge.model_dump(mode="json")
    for name in ("budget_usd", "budget_calls", "deadline_s", "key_variable", "base_url", "reviewer"):
        settings.pop(name, None)
    return dumps(settings, sort_keys=True)


def trial_judge(config: Config) -> Judge:
    """The judge of the settings as a trial asks it: where a model decides, the measurement is on record beside it."""
    judge = judge_of(config)
    if config.judge.kind not in ("claude", "compatible"):
        return judge
    from judges.measured import MeasuredJudge
    from judges.panel import RecordedAlongside

    return RecordedAlongside(judge, MeasuredJudge())


def judging_by(config: Config, kind: str) -> Config:
    """The same settings with another judge."""
    return config.model_copy(update={"judge": config.judge.model_copy(update={"kind": kind})})


def _asked_again(config: Config, judge: Judge) -> Judge:
    """The judge asked as often as the settings say."""
    settings = config.judge
    if settings.repeats == 1:
        return judge
    from judges.panel import RepeatedJudge

    return RepeatedJudge(
        judge, settings.repeats, only_below=settings.repeat_below if settings.repeat_below < 1 else None
    )


def _panel(config: Config) -> Judge:
    """Measurement and model, and a stronger model for what they disagree on; all models share one budget."""
    from judges.budget import Budget
    from judges.measured import MeasuredJudge
    from judges.panel import PanelJudge

    settings = config.judge
    by_model = judging_by(config, settings.panel_model)
    budget = Budget(limit_usd=settings.budget_usd, limit_calls=settings.budget_calls)
    model = _asked_again(config, model_judge(by_model, budget=budget))
    stronger = settings.escalate_model and model_judge(by_model, model=settings.escalate_model, budget=budget)
    return PanelJudge((MeasuredJudge(), model), stronger=stronger or None)


def _person(config: Config) -> Judge:
    """A person at the terminal, and whoever has an answer to be shown afterwards."""
    from judges.person import PersonJudge
    from judges.terminal import TerminalAsker

    settings = config.judge
    machine = judge_of(judging_by(config, settings.second_look)) if settings.second_look else None
    who = settings.reviewer or os.environ.get("USER", "").strip() or "a person"
    return PersonJudge(TerminalAsker(), who=who, machine=machine)


def model_judge(config: Config, *, model: str | None = None, budget: Budget | None = None) -> ModelJudge:
    """The judge that asks a model, by the settings' backend; what it is reached through is loaded in the background.

    Args:
        model: another than the settings'.
        budget: one that several judges share.
    """
    from judges.asking import Policy
    from judges.budget import Budget
    from judges.claude import ModelJudge, ModelSettings

    settings = config.judge
    local = settings.kind == "compatible"
    name = "compatible" if local else "claude"
    asked = model or settings.model
    if not local:
        threading.Thread(target=import_module, args=("judges.client",), name="import", daemon=True).start()
    return ModelJudge(
        name,
        lambda: backend_of(config, model=asked),
        ModelSettings(
            language=settings.language,
            crops=settings.crops,
            policy=Policy(deadline_s=settings.deadline_s, max_tokens=settings.max_tokens),
            threshold=settings.threshold,
        ),
        budget or Budget(limit_usd=settings.budget_usd, limit_calls=settings.budget_calls),
        model=asked,
    )


def backend_of(config: Config, *, model: str | None = None) -> Backend:
    """The way to the settings' model, with the key and address of settings and environment.

    Raises:
        NoKey, BadKey, BadAddress: it can't be reached so.
    """
    from judges.backend import BadAddress, NoKey, key_in

    settings = config.judge
    key = key_in(settings.key_variable)
    if settings.kind == "compatible":
        from judges.compatible import CompatibleBackend

        if not settings.base_url:
            raise BadAddress("", "is empty, and a local server has no address of its own")
        own = None if settings.key_variable == DEFAULT_KEY_VARIABLE else key
        return CompatibleBackend(api_key=own, base_url=settings.base_url, model=model or settings.model)
    if key is None:
        raise NoKey(settings.key_variable)
    from judges.client import AnthropicBackend

    url = address_of(config)
    return AnthropicBackend(api_key=key, base_url=url, model=model or settings.model, effort=settings.effort or None)


def address_of(config: Config) -> str:
    """Where the Messages API is asked: by the settings, else by the environment, else Anthropic's own."""
    return config.judge.base_url or os.environ.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL
