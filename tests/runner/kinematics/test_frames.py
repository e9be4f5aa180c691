"""The way between cell and base, and how a tool stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_of, stance_rotation
from runner.kinematics.model import load_arm

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
METRES = st.floats(-1, 1)
BASES = st.builds(BaseInCell.at, st.tuples(METRES, METRES, METRES), st.floats(-180, 180))


@given(BASES, st.tuples(METRES, METRES, METRES))
def test_to_base_undoes_to_cell(base: BaseInCell, point: tuple[float, float, float]) -> None:
    assert base.to_base(base.to_cell(np.array(point))) == pytest.approx(point, abs=1e-12)
    assert base.turn_to_base(base.turn_to_cell(np.array(point))) == pytest.approx(point, abs=1e-12)


def test_the_cell_is_x_right_y_up_z_forward_for_a_base_with_x_forward_y_left_z_up() -> None:
    assert BaseInCell.at().to_cell(np.array([0.3, 0.1, 0.2])) == pytest.approx([-0.1, 0.2, 0.3])


@given(BASES)
def test_the_cell_is_left_handed(base: BaseInCell) -> None:
    assert np.linalg.det(base.M) == pytest.approx(-1.0)


@given(BASES, st.floats(-85, 85), st.floats(-179, 179))
def test_a_stance_has_the_tilt_and_heading_that_were_asked_for(base: BaseInCell, tilt: float, heading: float) -> None:
    R = stance_rotation(tilt, heading, base)
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-12
    assert np.linalg.det(R) == pytest.approx(1.0)
    along, jaws = base.turn_to_cell(R[:, 2]), base.turn_to_cell(R[:, 0])
    assert jaws[1] == pytest.approx(0.0, abs=1e-12)
    assert np.degrees(np.arcsin(-along[1])) == pytest.approx(tilt, abs=1e-9)
    assume(abs(tilt) < 80)
    assert np.degrees(np.arctan2(along[2], along[0])) == pytest.approx(heading, abs=1e-6)


def test_at_home_the_tool_is_level_ahead_and_its_jaws_are_level() -> None:
    base = BaseInCell.at()
    stance = stance_of(ARM.home_deg, ARM, base)
    assert (stance.tilt_deg, stance.heading_deg, stance.roll_deg) == pytest.approx((0.0, 90.0, 0.0), abs=1e-9)
    assert tool_pose(ARM.home_deg, ARM)[:3, :3] == pytest.approx(stance_rotation(0.0, 90.0, base), abs=1e-12)


def test_a_positive_j0_turns_the_heading_the_same_way() -> None:
    turned = ARM.home_deg + np.array([25.0, 0, 0, 0, 0, 0])
    assert stance_of(turned, ARM, BaseInCell.at()).heading_deg == pytest.approx(115.0)
    assert stance_of(turned, ARM, BaseInCell.at(yaw_deg=10.0)).heading_deg == pytest.approx(125.0)
