"""The cell's arm under its camera for calibrating, whatever it is: the twin in process, served, or an arm of metal.

Opens it with the table cleared and in encoder angles; knows nothing of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from runner.arm_calibration import as_delivered
from runner.arms.errors import ArmError
from runner.arms.guard import refuse_latched
from runner.calibrate.bench import ArmBench, Progress
from runner.calibrate.first_use import BLOCK_XZ_M, BOX_XZ_M
from runner.calibrate.person import Person
from runner.cell import Cell
from runner.geometry import obstacles_of
from runner.station import Station, open_station
from runner.twin.served import served_at
from runs.latch import StopLatch
from vision.calibration.file import load_view
from vision.calibration.view import View
from vision.cameras.protocol import Camera
from vision.errors import CalibrationTooPoor, WrongPictureSize


def is_twin(cell: Cell) -> bool:
    """Whether the arm of the settings is a twin, in process or served."""
    return cell.config.arm.kind == "twin" or served_at(cell.folder, cell.config.arm.address) is not None


@contextmanager
def arm_bench(cell: Cell, person: Person, progress: Progress) -> Iterator[tuple[ArmBench, Station]]:
    """The cell's arm under its calibrated camera with a cleared table, let go of at the end, and what stands behind it.

    Raises:
        CalibrationMissing: lens or plane. WrongRequest, ArmUnreachable, CameraUnavailable: as `open_station`.
        WrongPictureSize: the camera delivers another size than the calibration's.
        Refused: a stop is latched, now or before one of the moves; whatever ends it, the arm is told to hold still.
    """
    view = load_view(cell.calibration_dir)
    with _station(cell, person) as station:
        config = cell.config
        _refuse_pictures(station.camera, view)
        twin = station.twin is not None or station.control is not None
        block, box = (BLOCK_XZ_M, BOX_XZ_M) if twin else (None, None)
        obstacles = obstacles_of(config, block_xz_m=block, box_xz_m=box)
        bench = ArmBench.of(
            config,
            station.arm,
            station.clock,
            station.camera,
            view,
            obstacles,
            progress,
            lambda: refuse_latched(StopLatch(cell.folder).read()),
        )
        bench.may_go_on()
        try:
            yield bench, station
        except BaseException:
            with suppress(ArmError):
                station.arm.stop()
            raise


@contextmanager
def _station(cell: Cell, person: Person) -> Iterator[Station]:
    """The station in encoder angles, block and box out of the way."""
    raw = Cell(cell.folder, as_delivered(cell.config))
    if is_twin(cell):
        station = open_station(raw, seed=0, block_xz_m=BLOCK_XZ_M, box_xz_m=BOX_XZ_M)
    else:
        person.please("take block, box and all else off the table, and keep clear of the arm: it is going to move")
        station = open_station(raw)
    try:
        yield station
    finally:
        station.close()


def _refuse_pictures(camera: Camera, view: View) -> None:
    """Stored pictures show no arm that moves, and those of another size belong to another calibration."""
    if camera.replays:
        raise CalibrationTooPoor(
            "arm", "stored pictures don't show where the arm is now", next_step="leave camera.source empty"
        )
    if camera.size_px != view.size_px:
        raise WrongPictureSize("the camera's picture", view.size_px, camera.size_px)
