"""The gripper's four-bar: from its joint to the jaws' opening, to where the fingertips are, and back.

Reckons with the figures of an arm file's `[gripper]`; moves nothing and knows nothing of forces. Lengths are
millimetres, the gripper's own joint `theta` is radians, its value 0 (closed) … 100 (open) is linear in theta.
"""

from __future__ import annotations

from math import acos, atan2, cos, hypot, radians, sin

import numpy as np

from runner.kinematics.errors import NoGripper, OutsideOpening
from runner.kinematics.model import ArmModel, FloatArray, GripperData

_PRINTED_MM = 0.05  # the stops as they are printed, to a tenth, are still openings


def gripper_of(arm: ArmModel) -> GripperData:
    """The arm's gripper.

    Raises:
        NoGripper: the arm file has none.
    """
    if arm.data.gripper is None:
        raise NoGripper(arm.name)
    return arm.data.gripper


def opening_mm(theta_rad: float, gripper: GripperData) -> float:
    """Gap between the fingers' inner faces."""
    g = gripper
    return 2.0 * (g.pivot_x_mm + g.link_x_mm * cos(theta_rad) + g.link_z_mm * sin(theta_rad) - g.inner_face_mm)


def tip_z_mm(theta_rad: float, gripper: GripperData) -> float:
    """How far the fingertips stand in front of the last link's frame; they advance while the jaws close."""
    return outer_pivot_mm(theta_rad, gripper)[1] + gripper.tip_z_mm


def outer_pivot_mm(theta_rad: float, gripper: GripperData) -> tuple[float, float]:
    """Where a finger hangs on its bars: (beside the axis, in front of the last link's frame)."""
    g = gripper
    x = g.pivot_x_mm + g.link_x_mm * cos(theta_rad) + g.link_z_mm * sin(theta_rad)
    return x, g.base_z_mm + g.pivot_z_mm + g.link_z_mm * cos(theta_rad) - g.link_x_mm * sin(theta_rad)


def max_opening_mm(gripper: GripperData) -> float:
    """The gap at the open stop."""
    return opening_mm(gripper.theta_open_rad, gripper)


def theta_from_opening_rad(opening: float, gripper: GripperData) -> float:
    """The joint angle with that gap, mm.

    Raises:
        OutsideOpening: wider than the open stop or narrower than the closed one.
    """
    g = gripper
    narrowest, widest = opening_mm(g.theta_closed_rad, g), max_opening_mm(g)
    if not narrowest - _PRINTED_MM <= opening <= widest + _PRINTED_MM:
        raise OutsideOpening(opening, narrowest, widest)
    # link_x cos + link_z sin = length · cos(theta - lean); the stops lie on the side of theta < lean
    length, lean = hypot(g.link_x_mm, g.link_z_mm), atan2(g.link_z_mm, g.link_x_mm)
    wanted = (opening / 2.0 - g.pivot_x_mm + g.inner_face_mm) / length
    theta = lean - acos(min(1.0, wanted))
    return min(max(theta, g.theta_closed_rad), g.theta_open_rad)


def value_from_theta(theta_rad: float, gripper: GripperData) -> float:
    """The gripper's value, 0 at the closed stop and 100 at the open one."""
    g = gripper
    return 100.0 * (theta_rad - g.theta_closed_rad) / (g.theta_open_rad - g.theta_closed_rad)


def theta_from_value_rad(value: float, gripper: GripperData) -> float:
    """The joint angle at a gripper value."""
    g = gripper
    return g.theta_closed_rad + value / 100.0 * (g.theta_open_rad - g.theta_closed_rad)


def opening_from_value_mm(value: float, gripper: GripperData) -> float:
    """The gap at a gripper value."""
    return opening_mm(theta_from_value_rad(value, gripper), gripper)


def tip_past_tcp_mm(theta_rad: float, arm: ArmModel) -> float:
    """How far the fingertips reach past the tool point, along the tool; negative where they end before it."""
    return tip_z_mm(theta_rad, gripper_of(arm)) - float(arm.T_link_tcp[2, 3] - arm.hand_shift_m[2]) * 1000.0


def seen_tips_m(T_base_tcp: FloatArray, arm: ArmModel) -> FloatArray:
    """What a camera above sees of the open fingertips: the ends of the pads' upper edges, shape (..., 2, 3).

    Args:
        T_base_tcp: the tool's frame, (..., 4, 4), base frame, z up.

    Returns base frame, metres: the finger on the side of the tool's x first. Their middle is the tip as it is found.
    """
    g = gripper_of(arm)
    jaws, across, along = T_base_tcp[..., :3, 0], T_base_tcp[..., :3, 1], T_base_tcp[..., :3, 2]
    up = np.where(across[..., 2:] >= 0, across, -across)
    middle = T_base_tcp[..., :3, 3] + (tip_past_tcp_mm(g.theta_open_rad, arm) * along + g.pad_mm[1] / 2 * up) / 1000.0
    half = (max_opening_mm(g) + g.pad_mm[0]) / 2000.0 * jaws
    return np.stack((middle + half, middle - half), axis=-2)


def tip_below_tcp_m(tilt_deg: float, opening: float, arm: ArmModel) -> float:
    """How far the lowest corner of the pads is below the tool point, metres, jaws level.

    Args:
        tilt_deg: of the tool below the level; 90 points straight down.
        opening: gap between the jaws, mm. The tips reach farther the more they are closed.
    """
    g = gripper_of(arm)
    reach_mm = tip_past_tcp_mm(theta_from_opening_rad(opening, g), arm)
    t = radians(tilt_deg)
    return (reach_mm * sin(t) + g.pad_mm[1] / 2.0 * abs(cos(t))) / 1000.0
