"""Forward kinematics against figures from elsewhere, and its two ways against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.compiled import CodeState, code_report
from runner.kinematics.errors import WrongJoints
from runner.kinematics.fk import KERNELS, MANY, link_poses, tool_points_m, tool_pose
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import load_arm

MECHARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3))
TEACHING = load_arm("teaching3")

# The two rows of a real run's log that name both joints and tool point (fk_row_21369 and fk_row_818398)
FIELD_ROWS = [
    ((-31.93, 87.74, -38.33, 18.6, -45.11, -30.0), (0.203019, 0.038917, 0.259061)),
    ((37.059, 66.65, 2.83, -1.4, -78.04, -29.53), (-0.181685, 0.093398, 0.229459)),
]


@pytest.mark.parametrize(("joints", "point"), FIELD_ROWS)
def test_the_field_logs_rows_are_met_within_half_a_millimetre(
    joints: tuple[float, ...], point: tuple[float, ...]
) -> None:
    base = BaseInCell.at((-0.0021, -0.0086, -0.0017))
    found = tool_points_cell_m(np.array(joints), MECHARM, base)
    assert np.linalg.norm(found - point) < 0.5e-3


def test_the_teaching_arms_hand_is_where_a_person_reckons_it() -> None:
    assert tool_points_m(np.array([30.0, 40.0, 50.0]), TEACHING) == pytest.approx([2.464, 4.298, 4.268], abs=5e-4)


def test_all_zero_puts_the_last_link_at_the_published_place() -> None:
    assert link_poses(np.zeros(6), MECHARM)[5, :3, 3] == pytest.approx([0.168, 0.0, 0.243], abs=1e-12)


@pytest.mark.parametrize("arm", [MECHARM, TEACHING], ids=lambda a: a.name)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_the_fast_batch_agrees_with_the_links_frames(arm, data) -> None:  # type: ignore[no-untyped-def]
    q = data.draw(arrays(float, (5, arm.n_joints), elements=st.floats(-180, 180)))
    assert np.abs(tool_points_m(q, arm) - link_poses(q, arm)[:, -1, :3, 3]).max() < 1e-12


def test_many_rows_are_the_same_one_by_one_and_in_blocks() -> None:
    q = np.random.default_rng(0).uniform(-90, 90, (5000, 6))
    points = tool_points_m(q, MECHARM)
    assert np.array_equal(points[4095:4098], np.stack([tool_points_m(row, MECHARM) for row in q[4095:4098]]))


@pytest.mark.parametrize("arm", [MECHARM, TEACHING], ids=lambda a: a.name)
def test_machine_code_agrees_with_numpy_on_many_rows(arm) -> None:  # type: ignore[no-untyped-def]
    q = np.random.default_rng(2).uniform(-400, 400, (MANY + 5, arm.n_joints))
    points, poses = tool_points_m(q, arm), tool_pose(q, arm)
    assert code_report(KERNELS).state is CodeState.READY
    some = slice(MANY - 300, None)  # few enough for NumPy
    assert np.abs(points[some] - tool_points_m(q[some], arm)).max() < 1e-14
    assert np.abs(poses[some] - link_poses(q[some], arm)[:, -1]).max() < 1e-14
    assert tool_points_m(q.reshape(1, *q.shape)[:, ::-1], arm)[0, ::-1] == pytest.approx(points, abs=1e-15)
    frozen = q.copy()
    frozen.flags.writeable = False
    assert np.array_equal(tool_points_m(frozen, arm), points)


def test_what_is_not_finite_is_refused_among_many_rows_too() -> None:
    q = np.zeros((MANY, 6))
    for bad in (np.nan, np.inf):
        q[-1, 3] = bad
        for way in (tool_points_m, tool_pose):
            with pytest.raises(WrongJoints, match="finite"):
                way(q, MECHARM)
    with pytest.raises(WrongJoints, match="6 joints"):
        tool_points_m(np.zeros((MANY, 5)), MECHARM)


def test_link_frames_are_rotations() -> None:
    R = tool_pose(np.random.default_rng(1).uniform(-150, 150, (50, 6)), MECHARM)[:, :3, :3]
    assert np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max() < 1e-12
    assert np.linalg.det(R) == pytest.approx(np.ones(50))


@pytest.mark.parametrize("bad", [np.zeros(5), np.array([0, 0, np.nan, 0, 0, 0.0]), np.array([0, np.inf, 0, 0, 0, 0.0])])
def test_angles_that_are_no_pose_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(WrongJoints):
        tool_points_m(bad, MECHARM)
