"""Every way in which a trial may end early: right result, stage and reason, the arm at rest, the log whole."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.errors import ArmError, ReadingRejected
from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.world import Resting
from runs.errors import StorageUnwritable
from runs.events import StageStarted
from runs.latch import StopLatch
from runs.schema.motion import GuardRecord
from runs.store import RunStore
from vision.errors import CameraUnavailable

QUICK = ("arm.speed_percent=60", "arm.send_wait_s=0.2", "camera.captures=1", "camera.settle_s=0.3")
FAR = (0.0, -0.35)


def put_away(*, block=None, box=None):
    """Arranges the twin's desk: block or box elsewhere."""

    def arrange(twin):
        if block is not None:
            twin.world.put_block(Resting(block, 0.0), above_m=0.004 if block != FAR else 0.0)
        if box is not None:
            twin.world.put_box(Resting(box, 0.0))
        twin.clock.sleep(0.5)

    return arrange


@pytest.mark.parametrize(
    ("arrange", "words"),
    [
        (put_away(block=FAR), "no block was found"),
        pytest.param(put_away(box=(0.0, -0.45)), "no box was found", marks=pytest.mark.slow),
        (put_away(block=(-0.20, 0.16), box=(-0.20, 0.16)), "the block is in the box already"),
        pytest.param(put_away(block=(-0.20, 0.236), box=(-0.20, 0.16)), "against the box", marks=pytest.mark.slow),
    ],
    ids=["no block", "no box", "block in the box", "block against the box"],
)
def test_a_scene_that_no_trial_may_start_from_is_invalid(play, arrange, words):
    played = play(arrange=arrange)
    log = played.log
    assert (log.result, log.ending.stage) == ("invalid", "stage2")
    assert words in log.ending.reason
    assert played.stages[1] == ("stage2", "invalid")
    assert log.judgments == {}
    assert log.lookups == ()
    assert len([c for c in log.vlm_captures if c.label.startswith("detect")]) >= 1
    played.check_at_rest()


@pytest.mark.slow
def test_with_a_fallback_in_the_settings_a_missing_box_is_taken_to_be_there_and_the_log_says_so(play):
    played = play(
        arrange=put_away(box=(0.0, -0.45)), overrides=["box.fallback=true", "box.fallback_xz_m=[-0.20, 0.16]"]
    )
    assert any("fallback" in note.text for note in played.log.notes)
    assert played.log.judgments["pick"].verdict == "yes"
    assert played.log.result == "unjudged"
    played.check_at_rest()


def test_a_block_out_of_reach_is_refused_before_the_arm_goes_near_it(play):
    played = play(block_xz_m=(0.36, 0.38))
    log = played.log
    assert (log.result, log.ending.stage) == ("refused", "stage3_approach_pick")
    assert "out of reach" in log.ending.reason
    assert log.ending.family == "refused"
    assert played.stages[-1] == ("stage3_approach_pick", "refused") or played.stages[-1] == ("rest", "done")
    played.check_at_rest()


def test_a_box_out_of_reach_is_refused_and_the_block_is_set_down_where_it_was(play):
    played = play(box_xz_m=(-0.33, 0.37))
    log = played.log
    assert (log.result, log.ending.stage) == ("refused", "stage7_approach_place")
    assert "place" in log.ending.reason
    assert played.stages[-1] == ("rest", "done")
    assert played.truth.block_on_table
    x, _, z = played.truth.block_m
    assert np.hypot(*np.subtract((x, z), log.detect[-1].block_xz_m)) < 0.005
    assert played.drops_mm == []
    played.check_at_rest()


def failing_after(stage, what, error, *, for_good=True):
    """Makes `what` raise from the beginning of that stage on, for good or once."""
    state = {"armed": False}

    def on(record, switch):
        if isinstance(record, StageStarted) and record.name == stage:
            state["armed"] = True

    def trouble(name):
        if state["armed"] and name == what:
            if not for_good:
                state["armed"] = False
            raise error

    return {"on": on, "trouble": trouble}


def test_a_camera_that_fails_in_the_middle_is_a_crash_and_the_held_block_is_set_down(play):
    gone = CameraUnavailable("twin", "the cable is out")
    played = play(**failing_after("stage7_approach_place", "camera", gone))
    log = played.log
    assert (log.result, log.ending.stage, log.ending.family) == ("crashed", "stage7_approach_place", "device")
    assert "the cable is out" in log.ending.reason
    assert played.stages[-1] == ("rest", "done")
    assert log.ending.block_held is False
    assert played.truth.block_on_table
    assert played.drops_mm == []
    played.check_at_rest()


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("stage1", marks=pytest.mark.slow),
        "stage4_pick",
        pytest.param("stage6", marks=pytest.mark.slow),
        "stage8_place",
        pytest.param("stage10", marks=pytest.mark.slow),
    ],
)
def test_an_arm_that_gives_no_readings_any_more_is_a_crash_and_is_held_still(play, stage):
    played = play(
        **failing_after(stage, "read_angles_deg", ReadingRejected(-1, "the answer is -1, not a list of angles"))
    )
    log = played.log
    assert (log.result, log.ending.stage, log.ending.family) == ("crashed", stage, "device")
    assert "no usable joint reading" in log.ending.reason
    assert any("holds still" in note.text for note in log.notes)
    assert played.drops_mm == []
    assert log.ending.block_held in ((True,) if stage in ("stage6", "stage8_place") else (False,))
    played.check_at_rest()


@pytest.mark.slow
def test_one_lost_reading_is_counted_and_stops_nothing(play):
    lost = failing_after("stage3_approach_pick", "read_angles_deg", ReadingRejected(None, "no answer"), for_good=False)
    played = play(**lost)
    assert played.log.result == "completed"
    assert sum(move.rejected_readings for move in played.log.moves) == 1


@pytest.mark.slow
def test_an_arm_that_takes_no_commands_any_more_is_a_crash(play):
    broken = failing_after(
        "stage8_place", "send_path", ArmError("the connection is gone", next_step="look at the cable")
    )
    played = play(**broken)
    log = played.log
    assert (log.result, log.ending.stage, log.ending.family) == ("crashed", "stage8_place", "device")
    assert log.ending.block_held is True
    assert played.drops_mm == []
    played.check_at_rest()


def test_a_gripper_that_cannot_be_read_while_it_closes_leaves_the_block_on_the_table(play):
    played = play(**failing_after("stage5", "read_gripper_value", ArmError("no answer"), for_good=False))
    assert (played.log.result, played.log.ending.stage) == ("crashed", "stage5")
    assert played.drops_mm == []
    assert played.truth.block_on_table
    played.check_at_rest()


def test_a_mistake_of_ours_is_written_down_as_a_crash_and_let_out(play):
    played = []
    with pytest.raises(ZeroDivisionError):
        play(**failing_after("stage7_approach_place", "camera", ZeroDivisionError("by nothing")), into=played)
    (ran,) = played
    assert (ran.log.result, ran.log.ending.stage) == ("crashed", "stage7_approach_place")
    assert "ZeroDivisionError: by nothing" in ran.log.ending.reason
    assert ran.log.ending.block_held is True
    assert ran.truth.block_held
    ran.check_at_rest()


def test_a_disk_that_fills_up_holds_the_arm_still_and_the_log_is_recovered(play, monkeypatch):
    full = {"now": False}

    def on(record, switch):
        full["now"] = full["now"] or (isinstance(record, StageStarted) and record.name == "stage8_place")
        if full["now"]:
            raise StorageUnwritable("runs", "no space left on device")

    played = []
    with pytest.raises(StorageUnwritable):
        play(on=on, into=played)
    (ran,) = played
    assert ran.truth.block_held
    assert ran.moved_afterwards_deg < 0.2
    recovered = ran.store.recover("latest")
    assert recovered.recovered
    assert recovered.stages[-1] == "stage8_place"


def test_a_latched_stop_lets_no_trial_begin(play, cell_copy):
    StopLatch(cell_copy).set(by="Maya", why="the cable is loose")
    played = play()
    assert (played.log.result, played.log.stages) == ("refused", ())
    assert "the cable is loose" in played.log.ending.reason
    assert "trialcell stop --clear" in played.log.ending.reason
    assert played.opened_at == []
    played.check_at_rest()


def test_a_stop_latched_under_way_stops_the_trial_where_it_is(play, cell_copy):
    def latch(record, switch):
        if isinstance(record, StageStarted) and record.name == "stage7_approach_place":
            StopLatch(cell_copy).set(by="Maya", why="a hand on the table")

    played = play(on=latch)
    log = played.log
    assert (log.result, log.ending.stage) == ("stopped", "stage7_approach_place")
    assert "a hand on the table" in log.ending.reason
    assert log.ending.block_held is True
    assert played.drops_mm == []
    played.check_at_rest()


@pytest.mark.parametrize("firmware", ["none", pytest.param("new", marks=pytest.mark.slow)])
def test_a_stop_latched_while_the_arm_moves_holds_it_still_there(cell_copy, firmware):
    opened = open_cell(cell_copy, [*QUICK, f"twin.firmware={firmware}"])
    store, switch = RunStore(opened.runs_dir), StopSwitch()
    with build_rig(opened, Request(seed=13), switch=switch, progress=lambda _: None) as rig:

        def latch(record):  # the guard has answered; the motion is sent next
            if isinstance(record, GuardRecord) and record.label == "stage3_approach_pick":
                StopLatch(cell_copy).set(by="Maya", why="a hand on the table")

        log = run_trial(rig.bench, store, switch=switch, observer=latch)
        stood = np.array(rig.twin.truth().angles_deg)
        rig.twin.clock.sleep(3.0)
        later = np.array(rig.twin.truth().angles_deg)
    goal = np.array(log.lookups[0].target_angles)
    assert (log.result, log.ending.stage, log.ending.at_rest) == ("stopped", "stage3_approach_pick", True)
    assert "latched by Maya: a hand on the table" in log.ending.reason
    cut_off = log.moves[-1]
    assert (cut_off.label, cut_off.arrived, cut_off.post_actual) == ("stage3_approach_pick", False, None)
    assert np.abs(later - stood).max() < 0.5
    assert np.abs(later - goal).max() > 5.0, "it went on to its goal"


@pytest.mark.slow
def test_jaws_that_do_not_open_are_told_again_and_then_the_arm_says_that_it_still_holds(play):
    played = play(jams=lambda opening: opening > 1)
    log = played.log
    assert (log.result, log.ending.stage, log.ending.family) == ("crashed", "stage9", "device")
    assert "still hold" in log.ending.reason
    assert log.ending.block_held is True
    assert played.truth.block_on_table, "set down where it was taken, still between the jaws"
    assert not any(move.label.startswith("stage9b") for move in log.moves), "it does not carry the block home"


@pytest.mark.slow
def test_jaws_that_open_at_the_second_telling_let_the_trial_go_on(play):
    played = play(jams=lambda opening: opening in (2, 3))  # the first opens at the start; a release is sent twice
    assert played.log.result == "completed"
    assert played.truth.block_in_box
