"""The reach table's file from the command line: scan, merge, verify, import, export, history, and one quick lookup."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runner.cli import main as main_module
from runner.cli.quick import answered
from runner.config import Config
from runner.kinematics.ik.protocol import JointLimits
from runner.table.format import read_table, write_table
from runner.table.known import known_table
from runner.table.postures import arm_of
from runner.table.rows import CellOfTable, RowBatch, make_table
from runner.table.scan import sample


@pytest.fixture
def cell(tmp_path: Path, trialcell) -> Path:
    """A cell with a small table and nothing else."""
    folder = tmp_path / "cell"
    assert trialcell("init", "--cell", folder).code == 0
    arm, base = arm_of(Config())
    rows = sample(3000, arm, base, limits=JointLimits.of(arm, margin_deg=1.0), seed=4)
    batch = RowBatch(rows=3000, source="test", made_at="2026-01-01T00:00:00+00:00")
    write_table(folder / "reach.parquet", make_table(rows.points_m, rows.joints_deg, CellOfTable.of(Config()), [batch]))
    return folder


def test_a_scan_is_merged_and_told_row_by_row(trialcell, cell):
    args = (
        "table",
        "scan",
        "--cell",
        cell,
        "--merge",
        "--around",
        "5,30,-30,0,50,-30",
        "--around",
        "5,30,-30,0,50,-28",
    )
    small = ("--joints", "4,5", "--offsets-deg", "-2,0,2")
    told = trialcell(*args, *small, "--json")
    assert told.code == 0, told.err
    assert (told.object["scanned"], told.object["new"], told.object["duplicate"]) == (18, 12, 6)
    assert told.object["rows"] == 3012
    assert [b["offered"] for b in told.object["batches"]] == [None, 9, 9]
    again = trialcell(*args, *small)
    assert "0 new rows, 18 were there already" in again.out


def test_base_poses_come_from_a_file(trialcell, cell, tmp_path):
    bases = tmp_path / "bases.csv"
    bases.write_text("j0,j1,j2,j3,j4,j5\n0,30,-30,0,50,-30\n20,30,-30,0,50,-30\n")
    told = trialcell(
        "table", "scan", "--cell", cell, "--merge", "--bases", bases, "--joints", "1", "--offsets-deg", "0,5", "--json"
    )
    assert told.code == 0, told.err
    assert told.object["new"] == 4
    assert told.object["batches"][-1]["source"] == "scan 2^1 of j1 0…5° round 20,30,-30,0,50,-30"


def test_rows_go_out_and_come_in_again_to_the_last_bit(trialcell, cell, tmp_path):
    before = read_table(cell / "reach.parquet")
    csv = tmp_path / "out" / "rows.csv"
    assert trialcell("table", "export", csv, "--cell", cell).code == 0
    merged = trialcell("table", "merge", csv, "--cell", cell, "--json")
    assert merged.object["added"] == [{"file": str(csv), "rows": 3000, "new": 0, "duplicate": 3000}]
    assert trialcell("table", "import", csv, "--cell", cell).code == 0
    after = read_table(cell / "reach.parquet")
    assert after.content_hash == before.content_hash
    assert after.batches[0].source == "csv rows.csv"


def test_history_tells_what_was_there_before(trialcell, cell, tmp_path):
    assert trialcell("table", "scan", "--cell", cell, "--merge", "--sample", 10).code == 0
    told = trialcell("table", "history", "--cell", cell, "--json")
    assert [batch["source"] for batch in told.object["now"]["batches"]] == [
        "test",
        "sample of 10 poses, evenly, seed 0",
    ]
    assert [old["rows"] for old in told.object["archive"]] == [3000]
    kept = Path(told.object["archive"][0]["file"])
    assert trialcell("table", "import", kept, "--cell", cell, "--json").object["rows"] == 3000
    kept.write_bytes(b"spoiled")
    for_people = trialcell("table", "history", "--cell", cell)
    assert for_people.code == 0
    assert "can't be used" in for_people.out


def test_copies_that_grew_apart_are_noticed(trialcell, cell, tmp_path):
    copy = tmp_path / "copy.parquet"
    shutil.copy(cell / "reach.parquet", copy)
    assert trialcell("table", "verify", cell / "reach.parquet", copy, "--cell", cell).code == 0
    assert trialcell("table", "scan", "--cell", cell, "--merge", "--sample", 25).code == 0
    told = trialcell("table", "verify", cell / "reach.parquet", copy, "--cell", cell, "--json")
    assert told.code == 1
    assert told.object["difference"]["rows_only_a"] == 25
    assert told.object["difference"]["rows_only_b"] == 0
    assert all(report["sound"] for report in told.object["copies"])
    for_people = trialcell("table", "verify", cell / "reach.parquet", copy, "--cell", cell)
    assert "only in the first: 25 rows" in for_people.out
    assert max(map(len, for_people.out.splitlines())) <= 110


def test_a_table_of_another_tool_is_not_sound_here(trialcell, cell, tmp_path):
    other = CellOfTable.of(Config()).model_copy(update={"tool_roll_deg": 0.0})
    mine = read_table(cell / "reach.parquet")
    write_table(tmp_path / "other.parquet", make_table(mine.columns[:3].T, mine.joints_deg.T, other, mine.batches))
    told = trialcell("table", "verify", tmp_path / "other.parquet", "--cell", cell)
    assert told.code == 3
    assert "tool roll deg is 0.0, not 30.0" in told.out
    merged = trialcell("table", "merge", tmp_path / "other.parquet", "--cell", cell)
    assert merged.code == 3
    assert "was made for another cell" in merged.err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("merge", "none.csv"), 2, "there is no such file: none.csv"),
        (("import", "cut.csv"), 2, "a line has another number of fields"),
        (("import", "radians.csv"), 2, "the angles are radians"),
        (("merge", "cut.parquet"), 3, "cut off or not Parquet"),
        (("export", "rows.txt"), 2, "rows go out as CSV"),
        (("export", "radians.csv/rows.csv"), 4, "can't write"),
        (("verify", "none.parquet"), 2, "there is no reach table yet"),
        (("scan", "--merge"), 2, "--merge adds a scan of yours"),
        (("scan", "--around", "1,2"), 2, "has 6 joints"),
        (("scan", "--around", "0,0,0,0,0,900"), 2, "none of them is inside the joint limits"),
        (("scan", "--around", "1,2,3,4,5,6", "--joints", "1.5"), 2, "--joints wants numbers of joints"),
        (("scan", "--bases", "none.csv"), 2, "there is no such file"),
        (("lookup", "--x", "200", "--z", "0.1"), 2, "give metres, not mm"),
        (("lookup", "--x", "0.2", "--z", "0.1", "--phase", "approach_pick", "--j3-ref", "1"), 2, "--j3-ref is for the"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_table_stays(trialcell, cell, tmp_path, monkeypatch, args, code, words):
    monkeypatch.chdir(tmp_path)
    before = (cell / "reach.parquet").read_bytes()
    table = read_table(cell / "reach.parquet")
    rows = table.columns[:, :30].T.copy()
    header = "ee_x,ee_y,ee_z,j0,j1,j2,j3,j4,j5"
    np.savetxt("cut.csv", rows, delimiter=",", header=header, comments="")
    Path("cut.csv").write_text(Path("cut.csv").read_text()[:-40] + "\n")
    rows[:, 3:] = np.radians(rows[:, 3:])
    np.savetxt("radians.csv", rows, delimiter=",", header=header, comments="")
    Path("cut.parquet").write_bytes(before[:-50])
    told = trialcell("table", *args, "--cell", cell)
    assert told.code == code, told.err
    assert words in told.err
    assert "Traceback" not in told.err
    assert (cell / "reach.parquet").read_bytes() == before
    assert not (cell / "archive").exists() or not list((cell / "archive").iterdir())


def test_a_plain_lookup_is_answered_without_the_parser_and_as_the_parser_would(trialcell, cell, monkeypatch):
    args = ("table", "lookup", "--x", "0.15", "--z=0.15", "--ee-y-min", "0", "--ee-y-max", "0.3", "--json")
    first = trialcell(*args, "--cell", cell, "--dist-max-m", "0.1")
    assert first.object["method"] == "fk_nearest"
    assert known_table(cell / "reach.parquet", cell / "cell.toml") is not None
    quick = trialcell(*args, "--cell", cell, "--dist-max-m", "0.1")
    monkeypatch.setattr(main_module, "answered", lambda _: None)
    parsed = trialcell(*args, "--cell", cell, "--dist-max-m", "0.1")
    assert first.object == quick.object == parsed.object
    (cell / "reach.index.json").unlink()
    assert trialcell(*args, "--cell", cell, "--dist-max-m", "0.1").object == first.object


@pytest.mark.parametrize(
    "args",
    [
        ("runs", "list"),
        ("table", "lookup"),
        ("table", "lookup", "--x", "0.1"),
        ("table", "lookup", "--x", "a", "--z", "0.1"),
        ("table", "lookup", "--x", "0.1", "--z"),
        ("table", "lookup", "--x", "0.1", "--x", "0.2", "--z", "0.1"),
        ("table", "lookup", "--x", "0.1", "--z", "0.1", "--help"),
        ("table", "lookup", "--x", "0.1", "--z", "0.1", "--ee_y_min", "0"),
        ("table", "lookup", "0.1", "--z", "0.1"),
    ],
)
def test_what_is_not_plain_goes_to_the_parser(args):
    assert answered(args) is None


LOADED = """
import sys
from runner.cli.main import run
code = run(sys.argv[1:])
print(code, sorted({"pydantic", "pyarrow", "scipy", "numba", "cv2", "mujoco", "filelock"} & set(sys.modules)))
"""


def test_a_lookup_loads_numpy_and_little_else(trialcell, cell):
    args = ["table", "lookup", "--x", "0.15", "--z", "0.15", "--ee-y-max", "0.3", "--cell", str(cell), "--json"]
    trialcell(*args)
    done = subprocess.run([sys.executable, "-c", LOADED, *args], capture_output=True, text=True, check=True)
    code, loaded = done.stdout.splitlines()[-1].split(" ", 1)
    assert (int(code), loaded) in ((0, "[]"), (3, "[]"))
