"""Settings to a working bench: the only place that picks a class for arm, camera and judge.

Makes what a cell lacks on first use (tables, and on the twin its calibration) and says so. Drivers are imported where
they are asked for, so that a missing one hurts nobody else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from json import dumps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from judges.protocol import Judge
from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm, GuardRules
from runner.calibrate.first_use import TWIN_BOARD, calibrate_twin
from runner.cell import Cell, making
from runner.config import Config
from runner.geometry import obstacles_of
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.station import Station, check_station, open_station, profile_of, refuse_twins_calibration
from runner.station import WrongRequest as WrongRequest  # noqa: PLC0414 - whoever asks for a rig catches it from here
from runner.table.cell_tables import CellTables, open_tables
from runner.table.opening import open_table
from runner.table.postures import arm_of
from runner.trial.bench import Bench
from runner.trial.stop import StoppableClock, StopSwitch
from runner.twin.served import served_at
from runner.twin.setup import Twin
from runs.corrections.file import CorrectionFile, model_in_use
from runs.corrections.model import NO_MODEL
from runs.corrections.proof import ProofSettings
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo
from runs.latch import StopLatch
from runs.schema.run import Provenance
from vision.calibration.file import LENS_FILE, PLANE_FILE, content_hash, load_lens, load_plane, load_view
from vision.calibration.view import View
from vision.detect.colour import colour_model
from vision.detect.protocol import DetectSettings, Region
from vision.errors import CalibrationMissing

if TYPE_CHECKING:
    from judges.backend import Backend
    from judges.budget import Budget
    from judges.claude import ModelJudge

Progress = Callable[[str], None]
ANTHROPIC_URL = "https://api.anthropic.com"
DEFAULT_KEY_VARIABLE = "ANTHROPIC_API_KEY"  # Anthropic's own: never sent to a local server


@dataclass(frozen=True, slots=True)
class Request:
    """What one run asks for beyond the cell's settings."""

    seed: int | None = None
    block_xz_m: tuple[float, float] | None = None
    box_xz_m: tuple[float, float] | None = None
    dry_run: bool = False


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
    return Bench(
        config=config,
        arm=guard,
        clock=clock,
        mover=MoveControl(guard, clock, base, config.arm),
        base=base,
        camera=camera,
        view=view,
        view_note=view_note,
        marks=load_plane(cell.calibration_dir).marks,
        detect=detect_settings(config),
        judge=trial_judge(config),
        planner=tables.planner(config, arm_model, base),
        corrections=CorrectionFile(cell.folder),
        belongs_to=belonging,
        rule=rule_of(config),
        latch=StopLatch(cell.folder),
        provenance=provenance,
        dry_run=request.dry_run,
    )


def rule_of(config: Config) -> RuleSettings:
    """How lessons are put together in this cell."""
    settings = config.corrections
    return RuleSettings(
        rule=settings.rule,
        enough=settings.enough,
        cap_mm=settings.cap_mm,
        cap_square_mm=settings.cap_square_mm,
        memory=settings.memory,
    )


def proof_of(config: Config) -> ProofSettings:
    """What a proof of a correction asks for in this cell."""
    return ProofSettings(margin=config.corrections.margin, most_pairs=config.corrections.most_pairs)


def belongs_to(cell: Cell, table_hash: str, profile: str) -> BelongsTo:
    """What corrections that are learned in this cell now belong to.

    Raises:
        CalibrationMissing: the cell has no plane yet.
    """
    arm = cell.config.arm
    tcp = ", ".join(f"{value:g}" for value in arm.tcp_mm)
    return BelongsTo(
        calibration_hash=content_hash(load_plane(cell.calibration_dir)),
        table_hash=table_hash,
        profile=profile,
        tool=f"{arm.model}: tool point ({tcp}) mm, rolled {arm.tool_roll_deg:g}°",
    )


def belongs_here(cell: Cell) -> BelongsTo:
    """The same for whoever has no rig: by the cell's files and settings alone.

    Raises:
        NoTableYet, BadTableFile, WrongTable, CalibrationMissing: the cell lacks what corrections are learned with.
    """
    return belongs_to(cell, open_table(cell.table_file, cell.config).content_hash, profile_of(cell))


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


def judge_of(config: Config) -> Judge:
    """The judge of the settings."""
    if config.judge.kind == "measured":
        from judges.measured import MeasuredJudge

        return MeasuredJudge()
    if config.judge.kind in ("claude", "compatible"):
        return _asked_again(config, model_judge(config))
    if config.judge.kind == "panel":
        return _panel(config)
    if config.judge.kind == "person":
        return _person(config)
    raise WrongRequest(f"there is no judge {config.judge.kind!r} to run with", next_step="set judge.kind = measured")


def judge_key(config: Config) -> str:
    """What tells the judge of these settings from others: not its budget and deadline, which change no answer."""
    settings = config.judge.model_dump(mode="json")
    for name in ("budget_usd", "budget_calls", "deadline_s", "key_variable", "base_url", "reviewer"):
        settings.pop(name, None)
    return dumps(settings, sort_keys=True)


def trial_judge(config: Config) -> Judge:
    """The judge of the settings as a trial asks it: where a model decides, the measurement is on record beside it."""
    judge = judge_of(config)
    if config.judge.kind not in ("claude", "compatible"):
        return judge
    from judges.measured import MeasuredJudge
    from judges.panel import RecordedAlongside

    return RecordedAlongside(judge, MeasuredJudge())


def judging_by(config: Config, kind: str) -> Config:
    """The same settings with another judge."""
    return config.model_copy(update={"judge": config.judge.model_copy(update={"kind": kind})})


def _asked_again(config: Config, judge: Judge) -> Judge:
    """The judge asked as often as the settings say."""
    settings = config.judge
    if settings.repeats == 1:
        return judge
    from judges.panel import RepeatedJudge

    return RepeatedJudge(
        judge, settings.repeats, only_below=settings.repeat_below if settings.repeat_below < 1 else None
    )


def _panel(config: Config) -> Judge:
    """Measurement and model, and a stronger model for what they disagree on; all models share one budget."""
    from judges.budget import Budget
    from judges.measured import MeasuredJudge
    from judges.panel import PanelJudge

    settings = config.judge
    by_model = judging_by(config, settings.panel_model)
    budget = Budget(limit_usd=settings.budget_usd, limit_calls=settings.budget_calls)
    model = _asked_again(config, model_judge(by_model, budget=budget))
    stronger = settings.escalate_model and model_judge(by_model, model=settings.escalate_model, budget=budget)
    return PanelJudge((MeasuredJudge(), model), stronger=stronger or None)


def _person(config: Config) -> Judge:
    """A person at the terminal, and whoever has an answer to be shown afterwards."""
    from judges.person import PersonJudge
    from judges.terminal import TerminalAsker

    settings = config.judge
    machine = judge_of(judging_by(config, settings.second_look)) if settings.second_look else None
    who = settings.reviewer or os.environ.get("USER", "").strip() or "a person"
    return PersonJudge(TerminalAsker(), who=who, machine=machine)


def model_judge(config: Config, *, model: str | None = None, budget: Budget | None = None) -> ModelJudge:
    """The judge that asks a model, by the settings' backend; what it is reached through is loaded in the background.

    Args:
        model: another than the settings'.
        budget: one that several judges share.
    """
    from judges.asking import Policy
    from judges.budget import Budget
    from judges.claude import ModelJudge, ModelSettings

    settings = config.judge
    local = settings.kind == "compatible"
    name = "compatible" if local else "claude"
    asked = model or settings.model
    if not local:
        threading.Thread(target=import_module, args=("judges.client",), name="import", daemon=True).start()
    return ModelJudge(
        name,
        lambda: backend_of(config, model=asked),
        ModelSettings(
            language=settings.language,
            crops=settings.crops,
            policy=Policy(deadline_s=settings.deadline_s, max_tokens=settings.max_tokens),
            threshold=settings.threshold,
        ),
        budget or Budget(limit_usd=settings.budget_usd, limit_calls=settings.budget_calls),
        model=asked,
    )


def backend_of(config: Config, *, model: str | None = None) -> Backend:
    """The way to the settings' model, with the key and address of settings and environment.

    Raises:
        NoKey, BadKey, BadAddress: it can't be reached so.
    """
    from judges.backend import BadAddress, NoKey, key_in

    settings = config.judge
    key = key_in(settings.key_variable)
    if settings.kind == "compatible":
        from judges.compatible import CompatibleBackend

        if not settings.base_url:
            raise BadAddress("", "is empty, and a local server has no address of its own")
        own = None if settings.key_variable == DEFAULT_KEY_VARIABLE else key
        return CompatibleBackend(api_key=own, base_url=settings.base_url, model=model or settings.model)
    if key is None:
        raise NoKey(settings.key_variable)
    from judges.client import AnthropicBackend

    url = address_of(config)
    return AnthropicBackend(api_key=key, base_url=url, model=model or settings.model, effort=settings.effort or None)


def address_of(config: Config) -> str:
    """Where the Messages API is asked: by the settings, else by the environment, else Anthropic's own."""
    return config.judge.base_url or os.environ.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL


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
