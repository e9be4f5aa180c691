"""A batch on disk: its plan, which never changes, and the events that happened to it, one line each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runs.corrections.table import BelongsTo, Lesson
from runs.schema.base import Record
from runs.schema.geometry import TablePoint
from runs.schema.run import Result

PLAN_VERSION = 1
PlanKind = Literal["grid", "random", "halton", "file"]
ArmOfTest = Literal["A", "B"]


class PlannedStart(Record):
    """One start. Trials with the same `pair` share their start; those of one `session` share the box's place.

    `box_xz_m` None: the box stays where it is. `round`: corrections are the same for all trials of one. `fault`: what
    begins to go wrong in the twin at some moment of its trial.
    """

    index: int
    pair: int
    session: int
    round: int
    seed: int
    block_xz_m: TablePoint
    block_yaw_deg: float
    box_xz_m: TablePoint | None = None
    box_yaw_deg: float | None = None
    arm: ArmOfTest | None = None
    fault: str | None = None


class BatchPlan(Record):
    """Everything that is decided before the first trial. `first_number`: of the runs; start i has the i-th after it."""

    plan_version: Literal[1] = 1
    batch_id: str
    made_at: str
    kind: PlanKind
    seed: int
    settings: tuple[str, ...] = ()
    settings_a: tuple[str, ...] = ()
    settings_b: tuple[str, ...] = ()
    stop_within: float | None = None  # enough is known once the success rate is, to so much on either side
    stop_decided: bool = False  # or once it is, which of A and B is better
    stop_after_s: float | None = None  # no trial begins after so much of the arm's clock, rests and waits included
    first_number: int
    starts: tuple[PlannedStart, ...]


class _Event(Record):
    """Something that happened to a batch, and when: ISO 8601, UTC."""

    kind: str
    at: str


class Started(_Event):
    """A process begins to work on the batch, for the first time or again."""

    kind: Literal["started"] = "started"
    pid: int
    workers: int


class TrialStarted(_Event):
    """A trial is about to begin under that run id."""

    kind: Literal["trial_started"] = "trial_started"
    start: int
    run_id: str


class TrialEnded(_Event):
    """A trial has its end.

    The twin's own word, for scoring only, and None on metal: `truth_in_box`; `truth_tip_mm`, how far the tool truly was
    from the block in the first picture of the tip; `faults`, what of its faults had begun by then, or what the plan had
    for it where its process was killed.
    """

    kind: Literal["trial_ended"] = "trial_ended"
    start: int
    run_id: str
    result: Result
    reason: str | None = None
    attempts: int = 0
    duration_s: float | None = None
    wall_s: float | None = None
    truth_in_box: bool | None = None
    truth_tip_mm: float | None = None
    faults: tuple[str, ...] = ()
    cut_off: bool = False  # the program ended before the trial did: the start is run again
    tip_mm: float | None = None  # tip minus block at the first attempt
    rested_s: float = 0.0  # of its duration, left alone until its servos had cooled


class SceneMade(_Event):
    """A world of the twin's was made with the start in it, or its block was put there without the arm.

    `waited_s`: how long the twin's person took to come, on the arm's clock. `start` None: no other was left in the
    session when they came.
    """

    kind: Literal["scene_made"] = "scene_made"
    start: int | None
    by: Literal["new world", "same world", "teleport", "twin person"]
    waited_s: float = 0.0


class ResetEnded(_Event):
    """The arm has put the block to the start, or could not. `log` is the reset's own, in the batch's `resets/`."""

    kind: Literal["reset"] = "reset"
    start: int
    log: str
    done: bool
    tries: int
    reason: str | None = None
    off_mm: float | None = None
    off_deg: float | None = None
    duration_s: float | None = None
    found: str | None = None  # what a trial or reset that was cut off had left, and what was done about it
    rested_s: float = 0.0  # of its duration, left alone until its servos had cooled


class Called(_Event):
    """A person was called: why, what to do, with which picture, and which ways of telling worked."""

    kind: Literal["called"] = "called"
    start: int | None
    why: str
    suggestion: str
    picture: str | None = None
    told_by: tuple[str, ...] = ()
    not_told: tuple[str, ...] = ()


class LessonKept(_Event):
    """What a trial has to teach, kept until its round is in. It counts if the run is its start's final one."""

    kind: Literal["lesson"] = "lesson"
    start: int
    belongs_to: BelongsTo
    lesson: Lesson


class RoundTaught(_Event):
    """All trials of a round are in, and what they taught is in the corrections.

    `tries`: so many trials of the next round try the correction that is proposed; `promoted`: one that went live.
    """

    kind: Literal["round_taught"] = "round_taught"
    round: int
    lessons: int
    tries: int = 0
    promoted: str | None = None
    proposed: str | None = None
    proved: bool | None = None


class Rested(_Event):
    """The arm was left alone for a while, or the batch waited for the arm to come back; the arm's clock, seconds."""

    kind: Literal["rested"] = "rested"
    seconds: float
    why: str


class Paused(_Event):
    """The batch stops for now; `batch resume` goes on. `by`: a person, or a reason of its own."""

    kind: Literal["paused"] = "paused"
    why: str
    by: Literal["person", "call", "disk", "faults", "latch"]


class Enough(_Event):
    """After a round: what the plan was to find out is known, and the starts that are left are not run."""

    kind: Literal["enough"] = "enough"
    round: int
    why: str


class Finished(_Event):
    """Every planned start has a final result, or enough is known."""

    kind: Literal["finished"] = "finished"


BatchEvent = Annotated[
    Started
    | TrialStarted
    | TrialEnded
    | SceneMade
    | ResetEnded
    | Called
    | LessonKept
    | RoundTaught
    | Rested
    | Paused
    | Enough
    | Finished,
    Field(discriminator="kind"),
]
