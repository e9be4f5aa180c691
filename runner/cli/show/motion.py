"""The middle of the page: what was looked up, moved and gripped, and what the guards said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from runner.cli.show.parts import (
    NAME,
    QUIET,
    JointLine,
    columns,
    heading,
    indented,
    joint_header,
    joint_lines,
    pairs,
    words,
)
from runs.figures import NOTHING, Fields, Figures, clean, sentence
from runs.schema.motion import LookupRecord, MoveRecord, NearestPoint
from runs.schema.run import RunLog

Angles = Sequence[float]


@dataclass(frozen=True, slots=True)
class Error:
    """The joint that is farthest off, and by how much."""

    joint: str
    off_deg: float


def differences_deg(commanded: Angles, read: Angles | None) -> tuple[float, ...] | None:
    """Read back minus commanded, joint by joint; None where either is missing."""
    if read is None or len(read) != len(commanded):
        return None
    return tuple(actual - wanted for actual, wanted in zip(read, commanded, strict=True))


def largest_error(off_deg: Angles | None) -> Error | None:
    """The joint with the largest difference."""
    if not off_deg:
        return None
    index = max(range(len(off_deg)), key=lambda joint: abs(off_deg[joint]))
    return Error(f"j{index}", off_deg[index])


def lookups(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Each lookup from what was asked for to what was read back."""
    yield heading("Lookups", "asked for → row → refined → commanded → read back")
    if not log.lookups:
        yield indented(Text("none", style=QUIET))
    moves: dict[tuple[str, int | None], MoveRecord] = {(move.label, move.attempt): move for move in log.moves}
    for number, lookup in enumerate(log.lookups):
        if number:
            yield Text("")
        move = moves.get((lookup.label, lookup.attempt))
        yield indented(_lookup(lookup, move, log, figures))


def _lookup(lookup: LookupRecord, move: MoveRecord | None, log: RunLog, figures: Figures) -> RenderableType:
    fields = Fields(lookup)
    guard_pass, guard_reason = fields.take("guard_pass"), fields.take("guard_reason")
    limits_ok, violations = fields.take("joint_limit_ok"), fields.take("joint_limit_violations")
    title = Text.assemble(
        (clean(fields.take("label")), NAME),
        (f"  {fields.take('phase')} · {clean(fields.take('method'))} · ", QUIET),
        (clean(fields.take("pose_id") or "no pose"), QUIET),
        "  ",
        ("inside limits", QUIET) if limits_ok else ("outside joint limits", "bold red"),
        ", ",
        ("guard passed", "green") if guard_pass else ("guard refused", "bold red"),
        f": {clean(guard_reason)}" if guard_reason else "",
    )
    rows = [*_targets(lookup, fields, log, figures), *_rows(lookup, fields, figures)]
    rows += [("violation", Text(figures.any(violation, "violation"), style="red")) for violation in violations]
    source = fields.take("source_file")
    joints = _lookup_joints(lookup, fields, move, figures)
    rows += _posture(fields, figures)
    rows.append(("from", words(source, QUIET)))
    rest = sentence(fields.rest(), figures)
    if rest:
        rows.append(("more", Text(rest, style=QUIET)))
    return Group(title, pairs(rows), joint_lines(joints, figures)) if joints else Group(title, pairs(rows))


def _posture(fields: Fields, figures: Figures) -> Iterator[tuple[str, RenderableType]]:
    largest, tolerance = fields.take("max_dj_deg"), fields.take("joint_tol_deg_used")
    if largest is not None or tolerance is not None:
        far = f"at most {figures.of(largest, 'max_dj_deg')} from the approach on any joint"
        allowed = f", allowed {figures.of(tolerance, 'joint_tol_deg')}" if tolerance is not None else ""
        yield "posture", Text(far + allowed, style=QUIET)


def _targets(
    lookup: LookupRecord, fields: Fields, log: RunLog, figures: Figures
) -> Iterator[tuple[str, RenderableType]]:
    requested, target = fields.take("requested_xz_m"), fields.take("target_xz_m")
    if requested is None:
        requested = _before_correction(lookup, log)
    if requested is not None and requested != target:
        yield "asked for", Text(f"{figures.point(requested, 'xz_m')}, corrected to {figures.point(target, 'xz_m')}")
    else:
        yield "asked for", Text(figures.point(target, "xz_m"))


def _before_correction(lookup: LookupRecord, log: RunLog) -> tuple[float, float] | None:
    """A field log has the target only corrected; what was detected stands with the correction that was applied."""
    use = log.correction.last if "pick" in lookup.phase else log.correction.place_last
    if use is None or not use.applied or not math.isclose(use.target_after_mm[0] / 1000, lookup.target_xz_m[0]):
        return None
    return (use.target_before_mm[0] / 1000, use.target_before_mm[1] / 1000)


def _rows(lookup: LookupRecord, fields: Fields, figures: Figures) -> Iterator[tuple[str, RenderableType]]:
    lands, height = fields.take("interp_xz_m"), fields.take("ee_y_m_selected")
    x_m, z_m, total_m = (fields.take(f"{axis}_residual_m") for axis in ("x", "z", "total"))
    known_total = total_m is not None
    if total_m is None and x_m is not None and z_m is not None:
        total_m = math.hypot(x_m, z_m)
    between = fields.take("interp_t")
    segment = fields.take("interp_seg_idx")
    name = "row" if between is None else "on the arc"
    if lands is not None:
        at_height = f", {figures.of(height, 'ee_y_m')} high" if height is not None else ""
        yield name, Text(f"{figures.point(lands, 'xz_m')}{at_height}")
        in_all = f", {figures.of(total_m, 'total_residual_m')} in all" if known_total or not figures.full else ""
        off = f"x {figures.of(x_m, 'x_residual_m')}, z {figures.of(z_m, 'z_residual_m')}{in_all}"
        yield "misses by", Text(off, style="" if total_m is None or total_m <= 0.01 else "yellow")
    if between is not None:
        segment_text = f"{figures.number(between, 3)} of the way through segment {segment}"
        yield "between", Text(segment_text, style=QUIET)
    for point in fields.take("nearest_pts"):
        shown = _nearest(point, lookup, figures)
        if shown:
            yield "taught" if between is not None else "", Text(shown, style=QUIET)
    refined = fields.take("refined")
    if refined is not None:
        inner = Fields(refined)
        inner.drop("joints")
        yield "refined", Text(sentence(inner.rest(), figures))
    for skipped in fields.take("skipped"):
        yield "skipped", words(f"{skipped.pose_id}: {skipped.reason}", "yellow")


def _nearest(point: NearestPoint, lookup: LookupRecord, figures: Figures) -> str:
    """A neighbour, unless it is the row itself with what has been shown of it."""
    inner = Fields(point)
    if point.detect_xz_m is not None and point.j0_cmd is not None:
        inner.drop("detect_xz_m", "j0_cmd")
        pair = f"{figures.point(point.detect_xz_m, 'xz_m')} ↔ j0 {figures.of(point.j0_cmd, 'j0')}"
        return "  ".join([pair, sentence(inner.rest(), figures)]).rstrip()
    if point.ee_xz_m == lookup.interp_xz_m:
        inner.drop("ee_xz_m")
    if point.ee_y_m == lookup.ee_y_m_selected:
        inner.drop("ee_y_m")
    if point.joints == lookup.base_angles:
        inner.drop("joints")
    return sentence(inner.rest(), figures)


def _lookup_joints(lookup: LookupRecord, fields: Fields, move: MoveRecord | None, figures: Figures) -> list[JointLine]:
    base, target, j0 = fields.take("base_angles"), fields.take("target_angles"), fields.take("j0")
    used, reference = fields.take("used_angles"), fields.take("ref_joints_used")
    refined = lookup.refined.joints if lookup.refined is not None else None
    commanded = move.target_angles if move is not None else target
    lines = []

    def told(angles: Angles | None, *by: Angles | None) -> bool:
        return angles is None or any(_same(angles, other, figures) for other in by)

    if reference is not None:
        lines.append(JointLine("reference", reference, QUIET))
    row_name = "row" if lookup.method == "fk_nearest" else "base pose"
    if not told(base, commanded):
        lines.append(JointLine(row_name, base, QUIET))
    if not told(used, base, commanded):
        lines.append(JointLine("used", used, QUIET))
    if not told(refined, commanded):
        lines.append(JointLine("refined", refined, QUIET))
    if not told(target, base, commanded, refined):
        lines.append(JointLine("target", target, QUIET))
    remark = ""
    if base is not None and told(base, commanded):
        remark = "the row itself, not refined" if refined is None else "the row itself"
    elif refined is not None and told(refined, commanded):
        remark = "as refined"
    if j0 is not None and (commanded is None or not _same((j0,), commanded[:1], figures)):
        remark += f" (j0 {figures.number(j0, 2)})"
    if commanded is not None:
        lines.append(JointLine("commanded", commanded, "", Text(remark, style=QUIET)))
    if move is not None:
        lines.append(JointLine("read back", move.post_actual))
    return lines


def _same(angles: Angles, other: Angles | None, figures: Figures) -> bool:
    """Whether two poses look the same: to the last digit with every digit, else as far as they are shown."""
    if other is None or len(angles) != len(other):
        return False
    within_deg = 0.0 if figures.full else 0.001
    return all(abs(one - two) <= within_deg for one, two in zip(angles, other, strict=True))


def moves(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Every motion: where from, commanded, read back, how far off."""
    yield heading("Moves", "degrees; off is read back minus commanded")
    if not log.moves:
        yield indented(Text("none", style=QUIET))
        return
    if not figures.full:
        yield indented(joint_header(max(len(move.target_angles) for move in log.moves)))
    for number, move in enumerate(log.moves):
        if number:
            yield Text("")
        yield indented(_move(move, figures))


def _move(move: MoveRecord, figures: Figures) -> RenderableType:
    fields = Fields(move)
    tolerance = fields.take("reach_tol_deg")
    arrived, retried, dry_run = fields.take("arrived"), fields.take("retried"), fields.take("dry_run")
    lead = [
        words(fields.take("label"), NAME),
        Text("arrived" if arrived else "not arrived", style="green" if arrived else "bold red"),
        Text(f"within {figures.of(tolerance, 'reach_tol_deg')}", style=QUIET),
        Text(", ".join(["retried" if retried else "first go", *(["dry run"] if dry_run else [])]), style=QUIET),
    ]
    target, before, after = (fields.take(name) for name in ("target_angles", "pre_actual", "post_actual"))
    to_go, error = fields.take("pre_max_delta_deg"), fields.take("post_max_delta_deg")
    off = differences_deg(target, after)
    worst = largest_error(off)
    inside = error is not None and error <= tolerance
    largest = Text("")
    if error is not None:
        at = f" ({worst.joint})" if worst is not None else ""
        largest = Text(f"worst {figures.of(error, 'post_max_delta_deg')}{at}", style="" if inside else "bold red")
    lines = [
        JointLine("from", before, QUIET, Text(f"{figures.of(to_go, 'pre_max_delta_deg')} to go", style=QUIET)),
        JointLine("commanded", target),
    ]
    for key, name in (("commanded", "sent"), ("corrective_deg", "corrected")):
        angles = fields.take(key)
        if angles is not None and angles != target:
            lines.append(JointLine(name, angles, QUIET, signed=name == "corrected"))
    if off is None or figures.full:
        lines.append(JointLine("read back", after, "", largest))
    else:
        lines.append(JointLine("read back", after))
        lines.append(JointLine("off", off, "" if inside else "red", largest, signed=True))
    when = fields.take("at")
    more = sentence(fields.rest(), figures)
    tail = "  ".join(each for each in (f"at {figures.moment(when)}" if when is not None else "", more) if each)
    table = joint_lines(lines, figures, lead=lead)
    return Group(table, Text(tail, style=QUIET)) if tail else table


def gripper(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Each gripper action: how it was asked, how often sent, what was read back."""
    yield heading("Gripper")
    if not log.gripper:
        yield indented(Text("none", style=QUIET))
        return
    rows: list[tuple[str, RenderableType]] = []
    for record in log.gripper:
        fields = Fields(record)
        stage, action = fields.take("stage"), fields.take("action")
        reading, answer, tries = fields.take("reading"), fields.take("daemon_return"), fields.take("attempts")
        when = fields.take("at")
        asked = sentence(fields.rest(), figures)
        at = f"  at {figures.moment(when)}" if when is not None else ""
        rows.append((stage, Text.assemble((action, NAME), f"  {asked}", (at, QUIET))))
        said = "nothing" if answer is None else figures.any(answer, "daemon_return")
        if tries is None:
            rows.append(("", Text(f"answered {said}", style=QUIET)))
        else:
            each = "; ".join(
                f"try {one.attempt} answered "
                f"{'nothing' if one.daemon_return is None else figures.any(one.daemon_return, 'daemon_return')}"
                for one in tries
            )
            rows.append(("", Text(each, style=QUIET)))
        if reading is not None:
            inner = Fields(reading)
            why, holding = inner.take("reason"), inner.take("holding")
            holds = {True: ("holding", "green"), False: ("empty", ""), None: ("not known", "yellow")}[holding]
            rows.append(("", Text.assemble("reads ", holds, f"  {sentence(inner.rest(), figures)}: {clean(why)}")))
    yield indented(pairs(rows, width=20))


def guards(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Each answer of the guard that stands apart from a lookup."""
    if not log.guards:
        return
    yield heading("Guards")
    table = columns("motion", "answer", "rule", "value", "limit", "clearance", "at", "message", wide="message")
    for record in log.guards:
        fields = Fields(record)
        allowed = fields.take("allowed")
        clearance = fields.take("clearance_mm")
        table.add_row(
            words(fields.take("label")),
            Text("allowed" if allowed else "refused", style="green" if allowed else "bold red"),
            words(fields.take("rule") or NOTHING),
            figures.number(fields.take("value"), 2),
            figures.number(fields.take("limit"), 2),
            figures.of(clearance, "clearance_mm"),
            figures.moment(fields.take("at")),
            words(fields.take("message") or "", QUIET),
        )
    yield indented(table)


def pose_used(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """The joints read at the pick and at the place."""
    yield heading("Poses used", "joints as read back")
    pose = log.pose_used
    yield indented(
        joint_lines(
            [
                JointLine("pick", pose.pick_used, "", words(pose.pick_pose_id or "no pose", QUIET)),
                JointLine("place", pose.place_used, "", words(pose.place_pose_id or "no pose", QUIET)),
            ],
            figures,
        )
    )
