"""Rows as CSV: out and in without losing a bit, and every usual mistake refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from runner.table.csv_file import export_csv, import_csv, read_base_poses, read_rows
from runner.table.errors import BadRows, BadTableFile, NoSuchFile, WrongTable
from runner.table.format import write_table
from runner.table.rows import ReachTable, column_names
from runner.table.stamp import FileStamp

HEADER = "ee_x,ee_y,ee_z,j0,j1,j2,j3,j4,j5"
Columns = dict[str, np.ndarray]


def csv_with(path: Path, table: ReachTable, change: Callable[[Columns], object]) -> Path:
    """Fifty of the table's rows with something wrong."""
    columns = dict(zip(column_names(6), table.columns[:, :50].copy(), strict=True))
    change(columns)
    lines = [",".join(columns)]
    lines += [
        ",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_csv_in_the_fields_order_goes_out_and_in_without_losing_a_bit(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / "rows.csv"
    export_csv(path, small_table)
    assert path.read_text().splitlines()[0] == HEADER
    back = import_csv(path, small_table.cell)
    assert back.content_hash == small_table.content_hash
    assert [batch.source for batch in back.batches] == ["csv rows.csv"]
    plain = np.loadtxt(path, delimiter=",", skiprows=1)  # what anybody else reads
    assert np.array_equal(plain.T, small_table.columns)


def test_the_order_of_columns_is_told_by_the_header(tmp_path: Path, small_table: ReachTable) -> None:
    def turned(columns: Columns) -> None:
        columns["ee_x"] = columns.pop("ee_x")

    path = csv_with(tmp_path / "a.csv", small_table, turned)
    assert path.read_text().startswith("ee_y,")
    assert np.array_equal(import_csv(path, small_table.cell).columns, small_table.columns[:, :50])


def scaled(factor: float, *names: str) -> Callable[[Columns], None]:
    def change(columns: Columns) -> None:
        for name in names:
            columns[name] *= factor

    return change


def put(name: str, row: int, value: float) -> Callable[[Columns], None]:
    def change(columns: Columns) -> None:
        columns[name][row] = value

    return change


JOINTS = tuple(f"j{i}" for i in range(6))


def both(columns: Columns) -> None:
    scaled(np.pi / 180, *JOINTS)(columns)
    scaled(1000.0, "ee_x", "ee_y", "ee_z")(columns)


def moved(columns: Columns) -> None:
    columns["ee_y"] += 0.0086


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.pop("j4"), "no column j4; wanted: one header line"),
        (lambda c: c.update(speed=c["j0"]), "a column that no table has: 'speed'"),
        (put("ee_y", 6, np.nan), r"row 7: ee_y is missing or not a finite number \(1 such rows"),
        (put("j2", 8, np.inf), "row 9: j2 is missing"),
        (scaled(np.pi / 180, *JOINTS), "the angles are radians by the look of them; give degrees"),
        (scaled(1000.0, "ee_x", "ee_y", "ee_z"), "the points are millimetres by the look of them; give metres"),
        (both, "millimetres and radians"),
        (moved, r"off by \(\+0.0, \+8.6, \+0.0\) mm: it was made for another place of the base"),
        (scaled(-1.0, "j1"), "mm from where mecharm270 with this tool has them"),
        (put("j1", 8, 170.0), "the points of 1 of 50 rows are .* this is the first"),
    ],
)
def test_a_mistake_is_refused_by_name(
    tmp_path: Path, small_table: ReachTable, change: Callable[[Columns], object], words: str
) -> None:
    with pytest.raises(BadRows, match=words):
        import_csv(csv_with(tmp_path / "a.csv", small_table, change), small_table.cell)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        (f"{HEADER}\n0.1,0.1,0.1,1,1,1,1,1,-4", "its last line has no end, so it may be cut off"),
        (f"{HEADER}\n", "it has no rows"),
        (f"{HEADER}\n1,2\n", "a line has another number of fields"),
        (f"{HEADER}\n" + ",".join(["0.1"] * 9) + "\n1,2,3\n", "a line has another number of fields"),
        (f"{HEADER}\n" + ",".join(["0.1"] * 8 + ["left"]) + "\n", "a number can't be read"),
        (HEADER.replace("j5", "j4") + "\n" + ",".join(["0.1"] * 9) + "\n", "no column j5"),
        (HEADER + ",j5\n" + ",".join(["0.1"] * 10) + "\n", "a column stands there twice"),
        (HEADER.replace(",", ";") + "\n", "no column ee_x"),
    ],
)
def test_a_file_that_is_no_such_csv_is_refused(tmp_path: Path, small_table: ReachTable, text: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(BadRows, match=words):
        import_csv(path, small_table.cell)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path, small_table: ReachTable) -> None:
    with pytest.raises(NoSuchFile):
        import_csv(tmp_path / "none.csv", small_table.cell)
    (tmp_path / "b.csv").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(BadRows):
        import_csv(tmp_path / "b.csv", small_table.cell)
    with pytest.raises(BadRows):
        import_csv(tmp_path, small_table.cell)


def test_another_copy_of_a_table_is_read_by_its_name(tmp_path: Path, small_table: ReachTable) -> None:
    write_table(tmp_path / "copy.parquet", small_table)
    assert read_rows(tmp_path / "copy.parquet", small_table.cell).batches == small_table.batches
    with pytest.raises(WrongTable):
        read_rows(tmp_path / "copy.parquet", small_table.cell.model_copy(update={"tool_roll_deg": 1.0}))
    with pytest.raises(NoSuchFile):
        read_rows(tmp_path / "none.parquet", small_table.cell)
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "copy.parquet").read_bytes()[:-100])
    with pytest.raises(BadTableFile):
        read_rows(tmp_path / "cut.parquet", small_table.cell)


def test_base_poses_are_read_beside_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "bases.csv"
    path.write_text("size,j0,j1,j2,j3,j4,j5,note\n7,1,2,3,4,5,6,left\n3,-1,-2,-3,-4,-5,-6,right\n")
    assert read_base_poses(path, 6).tolist() == [[1, 2, 3, 4, 5, 6], [-1, -2, -3, -4, -5, -6]]
    for text, words in (
        ("size,j0\n1,2\n", "no column j1"),
        ("j0,j1,j2,j3,j4,j5\n", "it has no base poses"),
        ("j0,j1,j2,j3,j4,j5\n1,2,3\n", "an angle can't be read"),
        ("j0,j1,j2,j3,j4,j5\n1,2,3,4,5,nan\n", "not finite"),
    ):
        path.write_text(text)
        with pytest.raises(BadRows, match=words):
            read_base_poses(path, 6)


def test_a_stamp_changes_with_whatever_writes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    stamp = FileStamp.of(path.stat())
    assert FileStamp.of(path.stat()) == stamp
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "b").replace(path)
    assert FileStamp.of(path.stat()) != stamp
