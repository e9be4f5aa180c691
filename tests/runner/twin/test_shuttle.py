"""The shuttle: it comes near at every visit, leaves the servos alone, and says when it can't."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from runner.arms.errors import Refused
from runner.config import Config
from runner.kinematics.errors import BadTarget
from runner.twin.arm import TwinArm
from runner.twin.errors import ShuttleNotPossible
from runner.twin.shuttle import DWELL_S, GOOD_MM, shuttle

A_M, B_M = (0.04, 0.18, 0.16), (-0.04, 0.18, 0.16)
ROOT = Path(__file__).resolve().parents[3]


def run(visits, a=A_M, b=B_M, gain=0.05):
    return shuttle(Config(), a, b, visits=visits, gain=gain, on_visit=lambda visit: None)


@pytest.fixture(scope="module")
def watched(perfect_twin):
    """Three visits: the result, what was told of each, every set-point, and the model's gains before and after."""
    model, told, set_points, inner = perfect_twin.world._model, [], [], TwinArm.targets
    gains = [[np.array(x) for x in (model.actuator_gainprm, model.actuator_biasprm, model.dof_damping)]]

    def targets(arm, gravity_nm):
        set_points.append(arm._set_deg)
        return inner(arm, gravity_nm)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runner.twin.shuttle.build_twin", lambda *_, **how: perfect_twin)
        patch.setattr(perfect_twin, "close", lambda: None)
        patch.setattr(TwinArm, "targets", targets)
        perfect_twin.reset(1, block_xz_m=(0.30, 0.33), box_xz_m=(-0.27, 0.10))
        result = shuttle(Config(), A_M, B_M, visits=3, gain=0.05, on_visit=told.append)
    gains.append([model.actuator_gainprm, model.actuator_biasprm, model.dof_damping])
    return result, told, np.array(set_points), gains


def test_every_visit_comes_within_five_millimetres(watched):
    result, told, _, _ = watched
    assert result.good
    assert tuple(told) == result.visits
    assert [visit.point for visit in result.visits] == ["b", "a", "b"]
    assert all(visit.closest_mm <= GOOD_MM for visit in result.visits)
    assert all(visit.lasted_s >= DWELL_S - 1e-9 for visit in result.visits)


def test_the_gains_in_the_model_are_the_same_before_and_after(watched):
    result, _, _, (before, after) = watched
    assert result.gains_unchanged
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))


def test_no_command_jumps_while_the_targets_change(watched, perfect_twin):
    most = perfect_twin.arm.rates(100)
    speed = np.diff(watched[2], axis=0) / perfect_twin.arm._period_s
    assert (np.abs(speed) <= most.speed_deg_s + 1e-6).all()


@pytest.mark.slow
def test_two_hundred_visits_in_a_row_stay_as_near():
    result = run(visits=200)
    assert result.good
    assert max(visit.closest_mm for visit in result.visits) < 2.0


def test_no_module_writes_gains():
    writes = re.compile(r"(actuator_\w+prm|actuator_gear|dof_damping|jnt_stiffness)\b[^=\n]*(?<![=!<>])=(?!=)")
    for path in (ROOT / "runner").rglob("*.py"):
        found = writes.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.name}: {found and found[0]}"


def test_points_that_will_not_do_are_refused_in_a_sentence():
    with pytest.raises(ShuttleNotPossible, match="must be more than 50 mm apart"):
        run(1, b=(0.04, 0.16, 0.18))
    with pytest.raises(ShuttleNotPossible, match=r"point b is out of reach: the tool comes within \d+ mm"):
        run(1, b=(-0.5, 0.16, 0.18))
    with pytest.raises(BadTarget, match="give metres, not mm"):
        run(1, a=(50.0, 160.0, 180.0))
    with pytest.raises(BadTarget):
        run(1, a=(float("nan"), 0.16, 0.18))


def test_a_point_in_the_table_is_refused_by_the_guard():
    with pytest.raises(Refused):
        run(1, a=(0.05, 0.004, 0.22), b=(-0.05, 0.004, 0.22))


@pytest.mark.slow
def test_a_gain_that_is_too_small_gives_up_and_is_not_good():
    result = run(visits=2, gain=0.0005)
    assert not result.good
    assert "was still" in str(result.gave_up)
