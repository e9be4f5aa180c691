"""Labelled sets: what is written can be read, what is wrong is refused, and no label reaches a judge."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from judges.errors import LabelledSetUnreadable
from judges.labelled import LabelledItem, LabelledSet, evidence_of, read_set, write_set
from runs.files import sha256_hex
from runs.schema.motion import GripReading
from vision.detect.protocol import DetectSettings

ITEM = LabelledItem(
    id="a1",
    stage="place",
    label="no",
    kind="on_rim",
    before="pictures/b.png",
    crop="pictures/c.png",
    after="pictures/a.png",
    grip=GripReading(value=10, opening_mm=4.0, holding=False, reason="closed on nothing"),
    light="dim",
    seed=7,
)


@pytest.fixture
def folder(tmp_path):
    """A folder with three pictures of their own grey."""
    (tmp_path / "pictures").mkdir()
    for name, level in (("b", 40), ("c", 80), ("a", 120)):
        cv2.imwrite(str(tmp_path / "pictures" / f"{name}.png"), np.full((20, 30, 3), level, dtype=np.uint8))
    return tmp_path


def test_a_set_that_is_written_is_read_back(folder):
    written = write_set(folder, LabelledSet(made_by="hand", items=(ITEM,)))
    assert read_set(folder) == written


def test_a_judge_gets_pictures_and_grip_and_no_label(folder):
    opened = write_set(folder, LabelledSet(made_by="hand", items=(ITEM,)))
    evidence = evidence_of(opened, ITEM, DetectSettings(), None)
    assert [(p.label, p.role, p.crop) for p in evidence.pictures] == [
        ("before", "before", False), ("crop", "after", True), ("after", "after", False),
    ]  # fmt: skip
    assert [int(p.image_bgr[0, 0, 0]) for p in evidence.pictures] == [40, 80, 120]
    assert evidence.last("after").image_bgr[0, 0, 0] == 120
    assert evidence.pictures[0].source_sha256 == sha256_hex((folder / "pictures" / "b.png").read_bytes())
    assert evidence.grip == ITEM.grip
    assert "on_rim" not in repr(evidence)


@pytest.mark.parametrize("path", ["/etc/a.png", "../a.png", "pictures/../../a.png"])
def test_pictures_lie_in_the_sets_folder(path):
    with pytest.raises(ValueError, match="lies in its folder"):
        LabelledItem(id="x", stage="pick", label="yes", kind="held", after=path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda raw: {**raw, "items": raw["items"] * 2}, "twice"),
        (lambda raw: {**raw, "version": 2}, "version"),
        (lambda raw: {**raw, "items": [{**raw["items"][0], "label": "unsure"}]}, "label"),
        (lambda raw: {**raw, "more": 1}, "more"),
    ],
)
def test_what_is_wrong_is_refused_by_name(folder, change, why):
    write_set(folder, LabelledSet(made_by="hand", items=(ITEM,)))
    raw = json.loads((folder / "set.json").read_text(encoding="utf-8"))
    (folder / "set.json").write_text(json.dumps(change(raw)), encoding="utf-8")
    with pytest.raises(LabelledSetUnreadable, match=why):
        read_set(folder)


def test_a_folder_without_a_set_says_how_to_make_one(tmp_path):
    with pytest.raises(LabelledSetUnreadable, match="judge make-set"):
        read_set(tmp_path)
