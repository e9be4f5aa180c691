"""The arm and its gripper."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.settings.section import Range, Section, Vec3


class ArmSettings(Section):
    """The arm: which one, how it stands, how it moves."""

    kind: Literal["twin", "mycobot-tcp", "mycobot-serial"] = Field(
        "twin",
        description="twin: the digital twin, in virtual time; mycobot-tcp, mycobot-serial: an arm, or twin serve",
    )
    address: str = Field("", description="of an arm: HOST:PORT for mycobot-tcp, a device path for mycobot-serial")
    baud: int = Field(0, ge=0, description="of the serial port; 0: 1000000 on the arm's own Pi, else 115200")
    connect_s: float = Field(3.0, gt=0, description="a connection that takes longer has failed")
    answer_s: float = Field(0.6, gt=0, le=10, description="an answer that takes longer is given up")
    model: str = Field(
        "mecharm270", description="name of a shipped arm, or an arm file: in this folder, or its whole path"
    )
    base_shift_m: Vec3 = Field((0.0, 0.0, 0.0), description="the base in the cell frame: x right, y up, z forward")
    base_yaw_deg: float = Field(0.0, description="the base's turn; positive as j0")
    tcp_mm: Vec3 = Field((0.0, 0.0, 100.3), description="tool centre point in the last link's frame")
    tool_roll_deg: float = Field(30.0, description="the gripper's roll on the flange; 30: jaws level at j5 = -30")
    tool_shift_mm: Vec3 = Field(
        (0.0, 0.0, 0.0), description="the gripper beside its place, last link's frame; zeros: as calibrated"
    )
    joint_zero_deg: tuple[float, float, float, float, float, float] = Field(
        (0.0,) * 6, description="where a joint is less what its encoder says; zeros: as calibrated"
    )
    home_deg: tuple[float, float, float, float, float, float] = Field(
        (0.0, 0.0, 0.0, 0.0, 0.0, -30.0), description="where the arm rests"
    )
    park_deg: tuple[float, float, float, float, float, float] = Field(
        (0.0, -45.0, 45.0, 0.0, 60.0, -30.0), description="folded: where the arm is left when nobody works with it"
    )
    speed_percent: int = Field(20, ge=1, le=100, description="speed of every move")
    limit_margin_deg: float = Field(1.0, ge=0, description="kept inside the arm file's limits")
    j1_safe_max_deg: float = Field(88.0, ge=-75, le=120, description="highest j1 that is ever commanded")
    send_wait_s: float = Field(1.0, ge=0, description="wait after sending, before the first reading")
    tol_approach_deg: float = Field(2.0, gt=0, description="arrived, for stage3 and stage6_lift")
    tol_pick_place_deg: float = Field(3.0, gt=0, description="arrived, for stage4 and stage7 to stage10_lift_back")
    tol_home_deg: float = Field(2.5, gt=0, description="arrived, at home")
    still_deg: float = Field(0.1, gt=0, description="three readings that differ by less are a still arm")
    reading_interval_s: float = Field(0.2, gt=0, description="between two readings of a moving arm")
    corrective_min_deg: float = Field(0.25, gt=0, description="a residual above this gets one corrective move")
    stall_s: float = Field(4.0, gt=0, description="no progress for this long is a stall")
    deadline_s: float = Field(25.0, gt=0, description="a move that takes longer is a fault")
    max_step_deg: float = Field(180.0, gt=0, le=360, description="largest change of one joint in one move")
    reading_margin_deg: float = Field(5.0, ge=0, description="a reading this far outside a limit is rejected")
    rest_above_c: float = Field(55.0, gt=0, description="a servo hotter than this is rested, parked, before a trial")
    rest_until_c: float = Field(50.0, gt=0, description="until it is down to this")
    rest_max_s: float = Field(900.0, ge=0, description="longest such rest; then the trial is refused")
    refuse_above_c: float = Field(68.0, gt=0, description="no trial with a servo hotter than this")
    supply_v: Range = Field((10.8, 13.2), description="what servos may read of their supply: from, to")


class GripperSettings(Section):
    """The gripper: how it is closed, opened and read."""

    grip_value: int = Field(20, ge=0, le=100, description="closing is by value: 0 shut, 100 open")
    wait_s: float = Field(2.0, ge=0, description="wait after opening or closing")
    pre_release_wait_s: float = Field(2.0, ge=0, description="wait before the release")
    release_count: int = Field(2, ge=1, description="how often the release is sent")
    type_id: Literal[1, 3, 4] = Field(1, description="on the wire: 1 adaptive, 3 parallel, 4 flexible")
    speed_percent: int = Field(50, ge=1, le=100, description="of the jaws of a real gripper")
    held_margin_value: float = Field(3.0, gt=0, description="a value this far above the commanded one may be a hold")
    held_width_tolerance_mm: float = Field(8.0, gt=0, description="jaw opening against the block's width")
