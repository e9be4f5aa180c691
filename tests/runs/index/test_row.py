"""A row is the same whichever way the log was read."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict

import pytest

from runs.index.row import row_of
from runs.index.shape import COLUMNS
from runs.index.typed import Undecodable, decode, encode_line
from runs.queue import queue
from runs.rulings import rule
from runs.store import RunStore, open_folder
from runs.verdicts import standing_in, standing_result


def plain(row):
    return json.loads(encode_line(row))


def test_a_log_read_in_full_makes_the_same_row(made, row_at):
    store = RunStore(made / "runs")
    for entry in store.list()[:60]:
        full = decode(open_folder(entry.folder).log.model_dump_json().encode())
        assert plain(row_at(entry.folder)) == plain(row_of(full, entry.run_id, "complete")), entry.run_id


def test_a_golden_log_has_a_row_of_known_columns(golden, tmp_path, row_at):
    folder = tmp_path / "run_0042_20260811_091512"
    folder.mkdir()
    shutil.copy(golden / "v1.json", folder / "run.json")
    row = row_at(folder)
    assert set(row) <= set(COLUMNS)
    assert (row["result"], row["place_by"], row["pick_key"], row["light"]) == (
        "unjudged", "Ada", "pick_x220_z180", "120-139",
    )  # fmt: skip
    assert plain(row)["lookups"][0]["refined"] == {"residual_mm": 0.1875}


def test_a_row_says_what_stands(made, row_at):
    store = RunStore(made / "runs")
    rule(store, "7", "place", "no", by="Ada", reason="on the rim")
    for entry in store.list()[:20]:
        log, row = open_folder(entry.folder).log, row_at(entry.folder)
        assert row["result"] == standing_result(log)
        for stage in ("pick", "place"):
            standing = standing_in(log, stage)
            assert row.get(f"{stage}_word") == (None if standing is None else standing.word)
            assert row.get(f"{stage}_by") == (None if standing is None else standing.by)
    assert row_at(store.find("7").folder)["place_source"] == "person"


def test_a_row_says_what_the_queue_says(made, row_at):
    store = RunStore(made / "runs")
    stored = [store.open(entry.run_id) for entry in store.list()]
    for item in queue(stored, share=1.0):
        row = row_at(store.find(item.run_id).folder)
        told = asdict(item)
        assert row[f"{item.stage}_doubt"] == told["doubt"]
        assert tuple(row[f"{item.stage}_reasons"] or ()) == (() if told["drawn"] else told["reasons"])
        assert (row[f"{item.stage}_lot"] is not None) == told["drawn"]


def test_a_field_log_has_a_row(field_log, tmp_path, row_at):
    folder = tmp_path / "run_0001_20260703_132310"
    folder.mkdir()
    shutil.copy(field_log, folder / "run.json")
    row = row_at(folder)
    assert row["schema"] == 0
    assert (row["pick_key"], row["place_key"]) == ("pick_x220_z260", "place_x-180_z220")
    assert row["result"] == "completed"
    assert row["duration_s"] == pytest.approx(85.590279)
    assert row["tip_dist_mm"] == 13.005626855067955
    assert row["pick_residual_mm"] == pytest.approx(18.08, abs=0.01)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"schema_version": 2}', b"\xff\xfe", b'{"schema_version": 1, "run_id": 3}', b"[" * 100_000],
)
def test_a_damaged_log_is_undecodable_and_has_a_row_that_says_why(damage, tmp_path, row_at):
    with pytest.raises(Undecodable):
        decode(damage)
    folder = tmp_path / "run_0005_20260703_132310"
    folder.mkdir()
    (folder / "run.json").write_bytes(damage)
    row = row_at(folder)
    assert (row["state"], row["number"]) == ("unreadable", 5)
    assert row["problem"]


def test_a_torn_ruling_counts_for_nothing_and_a_damaged_one_is_named(made, row_at):
    folder = RunStore(made / "runs").find("50").folder
    path = folder / "rulings.jsonl"
    before = plain(row_at(folder))
    path.write_bytes(path.read_bytes() + b'{"stage": "pla')
    assert plain(row_at(folder)) == before
    path.write_bytes(path.read_bytes() + b"\n")
    assert "rulings.jsonl, line 2" in row_at(folder)["problem"]
