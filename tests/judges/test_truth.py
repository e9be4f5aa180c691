"""The truth as a judge: what the twin says, for each stage its own fact."""

from __future__ import annotations

import pytest

from judges.truth import TruthJudge


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("in_box", [True, False])
def test_a_pick_is_about_the_gripper_and_a_place_about_the_box(evidence, start_picture, held, in_box):
    judge = TruthJudge(lambda: held, lambda: in_box)
    pick, place = (judge.judge(evidence(stage, start_picture, start_picture)) for stage in ("pick", "place"))
    assert (pick.verdict, place.verdict) == ("yes" if held else "no", "yes" if in_box else "no")
    assert ("not" in pick.reason) != held
    assert ("not" in place.reason) != in_box


def test_it_asks_the_twin_at_the_moment_of_judging(desk, evidence, start_picture):
    judge = TruthJudge(lambda: desk.truth.block_held, lambda: desk.truth.block_in_box)
    desk.picture((0.20, 0.20), (-0.18, 0.20))
    assert judge.judge(evidence("place", start_picture, start_picture)).verdict == "no"
    desk.picture((-0.18, 0.20), (-0.18, 0.20), above_m=0.004)
    assert judge.judge(evidence("place", start_picture, start_picture)).verdict == "yes"
