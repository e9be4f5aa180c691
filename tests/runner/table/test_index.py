"""The index: always the same, whole in its file or refused, mapped as it was saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runner.compiled import compile_now
from runner.config import Config
from runner.kinematics.model import ArmModel
from runner.table.errors import BadIndexFile
from runner.table.index import ARRAYS, Index, build_index, map_index, save_index
from runner.table.postures import hard_limits
from runner.table.rows import ReachTable


@pytest.fixture(scope="module")
def index(small_table: ReachTable, arm: ArmModel, config: Config) -> Index:
    limits = hard_limits(arm, config)
    return build_index(
        small_table.columns, limits.min_deg, limits.max_deg, j1_safe_max_deg=60.0, bound_to={"content_hash": "abc"}
    )


def test_each_usable_row_stands_in_its_bin_with_its_numbers(index: Index, small_table: ReachTable) -> None:
    x0, z0, y0, cell, tall, nx, nz, nb = index.grid
    slot = np.repeat(np.arange(len(index.starts) - 1), np.diff(index.starts))
    x, y, z = index.points.T
    expected = (np.floor((z - z0) / cell) * nx + np.floor((x - x0) / cell)) * nb + np.floor((y - y0) / tall)
    assert np.array_equal(slot, expected)
    assert len(index.starts) == nx * nz * nb + 1
    assert np.array_equal(index.points.T, small_table.columns[:3, index.rows])
    assert np.array_equal(index.joints, small_table.joints_deg)
    start, per_deg = index.scale
    steps = np.floor((index.joints[:, index.rows].T - start) * per_deg)
    assert np.array_equal(index.coarse[:, :6], steps)
    assert not index.coarse[:, 6:].any()
    inside_a_bin = slot[1:] == slot[:-1]
    assert np.all(np.diff(index.rows)[inside_a_bin] > 0)


@pytest.mark.parametrize("n_joints", [1, 6, 9])
@pytest.mark.parametrize("rows", [0, 1, 5, 30_000])
def test_compiled_code_and_numpy_make_the_same_index(rows: int, n_joints: int) -> None:
    if not compile_now("runner.table.sort_kernels"):
        pytest.skip("skipped: no machine code to be had here")
    rng = np.random.default_rng(rows)
    columns = np.round(np.vstack((rng.normal(0, 0.2, (3, rows)), rng.normal(0, 40, (n_joints, rows)))), 2)
    limits = np.full(n_joints, 90.0)
    limits[-1] = 100.0 if n_joints < 9 else np.inf
    for table in (columns, columns[:, : rows // 2], np.repeat(columns, 3, axis=1)):
        table.flags.writeable = False
        made = [build_index(table, -limits, limits, j1_safe_max_deg=30.0, compiled=which) for which in (True, False)]
        for name in ARRAYS:
            one, other = (getattr(index, name) for index in made)
            assert np.array_equal(one, other), name
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name


@pytest.mark.parametrize("compiled", [True, False])
def test_a_joint_without_a_span_and_angles_at_the_limits_have_their_steps(compiled: bool) -> None:
    joints = np.array([[-1.0, 0.3, 1.0, 1.5], [5.0, 5.0, 5.0, 5.0]])
    columns = np.vstack((np.zeros((3, 4)), joints))
    index = build_index(columns, np.array([-1.0, 5.0]), np.array([1.0, 5.0]), j1_safe_max_deg=88.0, compiled=compiled)
    assert index.rows.tolist() == [0, 1, 2]
    assert index.coarse[:, :2].tolist() == [[0, 0], [82, 0], [127, 0]]


def test_every_row_is_counted_once(index: Index, small_table: ReachTable) -> None:
    assert index.n_rows == len(small_table)
    assert len(index.y_outside) == 0
    assert len(index.y_unsafe) == np.count_nonzero(small_table.joints_deg[1] > 60.0) > 0
    assert len(index.rows) == len(index.y_usable)


def test_a_saved_index_is_mapped_as_it_was(index: Index, tmp_path: Path) -> None:
    save_index(tmp_path / "reach.index", index)
    back = map_index(tmp_path / "reach.index")
    for name in ARRAYS:
        assert np.array_equal(getattr(back, name), getattr(index, name))
        assert getattr(back, name).dtype == getattr(index, name).dtype
    assert back.bound_to == {"content_hash": "abc"}
    assert [p.name for p in tmp_path.iterdir()] == ["reach.index"]


@pytest.mark.parametrize("keep", [0, 10, 40, 400, -8])
def test_one_that_is_cut_off_is_refused(index: Index, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "reach.index"
    save_index(path, index)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadIndexFile):
        map_index(path)


def test_one_that_is_missing_or_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadIndexFile, match="no such file"):
        map_index(tmp_path / "reach.index")
    (tmp_path / "reach.index").write_bytes(b"something else" * 100)
    with pytest.raises(BadIndexFile, match="another format"):
        map_index(tmp_path / "reach.index")


def test_one_of_an_older_format_is_refused(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "reach.index"
    save_index(path, index)
    path.write_bytes(path.read_bytes().replace(b"reach index 2", b"reach index 1", 1))
    with pytest.raises(BadIndexFile, match="another format"):
        map_index(path)


def test_a_table_without_usable_rows_has_an_index_too(small_table: ReachTable, tmp_path: Path) -> None:
    none = build_index(small_table.columns, np.full(6, 1.0), np.full(6, -1.0), j1_safe_max_deg=88.0)
    assert (len(none.rows), len(none.y_outside)) == (0, 2000)
    save_index(tmp_path / "reach.index", none)
    assert map_index(tmp_path / "reach.index").n_rows == 2000
