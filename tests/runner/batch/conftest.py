"""What the tests of batches share: settings that make a trial short, and plans from few words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.batch.plan import PlanRequest, make_plan
from runner.config import Config
from runner.kinematics.model import ArmModel
from runs.batch_records import BatchPlan


@pytest.fixture
def planned(config: Config, arm: ArmModel) -> Callable[..., BatchPlan]:
    """`planned(12, kind="halton", round=6)`: a plan in the default cell; `round`, `session` and such are settings."""

    def make(n: int, *, settings: dict[str, object] | None = None, of: Config = config, **request: object) -> BatchPlan:
        own = of.model_copy(update={"batch": of.batch.model_copy(update=settings or {})})
        return make_plan(
            PlanRequest(n=n, **request),
            own,
            arm,
            batch_id="batch_001_20260703_132310",
            made_at="2026-07-03T13:23:10.000Z",
            first_number=1,
        )

    return make
