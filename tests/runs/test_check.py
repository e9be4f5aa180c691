"""Checking logs: valid, invalid with the key, pictures as they were taken."""

from __future__ import annotations

import json

import pytest

from runs.check import check_log
from runs.schema.run import Ending


@pytest.fixture
def finished(store, header):
    writer = store.create(header)
    writer.picture("pick", b"as it was")
    writer.picture("place", b"as it was too")
    writer.finish(Ending(result="completed", stage=None, reason="done"))
    return writer


def test_a_run_with_its_pictures_is_valid(store, finished):
    check = check_log("latest", store)
    assert check.valid
    assert check.summary == "valid, schema 1, 2 pictures as they were taken"
    assert check.problems == ()


def test_a_picture_that_changed_makes_it_invalid(store, finished):
    (finished.folder / f"{finished.run_id}_place.jpg").write_bytes(b"retouched")
    check = check_log(str(finished.folder), store)
    assert not check.valid
    assert check.problems[0].startswith("vlm_captures.1.sha256: ")


def test_a_picture_that_is_gone_is_told(store, finished):
    (finished.folder / f"{finished.run_id}_pick.jpg").unlink()
    check = check_log("1", store)
    assert check.valid
    assert (check.pictures_right, check.pictures_missing) == (1, 1)


def test_the_wrong_key_is_named(store, finished):
    path = finished.folder / "run.json"
    raw = json.loads(path.read_text())
    raw["vlm_captures"][0]["dry_run"] = "perhaps"
    path.write_text(json.dumps(raw))
    check = check_log(str(path), store)
    assert not check.valid
    assert check.problems[0].startswith("vlm_captures.0.dry_run: input should be a valid boolean")


def test_older_logs_are_valid_as_what_they_are(store, golden):
    check = check_log(str(golden / "v0.json"), store)
    assert check.valid
    assert check.schema_version == 0
    assert check.summary.startswith("valid, schema 0, read as 1")


def test_a_run_without_its_log_is_sent_to_recover(store, header):
    store.create(header).close()
    check = check_log("latest", store)
    assert not check.valid
    assert "trialcell runs recover latest" in check.summary


@pytest.mark.parametrize("wanted", ["99", "no/such/file.json"])
def test_what_is_not_there_is_not_valid(store, wanted):
    assert not check_log(wanted, store).valid
