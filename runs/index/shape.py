"""What columns the table of runs has, and what of a run each nested one holds. It makes no row."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from runs.schema.verdict import JudgedStage

STAGES: tuple[JudgedStage, ...] = ("pick", "place")

Part = tuple[str, Callable[[Any], Any]]
"""A column of one of the nested things: its type in SQL, and what it is of one of them."""


def _of(name: str, kind: str) -> dict[str, Part]:
    return {name: (kind, attrgetter(name))}


def _refined_mm(lookup: Any) -> float | None:
    return None if lookup.refined is None else lookup.refined.residual_mm


NESTED: dict[str, dict[str, Part]] = {
    "lookups": {
        **_of("label", "VARCHAR"),
        **_of("phase", "VARCHAR"),
        **_of("method", "VARCHAR"),
        **_of("attempt", "INTEGER"),
        "target_x_m": ("DOUBLE", lambda lookup: lookup.target_xz_m[0]),
        "target_z_m": ("DOUBLE", lambda lookup: lookup.target_xz_m[1]),
        **_of("x_residual_m", "DOUBLE"),
        **_of("z_residual_m", "DOUBLE"),
        **_of("total_residual_m", "DOUBLE"),
        "refined_residual_mm": ("DOUBLE", _refined_mm),
        **_of("max_dj_deg", "DOUBLE"),
        **_of("guard_pass", "BOOLEAN"),
        **_of("guard_reason", "VARCHAR"),
    },
    "stages": {
        **_of("name", "VARCHAR"),
        **_of("outcome", "VARCHAR"),
        **_of("attempt", "INTEGER"),
        **_of("duration_s", "DOUBLE"),
    },
    "picks": {
        **_of("attempt", "INTEGER"),
        **_of("verdict", "VARCHAR"),
        **_of("x_residual_m", "DOUBLE"),
        **_of("z_residual_m", "DOUBLE"),
        **_of("residual_mm", "DOUBLE"),
        **_of("grip_holding", "BOOLEAN"),
    },
    "tips": {
        **_of("attempt", "INTEGER"),
        "dx_mm": ("DOUBLE", attrgetter("diff.dx_mm")),
        "dz_mm": ("DOUBLE", attrgetter("diff.dz_mm")),
        "dist_mm": ("DOUBLE", attrgetter("diff.dist_mm")),
    },
}
"""What a run holds many of. Each is a column of `COLUMNS`, and in SQL a table of its own with these columns."""

_JUDGED = {
    "word": "VARCHAR",
    "by": "VARCHAR",
    "source": "VARCHAR",
    "confidence": "DOUBLE",
    "judged": "BOOLEAN",
    "said": "VARCHAR",
    "said_confidence": "DOUBLE",
    "image": "VARCHAR",
    "doubt": "DOUBLE",
    "reasons": "VARCHAR[]",
    "blind_reasons": "VARCHAR[]",
    "lot": "DOUBLE",
}
"""Columns of each judged step, with its name in front."""

JUDGED_NAMES = {stage: [f"{stage}_{name}" for name in _JUDGED] for stage in STAGES}

COLUMNS: dict[str, str] = {
    "run_id": "VARCHAR",
    "number": "BIGINT",
    "state": "VARCHAR",
    "problem": "VARCHAR",
    "started_at": "VARCHAR",
    "started": "TIMESTAMP",
    "day": "VARCHAR",
    "result": "VARCHAR",
    "result_then": "VARCHAR",
    "ended_stage": "VARCHAR",
    "reason": "VARCHAR",
    "family": "VARCHAR",
    "dry_run": "BOOLEAN",
    "agent": "VARCHAR",
    "recovered": "BOOLEAN",
    "ruled": "BOOLEAN",
    "schema": "INTEGER",
    "duration_s": "DOUBLE",
    "wall_s": "DOUBLE",
    "attempts": "INTEGER",
    "first_attempt": "BOOLEAN",
    "seed": "BIGINT",
    "profile": "VARCHAR",
    "cell_id": "VARCHAR",
    "arm": "VARCHAR",
    "arm_kind": "VARCHAR",
    "camera": "VARCHAR",
    "code": "VARCHAR",
    "judge": "VARCHAR",
    "model": "VARCHAR",
    "table_hash": "VARCHAR",
    "corrections_hash": "VARCHAR",
    "pick_key": "VARCHAR",
    "place_key": "VARCHAR",
    "block_x_m": "DOUBLE",
    "block_z_m": "DOUBLE",
    "block_yaw_deg": "DOUBLE",
    "box_x_m": "DOUBLE",
    "box_z_m": "DOUBLE",
    "box_score": "DOUBLE",
    "light_level": "DOUBLE",
    "light": "VARCHAR",
    "tip_dx_mm": "DOUBLE",
    "tip_dz_mm": "DOUBLE",
    "tip_dist_mm": "DOUBLE",
    **{
        f"{phase}_{name}": kind
        for phase in ("pick", "place")
        for name, kind in (
            ("correction_dx_mm", "DOUBLE"),
            ("correction_dz_mm", "DOUBLE"),
            ("correction_n", "INTEGER"),
            ("corrected", "BOOLEAN"),
        )
    },
    "pick_residual_mm": "DOUBLE",
    "place_residual_mm": "DOUBLE",
    "moves": "INTEGER",
    "moves_retried": "INTEGER",
    "rejected_readings": "INTEGER",
    "path_clearance_mm": "DOUBLE",
    "judge_cost_usd": "DOUBLE",
    "judge_s": "DOUBLE",
    **{f"{stage}_{name}": kind for stage in ("pick", "place") for name, kind in _JUDGED.items()},
    **{
        many: f"STRUCT({', '.join(f'{name} {kind}' for name, (kind, _) in columns.items())})[]"
        for many, columns in NESTED.items()
    },
}
"""The columns of the table of runs, in their order, and their types in SQL."""
