"""What the cell's folder holds: settings, a latched stop, what the last run left, room, tables, calibration."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from runner.cell import Cell
from runner.cli.checks.light import Finding, green, red, yellow

_LITTLE_SPACE_BYTES = 1_000_000_000  # a day of trials
_OLD_DAYS = 30


def machine() -> Iterator[Finding]:
    """Python and the libraries that a trial needs."""
    from importlib.metadata import PackageNotFoundError, version

    import cv2

    yield green("python", f"{sys.version.split()[0]} on {sys.platform}")
    told = [f"OpenCV {cv2.__version__}"]
    for name in ("mujoco", "numpy", "pymycobot", "anthropic"):
        try:
            told.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            yield red("libraries", f"the library {name} is missing", "set up again: make clean trial")
            return
    yield green("libraries", ", ".join(told))


def settings(opened: Cell, *, made: bool) -> Iterator[Finding]:
    """Which cell this is."""
    if not made:
        yield green("cell", f"{opened.folder} is not made yet: the first run makes it, or: trialcell init")
        return
    config = opened.config
    yield green("cell", f"{opened.folder}: {config.cell.id}, arm {config.arm.kind}, judge {config.judge.kind}")


def latched(folder: Path) -> Iterator[Finding]:
    """Whether a stop is latched."""
    from runs.latch import StopLatch

    stop = StopLatch(folder).read()
    if stop is None:
        yield green("stop", "none latched")
    else:
        told = f"a stop is latched: {stop.why} (by {stop.by}, {stop.at})"
        yield red("stop", told, "look at the cell, then: trialcell stop --clear")


def last_run(opened: Cell) -> Iterator[Finding]:
    """Whether the last run left something behind."""
    from runner.trial.found import what_was_under_way
    from runs.store import RunStore

    left = what_was_under_way(RunStore(opened.runs_dir))
    if left is None:
        yield green("last run", "left nothing behind")
        return
    holds = ", perhaps with the block in the gripper" if left.may_hold else ""
    does = {
        "start": "the next trial sets it right, and a held block down where it was taken",
        "place": "the next trial sets it right, and a held block down at trial.found_place_xz_m",
        "ask": "the next trial asks you to take out a held block",
    }[opened.config.trial.found_held]
    yield yellow("last run", f"{left.sentence}{holds}", f"{does} (trial.found_held)")


def storage(opened: Cell) -> Iterator[Finding]:
    """Whether runs can be written, and for how long."""
    from runs.store import RunStore

    RunStore(opened.runs_dir).check_writable()
    free = shutil.disk_usage(opened.folder).free
    told = f"runs can be written, {free / 1e9:.1f} GB free"
    if free < _LITTLE_SPACE_BYTES:
        yield yellow("storage", told, "make room: a trial takes some 2 MB, one with a film 20 MB")
    else:
        yield green("storage", told)


def tables(opened: Cell) -> Iterator[Finding]:
    """Whether reach and approach tables are there and belong to this arm and tool."""
    from runner.table.approach import read_approach
    from runner.table.cell_tables import GRID_FILES
    from runner.table.format import read_table
    from runner.table.rows import CellOfTable

    later = "not made yet: the first run makes it"
    wanted = CellOfTable.of(opened.config)
    if opened.table_file.exists():
        rows = len(read_table(opened.table_file, wanted=wanted))
        tcp = ", ".join(f"{v:g}" for v in opened.config.arm.tcp_mm)
        yield green("reach table", f"{rows:,} rows for {wanted.arm_model} with its tool point at ({tcp}) mm")
    else:
        yield green("reach table", f"{later}, or: trialcell table scan")
    files = [opened.approach_dir / name for name in GRID_FILES.values()]
    if all(path.exists() for path in files):
        yield green("approach", ", ".join(read_approach(path, wanted=wanted).name for path in files))
    else:
        yield green("approach", later)


def calibration(opened: Cell) -> Iterator[Finding]:
    """Whether lens and plane are calibrated, how well, and how long ago."""
    from runner.calibrate.first_use import TWIN_BOARD
    from runner.twin.served import served_at
    from vision.calibration.file import content_hash, load_lens, load_plane, view_of

    folder = opened.calibration_dir
    metal = opened.config.arm.kind != "twin" and served_at(opened.folder, opened.config.arm.address) is None
    how = "trialcell calibrate lens --pictures DIR, then: trialcell calibrate plane --picture FILE"
    if not any(folder.glob("*.json")):
        if metal:
            yield red("calibration", "missing, and an arm of metal is sent nowhere without", how)
        else:
            yield green("calibration", "not made yet: the twin's first run makes it")
        return
    lens, plane = load_lens(folder), load_plane(folder)
    view_of(lens, plane, where=folder)
    days = (datetime.now(UTC) - datetime.fromisoformat(plane.made_at).astimezone(UTC)).days
    age = "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"
    told = (
        f"lens {lens.held_out_px:.2f} px, plane {plane.held_out_mm:.2f} mm on what was left out; "
        f"id {content_hash(plane)[:8]}, made {age}"
    )
    if metal and plane.source.startswith(TWIN_BOARD):
        yield red("calibration", f"it is the twin's, and the arm at {opened.config.arm.address} is of metal", how)
    elif days > _OLD_DAYS:
        yield yellow(
            "calibration", told, f"older than {_OLD_DAYS} days: check it on the bench, or make it again: {how}"
        )
    else:
        yield green("calibration", told)
