"""One trial under way: the bench, the notebook, what has been seen, and the few acts that every stage is made of.

A stage is a function that gets a `Trial` and returns what it found or planned. Nothing here decides the course; that is
`sequence.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from judges.protocol import LabelledPicture
from runner.arms.arrival import Arrival
from runner.arms.errors import LeftItsWay, MoveStalled, Refused
from runner.arms.guard import refuse_latched
from runner.arms.health import complaint_of
from runner.geometry import interpolated
from runner.kinematics.fk import tool_points_m
from runner.kinematics.model import FloatArray
from runner.kinematics.motion import StraightLine
from runner.rehearse.rehearsal import Rehearsed
from runner.table.errors import NoPlan, PlanningError
from runner.trial.bench import Bench
from runner.trial.errors import BlockLost, InvalidStart, Stopped
from runner.trial.notebook import Notebook
from runner.trial.sight import arm_discs_px
from runner.trial.stop import StopSwitch
from runner.trial.watch import PictureWatch
from runs.errors import StorageUnwritable, TrialcellError
from runs.schema.detection import BlockDetection, BoxDetection
from runs.schema.geometry import Joints
from runs.schema.motion import GripperRecord, GripperTry, GripReading, LookupRecord, MoveRecord
from runs.schema.run import CorrectionUse, StageOutcome, TipMeasurement
from vision.cameras.protocol import Frame
from vision.cameras.quality import assess

_MAX_STEP_DEG = 90.0  # between two waypoints of a long way: firmware has been seen to split or detour beyond 180


@dataclass(frozen=True, slots=True)
class Seen:
    """The block and the box that a trial works with, and the picture in which the block was seen."""

    block: BlockDetection
    box: BoxDetection
    picture: LabelledPicture


@dataclass(slots=True, eq=False)
class Trial:
    """The trial's state.

    `standing_deg` is where the arm was told to be last, None where it may have stopped anywhere. `grip` is what the
    gripper last said; `may_hold` is true from closing on the block until the jaws open or say, off the table, that they
    are empty.
    """

    bench: Bench
    book: Notebook
    switch: StopSwitch
    started_s: float
    started_wall_s: float = field(default_factory=monotonic)
    attempt: int = 1
    standing_deg: FloatArray | None = None
    grip: GripReading | None = None
    may_hold: bool = False
    set_down_line: StraightLine | None = None
    correction: CorrectionUse | None = None
    tip: TipMeasurement | None = None
    rehearsed: Rehearsed | None = None
    last_stage: str | None = None
    watch: PictureWatch = field(default_factory=PictureWatch)

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to move."""
        return self.bench.dry_run

    @contextmanager
    def stage(self, name: str, *, attempt: int | None = None) -> Iterator[None]:
        """A stage of the log: begins, runs, ends with its outcome. A latched or asked stop keeps it from beginning."""
        self.switch.check()
        self._check_latch()
        self.last_stage = name
        self.book.stage_started(name, self._now_s(), attempt)
        try:
            yield
        except BaseException as error:
            self.book.stage_ended(name, outcome_of(error), self._now_s(), str(error) or type(error).__name__)
            raise
        self.book.stage_ended(name, "done", self._now_s())

    def move(
        self,
        label: str,
        path_deg: FloatArray,
        tolerance_deg: float,
        *,
        correct: bool = False,
        take_off_sag: bool = False,
        touching: bool = False,
        line_off_mm: float | None = None,
    ) -> FloatArray:
        """Move through the waypoints and write it down; returns the residual (read back minus goal, degrees).

        Raises:
            Refused: the guard's no. ArmError: a fault. Stopped: asked for, before the move.
        """
        self.switch.check()
        self._check_latch()
        if self.dry_run:
            self._would_move(label, path_deg, tolerance_deg, line_off_mm)
            return np.zeros_like(path_deg[-1])
        self.standing_deg = None
        mover = self.bench.mover
        try:
            arrival: Arrival = mover.move(
                label,
                path_deg,
                tolerance_deg=tolerance_deg,
                correct=correct,
                take_off_sag=take_off_sag,
                touching=touching,
                line_off_mm=line_off_mm,
                attempt=self.attempt,
            )
        except StorageUnwritable:
            raise
        except TrialcellError as error:
            if mover.failed is not None:
                self.book.add(mover.failed)
            if isinstance(error, MoveStalled):
                raise error.explained(complaint_of(self.bench.arm)) from error
            raise
        self._check_way(arrival.record, tolerance_deg)
        self.standing_deg = path_deg[-1]
        self.book.add(arrival.record)
        return arrival.residual_deg

    def move_straight(
        self, label: str, line: StraightLine, tolerance_deg: float, *, correct: bool = False, touching: bool = False
    ) -> FloatArray:
        """Move along a straight line of the tool from its first pose, where the arm stands, to its last; see `move`.

        `touching`: the jaws have closed on something that stands on the table, which now presses on the arm.
        """
        path, off_mm = line.waypoints_deg[1:], line.off_mm
        return self.move(
            label, path, tolerance_deg, correct=correct, take_off_sag=True, touching=touching, line_off_mm=off_mm
        )

    @contextmanager
    def lookups_kept(self) -> Iterator[None]:
        """While planning: the lookups of a plan that fails are written down before the refusal goes on."""
        try:
            yield
        except NoPlan as refusal:
            self.keep_lookups(refusal.lookups)
            raise

    def keep_lookups(self, lookups: Sequence[LookupRecord]) -> None:
        """Write lookups down as those of this attempt."""
        for lookup in lookups:
            self.book.add(lookup.model_copy(update={"attempt": self.attempt}))

    def here_deg(self) -> FloatArray:
        """Where the arm was told to be, or is read to be when it was told nothing yet; shape (n_joints,)."""
        if self.standing_deg is None:
            self.standing_deg = self.bench.mover.readings.read_deg()
        return self.standing_deg

    def travel(self, label: str, goal_deg: FloatArray, tolerance_deg: float, *, correct: bool = False) -> FloatArray:
        """Plan a clear way to a pose and go there; returns the residual in degrees.

        With `correct` the sag that was measured where the arm stands is taken off the way, and what is left at its end.
        """
        here = self.here_deg()
        path = self.bench.planner.plan_transfer(here, goal_deg, self.bench.arm.obstacles)
        small_steps = interpolated(np.vstack((here, path)), _MAX_STEP_DEG)[1:]
        return self.move(label, small_steps, tolerance_deg, correct=correct, take_off_sag=correct)

    def open_gripper(self, stage: str, *, times: int = 1, pre_wait_s: float | None = None) -> None:
        """Open by state, as often as asked, with the waits round it."""
        settings = self.bench.config.gripper
        if not self.dry_run:
            self.bench.clock.sleep(pre_wait_s or 0.0)
            self.grip = None
            for _ in range(times):
                self.bench.arm.send_gripper_open()
            self.bench.clock.sleep(settings.wait_s)
        self.book.add(
            GripperRecord(
                stage=stage,
                action="open",
                state=0,
                grip_method="state",
                pre_sleep_sec=pre_wait_s,
                sleep_sec=settings.wait_s,
                dry_run=self.dry_run,
                attempt_count=times if times > 1 else None,
                attempts=tuple(GripperTry(attempt=i + 1) for i in range(times)) if times > 1 else None,
            )
        )

    def close_gripper(self, stage: str) -> None:
        """Close by value and wait. From now on something may be held."""
        settings = self.bench.config.gripper
        if not self.dry_run:
            self.may_hold = True
            self.bench.arm.send_gripper_value(settings.grip_value)
            self.bench.clock.sleep(settings.wait_s)
        self.book.add(
            GripperRecord(
                stage=stage,
                action="close",
                state=1,
                grip_method="value",
                grip_value=settings.grip_value,
                sleep_sec=settings.wait_s,
                dry_run=self.dry_run,
            )
        )

    def capture(self, label: str, *, captures: int = 1) -> list[Frame]:
        """Take pictures, keep each under its label (`_1`, `_2`, … when several; `_aN` from the second attempt on).

        Raises:
            PictureNotOfNow: the camera hangs or hands out old pictures. CameraUnavailable: it gives none.
        """
        if not self.dry_run:
            self.bench.clock.sleep(self.bench.config.camera.settle_s)
        frames = []
        joints = None if self.standing_deg is None else joints_of(self.standing_deg)
        for number in range(1, captures + 1):
            frame = self.bench.camera.read()
            name = f"{label}_{number}" if captures > 1 else label
            if self.attempt > 1:
                name = f"{name}_a{self.attempt}"
            self.book.picture(
                name,
                frame.image_bgr,
                top_camera_index=self.bench.camera.index,
                attempt=self.attempt,
                arm_joints_deg=joints,
            )
            self._check_of_now(frame)
            frames.append(frame)
        return frames

    def _would_move(self, label: str, path_deg: FloatArray, tolerance_deg: float, line_off_mm: float | None) -> None:
        """A dry run's move: through the guard and into the log, not to the arm."""
        start = self.here_deg()
        clearance_mm = self.bench.arm.check(label, path_deg, np.zeros_like(start), start_deg=start)
        x, y, z = self.bench.base.to_cell(tool_points_m(path_deg[-1], self.bench.arm.model)).tolist()
        self.standing_deg = path_deg[-1]
        self.book.add(
            MoveRecord(
                label=label,
                target_angles=joints_of(path_deg[-1]),
                reach_tol_deg=tolerance_deg,
                pre_actual=joints_of(start),
                pre_max_delta_deg=float(np.abs(start - path_deg[-1]).max()),
                dry_run=True,
                arrived=False,
                retried=False,
                post_actual=None,
                post_max_delta_deg=None,
                attempt=self.attempt,
                commanded=joints_of(path_deg[-1]),
                via=tuple(joints_of(pose) for pose in path_deg[:-1]),
                line_off_mm=line_off_mm,
                waypoints=len(path_deg),
                speed_percent=self.bench.config.arm.speed_percent,
                path_clearance_mm=clearance_mm,
                tcp_commanded_m=(x, y, z),
            )
        )

    def _check_way(self, record: MoveRecord, tolerance_deg: float) -> None:
        """An arm that had to be brought back from farther off than it may sag is asked what is wrong with it.

        Raises:
            LeftItsWay: it says so.
        """
        off_deg = max((abs(a) for a in record.corrective_deg or ()), default=0.0)
        if off_deg <= tolerance_deg:
            return
        complaint = complaint_of(self.bench.arm)
        if complaint is not None:
            self.book.add(record)
            raise LeftItsWay(record.label, off_deg, complaint)

    def _check_of_now(self, frame: Frame) -> None:
        """Hold a live picture against those before.

        In a dry run the arm does not go where it is reckoned to be, and in a picture of no use nothing is seen of it.
        """
        bench, at_deg, arm_px = self.bench, None if self.dry_run else self.standing_deg, None
        if bench.camera.replays:
            return
        if at_deg is not None and bench.view is not None and assess(frame.image_bgr).good:
            arm_px = arm_discs_px(at_deg, bench.arm.model, bench.base, bench.view)
        self.watch.check(frame.image_bgr, arm_px, bench.camera.name)

    def _check_latch(self) -> None:
        stop = self.bench.latch.read()
        if stop is not None and self.last_stage is not None:
            raise Stopped(at_once=False, by=stop.by, why=stop.why)
        refuse_latched(stop)

    def _now_s(self) -> float:
        return self.bench.clock.now_s() - self.started_s


def joints_of(angles_deg: FloatArray) -> Joints:
    """Angles as they stand in the log."""
    return tuple(round(float(a), 6) for a in angles_deg)


def outcome_of(error: BaseException) -> StageOutcome:
    """How a stage came out that this error ended."""
    if isinstance(error, Stopped | KeyboardInterrupt):
        return "stopped"
    if isinstance(error, InvalidStart):
        return "invalid"
    if isinstance(error, Refused | PlanningError):
        return "refused"
    if isinstance(error, BlockLost):
        return "failed"
    return "crashed"
