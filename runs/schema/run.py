"""One whole trial as it stands in `run.json`."""

from __future__ import annotations

from math import hypot
from typing import Any, Literal

from pydantic import Field

from runs.errors import Family
from runs.schema.agent import AgentLog, ProposalDecision
from runs.schema.base import Record
from runs.schema.detection import DetectRecord, TipDetection
from runs.schema.geometry import Joints, TablePoint
from runs.schema.motion import GripperRecord, GuardRecord, HealthRecord, LookupRecord, MoveRecord
from runs.schema.rehearsal import Foretold, RehearsalRecord
from runs.schema.verdict import Judgment, Rejudged, Ruling, Verdict, Word

Result = Literal["completed", "failed", "unjudged", "invalid", "refused", "stopped", "crashed"]
StageOutcome = Literal["done", "skipped", "failed", "refused", "invalid", "stopped", "crashed", "cut_off"]


class StageRecord(Record):
    """One stage: when it began and ended (UTC and the arm's clock) and how it came out."""

    name: str
    outcome: StageOutcome
    started_at: str
    ended_at: str | None = None
    started_s: float | None = None
    duration_s: float | None = None
    attempt: int | None = None
    note: str | None = None


class Capture(Record):
    """A picture that was kept: where it is (relative to the cell's folder) and what its bytes hash to."""

    label: str
    image: str
    dry_run: bool
    top_camera_index: int | str | None = None
    sha256: str | None = None
    width_px: int | None = None
    height_px: int | None = None
    at: str | None = None
    attempt: int | None = None
    sharpness: float | None = None
    mean_level: float | None = None
    arm_joints_deg: Joints | None = None


class PickAttempt(Record):
    """One try at the block."""

    attempt: int
    verdict: Word | None
    vlm_verdict: Word | None = None
    human_verdict: Word | None = None
    dist_override: bool = False
    confidence: float | None = None
    reason: str
    block_xz_m: TablePoint | None
    x_residual_m: float | None = None
    z_residual_m: float | None = None
    residual_mm: float | None = None
    grip_holding: bool | None = None


class CorrectionUse(Record):
    """A correction as it was applied, once, to a detected target: `after = before - d`.

    `model` is the hash of the model that said so, None where none is live; `sd_mm` how sure its global fit is there;
    `capped` that it said more than may be corrected; `missed_mm` what the attempt before was seen to miss by, which is
    in `d` as well.
    """

    phase: Literal["pick", "place"]
    target_before_mm: tuple[float, float]
    target_after_mm: tuple[float, float]
    cell_key: str
    dx_mm: float | None
    dz_mm: float | None
    n: int
    applied: bool
    model: str | None = None
    sd_mm: float | None = None
    capped: bool = False
    missed_mm: tuple[float, float] | None = None

    @property
    def in_words(self) -> str:
        """What was done, and on what grounds, without its figures in x and z."""
        parts = ["applied" if self.applied else "not applied", f"n = {self.n}"]
        parts += [f"±{self.sd_mm:.1f} mm"] if self.sd_mm is not None and self.applied else []
        parts += [f"model {self.model[:12]}"] if self.model is not None else []
        parts += ["with what the attempt before missed by"] if self.missed_mm is not None else []
        return ", ".join([*parts, *(["as much as is allowed"] if self.capped else [])])


class CorrectionChange(Record):
    """A cell of the correction table before and after this trial taught it."""

    cell_key: str
    before: tuple[float, float, int] | None
    after: tuple[float, float, int]
    sample_mm: tuple[float, float]


class Corrections(Record):
    """Corrections used (the field log's two keys) and learned in this trial."""

    last: CorrectionUse | None = None
    place_last: CorrectionUse | None = None
    learned: tuple[CorrectionChange, ...] = ()
    not_learned: str | None = None


class PoseUsed(Record):
    """Where the joints were read to be at the pick and at the place."""

    pick_pose_id: str | None = None
    pick_used: Joints | None = None
    place_pose_id: str | None = None
    place_used: Joints | None = None


class TipDiff(Record):
    """Tip minus block, as seen in one picture."""

    tip_x: float
    tip_z: float
    block_x: float
    block_z: float
    dx_mm: float
    dz_mm: float
    dist_mm: float


class TipMeasurement(Record):
    """The tip against the block at the pick pose, or why it could not be measured.

    `aimed_xz_m` is where the tool was sent (the corrected target), `reckoned_xz_m` where joints read back have it;
    `residual_mm` is seen less sent and `unexplained_mm` seen less reckoned, x and z: what no reading of the arm tells.
    `beside_mm`: where a rehearsal had the tool sent beside the block on purpose, x and z.
    """

    attempt: int
    image: str
    diff: TipDiff | None
    tip: TipDetection | None = None
    reason: str | None = None
    aimed_xz_m: TablePoint | None = None
    reckoned_xz_m: TablePoint | None = None
    residual_mm: tuple[float, float] | None = None
    unexplained_mm: tuple[float, float] | None = None
    beside_mm: tuple[float, float] | None = None

    @property
    def missed_mm(self) -> tuple[float, float] | None:
        """Tip minus block, x and z, without what the tool was sent beside the block on purpose."""
        if self.diff is None:
            return None
        dx, dz = self.beside_mm or (0.0, 0.0)
        return self.diff.dx_mm - dx, self.diff.dz_mm - dz

    @property
    def missed_dist_mm(self) -> float | None:
        """How far that is: the figure that limits are held against."""
        if self.missed_mm is None or self.diff is None:
            return None
        return self.diff.dist_mm if self.beside_mm is None else hypot(*self.missed_mm)


class DriftRecord(Record):
    """A look whether anything has moved since calibrating, and by how much; `problem` says what to think of it.

    `moved` names what: the camera (its marks), another picture size, another scene, or a joint (the tip was seen
    elsewhere than right after calibrating). Pixels by the marks' numbers; the tip's figures are the worst of its poses.
    """

    at: str | None = None
    moved: Literal["camera", "picture", "scene", "joint"] | None
    problem: str | None
    marks_px: dict[str, float] = Field(default_factory=dict)
    marks_missing: tuple[int, ...] = ()
    check_poses: int = 0
    tip_off_px: float | None = None
    tip_off_mm: float | None = None
    slipped_joint: str | None = None
    slip_deg: float | None = None
    not_looked: str | None = None


class InBatch(Record):
    """Which planned start of which batch a run was, counted from 0, and under which of two sets of settings."""

    batch_id: str
    start: int
    arm: Literal["A", "B"] | None = None
    round: int = 0


class Provenance(Record):
    """What the run stood on: hashes of calibration, tables and corrections, seeds and settings."""

    cell_id: str
    code_version: str
    arm_kind: str
    arm_model: str
    camera: str
    judge: str
    seed: int | None = None
    profile: str | None = None
    calibration_hashes: dict[str, str] = Field(default_factory=dict)
    table_hash: str | None = None
    approach_hashes: dict[str, str] = Field(default_factory=dict)
    corrections_hash: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    batch: InBatch | None = None


class Note(Record):
    """A sentence worth keeping: a skipped look, a rejected reading, a fault survived."""

    at: str
    stage: str | None
    text: str


class Ending(Record):
    """How the trial ended, where, and why. `family` is the kind of trouble where an error ended it."""

    result: Result
    stage: str | None
    reason: str
    family: Family | None = None
    at_rest: bool | None = None
    block_held: bool | None = None


class RunLog(Record):
    """Everything about one trial. Keys without a comment are the field log's own."""

    schema_version: Literal[1] = 1
    run_id: str
    started_at: str
    dry_run: bool
    frames_dir: str
    constants: dict[str, Any]
    stages: tuple[str, ...] = ()
    detect: tuple[DetectRecord, ...] = ()
    lookups: tuple[LookupRecord, ...] = ()
    moves: tuple[MoveRecord, ...] = ()
    gripper: tuple[GripperRecord, ...] = ()
    vlm_captures: tuple[Capture, ...] = ()
    judgments: dict[Literal["pick", "place"], Judgment] = Field(default_factory=dict)
    pick_attempts: tuple[PickAttempt, ...] = ()
    correction: Corrections = Corrections()
    pose_used: PoseUsed = PoseUsed()
    tip_measurements: tuple[TipMeasurement, ...] = ()
    drift: tuple[DriftRecord, ...] = ()
    result: Result | None
    ended_at: str | None
    # beyond the field log
    times_are_utc: bool = True
    provenance: Provenance | None = None
    stage_records: tuple[StageRecord, ...] = ()
    guards: tuple[GuardRecord, ...] = ()
    health: tuple[HealthRecord, ...] = ()
    rehearsals: tuple[RehearsalRecord, ...] = ()
    foretold: tuple[Foretold, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    rejudged: tuple[Rejudged, ...] = ()
    agent: AgentLog | None = None
    decisions: tuple[ProposalDecision, ...] = ()
    notes: tuple[Note, ...] = ()
    ending: Ending | None = None
    duration_s: float | None = None
    wall_s: float | None = None
    recovered: bool = False
    migrated_from: int | None = None
