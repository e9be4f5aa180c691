"""Many trials told: how often it worked and how sure that is, where, why it failed, what the judge is worth."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from runs.agreement import Confusion, Label, Sure, reliability
from runs.index.groups import Group
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.report.bricks import FIGURES, badge, figure, part, rate_text, rate_tile, section, table, tile
from runs.report.charts import bars, rate_chart, reliability_chart, tip_against_n
from runs.report.maps import Arrow, arrow_map, heat_map, success_map
from runs.report.markup import Child, Markup, tag
from runs.statistics import Rate

STAGES = ("pick", "place")

_FIGURE = re.compile(r"[-−]?\d+(\.\d+)?")
"""Reasons that differ in their figures alone are of one kind."""

_REASONS = 8
GROUPED = (
    ("day", "Day"),
    ("judge", "Judge"),
    ("code", "Code version"),
    ("light", "Light, grey level"),
    ("profile", "Profile"),
    ("cell", "Cell"),
)

COLUMNS = (
    "cell", "run_id", "number", "state", "problem", "started_at", "result", "result_then", "ended_stage", "reason",
    "dry_run", "ruled", "duration_s", "attempts", "first_attempt", "seed", "profile", "judge", "model", "code",
    "table_hash", "corrections_hash", "tip_dx_mm", "tip_dz_mm", "tip_dist_mm", "judge_cost_usd", "judge_s",
    *(
        f"{stage}_{name}"
        for stage in STAGES
        for name in (
            "key", "correction_n", "correction_dx_mm", "correction_dz_mm", "corrected", "word", "source", "said",
            "said_confidence", "doubt", "lot", "judged",
        )
    ),
)  # fmt: skip
"""What the page of a batch asks of the index."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The runs of a page: their rows in order, and the same selection for questions to the index."""

    rows: list[dict[str, Any]]
    many: ManyRuns
    selection: Selection


def summary(batch: Batch) -> Markup:
    """The figures that matter, each with its interval."""
    totals = batch.many.stats(None, batch.selection)
    if not totals:
        return section("Summary", tag("p", "Nothing moved in these runs."), name="summary")
    total = totals[0]
    undecided = total.n - total.success.n
    kinds = ", ".join(f"{n} {result}" for result, n in total.results.items() if result not in ("completed", "failed"))
    tiles = [
        rate_tile("success", total.success, "good"),
        rate_tile("success on the first attempt", total.first_attempt, "good"),
        tile(
            "runs",
            str(total.n),
            f"{total.results.get('completed', 0)} completed, {total.results.get('failed', 0)} failed",
        ),
        tile("not decided", str(undecided), kinds or "all were", "doubt" if undecided else ""),
        tile("tip error", "—" if total.tip_mm is None else f"{total.tip_mm:.1f} mm", _tip_remark(total)),
        tile("a trial took", "—" if total.duration_s is None else f"{total.duration_s:.1f} s", "median"),
    ]
    lead = "Success is completed of completed and failed; intervals are exact (Clopper and Pearson), 95 %."
    return section("Summary", tag("div", tiles, class_="tiles"), name="summary", lead=lead)


def _tip_remark(group: Group) -> str:
    return (
        f"median of {group.tips}; 9 of 10 below {group.tip_high_mm:.1f} mm"
        if group.tip_high_mm is not None
        else "not measured"
    )


def over_the_table(batch: Batch) -> Markup:
    """Success, tip error and corrections, square by square."""
    maps: list[Markup] = []
    for by, what in (("square", "the block was"), ("place_square", "the box was")):
        groups = [group for group in batch.many.stats(by, batch.selection) if group.key is not None]
        if groups:
            squares = [(group.key or "", group.n, group.success) for group in groups]
            maps.append(figure(success_map(squares, f"success by where {what}"), f"Success by where {what}."))
    picks = [group for group in batch.many.stats("square", batch.selection) if group.key is not None]
    tips = [(group.key or "", group.tip_mm, group.tips) for group in picks if group.tip_mm is not None]
    if tips:
        maps.append(
            figure(
                heat_map(tips, "tip error by square"),
                "Tip error by square: median distance of the tip from the block, mm.",
            )
        )
        arrows = [
            Arrow(group.key or "", group.tip_dx_mm or 0.0, group.tip_dz_mm or 0.0, group.tips, solid=False)
            for group in picks
            if group.tips
        ]
        drawing = arrow_map(arrows, "tip minus block by square", "tip minus block")
        maps.append(
            figure(drawing, "Where the tip came to, seen from the block: median, five times as long as on the table.")
        )
    used = corrections_in_use(batch.rows)
    if used:
        drawing = arrow_map(used, "corrections by square", "correction")
        maps.append(
            figure(
                drawing,
                "Corrections as last looked up, five times as long. Blue: applied; grey: still too few samples.",
            )
        )
    points = [
        (row["pick_correction_n"], row["tip_dist_mm"])
        for row in batch.rows
        if row["tip_dist_mm"] is not None and row["pick_correction_n"] is not None
    ]
    if points:
        maps.append(
            figure(
                tip_against_n(points, "tip error against samples"),
                "Tip error against how much was known there. Orange: the median of each n.",
            )
        )
    legend = tag(
        "div",
        tag("span", tag("i", style="background:var(--heat2)"), "succeeded (height of the fill)"),
        tag("span", tag("i", style="background:var(--bad_soft);outline:1px solid var(--bad)"), "failed"),
        tag("span", tag("i", style="outline:1px dashed var(--quiet)"), "none decided"),
        tag("span", "figures in squares: runs there, or mm"),
        class_="legend",
    )
    return section(
        "Over the table",
        legend,
        tag("div", maps, class_="grid"),
        name="table",
        lead="Seen from above, x to the right, z away from the base.",
    )


def corrections_in_use(rows: Sequence[dict[str, Any]]) -> list[Arrow]:
    """The correction of each square as it was looked up last."""
    found: dict[str, Arrow] = {}
    for row in rows:
        for phase in ("pick", "place"):
            dx, dz = row[f"{phase}_correction_dx_mm"], row[f"{phase}_correction_dz_mm"]
            key = row[f"{phase}_key"]
            if key is not None and dx is not None and dz is not None:
                found[key] = Arrow(key, dx, dz, row[f"{phase}_correction_n"] or 0, bool(row[f"{phase}_corrected"]))
    return list(found.values())


def what_failed(batch: Batch) -> Markup:
    """Everything that didn't succeed, by how and where it ended, with an example of each reason."""
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in batch.rows:
        if row["result"] != "completed" and not row["dry_run"]:
            kinds.setdefault((row["result"], row["ended_stage"] or "—"), []).append(row)
    if not kinds:
        return section("What failed, and why", tag("p", "Nothing did."), name="failures")
    ordered = sorted(kinds.items(), key=lambda item: -len(item[1]))
    chart = bars(
        [(f"{result} in {stage}", float(len(rows)), str(len(rows))) for (result, stage), rows in ordered],
        "what failed",
        tone="bad",
    )
    body: list[Child] = [figure(chart)]
    told: list[tuple[Child, ...]] = []
    for (result, stage), rows in ordered:
        alike: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            alike.setdefault(_FIGURE.sub("#", _why(row)), []).append(row)
        kinds_of_reason = sorted(alike.values(), key=lambda some: -len(some))
        for some in kinds_of_reason[:_REASONS]:
            told.append((badge(result), stage, str(len(some)), _why(some[0]), _link(some[0])))
        if (left := len(kinds_of_reason) - _REASONS) > 0:
            n = sum(len(some) for some in kinds_of_reason[_REASONS:])
            told.append((badge(result), stage, str(n), f"{left} other reasons", ""))
    body.append(table(("", "where", "runs", "why, as in one of them", "which"), told, right=("runs",), small=True))
    return section("What failed, and why", body, name="failures")


def _why(row: dict[str, Any]) -> str:
    return str(row["problem"] or row["reason"] or "no reason was given")


def _link(row: dict[str, Any]) -> Markup:
    return tag("a", row["run_id"], href=f"#{anchor(row)}")


def anchor(row: dict[str, Any]) -> str:
    """The name of a run's place on the page."""
    return f"{row['cell']}-{row['run_id']}".replace("/", "_").replace(" ", "_")


def by_what(batch: Batch) -> Markup:
    """Success by day, judge, code and light: a chart where there is more than one, a table always."""
    parts = []
    for by, name in GROUPED:
        groups = batch.many.stats(by, batch.selection)
        if not groups or (
            len(groups) == 1 and by in ("cell", "light", "profile", "judge", "code") and groups[0].key is None
        ):
            continue
        rows: list[tuple[str, Rate]] = [(group.key or "not known", group.success) for group in groups]
        chart = figure(rate_chart(rows[:40], f"success by {name}")) if len(rows) > 1 else None
        parts.append(part(name, chart, _groups_table(name, groups[:60])))
    return section("By day, judge, code and light", parts, name="groups")


def _groups_table(name: str, groups: Sequence[Group]) -> Markup:
    names = (name, "runs", "completed", "failed", "other", "success", "first attempt", "tip, mm", "took, s")
    rows = [
        (
            group.key or "not known", str(group.n), str(group.results.get("completed", 0)),
            str(group.results.get("failed", 0)), str(group.n - group.success.n), rate_text(group.success),
            "—" if group.first_attempt.rate is None else f"{group.first_attempt.rate:.1%}",
            FIGURES.number(group.tip_mm, 1), FIGURES.number(group.duration_s, 1),
        )
        for group in groups
    ]  # fmt: skip
    return table(names, rows, right=names[1:], small=True)


def stage_times(batch: Batch) -> Markup | None:
    """How long each stage took, the median over the runs that have it."""
    found: dict[str, list[float]] = {}
    for row in batch.many.stream(batch.selection, None, table="stages"):
        if row["duration_s"] is not None:
            found.setdefault(row["name"], []).append(row["duration_s"])
    if not found:
        return None
    rows = [(name, median(times), f"{median(times):.1f} s") for name, times in found.items()]
    return section(
        "Where the time goes",
        figure(bars(rows, "median time of each stage"), "Median time of each stage, seconds on the arm's clock."),
        name="times",
    )


def judges_figures(batch: Batch) -> Markup:
    """What the judge said against what people ruled, its confidence, its silence and its cost."""
    body: list[Child] = []
    for stage in STAGES:
        rows = [row for row in batch.rows if row[f"{stage}_judged"] and not row["dry_run"]]
        if not rows:
            continue
        words = Counter(row[f"{stage}_said"] for row in rows)
        said = ", ".join(
            f"{words[word]} {word or 'no verdict'}" for word in ("yes", "no", "unsure", None) if words[word]
        )
        ruled = [row for row in rows if row[f"{stage}_source"] == "person" and row[f"{stage}_word"] in ("yes", "no")]
        body.append(
            part(
                stage,
                tag("p", f"The judge said of {len(rows)}: {said}. People ruled on {len(ruled)} with yes or no."),
                _against_people(ruled, stage),
            )
        )
    seconds = [row["judge_s"] for row in batch.rows if row["judge_s"] is not None]
    costs = [row["judge_cost_usd"] for row in batch.rows if row["judge_cost_usd"] is not None]
    if seconds:
        told = f"Judging took {median(seconds):.1f} s a trial (median)" + (
            f" and {sum(costs):.2f} USD in all." if costs else "."
        )
        body.append(tag("p", told))
    return section("The judge", body or tag("p", "Nothing was judged.", class_="quiet"), name="judge")


def _against_people(ruled: Sequence[dict[str, Any]], stage: str) -> Child:
    if not ruled:
        return tag(
            "p",
            "So nothing is known here of how often it is right: trialcell runs queue says where to look.",
            class_="quiet",
        )
    labels: list[tuple[Label, Any]] = [
        ("yes" if row[f"{stage}_word"] == "yes" else "no", row[f"{stage}_said"]) for row in ruled
    ]
    confusion = Confusion.of(labels)
    rows = [
        (f"people: {label}", *(str(counts[word]) for word in ("yes", "no", "unsure", None)))
        for label, counts in (("yes", confusion.yes), ("no", confusion.no))
    ]
    kappa = confusion.kappa
    facts = [
        ("right, of the decided", rate_text(confusion.accuracy)),
        ("yes where people say yes", rate_text(confusion.tpr)),
        ("no where people say no", rate_text(confusion.tnr)),
        ("called a success that was none", rate_text(confusion.false_success)),
        ("always saying yes would be right", rate_text(confusion.always_yes)),
        ("kappa", "—" if kappa is None or kappa.kappa is None else f"{kappa.kappa:.2f}"),
    ]
    sure = [answer for row in ruled if (answer := sure_answer(row, stage)) is not None]
    curve = reliability(sure)
    chart = figure(reliability_chart(curve.bins, f"reliability, {stage}"), _curve_text(curve)) if curve.bins else None
    words = ("", "said yes", "no", "unsure", "no verdict")
    left = tag("div", table(words, rows, right=words[1:], small=True), table(("", ""), facts, small=True))
    return tag("div", left, tag("div", chart), class_="grid")


def sure_answer(row: dict[str, Any], stage: str) -> Sure | None:
    """The judge's answer as one of a known truth; None where it gave none, or no confidence."""
    said, confidence = row[f"{stage}_said"], row[f"{stage}_said_confidence"]
    if said not in ("yes", "no") or confidence is None:
        return None
    return Sure(confidence, said == row[f"{stage}_word"], said == "yes")


def _curve_text(curve: Any) -> str:
    ece = f", calibration error {curve.ece:.3f}" if curve.ece is not None else ""
    brier = f"Brier score {curve.brier:.3f}" if curve.brier is not None else ""
    return f"On the dashed line its confidence means what it says. {curve.n} answers, {brier}{ece}."


def stood_on(batch: Batch) -> Markup:
    """Versions and hashes that these runs were made with, and how many with each."""
    rows: list[tuple[Child, ...]] = []
    for name in ("code", "judge", "model", "profile", "table_hash", "corrections_hash"):
        counts = Counter(row[name] for row in batch.rows)
        for value, n in counts.most_common(12):
            rows.append(
                (
                    name.replace("_", " "),
                    tag("span", str(value) if value is not None else "not known", class_="num"),
                    str(n),
                )
            )
        if len(counts) > 12:
            rows.append((name.replace("_", " "), f"{len(counts) - 12} others", ""))
    return section("What they stood on", table(("", "", "runs"), rows, right=("runs",), small=True), name="settings")


def trials(batch: Batch, detailed: set[str]) -> Markup:
    """A row a run; those that are told below are links."""
    names = ("run", "started", "result", "pick", "tries", "place", "tip, mm", "took, s", "")
    rows = []
    for row in batch.rows:
        link = _link(row) if anchor(row) in detailed else row["run_id"]
        remark = row["problem"] or ("" if row["result"] == "completed" else row["reason"] or "")
        rows.append(
            (
                link, (row["started_at"] or "—").replace("T", " ")[:16], badge(row["result"]), row["pick_word"] or "—",
                str(row["attempts"]), row["place_word"] or "—", FIGURES.number(row["tip_dist_mm"], 1),
                FIGURES.number(row["duration_s"], 1), ("ruled. " if row["ruled"] else "") + remark,
            )
        )  # fmt: skip
    return section("All trials", table(names, rows, right=("tries", "tip, mm", "took, s"), small=True), name="trials")


def most_telling(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The runs to tell in full: what didn't succeed first, then the most doubtful, then the largest tip errors."""

    def order(row: dict[str, Any]) -> tuple[int, float, float]:
        kinds = {"unreadable": 9, "completed": 2, "failed": 0}
        doubts = [
            row[f"{stage}_doubt"]
            for stage in STAGES
            if row[f"{stage}_doubt"] is not None and row[f"{stage}_lot"] is None
        ]
        return kinds.get(row["result"], 1), -max(doubts, default=0.0), -(row["tip_dist_mm"] or 0.0)

    return sorted((row for row in rows if row["state"] != "unreadable"), key=order)[:most]


def unreadable(batch: Batch) -> Iterator[Markup]:
    """The runs that can't be read, each with what is wrong."""
    rows = [(row["run_id"], row["problem"]) for row in batch.rows if row["state"] == "unreadable"]
    if rows:
        yield section("Can't be read", table(("run", "what is wrong"), rows, small=True), name="unreadable")
