"""Writes v1.json: one invented run of schema 1 in which every kind of record and every field has a value of its own.

Run it from the repository's root when schema 1 gains an optional field, and review the diff:
`python tests/golden/runs/make_v1.py`. Later schemas leave v1.json alone and get a file of their own.
"""

from __future__ import annotations

from pathlib import Path

from runs.schema.detection import BlockDetection, BoxDetection, DetectRecord, Dropped, TipDetection
from runs.schema.motion import (
    GripperRecord,
    GripperTry,
    GripReading,
    GuardRecord,
    LimitViolation,
    LookupRecord,
    MoveRecord,
    NearestPoint,
    Refined,
    Skipped,
)
from runs.schema.run import (
    Capture,
    CorrectionChange,
    Corrections,
    CorrectionUse,
    Ending,
    Note,
    PickAttempt,
    PoseUsed,
    Provenance,
    RunLog,
    StageRecord,
    TipDiff,
    TipMeasurement,
)
from runs.schema.verdict import JudgeAudit, Judgment, Ruling, Verdict
from runs.writer import log_bytes

RUN_ID = "run_0042_20260811_091512"
FOLDER = f"runs/{RUN_ID}"
SHA = "3b7e" * 16


def at(second: float) -> str:
    """A moment of this run."""
    return f"2026-08-11T09:15:{12 + second:06.3f}Z"


def seen() -> tuple[DetectRecord, ...]:
    square = ((611.5, 402.25), (642.5, 401.75), (643.25, 433.5), (612.25, 434.0))
    block = BlockDetection(
        centre_px=(627.375, 417.875), angle_px_deg=-1.125, size_px=(31.25, 31.75), outline_px=square, score=0.9375,
        colour="red", touches_border=False, xz_m=(0.2175, 0.1825), yaw_deg=12.25, size_mm=29.75, spread_px=0.375,
        spread_mm=0.3125, n_captures=3,
    )  # fmt: skip
    box = BoxDetection(
        centre_px=(310.5, 388.75), corners_px=square, inside_px=square, score=0.8125, touches_border=True,
        xz_m=(-0.1625, 0.2075), yaw_deg=-33.75, size_mm=(119.25, 120.75), spread_px=0.625, spread_mm=0.5625,
        inside_xz_m=((-0.2125, 0.1625), (-0.1125, 0.1625), (-0.1125, 0.2525), (-0.2125, 0.2525)), n_captures=3,
    )  # fmt: skip
    return (
        DetectRecord(
            stage="stage2", source="twin", block_xz_m=(0.2175, 0.1825), box_xz_m=(-0.1625, 0.2075),
            block_score=0.9375, box_score=0.8125, n_captures=3, top_camera_index=0, at=at(1.5), attempt=1,
            arm_joints_deg=(0.125, -0.25, 0.375, 0.5, -0.625, -29.875), block=block, box=box,
            dropped=(Dropped(what="block", centre_px=(88.5, 91.25), area_px=412.5, reason="too long for a cube"),),
            images=(f"{FOLDER}/{RUN_ID}_detect_1.jpg",), note="the arm hid the box at first",
        ),
    )  # fmt: skip


def looked_up() -> tuple[LookupRecord, ...]:
    row = (-28.5, 61.25, -14.75, 8.125, -47.5, -30.25)
    solved = (-27.875, 62.125, -15.5, 7.75, -46.875, -30.5)
    return (
        LookupRecord(
            label="stage4_pick", phase="pick", source_file="reach.parquet", pose_id="fk_row_70707",
            target_xz_m=(0.2195, 0.1865), j0=-27.875, method="fk_nearest", x_residual_m=0.0015, z_residual_m=-0.0025,
            interp_xz_m=(0.218, 0.189), joint_limit_ok=False,
            joint_limit_violations=(LimitViolation(axis="j1", value=88.75, lo=-89.0, hi=88.0, kind="safe_max"),),
            target_angles=solved, base_angles=row,
            nearest_pts=(NearestPoint(ee_xz_m=(0.2275, 0.1775), ee_y_m=0.0265, joints=row),),
            interp_t=0.34375, interp_seg_idx=6, ee_y_m_selected=0.0235, max_dj_deg=11.375, joint_tol_deg_used=15.0,
            guard_pass=True, guard_reason="within every limit", at=at(8.25), attempt=1,
            requested_xz_m=(0.2175, 0.1825), total_residual_m=0.0029155, dist_m=0.0031,
            used_angles=(-27.5, 62.0, -15.25, 7.5, -46.5, -30.75),
            ee_y_band_m=(0.0105, 0.0405), selected_idx=70707,
            ref_joints_used=(-28.0, 55.5, -20.25, 9.5, -52.75, -30.125),
            abort_reason="none of the others was nearer", candidates_left={"height": 5151, "limits": 4242},
            refined=Refined(status="converged", target_m=(0.2195, 0.022, 0.1865), reached_m=(0.2194, 0.0221, 0.1864),
                            residual_mm=0.1875, joints=solved, steps=9, heading_deg=12.375, tilt_deg=41.625),
            skipped=(Skipped(pose_id="fk_row_60606", reason="its elbow would touch the box"),),
        ),
    )  # fmt: skip


def moved() -> tuple[MoveRecord, ...]:
    return (
        MoveRecord(
            label="stage4_pick", target_angles=(-27.875, 62.125, -15.5, 7.75, -46.875, -30.5), reach_tol_deg=3.0,
            pre_actual=(-27.75, 55.625, -20.125, 9.625, -52.625, -30.0), pre_max_delta_deg=6.5, dry_run=False,
            arrived=True, retried=True, post_actual=(-27.625, 63.375, -15.25, 7.625, -46.75, -30.375),
            post_max_delta_deg=1.25, at=at(11.75), attempt=1,
            commanded=(-27.9375, 62.0625, -15.5625, 7.6875, -46.9375, -30.5625),
            waypoints=24, speed_percent=20, duration_s=2.875, settle_s=0.4375,
            corrective_deg=(0.0625, -0.9375, 0.1875, 0.03125, 0.09375, 0.15625), rejected_readings=2,
            path_clearance_mm=13.625, tcp_commanded_m=(0.2194, 0.0221, 0.1864),
            tcp_read_back_m=(0.2201, 0.0193, 0.1879),
        ),
    )  # fmt: skip


def gripped() -> tuple[GripperRecord, ...]:
    reading = GripReading(value=34.5, opening_mm=29.5, holding=True, reason="as wide open as the block", at=at(14.5))
    return (
        GripperRecord(
            stage="stage5_grip_close", action="close", state=1, sleep_sec=2.0, dry_run=False, grip_method="value",
            grip_value=20, pre_sleep_sec=1.5, daemon_return="ok", attempt_count=2,
            attempts=(GripperTry(attempt=1, daemon_return=None), GripperTry(attempt=2, daemon_return={"code": 7})),
            at=at(14.25), reading=reading,
        ),
    )  # fmt: skip


def judged() -> tuple[Verdict, ...]:
    audit = JudgeAudit(
        judge="measured", model="opencv", prompt_hash="9c1f" * 16, image_hashes=(SHA,), request_id="req-515",
        input_tokens=1717, output_tokens=81, cost_usd=0.0123, seconds=0.6875, raw='{"verdict": "yes"}',
        measurements={"block_inside_mm": 21.5, "grip_value": 34.5},
    )  # fmt: skip
    return (
        Verdict(stage="pick", verdict="yes", confidence=0.90625, reason="the block hangs between the fingers",
                audit=audit, attempt=1, at=at(19.0)),
        Verdict(stage="place", verdict=None, confidence=None, reason="no answer came", error="timeout", audit=audit,
                attempt=1, at=at(44.0)),
    )  # fmt: skip


def log() -> RunLog:
    image = f"{FOLDER}/{RUN_ID}_pick.jpg"
    tip = TipDetection(centre_px=(630.25, 420.5), score=0.71875, method="fingers", xz_m=(0.2185, 0.1795),
                       height_y_m=0.0205, spread_mm=0.84375, n_captures=3)  # fmt: skip
    return RunLog(
        run_id=RUN_ID, started_at=at(0), dry_run=False, frames_dir=FOLDER,
        constants={"HOME": [0, 0, 0, 0, 0, -30], "SPEED": 20, "note": "invented"},
        stages=("stage2", "stage4_pick", "stage9b_judge_place"), detect=seen(), lookups=looked_up(), moves=moved(),
        gripper=gripped(),
        vlm_captures=(Capture(label="pick", image=image, dry_run=False, top_camera_index=0, sha256=SHA, width_px=1280,
                              height_px=720, at=at(18.25), attempt=1, sharpness=341.5, mean_level=127.25,
                              arm_joints_deg=(-27.25, 50.5, -21.5, 9.25, -51.5, -30.0)),),
        judgments={"pick": Judgment(verdict="yes", confidence=0.90625, reason="the block hangs between the fingers",
                                    model="opencv", raw='{"verdict": "yes"}', image=image, vlm_verdict="yes",
                                    human_verdict="yes", dist_override=False, error="none")},
        pick_attempts=(PickAttempt(attempt=1, verdict="yes", vlm_verdict="yes", human_verdict="yes", dist_override=True,
                                   confidence=0.90625, reason="held and lifted", block_xz_m=(0.2175, 0.1825),
                                   x_residual_m=0.0015, z_residual_m=-0.0025, residual_mm=0.1875, grip_holding=True),),
        correction=Corrections(
            last=CorrectionUse(phase="pick", target_before_mm=(217.5, 182.5), target_after_mm=(219.5, 186.5),
                               cell_key="pick_x220_z180", dx_mm=-2.0, dz_mm=-4.0, n=3, applied=True),
            place_last=CorrectionUse(phase="place", target_before_mm=(-162.5, 207.5), target_after_mm=(-162.5, 207.5),
                                     cell_key="place_x-160_z200", dx_mm=1.125, dz_mm=-0.625, n=2, applied=False),
            learned=(CorrectionChange(cell_key="pick_x220_z180", before=(-2.0, -4.0, 3), after=(-2.0625, -4.1875, 4),
                                      sample_mm=(-2.25, -4.75)),),
            not_learned="the place was not judged",
        ),
        pose_used=PoseUsed(pick_pose_id="fk_row_70707", pick_used=(-27.625, 63.375, -15.25, 7.625, -46.75, -30.375),
                           place_pose_id="fk_row_80808", place_used=(41.5, 58.25, 3.75, -1.5, -71.25, -29.5)),
        tip_measurements=(TipMeasurement(attempt=1, image=image, tip=tip, reason="the fingers were in sight",
            diff=TipDiff(tip_x=0.2185, tip_z=0.1795, block_x=0.2175, block_z=0.1825, dx_mm=1.0, dz_mm=-3.0,
                         dist_mm=3.1623)),),
        result="unjudged", ended_at=at(46.5),
        provenance=Provenance(cell_id="bench-7", code_version="0.1.0+abc123", arm_kind="twin", arm_model="mecharm270",
                              camera="twin", judge="measured", seed=515, profile="field",
                              calibration_hashes={"lens": "11aa", "plane": "22bb"}, table_hash="33cc",
                              approach_hashes={"pick": "44dd"}, corrections_hash="55ee",
                              settings={"speed_percent": 20, "tool": {"roll_deg": -30.0}}),
        stage_records=(
            StageRecord(name="stage4_pick", outcome="done", started_at=at(8), ended_at=at(12), started_s=21.25,
                        duration_s=3.375, attempt=1, note="one row was skipped"),
            StageRecord(name="stage9b_judge_place", outcome="failed", started_at=at(41), ended_at=at(44.5),
                        started_s=58.5, duration_s=4.125, attempt=1, note="no answer came"),
        ),
        guards=(GuardRecord(label="stage4_pick", allowed=False, rule="j1_safe_max", message="bends too far forward",
                            value=88.75, limit=88.0, clearance_mm=13.625, at=at(8.5)),),
        verdicts=judged(),
        rulings=(Ruling(stage="place", verdict="yes", by="Ada", at=at(47), reason="I see it in the box", blind=True),),
        notes=(Note(at=at(1.75), stage="stage2", text="looked again with j0 at 85"),),
        ending=Ending(result="unjudged", stage="stage9b_judge_place", reason="the judge gave no verdict", at_rest=True,
                      block_held=False),
        duration_s=62.625, wall_s=3.8125, recovered=False,
    )  # fmt: skip


if __name__ == "__main__":
    Path(__file__).with_name("v1.json").write_bytes(log_bytes(log()))
