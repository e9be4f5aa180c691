"""The arm puts the block back by itself, says what it did, and gives up with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from runner.batch.ends import reset_ended_of
from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.reset import Goal, Reset, run_reset
from runner.trial.stop import StopSwitch
from runner.twin.setup import Twin
from runner.twin.world import Resting, Truth
from runs.check import check_log
from runs.store import RunStore

QUICK = (
    "arm.speed_percent=80",
    "arm.send_wait_s=0.1",
    "gripper.wait_s=1.3",
    "gripper.pre_release_wait_s=0",
    "camera.captures=1",
    "camera.settle_s=0.3",
)
BOX, GOAL = (-0.19, 0.12), Goal((0.2, 0.1), 30.0, tolerance_mm=15.0, tolerance_deg=20.0)


@dataclass(frozen=True)
class Done:
    reset: Reset
    truth: Truth
    store: RunStore

    @property
    def off_mm(self) -> float:
        return GOAL.off_mm((self.truth.block_m[0], self.truth.block_m[2]))


@pytest.fixture
def reset_from(cell_copy):
    """`reset_from(lambda twin: …)` puts things somewhere, lets the arm put the block to the goal."""

    def play(arrange: Callable[[Twin], Any], **how: Any) -> Done:
        opened, switch = open_cell(cell_copy, (*QUICK, *how.pop("overrides", ()))), StopSwitch()
        store = RunStore(cell_copy / "resets")
        with build_rig(opened, Request(seed=5), switch=switch, progress=lambda _: None) as rig:
            rig.twin.reset(5, block_xz_m=(0.1, 0.2), block_yaw_deg=10.0, box_xz_m=BOX, box_yaw_deg=20.0)
            arrange(rig.twin)
            reset = run_reset(rig.bench, store, GOAL, attempts=how.pop("attempts", 2), switch=switch, **how)
            rig.twin.clock.sleep(1.0)
            return Done(reset, rig.twin.truth(), store)

    return play


def test_a_block_in_the_box_is_put_to_its_start(reset_from):
    done = reset_from(lambda twin: twin.world.put_block(Resting((BOX[0] + 0.01, BOX[1] - 0.01), 50.0), above_m=0.004))
    assert done.reset.done
    assert done.reset.moved
    assert done.off_mm < 15.0
    assert GOAL.off_deg(done.truth.block_yaw_deg) < 20.0
    assert done.reset.off_mm == pytest.approx(done.off_mm, abs=2.0), "what is told is what is"
    assert done.truth.block_on_table
    assert check_log(done.reset.log.run_id, done.store).valid
    stages = [stage.name for stage in done.reset.log.stage_records]
    assert stages == ["reset_start", "reset_look", "reset_approach", "reset_pick", "reset_place", "reset_look"]


@pytest.mark.slow
def test_a_hot_arm_is_rested_before_a_reset_and_the_rest_is_told_apart(reset_from):
    hot = ("twin.servos_c=57", "arm.rest_until_c=55")
    done = reset_from(lambda twin: twin.world.put_block(Resting((0.205, 0.098), 32.0)), overrides=hot)
    assert done.reset.done
    ended = reset_ended_of(done.reset, 3)
    assert 30.0 < ended.rested_s < ended.duration_s


def test_a_block_that_lies_there_already_is_left_alone(reset_from):
    done = reset_from(lambda twin: twin.world.put_block(Resting((0.205, 0.098), 32.0)))
    assert done.reset.done
    assert not done.reset.moved
    assert not [move for move in done.reset.log.moves if move.label == "reset_pick"]


def test_a_block_out_of_reach_is_not_pushed_about(reset_from):
    before = (0.10, 0.40)
    done = reset_from(lambda twin: twin.world.put_block(Resting(before, 0.0)))
    assert not done.reset.done
    assert done.reset.log.ending.result == "refused"
    assert "reach" in done.reset.log.ending.reason
    assert np.hypot(*np.subtract(done.truth.block_m, (before[0], 0.015, before[1]))[[0, 2]]) < 0.002
    assert done.reset.log.ending.at_rest


def test_goals_know_a_quarter_turn_for_the_same():
    assert GOAL.off_deg(120.0) == pytest.approx(0.0)
    assert GOAL.off_deg(-15.0) == pytest.approx(45.0)
    assert GOAL.is_met((0.21, 0.1), 30.0)
    assert not GOAL.is_met((0.2, 0.12), 30.0)
    assert not GOAL.is_met((0.2, 0.1), 60.0)
