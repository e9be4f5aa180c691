"""Picks tried in many copies of the nominal scene at once: down, close, up, and what came of each.

A try begins near the block, on the straight move that the arm is to make, and ends over it with the jaws closed. How
an arm errs is laid over its set-points: what is left of its sag once it was corrected, zeros that nobody sees, lag.
The block counts as picked when it rose with the tool; there is no contact to look at and no truth of any desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runner.config import Config
from runner.geometry import Obstacles
from runner.kinematics.fk import tool_pose
from runner.kinematics.gripper import gripper_of, max_opening_mm, opening_mm, theta_from_value_rad
from runner.kinematics.model import ArmModel, FloatArray
from runner.kinematics.motion import RateLimits, set_points
from runner.rehearse.doubt import Disturbances
from runner.twin.many import Many

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

STEPS = 2  # of physics for which a set-point stands
QUICK_PERCENT = 40  # a slower arm is tried at this speed: what decides is where things meet, not how slowly
AWAY_XZ_M = (0.0, -0.43)  # behind the arm: where a box stands that nobody saw
NEAR_M = 0.030  # a try begins this far before its end
_SETTLE_S, _HOLD_S = 0.15, 0.25
_JAW_STROKE_S = 1.2
_SQUEEZE_S = 0.3  # from the jaws' goal to the lift
_TURN_S = 0.3  # in which an arm that turns back goes through its dead band
_SOON = 0.8  # of a lag that is left after a period in which the arm waits
_RISEN = 0.6  # of the tool's own rise: the block came along


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What came of the tries, one row each."""

    picked: BoolArray  # (n,)
    margin_mm: FloatArray  # (n,): room that was left beside the block between the open jaws; below 0: they met it
    pushed_mm: FloatArray  # (n,): how far the block was pushed before the jaws closed
    tip_mm: FloatArray  # (n, 2): the tool point less the block as it was before, x and z, cell frame, at the grasp
    opening_mm: FloatArray  # (n,): of the jaws at the end
    left_deg: float  # what the worst joint was left beside its goal, at two standard deviations
    motion_s: float

    def rows(self, which: BoolArray) -> Outcomes:
        """These tries."""
        return replace(self, **{name: getattr(self, name)[which] for name in _COLUMNS})

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """All tries of several parts."""
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        return cls(
            **columns,
            left_deg=max(part.left_deg for part in parts),
            motion_s=max(part.motion_s for part in parts),
        )


_COLUMNS = ("picked", "margin_mm", "pushed_mm", "tip_mm", "opening_mm")


def try_picks(
    many: Many,
    arm: ArmModel,
    paths_deg: Sequence[FloatArray],
    which: IntArray,
    off: Disturbances,
    obstacles: Obstacles,
    config: Config,
) -> Outcomes:
    """Carry out tries, one in each copy.

    Args:
        arm: as the planner has it: with the gripper where it was calibrated to sit, as in the scene.
        paths_deg: straight moves to the block, each (k, n_joints) from the approach pose to the grasp.
        which: (n,): the path of each try.
        off: of n rows.
        obstacles: with the block and the box as they were seen.

    Raises:
        PhysicsDiverged: a try's numbers can't be used.
    """
    base = many.scene.base
    gripper, period_s = gripper_of(arm), STEPS * many.dt_s
    near = [near_end(path, arm) for path in paths_deg]
    rates = _rates(arm, config)
    settling = round(_SETTLE_S / period_s)
    down = _padded([set_points(p[0], p[1:], rates, dt_s=period_s) for p in near], settling)
    up = _padded([set_points(p[-1], p[-2::-1], rates, dt_s=period_s) for p in near], round(_HOLD_S / period_s))
    first, error = np.stack([p[0] for p in near])[which], off.zero_deg + off.left_deg
    _set_up(many, first + error, off, obstacles)
    driver = _Driver(many, first, off)
    began = many.middle_m("block")

    jaws = np.full(many.n, gripper.theta_open_rad)
    for row in down[:-settling, which]:
        driver.step(row, error, jaws)
    for row in down[-settling:, which]:
        driver.step(row, error, jaws, waited=True)
    margin, met = _room_mm(many, arm, config.block.side_mm), many.middle_m("block")
    tool = tool_pose(np.degrees(many.joints_rad), arm)[:, :3, 3]

    goal = theta_from_value_rad(config.gripper.grip_value, gripper)
    stroke = (gripper.theta_open_rad - gripper.theta_closed_rad) / _JAW_STROKE_S * period_s
    closing = [*np.arange(gripper.theta_open_rad, goal, -stroke), *[goal] * round(_SQUEEZE_S / period_s)]
    for theta in closing:
        driver.step(down[-1, which], error, np.full(many.n, theta))

    low, jaws, turning = tool_pose(np.degrees(many.joints_rad), arm)[:, 2, 3], np.full(many.n, goal), _TURN_S / period_s
    for at, row in enumerate(up[:, which]):
        share = min(1.0, at / turning)
        driver.step(row, off.zero_deg + (1 - share) * off.left_deg + share * off.back_deg, jaws)
    many.check()
    rise = tool_pose(np.degrees(many.joints_rad), arm)[:, 2, 3] - low
    return Outcomes(
        picked=(many.middle_m("block") - began)[:, 2] > _RISEN * rise,
        margin_mm=margin,
        pushed_mm=np.linalg.norm((met - began)[:, :2], axis=1) * 1000.0,
        tip_mm=(base.to_cell(tool) - base.to_cell(began))[:, [0, 2]] * 1000.0,
        opening_mm=np.array([opening_mm(theta, gripper) for theta in many.jaws_rad]),
        left_deg=float((np.abs(off.left_deg.mean(axis=0)) + 2 * off.left_deg.std(axis=0)).max()),
        motion_s=(len(down) + len(closing) + len(up)) * period_s,
    )


def moves_s(path_deg: FloatArray, arm: ArmModel, config: Config) -> float:
    """How long the straight move to the block and back takes the arm, seconds."""
    rates, period_s = _rates(arm, config, at_least_percent=1), 0.02
    there = len(set_points(path_deg[0], path_deg[1:], rates, dt_s=period_s))
    return 2 * there * period_s


def _rates(arm: ArmModel, config: Config, at_least_percent: int = QUICK_PERCENT) -> RateLimits:
    servo = arm.data.servo
    assert servo is not None, "a scene was built from it"
    return RateLimits.even(
        arm.n_joints,
        speed_deg_s=servo.max_speed_deg_s * max(config.arm.speed_percent, at_least_percent) / 100.0,
        acceleration_deg_s2=servo.max_acceleration_deg_s2,
    )


def _set_up(many: Many, joints_deg: FloatArray, off: Disturbances, obstacles: Obstacles) -> None:
    block, box = obstacles.block, obstacles.box
    assert block is not None
    many.rub(pads=off.pad_friction, table=off.table_friction)
    many.begin(np.radians(joints_deg), gripper_of(many.scene.arm).theta_open_rad)
    many.stand("block", block.xz_m + off.block_m, block.yaw_deg + off.block_deg, block.side_mm / 2000.0)
    if box is None:
        many.stand("box", np.tile(AWAY_XZ_M, (many.n, 1)), np.zeros(many.n), 0.0)
    else:
        many.stand("box", box.xz_m + off.box_m, box.yaw_deg + off.box_deg, 0.0)
    many.ready()


def near_end(path_deg: FloatArray, arm: ArmModel) -> FloatArray:
    """The last part of a straight move, from the waypoint that is at least `NEAR_M` before its end."""
    points = tool_pose(path_deg, arm)[:, :3, 3]
    far = np.flatnonzero(np.linalg.norm(points - points[-1], axis=1) >= NEAR_M)
    return np.asarray(path_deg[far[-1] if len(far) else 0 :])


class _Driver:
    """Set-points to servo targets, with the lag of each copy's joints."""

    def __init__(self, many: Many, start_deg: FloatArray, off: Disturbances) -> None:
        servo = many.scene.arm.data.servo
        assert servo is not None, "a scene was built from it"
        self._many, self._lag_deg, self._before = many, off.lag_deg, start_deg
        self._keep = 1.0 - STEPS * many.dt_s / off.lag_s
        self._behind = np.zeros_like(start_deg)
        self._lead_s = (np.array(servo.kv) + servo.damping) / np.array(servo.kp)
        self._period_s = STEPS * many.dt_s

    def step(self, set_deg: FloatArray, error_deg: FloatArray, jaws_rad: FloatArray, *, waited: bool = False) -> None:
        """One period on; `waited`: what the arm takes to come to rest and be corrected passes at once."""
        moved = set_deg - self._before
        keep = _SOON if waited else self._keep
        self._behind = np.clip(self._behind + moved, -self._lag_deg, self._lag_deg) * keep
        driven = set_deg - self._behind + error_deg + moved / self._period_s * self._lead_s
        self._before = set_deg
        self._many.step(np.radians(driven), jaws_rad, STEPS)


def _padded(ways: list[FloatArray], still: int) -> FloatArray:
    """Ways of set-points, all as long as the longest and `still` periods more, (time, way, n_joints)."""
    longest = max(len(way) for way in ways) + still
    return np.stack([np.vstack([way, np.tile(way[-1], (longest - len(way), 1))]) for way in ways], axis=1)


def _room_mm(many: Many, arm: ArmModel, side_mm: float) -> FloatArray:
    """Between the open jaws, beside the block on its narrower side; below 0 where it reaches into a jaw."""
    T = tool_pose(np.degrees(many.joints_rad), arm)
    jaws = T[:, :3, 0]
    across = np.abs(np.einsum("ij,ijk->ik", jaws, many.turn("block"))).sum(axis=1) * side_mm / 2.0
    beside = np.abs(((many.middle_m("block") - T[:, :3, 3]) * jaws).sum(axis=1)) * 1000.0
    return np.asarray(max_opening_mm(gripper_of(arm)) / 2.0 - across - beside)
