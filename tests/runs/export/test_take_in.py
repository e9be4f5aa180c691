"""Runs of other folders go in as they are, and what can't be read is listed with its reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runs.errors import RunExists
from runs.export.take_in import counted, logs_below, take_in
from runs.store import open_folder, picture_path

LABELS = ("stage4_pick_tip", "pick", "place_pre", "place")


@pytest.fixture
def field_folder(golden, tmp_path) -> Path:
    """A folder as the field system leaves it, with its pictures in the old naming and some things that are no logs."""
    raw = json.loads((golden / "v0.json").read_text(encoding="utf-8"))
    run_id = Path(raw["frames_dir"]).name
    folder = tmp_path / "field" / raw["frames_dir"]
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(raw))
    for label in LABELS:
        (folder / f"{run_id}_{label}.jpg").write_bytes(f"picture {label}".encode())
    (folder / f"{run_id}_extra.jpg").write_bytes(b"one that the log does not name")
    (tmp_path / "field" / "settings.json").write_text('{"speed": 20}')
    (tmp_path / "field" / "cut.json").write_text('{"started_at": "2026')
    return tmp_path / "field"


def taken(folder, store):
    return [take_in(path, store) for path in logs_below([folder])]


def test_a_field_folder_goes_in_byte_for_byte_with_its_pictures(field_folder, store):
    done = taken(field_folder, store)
    assert counted(done) == {"taken": 1, "there already": 0, "left out": 2}
    one = next(each for each in done if each.outcome == "taken")
    source = next(field_folder.rglob("run.json"))
    folder = store.find(one.run_id).folder
    assert (folder / "run.json").read_bytes() == source.read_bytes()
    stored = open_folder(folder)
    assert stored.log.migrated_from == 0
    there = [capture for capture in stored.log.vlm_captures if picture_path(capture.image, folder) is not None]
    assert len(there) == len(stored.log.vlm_captures) - len(one.pictures_missing)
    assert (folder / f"{one.run_id}_extra.jpg").is_file()


def test_what_is_left_out_says_why(field_folder, store):
    reasons = {Path(one.source).name: one.reason for one in taken(field_folder, store) if one.outcome == "left out"}
    assert reasons.keys() == {"settings.json", "cut.json"}
    assert "says no schema_version" in reasons["settings.json"]
    assert "cut off" in reasons["cut.json"]


def test_taking_in_twice_changes_nothing(field_folder, store):
    taken(field_folder, store)
    again = taken(field_folder, store)
    assert counted(again) == {"taken": 0, "there already": 1, "left out": 2}
    assert len(store.list()) == 1


def test_another_run_of_the_same_name_is_not_written_over(field_folder, store):
    taken(field_folder, store)
    log = next(field_folder.rglob("run.json"))
    before = store.list()[0].folder.joinpath("run.json").read_bytes()
    log.write_text(log.read_text().replace('"dry_run": false', '"dry_run": true', 1))
    last = [one for one in taken(field_folder, store) if one.run_id]
    assert last[0].reason == "another run of that name is in the cell"
    assert store.list()[0].folder.joinpath("run.json").read_bytes() == before


def test_paths_in_a_log_do_not_lead_out_of_its_folder(field_folder, store, tmp_path):
    (tmp_path / "secret.jpg").write_bytes(b"not yours")
    log = next(field_folder.rglob("run.json"))
    raw = json.loads(log.read_text())
    raw["vlm_captures"][0]["image"] = "../../../secret.jpg"
    raw["vlm_captures"][1]["image"] = str(tmp_path / "secret.jpg")
    log.write_text(json.dumps(raw))
    one = next(each for each in taken(field_folder, store) if each.outcome == "taken")
    assert {"../../../secret.jpg", str(tmp_path / "secret.jpg")} <= set(one.pictures_missing)
    assert not (store.find(one.run_id).folder / "secret.jpg").exists()


def test_todays_runs_bring_their_events_and_rulings(golden, store, tmp_path):
    folder = tmp_path / "other" / "run_0042_20260811_091512"
    folder.mkdir(parents=True)
    shutil.copy(golden / "v1.json", folder / "run.json")
    (folder / "rulings.jsonl").write_text("")
    (folder / "events.jsonl").write_text("{}\n")
    assert take_in(folder / "run.json", store).outcome == "taken"
    assert sorted(path.name for path in store.find("42").folder.iterdir()) == [
        "events.jsonl",
        "rulings.jsonl",
        "run.json",
    ]


def test_nothing_half_taken_is_left(golden, store, tmp_path):
    with pytest.raises(Exception, match="no such file"):
        store.adopt("run_0042_20260811_091512", b"{}", {"a.jpg": tmp_path / "none.jpg"})
    assert store.list() == ()
    store.adopt("run_0042_20260811_091512", b"{}", {})
    with pytest.raises(RunExists):
        store.adopt("run_0042_20260811_091512", b"{}", {})
    with pytest.raises(ValueError, match="no name"):
        store.adopt("../evil", b"{}", {})
