"""The arm's condition in a trial: in the log, rested when it is hot, refused when it is too hot."""

from __future__ import annotations

import pytest

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.schema.run import Note
from runs.store import RunStore


def test_the_log_has_the_arms_figures_at_the_start_after_the_jaws_closed_and_at_the_end(good_trial):
    at = [record.stage for record in good_trial.log.health]
    assert at == ["stage1", "stage5", "end"]
    first, last = good_trial.log.health[0], good_trial.log.health[-1]
    assert first.temperatures_c == (35.0,) * 6
    assert (last.powered, last.error_code, last.reboot_count) == (True, 0, 0)


@pytest.mark.slow
def test_a_hot_arm_is_parked_until_it_has_cooled_and_then_works(play):
    played = play(overrides=["twin.servos_c=57", "arm.rest_until_c=55"])
    log = played.log
    assert log.result == "completed"
    assert [move.label for move in log.moves][:2] == ["stage1_to_rest", "stage1_to_home"]
    assert any("57 °C (rests above 55 °C): parked until it is down to 55 °C" in note.text for note in log.notes)
    rested = next(record for record in log.health if record.stage == "stage1_rested")
    assert max(rested.temperatures_c) <= 55.0
    assert log.duration_s > 60.0


def test_a_rest_can_be_stopped(play):
    def press(record, switch):
        if isinstance(record, Note) and "parked until" in record.text:
            switch.press()

    played = play(overrides=["twin.servos_c=60"], on=press)
    assert (played.log.result, played.log.ending.stage) == ("stopped", "stage1")
    assert played.log.duration_s < 60.0
    played.check_at_rest()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["twin.servos_c=80"], "is at 80 °C (refused above 68 °C)"),
        pytest.param(["twin.servos_c=60", "arm.rest_max_s=20"], "after 0 minutes of rest", marks=pytest.mark.slow),
    ],
)
def test_an_arm_that_is_too_hot_is_refused(play, settings, words):
    played = play(overrides=settings)
    assert (played.log.result, played.log.ending.stage) == ("refused", "stage1")
    assert words in played.log.ending.reason
    played.check_at_rest()


@pytest.mark.slow
def test_a_hot_servo_over_the_wire_is_refused(cell_copy):
    opened = open_cell(cell_copy, ["twin.firmware=new", 'twin.faults=["hot-servo@0"]', "arm.speed_percent=80"])
    switch = StopSwitch()
    with build_rig(opened, Request(seed=3), switch=switch, progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(opened.runs_dir), switch=switch)
    assert log.result == "refused"
    assert "j1 is at 75 °C" in log.ending.reason
