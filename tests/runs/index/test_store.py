"""The index follows the folders, whatever happens to either."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs.errors import StorageUnwritable
from runs.index import columns, scan
from runs.index import store as index_store
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.index.store import RunIndex, runs_dir_of
from runs.rulings import rule
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore

ROOT = Path(__file__).resolve().parents[3]


def everything(cell):
    with ManyRuns([cell]) as many:
        many.refresh()
        return {row["run_id"]: row for row in many.listed(Selection(), size=10_000).rows}


def rebuilt(cell):
    shutil.rmtree(cell / "runs" / ".index")
    return everything(cell)


def test_it_is_made_once_and_then_found_current(made):
    index = RunIndex(made / "runs")
    assert index.refresh().how == "rebuilt"
    assert (index.refresh().how, index.refresh(full=True).changed) == ("current", 0)


def test_new_changed_ruled_and_deleted_runs_are_followed(made):
    store = RunStore(made / "runs")
    before = everything(made)
    rule(store, "3", "place", "no", by="Ada", reason="on the rim")
    rule(store, "3", "place", "unsure", by="Ada", reason="can't tell")
    shutil.rmtree(store.find("4").folder)
    writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    log = store.find("5").folder / "run.json"
    log.write_text(log.read_text().replace('"profile":"field"', '"profile":"other"').replace('"perfect"', '"other"'))
    after = everything(made)
    assert after[store.find("3").run_id]["place_word"] == "unsure"
    assert len(after) == len(before)
    assert after[writer.run_id]["result"] == "running"
    assert after[store.find("5").run_id]["profile"] == "other"
    writer.close()
    assert everything(made)[writer.run_id]["result"] == "interrupted"
    store.recover(writer.run_id)
    assert everything(made)[writer.run_id]["result"] == "crashed"
    assert everything(made) == rebuilt(made)


def test_a_running_trial_is_followed_event_by_event(tmp_path):
    store = RunStore(tmp_path / "cell" / "runs")
    writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    writer.stage_started("stage1")
    assert everything(tmp_path / "cell")[writer.run_id]["result"] == "running"
    writer.finish(Ending(result="completed", stage="stage10", reason="in the box"))
    assert everything(tmp_path / "cell")[writer.run_id]["result"] == "completed"


@pytest.mark.parametrize("harm", ["gone", "cut", "garbage", "no note", "other version", "note lies", "seen cut"])
def test_a_damaged_index_is_made_again(made, harm):
    good = everything(made)
    folder = made / "runs" / ".index"
    note = json.loads((folder / "current.json").read_text())
    base = folder / note["base"][0]
    if harm == "gone":
        base.unlink()
    elif harm == "cut":
        base.write_bytes(base.read_bytes()[:5000])
    elif harm == "garbage":
        base.write_bytes(os.urandom(100_000))
    elif harm == "no note":
        (folder / "current.json").write_text("{")
    elif harm == "other version":
        (folder / "current.json").write_text(json.dumps({**note, "columns": "0"}))
    elif harm == "note lies":
        (folder / "current.json").write_text(json.dumps({**note, "base": ["../../../other.parquet"]}))
    else:
        (folder / note["seen"]).write_bytes(b"\x92")
    assert everything(made) == good


def test_deleting_it_loses_nothing(made):
    good = everything(made)
    assert rebuilt(made) == good


def test_many_small_changes_are_folded_into_the_bulk(made, generator, monkeypatch):
    everything(made)
    store = RunStore(made / "runs")
    for number in range(1, 40):
        rule(store, str(number), "pick", "no", by="Ada", reason="slipped")
        if number % 10 == 0:
            everything(made)
    assert everything(made) == rebuilt(made)


def test_processes_make_the_same_as_one(made, monkeypatch):
    good = everything(made)
    monkeypatch.setattr(scan, "ENOUGH_FOR_PROCESSES", 10)
    index = RunIndex(made / "runs")
    index.rebuild(processes=2)
    assert len(index.files().base) == 8
    assert everything(made) == good


def test_a_broken_run_among_others_is_named_and_stops_nothing(made):
    store = RunStore(made / "runs")
    names = [store.find(str(number)).run_id for number in (10, 11, 12)]
    (made / "runs" / names[0] / "run.json").write_text("{")
    shutil.rmtree(made / "runs" / names[1])
    (made / "runs" / names[1]).write_text("a file in its place")
    (made / "runs" / names[2] / "run.json").unlink()
    with ManyRuns([made]) as many:
        many.refresh()
        broken = many.unreadable()
        assert [row["run_id"] for row in broken] == names
        assert all(row["problem"] for row in broken)
        assert many.listed(Selection()).total == 120


@pytest.mark.parametrize(
    ("was", "is_now"),
    [('"seed":', '"seed":1000000000000000000000'), ('"started_at":"2026', '"started_at":"the summer of 2026')],
)
def test_a_figure_that_no_column_can_hold_is_named_and_stops_nothing(made, was, is_now):
    run = RunStore(made / "runs").find("20")
    log = run.folder / "run.json"
    log.write_text(log.read_text().replace(was, is_now, 1))
    with ManyRuns([made]) as many:
        many.refresh()
        broken = many.unreadable()
        assert [row["run_id"] for row in broken] == [run.run_id]
        assert "out of bounds" in broken[0]["problem"]
        assert many.listed(Selection()).total == 120


def test_a_folder_with_an_odd_number_or_time_stops_nothing(made):
    runs = made / "runs"
    store = RunStore(runs)
    odd = ("run_99999999999_20260101_000000", "run_999999999999999_20260101_000000")
    shutil.copytree(store.find("20").folder, runs / odd[0])
    (runs / odd[1]).mkdir()
    (runs / f"run_{'9' * 40}_20260101_000000").mkdir()  # that is no run's name
    beginning, grey = store.find("21").folder / "run.json", store.find("22").folder / "run.json"
    was = json.loads(beginning.read_text())["started_at"]
    beginning.write_text(beginning.read_text().replace(was, "0001-01-01T00:00:00+14:00"))
    log = json.loads(grey.read_text())
    log["vlm_captures"] = []
    log["verdicts"][0]["audit"]["measurements"] = {"mean_level": int("9" * 400)}
    grey.write_text(json.dumps(log))
    rows = everything(made)
    assert len(rows) == 122
    assert rows[odd[0]]["number"] == 99_999_999_999
    assert rows[odd[1]]["state"] == "unreadable"
    early = rows[store.find("21").run_id]
    assert (early["state"], early["started"], early["started_at"][:4]) == ("complete", None, "0001")
    assert "out of bounds" in rows[store.find("22").run_id]["problem"]
    assert everything(made) == rebuilt(made)


def test_many_processes_at_once_are_safe(made):
    code = (
        "import sys; from pathlib import Path\n"
        "from runs.index.questions import ManyRuns\nfrom runs.index.select import Selection\n"
        "for _ in range(2):\n"
        "    with ManyRuns([Path(sys.argv[1])]) as many:\n"
        "        many.refresh(); assert many.listed(Selection()).total == 120\n"
        "        many.indexes[0].rebuild(); assert many.listed(Selection()).total == 120\n"
    )
    command = [sys.executable, "-c", code, str(made)]
    with ThreadPoolExecutor(2) as pool:
        done = list(
            pool.map(lambda _: subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False), range(2))
        )
    assert [each.returncode for each in done] == [0, 0], done[0].stderr + done[1].stderr


def test_a_folder_that_can_not_be_written_is_answered_all_the_same(made, monkeypatch):
    good = everything(made)
    shutil.rmtree(made / "runs" / ".index")
    (made / "runs" / ".index").write_text("no folder can be made here")
    assert everything(made) == good
    assert (made / "runs" / ".index").is_file()


def test_beyond_many_runs_only_what_was_touched_is_looked_at(made, monkeypatch):
    monkeypatch.setattr(index_store, "MANY_RUNS", 10)
    monkeypatch.setattr(index_store, "_SETTLED_NS", 0)
    index = RunIndex(made / "runs")
    index.refresh()
    looked = []
    monkeypatch.setattr(index_store, "look", lambda folder: looked.append(folder) or scan.look(folder))
    assert index.refresh().how == "current"
    assert not looked
    store = RunStore(made / "runs")
    rule(store, "3", "place", "no", by="Ada", reason="on the rim")
    assert index.refresh().changed == 1
    time.sleep(0.05)  # longer than a tick of the file system's clock
    index.refresh()
    rule(store, "3", "place", "yes", by="Ada", reason="no, inside")
    assert index.refresh().changed == 1
    assert everything(made)[store.find("3").run_id]["place_word"] == "yes"


def test_a_run_that_was_never_recovered_does_not_cost_a_look_at_all_the_others(made, monkeypatch):
    monkeypatch.setattr(index_store, "MANY_RUNS", 10)
    monkeypatch.setattr(index_store, "_SETTLED_NS", 0)
    monkeypatch.setattr(scan, "_TICK_NS", 0)
    store = RunStore(made / "runs")
    writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    index = RunIndex(made / "runs")
    index.refresh()
    index.refresh()
    looked = []
    monkeypatch.setattr(index_store, "look", lambda folder: looked.append(folder) or scan.look(folder))
    assert (index.refresh().how, looked) == ("current", [])
    writer.stage_started("stage1")
    assert (index.refresh().changed, len(looked)) == (1, 1)
    writer.close()  # nothing is written, and it is cut off now
    assert index.refresh().changed == 1
    assert everything(made)[writer.run_id]["result"] == "interrupted"
    looked.clear()
    assert (index.refresh().how, looked) == ("current", [])
    store.recover(writer.run_id)
    assert index.refresh().changed == 1
    assert everything(made)[writer.run_id]["result"] == "crashed"


def test_an_index_that_does_not_fit_leaves_nothing_half_made_behind(made, monkeypatch):
    def full(tables, out):
        out.write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    good = everything(made)
    before = {path.name for path in (made / "runs" / ".index").iterdir()}
    monkeypatch.setattr(columns, "write_table", full)
    with pytest.raises(StorageUnwritable, match="no space left"):
        RunIndex(made / "runs").rebuild()
    assert {path.name for path in (made / "runs" / ".index").iterdir()} == before
    assert everything(made) == good


def test_a_path_means_a_cell_or_a_folder_of_runs(made, tmp_path):
    assert runs_dir_of(made) == made / "runs"
    assert runs_dir_of(made / "runs") == made / "runs"
    assert runs_dir_of(tmp_path / "none") == tmp_path / "none" / "runs"


def test_no_runs_is_an_index_too(tmp_path):
    (tmp_path / "cell").mkdir()
    assert everything(tmp_path / "cell") == {}
    assert not (tmp_path / "cell" / "runs").exists()
