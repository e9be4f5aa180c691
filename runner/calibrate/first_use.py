"""The twin's calibration on first use: a cleared table, the arm aside, the board shown; lens, then plane.

It works from pictures alone, as a person does on the bench; where the camera truly is, it is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from runner.arms.guard import GuardedArm, GuardRules
from runner.calibrate.board_views import flat_view, tilted_views
from runner.calibrate.lens import lens_from
from runner.calibrate.plane import plane_from
from runner.config import Config
from runner.geometry import obstacles_of
from runner.table.postures import arm_of
from runner.twin.setup import Twin, build_twin
from vision.calibration.file import LensFile, PlaneFile

BLOCK_XZ_M, BOX_XZ_M = (0.30, 0.33), (-0.27, 0.10)  # beside the board
_ASIDE_J0_DEG = -85.0
TWIN_BOARD = "the twin's board"


def calibrate_twin(config: Config, folder: Path, progress: Callable[[str], None]) -> tuple[LensFile, PlaneFile]:
    """Calibrate lens and plane of a twin with these settings and keep both in the folder.

    Raises:
        BoardNotFound, CalibrationTooPoor: the settings show the board where the camera can't see it well.
    """
    with cleared_twin(config) as twin:
        lens = show_lens(twin, config, folder, progress)
        plane = show_plane(twin, lens, config, folder, progress)
    return lens, plane


def show_lens(twin: Twin, config: Config, folder: Path, progress: Callable[[str], None]) -> LensFile:
    """Lens from tilted views of the board."""
    views = tilted_views(twin, config.calibration.lens_views, progress)
    lens, _ = lens_from(views, config.calibration, folder, source=f"{len(views)} tilted views of the twin's board")
    progress(f"lens: {lens.held_out_px:.2f} px, {lens.held_out_mm:.2f} mm on pictures left out of the fit")
    return lens


def show_plane(twin: Twin, lens: LensFile, config: Config, folder: Path, progress: Callable[[str], None]) -> PlaneFile:
    """Plane from the board lying flat."""
    x, z = config.calibration.board_xz_m
    source = f"{TWIN_BOARD} lying flat at ({x * 1000:.0f}, {z * 1000:.0f}) mm"
    plane = plane_from(flat_view(twin), lens, config.calibration, folder, source=source)
    progress(f"plane: {plane.held_out_px:.2f} px, {plane.held_out_mm:.2f} mm on corners left out of the fit")
    return plane


@contextmanager
def cleared_twin(config: Config) -> Iterator[Twin]:
    """A twin whose table is cleared for the board, with the arm out of the camera's sight; closed at the end."""
    twin = build_twin(config, seed=0, block_xz_m=BLOCK_XZ_M, box_xz_m=BOX_XZ_M)
    try:
        arm, base = arm_of(config)
        guard = GuardedArm(twin.arm, base, GuardRules.of(arm, config.arm, config.table, config.guard))
        guard.obstacles = obstacles_of(config)
        aside = np.asarray(config.arm.home_deg, dtype=np.float64).copy()
        aside[0] = _ASIDE_J0_DEG
        guard.send_path(aside[None], speed_percent=100)
        twin.clock.sleep(4.0)
        yield twin
    finally:
        twin.close()
