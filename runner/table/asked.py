"""One question to a cell's tables, as command and agent put it: the settings fill in what is not said."""

from __future__ import annotations

from typing import Any

from runner.table.lookup import Lookup
from runner.table.query import Query, as_logged
from runner.table.stamp import KnownSettings
from runs.schema.geometry import TablePoint
from runs.schema.phase import Phase


def ask_reach(
    lookup: Lookup,
    settings: KnownSettings,
    phase: Phase,
    target_xz_m: TablePoint,
    *,
    source_file: str,
    ee_y_min: float | None = None,
    ee_y_max: float | None = None,
    dist_max_m: float | None = None,
    place_ee_y_floor: float | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """The row for a point in a phase that is no approach, or why there is none, with the log's keys.

    Args:
        asked: `j3_ref`, `j3_tol_deg`, `j5_ref`, `j5_tol_deg`, `ref_joints`, `joint_tol_deg`, None where not said.

    Raises:
        BadQuery: options that can't be meant.
    """
    pick = phase == "pick"
    band = settings.pick_band_y_m if pick else settings.place_band_y_m
    floor = place_ee_y_floor
    query = Query(
        target_xz_m=target_xz_m,
        ee_y_band_m=(band[0] if ee_y_min is None else ee_y_min, band[1] if ee_y_max is None else ee_y_max),
        dist_max_m=settings.dist_max_m if dist_max_m is None else dist_max_m,
        place_ee_y_floor=floor if pick or floor is not None else settings.place_floor_y_m,
        **asked,
    )
    return as_logged(lookup.find(query, count=True), label=phase, phase=phase, source_file=source_file)
