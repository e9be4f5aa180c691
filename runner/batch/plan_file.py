"""Starts from a file: a CSV with a header line, or a JSON list of objects with the same keys.

Keys: `x_m`, `z_m`; and where given `yaw_deg`, `box_x_m`, `box_z_m`, `box_yaw_deg`, `seed`. Anything else is refused.
"""

from __future__ import annotations

import csv
import json
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any

from runner.batch.plan import NoSuchPlan, Place
from runs.batch_records import BatchPlan

KEYS = ("x_m", "z_m", "yaw_deg", "box_x_m", "box_z_m", "box_yaw_deg", "seed")


def read_places(path: Path) -> tuple[Place, ...]:
    """The places of a file, in its order.

    Raises:
        NoSuchPlan: the file can't be read, or a row is none; the message names it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NoSuchPlan(f"can't read {path}: {error}") from None
    rows = _json_rows(path, text) if path.suffix == ".json" else list(csv.DictReader(text.splitlines()))
    places = tuple(_place(path, number, row) for number, row in enumerate(rows, start=1))
    if not places:
        raise NoSuchPlan(f"{path} names no starts", next_step=f"a row has the keys {', '.join(KEYS)}")
    return places


def _json_rows(path: Path, text: str) -> list[Any]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise NoSuchPlan(f"{path} is no JSON: {error}") from None
    if isinstance(rows, dict):
        rows = rows.get("starts")
    if not isinstance(rows, list):
        raise NoSuchPlan(f"{path} is no list of starts")
    return rows


def _place(path: Path, number: int, row: Any) -> Place:
    where = f"{path}, start {number}"
    if not isinstance(row, dict):
        raise NoSuchPlan(f"{where}: not an object with keys")
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        raise NoSuchPlan(f"{where}: unknown key {unknown[0]!r}", next_step=f"keys are {', '.join(KEYS)}")
    given = {key: _number(where, key, value) for key, value in row.items() if value not in (None, "")}
    if "x_m" not in given or "z_m" not in given:
        raise NoSuchPlan(f"{where}: x_m or z_m is missing")
    if ("box_x_m" in given) != ("box_z_m" in given):
        raise NoSuchPlan(f"{where}: box_x_m and box_z_m go together")
    seed = given.get("seed")
    if seed is not None and (seed != int(seed) or seed < 0):
        raise NoSuchPlan(f"{where}: a seed is a whole number from 0 on, not {seed:g}")
    box = (given["box_x_m"], given["box_z_m"]) if "box_x_m" in given else None
    return Place(
        (given["x_m"], given["z_m"]),
        given.get("yaw_deg"),
        box,
        given.get("box_yaw_deg"),
        None if seed is None else int(seed),
    )


def _number(where: str, key: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not isfinite(number):
        raise NoSuchPlan(f"{where}: {key} is no number: {value!r}")
    return number


def places_csv(plan: BatchPlan) -> str:
    """The starts of a plan as a file that `read_places` reads; of a pair only the first."""
    lines = [",".join(KEYS)]
    for pair, members in groupby(plan.starts, key=lambda start: start.pair):
        start = next(members)
        assert start.pair == pair
        x, z = start.box_xz_m or ("", "")
        yaw = "" if start.box_yaw_deg is None else start.box_yaw_deg
        lines.append(f"{start.block_xz_m[0]},{start.block_xz_m[1]},{start.block_yaw_deg},{x},{z},{yaw},{start.seed}")
    return "\n".join(lines) + "\n"
