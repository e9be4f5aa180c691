"""The table of lessons: keys of squares, before and after, nothing learned from nonsense."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.corrections.table import SQUARE_MM, BelongsTo, CorrectionTable, Lesson, cell_key

HERE = BelongsTo(calibration_hash="c1", table_hash="t1", profile="field")
FIELD_TARGET = (0.21638682556152344, 0.25895468139648437)
metres = st.floats(-0.5, 0.5)


def lesson(sample_mm, at=FIELD_TARGET, phase="pick", run=0, **more):
    return Lesson.of(phase, at, sample_mm, run_id=f"run_{run:04d}", at="2026-07-01T00:00:00Z", **more)


def taught(*samples_mm, **where):
    lessons = [lesson(sample, run=number, **where) for number, sample in enumerate(samples_mm)]
    return CorrectionTable(belongs_to=HERE).learned(*lessons)


def parts(key):
    match = re.fullmatch(r"(pick|place)_x(-?\d+)_z(-?\d+)", key)
    assert match
    return match[1], int(match[2]), int(match[3])


@pytest.mark.parametrize(
    ("phase", "xz_m", "key"),
    [
        ("pick", FIELD_TARGET, "pick_x220_z260"),
        ("place", (-0.18184228515625, 0.22888117980957032), "place_x-180_z220"),
        ("pick", (0.21, 0.23), "pick_x220_z240"),
        ("pick", (-0.21, 0.03), "pick_x-220_z40"),
        ("pick", (0.01, -0.01), "pick_x20_z-20"),
        ("pick", (0.00999, -0.00999), "pick_x0_z0"),
        ("pick", (0.29, 0.31), "pick_x300_z320"),
    ],
)
def test_keys_are_the_nearest_multiple_with_halves_away_from_zero(phase, xz_m, key):
    assert cell_key(phase, xz_m) == key


@given(metres, metres)
def test_a_key_is_never_farther_than_half_a_square(x_m, z_m):
    _, x_mm, z_mm = parts(cell_key("pick", (x_m, z_m)))
    assert x_mm % SQUARE_MM == z_mm % SQUARE_MM == 0
    assert abs(x_mm - x_m * 1000) <= SQUARE_MM / 2 + 1e-6
    assert abs(z_mm - z_m * 1000) <= SQUARE_MM / 2 + 1e-6


@given(metres, metres)
def test_a_point_mirrored_has_the_mirrored_key(x_m, z_m):
    _, x_mm, z_mm = parts(cell_key("place", (x_m, z_m)))
    assert parts(cell_key("place", (-x_m, -z_m))) == ("place", -x_mm, -z_mm)


@given(st.integers(-25, 25), st.integers(-25, 25), st.floats(-9.999, 9.999), st.floats(-9.999, 9.999))
def test_all_of_a_square_has_the_key_of_its_centre(column, row, dx_mm, dz_mm):
    x_mm, z_mm = column * SQUARE_MM, row * SQUARE_MM
    inside = ((x_mm + dx_mm) / 1000, (z_mm + dz_mm) / 1000)
    assert cell_key("pick", inside) == f"pick_x{x_mm}_z{z_mm}"


@given(st.integers(0, 24))
def test_a_half_goes_away_from_zero_whatever_the_metres_round_to(n):
    half_m = (n * SQUARE_MM + SQUARE_MM / 2) / 1000
    assert cell_key("pick", (half_m, -half_m)) == f"pick_x{(n + 1) * SQUARE_MM}_z{-(n + 1) * SQUARE_MM}"


@pytest.mark.parametrize("bad", [(math.nan, 0.2), (0.2, math.inf)])
def test_a_point_that_is_none_has_no_key(bad):
    with pytest.raises(ValueError, match="no point on the table"):
        cell_key("pick", bad)


def test_learning_says_before_and_after_and_leaves_the_old_table_alone():
    old = taught((1.0, 2.0), (3.0, 4.0))
    more = lesson((5.0, 9.0), run=9)
    change, new = old.change(more), old.learned(more)
    assert change.before == (2.0, 3.0, 2)
    assert change.after == (3.0, 5.0, 3)
    assert change.sample_mm == (5.0, 9.0)
    assert old.mean_mm(change.cell_key) == (2.0, 3.0, 2)
    assert new.mean_mm(change.cell_key) == (3.0, 5.0, 3)
    assert old.content_hash != new.content_hash


@pytest.mark.parametrize("sample", [(math.nan, 0.0), (0.0, -math.inf)])
def test_a_measurement_that_is_none_teaches_nothing(sample):
    with pytest.raises(ValueError, match="no measurement"):
        lesson(sample)


def test_a_place_that_is_none_teaches_nothing():
    with pytest.raises(ValueError, match="no point"):
        lesson((1.0, 1.0), at=(math.nan, 0.2))


def test_the_hash_is_that_of_the_content_not_of_the_order_of_squares():
    def at(*points):
        return CorrectionTable(belongs_to=HERE).learned(*[lesson((1.0, 1.0), at=(x_m, 0.2)) for x_m in points])

    assert at(0.1, 0.2).content_hash == at(0.2, 0.1).content_hash
    assert at(0.1, 0.2).content_hash != at(0.1, 0.3).content_hash


def test_lessons_stand_by_run_and_none_is_taken_twice():
    first, second = lesson((1.0, 1.0), run=1), lesson((2.0, 2.0), run=2, at=(0.1, 0.1))
    table = CorrectionTable(belongs_to=HERE).learned(second, first)
    assert table.lessons == [first, second]
    assert table.missing_from([second, lesson((3.0, 3.0), run=3), first]) == [lesson((3.0, 3.0), run=3)]


def test_what_a_table_belongs_to_has_a_key_of_its_own_and_says_what_differs():
    others = {
        "calibration": HERE.model_copy(update={"calibration_hash": "c2"}),
        "reach table": HERE.model_copy(update={"table_hash": "t2"}),
        "profile": HERE.model_copy(update={"profile": "perfect"}),
        "tool": HERE.model_copy(update={"tool": "longer"}),
    }
    assert len({HERE.key, *(other.key for other in others.values())}) == 5
    for word, other in others.items():
        assert HERE.unlike(other) == [word]


def test_a_lesson_knows_what_was_corrected_when_it_was_taken():
    was = Lesson(
        run_id="r", at="t", phase="pick", xz_m=(0.2, 0.2), tip_minus_block_mm=(-0.9, -13.0), applied_mm=(-2.7, -8.3)
    )
    assert was.uncorrected_mm == pytest.approx((-3.6, -21.3))
