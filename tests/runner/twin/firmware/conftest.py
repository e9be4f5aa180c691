"""A firmware with a twin's arm under it, in process and in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from runner.arms.wire import WireFrame, angles_from_wire, angles_to_wire
from runner.config import Config
from runner.twin.firmware.commands import Commands, Kind
from runner.twin.firmware.controller import Controller
from runner.twin.setup import Twin, build_twin

HOME = [0.0, 0.0, 0.0, 0.0, 0.0, -30.0]


@dataclass
class Bench:
    """What a test of the firmware works with."""

    twin: Twin
    controller: Controller
    commands: Commands

    def ask(self, command: int, payload: bytes = b"") -> bytes | None:
        """The answer's payload, None for silence."""
        answer = self.commands.handle(WireFrame(command, payload))
        assert answer is None or answer.command == command
        return None if answer is None else answer.payload

    def send(self, angles: list[float], speed: int = 60) -> bytes | None:
        return self.ask(0x22, angles_to_wire(angles) + bytes([speed]))

    @property
    def angles(self) -> np.ndarray:
        payload = self.ask(0x20)
        assert payload is not None
        return np.array(angles_from_wire(payload))

    def run(self, seconds: float) -> None:
        """Let time pass as the server does."""
        for _ in range(round(seconds / 0.02)):
            self.twin.world.advance(0.02)
            self.controller.tick()


@pytest.fixture(scope="module")
def _twin() -> Iterator[Twin]:
    twin = build_twin(Config(), seed=3)
    yield twin
    twin.close()


@pytest.fixture
def bench(_twin) -> Callable[..., Bench]:
    def make(kind: Kind = "new") -> Bench:
        _twin.reset(3)
        controller = Controller(_twin.arm)
        return Bench(_twin, controller, Commands(controller, kind))

    return make
