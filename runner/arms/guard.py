"""The guard: an arm round an arm that lets nothing through that was not checked. It refuses; it never clips.

Checked are: numbers (six of them, finite), hard limits, the safe maximum of j1, the height floor, the largest joint
step, the speed, and the whole path against table, box, mast and the arm itself, with whatever the gripper holds. A
refusal says which rule, by how much, and what to do. Reading, stopping and the gripper pass through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.arms.errors import Refused
from runner.arms.protocol import Arm, ArmHealth
from runner.geometry import Clearance, Obstacles, clearances, first_broken, margin_mm, swept
from runner.kinematics.errors import NoShells
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import ArmModel, FloatArray
from runner.settings.arm import ArmSettings
from runner.settings.moves import GuardSettings, TableSettings
from runs.latch import Stop
from runs.schema.motion import GuardRecord, LimitViolation


@dataclass(frozen=True, slots=True)
class GuardRules:
    """The limits that the guard holds commands against; angles degrees, heights metres."""

    min_deg: tuple[float, ...]
    max_deg: tuple[float, ...]
    j1_safe_max_deg: float
    floor_y_m: float
    max_step_deg: float
    refine_mm: float
    margins: GuardSettings

    @classmethod
    def of(cls, model: ArmModel, arm: ArmSettings, table: TableSettings, margins: GuardSettings) -> GuardRules:
        """The rules of a cell: the arm file's limits less the margin, and the settings.

        Raises:
            NoShells: the arm file has no collision shapes, and a guard that sees nothing guards nothing.
        """
        if not model.data.shape:
            raise NoShells(model.name)
        return cls(
            min_deg=tuple(float(v) + arm.limit_margin_deg for v in model.min_deg),
            max_deg=tuple(float(v) - arm.limit_margin_deg for v in model.max_deg),
            j1_safe_max_deg=arm.j1_safe_max_deg,
            floor_y_m=table.pick_band_y_m[0],
            max_step_deg=arm.max_step_deg,
            refine_mm=table.refine_mm,
            margins=margins,
        )

    def violations(self, angles_deg: FloatArray) -> tuple[LimitViolation, ...]:
        """Every joint of one pose outside what it may have."""
        found = []
        for i, value in enumerate(angles_deg):
            lo, hi = self.min_deg[i], self.max_deg[i]
            if not lo <= value <= hi:
                found.append(LimitViolation(axis=f"j{i}", value=float(value), lo=lo, hi=hi, kind="hard"))
            elif i == 1 and value > self.j1_safe_max_deg:
                found.append(
                    LimitViolation(axis="j1", value=float(value), lo=lo, hi=self.j1_safe_max_deg, kind="safe_max")
                )
        return tuple(found)


class GuardedArm:
    """An `Arm` that sends only what passed. `obstacles` is kept true by whoever moves things."""

    def __init__(
        self, arm: Arm, base: BaseInCell, rules: GuardRules, *, on_answer: Callable[[GuardRecord], None] | None = None
    ) -> None:
        self._arm, self._base, self.rules = arm, base, rules
        self.obstacles = Obstacles()
        self.on_answer = on_answer

    @property
    def model(self) -> ArmModel:
        """The arm's figures."""
        return self._arm.model

    def read_angles_deg(self) -> FloatArray:
        """See `Arm`."""
        return self._arm.read_angles_deg()

    def send_path(self, waypoints_deg: FloatArray, *, speed_percent: int) -> None:
        """Check the path from where the arm is now, then send it.

        Raises:
            Refused: the first rule that says no; nothing was sent.
        """
        start = self._arm.read_angles_deg()
        path = np.atleast_2d(waypoints_deg)
        self.send_compensated("send_path", path, np.zeros(path.shape[-1]), speed_percent=speed_percent, start_deg=start)

    def send_compensated(
        self, label: str, path_deg: FloatArray, offset_deg: FloatArray, *, speed_percent: int, start_deg: FloatArray
    ) -> float | None:
        """Check a path and send it with a known residual taken off; returns the smallest clearance in mm.

        Args:
            path_deg: where the arm is meant to get to, shape (k, n_joints): what is held against the surroundings.
            offset_deg: read back minus commanded, as measured just before, shape (n_joints,); `path - offset` is
                commanded and held against limits.
            start_deg: where the arm is read to be, shape (n_joints,).

        Raises:
            Refused: the first rule that says no; nothing was sent.
        """
        clearance_mm = self.check(label, path_deg, offset_deg, start_deg=start_deg, speed_percent=speed_percent)
        self._arm.send_path(path_deg - offset_deg, speed_percent=speed_percent)
        return clearance_mm

    def check(
        self,
        label: str,
        path_deg: FloatArray,
        offset_deg: FloatArray,
        *,
        start_deg: FloatArray,
        speed_percent: int = 1,
    ) -> float | None:
        """All rules on a path, without sending it; returns the smallest clearance in mm, None where nothing is near.

        Raises:
            Refused: the first rule that says no.
        """
        try:
            self._check_numbers(path_deg, offset_deg, start_deg, speed_percent)
            self._check_limits(path_deg - offset_deg)
            self._check_steps(np.vstack((start_deg, path_deg)))
            self._check_floor(path_deg)
            clearance_mm = self._check_path(np.vstack((start_deg, path_deg)))
        except Refused as refusal:
            self._answer_no(label, refusal)
            raise
        self._answer(GuardRecord(label=label, allowed=True, clearance_mm=clearance_mm))
        return clearance_mm

    def check_residual(self, label: str, residual_mm: float) -> None:
        """A refined pose must meet its target.

        Raises:
            Refused: it misses by more than the settings allow, all axes together.
        """
        if not residual_mm <= self.rules.refine_mm:
            refusal = Refused(
                "residual",
                f"{label}: the pose misses its target by {residual_mm:.2f} mm (allowed {self.rules.refine_mm:.2f} mm)",
                value=residual_mm,
                limit=self.rules.refine_mm,
                next_step="move the object nearer the middle of the arm's reach",
            )
            self._answer_no(label, refusal)
            raise refusal

    def stop(self) -> None:
        """See `Arm`."""
        self._arm.stop()

    def send_gripper_value(self, value: int) -> None:
        """See `Arm`.

        Raises:
            Refused: a value outside 0…100; nothing was sent.
        """
        if not 0 <= value <= 100:
            raise Refused(
                "gripper value", f"gripper value {value} is outside 0…100", value=float(value), limit=100.0,
                next_step="set gripper.grip_value",
            )  # fmt: skip
        self._arm.send_gripper_value(value)

    def send_gripper_open(self) -> None:
        """See `Arm`."""
        self._arm.send_gripper_open()

    def read_gripper_value(self) -> float | None:
        """See `Arm`."""
        return self._arm.read_gripper_value()

    def health(self) -> ArmHealth:
        """See `Arm`."""
        return self._arm.health()

    def close(self) -> None:
        """See `Arm`."""
        self._arm.close()

    def _answer(self, record: GuardRecord) -> None:
        if self.on_answer is not None:
            self.on_answer(record)

    def _answer_no(self, label: str, refusal: Refused) -> None:
        self._answer(
            GuardRecord(
                label=label,
                allowed=False,
                rule=refusal.rule,
                message=str(refusal),
                value=refusal.value if np.isfinite(refusal.value) else None,
                limit=refusal.limit,
            )
        )

    def _check_numbers(
        self, path_deg: FloatArray, offset_deg: FloatArray, start_deg: FloatArray, speed_percent: int
    ) -> None:
        n = self.model.n_joints
        if (
            path_deg.ndim != 2
            or path_deg.shape[1] != n
            or offset_deg.shape != (n,)
            or start_deg.shape != (n,)
            or not len(path_deg)
        ):
            raise Refused(
                "joints", f"a path of shape {path_deg.shape} for an arm of {n} joints",
                value=float(path_deg.shape[-1]), limit=float(n), next_step="give one angle a joint",
            )  # fmt: skip
        if not all(np.isfinite(angles).all() for angles in (path_deg, offset_deg, start_deg)):
            raise Refused(
                "finite", "an angle is not a finite number", value=float("nan"), limit=0.0,
                next_step="look for a detection or a setting that is not a number",
            )  # fmt: skip
        if not 1 <= speed_percent <= 100:
            raise Refused(
                "speed", f"speed {speed_percent} % is outside 1…100 %", value=float(speed_percent), limit=100.0,
                next_step="set arm.speed_percent",
            )  # fmt: skip
        allowed_deg = self.rules.margins.max_offset_deg
        if np.abs(offset_deg).max() > allowed_deg:
            worst = float(np.abs(offset_deg).max())
            raise Refused(
                "offset", f"a correction of {worst:.1f}° is more than an arm sags (allowed {allowed_deg:g}°)",
                value=worst, limit=allowed_deg,
                next_step="look at the arm: a joint has slipped or something holds it",
            )  # fmt: skip

    def _check_limits(self, commands_deg: FloatArray) -> None:
        for pose in commands_deg:
            for found in self.rules.violations(pose):
                limit = found.hi if found.value > found.hi else found.lo
                words = "its safe maximum" if found.kind == "safe_max" else f"its limits {found.lo:g}…{found.hi:g}°"
                raise Refused(
                    f"{found.kind} limit of {found.axis}",
                    f"{found.axis} at {found.value:.2f}° is outside {words} by {abs(found.value - limit):.2f}°",
                    value=found.value, limit=limit, next_step="choose another place or posture",
                )  # fmt: skip

    def _check_steps(self, poses_deg: FloatArray) -> None:
        steps = np.abs(np.diff(poses_deg, axis=0))
        worst = float(steps.max())
        if not worst <= self.rules.max_step_deg:
            joint = int(np.unravel_index(int(steps.argmax()), steps.shape)[1])
            raise Refused(
                "largest joint step", f"j{joint} would turn by {worst:.1f}° in one step",
                value=worst, limit=self.rules.max_step_deg, next_step="put poses between, or raise arm.max_step_deg",
            )  # fmt: skip

    def _check_floor(self, path_deg: FloatArray) -> None:
        lowest = float(tool_points_cell_m(path_deg, self.model, self._base)[:, 1].min())
        if not lowest >= self.rules.floor_y_m:
            raise Refused(
                "height floor",
                f"the tool point would go down to {lowest * 1000:.1f} mm (floor {self.rules.floor_y_m * 1000:.1f} mm)",
                value=lowest, limit=self.rules.floor_y_m, next_step="aim higher: table.grasp_y_m",
            )  # fmt: skip

    def _check_path(self, poses_deg: FloatArray) -> float | None:
        arm, margins = (self.model, self._base, self.obstacles), self.rules.margins
        found = swept(poses_deg, *arm, step_deg=margins.sweep_step_deg)
        broken = first_broken(found, margins, standing=clearances(poses_deg[:1], *arm))
        if broken is not None:
            allowed = margin_mm(broken.against, margins)
            raise Refused(
                f"path against {broken.against}",
                _told(broken, allowed),
                value=broken.mm, limit=allowed, next_step="move the block, the box or whatever is in the way",
            )  # fmt: skip
        return min((c.mm for c in found), default=None)


def refuse_latched(stop: Stop | None) -> None:
    """Nothing begins while a stop is latched.

    Raises:
        Refused: one is.
    """
    if stop is not None:
        raise Refused(
            "latched stop",
            f"a stop is latched: {stop.why} (by {stop.by}, {stop.at})",
            value=1.0,
            limit=0.0,
            next_step="look at the cell, then clear it: trialcell stop --clear",
        )


def _told(clearance: Clearance, allowed_mm: float) -> str:
    how = f"{-clearance.mm:.1f} mm into" if clearance.mm < 0 else f"within {clearance.mm:.1f} mm of"
    whom = "itself" if clearance.against == "arm" else f"the {clearance.against}"
    return f"on its way the {clearance.what} would come {how} {whom} (allowed: {allowed_mm:.1f} mm)"
