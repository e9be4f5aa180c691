"""The course of a trial, and what is learned from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.settings.section import Section, Vec2


class TrialSettings(Section):
    """The trial's course."""

    max_pick_attempts: int = Field(3, ge=1, le=10, description="tries at the block")
    found_held: Literal["start", "place", "ask"] = Field(
        "start",
        description="a block still held from a run that was cut off: start, set it down where it was taken; place, at "
        "found_place_xz_m; ask, leave it to a person",
    )
    found_place_xz_m: Vec2 = Field((0.16, 0.16), description="where such a block is then set down; must be free")
    swept_j0_deg: float = Field(85.0, gt=0, le=150, description="j0 swept aside for judging, retreat and second looks")
    corrections: bool = Field(True, description="apply the correction table to detected targets")
    learn: bool = Field(True, description="let good trials teach the correction table")
    dist_override_mm: float = Field(30.0, gt=0, description="a yes for a pick farther off than this is flagged")
    dist_override_is_no: bool = Field(
        False, description="such a yes also becomes a no; the judge's own word stays beside it"
    )


class CorrectionsSettings(Section):
    """What is learned from where the tip landed, and what of it is applied."""

    rule: Literal["robust", "field"] = Field(
        "robust",
        description="robust: a global fit and squares, live only once proved; field: each square's plain mean, at once",
    )
    use: Literal["live", "candidate"] = Field(
        "live", description="candidate: trials try what was proposed last, to prove it; live: what was promoted"
    )
    retry: bool = Field(
        True, description="after a pick judged no, the next attempt also takes off what the camera saw it miss by"
    )
    enough: int = Field(3, ge=1, description="rule field: from so many lessons on a square's mean is applied")
    cap_mm: float = Field(40.0, gt=0, description="no target is ever corrected by more than this")
    cap_square_mm: float = Field(8.0, gt=0, description="rule robust: a square adds at most this to the global fit")
    memory: int = Field(500, ge=10, description="rule robust: so many of the last lessons count")
    spread_mm: float = Field(
        3.0, gt=0, description="a block whose captures lie farther apart than this teaches nothing"
    )
    contradiction_mm: float = Field(
        15.0, gt=0, description="a measurement this far from what the live correction expects teaches nothing"
    )
    margin: float = Field(0.05, gt=0, lt=1, description="a proof must rule out that success falls by more than this")
    most_pairs: int = Field(400, ge=1, description="a candidate that so many pairs of trials don't settle makes way")
