"""The lines of a trial for people: short, each said once, and nothing lost that somebody needs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from runner.cli.live import STOPPING, LiveTrial
from runs.events import StageEnded, StageStarted
from runs.schema.detection import DetectRecord
from runs.schema.motion import GripperRecord, GripReading, LookupRecord, MoveRecord
from runs.schema.run import CorrectionUse, Note, TipMeasurement
from runs.schema.verdict import JudgeAudit, Verdict


def shown(*records, width=100, stopping_after=None):
    out = io.StringIO()
    view = LiveTrial(Console(file=out, width=width, highlight=False))
    with view:
        for number, record in enumerate(records):
            if number == stopping_after:
                view.stopping()
            view.observe(record)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def stage(name, *records, outcome="done", note=None, attempt=1):
    started = StageStarted(name=name, started_s=1.0, attempt=attempt)
    return [started, *records, StageEnded(name=name, outcome=outcome, ended_s=3.5, note=note)]


def seen(block=(0.21, 0.08), box=(-0.07, 0.2)):
    return DetectRecord(
        stage=2, source="live", block_xz_m=block, box_xz_m=box, block_score=1.0, box_score=1.0, n_captures=3,
        top_camera_index=None,
    )  # fmt: skip


def gripped(stage_name, holding, reason):
    reading = GripReading(value=50.0, opening_mm=30.0, holding=holding, reason=reason)
    return GripperRecord(stage=stage_name, action="check", reading=reading)


def verdict(word, reason, error=None):
    return Verdict(stage="pick", verdict=word, reason=reason, error=error, audit=JudgeAudit(judge="measured"))


def test_a_stage_is_a_line_with_its_time_in_the_arms_seconds():
    assert shown(*stage("stage1")) == ["✓ home, gripper open          2.5 s"]


def test_only_the_last_look_is_told_and_how_many_there_were():
    (line,) = shown(*stage("stage2", seen(box=None), seen()))
    assert line.endswith("block (210, 80) mm, box (−70, 200) mm, in 2 looks")


def test_what_was_not_found_is_said():
    (line,) = shown(*stage("stage2", seen(block=None), outcome="invalid", note="no block was found: …"))
    assert line.startswith("○ find block and box")
    assert line.endswith("block not found, box (−70, 200) mm; invalid")


def test_an_errors_words_are_left_for_the_end_but_a_loss_on_the_way_is_told():
    told = "the gripper lost the block on the way to the box"
    assert shown(*stage("stage7_approach_place", outcome="refused", note=told))[0].endswith("refused")
    assert shown(*stage("stage7_approach_place", outcome="failed", note=told))[0].endswith(told)


def test_the_gripper_is_told_where_it_is_news():
    held, empty = (True, "the jaws hold something"), (False, "the jaws have closed on nothing")
    assert "hold something" in shown(*stage("stage5", gripped("stage5", *held)))[0]
    assert "hold something" not in shown(*stage("stage7_approach_place", gripped("stage7", *held)))[0]
    assert "on nothing" in shown(*stage("stage7_approach_place", gripped("stage7", *empty)))[0]
    assert "hold something" in shown(*stage("stage9", gripped("stage9", *held)))[0]
    assert "no answer" in shown(*stage("stage7_approach_place", gripped("s", None, "no answer")))[0]


def test_a_verdict_has_its_reason_and_a_missing_one_its_error():
    assert shown(*stage("stage6", verdict("no", "the block still lies there")))[0].endswith(
        "pick no: the block still lies there"
    )
    assert "pick no verdict (JudgeError): no answer" in " ".join(
        shown(*stage("stage6", verdict(None, "no answer", "JudgeError")))
    )


def test_a_later_attempt_is_numbered():
    assert shown(*stage("stage4_pick", attempt=2))[0].startswith("✓ down to the block (2)")


def test_a_lookup_a_correction_and_a_tip_are_told_in_figures():
    lookup = LookupRecord(
        label="stage4_pick", phase="pick", source_file="reach.parquet", pose_id="fk_row_7", target_xz_m=(0.2, 0.1),
        j0=1.0, method="fk_nearest", x_residual_m=0.003, z_residual_m=0.004, total_residual_m=0.005, interp_xz_m=None,
        joint_limit_ok=True, target_angles=None, base_angles=None, guard_pass=False, guard_reason="j1 too low",
    )  # fmt: skip
    use = CorrectionUse(
        phase="pick", target_before_mm=(200, 100), target_after_mm=(203, 98), cell_key="pick_x200_z100", dx_mm=-3.0,
        dz_mm=2.0, n=3, applied=True,
    )  # fmt: skip
    tip = TipMeasurement(attempt=1, image="x.jpg", diff=None, reason="the fingertips were not found")
    text = " ".join(" ".join(shown(*stage("stage3_approach_pick", use, lookup, tip))).split())
    assert "pick corrected by (3.0, −2.0) mm" in text
    assert "fk_row_7: j1 too low" in text
    assert "tip not measured: the fingertips were not found" in text


def test_a_dry_run_says_what_it_would_send():
    move = MoveRecord(
        label="stage1_to_home", target_angles=(0.0, -0.01, 1.2, 3.0, 4.0, -30.0), reach_tol_deg=2.0, pre_actual=None,
        pre_max_delta_deg=None, dry_run=True, arrived=False, retried=False, post_actual=None, post_max_delta_deg=None,
        waypoints=1,
    )  # fmt: skip
    (line,) = shown(*stage("stage1", move, GripperRecord(stage="stage1", action="open", dry_run=True)), width=120)
    assert line.endswith("would send (0, 0, 1, 3, 4, −30)°, 1 waypoint; would open the gripper")


def test_a_note_after_the_last_stage_has_a_line_of_its_own():
    note = Note(at="now", stage=None, text="the arm holds still where it is")
    assert shown(*stage("stage1"), note)[-1] == "the arm holds still where it is"


def test_a_stop_that_was_asked_for_is_answered_once():
    lines = shown(*stage("stage1"), *stage("stage2"), stopping_after=1)
    assert lines.count(STOPPING) == 1


def test_preparations_are_told_once_a_topic_where_nothing_lives():
    out = io.StringIO()
    view = LiveTrial(Console(file=out, width=100))
    for text in ("making the tables: poses, 10%", "making the tables: poses, 90%", "calibrating: view 1"):
        view.preparing(text)
    view.prepared()
    assert out.getvalue().splitlines() == ["making the tables", "calibrating"]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_on_a_terminal_the_lines_live_and_are_all_there_at_the_end(width):
    out = io.StringIO()
    view = LiveTrial(Console(file=out, width=width, height=30, force_terminal=True, color_system=None))
    with view:
        view.preparing("making the tables: 10%")
        for record in (*stage("stage1"), *stage("stage2", seen())):
            view.observe(record)
    text = out.getvalue()
    assert "home, gripper open" in text
    assert "find block and box" in text


@pytest.mark.parametrize(
    "records",
    [
        stage("stage6", verdict("no", "seen \x1b]0;x\x07 here")),
        stage("stage1", Note(at="2026-08-01T10:00:00.000Z", stage=None, text="seen \x1b]0;x\x07 here")),
        [*stage("stage1"), Note(at="2026-08-01T10:00:00.000Z", stage=None, text="seen \x1b]0;x\x07 here")],
        stage("stage1", outcome="failed", note="seen \x1b]0;x\x07 here"),
    ],
)
def test_nothing_that_others_said_drives_the_terminal(records):
    told = "\n".join(shown(*records))
    assert "seen" in told
    assert "\x1b" not in told
    assert "\x07" not in told
