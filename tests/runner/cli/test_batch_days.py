"""Batches over days: hot servos are rested inside one, a line that drops is connected anew."""

from __future__ import annotations

import pytest

from runs.batch_records import ResetEnded, TrialEnded
from runs.batches import BatchStore


@pytest.fixture
def briefly(quick) -> list[str]:
    """Options that make a batch's trials short."""
    return [arg for setting in quick for arg in ("--set", setting)]


@pytest.mark.slow
def test_hot_servos_are_rested_inside_a_batch_and_their_rest_is_no_work(trialcell, cell_copy, briefly):
    hot = [arg for setting in ("twin.servos_c=57", "arm.rest_until_c=55") for arg in ("--set", setting)]
    told = trialcell("batch", 2, "--workers", 1, *briefly, *hot, "--json", "--cell", cell_copy)
    assert told.code == 0, told.err
    assert told.object["finished"] == told.object["success"]["n"] == 2
    events = BatchStore(cell_copy).find("latest").events()
    first, second = (event for event in events if isinstance(event, TrialEnded))
    assert first.rested_s > 30.0
    assert second.rested_s == 0.0
    assert told.object["rested_s"] == first.rested_s
    worked_s = sum(e.duration_s - e.rested_s for e in events if isinstance(e, TrialEnded | ResetEnded))
    assert told.object["units_per_hour"] == pytest.approx(2 / worked_s * 3600.0)


@pytest.mark.slow
def test_a_line_that_drops_in_each_trial_is_connected_anew_and_nobody_is_called(trialcell, cell_copy, briefly):
    drops = ("twin.firmware=new", "twin.faults=['line-drops@15']", "batch.session=1")
    settings = [arg for setting in drops for arg in ("--set", setting)]
    told = trialcell("batch", 2, "--workers", 1, *briefly, *settings, "--json", "--cell", cell_copy)
    assert told.code == 0, told.err
    assert (told.object["completed"], told.object["crashed"], told.object["calls"]) == (2, 0, [])
    ended = [event for event in BatchStore(cell_copy).find("latest").events() if isinstance(event, TrialEnded)]
    assert [event.faults for event in ended] == [("line-drops",)] * 2, "it had dropped"
