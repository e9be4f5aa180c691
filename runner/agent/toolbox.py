"""All tools, each once, in the order in which they are told.

None writes a verdict, a ruling, a correction, a limit or a calibration, and none clears a stop.
"""

from __future__ import annotations

from collections.abc import Mapping

from runner.agent import acting, noting, reading, seeing
from runner.agent.models import (
    CorrectionsOut,
    DetectIn,
    DetectOut,
    HistoryIn,
    HistoryOut,
    HolesIn,
    HolesOut,
    JudgeOut,
    LookIn,
    LookOut,
    LookupIn,
    LookupOut,
    NoArguments,
    NoteIn,
    NoteOut,
    PickOut,
    PlaceOnTable,
    PlaceOut,
    RehearseIn,
    RehearseOut,
    WhereIsIn,
    WhereIsOut,
    WhyNotOut,
)
from runner.agent.tool import Tool

_ALL = (
    Tool(
        "look",
        "Take pictures now and find block and box. With empty jaws the arm may swing aside to see better.",
        LookIn, LookOut, "sitting", moves=True, act=seeing.look,
    ),
    Tool(
        "detect",
        "Run the detectors on one kept picture, of this sitting or of a run that has ended, and say what they dropped.",
        DetectIn, DetectOut, "either", moves=False, act=seeing.detect,
    ),
    Tool(
        "where_is",
        "Where block or box was seen last, where arm and gripper read now, or how far the tip was from the block.",
        WhereIsIn, WhereIsOut, "sitting", moves=False, act=seeing.where_is,
    ),
    Tool(
        "lookup",
        "Ask the reach table or an approach table for a point, as a trial does.",
        LookupIn, LookupOut, "cell", moves=False, act=reading.lookup,
    ),
    Tool(
        "why_not",
        "Explain why a place can or can't be picked from or placed at: table, approach, proof, and a whole plan.",
        PlaceOnTable, WhyNotOut, "cell", moves=False, act=reading.why_not,
    ),
    Tool(
        "rehearse",
        "Try a pick at a point many times in the twin, in several ways: how often each worked. A forecast only.",
        RehearseIn, RehearseOut, "sitting", moves=False, act=acting.rehearse,
    ),
    Tool(
        "pick",
        "Go to the block that look saw last, close on it, lift it. Says what was measured, not what the judge says.",
        NoArguments, PickOut, "sitting", moves=True, act=acting.pick,
    ),
    Tool(
        "place",
        "Carry what is held over the box, let it go, and step aside so that the box can be seen.",
        NoArguments, PlaceOut, "sitting", moves=True, act=acting.place,
    ),
    Tool(
        "retreat",
        "Back out of whatever went wrong: set down what is held where it was taken, swing aside, look again.",
        NoArguments, LookOut, "sitting", moves=True, act=acting.retreat,
    ),
    Tool(
        "judge",
        "Have the judge say whether the block is in the box. Once only: the trial is final then, with its verdicts.",
        NoArguments, JudgeOut, "sitting", moves=True, act=acting.judge,
    ),
    Tool(
        "history",
        "Runs that have ended: rates in groups (by square, stage, day, …) under conditions, or one run in full.",
        HistoryIn, HistoryOut, "cell", moves=False, act=reading.history,
    ),
    Tool(
        "corrections",
        "What the cell has learned about where the tip lands, square by square, and what of it is applied.",
        NoArguments, CorrectionsOut, "cell", moves=False, act=reading.corrections,
    ),
    Tool(
        "holes",
        "The map of squares that the reach table has no good row for, with the reason for each.",
        HolesIn, HolesOut, "cell", moves=False, act=reading.holes,
    ),
    Tool(
        "note",
        "Keep a sentence in the log: your plan, a finding. With proposes it is a proposal that a person decides on.",
        NoteIn, NoteOut, "sitting", moves=False, act=noting.note,
    ),
)  # fmt: skip

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
"""Tools by their names."""

READING: Mapping[str, Tool] = {tool.name: tool for tool in _ALL if tool.needs != "sitting"}
"""Those that need no arm."""
