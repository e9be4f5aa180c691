"""corrections.json and its history: whole or not there, each change told, nothing taken for empty."""

from __future__ import annotations

import json

import pytest

from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo
from runs.errors import CorrectionsUnreadable, NewerThanUs

FIELD = BelongsTo(calibration_hash="c1", table_hash="t1", profile="field")
PERFECT = FIELD.model_copy(update={"profile": "perfect"})
SPOT = (0.22, 0.18)


@pytest.fixture
def file(tmp_path):
    return CorrectionFile(tmp_path / "cell")


def teach(file, belongs_to, sample, run_id):
    before = file.load(belongs_to)
    after, change = before.learn("pick", SPOT, sample, run_id=run_id, at="2026-07-01T00:00:00Z")
    file.save(before, after, change, run_id=run_id)
    return after


def test_a_cell_without_corrections_has_an_empty_table(file):
    assert file.load(FIELD).cells == {}
    assert not file.path.exists()


def test_what_was_learned_is_there_again(file):
    for number in range(3):
        after = teach(file, FIELD, (-3.0, 1.0 + number), f"run_{number}")
    assert file.load(FIELD) == after
    assert file.load(FIELD).apply("pick", SPOT)[1].applied
    assert file.load(FIELD).content_hash == after.content_hash


def test_a_table_is_only_used_with_what_it_was_learned_with(file):
    for number in range(3):
        teach(file, FIELD, (-3.0, 1.0), f"run_{number}")
    teach(file, PERFECT, (0.5, 0.5), "run_9")
    assert file.load(PERFECT).mean_mm("pick_x220_z180") == (0.5, 0.5, 1)
    assert file.load(FIELD).mean_mm("pick_x220_z180") == (-3.0, 1.0, 3)
    assert file.load(FIELD.model_copy(update={"table_hash": "t2"})).cells == {}


def test_the_history_has_a_line_for_every_change(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    teach(file, FIELD, (3.0, 5.0), "run_2")
    lines = [json.loads(line) for line in file.history_path.read_text().splitlines()]
    assert [line["run_id"] for line in lines] == ["run_1", "run_2"]
    assert [line["change"]["before"] for line in lines] == [None, [1.0, 1.0, 1]]
    assert lines[1]["change"]["after"] == [2.0, 3.0, 2]
    assert lines[1]["belongs_to"]["profile"] == "field"
    assert lines[0]["hash_after"] == lines[1]["hash_before"]
    assert lines[1]["hash_after"] == file.load(FIELD).content_hash
    assert all(line["at"].endswith("Z") for line in lines)


def test_no_temporary_file_is_left(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["corrections.json", "corrections_history.jsonl"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cut off or no JSON"),
        ('{"corrections_version": 1, "tables": {', "cut off or no JSON"),
        ("[]", "says no corrections_version"),
        ('{"cells": {}}', "says no corrections_version"),
        ('{"corrections_version": 1, "tables": {"k": {}}}', "tables.k.belongs_to: field required"),
        ('{"corrections_version": 1, "tabels": {}}', "tabels: extra inputs"),
    ],
)
def test_a_file_that_can_not_be_read_is_an_error_and_stays_as_it_is(file, text, why):
    file.path.parent.mkdir()
    file.path.write_text(text)
    with pytest.raises(CorrectionsUnreadable, match=why):
        file.load(FIELD)
    assert file.path.read_text() == text


def test_a_folder_in_its_place_is_an_error(file):
    file.path.mkdir(parents=True)
    with pytest.raises(CorrectionsUnreadable, match="is a directory"):
        file.load(FIELD)


def test_a_newer_file_is_refused(file):
    file.path.parent.mkdir()
    file.path.write_text('{"corrections_version": 2}')
    with pytest.raises(NewerThanUs):
        file.load(FIELD)
