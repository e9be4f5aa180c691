"""What the camera shows: is it there, of the right size, alive, sharp and lit; are the marks where they were?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runner.cell import Cell
from runner.cli.checks.light import Finding, green, red, yellow

if TYPE_CHECKING:
    from vision.cameras.protocol import Frame

_NEARLY = 1.5  # a picture this near to what is no longer of use is worth a look
_SLOW_S = 1.0


def camera(opened: Cell) -> Iterator[Finding]:
    """Three pictures: that they come, fresh and each its own; then what is in them."""
    from runner.station import any_camera
    from vision.cameras.quality import frozen

    with any_camera(opened) as device:
        began = datetime.now(UTC)
        frames = [device.read()]
        first_s = (datetime.now(UTC) - began).total_seconds()
        frames += [device.read() for _ in range(2)]
        seconds = _age_s(frames[-1])
        width, height = frames[0].size_px
        name = str(device.name)
    told = f"{name}: {width}×{height} px, the first picture after {first_s:.1f} s, the last {seconds:.1f} s old"
    if frozen([frame.image_bgr for frame in frames]):
        yield red("camera", f"{name} gives the same picture again and again", "pull it out and put it in again")
        return
    if seconds > _SLOW_S:
        yield yellow("camera", told, "pictures come late: another cable or port, or a smaller camera.size_px")
    else:
        yield green("camera", told)
    yield _picture(frames[-1])
    yield from _marks(opened, frames[-1])


def _age_s(frame: Frame) -> float:
    taken = datetime.fromisoformat(frame.taken_at).astimezone(UTC)
    return max(0.0, (datetime.now(UTC) - taken).total_seconds())


def _picture(frame: Frame) -> Finding:
    from vision.cameras.quality import BLURRED_BELOW, BRIGHT_ABOVE_LEVEL, DARK_BELOW_LEVEL, assess

    quality = assess(frame.image_bgr)
    told = f"sharpness {quality.sharpness:.0f}, mean level {quality.mean_level:.0f} of 255"
    if quality.problem is not None:
        return red("picture", quality.problem, "look at light, lens and focus")
    if quality.sharpness < BLURRED_BELOW * _NEARLY:
        return yellow("picture", f"{told}: nearly blurred", "focus the lens, or clean it")
    if quality.mean_level < DARK_BELOW_LEVEL * _NEARLY:
        return yellow("picture", f"{told}: nearly dark", "switch on a light")
    if quality.mean_level > 255 - (255 - BRIGHT_ABOVE_LEVEL) * _NEARLY:
        return yellow("picture", f"{told}: nearly overexposed", "dim the light, or shorten the exposure")
    return green("picture", f"sharp and well lit: {told}")


def _marks(opened: Cell, frame: Frame) -> Iterator[Finding]:
    """Marks or board in the picture, and whether they are where they were at the calibration."""
    from vision.calibration.drift import check_drift
    from vision.calibration.file import load_plane
    from vision.errors import CalibrationMissing
    from vision.markers import find_markers

    try:
        plane = load_plane(opened.calibration_dir)
    except CalibrationMissing:
        seen = len(find_markers(frame.image_bgr, "DICT_4X4_50"))
        if seen:
            yield green("marks", f"{seen} markers are in sight, not calibrated yet")
        else:
            yield yellow("marks", "no board and no marker is in sight", "put the board under the camera to calibrate")
        return
    if plane.size_px != frame.size_px:
        yield red(
            "marks",
            f"the calibration is for pictures of {plane.size_px[0]}×{plane.size_px[1]} px, "
            f"the camera gives {frame.size_px[0]}×{frame.size_px[1]} px",
            "set camera.size_px as it was, or calibrate again: trialcell calibrate lens, then plane",
        )
        return
    drift = check_drift(frame.image_bgr, plane.marks)
    if drift.problem is None:
        worst = max(drift.moved_px.values())
        yield green(
            "marks", f"{len(drift.moved_px)} of {len(plane.marks)} in sight, {worst:.1f} px from where they were"
        )
    elif drift.camera_moved:
        yield red("marks", drift.problem, "put the camera back, or calibrate again: trialcell calibrate plane")
    else:
        yield yellow("marks", drift.problem, "clear the view of the marks, or put the one that was pushed back")
