"""The calibration wizard: each step on arm or twin by the same code, and all in order with a number at the end.

Asks the person at the desk for what a program can't do; in the twin it asks nobody. A step that fails ends it, and what
was kept before it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runner.arm_calibration import ArmFile, as_calibrated, as_delivered
from runner.calibrate.approach import Taught, arc_pose_deg, teach_arc
from runner.calibrate.arm import calibrate_by_sight, calibrate_by_touch, hashes_of
from runner.calibrate.bench import ArmBench, Progress
from runner.calibrate.check import CheckFile, check_places, errors_of
from runner.calibrate.person import Person
from runner.calibrate.samples import read_touched
from runner.cell import Cell
from runner.kinematics.model import FloatArray
from runner.station import Station
from runner.table.approach import APPROACH_FOLDER, ApproachPhase, write_approach
from runner.table.approach_arc import PAIRS
from runner.table.cell_tables import GRID_FILES
from runner.table.retool import retool
from runner.wizard.camera import measure_lens, measure_plane
from runner.wizard.station import arm_bench
from vision.calibration.file import LensFile, PlaneFile
from vision.calibration.kept import now_text, save

FOUND_OUT_HIGHER_M = 0.04
"""How much higher an arm is checked that nobody has calibrated."""
AtPlace = Callable[[FloatArray], None]
Scorer = Callable[[ArmBench, Station], AtPlace]
"""For who scores: gets the bench and what stands behind it, gives what is told where the tool was sent."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmDone:
    """What was kept of the arm, what was missed on the way, and whether the cell's tables were made anew for it."""

    file: ArmFile
    missed: tuple[str, ...]
    retooled: bool


@dataclass(frozen=True, slots=True, eq=False)
class Everything:
    """What `calibrate_everything` measured, in order."""

    lens: LensFile
    plane: PlaneFile
    arm: ArmFile
    taught: dict[ApproachPhase, Taught]
    check: CheckFile
    retooled: bool


def measure_arm(
    cell: Cell, person: Person, progress: Progress, *, joints: bool = True, poses: int | None = None
) -> ArmDone:
    """Gripper and (with `joints`) zeros by watching the tip; then the tables are made to fit.

    Raises:
        CalibrationTooPoor, CalibrationMissing, NoWay, Refused, ArmError: nothing was kept.
    """
    with arm_bench(cell, person, progress) as (bench, _):
        found = calibrate_by_sight(bench, cell.calibration_dir, joints=joints, poses=poses)
        found.bench.home()
    return ArmDone(found.file, found.missed, fit_tables(with_calibration(cell), progress))


def touch_arm(cell: Cell, touched: Path, progress: Progress, *, joints: bool = True) -> ArmDone:
    """The same from a list of touched marks; nothing moves.

    Raises:
        BadTouchFile, CalibrationTooPoor: nothing was kept.
    """
    marks = read_touched(touched, len(cell.config.arm.home_deg))
    source = f"{len(marks)} touched marks in {touched.name}"
    file = calibrate_by_touch(cell.config, marks, cell.calibration_dir, joints=joints, source=source)
    return ArmDone(file, (), fit_tables(with_calibration(cell), progress))


def with_calibration(cell: Cell) -> Cell:
    """The cell as its calibration files say now."""
    return Cell(cell.folder, as_calibrated(as_delivered(cell.config), cell.calibration_dir))


def fit_tables(cell: Cell, progress: Progress) -> bool:
    """Make the tables fit the tool that is known now; whether there was anything to do."""
    return retool(cell.folder, cell.config, lambda share, what: progress(f"tables: {what}, {share:.0%}"))


def check_now(
    cell: Cell,
    person: Person,
    progress: Progress,
    *,
    scorer: Scorer | None = None,
    before: CheckFile | None = None,
) -> CheckFile:
    """Send the tip to held-out places, see how far off it is, keep the figures.

    Args:
        scorer: told of every place.
        before: the same check before calibrating.

    Raises:
        CalibrationTooPoor: the tip was hardly seen.
    """
    with arm_bench(cell, person, progress) as (bench, station):
        file = _checked(bench, cell.calibration_dir, _scored(scorer, bench, station), before)
        bench.home()
    save(file, cell.calibration_dir)
    return file


def teach(
    cell: Cell,
    person: Person,
    progress: Progress,
    phase: ApproachPhase,
    *,
    pose_deg: tuple[float, ...] | None = None,
    pairs: int = PAIRS,
    use: bool = False,
) -> tuple[Taught, Path]:
    """Teach an approach by sweeping j0; the file is kept beside the one that trials use, or in its place with `use`.

    Raises:
        CalibrationTooPoor: too little of the sweep was seen.
    """
    with arm_bench(cell, person, progress) as (bench, _):
        taught = _taught(bench, phase, pose_deg, pairs)
        bench.home()
    return taught, _keep_taught(cell, taught, phase, use=use)


def calibrate_everything(
    cell: Cell,
    person: Person,
    progress: Progress,
    *,
    scorer: Scorer | None = None,
) -> Everything:
    """Lens, plane, arm, approach and the check, in order; each is kept as soon as it is measured.

    `scorer` is told of the places of the check before calibrating, then of those of the check after it.

    Raises:
        What its steps raise.
    """
    lens = measure_lens(cell, person, progress)
    plane = measure_plane(cell, person, progress)
    folder = cell.calibration_dir
    cell = with_calibration(cell)
    with arm_bench(cell, person, progress) as (bench, station):
        bench.open_jaws()
        progress("how far off the arm is before")
        before = _checked(bench, folder, _scored(scorer, bench, station), None, lift_m=FOUND_OUT_HIGHER_M)
        found = calibrate_by_sight(bench, folder)
        taught = {phase: _taught(found.bench, phase, None, PAIRS) for phase in GRID_FILES}
        check = _checked(found.bench, folder, _scored(scorer, found.bench, station), before)
        found.bench.home()
    save(check, folder)
    known = with_calibration(cell)
    retooled = fit_tables(known, progress)
    for phase, each in taught.items():
        _keep_taught(known, each, phase, use=False)
    return Everything(lens, plane, found.file, taught, check, retooled)


def _scored(scorer: Scorer | None, bench: ArmBench, station: Station) -> AtPlace:
    return (lambda wanted_m: None) if scorer is None else scorer(bench, station)


def _taught(bench: ArmBench, phase: ApproachPhase, pose_deg: tuple[float, ...] | None, pairs: int) -> Taught:
    pose = arc_pose_deg(bench, phase) if pose_deg is None else np.array(pose_deg, dtype=float)
    return teach_arc(bench, phase, pose, pairs=pairs)


def _keep_taught(cell: Cell, taught: Taught, phase: ApproachPhase, *, use: bool) -> Path:
    name = GRID_FILES[phase]
    path = cell.folder / APPROACH_FOLDER / (name if use else f"taught_{name}")
    write_approach(path, taught.arc)
    return path


def _checked(
    bench: ArmBench, folder: Path, at_place: AtPlace, before: CheckFile | None, *, lift_m: float = 0.0
) -> CheckFile:
    bench.open_jaws()
    places, missed = check_places(bench, lift_m=lift_m, at_place=at_place)
    return CheckFile(
        made_at=now_text(),
        source=f"the tip seen by {bench.camera.name} at {len(places)} places that no fit has seen",
        held_out=errors_of(places),
        before=None if before is None else before.held_out,
        places=tuple(places),
        missed=tuple(missed),
        calibration_hashes=hashes_of(folder),
    )
