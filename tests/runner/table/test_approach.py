"""Approach files: the field's two arc lookups, squares of a grid, and files that can't be used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell, stance_of, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.approach import (
    Approach,
    ArcApproach,
    GridApproach,
    TaughtPair,
    lookup_arc,
    read_approach,
    square_mm,
    violations,
    write_approach,
)
from runner.table.cell_tables import CellTables
from runner.table.errors import BadTableFile, NoApproachYet, WrongTable
from runner.table.postures import back_along_tool, hard_limits, planning_limits, wrapped_deg
from runner.table.rows import CellOfTable

# A real run's two approach lookups: base pose, the two taught pairs, target, and what came out
FIELD = {
    "approach_pick": {
        "base": (0.0, 87.74, -38.33, 3.6, -70.11, -30.0),
        "pairs": (
            ((0.2516385269165039, 0.23075213623046875), -40.263158),
            ((0.2045570220947266, 0.2708629608154297), -31.315789),
        ),
        "target": (0.21912478256225584, 0.26728145599365233),
        "j0": -34.0842461446898,
        "interp_xz": (0.21912478256225584, 0.2584520388000714),
        "z_residual": 0.008829417193580935,
        "t": 0.6905842214968667,
        "before": 5,
    },
    "approach_place": {
        "base": (38.4, 57.39, 17.49, 0.08, -89.2, -29.44),
        "pairs": (
            ((-0.16053904724121093, 0.25279649353027345), 31.315789),
            ((-0.20352687072753906, 0.22406570434570314), 40.263158),
        ),
        "target": (-0.18184228515625, 0.22888117980957032),
        "j0": 35.74978716651025,
        "interp_xz": (-0.18184228515625, 0.23855853524703094),
        "z_residual": 0.009677355437460622,
        "t": 0.4955644688969743,
        "before": 13,
    },
}


def arc(phase: str, before: int) -> Approach:
    """An arc of twenty pairs in which the two of the log stand where they stood; the others lie on a circle."""
    figures = FIELD[phase]
    pairs = []
    for i in range(20):
        j0 = -85.0 + i * 170.0 / 19.0
        angle = np.radians(90.0 + j0)
        pairs.append(TaughtPair(detect_xz_m=(0.34 * np.cos(angle), 0.34 * np.sin(angle)), j0_cmd=j0))
    pairs[before : before + 2] = [TaughtPair(detect_xz_m=xz, j0_cmd=j0) for xz, j0 in figures["pairs"]]  # type: ignore[union-attr]
    content = ArcApproach(phase=phase, pose_id=f"{phase}_test", base_angles_deg=figures["base"], pairs=tuple(pairs))  # type: ignore[arg-type]
    return Approach(content, f"{phase}.json", "0" * 64)


@pytest.mark.parametrize("phase", list(FIELD))
def test_the_fields_arc_lookups_come_out_as_in_its_log(phase: str, arm: ArmModel, config: Config) -> None:
    figures = FIELD[phase]
    found = lookup_arc(
        arc(phase, figures["before"]), figures["target"], hard_limits(arm, config), label="stage", j1_safe_max_deg=88.0,
        x_residual_max_m=0.020,
    )  # fmt: skip
    assert found.method == "interp"
    assert found.j0 == pytest.approx(figures["j0"], abs=1e-9)
    assert found.interp_xz_m == pytest.approx(figures["interp_xz"], abs=1e-12)
    assert found.x_residual_m == pytest.approx(0.0, abs=1e-15)
    assert found.z_residual_m == pytest.approx(figures["z_residual"], abs=1e-12)
    assert found.interp_t == pytest.approx(figures["t"], abs=1e-12)
    assert found.interp_seg_idx == figures["before"]
    assert found.target_angles == pytest.approx((figures["j0"], *figures["base"][1:]), abs=1e-9)
    assert found.base_angles == figures["base"]
    assert [p.j0_cmd for p in found.nearest_pts] == [j0 for _, j0 in figures["pairs"]]
    assert found.guard_pass


def test_outside_the_taught_pairs_is_out_of_range(arm: ArmModel, config: Config) -> None:
    found = lookup_arc(
        arc("approach_pick", 5), (0.36, 0.1), hard_limits(arm, config), label="stage", j1_safe_max_deg=88.0,
        x_residual_max_m=0.020,
    )  # fmt: skip
    assert (found.method, found.guard_pass, found.target_angles) == ("out_of_range", False, None)
    assert "outside the taught pairs (-0.339…0.339 m)" in (found.guard_reason or "")


def test_a_base_pose_over_its_safe_maximum_fails_with_the_joint_named(arm: ArmModel, config: Config) -> None:
    limits = hard_limits(arm, config)
    found = lookup_arc(
        arc("approach_pick", 5), (0.21, 0.26), limits, label="stage", j1_safe_max_deg=80.0, x_residual_max_m=0.020
    )
    (broken,) = found.joint_limit_violations
    assert (broken.axis, broken.kind, broken.hi) == ("j1", "safe_max", 80.0)
    assert not found.guard_pass
    assert violations((170.0, 0, 0, 0, 0, 0), limits, 88.0)[0].kind == "hard"


@pytest.mark.parametrize(
    ("point", "square"),
    [
        ((0.21912, 0.26728), (220, 260)),
        ((-0.18184, 0.22888), (-180, 220)),
        ((0.030, -0.030), (40, -40)),
        ((0.0, 0.0099), (0, 0)),
    ],
)
def test_a_point_belongs_to_the_nearest_square_and_halves_go_outwards(
    point: tuple[float, float], square: tuple[int, int]
) -> None:
    assert square_mm(point) == square


@pytest.mark.parametrize("phase", ["approach_pick", "approach_place"])
def test_every_pose_of_a_grid_stands_before_its_square_as_it_says(
    phase: str, tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    grid = (tables.approach_pick if phase == "approach_pick" else tables.approach_place).content
    assert isinstance(grid, GridApproach)
    limits = planning_limits(arm, config)
    assert len(grid.squares) > 200
    for square in grid.squares[::7]:
        for i in range(len(square.poses)):
            pose = square.pose(i)
            joints = np.array(pose.joints_deg)
            target = np.array([square.x_mm / 1000.0, grid.height_y_m, square.z_mm / 1000.0])
            before = back_along_tool(target, pose.tilt_deg, pose.heading_deg, pose.lift_m)
            stance = stance_of(joints, arm, base)
            assert np.linalg.norm(tool_points_cell_m(joints, arm, base) - before) < 5e-5
            assert stance.tilt_deg == pytest.approx(pose.tilt_deg, abs=0.05)
            assert abs(wrapped_deg(stance.heading_deg - pose.heading_deg)) < 0.1
            assert limits.hold(joints, slack_deg=1e-3)
            assert 0.012 <= pose.lift_m <= 0.055


def test_a_point_finds_its_square_its_neighbours_and_how_far_the_region_is(tables: CellTables) -> None:
    grid = tables.approach_pick.content
    assert isinstance(grid, GridApproach)
    here = grid.at((0.183, 0.161))
    assert here is not None
    assert (here.x_mm, here.z_mm) == (180, 160)
    near = grid.near((0.183, 0.161), 20.0)
    assert near[0] is here
    assert len(near) >= 9
    nearest = grid.nearest((0.6, 0.1))
    assert nearest is not None
    assert 200.0 < nearest[1] < 300.0


def test_files_come_back_and_the_old_one_goes_to_the_archive(tmp_path: Path, tables: CellTables) -> None:
    path = tmp_path / "approach" / "pick.json"
    first = write_approach(path, tables.approach_pick.content)
    again = read_approach(path)
    assert again.content == first.content
    assert again.sha256 == first.sha256
    write_approach(path, arc("approach_pick", 5).content)
    assert isinstance(read_approach(path).content, ArcApproach)
    assert len(list((tmp_path / "archive").iterdir())) == 1


def test_files_that_cannot_be_used_are_refused(tmp_path: Path, tables: CellTables, config: Config) -> None:
    path = tmp_path / "pick.json"
    with pytest.raises(NoApproachYet, match="trialcell table scan"):
        read_approach(path)
    write_approach(path, tables.approach_pick.content)
    other = config.model_copy(update={"arm": config.arm.model_copy(update={"tcp_mm": (0.0, 0.0, 90.0)})})
    with pytest.raises(WrongTable, match="tcp mm"):
        read_approach(path, wanted=CellOfTable.of(other))
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    with pytest.raises(BadTableFile):
        read_approach(path)
    path.write_text(json.dumps({**json.loads(whole), "surprise": 1}))
    with pytest.raises(BadTableFile, match="surprise"):
        read_approach(path)
