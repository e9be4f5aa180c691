"""A rehearsal within a trial: when it is held, what it changes, what the log says of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runner.geometry import Clearance, obstacles_of
from runner.rehearse.rehearsal import Rehearsal
from runner.table.cell_tables import open_tables
from runner.table.errors import NoPlan, NoWay
from runner.table.plan import Planner
from runner.trial.stages.rehearse import doubts_about
from runner.twin.errors import PhysicsDiverged
from runs.schema.detection import BlockDetection
from runs.schema.motion import MoveRecord, Skipped

FEW = ("rehearse.tries=16", "rehearse.choices=2")


def test_without_the_policy_nothing_is_rehearsed(good_trial):
    assert good_trial.log.rehearsals == ()
    assert good_trial.log.foretold == ()
    assert all(tip.beside_mm is None for tip in good_trial.log.tip_measurements)


def test_the_chosen_way_is_the_one_that_is_gone(rehearsed_log):
    log = rehearsed_log
    (record,) = log.rehearsals
    chosen = next(choice for choice in record.choices if choice.name == record.chosen)
    approach, reach = (next(x for x in log.lookups if x.label == at) for at in ("stage3_approach_pick", "stage4_pick"))
    assert approach.pose_id == record.chosen
    assert reach.pose_id == chosen.row
    assert reach.refined.target_m == pytest.approx(chosen.target_m)
    assert (record.policy, record.attempt) == ("always", 1)


def test_the_forecast_stands_beside_what_came(rehearsed_log):
    log = rehearsed_log
    (told,) = log.foretold
    assert told.verdict == log.pick_attempts[0].verdict
    chosen = next(choice for choice in log.rehearsals[0].choices if choice.name == log.rehearsals[0].chosen)
    assert told.rate == pytest.approx((chosen.picked + 0.5) / (chosen.tries + 1), abs=1e-4)
    tip = log.tip_measurements[0]
    assert told.seen_tip_mm == pytest.approx((tip.diff.dx_mm, tip.diff.dz_mm))
    move = next(m for m in log.moves if m.label == "stage4_pick")
    assert told.read_left_deg == move.post_max_delta_deg
    assert told.read_opening_mm == pytest.approx(told.opening_mm, abs=2.0)


def test_what_was_aimed_beside_on_purpose_is_no_miss(rehearsed_log):
    (tip,), (record,) = rehearsed_log.tip_measurements, rehearsed_log.rehearsals
    ahead = next(choice.ahead_mm for choice in record.choices if choice.name == record.chosen)
    beside = np.array(tip.beside_mm or (0.0, 0.0))
    assert np.hypot(*beside) == pytest.approx(ahead)
    assert np.array(tip.missed_mm) == pytest.approx(np.array((tip.diff.dx_mm, tip.diff.dz_mm)) - beside)


@pytest.mark.slow
def test_a_twin_that_breaks_down_leaves_the_planners_own_way(play, monkeypatch):
    def broken(*_, **__):
        raise PhysicsDiverged(1.0, "made up")

    monkeypatch.setattr(Rehearsal, "pick", broken)
    played = play(overrides=['rehearse.policy="always"'], dry_run=True)
    assert played.log.rehearsals == ()
    assert any("not rehearsed" in note.text and "made up" in note.text for note in played.log.notes)


def test_a_fit_that_is_damaged_hurts_only_the_rehearsal(play, cell_copy):
    (cell_copy / "calibration" / "drive.json").write_text("{", encoding="utf-8")
    log = play(overrides=['rehearse.policy="always"', *FEW], dry_run=True).log
    assert log.rehearsals == ()
    assert any("not rehearsed" in note.text and "drive.json" in note.text for note in log.notes)
    assert "stage6" in log.stages


def test_ways_to_which_no_path_leads_are_not_tried_and_end_no_trial(play, monkeypatch):
    whole, own = Planner.plan_transfer, []

    def only_to_the_planners_own(planner, start_deg, goal_deg, obstacles):
        if own and not np.array_equal(goal_deg, own[0]):
            raise NoWay("an invented wall stands there", tried=1)
        return whole(planner, start_deg, goal_deg, obstacles)

    def choices(planner, first, *args, _of=Planner.pick_choices, **how):
        own.append(first.path_deg[0])
        return _of(planner, first, *args, **how)

    monkeypatch.setattr(Planner, "plan_transfer", only_to_the_planners_own)
    monkeypatch.setattr(Planner, "pick_choices", choices)
    log = play(
        overrides=['rehearse.policy="always"', *FEW], dry_run=True, on=lambda record, _: _forget(own, record)
    ).log
    (record,) = log.rehearsals
    assert [choice.name for choice in record.choices] == [record.chosen]
    assert "stage6" in log.stages


def _forget(own: list, record: object) -> None:
    if getattr(record, "label", None) == "stage3_approach_pick" and isinstance(record, MoveRecord):
        own.clear()


@pytest.mark.slow
def test_no_plan_for_another_way_leaves_the_planners_own(play, monkeypatch):
    def none_left(*_, **__):
        raise NoPlan("pick", (0.1, 0.1), "made up", next_step="none")

    monkeypatch.setattr(Planner, "pick_choices", none_left)
    log = play(overrides=['rehearse.policy="always"', *FEW], dry_run=True).log
    assert log.rehearsals == ()
    assert any("not rehearsed" in note.text and "made up" in note.text for note in log.notes)
    assert "stage6" in log.stages


def test_an_ordinary_pick_is_in_no_doubt_and_each_doubt_is_said(prepared_cell, config, base):
    planner = open_tables(prepared_cell, config).planner(config)

    def doubts(at=(0.14, 0.16), attempt=1, spread_mm=0.4, **known) -> list[str]:
        obstacles = obstacles_of(config, block_xz_m=at, block_yaw_deg=45.0)
        plan = replace(planner.plan_pick(at, 45.0, obstacles), **known)
        block = BlockDetection(
            centre_px=(600.0, 300.0),
            angle_px_deg=0.0,
            size_px=(40.0, 40.0),
            outline_px=(),
            score=1.0,
            colour="red",
            touches_border=False,
            spread_mm=spread_mm,
            xz_m=at,
        )
        return list(doubts_about(plan, at, block, base, attempt))

    assert doubts() == []
    assert doubts(attempt=2) == ["attempt 2"]
    assert doubts(spread_mm=3.0) == ["the block was seen in places 3.0 mm apart"]
    assert doubts(askew_deg=-8.0) == ["the jaws come 8° askew"]
    assert doubts(skipped=(Skipped(pose_id="p", reason="r"),) * 5) == ["5 postures were skipped"]
    assert doubts(clearance=Clearance(5.0, "pad", "box", 0)) == ["5 mm beside the box"]
    assert "288 mm from the arm's axis" in doubts(at=(0.16, 0.24))


@pytest.mark.slow
def test_on_doubt_an_ordinary_pick_is_not_rehearsed_and_a_far_one_is(play, make_cell_copy):
    policy = ['rehearse.policy="on-doubt"', *FEW]
    easy = play(overrides=policy, block_xz_m=(0.14, 0.16), dry_run=True)
    assert easy.log.rehearsals == ()
    far = play(cell=make_cell_copy("far"), overrides=policy, block_xz_m=(0.16, 0.24), dry_run=True)
    (record,) = far.log.rehearsals
    assert "mm from the arm's axis" in record.because
    assert record.policy == "on-doubt"
