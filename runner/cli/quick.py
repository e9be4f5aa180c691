"""Command lines that are answered before the parser of command lines is loaded, which takes longer than their answer.

Only `table lookup`, and only where it is written plainly: known options, each once, each with a value that can be read.
Anything else gives None and goes the usual way, which also says what is wrong with it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NUMBERS = frozenset(
    (
        "x",
        "z",
        "ee_y_min",
        "ee_y_max",
        "dist_max_m",
        "j3_ref",
        "j3_tol_deg",
        "j5_ref",
        "j5_tol_deg",
        "joint_tol_deg",
        "place_ee_y_floor",
    )
)
_TEXTS = frozenset(("phase", "ref_joints", "cell"))


def answered(args: Sequence[str]) -> int | None:
    """The exit code of a command line that was answered here; None for all others."""
    if list(args[:2]) != ["table", "lookup"]:
        return None
    given = _read(args[2:])
    if given is None or not {"x", "z"} <= given.keys():
        return None
    from runner.cli.options import DEFAULT_CELL
    from runner.cli.table_lookup import lookup

    given["cell"] = Path(given.get("cell") or os.environ.get("TRIALCELL_DIR") or DEFAULT_CELL)
    return lookup(**given)


def _read(args: Sequence[str]) -> dict[str, Any] | None:
    """The options by their names as the command has them; None where one is not plain."""
    given: dict[str, Any] = {}
    rest = iter(args)
    for word in rest:
        option, equals, value = word.partition("=")
        name = option[2:].replace("-", "_")
        if not option.startswith("--") or "_" in option or name in given:
            return None
        if name == "json" and not equals:
            given[name] = True
            continue
        if not equals and (value := next(rest, "")) == "":
            return None
        if name in _TEXTS:
            given[name] = value
        elif name in _NUMBERS:
            try:
                given[name] = float(value)
            except ValueError:
                return None
        else:
            return None
    return given
