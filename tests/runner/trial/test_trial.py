"""Whole trials on the twin: they complete, they are written down wholly, and the same seed is the same trial."""

from __future__ import annotations

import numpy as np
import pytest

from runs.files import sha256_hex
from runs.store import picture_path


def decisions_of(log):
    """What was decided in a trial, without times and ids."""
    return {
        "seen": [(d.block_xz_m, d.box_xz_m) for d in log.detect],
        "rows": [(look.pose_id, look.target_xz_m, look.used_angles) for look in log.lookups],
        "sent": [(move.label, move.commanded, move.post_actual) for move in log.moves],
        "grip": [(g.stage, g.reading.value) for g in log.gripper if g.reading is not None],
        "verdicts": [(v.stage, v.verdict, v.reason) for v in log.verdicts],
        "tips": [t.diff for t in log.tip_measurements],
        "end": (log.result, log.duration_s),
    }


def test_a_trial_with_the_default_settings_completes_and_its_log_holds_everything(play, stages):
    played = play(quick=False)
    log = played.log
    assert log.result == "completed", log.ending
    assert played.truth.block_in_box
    assert {stage: judgment.verdict for stage, judgment in log.judgments.items()} == {"pick": "yes", "place": "yes"}
    played.check_at_rest()

    assert played.stages == [(name, "done") for name in stages]
    started = [stage.started_s for stage in log.stage_records]
    assert started == sorted(started)
    assert log.duration_s == pytest.approx(sum(stage.duration_s for stage in log.stage_records), abs=1.0)
    assert 40 < log.duration_s < 120

    labels = [capture.label for capture in log.vlm_captures]
    assert {"detect_1", "detect_2", "detect_3", "stage4_pick_tip", "pick", "place_pre", "place"} <= set(labels)
    for capture in log.vlm_captures:
        path = picture_path(capture.image, played.folder)
        assert path is not None
        assert path.name == f"{log.run_id}_{capture.label}.jpg"
        assert sha256_hex(path.read_bytes()) == capture.sha256
        assert (capture.width_px, capture.height_px) == (1280, 720)

    assert all(record.at for kind in (log.detect, log.lookups, log.moves, log.gripper, log.guards) for record in kind)
    moves = {move.label for move in log.moves}
    assert {guard.label for guard in log.guards} >= moves
    assert all(guard.allowed and guard.clearance_mm is not None for guard in log.guards)
    for move in log.moves:
        assert move.arrived
        assert move.commanded is not None
        assert move.post_max_delta_deg <= move.reach_tol_deg
        assert np.abs(np.subtract(move.post_actual, move.target_angles)).max() == pytest.approx(
            move.post_max_delta_deg, abs=1e-5
        )

    pick, place = (
        next(look for look in log.lookups if look.label == label) for label in ("stage4_pick", "stage8_place")
    )
    for look, xz_m in ((pick, log.detect[-1].block_xz_m), (place, log.detect[-1].box_xz_m)):
        assert look.pose_id.startswith("fk_row_")
        assert np.allclose(look.requested_xz_m, xz_m, atol=2e-3)
        assert look.refined.residual_mm <= 1.0
        assert look.used_angles == look.refined.joints
        assert look.guard_pass
    went_down = next(move for move in log.moves if move.label == "stage4_pick")
    assert np.allclose(went_down.target_angles, pick.used_angles, atol=1e-3)
    assert (
        np.hypot(went_down.tcp_read_back_m[0] - pick.target_xz_m[0], went_down.tcp_read_back_m[2] - pick.target_xz_m[1])
        < 2e-3
    )

    told = log.provenance
    assert (told.seed, told.profile, told.judge, told.camera, told.arm_model) == (
        13,
        "perfect",
        "measured",
        "twin",
        "mecharm270",
    )
    hashes = [*told.calibration_hashes.values(), told.table_hash, *told.approach_hashes.values(), told.corrections_hash]
    assert set(told.calibration_hashes) == {"lens", "plane"}
    assert all(len(value) == 64 for value in hashes)
    assert told.settings["arm"]["speed_percent"] == 20
    assert log.constants["HOME"] == [0, 0, 0, 0, 0, -30]
    assert log.constants["MAX_PICK_ATTEMPTS"] == 3
    assert log.pose_used.pick_pose_id == pick.pose_id
    assert log.pose_used.place_pose_id == place.pose_id


def test_a_log_is_nothing_but_its_events(good_trial):
    played = good_trial
    kinds = {type(record).__name__ for record in played.records}
    assert {
        "StageStarted",
        "StageEnded",
        "DetectRecord",
        "LookupRecord",
        "GuardRecord",
        "MoveRecord",
        "GripperRecord",
    } <= kinds
    rebuilt = played.store.recover(played.log.run_id, overwrite=True)
    assert rebuilt.recovered
    assert rebuilt.model_copy(update={"recovered": False}) == played.log


def test_the_same_seed_is_the_same_trial(play, make_cell_copy):
    first, second = (play(cell=make_cell_copy(name)) for name in ("one", "other"))
    assert decisions_of(first.log) == decisions_of(second.log)
    assert first.truth == second.truth


def test_the_field_profile_completes_too_and_what_it_sags_is_taken_off(play):
    played = play(seed=3, overrides=['twin.profile="field"'])
    assert played.log.result == "completed", played.log.ending
    assert played.truth.block_in_box
    played.check_at_rest()
    assert any(move.retried for move in played.log.moves)
    down = next(move for move in played.log.moves if move.label == "stage4_pick")
    assert down.post_max_delta_deg < 1.5
    assert np.abs(np.subtract(down.commanded, down.target_angles)).max() > 0.3


def test_a_dry_run_does_everything_but_move(play):
    played = play(dry_run=True)
    log = played.log
    assert (log.result, log.dry_run) == ("unjudged", True)
    assert all(move.dry_run and not move.arrived and move.commanded for move in log.moves)
    assert all(verdict.verdict is None and verdict.error == "dry_run" for verdict in log.verdicts)
    assert {look.label for look in log.lookups} >= {"stage4_pick", "stage8_place"}
    assert log.guards
    assert not played.opened_at
    assert np.allclose(played.truth.angles_deg, [0, 0, 0, 0, 0, -30], atol=0.2)
    assert log.correction.not_learned == "dry run"
