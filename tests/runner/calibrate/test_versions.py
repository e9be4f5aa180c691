"""Versions of a calibration: told by their content, compared, put back together with what belongs to them."""

from __future__ import annotations

import pytest

from runner.calibrate.versions import CannotRollBack, all_versions, comparable, roll_back, version
from vision.calibration.file import LensFile, PlaneFile, load_lens, load_plane
from vision.calibration.kept import content_hash, differences, save
from vision.errors import CalibrationUnreadable, NoSuchCalibration


@pytest.fixture
def first(prepared_cell) -> tuple[LensFile, PlaneFile]:
    return load_lens(prepared_cell / "calibration"), load_plane(prepared_cell / "calibration")


def later(lens: LensFile, plane: PlaneFile) -> tuple[LensFile, PlaneFile]:
    """The same desk measured anew."""
    new = lens.model_copy(update={"rms_px": lens.rms_px + 0.1, "source": "measured anew"})
    return new, plane.model_copy(update={"lens_hash": content_hash(new), "rms_px": plane.rms_px + 0.1})


@pytest.fixture
def folder(tmp_path, first):
    """A calibration that was made twice."""
    for file in (*first, *later(*first)):
        save(file, tmp_path)
    return tmp_path


def test_all_that_was_is_listed_and_one_of_each_kind_counts(folder, first):
    found = all_versions(folder)
    assert [(each.kind, each.current) for each in found] == [
        ("lens", True), ("lens", False), ("plane", True), ("plane", False),
    ]  # fmt: skip
    assert [each.hash for each in found if not each.current] == [content_hash(file) for file in first]
    save(first[0], folder)
    assert [each.kind for each in all_versions(folder)].count("lens") == 2, "the same content is one version"


def test_what_changed_is_told_number_by_number(folder, first):
    old, new = content_hash(first[0])[:8], content_hash(load_lens(folder))[:8]
    changed = {key: (a, b) for key, a, b in differences(version(folder, old), version(folder, new))}
    assert changed["rms_px"] == (first[0].rms_px, first[0].rms_px + 0.1)
    assert changed.keys() == {"rms_px", "source", "content_hash"}


def test_a_plane_comes_back_with_the_lens_that_it_was_measured_with(folder, first):
    back = roll_back(folder, content_hash(first[1])[:8])
    assert [each.kind for each in back] == ["lens", "plane"]
    assert (load_lens(folder), load_plane(folder)) == first
    assert roll_back(folder, content_hash(first[1])[:8]) == [], "it counts already"
    forth = roll_back(folder, content_hash(later(*first)[0])[:8])
    assert [each.kind for each in forth] == ["lens", "plane"]
    assert (load_lens(folder), load_plane(folder)) == later(*first)


def test_what_has_lost_what_belongs_to_it_is_not_put_back(folder, first):
    for path in (folder / "archive").glob("lens_*.json"):
        path.unlink()
    with pytest.raises(CannotRollBack, match="the lens that the plane"):
        roll_back(folder, content_hash(first[1])[:8])
    assert load_plane(folder) == later(*first)[1], "nothing was changed"


def test_an_edited_version_is_not_put_back(folder, first):
    old = version(folder, content_hash(first[0])[:8])
    old.path.write_text(old.path.read_text().replace('"n_views": 12', '"n_views": 13'))
    with pytest.raises(CalibrationUnreadable, match="changed after it was written"):
        roll_back(folder, old.id)


@pytest.mark.parametrize("digits", ["", "nowhere", "zz"])
def test_digits_that_no_version_begins_with_say_which_there_are(folder, digits):
    with pytest.raises(NoSuchCalibration, match="trialcell calibrate list") as told:
        version(folder, digits)
    assert len(told.value.known) == 4


def test_only_one_kind_can_be_compared(folder, first):
    with pytest.raises(CannotRollBack, match="nothing in common"):
        comparable(version(folder, content_hash(first[0])[:8]), version(folder, content_hash(first[1])[:8]))
