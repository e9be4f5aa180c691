"""What the global fit makes of a desk on which nothing is known: joints' zeros off, the gripper beside its place.

The arm's own geometry says where its tool truly is; lessons are what a camera above the table sees of it, with noise.
"""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.fk import tool_points_m, tool_pose
from runner.trial.stages.correct import way_of
from runner.twin.profiles import PROFILES, Desk
from runs.corrections.rule import RuleSettings, model_of
from runs.corrections.table import BelongsTo, CorrectionTable, Lesson
from vision.calibration.view import View

NOISE_MM = 1.0
VIEW = View.looking_at((0.0, 0.9, 0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=60.0)


@pytest.fixture(scope="module")
def poses_deg(arm, base) -> np.ndarray:
    """Joints with the tool near the table in front of the arm, headed anyhow, shape (n, 6)."""
    rng = np.random.default_rng(3)
    low, high = np.array([-80, 10, -60, -60, 0, -90]), np.array([0, 75, 20, 60, 80, 30])
    drawn = rng.uniform(low, high, (20_000, 6))
    x, y, z = base.to_cell(tool_points_m(drawn, arm)).T
    near = (np.abs(y - 0.022) < 0.004) & (x > 0.05) & (np.hypot(x, z) > 0.15) & (np.hypot(x, z) < 0.29)
    assert near.sum() >= 180
    return drawn[near][:180]


def _off_mm(arm, base, poses_deg, desk) -> np.ndarray:
    """By how much the tool truly is beside where it is reckoned to be, cell frame, shape (n, 3)."""
    off = []
    for pose in poses_deg:
        T = tool_pose(pose + desk.zero_deg, arm)
        R_link = T[:3, :3] @ arm.T_link_tcp[:3, :3].T
        there = base.to_cell(T[:3, 3] + R_link @ desk.tool_mm / 1000)
        off.append((there - base.to_cell(tool_pose(pose, arm)[:3, 3])) * 1000)
    return np.array(off)


@pytest.mark.parametrize("desk_seed", [1, 5, 11])
def test_an_uncalibrated_arm_is_learned_to_the_millimetre_or_so(arm, base, poses_deg, desk_seed):
    desk = Desk.of(PROFILES["uncalibrated"], 6, desk_seed)
    off = _off_mm(arm, base, poses_deg, desk)
    at = base.to_cell(tool_points_m(poses_deg, arm))[:, [0, 2]]
    ways = [way_of(pose, (x, z), arm, base, VIEW) for pose, (x, z) in zip(poses_deg, at.tolist(), strict=True)]
    seen = off[:, [0, 2]] + np.array([way.parallax_mm for way in ways]) * off[:, 1:2]
    seen += np.random.default_rng(desk_seed).normal(0, NOISE_MM, seen.shape)
    lessons = [
        Lesson.of("pick", (x, z), (dx, dz), run_id=f"r{k:03}", at="", way=way)
        for k, ((x, z), (dx, dz), way) in enumerate(zip(at.tolist(), seen.tolist(), ways, strict=True))
    ]
    here = BelongsTo(calibration_hash="c", table_hash="t")
    model = model_of(CorrectionTable(belongs_to=here).learned(*lessons[:80]), RuleSettings())
    left = []
    for k in range(80, len(lessons)):
        target, _ = model.apply("pick", lessons[k].xz_m, ways[k])
        left.append(np.hypot(*(off[k, [0, 2]] + (np.array(target) - at[k]) * 1000)))
    assert np.median(np.hypot(off[80:, 0], off[80:, 2])) > 4.0
    assert np.median(left) < 1.5
    assert model.noise_mm == pytest.approx(NOISE_MM, abs=0.35)
    assert model.outliers <= 4
