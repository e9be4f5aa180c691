"""What is chosen among ways that were tried, why, and what the record says of it."""

from __future__ import annotations

import pytest

from runner.config import with_overrides
from runner.rehearse.rehearsal import chosen_of, why_chosen
from runs.schema.rehearsal import Choice
from runs.statistics import exact_rate


def way(name: str, picked: int, tries: int, *, room: float = 3.0, takes: float = 5.0) -> Choice:
    return Choice(
        name=name,
        row=None,
        tilt_deg=50.0,
        heading_deg=0.0,
        ahead_mm=0.0,
        askew_deg=0.0,
        target_m=(0.2, 0.02, 0.1),
        tries=tries,
        picked=picked,
        low=exact_rate(picked, tries).low,
        margin_mm=room,
        pushed_mm=0.0,
        takes_s=takes,
    )


def test_the_highest_lower_bound_wins_not_the_highest_rate():
    choices = [way("own", 15, 20), way("lucky", 3, 3), way("sound", 19, 20)]
    assert chosen_of(choices) == 2
    assert (
        why_chosen(choices, 2)
        == "picked 19 of 20 (at least 75% at 95 %), the planner's own way 15 of 20 (at least 51%)"
    )


def test_of_equals_the_one_with_more_room_wins_then_the_quicker_then_the_planners():
    room = [way("own", 20, 20), way("roomy", 20, 20, room=4.5)]
    assert chosen_of(room) == 1
    assert "more room beside the block: 4.5 mm against 3.0 mm" in why_chosen(room, 1)
    quick = [way("own", 20, 20), way("slow", 20, 20, takes=9.0), way("quick", 20, 20, takes=4.0)]
    assert chosen_of(quick) == 2
    assert "in less time: 4.0 s against 5.0 s" in why_chosen(quick, 2)
    alike = [way("own", 20, 20), way("other", 20, 20)]
    assert chosen_of(alike) == 0
    assert why_chosen(alike, 0).startswith("the planner's own way picked 20 of 20")


def test_every_way_is_tried_and_the_record_says_all_of_it(rehearsed, place, settings):
    record = rehearsed.record
    assert [choice.name for choice in record.choices] == [plan.lookups[0].pose_id for plan in place.plans[:3]]
    assert record.tries == sum(choice.tries for choice in record.choices) <= settings.rehearse.tries
    assert all(0 <= choice.picked <= choice.tries >= 4 for choice in record.choices)
    assert record.choices[chosen_of(record.choices)].name == record.chosen
    assert rehearsed.plan.lookups[0].pose_id == record.chosen
    assert record.why == why_chosen(record.choices, chosen_of(record.choices))
    chosen = next(choice for choice in record.choices if choice.name == record.chosen)
    assert (len(rehearsed.outcomes.picked), int(rehearsed.outcomes.picked.sum())) == (chosen.tries, chosen.picked)
    assert record.motion_s <= 5.0
    assert record.doubt["block_mm"] == (5.0, 5.0)
    assert not record.cut_short


def test_a_rehearsal_can_be_repeated_to_the_digit(rehearse, rehearsed):
    again = rehearse().record
    assert again.model_copy(update={"wall_s": 0.0}) == rehearsed.record.model_copy(update={"wall_s": 0.0})


def test_out_of_time_it_decides_by_what_it_has(rehearse, settings):
    hasty = with_overrides(settings, ["rehearse.limit_s=0.000001", "arm.kind=mycobot-tcp"])
    record = rehearse(hasty, policy="always").record
    assert record.cut_short
    (own,) = record.choices
    assert (own.name, own.tries) == (record.chosen, record.tries)


def test_no_wall_clock_decides_in_the_twin(rehearse, rehearsed, settings):
    hasty = with_overrides(settings, ["rehearse.limit_s=0.000001"])
    record = rehearse(hasty, policy="always").record
    assert (record.cut_short, record.choices) == (False, rehearsed.record.choices)


@pytest.mark.slow
def test_more_doubt_means_fewer_picks(rehearse, settings):
    sure, unsure = (
        rehearse(with_overrides(settings, ["rehearse.tries=96", f"rehearse.block_sd_mm={mm}"])).record
        for mm in (0.5, 9)
    )
    assert sure.choices[0].picked / sure.choices[0].tries > 0.9
    assert unsure.choices[0].picked / unsure.choices[0].tries < 0.85
