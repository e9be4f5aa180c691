"""What goes into each tool and what comes out of it: the one definition for model, script and MCP alike.

Places are in the cell frame: x to the right, z forward from the arm's base, metres; y is height. Angles are degrees,
errors millimetres.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runner.agent.fence import Quoted
from runs.schema.agent import ProposalKind
from runs.schema.verdict import JudgedStage, Word

TableX = Annotated[float, Field(ge=-1, le=1, description="x on the table, metres, to the right")]
TableZ = Annotated[float, Field(ge=-1, le=1, description="z on the table, metres, forward from the base")]


class In(BaseModel):
    """Arguments of a tool: nothing else is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class Out(BaseModel):
    """A tool's answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NoArguments(In):
    """None."""


class LookIn(In):
    """How to look."""

    aside: bool = Field(True, description="swing the empty arm aside where it may hide something, and look again")


class Thing(Out):
    """Block or box as the camera sees it. `spread_mm` is how far apart several captures saw it."""

    x_m: float | None
    z_m: float | None
    yaw_deg: float | None
    score: float
    spread_mm: float | None
    px: tuple[float, float]


class Grip(Out):
    """What the gripper's own reading says; None: it gave no answer."""

    value: float | None
    opening_mm: float | None
    holding: bool | None
    reason: Quoted


class LookOut(Out):
    """What is seen now. `block_inside_box_mm` is how far the block's centre is inside the walls.

    Negative is outside.

    `no_pick_because` says why a pick can't begin with this scene, None where it can.
    """

    block: Thing | None
    box: Thing | None
    block_inside_box_mm: float | None
    no_pick_because: Quoted | None
    doubts: tuple[Quoted, ...]
    grip: Grip | None
    pictures: tuple[str, ...]


class DetectIn(In):
    """Which picture."""

    picture: str = Field("last", max_length=80, description="label of a kept picture, or last")
    run: str | None = Field(
        None, max_length=60, description="a run that has ended: id, number or latest; else this one"
    )


class DroppedThing(Out):
    """A candidate that was looked at and not taken."""

    what: str
    px: tuple[float, float]
    area_px: float
    reason: Quoted


class DetectOut(Out):
    """What the detectors find in one picture, and why they dropped the rest."""

    picture: str
    block: Thing | None
    box: Thing | None
    dropped: tuple[DroppedThing, ...]
    quality: Quoted | None = Field(description="what is wrong with the picture; null where nothing is")


class WhereIsIn(In):
    """Of what."""

    what: Literal["block", "box", "arm", "gripper", "tip"]


class WhereIsOut(Out):
    """Where it is. `seen_s_ago` is the arm's clock since it was seen; readings are of now."""

    what: str
    thing: Thing | None = None
    seen_s_ago: float | None = None
    joints_deg: tuple[float, ...] | None = None
    tool_m: tuple[float, float, float] | None = None
    grip: Grip | None = None
    tip_minus_block_mm: tuple[float, float] | None = None
    said: Quoted | None = None


class PlaceOnTable(In):
    """A place and what is to be done there."""

    phase: Literal["pick", "place"]
    x_m: TableX
    z_m: TableZ


class LookupIn(In):
    """A question to the reach table, or in an approach phase to the approach table."""

    phase: Literal["approach_pick", "pick", "approach_place", "place_withblock", "place_noblock"]
    x_m: TableX
    z_m: TableZ
    dist_max_m: float | None = Field(None, gt=0, le=1, description="the nearest row may be this far")
    ref_joints: tuple[float, float, float, float, float, float] | None = Field(
        None, description="every joint near these, degrees"
    )
    joint_tol_deg: float | None = Field(None, gt=0, le=360, description="their tolerance")


class LookupOut(Out):
    """The lookup with the run log's keys; `method` out_of_range: there is none, and `abort_reason` says why."""

    lookup: dict[str, Any]


class WhyNotOut(Out):
    """How a square stands in the tables, what forbids it, what would help, and whether a whole move can be planned."""

    lines: tuple[str, ...]
    plan: Literal["found", "none"]
    plan_why: Quoted | None
    residual_mm: float | None
    clearance_mm: float | None


class RehearseIn(In):
    """What to try in the twin. Letting go over the box is not rehearsed."""

    phase: Literal["pick"] = Field("pick", description="only a pick can be rehearsed; of a place ask why_not")
    x_m: TableX
    z_m: TableZ
    yaw_deg: float = Field(0.0, ge=-180, le=180, description="of the block's edge")


class RehearsedWay(Out):
    """One way to the block: `picked` of `tries` in the twin, at least so often at 95 %, with so much room beside it."""

    name: str
    tilt_deg: float
    heading_deg: float
    picked: int
    tries: int
    low: float
    margin_mm: float
    takes_s: float


class RehearseOut(Out):
    """How often each way worked in the twin; the first is the planner's own. A forecast: it decides nothing."""

    best: str
    why: str
    cut_short: bool
    ways: tuple[RehearsedWay, ...]


class Moved(Out):
    """How the arm's moves of this call went."""

    moves: int
    worst_arrival_deg: float | None
    least_clearance_mm: float | None


class PickOut(Out):
    """What was measured of a try at the block. The judge's verdict is withheld until the trial is final."""

    attempt: int
    grip: Grip | None
    tip_minus_block_mm: tuple[float, float] | None
    tip_said: Quoted | None
    planned_residual_mm: float
    moved: Moved
    pictures: tuple[str, ...]
    verdict: Literal["withheld until the trial is final"] = "withheld until the trial is final"


class PlaceOut(Out):
    """What was measured of a place. It is judged by the tool judge, or at the end of the sitting."""

    attempt: int
    grip: Grip | None
    planned_residual_mm: float
    moved: Moved
    pictures: tuple[str, ...]


class FinalVerdict(Out):
    """A verdict that nothing in this sitting can change any more."""

    stage: JudgedStage
    verdict: Word | None
    confidence: float | None
    reason: Quoted
    error: Quoted | None
    judge: Quoted


class JudgeOut(Out):
    """The trial is final: these stand, unless a person rules otherwise."""

    verdicts: tuple[FinalVerdict, ...]
    final: Literal[True] = True


class HistoryIn(In):
    """Which runs. Runs under way are not among them."""

    run: str | None = Field(None, max_length=60, description="one run in full: its id, number or latest")
    where: tuple[str, ...] = Field(
        (), max_length=8, description="conditions: profile=field, block_x_m<0.1, tip_dist_mm>10"
    )
    by: str | None = Field(
        None, max_length=40, description="group by: square, place_square, stage, day, judge, light, …"
    )
    last: int | None = Field(None, ge=1, le=100_000, description="only the newest so many")


class RunGroup(Out):
    """Runs in a group. The rate is of those decided; the interval is exact (95 %)."""

    key: str | None
    n: int
    results: dict[str, int]
    success: float | None
    low: float | None
    high: float | None
    attempts: float | None
    tip_dx_mm: float | None
    tip_dz_mm: float | None
    tip_mm: float | None


class StageOut(Out):
    """A stage of a run and how it came out."""

    name: str
    outcome: str
    attempt: int | None
    note: Quoted | None


class RunOut(Out):
    """One run that has ended."""

    run_id: str
    result: str | None
    result_stage: str | None
    reason: Quoted | None
    verdicts: dict[str, Word | None]
    attempts: int
    block_xz_m: tuple[float, float] | None
    box_xz_m: tuple[float, float] | None
    tip_minus_block_mm: tuple[float, float] | None
    stages: tuple[StageOut, ...]
    refusals: tuple[Quoted, ...]
    notes: tuple[Quoted, ...]
    pictures: tuple[str, ...]


class HistoryOut(Out):
    """Groups, or one run."""

    groups: tuple[RunGroup, ...] = ()
    run: RunOut | None = None
    left_out: int = 0


class CorrectionSquare(Out):
    """What is subtracted from a target in a square, mm, from how many lessons."""

    square: str
    dx_mm: float
    dz_mm: float
    n: int
    spread_mm: float | None
    applied: bool


class CorrectionsOut(Out):
    """What has been learned here, what of it is applied, what is proposed and what proofs have said."""

    applied: bool
    rule: str
    live: str | None
    candidate: str | None
    proof: Quoted | None
    squares: tuple[CorrectionSquare, ...]
    left_out: int


class HolesIn(In):
    """For what."""

    phase: Literal["pick", "place"] = "place"


class HoleSquare(Out):
    """A square that no good row leads to."""

    x_mm: int
    z_mm: int
    status: str
    why: Quoted


class HolesOut(Out):
    """The map of squares: ● dense, △ marginal, · hole, and what is proved to be out of reach or blocked."""

    counts: dict[str, int]
    map: str
    squares: tuple[HoleSquare, ...]
    left_out: int


class NoteIn(In):
    """A sentence for the record. A proposal is one as well: a person reads it and decides; it changes nothing."""

    text: str = Field(min_length=1, max_length=1500)
    proposes: ProposalKind | None = Field(None, description="what it proposes, if anything")
    run: str | None = Field(None, max_length=60, description="of a proposed ruling: the run that has ended")
    stage: JudgedStage | None = Field(None, description="of a proposed ruling: which step")
    verdict: Word | None = Field(None, description="of a proposed ruling: the word")
    setting: str | None = Field(None, max_length=120, description="of a proposed setting: section.key=value")
    correction: Literal["propose", "prove", "promote", "rollback"] | None = Field(
        None, description="of a proposed correction: the command that a person would give"
    )


class NoteOut(Out):
    """It is on record. `proposal` is its number where it proposes something; a person decides."""

    kept: Literal[True] = True
    proposal: int | None = None
    command: str | None = None
