"""`trialcell twin parity`: a recorded run held against the twin, joint by joint."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm, GuardRules
from runner.config import Config, with_overrides
from runner.twin.setup import build_twin
from runs.schema.run import Ending, Provenance
from runs.store import RunHeader, RunStore

WAY = (
    (-20.0, 20.0, 5.0, 0.0, 25.0, -30.0),
    (-20.0, 45.0, -14.0, 0.0, 18.0, -30.0),
    (-20.0, 20.0, 5.0, 0.0, 25.0, -30.0),
    (48.0, -12.0, 19.0, 0.0, 42.0, -30.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, -30.0),
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, arm, base):
    """A cell with two logs of the same moves: by a twin of the field profile, and with one joint off by more."""
    cell = tmp_path_factory.mktemp("parity")
    config = with_overrides(Config(), ["twin.profile=field", "arm.speed_percent=60"])
    twin = build_twin(config, seed=4711)
    guard = GuardedArm(twin.arm, base, GuardRules.of(arm, config.arm, config.table, config.guard))
    mover = MoveControl(guard, twin.clock, base, config.arm)
    moves = [
        mover.move(f"move{i}", np.array([pose]), tolerance_deg=3.0, correct=i % 2 == 1).record
        for i, pose in enumerate(WAY)
    ]
    twin.close()
    slipped = moves[2].model_copy(
        update={"post_actual": tuple(a + (2.5 if i == 1 else 0.0) for i, a in enumerate(moves[2].post_actual))}
    )
    made_by = Provenance(
        cell_id="desk", code_version="1", arm_kind="twin", arm_model="mecharm270", camera="twin", judge="measured",
        profile="field",
    )  # fmt: skip
    for these in (moves, [*moves[:2], slipped, *moves[3:]], []):
        writer = RunStore(cell / "runs").create(RunHeader(provenance=made_by))
        for move in these:
            writer.add(move)
        writer.finish(Ending(result="completed", stage="stage10", reason="a test"))
    return cell


def test_a_run_of_a_twin_lies_in_the_spread_of_other_twins_and_is_told_move_by_move(trialcell, recorded):
    told = trialcell("twin", "parity", "--cell", recorded, "--log", "1", "--seeds", 5, "--json")
    assert told.code == 0, told.out
    answer = told.object
    assert (answer["profile"], answer["inside"], answer["errors"]) == ("field", True, 30)
    assert answer["inside_own_move"] >= 24
    assert [move["label"] for move in answer["moves"]] == [f"move{i}" for i in range(5)]
    assert max(max(move["beyond_deg"]) for move in answer["moves"]) == 0.0
    assert all(high - low < 5.0 for low, high in zip(answer["low_deg"], answer["high_deg"], strict=True))


@pytest.mark.parametrize(
    ("log", "options"), [("2", ()), pytest.param("1", ("--profile", "perfect"), marks=pytest.mark.slow)]
)
def test_a_joint_that_slipped_or_an_arm_that_sags_is_outside(trialcell, recorded, log, options):
    told = trialcell("twin", "parity", "--cell", recorded, "--log", log, "--seeds", 2, *options)
    assert told.code == 1
    assert "✗" in told.out.splitlines()[3] or options
    assert "is not inside the spread" in told.out


def test_what_can_not_be_compared_is_one_sentence(trialcell, recorded):
    told = trialcell("twin", "parity", "--cell", recorded, "--log", "3", "--seeds", 1)
    assert told.code == 2
    assert "has no move of an arm with 6 joints" in told.err
    assert trialcell("twin", "parity", "--cell", recorded, "--log", "99").code != 0


@pytest.mark.slow
def test_the_field_run_lies_in_the_spread_of_the_field_profile(trialcell, tmp_path, field_log):
    told = trialcell("twin", "parity", "--cell", tmp_path / "none", "--log", field_log, "--seeds", 20, "--json")
    assert told.code == 0, told.out
    answer = told.object
    assert len(answer["moves"]) == 9
    assert answer["inside"] is True
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_the_field_run_is_no_run_of_a_perfect_arm(trialcell, tmp_path, field_log):
    told = trialcell("twin", "parity", "--cell", tmp_path, "--log", field_log, "--profile", "perfect", "--seeds", 4)
    assert told.code == 1
