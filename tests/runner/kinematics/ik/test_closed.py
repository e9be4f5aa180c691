"""What the closed form promises: every branch, inside the limits, on the arm's own model; compiled and NumPy alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.compiled import SWITCH
from runner.kinematics.errors import BadTarget, NoClosedForm, OutsideLimits, WrongJoints
from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.closed import ClosedForm
from runner.kinematics.ik.protocol import IkSolver, IkStatus, IkTarget, JointLimits
from runner.kinematics.ik.wrist import wrist_of
from runner.kinematics.model import ArmModel, JointData, build, load_arm

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
HOME = ARM.home_deg
SPAN = ARM.max_deg - ARM.min_deg


@pytest.fixture(params=["wait", "0"], ids=["compiled", "numpy"])
def either(request, monkeypatch) -> Iterator[str]:
    """Once with machine code, once in NumPy."""
    monkeypatch.setenv(SWITCH, request.param)
    monkeypatch.setattr("runner.compiled._given", {})
    return request.param


@pytest.fixture(scope="module")
def solver() -> ClosedForm:
    return ClosedForm(ARM)


def inside(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(ARM.min_deg, ARM.max_deg, (count, 6))


def nearest_to(q: np.ndarray, rows: np.ndarray) -> float:
    """How far the nearest row is from a pose, degrees in the worst joint."""
    apart = np.abs(rows - q)
    return float(np.minimum(apart, 360.0 - apart).max(axis=1).min(initial=np.inf))


def off(rows: np.ndarray, T: np.ndarray) -> float:
    """The largest difference of poses' tool frames from a target's."""
    return float(np.abs(tool_pose(rows, ARM) - T).max(initial=0.0))


def test_every_branch_is_there_inside_the_limits_and_a_pose_s_own_is_among_them(solver, either) -> None:
    q = inside(300, 0)
    T = tool_pose(q, ARM)
    found = solver.solve_all_batch(T)
    assert found.angles_deg.shape == (len(found.target), 6)
    assert np.abs(tool_pose(found.angles_deg, ARM) - T[found.target]).max() < 1e-9
    assert np.all((found.angles_deg >= ARM.min_deg) & (found.angles_deg <= ARM.max_deg))
    assert max(nearest_to(q[i], found.of(i)) for i in range(len(q))) < 1e-6
    assert found.counts.min() >= 1
    assert 4.0 < found.counts.mean() < 4.6


@pytest.mark.slow
def test_no_branch_of_twenty_thousand_poses_is_missed(solver) -> None:
    q = inside(20_000, 1)
    found = solver.solve_all_batch(tool_pose(q, ARM))
    assert max(nearest_to(q[i], found.of(i)) for i in range(len(q))) < 1e-5


@settings(deadline=None, max_examples=40)
@given(arrays(float, 6, elements=st.floats(0, 0.9)), st.integers(0, 10_000))
def test_narrow_limits_keep_just_the_branches_inside_them(begin: np.ndarray, seed: int) -> None:
    low = ARM.min_deg + begin * SPAN
    narrow = JointLimits(low, np.minimum(low + 0.5 * SPAN, ARM.max_deg))
    start, T = (narrow.min_deg + narrow.max_deg) / 2.0, tool_pose(inside(20, seed), ARM)
    wide, found = ClosedForm(ARM).solve_all_batch(T, start), ClosedForm(ARM, limits=narrow).solve_all_batch(T, start)
    for i in range(len(T)):
        kept = [q for q in wide.of(i) if narrow.hold(q)]
        assert len(found.of(i)) == len(kept)
        assert np.abs(found.of(i) - np.reshape(kept, (-1, 6))).max(initial=0.0) < 1e-6


def test_numpy_gives_the_same_branches_as_machine_code(solver, monkeypatch) -> None:
    T = tool_pose(inside(400, 2), ARM)
    compiled = solver.solve_all_batch(T)
    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setattr("runner.compiled._given", {})
    plain = solver.solve_all_batch(T)
    assert np.array_equal(compiled.first, plain.first)
    assert np.abs(compiled.angles_deg - plain.angles_deg).max() < 1e-6


@pytest.mark.parametrize(
    "pose",
    [
        (0, 0, 0, 0, 0, -30),  # home: the wrist is stretched
        (10, 20, -30, 40, 0, 5),  # stretched elsewhere
        (-154.5, 55.5, -65.2, 110.0, 6.0, -154.7),
        (0, 40, -92.7, 0, 30, 0),  # the elbow all but stretched
        (20, 30, -87.35, 50, 40, -60),  # the elbow stretched: upper arm and forearm in one line
        (20, 30, -87.0, 50, 40, -60),
        (-54.167, -37.17, -86.939, 130.478, -50.987, 27.412),
        (-48.732, -56.198, 18.826, -18.076, -73.99, -143.772),  # the wrist's centre over the base axis
        (160, 120, 65, 155, 115, 180),  # every limit at once
        (-160, -75, -175, -155, -115, -180),
    ],
)
def test_singular_and_outermost_poses_are_found_again(solver, either, pose) -> None:
    q = np.array(pose, dtype=float)
    T = tool_pose(q, ARM)
    found = solver.solve_all_batch(T[None]).of(0)
    assert len(found)
    assert off(found, T) < 1e-7
    assert nearest_to(q, found) < 1e-2  # where two branches meet, one stands for both


@settings(deadline=None, max_examples=60)
@given(arrays(float, 6, elements=st.floats(0, 1)), arrays(float, 6, elements=st.floats(0, 1)))
def test_what_it_calls_converged_is_there_and_the_nearest_branch(goal: np.ndarray, start: np.ndarray) -> None:
    solver = ClosedForm(ARM)
    q, q0 = ARM.min_deg + goal * SPAN, ARM.min_deg + start * SPAN
    T = tool_pose(q, ARM)
    target = IkTarget(T[:3, 3], T[:3, :3])
    found = solver.solve(target, q0)
    assert found.converged
    assert off(found.angles_deg[None], T) < 1e-7
    assert JointLimits.of(ARM).hold(found.angles_deg)
    far = [float(np.sum((one.angles_deg - q0) ** 2)) for one in solver.solve_all(target, q0)]
    assert far == sorted(far)
    again = solver.solve(target, q0)
    assert np.array_equal(found.angles_deg, again.angles_deg)


def test_joints_run_on_without_jumps_along_a_path(solver) -> None:
    goals = inside(2, 11)
    path = HOME + np.linspace(0, 1, 200)[:, None] * (goals[0] * 0.9 - HOME)
    q = path[20]
    for pose in path[20:]:
        T = tool_pose(pose, ARM)
        before, q = q, solver.solve(IkTarget(T[:3, 3], T[:3, :3]), q).angles_deg
        assert np.abs(q - before).max() < 5.0


def test_a_whole_turn_is_taken_off_where_the_start_is_nearer_that_way(solver) -> None:
    wide = ClosedForm(ARM, limits=JointLimits(ARM.min_deg, np.where(np.arange(6) == 5, 360.0, ARM.max_deg)))

    def last_joint(solver: ClosedForm, there: float, start: float) -> float:
        """The last joint of the branch whose other joints are the pose's."""
        pose = np.array([10.0, 20, -30, 40, 50, there])
        T = tool_pose(pose, ARM)
        found = solver.solve_all(IkTarget(T[:3, 3], T[:3, :3]), np.append(pose[:5], start))
        return next(float(one.angles_deg[5]) for one in found if np.abs(one.angles_deg - pose)[:5].max() < 1e-6)

    assert last_joint(solver, 179.0, -179.0) == pytest.approx(179.0)  # -181 would be nearer, but is outside
    assert last_joint(wide, 179.0, 350.0) == pytest.approx(179.0)
    assert last_joint(wide, -175.0, 170.0) == pytest.approx(185.0)


def test_out_of_reach_the_status_says_so_and_the_pose_is_a_near_one(solver) -> None:
    T = tool_pose(np.array([10.0, 80, -60, 0, 20, 0]), ARM)
    target = IkTarget(T[:3, 3] * np.array([2.0, 2.0, 1.0]), T[:3, :3])
    found = solver.solve(target, HOME)
    assert found.status is not IkStatus.CONVERGED
    assert found.residual_mm > 50.0
    assert JointLimits.of(ARM).hold(found.angles_deg)
    assert solver.solve_all(target, HOME) == ()


def test_wrong_questions_are_refused_in_a_sentence(solver) -> None:
    T = tool_pose(HOME, ARM)
    good = IkTarget(T[:3, 3], T[:3, :3])
    with pytest.raises(BadTarget, match="how the tool must stand"):
        solver.solve(IkTarget(T[:3, 3]), HOME)
    with pytest.raises(OutsideLimits, match=r"j1 at 130\.00° is outside -75…120°"):
        solver.solve(good, np.array([0, 130.0, 0, 0, 0, 0]))
    with pytest.raises(WrongJoints, match="finite"):
        solver.solve(good, np.full(6, np.nan))
    with pytest.raises(BadTarget, match="as many starts"):
        solver.solve_batch([good, good], HOME[None])
    with pytest.raises(BadTarget, match="finite"):
        solver.solve_all_batch(np.full((1, 4, 4), np.nan))
    with pytest.raises(BadTarget, match="give metres"):
        solver.solve_all_batch(np.array([[[1.0, 0, 0, 200], [0, 1, 0, 0], [0, 0, 1, 100], [0, 0, 0, 1]]]))
    with pytest.raises(BadTarget, match="orthogonal"):
        solver.solve_all_batch(np.diag([1.0, 1.0, -1.0, 1.0])[None])


def test_no_targets_give_no_branches(solver, either) -> None:
    found = solver.solve_all_batch(np.empty((0, 4, 4)))
    assert found.angles_deg.shape == (0, 6)
    assert found.first.tolist() == [0]
    unreachable = np.eye(4)
    unreachable[:3, 3] = (0.0, 0.0, 5.0)
    assert solver.solve_all_batch(unreachable[None]).counts.tolist() == [0]


def changed(arm: ArmModel, joint: int, **figures: object) -> ArmModel:
    """The arm with other figures for one joint."""
    joints: list[JointData] = list(arm.data.joint)
    joints[joint] = joints[joint].model_copy(update=figures)
    return build(arm.data.model_copy(update={"joint": tuple(joints)}))


@pytest.mark.parametrize(
    ("arm", "why"),
    [
        (load_arm("teaching3"), "3 joints, not six"),
        (changed(ARM, 2, rpy_deg=(5.0, 0.0, 0.0)), "second and third axis are not parallel"),
        (changed(ARM, 2, origin_mm=(0.0, 0.0, 0.0)), "turn about the same axis"),
        (changed(ARM, 1, rpy_deg=(0.0, 0.0, 0.0)), "first axis is parallel to its second"),
        (changed(ARM, 4, rpy_deg=(0.0, 0.0, 0.0)), "axes 4 and 5 are parallel"),
        (changed(ARM, 4, origin_mm=(-1.0, 12.0, 0.0)), r"fourth axis passes the wrist's centre at 12\.\d mm"),
        (changed(ARM, 5, origin_mm=(60.0, 3.0, 0.0)), r"last two axes pass each other at 3\.0 mm"),
    ],
)
def test_arms_without_one_are_refused_by_what_is_in_the_way(arm: ArmModel, why: str) -> None:
    with pytest.raises(NoClosedForm, match=why) as caught:
        ClosedForm(arm)
    assert "dls" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    "arm",
    [
        changed(ARM, 4, origin_mm=(0.0, 0.0, 0.0)),  # a spherical wrist but for the 1 mm before it
        changed(changed(ARM, 4, origin_mm=(0.0, 0.0, 0.0)), 3, origin_mm=(120.0, -15.0, 0.0)),  # spherical
        changed(ARM, 5, origin_mm=(60.0, 0.1, 0.05)),  # axes 5 and 6 pass each other
        changed(ARM, 1, origin_mm=(30.0, 0.0, 38.0)),  # a shoulder that stands out
        changed(ARM, 2, axis=(0, 0, -1)),  # the elbow turns the other way
        changed(ARM, 4, rpy_deg=(0.0, -60.0, 0.0)),  # a wrist that is not at right angles
    ],
    ids=["offset elsewhere", "spherical", "axes pass", "shoulder", "reversed", "askew"],
)
def test_other_arms_of_the_kind_are_solved_from_their_data(arm: ArmModel, either) -> None:
    q = np.random.default_rng(7).uniform(arm.min_deg, arm.max_deg, (60, 6))
    T = tool_pose(q, arm)
    found = ClosedForm(arm).solve_all_batch(T)
    assert np.abs(tool_pose(found.angles_deg, arm) - T[found.target]).max() < 1e-7
    assert max(nearest_to(q[i], found.of(i)) for i in range(len(q))) < 1e-5


def test_the_mecharm_s_wrist_is_one_millimetre_off_and_its_last_axes_meet() -> None:
    wrist = wrist_of(ARM)
    assert wrist.offset_m == pytest.approx(0.001)
    assert wrist.gap_m == pytest.approx(0.0, abs=1e-12)


def test_the_solver_speaks_the_common_interface(solver) -> None:
    common: IkSolver = solver
    T = tool_pose(inside(3, 4), ARM)
    targets = [IkTarget(t[:3, 3], t[:3, :3]) for t in T]
    assert all(found.converged for found in common.solve_batch(targets, np.tile(HOME, (3, 1))))
