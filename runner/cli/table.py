"""`trialcell table`: build the reach table, keep its file, ask it, show what is in it."""

from __future__ import annotations

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_files import export, history, import_rows, merge, verify
from runner.cli.table_fill import add_commands
from runner.cli.table_lookup import lookup
from runner.cli.table_scan import scan
from runner.cli.table_words import about_table, facts_of

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell table lookup --phase pick --x 0.2 --z 0.22")


@app.callback()
def _table() -> None:
    """The reach table: tool points of this arm and the joints that bring them about."""


@app.command(epilog="Example: trialcell table show")
def show(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """What the reach table holds: rows, arm, hash, where the rows came from, and how many lie over each square."""
    from runner.cell import open_cell
    from runner.table.density import density_map
    from runner.table.format import read_table
    from runner.table.rows import CellOfTable

    out, opened = Output(as_json=json), open_cell(cell)
    table = read_table(opened.table_file, wanted=CellOfTable.of(opened.config))
    bands = {"pick": opened.config.table.pick_band_y_m, "place": opened.config.table.place_band_y_m}
    maps = {name: density_map(table, band) for name, band in bands.items()}
    facts = facts_of(opened, table) | {"squares": {name: one.as_dict() for name, one in maps.items()}}
    drawn = [
        f"\n{name} band {bands[name][0] * 1000:.0f}…{bands[name][1] * 1000:.0f} mm, rows a 20 mm square\n{one.drawn()}"
        for name, one in maps.items()
    ]
    about = about_table(table.cell, table.content_hash, table.batches)
    out.answer(facts, f"{len(table):,} rows in [bold]{opened.table_file}[/bold]", about, *drawn)
    return 0


app.command(epilog="Example: trialcell table scan   or, as the field: trialcell table scan --bases bases.csv")(scan)
app.command(epilog="Example: trialcell table lookup --phase pick --x 0.2 --z 0.22")(lookup)
app.command(epilog="Example: trialcell table merge fk_table_left.csv fk_table_right.csv")(merge)
app.command("import", epilog="Example: trialcell table import fk_table.csv")(import_rows)
app.command(epilog="Example: trialcell table export fk_table.csv")(export)
app.command(epilog="Example: trialcell table verify   or: trialcell table verify A.parquet B.parquet")(verify)
app.command(epilog="Example: trialcell table history")(history)
add_commands(app)
