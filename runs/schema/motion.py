"""What was planned and moved: lookups, guard answers, moves, gripper actions.

Keys of the field log keep their names and meaning, including `x_residual_m` and `interp_xz_m`.
"""

from __future__ import annotations

from typing import Any, Literal

from runs.schema.base import Record
from runs.schema.geometry import Joints, Point, TablePoint
from runs.schema.phase import Phase


class LimitViolation(Record):
    """A joint outside what it may have: `axis` as j0…j5, its value and limits in degrees."""

    axis: str
    value: float
    lo: float
    hi: float
    kind: Literal["hard", "safe_max"]


class NearestPoint(Record):
    """A taught pair of an approach file, or a row of the reach table."""

    detect_xz_m: TablePoint | None = None
    j0_cmd: float | None = None
    ee_xz_m: TablePoint | None = None
    ee_y_m: float | None = None
    joints: Joints | None = None


class Refined(Record):
    """The local solution that starts from a row and is what is commanded."""

    status: str
    target_m: Point
    reached_m: Point
    residual_mm: float
    joints: Joints
    steps: int
    heading_deg: float | None = None
    tilt_deg: float | None = None


class Skipped(Record):
    """A row or posture that was tried before the one chosen, and what spoke against it."""

    pose_id: str
    reason: str


class LookupRecord(Record):
    """One lookup, from what was asked for to what was commanded."""

    label: str
    phase: Phase
    source_file: str
    pose_id: str | None
    target_xz_m: TablePoint
    j0: float | None
    method: str
    x_residual_m: float | None
    z_residual_m: float | None
    interp_xz_m: TablePoint | None
    joint_limit_ok: bool
    joint_limit_violations: tuple[LimitViolation, ...] = ()
    target_angles: Joints | None
    base_angles: Joints | None
    nearest_pts: tuple[NearestPoint, ...] = ()
    interp_t: float | None = None
    interp_seg_idx: int | None = None
    ee_y_m_selected: float | None = None
    max_dj_deg: float | None = None
    joint_tol_deg_used: float | None = None
    guard_pass: bool
    guard_reason: str | None
    # beyond the field log
    at: str | None = None
    attempt: int | None = None
    requested_xz_m: TablePoint | None = None
    total_residual_m: float | None = None
    dist_m: float | None = None
    used_angles: Joints | None = None
    ee_y_band_m: tuple[float, float] | None = None
    selected_idx: int | None = None
    ref_joints_used: Joints | None = None
    abort_reason: str | None = None
    candidates_left: dict[str, int] | None = None
    refined: Refined | None = None
    skipped: tuple[Skipped, ...] = ()


class GuardRecord(Record):
    """One answer of the guard: what was asked, which rule decided, by how much."""

    label: str
    allowed: bool
    rule: str | None = None
    message: str | None = None
    value: float | None = None
    limit: float | None = None
    clearance_mm: float | None = None
    at: str | None = None


class MoveRecord(Record):
    """One motion: what was commanded, what was read back before and after."""

    label: str
    target_angles: Joints
    reach_tol_deg: float
    pre_actual: Joints | None
    pre_max_delta_deg: float | None
    dry_run: bool
    arrived: bool
    retried: bool
    post_actual: Joints | None
    post_max_delta_deg: float | None
    # beyond the field log
    at: str | None = None
    attempt: int | None = None
    commanded: Joints | None = None
    waypoints: int | None = None
    speed_percent: int | None = None
    duration_s: float | None = None
    settle_s: float | None = None
    corrective_deg: Joints | None = None
    rejected_readings: int | None = None
    path_clearance_mm: float | None = None
    tcp_commanded_m: Point | None = None
    tcp_read_back_m: Point | None = None
    via: tuple[Joints, ...] = ()  # commanded on the way to the last, as sent; each a synchronised joint move
    line_off_mm: float | None = None  # how far those moves leave the straight line of the tool that they follow


class GripperTry(Record):
    """One sending of a gripper command."""

    attempt: int
    daemon_return: Any = None


class GripReading(Record):
    """What the gripper says of itself: its value 0…100 and the opening that goes with it."""

    value: float | None
    opening_mm: float | None
    holding: bool | None
    reason: str
    at: str | None = None


class GripperRecord(Record):
    """One gripper action with the waits around it and what was read back."""

    stage: str
    action: Literal["open", "close", "check"]
    state: int | None = None
    sleep_sec: float | None = None
    dry_run: bool = False
    grip_method: Literal["state", "value"] | None = None
    grip_value: int | None = None
    pre_sleep_sec: float | None = None
    daemon_return: Any = None
    attempt_count: int | None = None
    attempts: tuple[GripperTry, ...] | None = None
    at: str | None = None
    reading: GripReading | None = None


class HealthRecord(Record):
    """What the arm said of its own state; None where its firmware does not say."""

    stage: str
    powered: bool
    error_code: int
    servos_enabled: bool | None = None
    temperatures_c: tuple[float, ...] | None = None
    voltages_v: tuple[float, ...] | None = None
    reboot_count: int | None = None
    firmware: str | None = None
    at: str | None = None
