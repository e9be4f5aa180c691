"""A trace is the solver's own way, step by step, and its answer is the solver's."""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkStatus, IkTarget, JointLimits
from runner.kinematics.ik.trace import trace
from runner.kinematics.model import load_arm

ARMS = [load_arm(name) for name in ("mecharm270", "mycobot_280", "teaching3")]


def traced(arm, target, attempts=4):
    limits = JointLimits.of(arm)
    return trace(
        lambda steps: DampedLeastSquares(arm, limits=limits, max_steps=steps),
        target,
        arm.home_deg,
        limits,
        attempts=attempts,
    )


def reachable(arm, seed):
    joints_deg = np.random.default_rng(seed).uniform(arm.min_deg, arm.max_deg)
    T = tool_pose(joints_deg, arm)
    return IkTarget(T[:3, 3], T[:3, :3] if arm.n_joints == 6 else None)


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_a_trace_begins_at_the_start_and_ends_at_the_solvers_answer(arm):
    target = reachable(arm, 3)
    found = traced(arm, target)
    first = found.attempts[0]
    alone = DampedLeastSquares(arm).solve(target, arm.home_deg)
    assert np.allclose(first.angles_deg[0], arm.home_deg, atol=1e-9)
    assert np.array_equal(first.angles_deg[-1], alone.angles_deg)
    assert len(first.angles_deg) == alone.steps + 1
    assert first.residual_mm[-1] == alone.residual_mm


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_each_row_says_its_own_error(arm):
    target = reachable(arm, 5)
    for attempt in traced(arm, target).attempts:
        points = tool_pose(attempt.angles_deg, arm)[:, :3, 3]
        assert np.allclose(np.linalg.norm(points - target.position_m, axis=1) * 1000, attempt.residual_mm, atol=1e-9)


def test_attempts_end_with_the_first_that_converges_and_the_best_is_it():
    for seed in (0, 1, 4):
        found = traced(ARMS[1], reachable(ARMS[1], seed), attempts=5)
        words = [attempt.result.status for attempt in found.attempts]
        assert IkStatus.CONVERGED not in words[:-1]
        if words[-1] is IkStatus.CONVERGED:
            assert found.best is found.attempts[-1]


def test_out_of_reach_takes_all_attempts_and_keeps_the_nearest():
    found = traced(ARMS[0], IkTarget(np.array([0.9, 0.0, 0.1])), attempts=3)
    assert len(found.attempts) == 3
    assert found.best.result.residual_mm == min(a.result.residual_mm for a in found.attempts)
    assert all(found.limits.hold(a.angles_deg) for a in found.attempts)
