"""One trial told: its page's sections in their order, its head, what was seen and held, and what it stood on."""

from __future__ import annotations

from collections.abc import Iterator

from runs.events import seconds_between
from runs.report.agent_part import agent_section
from runs.report.bricks import FIGURES, badge, everything, part, picture, section, table
from runs.report.markup import Child, Markup, tag
from runs.report.pictures import pictures_of
from runs.report.run_places import lookups, where, xz_in_mm
from runs.report.run_times import moves, timeline_of
from runs.report.run_verdicts import LEGEND, before_and_after, verdict_cards
from runs.schema.run import RunLog
from runs.store import StoredRun
from runs.verdicts import standing_result


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


def seen_and_held(log: RunLog) -> Child:
    """Looks, gripper actions, guard refusals and notes."""
    looks = [
        (
            str(each.stage), each.source, xz_in_mm(each.block_xz_m),
            FIGURES.number(each.block_score, 2),
            xz_in_mm(each.box_xz_m), FIGURES.number(each.box_score, 2), str(each.n_captures),
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
