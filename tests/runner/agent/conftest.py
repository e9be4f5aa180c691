"""Sittings in process: driven by a script or by a model that a server on loopback plays, with the truth of the end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from judges.prices import load_prices
from judges.turns import TurnDoor
from runner.agent.cell_view import CellView
from runner.agent.course import Driver, run_sitting
from runner.agent.fence import Fence
from runner.agent.limits import LimitedSwitch, Meter
from runner.agent.model_loop import ModelDriver
from runner.agent.scripted import TASK, drive_by_script
from runner.agent.toolbox import TOOLS
from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.twin.setup import Twin
from runner.twin.world import Truth
from runs.check import check_log
from runs.schema.agent import AgentAnswer, AgentBegun
from runs.schema.run import RunLog
from runs.store import RunStore

QUICK = (
    "arm.speed_percent=80",
    "arm.send_wait_s=0.2",
    "gripper.wait_s=1.3",
    "gripper.pre_release_wait_s=0",
    "camera.captures=1",
    "camera.settle_s=0.3",
)
"""Settings that make a trial short; how it goes is the same."""

_ids = count(1)


class FakeClock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s

    def pass_s(self, seconds: float) -> None:
        self.s += seconds


@dataclass
class Sat:
    """A sitting that has ended."""

    log: RunLog
    truth: Truth
    store: RunStore
    records: list[Any] = field(default_factory=list)

    @property
    def tools(self) -> list[str]:
        return [call.tool for call in self.log.agent.calls]

    @property
    def outcomes(self) -> list[str]:
        return [answer.outcome for answer in self.log.agent.answers]

    def answer(self, tool: str, nth: int = -1) -> AgentAnswer:
        """The answer of the n-th call of a tool."""
        numbers = [call.call for call in self.log.agent.calls if call.tool == tool]
        return next(answer for answer in self.log.agent.answers if answer.call == numbers[nth])

    def check(self) -> None:
        """What holds after every sitting: a valid, complete log that is the one on the disk, and an arm at rest."""
        checked = check_log(self.log.run_id, self.store)
        assert checked.valid, checked.problems
        assert self.store.open(self.log.run_id).log == self.log
        assert self.log.ending.at_rest is True
        assert len(self.log.agent.calls) == len(self.log.agent.answers)
        assert len(self.log.agent.calls) <= self.log.agent.begun.limits.calls


def sit_down(
    cell: Path,
    driver: Driver = drive_by_script,
    *,
    seed: int = 13,
    overrides: Sequence[str] = (),
    dry_run: bool = False,
    now_s: Callable[[], float] | None = None,
    begun: Callable[[Meter], AgentBegun] | None = None,
    on: Callable[[Any, Twin], None] = lambda record, twin: None,
    arrange: Callable[[Twin], None] = lambda twin: None,
    judge: Any = None,
) -> Sat:
    """Play one sitting on the twin.

    Args:
        on: told every record as it is written, with the twin.
        arrange: puts things elsewhere on the twin's desk before.
    """
    from dataclasses import replace

    opened = open_cell(cell, [*QUICK, *overrides])
    meter = Meter(opened.config.agent) if now_s is None else Meter(opened.config.agent, now_s=now_s)
    switch, records = LimitedSwitch(meter), []
    first = begun(meter) if begun else AgentBegun(by="scripted", task=TASK, limits=meter.limits, tools=tuple(TOOLS))
    with build_rig(opened, Request(seed=seed, dry_run=dry_run), switch=switch, progress=lambda _: None) as rig:
        arrange(rig.twin)
        bench = rig.bench if judge is None else replace(rig.bench, judge=judge)

        def observe(record: Any) -> None:
            records.append(record)
            on(record, rig.twin)

        log = run_sitting(bench, CellView(opened), driver, first, meter=meter, switch=switch, observer=observe)
        rig.twin.clock.sleep(1.0)
        return Sat(log, rig.twin.truth(), RunStore(opened.runs_dir), records)


@pytest.fixture
def sit(cell_copy):
    """Plays a sitting in a cell of the test's own: `sit(driver, seed=…)`, see `sit_down`."""

    def sitting(*args: Any, cell: Path = cell_copy, **how: Any) -> Sat:
        return sit_down(cell, *args, **how)

    return sitting


@pytest.fixture(scope="session")
def dry_sat(prepared_cell, tmp_path_factory) -> Callable[..., Sat]:
    """Plays dry sittings, in which nothing moves, one after the other in one cell."""
    folder = tmp_path_factory.mktemp("dry") / "cell"
    shutil.copytree(prepared_cell, folder, ignore=shutil.ignore_patterns("cell.lock*"))

    def sitting(*args: Any, **how: Any) -> Sat:
        return sit_down(folder, *args, dry_run=True, **how)

    return sitting


def use(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call, as a model asks for it."""
    return {"type": "tool_use", "id": f"toolu_{next(_ids)}", "name": name, "input": arguments}


class PlayedModel:
    """A model that a server on loopback plays, turn by turn; what it was told is in `told`."""

    use = staticmethod(use)

    def __init__(self, server: Any) -> None:
        self.server = server
        server.model = "claude-sonnet-5-5"

    def says(self, *blocks: dict[str, Any] | str, **more: Any) -> None:
        """Its next answer: texts and calls."""
        self.server.play(self.step(*blocks, **more))

    def step(self, *blocks: dict[str, Any] | str, **more: Any) -> Any:
        """An answer of it as a step of the server."""
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        calls = any(block.get("type") == "tool_use" for block in content)
        return self.server.reply(content, **{"stop_reason": "tool_use" if calls else "end_turn", **more})

    def always(self, make: Callable[[int], Sequence[dict[str, Any]]], **more: Any) -> None:
        """The same kind of answer for ever; `make` gets the number of the request."""

        def body(seen: Any) -> bytes:
            step = self.step(*make(len(self.server.seen)), **more)
            return step.body(seen)

        self.server.always = self.server.step(body=body, headers={"request-id": "req_1"})

    def driver(self, task: str = "do the job", *, max_tokens: int = 1000, **how: Any) -> ModelDriver:
        """Who drives a sitting by it."""
        door = TurnDoor(api_key="sk-test-0123456789", base_url=self.server.url, model="claude-sonnet-5-5")
        return ModelDriver(
            door, task, prices=load_prices(), max_tokens=max_tokens, fence=Fence("mark"),
            **{"wait": lambda seconds: None, "pictures": False, **how},
        )  # fmt: skip

    def told(self, request: int = -1) -> list[dict[str, Any]]:
        """The tool results that a request brought back, each as its JSON."""
        content = self.server.seen[request].body["messages"][-1]["content"]
        return [
            json.loads(one["content"][0]["text"].splitlines()[1]) for one in content if one["type"] == "tool_result"
        ]


@pytest.fixture
def model(claude_server) -> PlayedModel:
    return PlayedModel(claude_server)
