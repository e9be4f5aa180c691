"""What people see of corrections: squares, what changed, points in time by name."""

from __future__ import annotations

import pytest

from runs.corrections.history import HistoryLine, State
from runs.corrections.overview import changes, point_of, squares
from runs.corrections.rule import RuleSettings, model_of
from runs.corrections.table import CorrectionTable, Lesson
from runs.errors import NoSuchPoint

LINES = [
    HistoryLine(seq=n, at=f"2026-07-0{day}T12:00:0{n}.000Z", kind="learned", by="r", belongs_to=None, code_version="1")
    for n, day in ((1, 1), (2, 1), (3, 2), (4, 4))
]


@pytest.mark.parametrize(
    ("text", "seq"),
    [
        ("now", 4),
        ("now-1", 3),
        ("now-4", 0),
        ("0", 0),
        ("3", 3),
        ("2026-07-01", 2),
        ("2026-07-03", 3),
        ("2026-07-02T12:00:03", 3),
        ("2026-07-02 12:00", 3),
        ("2026-07-02T12:00:02Z", 2),
        ("2026-06-30", 0),
        ("2027-01-01", 4),
    ],
)
def test_a_point_is_a_line_or_a_time(text, seq):
    assert point_of(text, LINES) == seq


@pytest.mark.parametrize("text", ["", "5", "now-5", "now+1", "-1", "yesterday", "2026-13-01", "x" * 300])
def test_a_point_that_is_none_is_refused(text):
    with pytest.raises(NoSuchPoint, match="has no point"):
        point_of(text, LINES)


def table(here, *lessons):
    made = [Lesson.of("pick", at, mm, run_id=f"r{n}", at="") for n, (at, mm) in enumerate(lessons)]
    return CorrectionTable(belongs_to=here).learned(*made)


def test_squares_say_mean_count_spread_and_whether_they_are_applied(here):
    two = table(here, ((0.2, 0.2), (2.0, 0.0)), ((0.2, 0.2), (4.0, 0.0)), ((0.1, 0.2), (1.0, 1.0)))
    plain = {each.key: each for each in squares(two, None)}
    assert plain["pick_x200_z200"].n == 2
    assert plain["pick_x200_z200"].dx_mm == 3.0
    assert plain["pick_x200_z200"].spread_mm == 1.0
    assert plain["pick_x100_z200"].spread_mm is None
    assert not any(each.applied for each in plain.values())
    model = model_of(two, RuleSettings(rule="field", enough=2))
    assert {each.key: each.applied for each in squares(two, model)} == {"pick_x100_z200": False, "pick_x200_z200": True}


def test_what_changed_is_told_and_what_did_not_is_not(here):
    rule = RuleSettings(rule="field", enough=1)
    old = table(here, ((0.2, 0.2), (2.0, 0.0)), ((0.1, 0.2), (1.0, 1.0)))
    new = old.learned(
        Lesson.of("pick", (0.2, 0.2), (8.0, 0.0), run_id="r8", at=""),
        Lesson.of("pick", (0.26, 0.2), (1.0, 0.0), run_id="r9", at=""),
    )
    states = State(table=old), State(table=new)
    found = changes(*states, (model_of(old, rule), model_of(new, rule)))
    assert [(each.key, each.moved_mm) for each in found] == [("pick_x200_z200", 3.0), ("pick_x260_z200", 1.0)]
    assert found[1].before is None
