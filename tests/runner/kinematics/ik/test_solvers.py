"""Every solver by name keeps the same promises: there when it says so, inside the limits, the same each time."""

from __future__ import annotations

from itertools import compress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.compiled import SWITCH
from runner.kinematics.errors import BadTarget, NoClosedForm, OutsideLimits, UnknownSolver
from runner.kinematics.fk import rotation_vector, tool_points_m, tool_pose
from runner.kinematics.ik.ccd import FIELD_GAIN, CyclicCoordinateDescent, ccd_step
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.fabrik import Fabrik
from runner.kinematics.ik.protocol import IkStatus, IkTarget, JointLimits
from runner.kinematics.ik.solvers import make_solver, solver_kind, solvers
from runner.kinematics.model import load_arm

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
TEACHING = load_arm("teaching3")
SPAN = ARM.max_deg - ARM.min_deg
LIMITS = JointLimits.of(ARM)


def target_of(angles_deg: np.ndarray, turned: bool) -> IkTarget:
    T = tool_pose(angles_deg, ARM)
    return IkTarget(T[:3, 3], T[:3, :3] if turned else None)


SHARES = arrays(float, 6, elements=st.floats(0, 1))


@pytest.mark.parametrize("name", ["closed", "dls", "dls-once"])
@settings(deadline=None, max_examples=40)
@given(SHARES, SHARES)
def test_what_a_solver_says_is_so(name: str, goal: np.ndarray, start: np.ndarray) -> None:
    says_so(name, goal, start)


@pytest.mark.parametrize("name", ["ccd", "fabrik"])
@settings(deadline=None, max_examples=4)
@given(SHARES, SHARES)
def test_what_a_sweeping_solver_says_is_so(name: str, goal: np.ndarray, start: np.ndarray) -> None:
    says_so(name, goal, start)


def says_so(name: str, goal: np.ndarray, start: np.ndarray) -> None:
    kind, solver = solver_kind(name), make_solver(name, ARM)
    target, q0 = target_of(ARM.min_deg + goal * SPAN, kind.takes_rotation), ARM.min_deg + start * SPAN
    found = solver.solve(target, q0)
    assert LIMITS.hold(found.angles_deg)
    T = tool_pose(found.angles_deg, ARM)
    assert found.residual_mm == pytest.approx(np.linalg.norm(T[:3, 3] - target.position_m) * 1000.0, abs=1e-6)
    if target.rotation is not None:
        turn = rotation_vector((target.rotation @ T[:3, :3].T)[None])[0]
        assert found.residual_deg == pytest.approx(np.degrees(np.linalg.norm(turn)), abs=1e-5)
    if found.status is IkStatus.CONVERGED:
        assert found.residual_mm <= 0.1
        assert found.residual_deg <= 0.1
    assert not found.angles_deg.flags.writeable
    assert np.array_equal(found.angles_deg, solver.solve(target, q0).angles_deg)


@pytest.mark.parametrize("name", list(solvers()))
def test_each_refuses_a_start_that_is_none(name: str) -> None:
    kind, solver = solver_kind(name), make_solver(name, ARM)
    target = target_of(ARM.home_deg, kind.takes_rotation)
    with pytest.raises(OutsideLimits, match="j1"):
        solver.solve(target, np.array([0, 130.0, 0, 0, 0, 0]))
    with pytest.raises(BadTarget, match="start"):
        solver.solve(target, np.zeros((2, 6)))
    with pytest.raises(BadTarget, match="as many starts"):
        solver.solve_batch([target, target], np.zeros((1, 6)))
    assert solver.solve_batch([], np.empty((0, 6))) == []


@pytest.mark.parametrize("name", ["dls", "dls-once", "ccd", "fabrik"])
def test_any_arm_is_served_but_for_the_closed_form(name: str) -> None:
    goal = tool_points_m(np.array([30.0, 40.0, 50.0]), TEACHING)
    found = make_solver(name, TEACHING).solve(IkTarget(goal), np.array([5.0, 10.0, 10.0]))
    assert found.converged
    assert tool_points_m(found.angles_deg, TEACHING) == pytest.approx(goal, abs=2e-4)


def test_solvers_are_chosen_by_name() -> None:
    assert next(iter(solvers())) == "closed"
    with pytest.raises(UnknownSolver, match="no solver called 'newton'") as caught:
        make_solver("newton", ARM)
    assert "closed, dls" in (caught.value.next_step or "")
    with pytest.raises(NoClosedForm, match="3 joints"):
        make_solver("closed", TEACHING)


def test_a_solver_tells_which_code_it_runs(monkeypatch) -> None:
    kind = solver_kind("dls")
    kind.compile()
    assert (kind.code(), kind.why()) == ("compiled", "compiled")
    monkeypatch.setenv(SWITCH, "0")
    assert kind.code() == "numpy"
    assert "NumPy only" in kind.why()
    assert solver_kind("ccd").code() == "numpy"


def test_a_small_gain_creeps_and_never_jumps() -> None:
    goal = tool_points_m(np.array([40.0, 30, -30, 20, 40, -30]), ARM)
    q, gaps = np.array([-40.0, 20, -20, 0, 60, -30]), []
    for _ in range(400):
        before, q = q, ccd_step(ARM, q, goal, FIELD_GAIN, LIMITS)
        assert np.abs(q - before).max() <= FIELD_GAIN * 180.0
        gaps.append(float(np.linalg.norm(tool_points_m(q, ARM) - goal)))
    assert gaps[-1] < 0.005
    assert gaps == sorted(gaps, reverse=True)
    assert LIMITS.hold(q)


def test_a_gain_is_a_share() -> None:
    for gain in (0.0, 1.5, float("nan")):
        with pytest.raises(BadTarget, match="gain"):
            CyclicCoordinateDescent(ARM, gain=gain)


def test_fabrik_knows_no_rotation() -> None:
    with pytest.raises(BadTarget, match="no rotation"):
        Fabrik(ARM).solve(target_of(ARM.home_deg, turned=True), ARM.home_deg)


@pytest.mark.parametrize("name", ["ccd", "fabrik"])
def test_a_place_is_found_nearly_always_by_the_sweeping_ones(name: str) -> None:
    q = np.random.default_rng(0).uniform(ARM.min_deg, ARM.max_deg, (12, 6))
    solver = make_solver(name, ARM)
    found = [solver.solve(target_of(pose, turned=False), ARM.home_deg) for pose in q]
    assert sum(one.converged for one in found) >= 9


def test_on_and_near_the_base_axis_answers_stay_honest() -> None:
    for name in ("closed", "dls"):
        for x in (0.0, 1e-12, 1e-5):
            target = IkTarget(np.array([x, 0.0, 0.35]), np.eye(3))
            found = make_solver(name, ARM).solve(target, ARM.home_deg)
            T = tool_pose(found.angles_deg, ARM)
            miss_mm = float(np.linalg.norm(T[:3, 3] - target.position_m)) * 1000.0
            assert found.residual_mm == pytest.approx(miss_mm, abs=1e-6)
            assert found.converged == (found.residual_mm <= 0.01 and found.residual_deg <= 0.01)


def test_the_nearest_place_is_as_near_as_brute_force_finds() -> None:
    rng = np.random.default_rng(4)
    seen = tool_points_m(rng.uniform(ARM.min_deg, ARM.max_deg, (300_000, 6)), ARM)
    goals = rng.uniform((-0.45, -0.45, -0.2), (0.45, 0.45, 0.6), (60, 3))
    brute_mm = np.array([np.sqrt(((seen - goal) ** 2).sum(axis=1).min()) for goal in goals]) * 1000.0
    solver = make_solver("dls", ARM)
    found = [solver.solve(IkTarget(goal), ARM.home_deg) for goal in goals]
    out = brute_mm > 15.0
    assert out.sum() > 20
    for one, mm in zip(compress(found, out), brute_mm[out], strict=True):
        assert one.status is not IkStatus.CONVERGED
        assert one.residual_mm <= mm + 1.0


@pytest.mark.slow
def test_full_poses_out_of_reach_are_as_near_as_many_searches_find() -> None:
    rng = np.random.default_rng(6)
    T = tool_pose(rng.uniform(ARM.min_deg, ARM.max_deg, (100, 6)), ARM)
    goals = T[:, :3, 3] * np.array([1.5, 1.5, 1.2])
    one = DampedLeastSquares(ARM)
    best = np.full(100, np.inf)
    for _ in range(400):
        found = one.solve_many(goals, T[:, :3, :3], None, rng.uniform(ARM.min_deg, ARM.max_deg, (100, 6)))
        best = np.minimum(best, np.hypot(found.residual_mm, np.radians(found.residual_deg) * 100.0))
    sure = DampedLeastSquares(ARM, restarts=100).solve_many(goals, T[:, :3, :3], None, np.tile(ARM.home_deg, (100, 1)))
    assert (np.hypot(sure.residual_mm, np.radians(sure.residual_deg) * 100.0) <= best + 1.0).all()


@pytest.mark.slow
def test_a_thousand_poses_are_reached_by_closed_form_and_by_least_squares() -> None:
    q = np.random.default_rng(8).uniform(ARM.min_deg, ARM.max_deg, (1000, 6))
    for name in ("closed", "dls"):
        solver = make_solver(name, ARM)
        found = [solver.solve(target_of(pose, turned=True), ARM.home_deg) for pose in q]
        assert sum(one.converged for one in found) == 1000, name
        assert max(one.residual_mm for one in found) < 0.1
        assert max(one.residual_deg for one in found) < 0.1


def test_a_target_made_of_a_frame_is_the_one_made_of_its_place_and_rotation() -> None:
    for T in tool_pose(np.random.default_rng(8).uniform(ARM.min_deg, ARM.max_deg, (20, 6)), ARM):
        whole, parts = IkTarget.of_frame(T), IkTarget(T[:3, 3], T[:3, :3])
        assert tuple(whole)[1:] == tuple(parts)[1:]
        assert np.array_equal(whole.frame, T[:3])
        assert np.array_equal(parts.frame, T[:3])
        assert np.array_equal(whole.position_m, T[:3, 3])
        assert whole.rotation is not None
        assert np.array_equal(whole.rotation, T[:3, :3])
    with pytest.raises(ValueError, match="read-only"):
        whole.position_m[0] = 1.0
    with pytest.raises(AttributeError):
        whole.position_weight = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("where", "number", "words"),
    [
        ((0, 3), np.nan, "three finite numbers"),
        ((1, 3), 150.0, "farther than 20 m"),
        ((1, 1), np.nan, "finite 3 × 3"),
        ((2, 2), -1.0, "right-handed"),
        ((0, 1), 0.1, "orthogonal"),
        ((3, 0), 0.1, "last row"),
        ((3, 3), np.nan, "last row"),
    ],
)
def test_a_frame_that_is_none_is_refused(where, number, words) -> None:
    T = np.eye(4)
    T[where] = number
    with pytest.raises(BadTarget, match=words):
        IkTarget.of_frame(T)
    with pytest.raises(BadTarget, match="4 × 4"):
        IkTarget.of_frame(T[:3])


def test_targets_and_results_are_compared_by_identity() -> None:
    target, twin = IkTarget(np.array([0.15, 0.0, 0.2])), IkTarget(np.array([0.15, 0.0, 0.2]))
    solver = DampedLeastSquares(ARM)
    found, again = solver.solve(target, ARM.home_deg), solver.solve(target, ARM.home_deg)
    assert target != twin
    assert found != again
    assert len({target, twin, found, again}) == 4
