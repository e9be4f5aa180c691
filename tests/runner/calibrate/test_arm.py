"""An arm calibrated by watching its tip: what comes out is true, is used, and its loss is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runner.arm_calibration import as_delivered, load_arm_file
from runner.calibrate.person import Nobody
from runner.kinematics.frames import tool_points_cell_m
from runner.rig import Request, build_rig
from runner.table.format import read_head
from runner.table.postures import arm_of
from runner.table.rows import CellOfTable
from runner.trial.drift import drift_due, what_moved
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.wizard.steps import check_now
from runs.store import RunStore

POSES = (np.array([-40.0, 45.0, 5.0, 3.0, 20.0, -35.0]), np.array([35.0, 30.0, 15.0, -10.0, 30.0, -20.0]))


def looked_at(cell, **changes):
    with build_rig(cell, Request(seed=4), switch=StopSwitch(), progress=lambda _: None) as rig:
        rig.bench.arm.send_gripper_open()
        return what_moved(replace(rig.bench, **changes))


def test_zeros_and_gripper_come_out_as_they_truly_are(known_desk):
    file = load_arm_file(known_desk.folder / "calibration")
    off_deg = np.array(file.joint_zero_deg) - known_desk.desk.zero_deg
    assert np.abs(known_desk.desk.zero_deg).max() > 1.0
    assert np.abs(off_deg[:5]).max() < 0.6
    assert np.abs(np.array(file.tool_shift_mm) - known_desk.desk.tool_mm).max() < 2.0
    assert file.rms_mm < 1.5 < file.rms_before_mm


def test_the_tool_is_where_the_program_has_it(known_desk):
    """Reckoned with what was found and with the truth, at poses that the fit has not seen."""
    cell = known_desk.open()
    arm, base = arm_of(cell.config)
    said, (x, y, z) = cell.config.arm, known_desk.desk.tool_mm.tolist()
    nominal, _ = arm_of(as_delivered(cell.config))
    true_arm = nominal.with_tool(tcp_mm=said.tcp_mm, roll_deg=said.tool_roll_deg, shift_mm=(x, y, z))
    for encoder in POSES:
        found = tool_points_cell_m(encoder + np.array(cell.config.arm.joint_zero_deg), arm, base)
        true = tool_points_cell_m(encoder + known_desk.desk.zero_deg, true_arm, base)
        before = tool_points_cell_m(encoder, nominal, base)
        assert np.linalg.norm(found - true) < 2e-3 < np.linalg.norm(before - true)


def test_the_stamp_of_the_table_says_which_tool_it_was_made_with(known_desk):
    cell = known_desk.open()
    head = read_head(cell.table_file)
    assert head.cell == CellOfTable.of(cell.config)
    assert head.cell.tcp_mm != cell.config.arm.tcp_mm
    assert all("reckoned anew" in batch.source for batch in head.batches)


def test_nothing_moved_and_nothing_is_told(known_desk):
    found = looked_at(known_desk.open())
    assert (found.moved, found.problem, found.check_poses) == (None, None, 2)
    assert found.tip_off_mm < 2.0
    assert len(found.marks_px) >= 3


@pytest.mark.parametrize(
    "joint", [1, *(pytest.param(j, marks=pytest.mark.slow) for j in (0, 2, 3, 4, 5))], ids=lambda j: f"j{j}"
)
def test_a_slip_of_three_degrees_is_found_and_named(known_desk, joint):
    slip = [0.0] * 6
    slip[joint] = 3.0
    found = looked_at(known_desk.open(f"twin.slip_deg={slip}"))
    assert (found.moved, found.slipped_joint) == ("joint", f"j{joint}")
    assert found.slip_deg == pytest.approx(3.0, abs=0.7)
    assert f"j{joint} has slipped" in found.problem


def test_a_pushed_camera_is_told_from_a_slipped_joint(known_desk):
    pushed = ("twin.camera_position_m=[0.0, 0.90, 0.205]", "twin.camera_look_at_m=[0.0, 0.0, 0.205]")
    found = looked_at(known_desk.open(*pushed))
    assert found.moved == "camera"
    assert all(4.0 < px < 9.0 for px in found.marks_px.values())
    assert found.check_poses == 0, "with a camera that moved the tip tells nothing"


@pytest.mark.slow
def test_without_marks_another_camera_is_told_by_its_picture(known_desk):
    turned = ("twin.camera_position_m=[0.55, 0.55, 0.20]", "twin.camera_look_at_m=[0.0, 0.05, 0.20]")
    found = looked_at(known_desk.open(*turned), marks=())
    assert (found.moved, found.check_poses) == ("scene", 0)
    assert "another camera" in found.problem
    same = looked_at(known_desk.open(), marks=())
    assert same.moved is None


def test_a_camera_of_another_size_ends_a_trial_before_anything_moves(desk_copy):
    cell = desk_copy.open("camera.size_px=[640, 360]")
    with build_rig(cell, Request(seed=4), switch=StopSwitch(), progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=StopSwitch())
    assert (log.result, log.drift[-1].moved) == ("invalid", "picture")
    assert "640×360 px" in log.ending.reason
    assert log.moves == ()


@pytest.mark.slow
def test_a_trial_on_a_desk_that_was_unknown_looks_first_and_keeps_all_of_the_loop(desk_copy):
    cell = desk_copy.open()
    with build_rig(cell, Request(seed=11), switch=StopSwitch(), progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=StopSwitch())
        assert log.result == "completed", log.ending
        assert rig.truth() == {"block_in_box": True}
    assert (log.drift[0].moved, log.drift[0].check_poses) == (None, 2)
    assert log.provenance.calibration_hashes.keys() == {"lens", "plane", "arm"}
    tip = log.tip_measurements[0]
    refined = next(look.refined for look in log.lookups if look.label == "stage4_pick")
    assert tip.aimed_xz_m == (refined.target_m[0], refined.target_m[2])
    down = next(move for move in log.moves if move.label == "stage4_pick")
    assert tip.reckoned_xz_m == pytest.approx((down.tcp_read_back_m[0], down.tcp_read_back_m[2]), abs=1e-3)
    seen = np.array([tip.diff.tip_x, tip.diff.tip_z])
    assert tip.residual_mm == pytest.approx((seen - np.array(tip.aimed_xz_m)) * 1000)
    assert np.hypot(*tip.unexplained_mm) < 3.0


def test_a_slipped_joint_ends_a_trial_with_one_sentence(desk_copy):
    cell = desk_copy.open("twin.slip_deg=[0, 0, 3, 0, 0, 0]")
    with build_rig(cell, Request(seed=11), switch=StopSwitch(), progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=StopSwitch())
    assert (log.result, log.ending.stage, log.ending.family) == ("invalid", "stage1", "invalid")
    assert "j2 has slipped by about" in log.ending.reason
    assert log.ending.reason.endswith("trialcell calibrate joints")
    assert log.ending.at_rest is True


def test_batches_look_at_the_first_trial_and_then_every_so_many():
    assert [n for n in range(1, 12) if drift_due(n, 5)] == [1, 6, 11]
    assert not any(drift_due(n, 0) for n in range(1, 12))


@pytest.mark.slow
def test_the_check_says_by_region_what_the_truth_says(desk_copy):
    cell, told = desk_copy.open(), []

    def scorer(bench, station):
        return lambda wanted_m: told.append(np.array(station.twin.truth().tool_m) - wanted_m)

    file = check_now(cell, Nobody(), lambda _: None, scorer=scorer)
    true_mm = np.linalg.norm(np.array(told)[:, [0, 2]], axis=1) * 1000.0
    assert file.held_out.median_mm == pytest.approx(float(np.median(true_mm)), abs=1.0)
    assert file.held_out.worst_mm == pytest.approx(float(true_mm.max()), abs=1.0)
    assert file.held_out.median_mm <= 2.0
    assert file.held_out.worst_mm <= 5.0
    assert sum(region.n for region in file.held_out.regions) == len(file.places) == file.held_out.n
