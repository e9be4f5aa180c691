"""The tools that read what the cell knows: tables, why a place can't be had, ended runs, corrections, holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from runner.agent.cell_view import CellView
from runner.agent.fence import quoted
from runner.agent.models import (
    CorrectionsOut,
    CorrectionSquare,
    HistoryIn,
    HistoryOut,
    HolesIn,
    HolesOut,
    HoleSquare,
    LookupIn,
    LookupOut,
    NoArguments,
    PlaceOnTable,
    RunGroup,
    RunOut,
    StageOut,
    WhyNotOut,
)
from runner.agent.tool import Result
from runner.geometry import obstacles_of
from runner.learning import rule_of
from runner.table.approach_lookup import lookup_approach
from runner.table.asked import ask_reach
from runner.table.errors import PlanningError
from runner.table.holes import Status
from runner.table.opening import known_settings
from runner.table.postures import hard_limits
from runner.table.why import explain
from runs.corrections.overview import squares
from runs.corrections.words import named
from runs.index.groups import Group
from runs.index.questions import ManyRuns
from runs.index.select import Condition, Selection
from runs.schema.run import RunLog
from runs.verdicts import standing_in

MOST_SQUARES, MOST_GROUPS, MOST_NOTES = 40, 60, 20
_ENDED = Condition("state", "!=", "running")
T = TypeVar("T")


def lookup(cell: CellView, asked: LookupIn) -> Result:
    """One question to a table."""
    target, config = (asked.x_m, asked.z_m), cell.config
    planner = cell.planner
    if asked.phase in ("approach_pick", "approach_place"):
        record = lookup_approach(
            planner.approach_pick if asked.phase == "approach_pick" else planner.approach_place,
            target,
            hard_limits(planner.arm, config),
            label=asked.phase,
            j1_safe_max_deg=config.arm.j1_safe_max_deg,
            x_residual_max_m=config.table.arc_x_residual_m,
        )
        return Result(LookupOut(lookup=_without_empty(record.model_dump(mode="json"))))
    found = ask_reach(
        planner.lookup,
        known_settings(config, ""),
        asked.phase,
        target,
        source_file=planner.table_name,
        dist_max_m=asked.dist_max_m,
        ref_joints=asked.ref_joints,
        joint_tol_deg=asked.joint_tol_deg,
    )
    return Result(LookupOut(lookup=_without_empty(found)))


def why_not(cell: CellView, asked: PlaceOnTable) -> Result:
    """Why a place can't be had, or that it can."""
    survey = cell.survey(asked.phase)
    target = (asked.x_m, asked.z_m)
    square = survey.ground.region.square_of(target) or (round(asked.x_m * 1000.0), round(asked.z_m * 1000.0))
    one = survey.around(square)
    state, proof = one.one(square)
    told = explain(state, proof, one.ground, one.arm, one.base)
    plan_why, residual, clear = None, None, None
    try:
        free = obstacles_of(cell.config)
        plan = (
            cell.planner.plan_pick(target, 0.0, free)
            if asked.phase == "pick"
            else cell.planner.plan_place(target, free)
        )
        residual = round(plan.residual_mm, 3)
        clear = None if plan.clearance is None else round(plan.clearance.mm, 1)
    except PlanningError as error:
        plan_why = quoted(error.message)
    return Result(
        WhyNotOut(
            lines=tuple(line for text in told.lines for line in text.splitlines()),
            plan="found" if plan_why is None else "none",
            plan_why=plan_why,
            residual_mm=residual,
            clearance_mm=clear,
        )
    )


def history(cell: CellView, asked: HistoryIn) -> Result:
    """Runs that have ended, in groups or one in full."""
    if asked.run is not None:
        return Result(HistoryOut(run=_run_out(cell.ended_run(asked.run).log)))
    given = Selection.parse(list(asked.where), last=asked.last)
    selection = Selection((*given.conditions, _ENDED), last=given.last)
    with ManyRuns([cell.cell.folder]) as many:
        many.refresh()
        groups = [_group_out(group) for group in many.stats(asked.by, selection)]
    kept, left = _first(groups, MOST_GROUPS)
    return Result(HistoryOut(groups=tuple(kept), left_out=left))


def corrections(cell: CellView, _: NoArguments) -> Result:
    """What has been learned, and what is applied of it."""
    state, config = cell.corrections(), cell.config
    found = sorted(squares(state.table, state.live), key=lambda square: -square.size_mm)
    kept, left = _first(found, MOST_SQUARES)
    return Result(
        CorrectionsOut(
            applied=config.trial.corrections,
            rule=rule_of(config).rule,
            live=None if state.live is None else named(state.live),
            candidate=None if state.candidate is None else named(state.candidate),
            proof=None if state.proof is None else quoted(f"{state.proof.word}: {state.proof.reason}"),
            squares=tuple(
                CorrectionSquare(
                    square=one.key,
                    dx_mm=round(one.dx_mm, 2),
                    dz_mm=round(one.dz_mm, 2),
                    n=one.n,
                    spread_mm=None if one.spread_mm is None else round(one.spread_mm, 2),
                    applied=one.applied,
                )
                for one in kept
            ),
            left_out=left,
        )
    )


def holes(cell: CellView, asked: HolesIn) -> Result:
    """The map of squares of a phase."""
    found = cell.survey(asked.phase).holes()
    bad = [state for state in found.squares if state.status is not Status.DENSE]
    kept, left = _first(bad, MOST_SQUARES)
    return Result(
        HolesOut(
            counts=found.counts(),
            map=found.drawn(),
            squares=tuple(
                HoleSquare(x_mm=s.square[0], z_mm=s.square[1], status=str(s.status), why=quoted(s.why)) for s in kept
            ),
            left_out=left,
        )
    )


def _run_out(log: RunLog) -> RunOut:
    blocks = [look.block_xz_m for look in log.detect if look.block_xz_m is not None]
    boxes = [look.box_xz_m for look in log.detect if look.box_xz_m is not None]
    tips = [tip.diff for tip in log.tip_measurements if tip.diff is not None]
    standing = {stage: standing_in(log, stage) for stage in log.judgments}
    refused = [f"{one.label}: {one.guard_reason or one.abort_reason}" for one in log.lookups if not one.guard_pass]
    return RunOut(
        run_id=log.run_id,
        result=log.result,
        result_stage=None if log.ending is None else log.ending.stage,
        reason=None if log.ending is None else quoted(log.ending.reason),
        verdicts={stage: None if one is None else one.word for stage, one in standing.items()},
        attempts=len(log.pick_attempts),
        block_xz_m=blocks[0] if blocks else None,
        box_xz_m=boxes[0] if boxes else None,
        tip_minus_block_mm=(round(tips[-1].dx_mm, 2), round(tips[-1].dz_mm, 2)) if tips else None,
        stages=tuple(
            StageOut(
                name=stage.name,
                outcome=stage.outcome,
                attempt=stage.attempt,
                note=None if stage.note is None else quoted(stage.note),
            )
            for stage in log.stage_records
        ),
        refusals=tuple(quoted(text) for text in refused[:MOST_NOTES]),
        notes=tuple(quoted(note.text) for note in log.notes[:MOST_NOTES]),
        pictures=tuple(shot.label for shot in log.vlm_captures),
    )


def _group_out(group: Group) -> RunGroup:
    return RunGroup(
        key=group.key,
        n=group.n,
        results=dict(group.results),
        success=group.success.rate,
        low=group.success.low,
        high=group.success.high,
        attempts=group.attempts,
        tip_dx_mm=group.tip_dx_mm,
        tip_dz_mm=group.tip_dz_mm,
        tip_mm=group.tip_mm,
    )


def _first(items: Sequence[T], most: int) -> tuple[list[T], int]:
    return list(items[:most]), max(0, len(items) - most)


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value not in (None, [], {}) and key != "nearest_pts"}
