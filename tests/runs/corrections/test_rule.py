"""From lessons to a model: the field's rule as the field had it, the robust one better, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.corrections.model import NO_MODEL, CorrectionModel
from runs.corrections.rule import RuleSettings, model_of
from runs.corrections.table import BelongsTo, CorrectionTable, Lesson, Way

FIELD_RULE = RuleSettings(rule="field")
ROBUST = RuleSettings()
FIELD_TARGET = (0.21638682556152344, 0.25895468139648437)
BELONGS = BelongsTo(calibration_hash="c1", table_hash="t1")


def taught(*samples_mm, at=FIELD_TARGET, phase="pick"):
    lessons = [Lesson.of(phase, at, mm, run_id=f"run_{n:04d}", at="t") for n, mm in enumerate(samples_mm)]
    return CorrectionTable(belongs_to=BELONGS).learned(*lessons)


def test_the_fields_correction_gives_the_fields_target():
    dx, dz = -2.7379570007324063, -8.326774597167976
    model = model_of(taught((dx - 1.5, dz), (dx, dz + 2.0), (dx + 1.5, dz - 2.0)), FIELD_RULE)
    target, use = model.apply("pick", FIELD_TARGET)
    assert use.cell_key == "pick_x220_z260"
    assert use.n == 3
    assert use.applied
    assert (round(use.target_before_mm[0], 2), round(use.target_before_mm[1], 2)) == (216.39, 258.95)
    assert (round(use.target_after_mm[0], 2), round(use.target_after_mm[1], 2)) == (219.12, 267.28)
    assert target == pytest.approx((0.21912478256225584, 0.26728145599365233), abs=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_by_the_fields_rule_fewer_than_three_samples_correct_nothing(n):
    target, use = model_of(taught(*[(-3.0, 4.0)] * n), FIELD_RULE).apply("pick", FIELD_TARGET)
    assert target == FIELD_TARGET
    assert not use.applied
    assert use.n == n
    assert use.target_after_mm == use.target_before_mm
    assert (use.dx_mm, use.dz_mm) == ((None, None) if n == 0 else (-3.0, 4.0))


def test_by_the_fields_rule_phases_and_squares_are_apart():
    model = model_of(taught(*[(5.0, 5.0)] * 3), FIELD_RULE)
    assert not model.apply("place", FIELD_TARGET)[1].applied
    assert not model.apply("pick", (FIELD_TARGET[0] + 0.02, FIELD_TARGET[1]))[1].applied
    assert model.apply("pick", (FIELD_TARGET[0] + 0.001, FIELD_TARGET[1]))[1].applied


@pytest.mark.parametrize("rule", [FIELD_RULE, ROBUST], ids=lambda rule: rule.rule)
def test_a_true_offset_is_found_and_kept_also_once_it_is_corrected(rule):
    """Lessons from corrected trials are set off against what was corrected, so nothing drifts back."""
    bias_mm, table = (-4.0, 7.0), CorrectionTable(belongs_to=BELONGS)
    for number in range(12):
        target, use = model_of(table, rule).apply("pick", FIELD_TARGET)
        seen = tuple((target[i] - FIELD_TARGET[i]) * 1000 + bias_mm[i] for i in range(2))
        lesson = Lesson.of("pick", FIELD_TARGET, seen, run_id=f"r{number:02}", at="", applied=use)
        table = table.learned(lesson)
    target, _ = model_of(table, rule).apply("pick", FIELD_TARGET)
    left = [(target[i] - FIELD_TARGET[i]) * 1000 + bias_mm[i] for i in range(2)]
    assert left == pytest.approx([0, 0], abs=0.02)


def test_nothing_learned_corrects_nothing():
    empty = CorrectionTable(belongs_to=BELONGS)
    for model in (model_of(empty, FIELD_RULE), model_of(empty, ROBUST), NO_MODEL):
        assert not model.says_anything
        assert model.apply("pick", FIELD_TARGET)[0] == FIELD_TARGET


@pytest.mark.parametrize("wild", [0.0, 0.25])
@pytest.mark.parametrize("n", [10, 40, 150])
def test_the_robust_rule_is_nearer_than_the_fields_and_than_none(learned, left_over, n, wild):
    table = learned(n, wild=wild)
    off = {rule.rule: left_over(model_of(table, rule)) for rule in (FIELD_RULE, ROBUST)}
    without = left_over(NO_MODEL)
    assert np.median(off["robust"]) < 0.35 * np.median(without)
    assert np.median(off["robust"]) < 0.6 * np.median(off["field"])
    assert off["robust"].max() < 6.0


def test_the_figures_of_the_global_fit_are_those_of_the_arm(learned):
    model = model_of(learned(200), ROBUST)
    found = {one.name: one for one in model.parameters}
    assert abs(found["yaw"].value - 2.0) < 4 * found["yaw"].sd
    assert found["yaw"].sd < 0.2
    assert model.noise_mm == pytest.approx(1.4, abs=0.4)  # a millimetre of noise and the ripple


def test_squares_add_what_the_global_fit_can_not(learned, left_over):
    table = learned(400, noise_mm=0.7)
    whole = model_of(table, ROBUST)
    wide = whole.model_copy(update={"squares": {}})
    assert np.median(left_over(whole)) < 0.7 * np.median(left_over(wide))
    assert all(np.hypot(s.dx_mm, s.dz_mm) <= ROBUST.cap_square_mm + 1e-9 for s in whole.squares.values())


def test_where_squares_do_not_differ_they_add_next_to_nothing(learned):
    model = model_of(learned(200, miss=lambda at: np.array([5.0, -3.0])), ROBUST)
    sizes = [np.hypot(s.dx_mm, s.dz_mm) for s in model.squares.values()]
    assert np.median(sizes) < 0.3


def test_one_wild_square_moves_neither_the_fit_nor_its_neighbours(learned, left_over):
    table = learned(60)
    lie = [Lesson.of("pick", (0.2, 0.16), (25.0, -25.0), run_id=f"lie_{n}", at="t") for n in range(4)]
    before, after = left_over(model_of(table, ROBUST)), left_over(model_of(table.learned(*lie), ROBUST))
    assert np.median(np.abs(after - before)) < 0.3
    assert after.max() < before.max() + ROBUST.cap_square_mm


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1, max_size=12), st.integers(0, 9))
def test_whatever_is_learned_nothing_is_corrected_by_more_than_the_cap(samples, seed):
    rng = np.random.default_rng(seed)
    table = CorrectionTable(belongs_to=BELONGS)
    for n, mm in enumerate(samples):
        at = (float(rng.uniform(0, 0.3)), float(rng.uniform(0.1, 0.3)))
        table = table.learned(Lesson.of("pick", at, mm, run_id=f"r{n:02}", at=""))
    for phase, at in (("pick", (0.2, 0.2)), ("place", (-0.3, 0.3)), ("pick", (0.05, 0.1))):
        target, use = model_of(table, ROBUST).apply(phase, at)
        shift_mm = np.hypot(target[0] - at[0], target[1] - at[1]) * 1000
        assert shift_mm <= ROBUST.cap_mm + 1e-6
        assert use.capped == (shift_mm > ROBUST.cap_mm - 1e-6)


def test_the_same_lessons_in_another_order_give_the_same_model(learned):
    table = learned(30)
    turned = CorrectionTable(belongs_to=table.belongs_to).learned(*reversed(table.lessons))
    assert model_of(turned, ROBUST) == model_of(table, ROBUST)
    assert model_of(turned, ROBUST).content_hash == model_of(table, ROBUST).content_hash


def test_only_the_last_lessons_count(learned):
    old = [Lesson.of("pick", (0.2, 0.2), (20.0, 0.0), run_id=f"a_{n:03}", at="t") for n in range(50)]
    table = learned(60).learned(*old)
    assert model_of(table, ROBUST.model_copy(update={"memory": 60})) == model_of(learned(60), ROBUST)


def pulled(at):
    """A way whose height and first joint act as they do on an arm at the origin under a camera at (0, 0.2)."""
    x, z = at[0] * 1000, at[1] * 1000
    turn, stretch = (-z * np.radians(1), x * np.radians(1)), (z / 60, z / 45)
    return Way(per_joint_mm=(turn, stretch), parallax_mm=(at[0] / 0.9, (at[1] - 0.2) / 0.9))


def test_what_can_not_be_told_apart_is_left_alone_and_named(learned):
    model = model_of(learned(80, way=pulled), ROBUST)
    left = {one.name: one.why for one in model.left_alone}
    assert "scale" in left["height"]
    assert "j0" in left["yaw"]
    assert {"shift_x", "shift_z", "j0", "scale"} <= {one.name for one in model.parameters}


def test_a_few_lessons_that_say_less_of_their_way_take_nothing_from_the_others(learned):
    many, few = learned(60, way=pulled), learned(12, seed=7).lessons
    renamed = [one.model_copy(update={"run_id": f"run_9{k:03}"}) for k, one in enumerate(few)]
    assert model_of(many.learned(*renamed), ROBUST) == model_of(many, ROBUST)
    told = model_of(learned(60).learned(*learned(12, seed=7, way=pulled).lessons), ROBUST)
    assert told.lessons == 72
    assert {one.name: one.why for one in told.left_alone}["j0"] == "not every lesson says what it does"


def test_few_lessons_tell_only_a_shift_and_say_so(learned):
    model = model_of(learned(1), ROBUST)
    assert [one.name for one in model.parameters] == ["shift_x", "shift_z"]
    assert {one.name for one in model.left_alone} == {"yaw", "scale"}
    near = [Lesson.of("pick", (0.2, 0.2 + n / 1e4), (3.0, 1.0), run_id=f"r{n}", at="") for n in range(8)]
    model = model_of(CorrectionTable(belongs_to=BELONGS).learned(*near), ROBUST)
    assert any("near one another" in one.why for one in model.left_alone)


def test_a_joint_that_is_off_is_found_where_it_does_what_nothing_else_can(learned, left_over):
    def way(at):
        return Way(per_joint_mm=((0.0, 0.0), (60 * np.sin(at[0] * 20), 60 * np.cos(at[1] * 25))))

    def miss(at):
        return 0.1 * np.array(way(at).per_joint_mm[1]) + np.array([3.0, 0.0])

    model = model_of(learned(80, miss=miss, way=way), ROBUST)
    joints = {one.name: one for one in model.parameters if one.name.startswith("j")}
    assert abs(joints["j1"].value - 0.1) < 4 * joints["j1"].sd
    assert model.asks_for_way
    assert {one.name: one.why for one in model.left_alone}["j0"].startswith("it does not move the tip")
    off = left_over(model, miss=miss, way=way)
    assert np.median(off) < 0.6


def test_a_model_that_needs_the_way_corrects_nothing_without_it():
    parameter = {"name": "j1", "unit": "deg", "value": 1.0, "sd": 0.1}
    model = CorrectionModel.model_validate({"rule": "robust", "parameters": [parameter], "covariance": [[0.01]]})
    target, use = model.apply("pick", (0.2, 0.2), None)
    assert target == (0.2, 0.2)
    assert not use.applied
    assert model.apply("pick", (0.2, 0.2), Way(per_joint_mm=((0.0, 0.0), (1.0, 2.0))))[1].dz_mm == 2.0


def test_directions_have_squares_of_their_own(learned):
    rng = np.random.default_rng(4)
    lessons = []
    for n in range(120):
        side = ("left", "right")[n % 2]
        dx = 3.0 if side == "left" else -3.0
        mm = (dx + float(rng.normal(0, 0.5)), float(rng.normal(0, 0.5)))
        at = (0.2 + 0.02 * (n % 3), 0.2)
        lessons.append(Lesson.of("pick", at, mm, run_id=f"r{n:03}", at="", way=Way(direction=side)))
    model = model_of(CorrectionTable(belongs_to=BELONGS).learned(*lessons), ROBUST)
    left = model.apply("pick", (0.2, 0.2), Way(direction="left"))[1]
    right = model.apply("pick", (0.2, 0.2), Way(direction="right"))[1]
    assert left.dx_mm > 2.0
    assert right.dx_mm < -2.0
