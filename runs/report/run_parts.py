"""One trial told: verdicts with their reasons, pictures, timeline, traces, where and how far off, what it stood on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runs.events import seconds_between
from runs.figures import name_of
from runs.report.agent_part import agent_section
from runs.report.bricks import FIGURES, angles, badge, everything, figure, pairs, part, picture, section, table
from runs.report.charts import JointMove, Mark, Span, joint_traces, timeline
from runs.report.maps import Place, trial_map
from runs.report.markup import Child, Markup, tag
from runs.report.pictures import Shown, pictures_of
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict
from runs.store import StoredRun
from runs.verdicts import standing_in, standing_result

STAGES: tuple[JudgedStage, ...] = ("pick", "place")


def run_sections(stored: StoredRun, *, wide_px: int = 900, whole: bool = True) -> Iterator[Markup]:
    """The sections of one run's page. `whole` adds every figure of the log as it stands in the file."""
    log = stored.log
    yield section("Verdicts", verdict_cards(log), name="verdicts")
    yield from agent_section(log)
    shown = pictures_of(log, stored.entry.folder, wide_px=wide_px)
    if shown:
        every = part("all pictures", tag("div", (picture(each) for each in shown), class_="pics"))
        yield section("Pictures", LEGEND, before_and_after(log, shown), every, name="pictures")
    yield section("Timeline", timeline_of(log), name="timeline")
    yield section("Where", where(log), name="where")
    yield section("Lookups", lookups(log), name="lookups", lead="From what was seen to what was commanded.")
    yield section("Moves", moves(log), name="moves", lead="Commanded and read back, degrees.")
    yield section("Detections, gripper, guard, notes", seen_and_held(log), name="seen")
    yield section("What it stood on", stood_on(log), name="settings")
    if whole:
        dump = tag(
            "details", tag("summary", "Show the whole record"), everything(log.model_dump(mode="json")), class_="long"
        )
        yield section(
            "Every figure in the log",
            dump,
            name="record",
            lead="As it stands in the file, nothing rounded or left out.",
        )


RUN_CONTENTS = (
    ("verdicts", "Verdicts"), ("pictures", "Pictures"), ("timeline", "Timeline"), ("where", "Where"),
    ("lookups", "Lookups"), ("moves", "Moves"), ("seen", "Detections and gripper"), ("settings", "Settings"),
    ("record", "Every figure"),
)  # fmt: skip


def run_head(stored: StoredRun) -> list[Child]:
    """Name, how it ended, when, and what it was."""
    log = stored.log
    result = standing_result(log) or stored.entry.state
    lasted_s = log.duration_s if log.duration_s is not None else seconds_between(log.started_at, log.ended_at)
    made_with = log.provenance
    facts = [
        FIGURES.moment(log.started_at, with_day=True) + (" UTC" if log.times_are_utc else " on the clock there"),
        *([f"{lasted_s:.1f} s"] if lasted_s is not None else []),
        *([f"{len(log.pick_attempts)} pick attempts"] if len(log.pick_attempts) != 1 else ["one pick attempt"]),
        *([f"seed {made_with.seed}"] if made_with is not None and made_with.seed is not None else []),
        *([f"profile {made_with.profile}"] if made_with is not None and made_with.profile is not None else []),
        *([f"{made_with.arm_model} ({made_with.arm_kind})"] if made_with is not None else []),
        *(["dry run"] if log.dry_run else []),
        *(["recovered from its events"] if log.recovered else []),
        f"schema {log.schema_version if log.migrated_from is None else log.migrated_from}",
    ]
    reason = log.ending.reason if log.ending is not None else None
    then = f" ({log.result} when it ended)" if log.result is not None and log.result != result else ""
    return [
        tag("h1", log.run_id, " ", badge(result)),
        tag("p", reason, then) if reason or then else None,
        tag("div", (tag("span", fact) for fact in facts), class_="sub"),
    ]


def verdict_cards(log: RunLog) -> Markup:
    """A card for each judged step: what stands, by whom, why; rulings and later verdicts below."""
    cards = [_card(log, stage) for stage in STAGES]
    known = [card for card in cards if card is not None]
    return tag("div", known, class_="cards") if known else tag("p", "Nothing was judged.", class_="quiet")


def _card(log: RunLog, stage: JudgedStage) -> Markup | None:
    judgment = log.judgments.get(stage)
    verdicts = [verdict for verdict in log.verdicts if verdict.stage == stage]
    standing = standing_in(log, stage)
    rulings = [ruling for ruling in log.rulings if ruling.stage == stage]
    later = [each.verdict for each in log.rejudged if each.verdict.stage == stage]
    if judgment is None and not verdicts and not rulings:
        return None
    rows: list[tuple[Child, Child]] = []
    if standing is not None:
        rows.append(("by", f"{standing.by or 'nobody named'} ({standing.source})"))
        rows.append(("confidence", FIGURES.number(standing.confidence, 2)))
    if judgment is not None:
        rows += _judgment_rows(judgment)
    reason = standing.reason if standing is not None else judgment.reason if judgment is not None else None
    return tag(
        "div",
        tag("h3", stage, badge(None if standing is None else standing.word)),
        tag("blockquote", reason) if reason else None,
        pairs(rows),
        [_said(verdict, f"said, attempt {verdict.attempt}") for verdict in verdicts],
        [_ruled(ruling) for ruling in rulings],
        [_said(verdict, "said later") for verdict in later],
        class_="card",
    )  # fmt: skip


def _ruled(ruling: Ruling) -> Markup:
    done = "taken back" if ruling.takes_back else "ruled"
    told = f" {done} by {ruling.by}, {FIGURES.moment(ruling.at, with_day=True)}"
    why = f": {ruling.reason}" if ruling.reason else ""
    return tag("p", badge(ruling.verdict), told, ", blind" if ruling.blind else "", why)


def _judgment_rows(judgment: Any) -> list[tuple[Child, Child]]:
    names = ("model", "vlm_verdict", "human_verdict", "dist_override", "error", "image")
    told = ((name, getattr(judgment, name)) for name in names)
    return [(name.replace("_", " "), FIGURES.any(value, name)) for name, value in told if value is not None]


def _said(verdict: Verdict, how: str) -> Markup:
    audit = verdict.audit
    facts = [
        audit.judge if audit.model in (None, audit.judge) else f"{audit.judge} ({audit.model})",
        *([f"confidence {verdict.confidence:.2f}"] if verdict.confidence is not None else []),
        *([f"{audit.seconds:.1f} s"] if audit.seconds is not None else []),
        *([f"{audit.cost_usd:.4f} USD"] if audit.cost_usd is not None else []),
        *([f"error {verdict.error}"] if verdict.error is not None else []),
    ]
    measured = ", ".join(f"{name_of(name)} {FIGURES.any(value, name)}" for name, value in audit.measurements.items())
    members = [tag("li", _said(member, "member")) for member in verdict.members]
    return tag(
        "div", tag("p", badge(verdict.verdict), f" {how}: ", ", ".join(facts), tag("br"), verdict.reason),
        tag("p", measured, class_="measured") if measured else None, tag("ol", members) if members else None,
    )  # fmt: skip


LEGEND = tag(
    "div",
    (
        tag("span", tag("i", style=f"background:{colour}"), what)
        for what, colour in (
            ("block", "#f0e442"),
            ("box rim", "#56b4e9"),
            ("inside of the box", "#e69f00"),
            ("tip", "#00e0a4"),
        )
    ),
    class_="legend",
)


def before_and_after(log: RunLog, shown: Sequence[Shown]) -> list[Markup]:
    """What the judge compared, side by side, step by step."""
    befores = [each for each in shown if each.label.startswith("detect")]
    told = []
    for stage in STAGES:
        after = [each for each in shown if each.label == stage or each.label.startswith(f"{stage}_a")]
        before = [each for each in shown if each.label.startswith("place_pre")] if stage == "place" else befores[:1]
        if not after:
            continue
        standing = standing_in(log, stage)
        word = "no verdict" if standing is None else standing.word
        two = [
            *([picture(before[-1], name=f"before the {stage}")] if before else []),
            picture(after[-1], name=f"after the {stage}: {word}"),
        ]
        told.append(part(f"{stage}: before and after", tag("div", two, class_="pics two")))
    return told


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


def where(log: RunLog) -> Child:
    """The trial's places over the table, the tip measurement and the corrections."""
    places = list(_places(log))
    told: list[Child] = []
    if places:
        told.append(figure(trial_map(places, f"places of {log.run_id}"), "Square: block. Cross: target. Circle: tip."))
    right: list[Child] = []
    if places:
        rows = [(each.name, _mm(each.xz_m[0]), _mm(each.xz_m[1])) for each in places]
        right.append(table(("", "x, mm", "z, mm"), rows, right=("x, mm", "z, mm"), small=True))
    for tip in log.tip_measurements:
        text = (
            tip.reason
            if tip.diff is None
            else (f"tip minus block ({tip.diff.dx_mm:+.1f}, {tip.diff.dz_mm:+.1f}) mm, {tip.diff.dist_mm:.1f} mm away")
        )
        right.append(tag("p", tag("b", f"Tip, attempt {tip.attempt}: "), text))
    used = log.correction
    for use in (used.last, used.place_last):
        if use is not None:
            dx, dz = FIGURES.number(use.dx_mm, 1, signed=True), FIGURES.number(use.dz_mm, 1, signed=True)
            right.append(
                tag("p", tag("b", f"Correction, {use.phase}: "), f"{use.cell_key}, ({dx}, {dz}) mm, {use.in_words}")
            )
    for change in used.learned:
        before = (
            "nothing"
            if change.before is None
            else f"({change.before[0]:+.1f}, {change.before[1]:+.1f}) mm, n = {change.before[2]}"
        )
        after = f"({change.after[0]:+.1f}, {change.after[1]:+.1f}) mm, n = {change.after[2]}"
        right.append(tag("p", tag("b", "Learned: "), f"{change.cell_key}, from {before} to {after}"))
    if used.not_learned:
        right.append(tag("p", tag("b", "Learned nothing: "), used.not_learned))
    return (
        tag("div", tag("div", told), tag("div", right), class_="grid")
        if told or right
        else tag("p", "Nothing was seen.")
    )


def _places(log: RunLog) -> Iterator[Place]:
    look = next((each for each in log.detect if each.box_xz_m is not None), None)
    if look is not None and look.box_xz_m is not None:
        outline = look.box.inside_xz_m if look.box is not None and look.box.inside_xz_m is not None else ()
        yield Place("box", look.box_xz_m, "box", outline)
    for look in log.detect:
        if look.block_xz_m is not None:
            yield Place(f"block, stage {look.stage}", look.block_xz_m, "block")
    for lookup in log.lookups:
        if lookup.phase in ("pick", "place_withblock"):
            yield Place(f"target, {lookup.label}", lookup.target_xz_m, "target")
    for tip in log.tip_measurements:
        if tip.diff is not None:
            yield Place(f"tip, attempt {tip.attempt}", (tip.diff.tip_x, tip.diff.tip_z), "tip")


def lookups(log: RunLog) -> Child:
    """A row a lookup."""
    if not log.lookups:
        return tag("p", "There was none.", class_="quiet")
    names = (
        "stage",
        "phase",
        "method",
        "pose",
        "target x, z, mm",
        "found x, z, mm",
        "dx, mm",
        "dz, mm",
        "refined, mm",
        "max Δj, °",
        "guard",
    )
    rows = []
    for each in log.lookups:
        guard = tag("span", "passed") if each.guard_pass else badge("refused")
        rows.append(
            (
                each.label, each.phase, each.method, tag("div", each.pose_id or "—", class_="pose"),
                _xz(each.target_xz_m), _xz(each.interp_xz_m), _mm(each.x_residual_m), _mm(each.z_residual_m),
                "—" if each.refined is None else FIGURES.number(each.refined.residual_mm, 2),
                FIGURES.number(each.max_dj_deg, 1), [guard, f" {each.guard_reason}" if each.guard_reason else None],
            )
        )  # fmt: skip
    return table(names, rows, right=names[6:10], small=True)


def _xz(point_m: Sequence[float] | None) -> str:
    return "—" if point_m is None else ", ".join(_mm(value) for value in point_m)


def _mm(metres: float | None) -> str:
    return "—" if metres is None else FIGURES.number(metres * 1000, 1)


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


def seen_and_held(log: RunLog) -> Child:
    """Looks, gripper actions, guard refusals and notes."""
    looks = [
        (
            str(each.stage), each.source, _xz(each.block_xz_m),
            FIGURES.number(each.block_score, 2),
            _xz(each.box_xz_m), FIGURES.number(each.box_score, 2), str(each.n_captures),
            "; ".join(f"{drop.what}: {drop.reason}" for drop in each.dropped) or "—",
        )
        for each in log.detect
    ]  # fmt: skip
    held = [
        (
            each.stage, each.action, each.grip_method, "—" if each.grip_value is None else str(each.grip_value),
            FIGURES.number(each.sleep_sec, 1),
            "—" if each.reading is None else f"{FIGURES.number(each.reading.opening_mm, 1)} mm, {each.reading.reason}",
        )
        for each in log.gripper
    ]  # fmt: skip
    refused = [
        (each.label, each.rule, each.message, FIGURES.number(each.value, 2), FIGURES.number(each.limit, 2))
        for each in log.guards
        if not each.allowed
    ]
    names = ("stage", "source", "block x, z, mm", "score", "box x, z, mm", "score ", "pictures", "dropped")
    return [
        part("Detections", table(names, looks, right=("score", "score ", "pictures"), small=True)),
        part(
            "Gripper",
            table(("stage", "action", "by", "value", "wait, s", "read"), held, right=("value", "wait, s"), small=True),
        ),
        part(
            "The guard said no",
            table(("move", "rule", "", "value", "limit"), refused, right=("value", "limit"), small=True),
        )
        if refused
        else None,
        part("Notes", tag("ol", (tag("li", note.text) for note in log.notes))) if log.notes else None,
    ]


def stood_on(log: RunLog) -> Child:
    """Where the program, its settings and its files came from: versions, hashes, settings, constants."""
    told: list[Child] = []
    if log.provenance is not None:
        told.append(everything(log.provenance.model_dump(mode="json")))
    if log.constants:
        told.append(part("Constants", everything(log.constants)))
    return told or tag("p", "The log says nothing of that.", class_="quiet")
