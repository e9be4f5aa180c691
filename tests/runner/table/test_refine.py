"""From a row to the pose that is commanded."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.cell_tables import CellTables
from runner.table.lookup import Lookup
from runner.table.postures import hard_limits
from runner.table.query import Query
from runner.table.refine import refine


def test_rows_lead_to_their_targets_within_a_hundredth_of_a_millimetre(
    tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    limits = hard_limits(arm, config)
    lookup = Lookup(tables.reach, limits, j1_safe_max_deg=88.0)
    rng = np.random.default_rng(5)
    for _ in range(40):
        r, angle = rng.uniform(0.16, 0.28), rng.uniform(0.2, 1.2)
        target = (float(r * np.cos(angle)), float(rng.uniform(0.024, 0.032)), float(r * np.sin(angle)))
        row = lookup.find(Query((target[0], target[2]), (0.010, 0.040), 0.03))
        assert row.joints_deg is not None
        found = refine(np.array(row.joints_deg), target, arm, base, limits)
        assert found.ok
        assert found.residual_mm <= 0.01
        assert found.reached_m == pytest.approx(target, abs=1.1e-5)
        assert limits.hold(found.joints_deg)


def test_the_stance_that_is_asked_for_is_had(arm: ArmModel, base: BaseInCell, config: Config) -> None:
    start = np.array([-40.0, 60.0, -20.0, 0.0, 20.0, -30.0])
    found = refine(start, (0.15, 0.03, 0.16), arm, base, hard_limits(arm, config), stance=(50.0, 30.0))
    assert found.ok
    assert found.stance.tilt_deg == pytest.approx(50.0, abs=0.02)
    assert found.stance.heading_deg == pytest.approx(30.0, abs=0.02)
    assert found.stance.roll_deg == pytest.approx(0.0, abs=0.02)
    record = found.to_record()
    assert (record.status, record.joints) == ("converged", tuple(found.joints_deg))


def test_a_place_stays_within_the_tolerance_of_its_reference_or_says_that_it_misses(
    arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    limits = hard_limits(arm, config)
    start = np.array([40.0, 45.0, -20.0, 0.0, 30.0, -30.0])
    ref = start + 3.0
    near = refine(start, (-0.15, 0.08, 0.16), arm, base, limits, near_deg=ref, near_tol_deg=15.0)
    assert np.abs(near.joints_deg - ref).max() <= 15.0 + 1e-9
    far = refine(start, (0.20, 0.08, 0.10), arm, base, limits, near_deg=ref, near_tol_deg=15.0)
    assert not far.ok
    assert far.residual_mm > 50.0
    assert np.abs(far.joints_deg - ref).max() <= 15.0 + 1e-9
