"""Settings to whoever drives: the model where there is a key, else the script. The only place that picks one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from judges.backend import NoKey, checked_url, is_loopback, key_in
from judges.prices import load_prices
from runner.agent.course import Driver
from runner.agent.errors import NoModel, NoPrice
from runner.agent.limits import Meter
from runner.agent.scripted import TASK, drive_by_script
from runner.agent.toolbox import TOOLS
from runner.config import Config
from runner.judging import ANTHROPIC_URL
from runs.schema.agent import AgentBegun


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Who drives, and what the log says of it."""

    driver: Driver
    begun: AgentBegun


def choose(config: Config, task: str | None, meter: Meter, *, wait: Callable[[float], None]) -> Chosen:
    """The driver for a task; None is the standard job.

    Args:
        wait: waits so many seconds, or less where somebody asks to stop.

    Raises:
        NoKey: the task needs a model and there is no key. NoPrice: no budget can be kept for the model.
        BadKey, BadAddress: it can't be reached so.
    """
    settings = config.agent
    standard = task is None or task.strip().rstrip(".").lower() == TASK
    if settings.by == "scripted" and not standard:
        raise NoModel
    key = None if settings.by == "scripted" else key_in(settings.key_variable)
    if key is None:
        if settings.by == "claude" or not standard:
            raise NoKey(settings.key_variable)
        begun = AgentBegun(by="scripted", task=task or TASK, limits=meter.limits, tools=tuple(TOOLS))
        return Chosen(drive_by_script, begun)
    from judges.turns import TurnDoor
    from runner.agent.model_loop import ModelDriver

    url = checked_url(settings.base_url or os.environ.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL)
    prices = load_prices()
    if prices.of(settings.model) is None and not is_loopback(url):
        raise NoPrice(settings.model)
    door = TurnDoor(api_key=key, base_url=url, model=settings.model, effort=settings.effort or None)
    driver = ModelDriver(
        door,
        task or TASK,
        prices=prices,
        max_tokens=settings.max_tokens,
        pictures=settings.pictures,
        wait=wait,
    )
    return Chosen(driver, driver.begun(meter))
