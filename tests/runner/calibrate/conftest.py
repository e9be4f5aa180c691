"""A desk of which nobody knows anything, its arm calibrated once a session by watching the tip."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from runner.calibrate.arm import calibrate_by_sight
from runner.calibrate.person import Nobody
from runner.cell import Cell, open_cell
from runner.config import to_toml, with_overrides
from runner.twin.profiles import PROFILES, Desk
from runner.twin.setup import Twin
from runner.wizard.station import arm_bench
from runner.wizard.steps import fit_tables, with_calibration
from vision.calibration.drift import marks_in, scene_of
from vision.calibration.file import LensFile, PlaneFile
from vision.calibration.kept import content_hash, save

DESK = 3
QUICK = (
    'twin.profile="uncalibrated"',
    f"twin.desk_seed={DESK}",
    "arm.speed_percent=80",
    "arm.send_wait_s=0.2",
    "camera.captures=1",
    "camera.settle_s=0.8",
    "gripper.wait_s=1.3",
)


@dataclass(frozen=True)
class KnownDesk:
    """A calibrated cell and what is truly off on its desk."""

    folder: Path
    desk: Desk

    def open(self, *overrides: str) -> Cell:
        return open_cell(self.folder, overrides)


def keep_true_camera(cell: Cell) -> None:
    """Lens and plane as they truly are: what this test is about is the arm."""
    twin = Twin(cell.config)
    twin.reset(0, block_xz_m=(0.30, 0.33), box_xz_m=(-0.27, 0.10))
    picture = twin.camera.read().image_bgr
    twin.close()
    view, told = twin.view, {"made_at": "2026-01-01T00:00:00+00:00", "source": "the twin's board, as it truly is"}
    lens = LensFile.model_validate(
        {
            **told, "size_px": view.size_px, "K": view.K.tolist(), "distortion": view.distortion.tolist(),
            "n_views": 12, "rms_px": 0.1, "per_view_px": [0.1], "held_out_px": 0.1, "held_out_mm": 0.1,
            "focal_sigma_percent": 0.2, "tilt_spread_deg": 30.0,
        }
    )  # fmt: skip
    plane = PlaneFile.model_validate(
        {
            **told, "lens_hash": content_hash(lens), "size_px": view.size_px, "camera_m": view.camera_m,
            "R_camera_cell": view.R_camera_cell.tolist(), "t_camera_cell_m": view.t_camera_cell_m.tolist(),
            "H_table_pixel": view.H_table_pixel.tolist(), "n_points": 24, "rms_px": 0.1, "held_out_px": 0.1,
            "held_out_mm": 0.1, "worst_held_out_mm": 0.3, "marks": marks_in(picture), "scene": scene_of(picture),
        }
    )  # fmt: skip
    save(lens, cell.calibration_dir)
    save(plane, cell.calibration_dir)


@pytest.fixture(scope="session")
def known_desk(prepared_cell, tmp_path_factory) -> KnownDesk:
    """An `uncalibrated` desk after `calibrate joints`. Only to be read: ask for `desk_copy` to change anything."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / "known_desk"
    with FileLock(shared / "known_desk.lock"):
        if not (folder / "calibration" / "arm.json").exists():
            shutil.copytree(prepared_cell, folder, ignore=shutil.ignore_patterns("cell.lock*"))
            config = with_overrides(open_cell(folder).config, QUICK)
            (folder / "cell.toml").write_text(to_toml(config), encoding="utf-8")
            cell = open_cell(folder)
            keep_true_camera(cell)
            with arm_bench(cell, Nobody(), lambda _: None) as (bench, _):
                calibrate_by_sight(bench, cell.calibration_dir, poses=14)
            assert fit_tables(with_calibration(cell), lambda _: None)
    return KnownDesk(folder, Desk.of(PROFILES["uncalibrated"], 6, DESK))


@pytest.fixture
def desk_copy(known_desk, tmp_path) -> KnownDesk:
    """The same desk in a cell of a test's own."""
    folder = tmp_path / "cell"
    shutil.copytree(known_desk.folder, folder, ignore=shutil.ignore_patterns("cell.lock*"))
    return KnownDesk(folder, known_desk.desk)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
