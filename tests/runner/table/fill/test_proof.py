"""Proofs: what forbids a square, how near one comes, and what becomes of them on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.errors import BadTableFile
from runner.table.fill.direct import serve_from
from runner.table.fill.proof import prove, row_limits
from runner.table.fill.proof_file import proof_path, read_proofs, write_proofs
from runner.table.fill.sequence import Filled
from runner.table.holes import Status
from runner.table.region import Ground


def test_the_two_squares_at_the_rim_are_forbidden_by_j1_alone(filled: Filled) -> None:
    by_covering = {(p.x_mm, p.z_mm): p for p in filled.proofs.squares if p.by == "covering"}
    assert set(by_covering) == {(-310, 220), (-170, 340)}
    for proof in by_covering.values():
        assert proof.at_limit == ("j1",)
        assert "j1 may not go over 88°" in proof.forbids
        assert 0.5 < proof.nearest_miss_mm < 3.0
    assert filled.proofs.searched.covering_proved


def test_a_nearest_miss_is_a_pose_inside_the_limits_that_far_from_the_square(
    filled: Filled, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    limits = row_limits(arm, config)
    for proof in filled.proofs.squares:
        joints = np.array(proof.nearest_deg)
        assert limits.hold(joints, slack_deg=1e-3)
        at = tool_points_cell_m(joints, arm, base)
        assert np.allclose(at, proof.nearest_m, atol=1e-5)
        lo = np.array([proof.x_mm / 1000 - 0.010, 0.070, proof.z_mm / 1000 - 0.010])
        hi = np.array([proof.x_mm / 1000 + 0.010, 0.100, proof.z_mm / 1000 + 0.010])
        off = np.linalg.norm(np.maximum(np.maximum(lo - at, at - hi), 0.0)) * 1000
        assert off == pytest.approx(proof.nearest_miss_mm, rel=0.02, abs=0.05)


def test_a_square_where_every_pose_collides_is_blocked(arm: ArmModel, base: BaseInCell, config: Config) -> None:
    """A mast in the middle of the square leaves no way in."""
    camera = config.camera.model_copy(update={"mast_xz_m": (-0.25, 0.26), "mast_radius_m": 0.060})
    blocked = config.model_copy(update={"camera": camera})
    (proof,) = prove([(-250, 260)], arm, base, blocked, Ground.of(blocked)).proofs
    assert proof.status == "blocked"
    assert "the mast" in proof.forbids
    assert proof.nearest_miss_mm == 0.0


def test_a_square_that_holds_clear_poses_is_not_proved_but_handed_back(
    arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    ground = Ground.of(config)
    found = prove([(-170, 200)], arm, base, config, ground)
    assert not found.proofs
    served = serve_from(found.clear_deg, arm, base, config, ground)
    (square,) = served.squares
    assert (square.x_mm, square.z_mm) == (-170, 200)
    for pose, row in zip(square.poses, served.joints_deg, strict=True):
        assert np.abs(np.array(pose[3:]) - row).max() <= ground.joint_tol_deg + 1e-3


def test_j0_forbids_what_lies_behind_the_arm(arm: ArmModel, base: BaseInCell, config: Config) -> None:
    found = prove([(0, -340)], arm, base, config, Ground.of(config))
    if found.proofs:
        (proof,) = found.proofs
        assert proof.status == "unreachable"
        assert proof.at_limit == ("j0",)
    else:
        assert (0, -340) in found.clear_deg or not found.searched.covering_proved


def test_proofs_are_kept_whole_and_count_only_for_what_they_were_made_for(
    filled: Filled, config: Config, tmp_path: Path
) -> None:
    path = proof_path(tmp_path, "place")
    ground = Ground.of(config)
    assert read_proofs(path, config, ground) is None
    write_proofs(path, filled.proofs)
    assert read_proofs(path, config, ground) == filled.proofs
    assert set(dict(filled.proofs.statuses()).values()) >= {(Status.UNREACHABLE, filled.proofs.squares[0].forbids)}
    assert read_proofs(path, config, replace(ground, tolerance_mm=5.0)) is None
    assert read_proofs(path, config, replace(ground, band_y_m=(0.06, 0.09))) is None
    other = config.model_copy(update={"arm": config.arm.model_copy(update={"j1_safe_max_deg": 85.0})})
    assert read_proofs(path, other, ground) is None
    path.write_text("{")
    with pytest.raises(BadTableFile):
        read_proofs(path, config, ground)
