"""Plans: the same from the same request, starts that can be, pairs that share theirs, files that say what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from math import hypot

import pytest

from runner.batch.plan import NoSuchPlan
from runner.batch.plan_file import places_csv, read_places
from runner.twin.firmware.faults import FAULTS
from runner.twin.starts import footprint, gap_m
from runner.twin.world import Resting
from runs.batches import planned_run_id


def _gap_mm(start) -> float:
    block = footprint(Resting(start.block_xz_m, start.block_yaw_deg), (0.03, 0.03))
    box = footprint(Resting(start.box_xz_m, start.box_yaw_deg), (0.12, 0.12))
    return gap_m(block, box) * 1000.0


@pytest.mark.parametrize("kind", ["random", "halton", "grid"])
def test_a_plan_comes_out_the_same_again_and_other_seeds_give_others(planned, kind):
    assert planned(15, kind=kind) == planned(15, kind=kind)
    assert planned(15, kind=kind).starts != planned(15, kind=kind, seed=2).starts


@pytest.mark.parametrize("kind", ["random", "halton", "grid"])
def test_every_start_can_be_had(planned, config, kind):
    for start in planned(30, kind=kind).starts:
        assert _gap_mm(start) >= config.batch.gap_m * 1000.0 - 1e-6
        assert 0.149 <= hypot(*start.block_xz_m) <= 0.291
        assert start.block_xz_m[0] >= 0.0499
        box = footprint(Resting(start.box_xz_m, start.box_yaw_deg), (0.12, 0.12))
        assert box[:, 1].min() >= config.workspace.z_m[0], "a block in such a box would not be seen"


def test_a_halton_plan_leaves_smaller_holes_than_a_random_one(planned):
    def squares(kind: str) -> int:
        return len({tuple(round(c / 0.05) for c in s.block_xz_m) for s in planned(40, kind=kind).starts})

    assert squares("halton") >= squares("random")


def test_a_grid_plan_tries_every_place_about_as_often(planned):
    counts = Counter(start.block_xz_m for start in planned(60, kind="grid").starts)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_box_stays_for_a_session_and_moves_after_it(planned):
    plan = planned(12, settings={"session": 4})
    boxes = [start.box_xz_m for start in plan.starts]
    assert [len(set(boxes[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(boxes)) == 3
    assert [start.session for start in plan.starts] == [0] * 4 + [1] * 4 + [2] * 4


def test_faults_are_drawn_in_about_the_share_that_was_asked_for_and_the_same_again(planned, config):
    def plan(share: float, firmware: str = "new"):
        twin = config.twin.model_copy(update={"firmware": firmware})
        return planned(300, settings={"fault_share": share}, of=config.model_copy(update={"twin": twin})).starts

    assert plan(0.1) == plan(0.1)
    drawn = [start.fault for start in plan(0.1) if start.fault]
    assert 15 <= len(drawn) <= 45
    assert set(drawn) <= set(FAULTS)
    assert len(set(drawn)) > 8
    assert not any(start.fault for start in plan(0.0))
    with pytest.raises(NoSuchPlan, match="driven through its firmware"):
        plan(0.1, firmware="none")


def test_a_round_is_whole_sessions(planned):
    plan = planned(25, settings={"session": 4, "round": 10})
    by_session = {start.session: start.round for start in plan.starts}
    assert list(by_session.values()) == [0, 0, 0, 1, 1, 1, 2]
    assert all(start.round == by_session[start.session] for start in plan.starts)


def test_a_and_b_share_their_starts_in_random_order(planned):
    plan = planned(40, settings_a=("trial.corrections=true",), settings_b=("trial.corrections=false",))
    assert len(plan.starts) == 80
    firsts = Counter()
    for a, b in zip(plan.starts[::2], plan.starts[1::2], strict=True):
        assert {a.arm, b.arm} == {"A", "B"}
        same = ("pair", "seed", "block_xz_m", "block_yaw_deg", "box_xz_m", "session", "round")
        assert all(getattr(a, name) == getattr(b, name) for name in same)
        firsts[a.arm] += 1
    assert min(firsts.values()) >= 10


def test_a_plan_goes_through_its_file_unchanged(planned, tmp_path):
    plan = planned(9)
    path = tmp_path / "starts.csv"
    path.write_text(places_csv(plan), encoding="utf-8")
    again = planned(9, kind="file", places=read_places(path))
    assert [s.model_dump() for s in again.starts] == [s.model_dump() for s in plan.starts]


def test_a_short_file_is_gone_through_again(planned, tmp_path):
    path = tmp_path / "starts.json"
    path.write_text(json.dumps({"starts": [{"x_m": 0.2, "z_m": 0.1, "yaw_deg": 30}, {"x_m": 0.1, "z_m": 0.2}]}))
    plan = planned(5, kind="file", places=read_places(path))
    assert [start.block_xz_m for start in plan.starts] == [(0.2, 0.1), (0.1, 0.2)] * 2 + [(0.2, 0.1)]
    assert plan.starts[0].block_yaw_deg == 30


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("none.csv", None, "can't read"),
        ("a.csv", "x_m,z_m\n", "names no starts"),
        ("a.csv", "x_m,z_m,colour\n0.2,0.1,red\n", "unknown key 'colour'"),
        ("a.csv", "x_m,z_m\n0.2,nan\n", "start 1: z_m is no number"),
        ("a.csv", "x_m,z_m\n0.2,0.1\n0.2,\n", "start 2: x_m or z_m is missing"),
        ("a.json", "{", "no JSON"),
        ("a.json", '[{"x_m": true, "z_m": 0.1}]', "x_m is no number"),
        ("a.json", '[{"x_m": 0.2, "z_m": 0.1, "seed": 1.5}]', "whole number"),
        ("a.json", '[{"x_m": 0.2, "z_m": 0.1, "box_x_m": -0.2}]', "go together"),
    ],
)
def test_a_file_that_is_no_plan_says_what_is_wrong(tmp_path, name, text, why):
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(NoSuchPlan, match=why):
        read_places(path)


def test_a_start_off_the_table_or_in_the_box_is_refused(planned):
    from runner.batch.plan import Place

    with pytest.raises(NoSuchPlan, match=r"at \(2, 0.1\) m"):
        planned(1, kind="file", places=(Place((2.0, 0.1)),))
    with pytest.raises(NoSuchPlan, match="box"):
        planned(1, kind="file", places=(Place((0.2, 0.2), box_xz_m=(0.21, 0.2)),))


def test_run_ids_come_from_the_plan(planned):
    plan = planned(3)
    assert [planned_run_id(plan, i) for i in range(3)] == [f"run_000{i}_20260703_132310" for i in (1, 2, 3)]
