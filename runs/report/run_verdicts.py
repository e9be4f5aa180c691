"""What was judged in one trial: a card a step, and the pictures that the judge compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.figures import name_of
from runs.report.bricks import FIGURES, badge, pairs, part, picture
from runs.report.markup import Child, Markup, tag
from runs.report.pictures import Shown
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict
from runs.verdicts import standing_in

STAGES: tuple[JudgedStage, ...] = ("pick", "place")


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
