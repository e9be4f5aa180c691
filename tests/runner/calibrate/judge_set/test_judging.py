"""The measuring judge on made sets: never a yes where the truth is no, and seldom unsure."""

from __future__ import annotations

import pytest

from judges.labelled import OpenSet, evidence_of
from judges.measured import MeasuredJudge
from runner.calibrate.judge_set.make import make_set
from runner.config import Config
from runner.rig import detect_settings
from runs.statistics import exact_rate
from vision.calibration.file import load_view

pytestmark = pytest.mark.slow  # a rendered set; the rules behind it have quick tests in tests/judges


def words(opened: OpenSet, *, calibrated: bool = True) -> list[tuple[str, str, str]]:
    """Kind, label and word of every item."""
    settings = detect_settings(Config())
    view = load_view(opened.folder / opened.content.calibration) if calibrated else None
    judge = MeasuredJudge()
    return [
        (item.kind, item.label, judge.judge(evidence_of(opened, item, settings, view)).verdict)
        for item in opened.content.items
    ]


@pytest.mark.parametrize("calibrated", [True, False])
def test_never_a_yes_where_the_truth_is_no(small_set, calibrated):
    told = words(small_set, calibrated=calibrated)
    assert [row for row in told if row[1:] == ("no", "yes")] == []


def test_what_can_be_told_is_told_right(small_set):
    told = words(small_set)
    assert [row for row in told if row[1:] == ("yes", "no")] == []
    plain = {"clean", "at_wall", "in_corner", "with_other", "held", "half_gripped"}
    plain |= {"on_rim", "beside", "near", "stacked", "in_gripper", "not_picked", "pushed", "dropped_beside"}
    unsure = [item.id for item, row in zip(small_set.content.items, told, strict=True) if row[2] == "unsure"]
    answered = {item.id for item in small_set.content.items if item.grip.value is not None and item.kind in plain}
    assert answered.isdisjoint(unsure)


def test_what_nobody_can_tell_is_never_a_yes(small_set):
    """Two blocks of one colour, one in the box; a block under the arm."""
    told = words(small_set)
    assert "yes" not in {word for kind, _, word in told if kind in ("two_blocks", "hidden")}


@pytest.mark.slow
def test_on_two_thousand_scenes_false_success_stays_below_one_percent(tmp_path, calibration, read_grip):
    opened = make_set(tmp_path / "full", Config(), calibration, scenes=2000, seed=2027, read=read_grip)
    told = words(opened)
    failures = [word for _, label, word in told if label == "no"]
    assert exact_rate(failures.count("yes"), len(failures)).high <= 0.01
    assert sum(word == "unsure" for _, _, word in told) <= 0.10 * len(told)
