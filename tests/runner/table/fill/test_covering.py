"""Covering the joint space: it proves rings empty that are, and never one that holds a pose."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.fk import tool_points_m
from runner.kinematics.model import ArmModel, load_arm
from runner.table.fill.covering import Ring, no_pose_in_ring, straight_reach_m
from runner.table.fill.proof import row_limits

BAND = (0.070, 0.100)


def test_nothing_lies_beyond_the_rim(arm: ArmModel, config: Config) -> None:
    found = no_pose_in_ring(arm, row_limits(arm, config), Ring((0.3655, 2.0), BAND))
    assert found.proved
    assert found.pieces > 1000


def test_a_ring_with_a_pose_in_it_is_never_proved_empty(arm: ArmModel, config: Config) -> None:
    limits = row_limits(arm, config)
    rng = np.random.default_rng(1)
    poses = limits.min_deg + rng.random((20_000, 6)) * (limits.max_deg - limits.min_deg)
    at = tool_points_m(poses, arm)
    inside = np.flatnonzero((at[:, 2] > 0.071) & (at[:, 2] < 0.099))
    for row in inside[:3]:
        r, y = float(np.hypot(*at[row, :2])), float(at[row, 2])
        ring = Ring((r - 1e-4, r + 1e-4), (y - 1e-4, y + 1e-4))
        assert not no_pose_in_ring(arm, limits, ring, most_pieces=30_000).proved


def test_the_links_bound_every_pose_of_a_tool_off_the_axis() -> None:
    arm = load_arm("mecharm270").with_tool(tcp_mm=(7.0, -4.0, 90.0))
    rng = np.random.default_rng(2)
    at = tool_points_m(arm.min_deg + rng.random((50_000, 6)) * (arm.max_deg - arm.min_deg), arm)
    inside = (at[:, 2] >= BAND[0]) & (at[:, 2] < BAND[1])
    reach = straight_reach_m(arm, BAND)
    assert np.hypot(at[inside, 0], at[inside, 1]).max() < reach


@pytest.mark.slow
def test_a_tool_off_the_axis_is_proved_too(config: Config) -> None:
    arm = load_arm("mecharm270").with_tool(tcp_mm=(7.0, -4.0, 90.0))
    beyond = Ring((straight_reach_m(arm, BAND) + 0.006, 1.0), BAND)
    assert no_pose_in_ring(arm, row_limits(arm, config), beyond).proved


@pytest.mark.slow
def test_brute_force_finds_no_pose_in_a_square_called_unreachable(filled, arm: ArmModel, config: Config) -> None:
    """A fine grid of all joints that move the radius, then restarts that climb from its best and from random poses.

    Nothing of the solver is used but forward kinematics; a square is hit where a radius of its own is.
    """
    from scipy.optimize import minimize

    limits = row_limits(arm, config)
    rims = sorted(np.hypot(max(abs(p.x_mm) - 10, 0), p.z_mm - 10) / 1000 for p in filled.proofs.squares)
    axes = [
        np.arange(limits.min_deg[j], limits.max_deg[j] + 1e-9, step) for j, step in ((1, 2), (2, 2), (3, 11), (4, 3))
    ]
    best: list[tuple[float, tuple[float, ...]]] = []
    tried = 0
    for j4 in axes[3]:
        grid = np.stack(np.meshgrid([0.0], axes[0], axes[1], axes[2], [j4], [0.0], indexing="ij"), -1).reshape(-1, 6)
        at = tool_points_m(grid, arm)
        tried += len(grid)
        radius = np.where((at[:, 2] >= BAND[0]) & (at[:, 2] < BAND[1]), np.hypot(at[:, 0], at[:, 1]), 0.0)
        top = np.argsort(radius)[-4:]
        best += [(float(radius[i]), tuple(grid[i])) for i in top if radius[i] > 0]
    assert tried > 7_000_000
    assert max(r for r, _ in best) < rims[0]

    def reach(q: np.ndarray) -> tuple[float, float]:
        x, y, z = tool_points_m(np.array([0.0, *q, 0.0]), arm)
        return float(np.hypot(x, y)), float(z)

    rng = np.random.default_rng(11)
    starts = [np.array(q[1:5]) for _, q in sorted(best)[-20:]]
    starts += [limits.min_deg[1:5] + rng.random(4) * (limits.max_deg - limits.min_deg)[1:5] for _ in range(60)]
    bounds, farthest = list(zip(limits.min_deg[1:5], limits.max_deg[1:5], strict=True)), 0.0
    for start in starts:
        found = minimize(
            lambda q: -reach(q)[0], start, method="SLSQP", bounds=bounds,
            constraints=[
                {"type": "ineq", "fun": lambda q: reach(q)[1] - BAND[0]},
                {"type": "ineq", "fun": lambda q: BAND[1] - reach(q)[1]},
            ],
        )  # fmt: skip
        r, y = reach(found.x)
        if BAND[0] - 1e-6 <= y <= BAND[1] + 1e-6:
            farthest = max(farthest, r)
    assert 0.3651 < farthest < 0.3652
    assert farthest < rims[0]
