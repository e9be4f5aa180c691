"""Settings to a working bench: the only place that picks a class for arm, camera and judge.

Makes what a cell lacks on first use (tables, and on the twin its calibration) and says so. Drivers are imported where
they are asked for, so that a missing one hurts nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from runner.arm_calibration import has_arm_file, load_arm_file, model_name
from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm, GuardRules
from runner.calibrate.first_use import TWIN_BOARD, calibrate_twin
from runner.cell import Cell, making
from runner.config import Config
from runner.geometry import obstacles_of
from runner.judging import trial_judge
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.learning import belongs_to, rule_of
from runner.rehearse.rehearsal import Rehearsal
from runner.station import Station, check_station, open_station, refuse_twins_calibration
from runner.station import WrongRequest as WrongRequest  # noqa: PLC0414 - whoever asks for a rig catches it from here
from runner.table.cell_tables import CellTables, open_tables
from runner.table.postures import arm_of
from runner.trial.bench import Bench
from runner.trial.stop import StoppableClock, StopSwitch
from runner.twin.drive_file import drive_of
from runner.twin.served import served_at
from runner.twin.setup import Twin
from runs.corrections.file import CorrectionFile, model_in_use
from runs.corrections.model import NO_MODEL
from runs.corrections.table import BelongsTo
from runs.latch import StopLatch
from runs.schema.run import Provenance
from vision.calibration.file import LENS_FILE, PLANE_FILE, load_lens, load_plane, load_view
from vision.calibration.kept import content_hash
from vision.calibration.view import View
from vision.detect.colour import colour_model
from vision.detect.protocol import DetectSettings, Region
from vision.errors import CalibrationMissing

if TYPE_CHECKING:
    pass

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What one run asks for beyond the cell's settings."""

    seed: int | None = None
    block_xz_m: tuple[float, float] | None = None
    box_xz_m: tuple[float, float] | None = None
    dry_run: bool = False
    look_for_slip: bool = True  # begin with a look whether a joint has slipped, where the arm is calibrated


@dataclass(frozen=True, slots=True, eq=False)
class Rig:
    """A bench and what stands behind it, which is for closing and for scoring only."""

    bench: Bench
    station: Station

    @property
    def twin(self) -> Twin:
        """The twin in process. An arm on a wire has none."""
        assert self.station.twin is not None, "this arm is not the twin in process"
        return self.station.twin

    def truth(self) -> dict[str, Any] | None:
        """What the twin knows, to score the run with; None for pictures that are not the twin's."""
        return self.station.truth()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.station.close()


def build_rig(cell: Cell, request: Request, *, switch: StopSwitch, progress: Progress) -> Rig:
    """Everything that a trial in this cell works with.

    Raises:
        WrongRequest: pictures that are not the twin's, and something to be moved by them or put before them.
        UnknownColour: a block of a colour that no detector knows.
        CalibrationMissing, CalibrationUnreadable, WrongTable, BadTableFile, CameraUnavailable: what the cell lacks.
    """
    config = cell.config
    _check(config, request)
    asked = request.seed is not None or request.block_xz_m is not None or request.box_xz_m is not None
    check_station(cell, asks_for_a_start=asked)
    arm_model, base = arm_of(config)
    with making(cell.folder):
        tables = open_tables(
            cell.folder, config, lambda share, what: progress(f"making the cell's tables, once: {what}, {share:.0%}")
        )
        _calibrate_once(cell, lambda text: progress(f"calibrating the cell's camera, once: {text}"))
    station = open_station(cell, seed=request.seed, block_xz_m=request.block_xz_m, box_xz_m=request.box_xz_m)
    try:
        bench = _bench(cell, request, station, tables, arm_model, base, switch)
    except BaseException:
        station.close()
        raise
    return Rig(bench, station)


def another_bench(rig: Rig, cell: Cell, *, switch: StopSwitch) -> Bench:
    """A bench over the same arm and camera with other settings of the same cell; the arm itself is as it was made.

    Raises:
        As `build_rig`.
    """
    _check(cell.config, Request())
    arm_model, base = arm_of(cell.config)
    with making(cell.folder):
        tables = open_tables(cell.folder, cell.config)
    return _bench(cell, Request(), rig.station, tables, arm_model, base, switch)


def _bench(
    cell: Cell,
    request: Request,
    station: Station,
    tables: CellTables,
    arm_model: ArmModel,
    base: BaseInCell,
    switch: StopSwitch,
) -> Bench:
    config, camera = cell.config, station.camera
    seed = config.twin.seed if request.seed is None else request.seed
    view, view_note = _view(cell, station)
    guard = GuardedArm(station.arm, base, GuardRules.of(arm_model, config.arm, config.table, config.guard))
    guard.obstacles = obstacles_of(config)
    clock = StoppableClock(station.clock, switch, StopLatch(cell.folder))
    provenance, belonging = _provenance(cell, tables, station, seed)
    plane = load_plane(cell.calibration_dir)
    return Bench(
        config=config,
        arm=guard,
        clock=clock,
        mover=MoveControl(guard, clock, base, config.arm),
        base=base,
        camera=camera,
        view=view,
        view_note=view_note,
        marks=plane.marks,
        scene=plane.scene,
        arm_file=load_arm_file(cell.calibration_dir) if has_arm_file(cell.calibration_dir) else None,
        detect=detect_settings(config),
        judge=trial_judge(config),
        planner=tables.planner(config, arm_model, base),
        rehearsal=Rehearsal(arm_model, config, partial(drive_of, cell.calibration_dir, model_name(config))),
        corrections=CorrectionFile(cell.folder),
        belongs_to=belonging,
        rule=rule_of(config),
        latch=StopLatch(cell.folder),
        provenance=provenance,
        dry_run=request.dry_run,
        look_for_slip=request.look_for_slip,
    )


def detect_settings(config: Config) -> DetectSettings:
    """What detectors look for in this cell."""
    (x_lo, x_hi), (z_lo, z_hi) = config.workspace.x_m, config.workspace.z_m
    return DetectSettings(
        colour=config.block.colour,
        block_side_mm=config.block.side_mm,
        box_outer_mm=config.box.outside_mm,
        box_wall_height_mm=config.box.wall_height_mm,
        box_wall_mm=config.box.wall_mm,
        region=Region(x_min_m=x_lo, x_max_m=x_hi, z_min_m=z_lo, z_max_m=z_hi),
        score_limit=config.box.score_limit,
    )


def saved_view(cell: Cell) -> View | None:
    """The cell's calibrated view, None where it has none yet."""
    try:
        return load_view(cell.calibration_dir)
    except CalibrationMissing:
        return None


def _check(config: Config, request: Request) -> None:
    colour_model(config.block.colour)
    live = config.camera.kind == "opencv" and config.arm.kind != "twin"
    if config.camera.kind in ("auto", "twin") or not config.camera.source or live:
        return
    if not request.dry_run:
        raise WrongRequest(
            "no arm can be moved by pictures of another scene",
            next_step="add --dry-run, or leave --camera out",
        )
    if request.block_xz_m is not None or request.box_xz_m is not None:
        raise WrongRequest(
            "--block and --box put things on the twin's table; these pictures are not the twin's",
            next_step="leave them out",
        )


def _calibrate_once(cell: Cell, progress: Progress) -> None:
    """The twin's cell calibrates itself on first use, from pictures of the board, as a person does on the bench.

    Raises:
        CalibrationMissing: one half is there; it is somebody's work and is left alone.
        WrongRequest: the arm is of metal, and nobody has shown its camera the board.
    """
    of_twin = cell.config.arm.kind == "twin" or served_at(cell.folder, cell.config.arm.address) is not None
    made = any((cell.calibration_dir / name).exists() for name in (LENS_FILE, PLANE_FILE))
    if of_twin and not made:
        calibrate_twin(cell.config, cell.calibration_dir, progress)
    if not of_twin:
        by_twin = load_plane(cell.calibration_dir).source.startswith(TWIN_BOARD) if made else None
        refuse_twins_calibration(cell, by_twin)
    load_view(cell.calibration_dir)


def _view(cell: Cell, station: Station) -> tuple[View | None, str | None]:
    """The calibrated view, fitted to the camera's picture size where that differs, with a note that says so."""
    view, camera = saved_view(cell), station.camera
    if view is None or (station.twin is not None and camera is station.twin.camera):
        return view, None
    if camera.size_px == view.size_px:
        foreign = station.control is None and load_plane(cell.calibration_dir).source.startswith(TWIN_BOARD)
        return view, "the calibration is the twin's: positions on the table are only nominal" if foreign else None
    if not camera.replays:
        return view, None  # another size than the calibration's: the trial will find out that something was changed
    wide, high = camera.size_px
    zoom = wide / view.size_px[0]
    K = view.K * zoom
    K[2, 2] = 1.0
    K[0, 2], K[1, 2] = (wide - 1) / 2, (high - 1) / 2
    fitted = View.make(K, [0.0] * 5, view.R_camera_cell, view.t_camera_cell_m, (wide, high))
    return fitted, (
        f"pictures of {wide}×{high} px are not those of the calibration ({view.size_px[0]}×{view.size_px[1]} px): "
        "taken as if seen from the calibrated place; positions on the table are only nominal"
    )


def _provenance(cell: Cell, tables: CellTables, station: Station, seed: int) -> tuple[Provenance, BelongsTo]:
    config = cell.config
    hashes = {
        "lens": content_hash(load_lens(cell.calibration_dir)),
        "plane": content_hash(load_plane(cell.calibration_dir)),
    }
    if has_arm_file(cell.calibration_dir):
        hashes["arm"] = content_hash(load_arm_file(cell.calibration_dir))
    belonging = belongs_to(cell, tables.content_hash, station.profile)
    model = model_in_use(CorrectionFile(cell.folder).load(belonging), rule_of(config), config.corrections.use)
    settings: dict[str, Any] = config.model_dump(mode="json")
    provenance = Provenance(
        cell_id=config.cell.id,
        code_version=version("trialcell"),
        arm_kind=config.arm.kind,
        arm_model=tables.reach.cell.arm_model,
        camera=station.camera.name,
        judge=config.judge.kind,
        seed=seed,
        profile=station.profile,
        calibration_hashes=hashes,
        table_hash=tables.content_hash,
        approach_hashes={
            "approach_pick": tables.approach_pick.sha256,
            "approach_place": tables.approach_place.sha256,
        },
        corrections_hash=(model if config.trial.corrections else NO_MODEL).content_hash,
        settings=settings,
    )
    return provenance, belonging
