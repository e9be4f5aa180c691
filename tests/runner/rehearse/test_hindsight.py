"""A run's picks tried again: what the log says is what is tried, and what the tip missed by is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.config import with_overrides
from runner.rehearse.hindsight import NothingToRehearse, picks_in, rehearse_again
from runner.rehearse.rehearsal import Rehearsal
from runner.table.cell_tables import open_tables
from runner.twin.profiles import FIELD


def test_a_log_without_a_pick_is_refused_in_a_sentence(rehearsed_log, config):
    empty = rehearsed_log.model_copy(update={"lookups": ()})
    with pytest.raises(NothingToRehearse, match="has no pick to rehearse"):
        list(picks_in(empty, config))


def test_the_attempt_is_as_the_log_has_it_and_a_known_miss_decides(rehearsed_log, prepared_cell, config):
    few = with_overrides(config, ["rehearse.tries=16", "rehearse.choices=2"])
    planner = open_tables(prepared_cell, few).planner(few)
    (pick,) = picks_in(rehearsed_log, few)
    lookup = next(look for look in rehearsed_log.lookups if look.label == "stage3_approach_pick")
    assert (pick.way, pick.target_xz_m, pick.verdict) == (lookup.pose_id, lookup.target_xz_m, "yes")
    assert pick.obstacles.box is not None
    rehearsal = Rehearsal(planner.arm, few, lambda: FIELD)
    same = rehearse_again(pick, planner, rehearsal, choices=2)
    assert same.gone in (0, 1)
    assert same.knowing
    assert same.record.choices[0].picked > 0
    far = rehearse_again(replace(pick, missed_mm=(40.0, 0.0)), planner, rehearsal, choices=2)
    assert far.record.choices[0].picked == 0, "a block 40 mm beside the jaws is not picked"
    before = rehearse_again(replace(pick, missed_mm=(40.0, 0.0)), planner, rehearsal, choices=2, knowing=False)
    assert before.record.choices[0].picked > 0
    assert not before.knowing
