"""`trialcell doctor`: is everything there that a trial needs?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell doctor   or   trialcell doctor --picture")
def doctor(
    picture: Annotated[bool, typer.Option("--picture", help="Also take a picture and look at it.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Also ask the judge's server two small questions; may cost a little.")
    ] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Look at libraries, the cell's folder, its tables and its calibration; say for each what is well or what to do."""
    out = Output(as_json=json)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("python", lambda: f"{sys.version.split()[0]} on {sys.platform}"),
        ("libraries", _libraries),
        ("cell", lambda: _cell(cell)),
        ("stop", lambda: _stop(cell)),
        ("storage", lambda: _storage(cell)),
        ("reach table", lambda: _table(cell)),
        ("approach", lambda: _approach(cell)),
        ("calibration", lambda: _calibration(cell)),
        *([("camera", lambda: _camera(cell))] if picture else []),
        *([("judge", lambda: _judge(cell))] if judge else []),
    ]
    rows = [_checked(name, check) for name, check in checks]
    worst = max(int(str(row["exit_code"])) for row in rows)
    lines = [_line(row) for row in rows]
    out.answer({"well": worst == 0, "checks": rows}, *lines)
    return worst


def _checked(name: str, check: Callable[[], str]) -> dict[str, object]:
    from runner.cli.failures import exit_code_of
    from runs.errors import TrialcellError

    try:
        return {"check": name, "well": True, "told": check(), "next_step": None, "exit_code": 0}
    except TrialcellError as error:
        return {
            "check": name,
            "well": False,
            "told": error.message,
            "next_step": error.next_step,
            "exit_code": exit_code_of(error),
        }


def _line(row: dict[str, object]) -> object:
    from rich.text import Text

    mark, style = ("✓", "green") if row["well"] else ("✗", "red")
    text = Text.assemble((mark, style), f" {row['check']:12} {row['told']}")
    if row["next_step"]:
        text.append(f"\n  → {row['next_step']}", style="dim")
    return text


def _libraries() -> str:
    from importlib.metadata import PackageNotFoundError, version

    import cv2

    from runner.cli.failures import CannotRun

    told = [f"OpenCV {cv2.__version__}"]
    for name in ("mujoco", "numpy", "pymycobot", "anthropic"):
        try:
            told.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            raise CannotRun(f"the library {name} is missing", next_step="set up again: make clean trial") from None
    return ", ".join(told)


def _cell(folder: Path) -> str:
    from runner.cell import open_cell

    if not _exists(folder):
        return f"{folder} is not made yet: the first run makes it, or: trialcell init"
    opened = open_cell(folder)
    return f"{opened.folder}: {opened.config.cell.id}, arm {opened.config.arm.kind}, judge {opened.config.judge.kind}"


def _stop(folder: Path) -> str:
    from runner.cli.failures import CannotRun
    from runs.latch import StopLatch

    stop = StopLatch(folder).read()
    if stop is not None:
        raise CannotRun(f"a stop is latched: {stop.why} (by {stop.by}, {stop.at})", next_step="trialcell stop --clear")
    return "none latched"


def _storage(folder: Path) -> str:
    from runs.store import RunStore

    if not _exists(folder):
        return "nothing to look at yet"
    RunStore(folder / "runs").check_writable()
    return "runs can be written"


def _table(folder: Path) -> str:
    from runner.cell import open_cell
    from runner.table.format import read_table
    from runner.table.rows import CellOfTable

    if not _exists(folder) or not (opened := open_cell(folder)).table_file.exists():
        return "not made yet: the first run makes it, or: trialcell table scan"
    return f"{len(read_table(opened.table_file, wanted=CellOfTable.of(opened.config))):,} rows"


def _approach(folder: Path) -> str:
    from runner.cell import open_cell
    from runner.table.approach import read_approach
    from runner.table.cell_tables import GRID_FILES
    from runner.table.rows import CellOfTable

    if not _exists(folder):
        return "not made yet: the first run makes it"
    opened = open_cell(folder)
    files = [opened.approach_dir / name for name in GRID_FILES.values()]
    if not all(path.exists() for path in files):
        return "not made yet: the first run makes it"
    wanted = CellOfTable.of(opened.config)
    return ", ".join(read_approach(path, wanted=wanted).name for path in files)


def _calibration(folder: Path) -> str:
    from runner.cell import open_cell
    from vision.calibration.file import load_lens, load_plane, view_of

    if not _exists(folder) or not any((opened := open_cell(folder)).calibration_dir.glob("*.json")):
        return "not made yet: the twin's first run makes it, or: trialcell calibrate lens, then plane"
    lens, plane = load_lens(opened.calibration_dir), load_plane(opened.calibration_dir)
    view_of(lens, plane, where=opened.calibration_dir)
    return f"lens {lens.held_out_px:.2f} px, plane {plane.held_out_mm:.2f} mm on what was left out; {plane.made_at}"


def _camera(folder: Path) -> str:
    from runner.cell import Cell, open_cell
    from runner.cli.failures import CannotRun
    from runner.config import Config
    from runner.station import any_camera
    from vision.cameras.quality import assess

    opened = open_cell(folder) if _exists(folder) else Cell(folder, Config())
    with any_camera(opened) as camera:
        frame = camera.read()
        width, height = camera.size_px
    quality = assess(frame.image_bgr)
    if quality.problem is not None:
        raise CannotRun(f"{camera.name}: {quality.problem}", next_step="look at light, lens and focus")
    return f"{camera.name} {width}×{height} px, sharp and neither dark nor bright"


def _judge(folder: Path) -> str:
    """What the judge's server does with two small questions."""
    from judges.probe import CannotJudge, probe
    from runner.cell import Cell, open_cell
    from runner.config import Config
    from runner.rig import backend_of, judging_by

    config = (open_cell(folder) if _exists(folder) else Cell(folder, Config())).config
    kind = config.judge.panel_model if config.judge.kind == "panel" else config.judge.kind
    if kind not in ("claude", "compatible"):
        return f"{kind}: asks no server"
    backend = backend_of(judging_by(config, kind))
    found = probe(backend, deadline_s=config.judge.deadline_s)
    if not found.sees_in_order:
        raise CannotJudge(backend.host, "pictures", f"it does not tell two pictures apart: {found.told}")
    form = (
        "holds replies to their form" if found.enforces_form else "does not hold replies to their form (checked here)"
    )
    model = found.model_returned or backend.model
    return f"{backend.kind} at {backend.host}: {model} answers in {found.seconds:.1f} s, sees pictures in order, {form}"


def _exists(folder: Path) -> bool:
    from runner.config import CELL_FILE

    return (folder / CELL_FILE).exists()
