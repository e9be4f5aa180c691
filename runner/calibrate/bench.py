"""What calibrating works with: the guarded arm, its clock and camera, and the person who helps where a program can't.

Moves the arm clear of everything and looks at its fingertips. What they say is worked out elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from runner.arm_calibration import as_delivered
from runner.arms.arrival import MoveControl
from runner.arms.errors import Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.protocol import Arm, Clock
from runner.arms.zeroed import in_true_angles
from runner.calibrate.lens import board_of
from runner.calibrate.samples import SeenTips
from runner.calibrate.unknowns import ArmUnderCamera
from runner.config import Config
from runner.geometry import Obstacles, interpolated
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_of_rotation
from runner.kinematics.gripper import opening_from_value_mm, seen_tips_m
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.errors import NoWay
from runner.table.postures import arm_of
from runner.table.transfer import plan_transfer
from runs.errors import Family, TrialcellError
from vision.calibration.plane import board_on_table_xz_m
from vision.calibration.view import View
from vision.cameras.protocol import Camera, Picture
from vision.detect.protocol import DetectSettings
from vision.detect.tip import find_tip

Progress = Callable[[str], None]
_MAX_STEP_DEG = 90.0
_SCORE_LIMIT = 0.2  # a tip that is not where it should be scores less, and that is what is to be found out
_ASTRAY_M = tuple(np.array([x, 0.0, z]) for x, z in ((0.0, 0.0), (0.04, 0.0), (-0.04, 0.0), (0.0, 0.04), (0.0, -0.04)))
"""Where else a tip is looked for that is not where it is believed to be."""


def _always() -> None:
    """Nobody has anything against it."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmBench:
    """An arm under a camera, ready to be watched. `guard` and `mover` speak of the joints as they are known now."""

    config: Config  # with what is calibrated of the arm laid over
    arm: Arm  # in encoder angles
    guard: GuardedArm
    clock: Clock
    mover: MoveControl
    base: BaseInCell
    camera: Camera
    view: View
    progress: Progress
    may_go_on: Callable[[], None] = _always

    @classmethod
    def of(
        cls,
        config: Config,
        arm: Arm,
        clock: Clock,
        camera: Camera,
        view: View,
        obstacles: Obstacles,
        progress: Progress,
        may_go_on: Callable[[], None] = _always,
    ) -> ArmBench:
        """A bench by the settings.

        Args:
            arm: in encoder angles: as its driver has it, nothing taken off.
            obstacles: what stands on the table, and the table.
            may_go_on: asked before every move; raises where somebody has latched a stop.
        """
        model, base = arm_of(config)
        known = in_true_angles(arm, model, config.arm.joint_zero_deg)
        guard = GuardedArm(known, base, GuardRules.of(model, config.arm, config.table, config.guard))
        guard.obstacles = obstacles
        mover = MoveControl(guard, clock, base, config.arm)
        return cls(config, arm, guard, clock, mover, base, camera, view, progress, may_go_on)

    def knowing(self, config: Config, *, view: View | None = None) -> ArmBench:
        """The same bench with more known of it."""
        return ArmBench.of(
            config,
            self.arm,
            self.clock,
            self.camera,
            view or self.view,
            self.guard.obstacles,
            self.progress,
            self.may_go_on,
        )

    def delivered(self) -> ArmUnderCamera:
        """The arm without anything calibrated, under this camera."""
        return ArmUnderCamera(arm_of(as_delivered(self.config))[0], self.base, self.view, board_xz_m(self.config))

    def believed(self) -> ArmUnderCamera:
        """The arm as it is known now, under this camera: with joints that are read, and nothing unknown."""
        return ArmUnderCamera(self.guard.model, self.base, self.view, board_xz_m(self.config))

    def encoder_deg(self, read_deg: FloatArray) -> FloatArray:
        """What the encoders say when the joints are read to be there."""
        return np.asarray(read_deg - np.array(self.config.arm.joint_zero_deg))

    def open_jaws(self) -> None:
        """Open the jaws, for the tip is told by its open fingers.

        Raises:
            GripperHolds: something is between them.
        """
        gripper = self.guard.model.data.gripper
        value = self.guard.read_gripper_value()
        if gripper is not None and value is not None:
            apart_mm = opening_from_value_mm(min(max(value, 0.0), 100.0), gripper)
            settings = self.config.gripper
            narrow = value <= settings.grip_value + settings.held_margin_value
            if not narrow and abs(apart_mm - self.config.block.side_mm) <= settings.held_width_tolerance_mm:
                raise GripperHolds(apart_mm)
        self.may_go_on()
        self.guard.send_gripper_open()
        self.clock.sleep(self.config.gripper.wait_s)

    def go(self, label: str, goal_deg: FloatArray) -> FloatArray:
        """By a clear way to a pose, (n_joints,); returns where the arm came to rest, as read.

        Raises:
            NoWay, Refused: it would come too near to something. ArmError: a fault on the way.
        """
        here = self.mover.readings.read_deg()
        path = plan_transfer(here, goal_deg, self.guard.obstacles, self.guard.model, self.base, self.config)
        path = interpolated(np.vstack((here, path)), _MAX_STEP_DEG)[1:]
        self.mover.move(label, path, tolerance_deg=self.config.arm.tol_pick_place_deg, correct=True)
        self.clock.sleep(self.config.camera.settle_s)
        return self.mover.readings.read_deg()

    def home(self) -> None:
        """Home, by a clear way."""
        self.may_go_on()
        self.go("calibrate_home", np.asarray(self.config.arm.home_deg, dtype=np.float64))

    def pictures(self) -> list[Picture]:
        """As many pictures as the settings say, of what is there now."""
        return [self.camera.read().image_bgr for _ in range(self.config.camera.captures)]

    def look(self, read_deg: FloatArray, off_m: FloatArray | None = None) -> FloatArray | None:
        """Both fingertips at the pose that is read; see `ends_in`."""
        return ends_in(self.pictures(), read_deg, self.guard.model, self.base, self.view, off_m=off_m)


def board_xz_m(config: Config) -> FloatArray:
    """Where the corners of the board lie on the table for the plane, (k, 2)."""
    settings, spec = config.calibration, board_of(config.calibration)
    return board_on_table_xz_m(spec.corners_m(), spec, settings.board_xz_m, settings.board_yaw_deg)


class GripperHolds(TrialcellError):
    """The gripper holds something, and calibrating needs its fingers open and free."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, apart_mm: float) -> None:
        self.apart_mm = apart_mm
        super().__init__(
            f"the gripper seems to hold something {apart_mm:.0f} mm wide, and calibrating would drop it",
            next_step="take it out by hand (trialcell arm open), clear the table, and try again",
        )


def ends_in(
    pictures: Sequence[Picture],
    read_deg: FloatArray,
    arm: ArmModel,
    base: BaseInCell,
    view: View,
    *,
    off_m: FloatArray | None = None,
) -> FloatArray | None:
    """Both fingertips in pictures of one still pose, (2, 2) px, the finger on the side of the tool's x first.

    The median over the pictures; None where most of them don't show both.

    Args:
        off_m: how far from where the arm is believed to have it the tip is looked for, (3,), cell frame.
    """
    T = tool_pose(read_deg, arm)
    tips = base.to_cell(seen_tips_m(T, arm)) + (np.zeros(3) if off_m is None else off_m)
    middle = tips.mean(axis=0)
    heading = stance_of_rotation(T[:3, :3], base).heading_deg
    settings = DetectSettings(score_limit=_SCORE_LIMIT)
    expected = view.point_to_pixel(tips)
    seen = []
    for picture in pictures:
        found = find_tip(
            picture,
            view,
            settings,
            height_y_m=float(middle[1]),
            near_xz_m=(float(middle[0]), float(middle[2])),
            heading_deg=heading,
        ).best
        if found is not None and found.ends_px is not None:
            ends = np.array(found.ends_px)
            ahead = (ends[1] - ends[0]) @ (expected[1] - expected[0]) >= 0
            seen.append(ends if ahead else ends[::-1])
    if 2 * len(seen) <= len(pictures):
        return None
    return np.asarray(np.median(seen, axis=0))


def watch(
    bench: ArmBench, goals_deg: FloatArray, *, label: str, at_pose: Callable[[FloatArray], None] = lambda goal_deg: None
) -> tuple[SeenTips, list[str]]:
    """Go to every pose (k, n_joints) and look at the tip; and for those where that can't be done, why not.

    Where the tip is found beside its place, it is looked for there at the next pose too. `at_pose` is told every pose
    that was gone to.
    """
    n = bench.guard.model.n_joints
    goals: list[FloatArray] = []
    offs: list[FloatArray] = []
    encoders, ends, missed = [], [], []
    for number, goal in enumerate(goals_deg, start=1):
        bench.progress(f"{label}: pose {number} of {len(goals_deg)}")
        bench.may_go_on()
        try:
            read = bench.go(f"calibrate_{label}_{number}", goal)
        except (NoWay, Refused) as refusal:
            missed.append(f"pose {number}: {refusal.message}")
            continue
        at_pose(goal)
        pictures = bench.pictures()
        nearest = offs[int(np.argmin(np.abs(np.array(goals) - goal).max(axis=1)))] if goals else np.zeros(3)
        seen = None
        for off in (nearest, *_ASTRAY_M):
            seen = ends_in(pictures, read, bench.guard.model, bench.base, bench.view, off_m=off)
            if seen is not None:
                break
        if seen is None:
            missed.append(f"pose {number}: the fingertips were not found")
            continue
        goals.append(goal)
        encoders.append(bench.encoder_deg(read))
        ends.append(seen)
        offs.append(_off_m(bench, read, seen))
    return SeenTips(
        np.array(goals).reshape(-1, n), np.array(encoders).reshape(-1, n), np.array(ends).reshape(-1, 2, 2)
    ), missed


def _off_m(bench: ArmBench, read_deg: FloatArray, ends_px: FloatArray) -> FloatArray:
    """How far the tip is seen from where it is believed to be, at its height, (3,), cell frame."""
    middle = bench.base.to_cell(seen_tips_m(tool_pose(read_deg, bench.guard.model), bench.guard.model)).mean(axis=0)
    x, z = bench.view.pixel_to_table_xz_m(ends_px.mean(axis=0), float(middle[1])) - middle[[0, 2]]
    return np.array([x, 0.0, z])
