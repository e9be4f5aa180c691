"""Options that many commands share, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

DEFAULT_CELL = Path("cell")

CellOption = Annotated[
    Path,
    typer.Option(
        "--cell",
        envvar="TRIALCELL_DIR",
        metavar="DIR",
        help="The cell's folder: its settings, tables and runs.",
    ),
]
"""Use as `cell: CellOption = DEFAULT_CELL`."""

JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object on stdout; everything else goes to stderr.",
    ),
]
"""Use as `json: JsonOption = False`, and hand it to `Output(as_json=json)`."""

CellsOption = Annotated[
    list[Path],
    typer.Option(
        "--cell",
        envvar="TRIALCELL_DIR",
        metavar="DIR",
        help="A cell's folder, or a folder of runs. More than one: say it again.",
    ),
]
"""Use as `cells: CellsOption = DEFAULT_CELLS`, where many cells may be asked at once."""

DEFAULT_CELLS = [DEFAULT_CELL]

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only runs of which this is so: profile=field, tip_dist_mm>10, seed!=none. All that are said must be so.",
    ),
]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="DATE", help="From this day on: 2026-07-03.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Up to this day, with it.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as you like.")
]
ProfileOption = Annotated[
    Literal["perfect", "field", "uncalibrated"] | None,
    typer.Option(help="How imperfect the twin's arm and camera are."),
]
