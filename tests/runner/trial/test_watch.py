"""Pictures that are not of now, and what a trial makes of a camera that goes wrong under it."""

from __future__ import annotations

import numpy as np
import pytest

from runner.trial import watch
from runner.trial.errors import PictureNotOfNow
from runner.trial.sight import arm_discs_px
from runner.trial.watch import LEAST_CHANGE, PictureWatch
from runner.twin.firmware.faults import FAULTS, trouble_camera
from runs.events import StageStarted
from runs.schema.motion import MoveRecord
from vision.cameras.protocol import read_picture

HOME = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -30.0])
ASIDE = np.array([70.0, 0.0, 0.0, 0.0, 0.0, -30.0])


@pytest.fixture
def paint():
    """A grey table with an arm of discs on it, and noise that is never the same."""
    rng = np.random.default_rng(4)

    def make(*discs_px):
        picture = np.full((720, 1280, 3), 150.0) + rng.normal(0, 2, (720, 1280, 3))
        rows, columns = np.mgrid[:720, :1280]
        for centres, radii in discs_px:
            for (u, v), radius in zip(centres, radii, strict=True):
                picture[(columns - u) ** 2 + (rows - v) ** 2 <= radius**2] += 60
        return np.clip(picture, 0, 255).astype(np.uint8)

    return make


def discs(u: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[u, 200.0], [u, 260.0], [u, 320.0]]), np.full(3, 50.0)


def test_pictures_that_show_the_arm_go_are_of_now(paint):
    watching = PictureWatch()
    for u in (200, 900, 200, 205, 600):
        watching.check(paint(discs(u)), discs(u), "a camera")


def test_a_picture_twice_to_the_last_bit_is_not(paint):
    watching, picture = PictureWatch(), paint(discs(200))
    watching.check(picture, None, "a camera")
    watching.check(paint(discs(200)), None, "a camera")
    last = paint()
    watching.check(last, None, "a camera")
    with pytest.raises(PictureNotOfNow, match="the same picture twice"):
        watching.check(last.copy(), None, "a camera")


def test_an_arm_that_is_not_seen_to_have_moved_is_told_of(paint):
    watching = PictureWatch()
    watching.check(paint(discs(200)), discs(200), "a camera")
    with pytest.raises(PictureNotOfNow, match="does not show that the arm has moved") as told:
        watching.check(paint(discs(200)), discs(900), "a camera")
    assert told.value.family == "device"


def test_pictures_that_lag_one_behind_show_the_arm_leave_and_not_come(paint):
    watching, lagging = PictureWatch(), (200, 200, 600)
    watching.check(paint(discs(lagging[0])), discs(200), "a camera")
    watching.check(paint(discs(lagging[1])), discs(215), "a camera")  # hardly moved: says nothing
    with pytest.raises(PictureNotOfNow):
        watching.check(paint(discs(lagging[1])), discs(600), "a camera")


def test_a_change_of_light_is_no_reason(paint):
    watching = PictureWatch()
    watching.check(paint(discs(200)), discs(200), "a camera")
    watching.check((paint(discs(900)) * 0.6).astype(np.uint8), discs(900), "a camera")


def test_the_twins_arm_is_seen_to_go_far_above_the_limit(good_trial, monkeypatch):
    """The trial's own pictures, in their order, with where the arm stood."""
    shares, real = [], watch.change_where_the_arm_went
    monkeypatch.setattr(watch, "change_where_the_arm_went", lambda *a: shares.append(real(*a)) or shares[-1])
    twin, watching = good_trial.twin, PictureWatch()
    base = twin.world.scene.base
    for capture in good_trial.log.vlm_captures:
        picture = read_picture(good_trial.store.runs_dir.parent / capture.image)
        watching.check(picture, arm_discs_px(np.array(capture.arm_joints_deg), twin.arm.model, base, twin.view), "twin")
    measured = [share for share in shares if share is not None]
    assert len(measured) >= 3
    assert min(measured) > 3 * LEAST_CHANGE


CAMERA_FAULTS = {
    "camera-unplugged": ("crashed", "gave no picture"),  # on the way to the box, so the block goes back
    "camera-black": ("unjudged", "dark"),
    "camera-frozen": ("crashed", "not to be trusted"),
    "camera-buffered": ("crashed", "does not show that the arm has moved"),
    "camera-moved": ("unjudged", "the camera or the table moved"),
    "camera-other-index": ("unjudged", "marks"),
    "camera-other-light": ("completed", "inside"),
}
QUICK = {"camera-moved"}


@pytest.mark.parametrize(
    "fault", [pytest.param(f, marks=() if f in QUICK else pytest.mark.slow) for f in sorted(CAMERA_FAULTS)]
)
def test_a_camera_that_goes_wrong_while_the_block_is_carried_leads_to_nothing_false(play, fault):
    def on(record, switch):
        if isinstance(record, StageStarted) and record.name == "stage7_approach_place":
            trouble_camera(twins[0], [f"{fault}@0"], 13)

    twins = []
    played = play(on=on, arrange=twins.append)
    result, words = CAMERA_FAULTS[fault]
    assert (played.log.result, words in played.log.ending.reason) == (result, True), played.log.ending.reason
    assert played.truth.block_in_box == (fault != "camera-unplugged")
    assert played.drops_mm == []
    assert any(isinstance(record, MoveRecord) and "home" in record.label for record in played.records)
    assert played.truth.angles_deg == pytest.approx(HOME, abs=2.5)
    played.check_at_rest()


def test_every_camera_fault_is_tried():
    assert set(CAMERA_FAULTS) == {name for name in FAULTS if name.startswith("camera-")}
