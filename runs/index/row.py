"""One run as one row of the index: what stands, where it was, how far off, who judged, with which code.

Every row is made from a log that was decoded by type, also where the file had to be read in full first, so the two ways
can't differ. It decides nothing of its own: what stands is `verdicts.py`'s word, what is doubtful `queue.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runs.corrections.table import CorrectedPhase, cell_key
from runs.events import seconds_between
from runs.queue import doubtful_step, draw
from runs.rulings import came_to
from runs.schema.geometry import TablePoint
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Word
from runs.verdicts import PERSON, Standing, not_taken_back, result_with, standing_in

STAGES: tuple[JudgedStage, ...] = ("pick", "place")

LIGHT_BAND = 20
"""Width of a band of light: the mean grey level of a trial's first picture, 0…255, in steps of this."""

COLUMNS: dict[str, str] = {
    "run_id": "VARCHAR",
    "number": "INTEGER",
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
    **{
        f"{stage}_{name}": kind
        for stage in ("pick", "place")
        for name, kind in (
            ("word", "VARCHAR"),
            ("by", "VARCHAR"),
            ("source", "VARCHAR"),
            ("confidence", "DOUBLE"),
            ("judged", "BOOLEAN"),
            ("said", "VARCHAR"),
            ("said_confidence", "DOUBLE"),
            ("image", "VARCHAR"),
            ("doubt", "DOUBLE"),
            ("reasons", "VARCHAR[]"),
            ("blind_reasons", "VARCHAR[]"),
            ("lot", "DOUBLE"),
        )
    },
    "lookups": "STRUCT(label VARCHAR, phase VARCHAR, method VARCHAR, attempt INTEGER, target_xz_m DOUBLE[], "
    "x_residual_m DOUBLE, z_residual_m DOUBLE, total_residual_m DOUBLE, refined STRUCT(residual_mm DOUBLE), "
    "max_dj_deg DOUBLE, guard_pass BOOLEAN, guard_reason VARCHAR)[]",
    "stages": "STRUCT(name VARCHAR, outcome VARCHAR, attempt INTEGER, duration_s DOUBLE)[]",
    "picks": "STRUCT(attempt INTEGER, verdict VARCHAR, x_residual_m DOUBLE, z_residual_m DOUBLE, residual_mm DOUBLE, "
    "grip_holding BOOLEAN)[]",
    "tips": "STRUCT(attempt INTEGER, diff STRUCT(dx_mm DOUBLE, dz_mm DOUBLE, dist_mm DOUBLE))[]",
}
"""The columns of the table of runs and their types in SQL."""

NESTED: dict[str, str] = {
    "lookups": "one.label, one.phase, one.method, one.attempt, one.target_xz_m[1] AS target_x_m, "
    "one.target_xz_m[2] AS target_z_m, one.x_residual_m, one.z_residual_m, one.total_residual_m, "
    "one.refined.residual_mm AS refined_residual_mm, one.max_dj_deg, one.guard_pass, one.guard_reason",
    "stages": "one.name, one.outcome, one.attempt, one.duration_s",
    "picks": "one.attempt, one.verdict, one.x_residual_m, one.z_residual_m, one.residual_mm, one.grip_holding",
    "tips": "one.attempt, one.diff.dx_mm, one.diff.dz_mm, one.diff.dist_mm",
}
"""Columns that hold many of something; each is a table of its own in SQL as well, with these columns of each `one`."""


def row_of(log: RunLog, run_id: str, state: str) -> dict[str, Any]:
    """The row of a run.

    Args:
        log: the log with later rulings and verdicts in it, as `typed.decode` makes it.
        run_id: the name of its folder, which is what it is found by.
        state: complete, running or interrupted.
    """
    made_with = log.provenance
    ending = log.ending
    standing = {stage: standing_in(log, stage) for stage in STAGES}
    row: dict[str, Any] = {
        "run_id": run_id,
        "number": number_of(run_id),
        "state": state,
        "started_at": log.started_at,
        "started": _plain_utc(log.started_at),
        "day": log.started_at[:10],
        "result": result_with(log, standing["pick"], standing["place"]) or state,
        "result_then": log.result,
        "ended_stage": ending.stage if ending is not None else None,
        "reason": ending.reason if ending is not None else None,
        "family": ending.family if ending is not None else None,
        "dry_run": log.dry_run,
        "agent": None if log.agent is None else log.agent.begun.by,
        "recovered": log.recovered,
        "ruled": bool(not_taken_back(log.rulings)),
        "schema": log.schema_version if log.migrated_from is None else log.migrated_from,
        "duration_s": log.duration_s if log.duration_s is not None else seconds_between(log.started_at, log.ended_at),
        "wall_s": log.wall_s,
        "attempts": len(log.pick_attempts),
        "lookups": log.lookups,
        "stages": log.stage_records,
        "picks": log.pick_attempts,
        "tips": [tip for tip in log.tip_measurements if tip.diff is not None],
    }
    row["first_attempt"] = row["result"] == "completed" and row["attempts"] == 1
    if made_with is not None:
        row["seed"] = made_with.seed
        row["profile"] = made_with.profile
        row["cell_id"] = made_with.cell_id
        row["arm"] = made_with.arm_model
        row["arm_kind"] = made_with.arm_kind
        row["camera"] = made_with.camera
        row["code"] = made_with.code_version
        row["table_hash"] = made_with.table_hash
        row["corrections_hash"] = made_with.corrections_hash
    _add_seen(row, log)
    _add_moved(row, log)
    _add_judged(row, log, standing)
    return row


def unreadable_row(run_id: str, problem: str) -> dict[str, Any]:
    """The row of a run that can't be read: named, with what is wrong, and nothing else."""
    return {"run_id": run_id, "number": number_of(run_id), "state": "unreadable", "result": "unreadable"} | {
        "problem": problem,
        "dry_run": False,
        "recovered": False,
        "ruled": False,
        "attempts": 0,
    }


def number_of(run_id: str) -> int:
    """The number in a run's name."""
    return int(run_id.split("_")[1])


def _add_seen(row: dict[str, Any], log: RunLog) -> None:
    block: TablePoint | None = None
    box: TablePoint | None = None
    for look in log.detect:  # the first sight of each: where it stood before anything moved
        if block is None and look.block_xz_m is not None:
            block = look.block_xz_m
            row["block_yaw_deg"] = None if look.block is None else look.block.yaw_deg
        if look.box_xz_m is not None and box is None:
            box, row["box_score"] = look.box_xz_m, look.box_score
    if block is not None:
        row["block_x_m"], row["block_z_m"] = block
    if box is not None:
        row["box_x_m"], row["box_z_m"] = box
    used = log.correction
    row["pick_key"] = used.last.cell_key if used.last is not None else _key("pick", block)
    row["place_key"] = used.place_last.cell_key if used.place_last is not None else _key("place", box)
    for phase, use in (("pick", used.last), ("place", used.place_last)):
        if use is not None:
            row[f"{phase}_correction_dx_mm"], row[f"{phase}_correction_dz_mm"] = use.dx_mm, use.dz_mm
            row[f"{phase}_correction_n"], row[f"{phase}_corrected"] = use.n, use.applied
    level = _light_level(log)
    if level is not None:
        low = int(level // LIGHT_BAND) * LIGHT_BAND
        row["light_level"], row["light"] = level, f"{low:03d}-{low + LIGHT_BAND - 1:03d}"
    last = next((tip.diff for tip in reversed(log.tip_measurements) if tip.diff is not None), None)
    if last is not None:
        row["tip_dx_mm"], row["tip_dz_mm"], row["tip_dist_mm"] = last.dx_mm, last.dz_mm, last.dist_mm


def _light_level(log: RunLog) -> float | None:
    """Mean grey level of the first picture of which it was noted, when it was taken or when it was judged."""
    for shot in log.vlm_captures:
        if shot.mean_level is not None:
            return shot.mean_level
    for verdict in log.verdicts:
        level = verdict.audit.measurements.get("mean_level")
        if isinstance(level, int | float):
            return float(level)
    return None


def _key(phase: CorrectedPhase, xz_m: TablePoint | None) -> str | None:
    return None if xz_m is None else cell_key(phase, xz_m)


def _add_moved(row: dict[str, Any], log: RunLog) -> None:
    """Residuals are those of the last lookup of each kind: of the commanded pose, else of the row that was taken."""
    for lookup in log.lookups:
        name = {"pick": "pick_residual_mm", "place_withblock": "place_residual_mm"}.get(lookup.phase)
        if name is not None:
            row[name] = _residual_mm(lookup)
    row["moves"] = len(log.moves)
    row["moves_retried"] = sum(move.retried for move in log.moves)
    row["rejected_readings"] = sum(move.rejected_readings or 0 for move in log.moves)
    clearances = [move.path_clearance_mm for move in log.moves if move.path_clearance_mm is not None]
    row["path_clearance_mm"] = min(clearances) if clearances else None


def _residual_mm(lookup: Any) -> float | None:
    if lookup.refined is not None:
        return float(lookup.refined.residual_mm)
    if lookup.x_residual_m is None or lookup.z_residual_m is None:
        return None
    return float((lookup.x_residual_m**2 + lookup.z_residual_m**2) ** 0.5 * 1000)


def _add_judged(row: dict[str, Any], log: RunLog, standings: Mapping[JudgedStage, Standing | None]) -> None:
    costs = [v.audit.cost_usd for v in log.verdicts if v.audit.cost_usd is not None]
    seconds = [v.audit.seconds for v in log.verdicts if v.audit.seconds is not None]
    row["judge_cost_usd"], row["judge_s"] = (sum(costs) if costs else None), (sum(seconds) if seconds else None)
    for stage in STAGES:
        standing = standings[stage]
        row[f"{stage}_judged"] = came_to(log, stage)
        if standing is not None:
            row[f"{stage}_word"], row[f"{stage}_by"] = standing.word, standing.by
            row[f"{stage}_source"], row[f"{stage}_confidence"] = standing.source, standing.confidence
        machine = _machine_said(log, stage)
        if machine is not None:
            row[f"{stage}_said"], row[f"{stage}_said_confidence"] = machine
        if row["state"] == "running":
            continue
        item = doubtful_step(log, row["run_id"], stage, standing, share=1.0)
        if item is not None:
            row[f"{stage}_doubt"], row[f"{stage}_reasons"] = item.doubt, item.reasons
            row[f"{stage}_blind_reasons"] = item.blind_reasons
            row[f"{stage}_image"] = item.image
            row[f"{stage}_lot"] = draw(0, row["run_id"], stage) if item.drawn else None
    judged = log.judgments.get("place") or log.judgments.get("pick")
    row["model"] = judged.model if judged is not None else None
    row["judge"] = log.provenance.judge if log.provenance is not None else None
    if row["judge"] is None:
        row["judge"] = log.verdicts[-1].audit.judge if log.verdicts else row["model"]


def _machine_said(log: RunLog, stage: JudgedStage) -> tuple[Word | None, float | None] | None:
    """What the machine judge itself said last, whatever stands now; a field log keeps that in its judgment."""
    said = [v for v in log.verdicts if v.stage == stage and v.audit.judge != PERSON]
    if said:
        return said[-1].verdict, said[-1].confidence
    judgment = log.judgments.get(stage)
    return None if judgment is None or log.verdicts else (judgment.vlm_verdict, judgment.confidence)


def _plain_utc(text: str) -> str | None:
    """A time of the log for SQL: UTC without saying so; a log whose times say no offset keeps its own clock."""
    if text.endswith("Z"):
        return text[:-1]
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo is not None else time).isoformat()
