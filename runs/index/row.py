"""One run as one row of the index: what stands, where it was, how far off, who judged, with which code.

Every row is made from a log that was decoded by type, also where the file had to be read in full first, so the two ways
can't differ. It decides nothing of its own: what stands is `verdicts.py`'s word, what is doubtful `queue.py`'s.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from runs.corrections.table import CorrectedPhase, cell_key
from runs.events import seconds_between
from runs.index.shape import COLUMNS, JUDGED_NAMES
from runs.queue import draw, drawn_from_the_confident, reasons_to_look
from runs.rulings import came_to
from runs.schema.geometry import TablePoint
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Word
from runs.verdicts import PERSON, Standing, not_taken_back, result_with, standing_in

LIGHT_BAND = 20
"""Width of a band of light: the mean grey level of a trial's first picture, 0…255, in steps of this."""


_NOTHING: dict[str, Any] = dict.fromkeys(COLUMNS)


def row_of(log: RunLog, run_id: str, state: str) -> dict[str, Any]:
    """The row of a run: every column of `COLUMNS` in its order; what is not known is None.

    Args:
        log: the log with later rulings and verdicts in it, as `typed.decode` makes it.
        run_id: the name of its folder, which is what it is found by.
        state: complete, running or interrupted.
    """
    pick, place = standing_in(log, "pick"), standing_in(log, "place")
    row = _named(run_id, state)
    row["started_at"], row["started"], row["day"] = log.started_at, _plain_utc(log.started_at), log.started_at[:10]
    row["result"], row["result_then"] = result_with(log, pick, place) or state, log.result
    row["dry_run"], row["recovered"] = log.dry_run, log.recovered
    row["agent"] = None if log.agent is None else log.agent.begun.by
    row["ruled"] = bool(log.rulings) and bool(not_taken_back(log.rulings))
    row["schema"] = log.schema_version if log.migrated_from is None else log.migrated_from
    took_s = log.duration_s
    row["duration_s"] = took_s if took_s is not None else seconds_between(log.started_at, log.ended_at)
    row["wall_s"] = log.wall_s
    row["attempts"] = len(log.pick_attempts)
    row["first_attempt"] = row["result"] == "completed" and row["attempts"] == 1
    row["lookups"], row["stages"], row["picks"] = log.lookups, log.stage_records, log.pick_attempts
    row["tips"] = [tip for tip in log.tip_measurements if tip.diff is not None]
    if (ending := log.ending) is not None:
        row["ended_stage"], row["reason"], row["family"] = ending.stage, ending.reason, ending.family
    if (made_with := log.provenance) is not None:
        row["seed"], row["profile"] = made_with.seed, made_with.profile
        row["cell_id"], row["arm"], row["arm_kind"] = made_with.cell_id, made_with.arm_model, made_with.arm_kind
        row["camera"], row["code"] = made_with.camera, made_with.code_version
        row["table_hash"], row["corrections_hash"] = made_with.table_hash, made_with.corrections_hash
    _add_seen(row, log)
    _add_moved(row, log)
    _add_judged(row, log, "pick", pick)
    _add_judged(row, log, "place", place)
    _add_judge(row, log)
    return row


def unreadable_row(run_id: str, problem: str) -> dict[str, Any]:
    """The row of a run that can't be read: named, with what is wrong, and nothing else."""
    return _named(run_id, "unreadable") | {
        "result": "unreadable",
        "problem": problem,
        "dry_run": False,
        "recovered": False,
        "ruled": False,
        "attempts": 0,
    }


def gone_row(run_id: str) -> dict[str, Any]:
    """The row that says that a run of an older part of the index is no more."""
    return _named(run_id, "gone")


def _named(run_id: str, state: str) -> dict[str, Any]:
    row = _NOTHING.copy()
    row["run_id"], row["number"], row["state"] = run_id, number_of(run_id), state
    return row


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
        row["light_level"], row["light"] = level, _light_band(level // LIGHT_BAND)
    if row["tips"]:
        last = row["tips"][-1].diff
        row["tip_dx_mm"], row["tip_dz_mm"], row["tip_dist_mm"] = last.dx_mm, last.dz_mm, last.dist_mm


@cache
def _light_band(number: float) -> str:
    low = int(number) * LIGHT_BAND
    return f"{low:03d}-{low + LIGHT_BAND - 1:03d}"


def _light_level(log: RunLog) -> float | None:
    """Mean grey level of the first picture of which it was noted, when it was taken or when it was judged."""
    for shot in log.vlm_captures:
        if shot.mean_level is not None:
            return shot.mean_level
    for verdict in log.verdicts:
        measured: Any = verdict.audit.measurements  # as `typed.decode` makes them, that one figure alone
        level = measured.mean_level
        if isinstance(level, int | float):
            return float(level)
    return None


def _key(phase: CorrectedPhase, xz_m: TablePoint | None) -> str | None:
    return None if xz_m is None else cell_key(phase, xz_m)


def _add_moved(row: dict[str, Any], log: RunLog) -> None:
    """Residuals are those of the last lookup of each kind: of the commanded pose, else of the row that was taken."""
    for lookup in log.lookups:
        if lookup.phase == "pick":
            row["pick_residual_mm"] = _residual_mm(lookup)
        elif lookup.phase == "place_withblock":
            row["place_residual_mm"] = _residual_mm(lookup)
    retried = rejected = 0
    least_mm: float | None = None
    for move in log.moves:
        retried += move.retried
        rejected += move.rejected_readings or 0
        if move.path_clearance_mm is not None and (least_mm is None or move.path_clearance_mm < least_mm):
            least_mm = move.path_clearance_mm
    row["moves"], row["moves_retried"] = len(log.moves), retried
    row["rejected_readings"], row["path_clearance_mm"] = rejected, least_mm


def _residual_mm(lookup: Any) -> float | None:
    if lookup.refined is not None:
        return float(lookup.refined.residual_mm)
    if lookup.x_residual_m is None or lookup.z_residual_m is None:
        return None
    return float((lookup.x_residual_m**2 + lookup.z_residual_m**2) ** 0.5 * 1000)


def _add_judged(row: dict[str, Any], log: RunLog, stage: JudgedStage, standing: Standing | None) -> None:
    """What stands for a step, what the machine said of it, and what a person should look at it for."""
    word, by, source, sure = (None, None, None, None) if standing is None else _stands(standing)
    image = doubt = texts = blind = lot = None
    reasons = None if row["state"] == "running" else reasons_to_look(log, stage, standing)
    if reasons is not None:
        judgment = log.judgments.get(stage)
        image = None if judgment is None else judgment.image
        if not reasons:
            lot = draw(0, row["run_id"], stage)
            doubt = drawn_from_the_confident(word, sure).doubt
        else:
            doubt = reasons[0].doubt
            texts = [reason.text for reason in reasons]
            blind = list(dict.fromkeys([reason.blind for reason in reasons]))
    judged = came_to(log, stage)
    said = (word, by, source, sure, judged, *_machine_said(log, stage), image, doubt, texts, blind, lot)
    row.update(zip(JUDGED_NAMES[stage], said, strict=True))


def _add_judge(row: dict[str, Any], log: RunLog) -> None:
    for verdict in log.verdicts:
        audit = verdict.audit
        if audit.cost_usd is not None:
            row["judge_cost_usd"] = (row["judge_cost_usd"] or 0) + audit.cost_usd
        if audit.seconds is not None:
            row["judge_s"] = (row["judge_s"] or 0) + audit.seconds
    judged = log.judgments.get("place") or log.judgments.get("pick")
    row["model"] = judged.model if judged is not None else None
    row["judge"] = log.provenance.judge if log.provenance is not None else None
    if row["judge"] is None:
        row["judge"] = log.verdicts[-1].audit.judge if log.verdicts else row["model"]


def _stands(standing: Standing) -> tuple[Any, ...]:
    return standing.word, standing.by, standing.source, standing.confidence


def _machine_said(log: RunLog, stage: JudgedStage) -> tuple[Word | None, float | None]:
    """What the machine judge itself said last, whatever stands now; a field log keeps that in its judgment."""
    for verdict in reversed(log.verdicts):
        if verdict.stage == stage and verdict.audit.judge != PERSON:
            return verdict.verdict, verdict.confidence
    judgment = log.judgments.get(stage)
    return (None, None) if judgment is None or log.verdicts else (judgment.vlm_verdict, judgment.confidence)


def _plain_utc(text: str) -> str | None:
    """A time of the log for SQL: UTC without saying so; a log whose times say no offset keeps its own clock."""
    if text.endswith("Z"):
        return text[:-1]
    try:
        time = datetime.fromisoformat(text)
        return (time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo is not None else time).isoformat()
    except (ValueError, OverflowError):
        return None
