"""When things were in one trial: its stages over seconds, and the joints move by move."""

from __future__ import annotations

from collections.abc import Iterator

from runs.events import seconds_between
from runs.report.bricks import FIGURES, angles, badge, figure, table
from runs.report.charts import JointMove, Mark, Span, joint_traces, timeline
from runs.report.markup import Child, tag
from runs.schema.run import RunLog


def timeline_of(log: RunLog) -> Child:
    """Stages, moves, pictures and verdicts over seconds; a log without times shows its stages in order."""
    if not log.stage_records:
        in_order = tag("ol", (tag("li", stage) for stage in log.stages))
        return [tag("p", "This log says no times of its stages; they came in this order.", class_="quiet"), in_order]
    spans = []
    at_s = 0.0
    for record in log.stage_records:
        start_s = record.started_s if record.started_s is not None else at_s
        at_s = start_s + (record.duration_s or 0.0)
        spans.append(Span(record.name, start_s, at_s, record.outcome, record.attempt))
    rows = [
        (
            each.name, FIGURES.number(each.attempt, 0) if each.attempt is not None else "—", each.outcome,
            FIGURES.number(each.started_s, 1), FIGURES.number(each.duration_s, 1), each.note,
        )
        for each in log.stage_records
    ]  # fmt: skip
    names = ("stage", "try", "outcome", "from, s", "took, s", "note")
    return [
        figure(timeline(spans, list(_marks(log)), f"timeline of {log.run_id}"), "Seconds on the arm's clock."),
        table(names, rows, right=("try", "from, s", "took, s"), small=True),
    ]


def _marks(log: RunLog) -> Iterator[Mark]:
    """Moments on the arm's clock: a wall-clock time is put into the stage that it fell in, in proportion."""
    records = [each for each in log.stage_records if each.ended_at is not None and each.started_s is not None]

    def seconds(at: str | None) -> float | None:
        for record in records:
            if at is not None and record.ended_at is not None and record.started_at <= at <= record.ended_at:
                whole = seconds_between(record.started_at, record.ended_at) or 0.0
                since = seconds_between(record.started_at, at) or 0.0
                share = since / whole if whole > 0 else 0.0
                return (record.started_s or 0.0) + share * (record.duration_s or 0.0)
        return None

    moments: list[tuple[str | None, str, str]] = [(each.at, "move", each.label) for each in log.moves]
    moments += [(each.at, "gripper", f"{each.stage}: {each.action}") for each in log.gripper]
    moments += [(each.at, "picture", each.label) for each in log.vlm_captures]
    moments += [(each.at, "verdict", f"{each.stage}: {each.verdict or 'no verdict'}") for each in log.verdicts]
    for at, kind, told in moments:
        at_s = seconds(at)
        if at_s is not None:
            yield Mark(at_s, kind, told)


def moves(log: RunLog) -> Child:
    """Traces of the joints, then a row a move."""
    if not log.moves:
        return tag("p", "Nothing moved.", class_="quiet")
    traced = [
        JointMove(each.label, each.commanded or each.target_angles, each.pre_actual, each.post_actual)
        for each in log.moves
    ]
    rows = [
        (
            each.label, angles(each.commanded or each.target_angles), angles(each.post_actual),
            FIGURES.number(each.post_max_delta_deg, 2), FIGURES.number(each.reach_tol_deg, 1),
            "arrived" if each.arrived else badge("no"), "again" if each.retried else "",
            FIGURES.number(each.duration_s, 1), FIGURES.number(each.path_clearance_mm, 1),
        )
        for each in log.moves
    ]  # fmt: skip
    names = ("move", "commanded, °", "read back, °", "off, °", "may be, °", "", "corrected", "took, s", "clearance, mm")
    return [
        figure(
            joint_traces(traced, f"joints of {log.run_id}"),
            "Below each joint: read back minus commanded, after each move.",
        ),
        table(names, rows, right=("off, °", "may be, °", "took, s", "clearance, mm"), small=True),
    ]
