"""What the damped least squares solver promises: there when it says so, inside the limits, the same each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.compiled import SWITCH
from runner.kinematics.errors import BadTarget, OutsideLimits, WrongJoints
from runner.kinematics.fk import tool_points_m, tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares, rotation_vector
from runner.kinematics.ik.protocol import IkSolver, IkStatus, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, load_arm

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
TEACHING = load_arm("teaching3")
SOLVER = DampedLeastSquares(ARM)


def inside(arm: ArmModel, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(arm.min_deg, arm.max_deg, (count, arm.n_joints))


@pytest.mark.parametrize("arm", [ARM, TEACHING], ids=lambda a: a.name)
def test_the_jacobian_is_the_slope_of_forward_kinematics(arm: ArmModel) -> None:
    q = inside(arm, 20, 3) * 0.9
    J = DampedLeastSquares(arm).jacobian(q)
    h = 1e-5
    for k in range(arm.n_joints):
        step = np.zeros(arm.n_joints)
        step[k] = np.degrees(h)
        before, after = tool_pose(q - step, arm), tool_pose(q + step, arm)
        assert np.abs((after - before)[:, :3, 3] / (2 * h) - J[:, :3, k]).max() < 1e-7
        turn = rotation_vector(after[:, :3, :3] @ np.swapaxes(before[:, :3, :3], 1, 2)) / (2 * h)
        assert np.abs(turn - J[:, 3:, k]).max() < 1e-7


@settings(deadline=None, max_examples=60)
@given(arrays(float, 6, elements=st.floats(0, 1)), arrays(float, 6, elements=st.floats(0, 1)), st.booleans())
def test_what_it_calls_converged_is_there_and_inside_the_limits(
    goal: np.ndarray, start: np.ndarray, turned: bool
) -> None:
    span = ARM.max_deg - ARM.min_deg
    T = tool_pose(ARM.min_deg + goal * span, ARM)
    found = SOLVER.solve(IkTarget(T[:3, 3], T[:3, :3] if turned else None), ARM.min_deg + start * span)
    assert np.all((found.angles_deg >= ARM.min_deg) & (found.angles_deg <= ARM.max_deg))
    reached = tool_pose(found.angles_deg, ARM)
    miss_mm = float(np.linalg.norm(reached[:3, 3] - T[:3, 3]) * 1000.0)
    assert found.residual_mm == pytest.approx(miss_mm, abs=1e-6)
    if found.status is IkStatus.CONVERGED:
        assert miss_mm <= 0.01 + 1e-6
        if turned:
            turn = rotation_vector((T[:3, :3] @ reached[:3, :3].T)[None])[0]
            assert np.degrees(np.linalg.norm(turn)) <= 0.0101


def test_warm_starts_reach_nearly_every_pose_and_restarts_the_rest() -> None:
    q = inside(ARM, 300, 0)
    T = tool_pose(q, ARM)
    near = np.clip(q + np.random.default_rng(1).uniform(-5, 5, q.shape), ARM.min_deg, ARM.max_deg)
    warm = SOLVER.solve_many(T[:, :3, 3], T[:, :3, :3], None, near)
    assert warm.converged.sum() >= 297
    assert np.median(warm.steps) <= 4
    cold = DampedLeastSquares(ARM, restarts=30).solve_many(
        T[:, :3, 3], T[:, :3, :3], None, np.tile(ARM.home_deg, (300, 1))
    )
    assert cold.converged.sum() >= 298


def test_it_gives_the_same_answer_to_the_last_bit() -> None:
    T = tool_pose(inside(ARM, 40, 5), ARM)
    solver = DampedLeastSquares(ARM, restarts=3)
    start = np.tile(ARM.home_deg, (40, 1))
    first, second = (solver.solve_many(T[:, :3, 3], T[:, :3, :3], None, start) for _ in range(2))
    assert np.array_equal(first.angles_deg, second.angles_deg)
    assert np.array_equal(first.steps, second.steps)


def test_a_batch_answers_as_single_solves_do() -> None:
    T = tool_pose(inside(ARM, 12, 6), ARM)
    targets = [IkTarget(t[:3, 3], t[:3, :3] if i % 2 else None) for i, t in enumerate(T)]
    starts = np.tile(ARM.home_deg, (12, 1))
    for single, batched in zip(
        [SOLVER.solve(t, s) for t, s in zip(targets, starts, strict=True)],
        SOLVER.solve_batch(targets, starts),
        strict=True,
    ):
        assert single.status is batched.status
        assert single.angles_deg == pytest.approx(batched.angles_deg, abs=1e-6)


def test_a_target_out_of_reach_is_said_to_be_missed_by_about_as_much_as_it_is() -> None:
    base_axis = np.array([0.0, 0.0, 0.138])
    towards = np.array([1.0, 0.0, 0.0])
    found = DampedLeastSquares(ARM, max_steps=300).solve(
        IkTarget(base_axis + 0.6 * towards), np.array([0, 60.0, -20, 0, 0, 0])
    )
    assert found.status is not IkStatus.CONVERGED
    reach = np.linalg.norm(tool_points_m(inside(ARM, 200_000, 9), ARM) - base_axis, axis=1).max()
    assert found.residual_mm >= (0.6 - reach) * 1000.0 - 5.0
    assert found.residual_mm <= (0.6 - reach) * 1000.0 + 3.0


def test_tighter_limits_hold_and_the_other_joints_make_up_for_it() -> None:
    q = np.array([10.0, 50.0, -40.0, 5.0, 70.0, -30.0])
    limits = JointLimits.of(ARM, margin_deg=1.0, max_deg={1: 45.0})
    found = DampedLeastSquares(ARM, limits=limits).solve(
        IkTarget(tool_points_m(q, ARM)), np.array([0, 30.0, 0, 0, 0, -30])
    )
    assert found.converged
    assert found.angles_deg[1] <= 45.0
    assert limits.hold(found.angles_deg)


def test_the_teaching_arm_is_solved_too() -> None:
    target = tool_points_m(np.array([30.0, 40.0, 50.0]), TEACHING)
    found = DampedLeastSquares(TEACHING, restarts=5).solve(IkTarget(target), np.array([0.0, 10.0, 10.0]))
    assert found.converged
    assert tool_points_m(found.angles_deg, TEACHING) == pytest.approx(target, abs=1e-5)


def test_half_a_turn_away_is_no_dead_end() -> None:
    T = tool_pose(np.array([0.0, 40.0, -20.0, 0.0, 30.0, -30.0]), ARM)
    turned = T[:3, :3] @ np.diag([-1.0, -1.0, 1.0])
    found = SOLVER.solve(IkTarget(T[:3, 3], turned), np.array([0.0, 40.0, -20.0, 0.0, 30.0, -30.0]))
    assert found.converged


@pytest.mark.parametrize(
    ("rotvec", "angle"),
    [((0, 0, 0), 0.0), ((1, 0, 0), np.pi), ((0, 1, 1), np.pi - 1e-7), ((1, 2, 3), 3.0), ((0, 0, 1), 1e-8)],
)
def test_rotation_vectors_come_back(rotvec: tuple[float, float, float], angle: float) -> None:
    axis = np.array(rotvec, dtype=float)
    axis /= np.linalg.norm(axis) or 1.0
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    found = rotation_vector(R[None])[0]
    assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-6)
    assert abs(found @ axis) == pytest.approx(angle, abs=1e-6)


def test_wrong_questions_are_refused_in_a_sentence() -> None:
    good = IkTarget(np.array([0.2, 0.0, 0.2]))
    with pytest.raises(OutsideLimits, match=r"j1 at 130\.00° is outside -75…120°"):
        SOLVER.solve(good, np.array([0.0, 130, 0, 0, 0, 0]))
    with pytest.raises(WrongJoints):
        SOLVER.solve(good, np.zeros(5))
    with pytest.raises(WrongJoints, match="finite"):
        SOLVER.solve(good, np.full(6, np.nan))
    with pytest.raises(BadTarget, match="finite"):
        IkTarget(np.array([0.2, np.nan, 0.2]))
    with pytest.raises(BadTarget, match="give metres"):
        IkTarget(np.array([220.0, 0.0, 30.0]))
    with pytest.raises(BadTarget, match="orthogonal"):
        IkTarget(np.array([0.2, 0.0, 0.2]), np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(BadTarget, match="as many starts"):
        SOLVER.solve_batch([good, good], np.zeros((1, 6)))


def test_no_targets_give_no_results() -> None:
    assert SOLVER.solve_batch([], np.empty((0, 6))) == []
    assert len(SOLVER.solve_many(np.empty((0, 3)), None, None, np.empty((0, 6))).steps) == 0


def test_the_solver_speaks_the_common_interface() -> None:
    solver: IkSolver = SOLVER
    assert solver.solve(IkTarget(np.array([0.2, 0.0, 0.2])), ARM.home_deg).converged


def test_numpy_goes_the_same_way_as_machine_code(monkeypatch) -> None:
    q = inside(ARM, 150, 12)
    T = tool_pose(q, ARM)
    rotations = np.where(np.arange(150)[:, None, None] % 3 == 0, np.nan, T[:, :3, :3])
    solver = DampedLeastSquares(ARM, restarts=2)
    starts = np.tile(ARM.home_deg, (150, 1))
    compiled = solver.solve_many(T[:, :3, 3], rotations, None, starts)
    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setattr("runner.compiled._given", {})
    plain = solver.solve_many(T[:, :3, 3], rotations, None, starts)
    assert np.array_equal(compiled.status, plain.status)
    assert (np.abs(compiled.angles_deg - plain.angles_deg).max(axis=1) < 1e-6).sum() >= 148


def test_two_phases_bring_the_point_first() -> None:
    T = tool_pose(inside(ARM, 300, 13), ARM)
    starts = np.tile(ARM.home_deg, (300, 1))
    once, twice = (
        DampedLeastSquares(ARM, position_first=first).solve_many(T[:, :3, 3], T[:, :3, :3], None, starts)
        for first in (False, True)
    )
    assert (once.converged | twice.converged).sum() > max(once.converged.sum(), twice.converged.sum())
    assert twice.converged.mean() > 0.7
    assert np.median(twice.steps) > np.median(once.steps)


def test_weights_say_what_stands_where_both_cannot_be_had() -> None:
    T = tool_pose(np.array([0.0, 80.0, -60.0, 0.0, 30.0, 0.0]), ARM)
    goal, q0 = T[:3, 3] * np.array([1.3, 1.0, 1.0]), np.array([0.0, 60.0, -40.0, 0.0, 30.0, 0.0])
    solver = DampedLeastSquares(ARM, restarts=10)
    near, straight = (
        solver.solve(IkTarget(goal, T[:3, :3], position_weight=1.0, rotation_weight_m=w), q0) for w in (0.01, 1.0)
    )
    assert near.residual_mm < straight.residual_mm
    assert near.residual_deg > straight.residual_deg
    with pytest.raises(BadTarget, match="weights"):
        solver.solve_many(goal[None], None, np.array([[0.0, 0.1]]), q0[None])
