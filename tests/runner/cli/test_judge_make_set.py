"""`trialcell judge make-set`: what it prints, and what it says to bad input."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from judges.labelled import read_set


@pytest.fixture
def labelled_photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    assert cv2.imwrite(str(folder / "a.jpg"), np.full((90, 160, 3), 90, np.uint8))
    (folder / "labels.csv").write_text("picture,stage,label\na.jpg,place,yes\nb.jpg,place,no\n")
    return folder


def test_labelled_pictures_become_a_set_and_bad_rows_are_told(trialcell, tmp_path, labelled_photos):
    told = trialcell(
        "judge", "make-set", tmp_path / "set", "--pictures", labelled_photos, "--cell", tmp_path / "c", "--json"
    )
    assert told.code == 0, told.err
    assert told.object["scenes"] == 1
    assert told.object["failures"] == 0
    assert told.object["left_out"][0].startswith("line 3: b.jpg")
    assert told.object["content_hash"] == read_set(tmp_path / "set").content_hash


def test_people_get_a_table_of_kinds(trialcell, tmp_path, labelled_photos):
    told = trialcell("judge", "make-set", tmp_path / "set", "--pictures", labelled_photos, "--cell", tmp_path / "c")
    assert told.code == 0, told.err
    assert "1 scenes" in told.out
    assert "left out: line 3" in told.out


@pytest.mark.slow
def test_a_rendered_set_in_a_cell_that_is_calibrated(trialcell, tmp_path, cell_copy):
    told = trialcell(
        "judge",
        "make-set",
        tmp_path / "set",
        "--stage",
        "pick",
        "--scenes",
        14,
        "--seed",
        3,
        "--cell",
        cell_copy,
        "--json",
    )
    assert told.code == 0, told.err
    assert (told.object["scenes"], told.object["failures"]) == (14, 7)
    assert {kind["stage"] for kind in told.object["kinds"]} == {"pick"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--stage", "lift"), "--stage is place, pick or both; got 'lift'"),
        (("--labels", "x.csv"), "--labels goes with --pictures DIR"),
        (("--scenes", "7"), "ask for an even number, 42 or more"),
        (("--pictures", "nowhere"), "there is no such file"),
        (("--workers", "0"), "--workers"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_bad_input_is_told_in_one_sentence(trialcell, tmp_path, cell_copy, more, says):
    told = trialcell("judge", "make-set", tmp_path / "set", "--cell", cell_copy, *more)
    assert told.code == (3 if "--pictures" in more else 2), told.err
    assert says in " ".join(told.err.split())
    assert not (tmp_path / "set").exists()


def test_a_folder_that_holds_something_is_refused(trialcell, tmp_path, cell_copy):
    told = trialcell("judge", "make-set", cell_copy, "--cell", cell_copy)
    assert told.code == 2
    assert "is not empty" in told.err
