"""The lookup against a plain brute force: the same row, the same numbers, for every combination of filters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.compiled import compile_now
from runner.config import Config
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, frozen, load_arm
from runner.table.errors import BadQuery
from runner.table.index import build_index
from runner.table.lookup import Lookup
from runner.table.postures import hard_limits
from runner.table.query import Found, Query
from runner.table.record import to_record
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table

SAFE_MAX = 88.0
ARM = load_arm("mecharm270")
LIMITS = JointLimits(frozen(ARM.min_deg + 1.0), frozen(ARM.max_deg - 1.0))


@dataclass(frozen=True)
class Plain:
    """What the brute force says."""

    method: str
    row: int | None
    left: list[int]


def brute_force(rows: list[tuple[float, ...]], limits: JointLimits, q: Query) -> Plain:
    """The rules of the lookup, row by row, in plain Python."""
    left = [len(rows)]
    keep = [i for i, r in enumerate(rows) if q.ee_y_band_m[0] <= r[1] < q.ee_y_band_m[1]]
    left.append(len(keep))
    keep = [
        i
        for i in keep
        if all(lo <= a <= hi for a, lo, hi in zip(rows[i][3:], limits.min_deg, limits.max_deg, strict=True))
    ]
    left.append(len(keep))
    keep = [i for i in keep if rows[i][4] <= SAFE_MAX]
    left.append(len(keep))
    if q.j3_ref is not None:
        tol = 5.0 if q.j3_tol_deg is None else q.j3_tol_deg
        keep = [i for i in keep if abs(rows[i][6] - q.j3_ref) <= tol]
        left.append(len(keep))
    if q.j5_ref is not None:
        tol = 5.0 if q.j5_tol_deg is None else q.j5_tol_deg
        keep = [i for i in keep if abs(rows[i][8] - q.j5_ref) <= tol]
        left.append(len(keep))
    if q.ref_joints is not None and q.joint_tol_deg is not None:
        keep = [
            i
            for i in keep
            if all(abs(a - b) <= q.joint_tol_deg for a, b in zip(rows[i][3:], q.ref_joints, strict=True))
        ]
        left.append(len(keep))
    if not keep:
        return Plain("out_of_range", None, left)
    x, z = q.target_xz_m
    best = min(keep, key=lambda i: ((rows[i][0] - x) ** 2 + (rows[i][2] - z) ** 2, i))
    far = ((rows[best][0] - x) ** 2 + (rows[best][2] - z) ** 2) ** 0.5 > q.dist_max_m
    low = q.place_ee_y_floor is not None and rows[best][1] < q.place_ee_y_floor
    return Plain("out_of_range" if far or low else "fk_nearest", best, left)


def asked(table: ReachTable, *, compiled: bool) -> Lookup:
    """A lookup one way for sure: by machine code, which is waited for, or by NumPy."""
    index = Lookup(table, LIMITS, j1_safe_max_deg=SAFE_MAX).index
    if not compiled:
        return Lookup.over(index, compiled=False)
    if not compile_now("runner.table.kernels"):
        pytest.skip("skipped: no machine code to be had here")
    return Lookup.over(index)


@pytest.fixture(scope="module")
def crowded_table(config: Config) -> ReachTable:
    """Few distinct places and angles, so that ties and exact limits are the rule."""
    rng = np.random.default_rng(4)
    n = 3000
    points = np.stack(
        (rng.integers(-6, 7, n) * 0.01, rng.integers(0, 12, n) * 0.01, 0.15 + rng.integers(0, 8, n) * 0.01), axis=1
    )
    joints = rng.integers(-4, 5, (n, 6)) * 5.0
    joints[:, 1] = rng.choice(
        [20.0, 60.0, 88.0, 88.000001, 119.0, 119.000001, 120.0], n, p=[0.3, 0.3, 0.2, 0.05, 0.05, 0.05, 0.05]
    )
    batch = RowBatch(rows=n, source="test", made_at="2026-01-01T00:00:00+00:00")
    return make_table(points, joints, CellOfTable.of(config), [batch])


@pytest.fixture(scope="module", params=["compiled", "numpy"])
def crowded(
    crowded_table: ReachTable, request: pytest.FixtureRequest
) -> tuple[ReachTable, list[tuple[float, ...]], Lookup]:
    """That table, its rows as plain numbers, and a lookup; both ways to look up."""
    rows = [tuple(float(v) for v in row) for row in crowded_table.columns.T]
    return crowded_table, rows, asked(crowded_table, compiled=request.param == "compiled")


GRID = st.integers(-8, 8).map(lambda i: i * 0.01)
ANGLE = st.integers(-5, 5).map(lambda i: i * 5.0)
MAYBE_TOL = st.none() | st.sampled_from([0.0, 5.0, 7.5, 20.0])


@st.composite
def queries(draw: st.DrawFn) -> Query:
    exact = draw(st.booleans())
    x = draw(GRID) if exact else draw(st.floats(-0.1, 0.1))
    z = 0.15 + (draw(st.integers(-2, 9)) * 0.01 if exact else draw(st.floats(-0.03, 0.1)))
    low = draw(st.integers(0, 11)) * 0.01
    j3_ref, j5_ref = draw(st.none() | ANGLE), draw(st.none() | ANGLE)
    ref = draw(st.none() | st.tuples(ANGLE, st.sampled_from([20.0, 60.0, 88.0]), ANGLE, ANGLE, ANGLE, ANGLE))
    return Query(
        target_xz_m=(x, z),
        ee_y_band_m=(low, low + draw(st.sampled_from([0.01, 0.02, 0.05]))),
        dist_max_m=draw(st.sampled_from([0.0, 0.005, 0.01, 0.03, 1.0])),
        j3_ref=j3_ref,
        j3_tol_deg=draw(MAYBE_TOL) if j3_ref is not None else None,
        j5_ref=j5_ref,
        j5_tol_deg=draw(MAYBE_TOL) if j5_ref is not None else None,
        ref_joints=ref,
        joint_tol_deg=draw(MAYBE_TOL) if ref is not None else None,
        place_ee_y_floor=draw(st.none() | st.sampled_from([0.0, 0.05, 0.07])),
    )


@settings(deadline=None, max_examples=150)
@given(query=queries())
def test_the_lookup_gives_the_row_of_the_brute_force(crowded, query: Query) -> None:  # type: ignore[no-untyped-def]
    _, rows, lookup = crowded
    expected, found = brute_force(rows, LIMITS, query), lookup.find(query, count=True)
    assert found.method == expected.method
    assert found.candidates_left is not None or not found.ok
    if expected.row is None:
        assert found.selected_idx is None
        assert found.candidates_left is not None
        assert list(found.candidates_left.values()) == expected.left
        assert "no candidate" in (found.abort_reason or "")
        return
    row = rows[expected.row]
    assert found.selected_idx == expected.row
    assert found.pose_id == f"fk_row_{expected.row}"
    assert found.joints_deg == row[3:]
    assert (found.ee_xz_m, found.ee_y_m) == ((row[0], row[2]), row[1])
    dx, dz = row[0] - query.target_xz_m[0], row[2] - query.target_xz_m[1]
    assert (found.x_residual_m, found.z_residual_m) == (abs(dx), abs(dz))
    assert found.dist_m == float(np.sqrt(dx * dx + dz * dz))
    if query.ref_joints is not None:
        assert found.max_dj_deg == max(abs(a - b) for a, b in zip(row[3:], query.ref_joints, strict=True))
    if found.candidates_left is not None:
        assert list(found.candidates_left.values()) == expected.left
    assert (found.abort_reason is None) == found.ok


@settings(deadline=None, max_examples=60)
@given(query=queries(), count=st.integers(1, 12))
def test_the_next_rows_are_those_that_are_found_when_the_nearer_ones_are_gone(
    crowded, query: Query, count: int
) -> None:  # type: ignore[no-untyped-def]
    table, rows, lookup = crowded
    found = lookup.next_rows(query, count)
    gone: list[tuple[float, ...]] = list(rows)
    for one in found:
        expected = brute_force(gone, LIMITS, query)
        while expected.method == "out_of_range":  # below the floor: passed over
            assert expected.row is not None
            gone[expected.row] = (*rows[expected.row][:1], 99.0, *rows[expected.row][2:])
            expected = brute_force(gone, LIMITS, query)
        assert one.selected_idx == expected.row
        assert expected.row is not None
        gone[expected.row] = (*rows[expected.row][:1], 99.0, *rows[expected.row][2:])
    assert len(table) == len(rows)


def random_queries(count: int, seed: int) -> Iterator[Query]:
    """Every combination of filters, targets on rows and between them, inside the table and far outside."""
    rng = np.random.default_rng(seed)

    def maybe(share: float, value: object) -> object | None:
        return value if rng.random() < share else None

    for _ in range(count):
        exact = rng.random() < 0.5
        far = 5.0 if rng.random() < 0.1 else 1.0
        x, z = rng.integers(-9, 10) * 0.01, 0.15 + rng.integers(-3, 11) * 0.01
        if not exact:
            x, z = x + rng.normal(0, 0.01), z + rng.normal(0, 0.01)
        low = rng.integers(-1, 12) * 0.01 + (0.0037 if rng.random() < 0.1 else 0.0)
        j3, j5 = maybe(0.5, float(rng.integers(-5, 6) * 5)), maybe(0.5, float(rng.integers(-5, 6) * 5))
        ref = maybe(0.5, (*(float(v) for v in (rng.integers(-4, 5), 12, *rng.integers(-4, 5, 4)) * np.array(5.0)),))
        yield Query(
            target_xz_m=(float(far * x), float(far * z)),
            ee_y_band_m=(float(low), float(low + rng.choice([0.001, 0.01, 0.03, 0.2]))),
            dist_max_m=float(rng.choice([0.0, 0.002, 0.01, 0.03, 0.5, np.inf])),
            j3_ref=j3,  # type: ignore[arg-type]
            j3_tol_deg=None if j3 is None else maybe(0.7, float(rng.choice([0.0, 5.0, 7.5, 30.0]))),  # type: ignore[arg-type]
            j5_ref=j5,  # type: ignore[arg-type]
            j5_tol_deg=None if j5 is None else maybe(0.7, float(rng.choice([0.0, 5.0, 7.5, 30.0]))),  # type: ignore[arg-type]
            ref_joints=ref,  # type: ignore[arg-type]
            joint_tol_deg=None if ref is None else maybe(0.8, float(rng.choice([0.0, 10.0, 20.0, 40.0, 90.0]))),  # type: ignore[arg-type]
            place_ee_y_floor=maybe(0.3, 0.05),  # type: ignore[arg-type]
        )


def filtered(columns: np.ndarray, q: Query) -> tuple[list[int], np.ndarray]:
    """Every filter over every row, with NumPy: rows left after each, and those left in the end."""
    y, joints = columns[1], columns[3:]
    mask = (y >= q.ee_y_band_m[0]) & (y < q.ee_y_band_m[1])
    left = [columns.shape[1], int(mask.sum())]
    steps = [((LIMITS.min_deg <= joints.T) & (LIMITS.max_deg >= joints.T)).all(axis=1), joints[1] <= SAFE_MAX]
    for joint, ref, tol in ((3, q.j3_ref, q.j3_tol_deg), (5, q.j5_ref, q.j5_tol_deg)):
        if ref is not None:
            steps.append(np.abs(joints[joint] - ref) <= (5.0 if tol is None else tol))
    if q.ref_joints is not None and q.joint_tol_deg is not None:
        steps.append((np.abs(joints.T - q.ref_joints) <= q.joint_tol_deg).all(axis=1))
    for step in steps:
        mask &= step
        left.append(int(mask.sum()))
    return left, np.flatnonzero(mask)


def check_against_all_rows(table: ReachTable, lookups: list[Lookup], query: Query) -> bool:
    """The full scan's row and numbers from every lookup; whether there was one."""
    columns = table.columns
    left, rows = filtered(columns, query)
    found = [lookup.find(query, count=True) for lookup in lookups]
    assert all(one == found[0] for one in found[1:])
    one = found[0]
    if one.candidates_left is not None:
        assert list(one.candidates_left.values()) == left
    if not len(rows):
        assert one.selected_idx is None
        assert not one.ok
        return False
    dx, dz = columns[0][rows] - query.target_xz_m[0], columns[2][rows] - query.target_xz_m[1]
    d2 = dx * dx + dz * dz
    best = int(rows[np.argmin(d2)])
    low = query.place_ee_y_floor is not None and columns[1][best] < query.place_ee_y_floor
    assert one.selected_idx == best
    assert one.dist_m == float(np.sqrt(d2.min()))
    assert (one.ee_xz_m, one.ee_y_m, one.joints_deg) == (
        (columns[0][best], columns[2][best]), columns[1][best], tuple(columns[3:, best]),
    )  # fmt: skip
    assert one.ok == (not low and one.dist_m <= query.dist_max_m)
    near = rows[np.sqrt(d2) <= query.dist_max_m]
    if query.dist_max_m < 0.1:
        expected = near[np.lexsort((near, d2[np.sqrt(d2) <= query.dist_max_m]))][:5]
        for lookup in lookups:
            told = [n.selected_idx for n in lookup.next_rows(query, 5)]
            assert told == [r for r in expected if not (query.place_ee_y_floor or -1.0) > columns[1][r]]
    return one.ok


def both_ways(table: ReachTable) -> list[Lookup]:
    return [asked(table, compiled=True), asked(table, compiled=False)]


def test_both_searches_give_the_row_of_the_full_scan(crowded_table: ReachTable) -> None:
    lookups = both_ways(crowded_table)
    ok = sum(check_against_all_rows(crowded_table, lookups, query) for query in random_queries(400, 1))
    assert 40 < ok < 360


@pytest.mark.slow
def test_ten_thousand_questions_give_the_row_of_the_full_scan(
    crowded_table: ReachTable, small_table: ReachTable
) -> None:
    for table, count, seed in ((crowded_table, 8000, 2), (small_table, 2000, 3)):
        lookups = both_ways(table)
        ok = sum(check_against_all_rows(table, lookups, query) for query in random_queries(count, seed))
        assert 0.1 * count < ok < 0.9 * count


def test_more_joints_than_fit_a_word_are_told_apart_too() -> None:
    rng = np.random.default_rng(6)
    columns = np.vstack((np.round(rng.uniform(-0.05, 0.05, (3, 4000)), 2), rng.integers(-3, 4, (9, 4000)) * 10.0))
    index = build_index(columns, np.full(9, -20.0), np.full(9, 30.0), j1_safe_max_deg=SAFE_MAX)
    if not compile_now("runner.table.kernels"):
        pytest.skip("skipped: no machine code to be had here")
    ways = [Lookup.over(index), Lookup.over(index, compiled=False)]
    inside = np.flatnonzero(((columns[3:] >= -20.0) & (columns[3:] <= 30.0)).all(axis=0))
    for tol in (10.0, 20.0, 30.0):
        for row in inside[:20]:
            near = inside[(np.abs(columns[3:, inside] - columns[3:, [row]]) <= tol).all(axis=0)]
            query = Query((0.0, 0.0), (-0.1, 0.1), 1.0, ref_joints=tuple(columns[3:, row]), joint_tol_deg=tol)
            expected = near[np.argmin(columns[0, near] ** 2 + columns[2, near] ** 2)]
            for lookup in ways:
                found = lookup.find(query)
                assert found.selected_idx == expected
                assert lookup.counts(query)["ref_joints"] == len(near)


def test_a_table_without_rows_refuses(config: Config) -> None:
    table = make_table(np.empty((0, 3)), np.empty((0, 6)), CellOfTable.of(config), [])
    query = Query((0.1, 0.2), (0.0, 0.1), 0.03, j3_ref=0.0)
    for lookup in both_ways(table):
        found = lookup.find(query)
        assert (found.ok, found.selected_idx) == (False, None)
        assert found.candidates_left == {
            "rows": 0, "ee_y_band": 0, "joint_limits": 0, "j1_safe_max": 0, "j3_ref": 0,
        }  # fmt: skip
        assert lookup.next_rows(query, 3) == []


def test_targets_far_outside_are_answered(crowded_table: ReachTable) -> None:
    for x, z in ((19.0, 0.0), (-19.0, 19.0), (0.0, -5.0), (0.6, 0.2)):
        for lookup in both_ways(crowded_table):
            found = lookup.find(Query((x, z), (0.0, 0.2), 0.03))
            assert not found.ok
            assert found.selected_idx is not None


def test_many_queries_are_answered_in_order(crowded) -> None:  # type: ignore[no-untyped-def]
    lookup = crowded[2]
    asked = [Query((0.01 * i, 0.2), (0.0, 0.1), 0.03) for i in range(-3, 4)]
    assert [f.selected_idx for f in lookup.find_many(asked)] == [lookup.find(q).selected_idx for q in asked]


def test_a_tie_goes_to_the_lowest_row(arm: ArmModel, config: Config) -> None:
    points = np.tile([0.1, 0.02, 0.2], (7, 1))
    joints = np.zeros((7, 6))
    joints[:, 5] = np.arange(7) * -10.0
    batch = RowBatch(rows=7, source="test", made_at="2026-01-01T00:00:00+00:00")
    table = make_table(points, joints, CellOfTable.of(config), [batch])
    lookup = Lookup(table, hard_limits(arm, config), j1_safe_max_deg=SAFE_MAX)
    assert lookup.find(Query((0.1, 0.2), (0.01, 0.04), 0.03)).selected_idx == 0
    assert lookup.find(Query((0.1, 0.2), (0.01, 0.04), 0.03, j5_ref=-30.0)).selected_idx == 3
    assert [f.selected_idx for f in lookup.next_rows(Query((0.1, 0.2), (0.01, 0.04), 0.03), 3)] == [0, 1, 2]


def test_a_refusal_says_how_far_the_nearest_row_is_and_still_names_it(crowded) -> None:  # type: ignore[no-untyped-def]
    found = crowded[2].find(Query((0.5, 0.2), (0.0, 0.1), 0.03))
    assert found.method == "out_of_range"
    assert "440.0 mm away (allowed 30.0 mm)" in (found.abort_reason or "")
    assert found.selected_idx is not None


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"target_xz_m": (float("nan"), 0.2)}, "x"),
        ({"target_xz_m": (0.1, float("inf"))}, "z"),
        ({"target_xz_m": (200.0, 0.1)}, "x"),
        ({"ee_y_band_m": (0.04, 0.01)}, "ee_y_min"),
        ({"ee_y_band_m": (0.04, float("nan"))}, "ee_y_max"),
        ({"dist_max_m": -0.01}, "dist_max_m"),
        ({"dist_max_m": float("nan")}, "dist_max_m"),
        ({"j3_tol_deg": 5.0}, "j3_tol_deg"),
        ({"j5_tol_deg": 5.0}, "j5_tol_deg"),
        ({"j5_ref": 0.0, "j5_tol_deg": -1.0}, "j5_tol_deg"),
        ({"joint_tol_deg": 15.0}, "joint_tol_deg"),
        ({"ref_joints": (0.0, 0.0), "joint_tol_deg": 15.0}, "ref_joints"),
        ({"ref_joints": (0.0,) * 5 + (float("nan"),)}, "ref_joints"),
        ({"place_ee_y_floor": float("nan")}, "place_ee_y_floor"),
    ],
)
def test_a_wrong_argument_raises_and_is_named(crowded, change: dict[str, object], argument: str) -> None:  # type: ignore[no-untyped-def]
    good = {"target_xz_m": (0.1, 0.2), "ee_y_band_m": (0.01, 0.04), "dist_max_m": 0.03}
    with pytest.raises(BadQuery) as caught:
        crowded[2].find(Query(**{**good, **change}))  # type: ignore[arg-type]
    assert caught.value.argument == argument


def test_an_answer_stands_in_the_log_with_the_fields_keys(crowded) -> None:  # type: ignore[no-untyped-def]
    ref = (0.0, 60.0, 0.0, 0.0, 0.0, 0.0)
    found: Found = crowded[2].find(Query((0.01, 0.2), (0.07, 0.1), 0.03, ref_joints=ref, joint_tol_deg=25.0))
    assert found.ok
    record = to_record(found, label="stage8_place", phase="place_withblock", source_file="reach.parquet")
    assert (record.method, record.pose_id, record.selected_idx) == ("fk_nearest", found.pose_id, found.selected_idx)
    assert record.ref_joints_used == ref
    assert record.joint_tol_deg_used == 25.0
    assert record.ee_y_band_m == (0.07, 0.1)
    assert record.guard_pass
    refused = to_record(
        crowded[2].find(Query((0.5, 0.2), (0.0, 0.1), 0.03)), label="x", phase="pick", source_file="reach.parquet"
    )
    assert not refused.guard_pass
    assert refused.abort_reason == refused.guard_reason
    assert refused.candidates_left is not None
