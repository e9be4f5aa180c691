"""The measuring judge on pictures of the twin: yes only where everything agrees, and never against the truth."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from judges.errors import BadEvidence
from judges.measured import MeasuredJudge
from runs.schema.verdict import Word

BOX = (-0.18, 0.20)
JUDGE = MeasuredJudge()


def word_of(evidence) -> Word | None:
    return JUDGE.judge(evidence).verdict


def with_a_second_block(picture, desk):
    """The picture with its block once more, beside the first."""
    x, _, z = desk.truth.block_m
    u, v = desk.twin.view.table_to_pixel((x, z), 0.02).astype(int)
    both = picture.copy()
    both[v - 40 : v + 40, u + 90 : u + 170] = picture[v - 40 : v + 40, u - 40 : u + 40]
    return both


def test_a_block_in_the_box_is_a_yes_that_names_what_was_measured(desk, start_picture, evidence, grip):
    after = desk.picture((-0.17, 0.21), BOX, above_m=0.004)
    assert desk.truth.block_in_box
    verdict = JUDGE.judge(evidence("place", start_picture, after, grip=grip(False)))
    assert verdict.verdict == "yes", verdict
    assert "mm inside the inner walls" in verdict.reason
    assert "gripper is empty" in verdict.reason
    assert 30 < verdict.audit.measurements["inside_by_mm"] < 57
    assert verdict.audit.measurements["blocks_seen"] == 1
    assert len(verdict.audit.image_hashes) == 2
    assert verdict.confidence > 0.8


def test_without_a_calibration_it_measures_in_the_picture_and_is_never_wrong(desk, start_picture, evidence, grip):
    inside = desk.picture((-0.17, 0.21), BOX, above_m=0.004)
    assert word_of(evidence("place", start_picture, inside, grip=grip(False), calibrated=False)) in {"yes", "unsure"}
    outside = desk.picture((0.20, 0.20), BOX)
    assert word_of(evidence("place", start_picture, outside, grip=grip(False), calibrated=False)) in {"no", "unsure"}


@pytest.mark.parametrize("beside_m", [0.045, 0.08, 0.20])
def test_a_block_beside_the_box_is_a_no(desk, start_picture, evidence, grip, beside_m):
    after = desk.picture((BOX[0] + 0.06 + beside_m, BOX[1]), BOX)
    verdict = JUDGE.judge(evidence("place", start_picture, after, grip=grip(False)))
    assert verdict.verdict == "no", verdict
    assert "outside the inner walls" in verdict.reason


def test_a_block_still_at_its_place_was_neither_picked_nor_placed(desk, start_picture, evidence, grip):
    after = desk.picture((0.20, 0.20), BOX)
    assert word_of(evidence("place", start_picture, after, grip=grip(False))) == "no"
    pick = JUDGE.judge(evidence("pick", start_picture, after, grip=grip(False)))
    assert pick.verdict == "no"
    assert "still lies" in pick.reason


def test_a_block_on_the_rim_is_never_a_yes(desk, start_picture, evidence):
    words = set()
    for along in np.linspace(0.048, 0.066, 4):
        after = desk.picture((BOX[0] + along, BOX[1]), BOX, yaws=(0.0, 0.0), above_m=0.044)
        verdict = JUDGE.judge(evidence("place", start_picture, after))
        words.add((desk.truth.block_in_box, verdict.verdict))
    assert all(word != "yes" for in_box, word in words if not in_box)


def test_a_block_that_is_gone_and_a_gripper_that_holds_is_a_picked_block(desk, start_picture, evidence, grip):
    after = desk.picture(None, BOX)
    picked = JUDGE.judge(evidence("pick", start_picture, after, grip=grip(True)))
    assert picked.verdict == "yes"
    assert "the jaws hold something" in picked.reason
    assert word_of(evidence("pick", start_picture, after, grip=grip(False))) == "no"
    assert word_of(evidence("pick", start_picture, after, grip=grip(None))) == "unsure"
    assert word_of(evidence("pick", start_picture, after)) == "unsure"


def test_evidence_that_contradicts_itself_is_unsure(desk, start_picture, evidence, grip):
    still = desk.picture((0.20, 0.20), BOX)
    assert word_of(evidence("pick", start_picture, still, grip=grip(True))) == "unsure"
    inside = desk.picture((-0.18, 0.20), BOX, above_m=0.004)
    assert word_of(evidence("place", start_picture, inside, grip=grip(True))) == "unsure"


def test_no_box_to_be_seen_is_unsure_and_so_is_no_block_without_a_picture_from_before(
    desk, start_picture, evidence, grip
):
    no_box = desk.picture((-0.10, 0.20), None)
    verdict = JUDGE.judge(evidence("place", start_picture, no_box, grip=grip(False)))
    assert verdict.verdict == "unsure"
    assert "no box" in verdict.reason
    no_block = desk.picture(None, BOX)
    assert word_of(evidence("place", None, no_block, grip=grip(False))) == "unsure"


def test_a_box_in_plain_sight_with_nothing_new_in_it_is_a_no(desk, start_picture, evidence, grip):
    verdict = JUDGE.judge(evidence("place", start_picture, desk.picture(None, BOX), grip=grip(False)))
    assert verdict.verdict == "no"
    assert "in plain sight" in verdict.reason


def test_a_box_that_has_gone_elsewhere_is_unsure(desk, start_picture, evidence, grip):
    moved = desk.picture((-0.20, 0.30), (-0.20, 0.30), above_m=0.004)
    assert desk.truth.block_in_box
    verdict = JUDGE.judge(evidence("place", start_picture, moved, grip=grip(False)))
    assert verdict.verdict == "unsure"
    assert "moved" in verdict.reason


@pytest.mark.parametrize("stage", ["pick", "place"])
def test_a_picture_that_shows_nothing_is_unsure_and_says_why(desk, start_picture, evidence, grip, stage):
    inside = desk.picture((-0.18, 0.20), BOX, above_m=0.004)
    for spoiled, why in (
        (np.zeros_like(inside), "dark"),
        (np.full_like(inside, 255), "overexposed"),
        (cv2.GaussianBlur(inside, (0, 0), 25), "blurred"),
    ):
        verdict = JUDGE.judge(evidence(stage, start_picture, spoiled, grip=grip(stage == "pick")))
        assert verdict.verdict == "unsure"
        assert verdict.confidence == 0.0
        assert why in verdict.reason


def test_two_blocks_are_one_too_many_for_a_yes(desk, start_picture, evidence, grip):
    inside = desk.picture((-0.18, 0.20), BOX, above_m=0.004)
    verdict = JUDGE.judge(evidence("place", start_picture, with_a_second_block(inside, desk), grip=grip(False)))
    assert verdict.verdict != "yes", verdict


def test_without_a_picture_from_before_a_pick_is_unsure(desk, start_picture, evidence, grip):
    assert word_of(evidence("pick", None, desk.picture(None, BOX), grip=grip(True))) == "unsure"


def test_a_picture_from_before_without_a_block_proves_no_pick(desk, start_picture, evidence, grip):
    empty = desk.picture(None, BOX)
    assert word_of(evidence("pick", empty, empty, grip=grip(True))) == "unsure"


def test_without_a_picture_from_after_there_is_nothing_to_judge(start_picture, evidence):
    with pytest.raises(BadEvidence, match="no picture from after"):
        JUDGE.judge(evidence("place", start_picture, None))


def never_yes_against_the_truth(desk, before, evidence, grip, seeds):
    """Blocks dropped in, on and round the box at random; yes must be true, and most true ones must be a yes."""
    told = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        box, box_yaw = (float(rng.uniform(-0.24, -0.12)), float(rng.uniform(0.14, 0.26))), float(rng.uniform(-180, 180))
        off = rng.uniform(-0.07, 0.07, 2)
        block = (box[0] + float(off[0]), box[1] + float(off[1]))
        on_wall = np.abs(off).max() > 0.03
        yaws = (float(rng.uniform(-180, 180)), box_yaw)
        start = desk.picture((0.20, 0.20), box, yaws=yaws)
        after = desk.picture(block, box, yaws=yaws, above_m=0.046 if on_wall else 0.004)
        told.append((desk.truth.block_in_box, word_of(evidence("place", start, after, grip=grip(False)))))
    assert not [pair for pair in told if pair == (False, "yes")], told
    true_ones = [word for in_box, word in told if in_box]
    assert true_ones.count("no") == 0, told
    assert true_ones.count("yes") >= 0.6 * len(true_ones), told


@pytest.mark.slow
def test_over_random_places_it_never_says_yes_against_the_truth(desk, start_picture, evidence, grip):
    never_yes_against_the_truth(desk, start_picture, evidence, grip, range(12))


@pytest.mark.slow
def test_over_many_random_places_it_never_says_yes_against_the_truth(desk, start_picture, evidence, grip):
    never_yes_against_the_truth(desk, start_picture, evidence, grip, range(100, 160))
