"""Options that many commands share, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
