"""`trialcell calibrate list | diff | rollback`: which calibrations a cell had, what changed, and back to one."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

Id = Annotated[str, typer.Argument(metavar="ID", help="The first digits of a version, as the list shows them.")]


def list_versions(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Every calibration that this cell has or had, newest first in each kind."""
    from runner.calibrate.versions import all_versions
    from runner.cell import open_cell
    from runner.cli.calibrate_words import table_of, version_object

    out, opened = Output(as_json=json), open_cell(cell)
    found = all_versions(opened.calibration_dir)
    table = table_of("kind", "version", "", "made (UTC)", "from")
    for each in found:
        table.add_row(each.kind, each.id, "●" if each.current else "", each.made_at[:19], each.source)
    nothing = [] if found else ["nothing is calibrated yet: trialcell calibrate all"]
    out.answer({"versions": [version_object(each) for each in found]}, *([table] if found else []), *nothing)
    return 0


def diff(a: Id, b: Id, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """What differs between two versions of one kind, number by number."""
    from runner.calibrate.versions import comparable, version
    from runner.cell import open_cell
    from runner.cli.calibrate_words import table_of, version_object
    from vision.calibration.kept import differences

    out, opened = Output(as_json=json), open_cell(cell)
    one, other = version(opened.calibration_dir, a), version(opened.calibration_dir, b)
    comparable(one, other)
    found = [(key, x, y) for key, x, y in differences(one, other) if key != "content_hash"]
    table = table_of(one.kind, one.id, other.id, "change")
    for key, x, y in found:
        change = f"{y - x:+.4g}" if isinstance(x, int | float) and isinstance(y, int | float) else ""
        table.add_row(key, _short(x), _short(y), change)
    rows = [{"key": key, "a": x, "b": y} for key, x, y in found]
    same = [] if found else ["they are the same"]
    out.answer(
        {"a": version_object(one), "b": version_object(other), "differences": rows}, *([table] if found else []), *same
    )
    return 0


def rollback(id_text: Id, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Let an earlier version count again, with the lens or plane that belongs to it; the tables are made to fit."""
    from runner.calibrate.versions import roll_back, version
    from runner.cell import open_cell
    from runner.cli.calibrate_words import version_object
    from runner.wizard.steps import fit_tables, with_calibration
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder):
        back = roll_back(opened.calibration_dir, id_text)
        retooled = fit_tables(with_calibration(opened), out.aside.print)
    told = [f"{each.kind} is {each.id} again, made {each.made_at[:19]}" for each in back]
    if not back:
        told = [f"{version(opened.calibration_dir, id_text).id} counts already"]
    if retooled:
        told.append("the tables were made to fit its tool")
    out.answer({"put_back": [version_object(each) for each in back], "tables_made_anew": retooled}, *told)
    return 0


def _short(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else "–" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
