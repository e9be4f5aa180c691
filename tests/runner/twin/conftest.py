"""A twin for a module's tests: building it is quick, its first picture is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from runner.config import Config, with_overrides
from runner.twin.setup import Twin, build_twin


@pytest.fixture(scope="module")
def perfect_twin() -> Iterator[Twin]:
    """A twin of the perfect profile; reset it before use."""
    twin = build_twin(Config(), seed=1)
    yield twin
    twin.close()


@pytest.fixture(scope="module")
def field_twin() -> Iterator[Twin]:
    """A twin of the field profile; reset it before use."""
    twin = build_twin(with_overrides(Config(), ['twin.profile="field"']), seed=1)
    yield twin
    twin.close()


@pytest.fixture
def wait_still() -> Callable[[Twin], None]:
    """Let time pass until the encoders have stayed within one step for half a second."""

    def wait(twin: Twin, at_most_s: float = 30.0) -> None:
        seen = twin.arm.read_angles_deg()
        since_s = started_s = twin.clock.now_s()
        while twin.clock.now_s() - since_s < 0.5:
            twin.clock.sleep(0.1)
            now = twin.arm.read_angles_deg()
            if abs(now - seen).max() > 0.1:
                seen, since_s = now, twin.clock.now_s()
            assert twin.clock.now_s() - started_s < at_most_s, "the arm does not come to rest"

    return wait
