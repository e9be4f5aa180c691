"""Where things were in one trial, where it went, and how far off that was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runs.report.bricks import FIGURES, badge, figure, table
from runs.report.maps import Place, trial_map
from runs.report.markup import Child, tag
from runs.schema.run import RunLog


def where(log: RunLog) -> Child:
    """The trial's places over the table, the tip measurement and the corrections."""
    places = list(_places(log))
    told: list[Child] = []
    if places:
        told.append(figure(trial_map(places, f"places of {log.run_id}"), "Square: block. Cross: target. Circle: tip."))
    right: list[Child] = []
    if places:
        rows = [(each.name, in_mm(each.xz_m[0]), in_mm(each.xz_m[1])) for each in places]
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
                xz_in_mm(each.target_xz_m), xz_in_mm(each.interp_xz_m),
                in_mm(each.x_residual_m), in_mm(each.z_residual_m),
                "—" if each.refined is None else FIGURES.number(each.refined.residual_mm, 2),
                FIGURES.number(each.max_dj_deg, 1), [guard, f" {each.guard_reason}" if each.guard_reason else None],
            )
        )  # fmt: skip
    return table(names, rows, right=names[6:10], small=True)


def xz_in_mm(point_m: Sequence[float] | None) -> str:
    """A point of the log, metres, as a text in millimetres; a dash where there is none."""
    return "—" if point_m is None else ", ".join(in_mm(value) for value in point_m)


def in_mm(metres: float | None) -> str:
    """A length of the log, metres, as a text in millimetres; a dash where there is none."""
    return "—" if metres is None else FIGURES.number(metres * 1000, 1)
