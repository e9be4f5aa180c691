"""Has the camera moved since the plane was calibrated? Asked of each picture from which something is concluded.

Says so only of pictures that the calibration holds for: a live camera's or the twin's, of the calibration's size. It
corrects nothing; a trial whose camera moved has no place to send the arm to.
"""

from __future__ import annotations

from runner.trial.trial import Trial
from vision.calibration.drift import check_drift
from vision.cameras.protocol import Picture
from vision.cameras.quality import assess


def moved_camera(trial: Trial, image_bgr: Picture, *, noted: bool = False) -> str | None:
    """Why the calibration holds no more, or None; (h, w, 3) blue-green-red.

    That none of the marks is in sight is a reason too. One mark that was pushed alone is only noted, and so is a
    calibration that kept no marks, for then nothing can be said; `noted`: that is in the log already.
    """
    bench = trial.bench
    if bench.view is None or bench.camera.replays or not bench.view.matches(image_bgr) or bench.view_note is not None:
        return None
    drift = check_drift(image_bgr, bench.marks)
    if drift.problem is None:
        return None
    if drift.camera_moved or (bench.marks and not drift.moved_px):
        unfit = assess(image_bgr).problem
        return drift.problem if unfit is None else f"the camera's picture is of no use: {unfit}"
    if not noted:
        trial.book.note(drift.problem)
    return None
