"""Lens and plane, step by step: the twin shows its board, before a real camera a person holds it."""

from __future__ import annotations

from runner.calibrate.bench import Progress
from runner.calibrate.first_use import cleared_twin, show_lens, show_plane
from runner.calibrate.lens import lens_from
from runner.calibrate.person import Person
from runner.calibrate.plane import plane_from
from runner.cell import Cell
from runner.station import any_camera
from runner.twin.served import served_at
from runner.wizard.station import is_twin
from vision.calibration.file import LensFile, PlaneFile, load_lens
from vision.cameras.protocol import Picture


def measure_lens(cell: Cell, person: Person, progress: Progress) -> LensFile:
    """The lens: the twin shows its board; before a real camera a person holds it.

    Raises:
        CalibrationTooPoor: too few views, or all alike.
    """
    config = cell.config
    if is_twin(cell):
        with cleared_twin(_as_served(cell).config) as twin:
            return show_lens(twin, config, cell.calibration_dir, progress)
    with any_camera(cell) as camera:
        pictures: list[tuple[str, Picture]] = []
        for number in range(1, config.calibration.lens_views + 1):
            person.please(
                f"view {number} of {config.calibration.lens_views}: hold the board tilted by 15 to 30°, each time "
                "elsewhere in the picture and to another side, and hold it still"
            )
            camera.read()  # what was buffered before
            pictures.append((f"view {number}", camera.read().image_bgr))
    lens, left_out = lens_from(
        pictures,
        config.calibration,
        cell.calibration_dir,
        source=f"{len(pictures)} views of the board by {camera.name}",
    )
    for why in left_out:
        progress(f"left out: {why}")
    return lens


def measure_plane(cell: Cell, person: Person, progress: Progress) -> PlaneFile:
    """The table's plane, from the board lying flat.

    Raises:
        CalibrationMissing: the lens. BoardNotFound, CalibrationTooPoor.
    """
    config, lens = cell.config, load_lens(cell.calibration_dir)
    if is_twin(cell):
        with cleared_twin(_as_served(cell).config) as twin:
            return show_plane(twin, lens, config, cell.calibration_dir, progress)
    x, z = config.calibration.board_xz_m
    person.please(
        f"lay the board flat on the table, its middle at x {x * 1000:.0f}, z {z * 1000:.0f} mm from the arm's base, "
        f"its long side turned by {config.calibration.board_yaw_deg:g}°, and swing the arm aside"
    )
    with any_camera(cell) as camera:
        camera.read()
        picture = camera.read().image_bgr
    source = f"the board seen by {camera.name}"
    return plane_from(picture, lens, config.calibration, cell.calibration_dir, source=source)


def _as_served(cell: Cell) -> Cell:
    """The cell with the profile of the twin that is served for it, if one is."""
    served = None if cell.config.arm.kind == "twin" else served_at(cell.folder, cell.config.arm.address)
    if served is None:
        return cell
    twin = cell.config.twin.model_copy(update={"profile": served.profile})
    return Cell(cell.folder, cell.config.model_copy(update={"twin": twin}))
