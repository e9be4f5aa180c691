"""`cell.toml` to frozen settings: every setting of a cell, each with its unit in its name and a word on what it is for.

Reads, checks and writes settings; makes nothing from them (that is `rig.py`). Unknown keys are refused with a
suggestion, so that no setting is silently ignored.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from runs.errors import Family, TrialcellError

CELL_FILE = "cell.toml"
Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
BLOCK_SIDE_MAX_MM = 43.0
JAWS_OPEN_MM = 44.6


def _upwards(pair: Vec2) -> Vec2:
    lo, hi = pair
    if not lo < hi:
        raise ValueError(f"it must run upwards, and {lo} is not below {hi}")
    return pair


def _between_the_jaws(side_mm: float) -> float:
    if side_mm > BLOCK_SIDE_MAX_MM:
        raise ValueError(f"a block may be at most {BLOCK_SIDE_MAX_MM:g} mm wide, for the jaws open {JAWS_OPEN_MM:g} mm")
    return side_mm


Range = Annotated[Vec2, AfterValidator(_upwards)]
"""From, to: two numbers that run upwards."""
SidePx = Annotated[int, Field(ge=16, le=16_384)]
"""A side of a picture that a camera can deliver."""


class ConfigError(TrialcellError):
    """A setting that can't be used."""

    family: ClassVar[Family] = "usage"


class UnknownSetting(ConfigError):
    """A key that no setting has."""

    def __init__(self, key: str, known: Iterable[str], where: str) -> None:
        self.key, self.where = key, where
        near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
        super().__init__(
            f"{where}: there is no setting {key!r}",
            next_step=f"did you mean {near[0]!r}?" if near else "see the comments in cell.toml for all settings",
        )


class BadSetting(ConfigError):
    """A setting with a value that it can't have."""

    def __init__(self, key: str, why: str, where: str) -> None:
        self.key, self.why, self.where = key, why, where
        super().__init__(f"{where}: {key}: {why}")


class CellUnreadable(ConfigError):
    """A cell's settings file that can't be read or is not TOML."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"can't read {path}: {why}", next_step="mend the file, or move it away to get the defaults")


class Section(BaseModel):
    """Base of all sections."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False)


class CellSettings(Section):
    """The cell itself."""

    id: str = Field("desk", min_length=1, description="name of this cell; stands in every run log")


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


class CameraSettings(Section):
    """The camera above the table."""

    kind: Literal["auto", "twin", "folder", "opencv"] = Field("auto", description="auto: the twin's with the twin arm")
    source: str = Field("", description="folder or video path; camera name, device path or index")
    size_px: tuple[SidePx, SidePx] = Field((1280, 720), description="width and height that the camera must deliver")
    captures: int = Field(3, ge=1, le=15, description="captures per detection")
    settle_s: float = Field(1.0, ge=0, description="wait before pictures, so that neither arm nor table shakes")
    mast_xz_m: Vec2 = Field((0.0, 0.50), description="foot of the camera's mast, kept clear by every path")
    mast_radius_m: float = Field(0.015, gt=0, description="half the mast's thickness")


class BlockSettings(Section):
    """The block."""

    colour: str = Field("red", description="red, orange, yellow, green, blue or purple, or learned with detect --learn")
    side_mm: Annotated[float, AfterValidator(_between_the_jaws)] = Field(
        30.0, ge=20, description=f"edge length, at most {BLOCK_SIDE_MAX_MM:g}: the jaws open {JAWS_OPEN_MM:g}"
    )


class BoxSettings(Section):
    """The open white box."""

    wall_height_mm: float = Field(43.0, gt=0, description="height of the rim over the table")
    wall_mm: float = Field(3.0, gt=0, description="thickness of walls and floor")
    outside_mm: Vec2 = Field((120.0, 120.0), validate_default=True, description="outer width and depth")
    score_limit: float = Field(0.5, ge=0, le=1, description="a box that scores less is not believed")
    fallback: bool = Field(False, description="use fallback_xz_m when no box is believed (off: the trial is invalid)")
    fallback_xz_m: Vec2 = Field((-0.010, 0.108), description="where the box is then taken to be")

    @field_validator("outside_mm")
    @classmethod
    def _room_between_walls(cls, outside_mm: Vec2, info: ValidationInfo) -> Vec2:
        wall_mm = info.data.get("wall_mm")  # not there when it is wrong itself
        if wall_mm is not None and min(outside_mm) <= 2 * wall_mm + 1:
            raise ValueError(f"each side must be more than two walls of {wall_mm:g} mm and 1 mm between them")
        return outside_mm


class WorkspaceSettings(Section):
    """The part of the table where blocks and boxes count; what lies outside is clutter."""

    x_m: Range = Field((-0.40, 0.40), description="from, to")
    z_m: Range = Field((0.0, 0.44), description="from, to")


class TableSettings(Section):
    """Lookups in the reach table and the approach tables."""

    pick_band_y_m: Range = Field((0.010, 0.040), description="heights of rows for a pick: from, up to")
    place_band_y_m: Range = Field((0.070, 0.100), description="heights of rows for a place: from, up to")
    place_floor_y_m: float = Field(0.070, ge=0, description="no place pose below this")
    dist_max_m: float = Field(0.030, gt=0, description="nearest row may be at most this far in the x-z plane")
    joint_tol_deg: float = Field(15.0, gt=0, description="place: every joint within this of the approach pose")
    arc_x_residual_m: float = Field(0.020, gt=0, description="arc approach: limit of the residual in x")
    grasp_y_m: float = Field(
        0.022, gt=0, description="height of the tool point at the grasp; higher where tips need it"
    )
    release_y_m: float = Field(0.085, gt=0, description="height of the tool point at the release")
    tip_clearance_m: float = Field(0.006, ge=0, description="kept between fingertips and table at the grasp")
    lift_m: Vec2 = Field((0.030, 0.055), description="approach pose before the target, along the tool: place, pick")
    refine_mm: float = Field(1.0, gt=0, description="the commanded pose misses its target by at most this")
    tries: int = Field(24, ge=1, description="rows and postures tried before a target is refused")


class GuardSettings(Section):
    """Margins of the path check."""

    table_mm: float = Field(1.0, ge=0, description="least clearance of arm and gripper to the table")
    box_mm: float = Field(3.0, ge=0, description="least clearance to the box walls")
    mast_mm: float = Field(10.0, ge=0, description="least clearance to the camera's mast")
    self_mm: float = Field(2.0, ge=0, description="least clearance of the arm to itself")
    block_mm: float = Field(
        0.5,
        ge=0,
        description="least clearance to a block on the table; wide ones leave open jaws 1.3 mm a side at most",
    )
    max_offset_deg: float = Field(
        6.0, gt=0, description="what a command may differ from where the arm is meant to get to, to take off its sag"
    )
    sweep_step_deg: float = Field(2.0, gt=0, description="largest joint step between two poses that are checked")


class TrialSettings(Section):
    """The trial's course."""

    max_pick_attempts: int = Field(3, ge=1, le=10, description="tries at the block")
    found_held: Literal["start", "place", "ask"] = Field(
        "start",
        description="a block still held from a run that was cut off: start, set it down where it was taken; place, at "
        "found_place_xz_m; ask, leave it to a person",
    )
    found_place_xz_m: Vec2 = Field((0.16, 0.16), description="where such a block is then set down; must be free")
    swept_j0_deg: float = Field(85.0, gt=0, le=150, description="j0 swept aside for judging, retreat and second looks")
    corrections: bool = Field(True, description="apply the correction table to detected targets")
    learn: bool = Field(True, description="let good trials teach the correction table")
    dist_override_mm: float = Field(30.0, gt=0, description="a yes for a pick farther off than this is flagged")
    dist_override_is_no: bool = Field(
        False, description="such a yes also becomes a no; the judge's own word stays beside it"
    )


class CorrectionsSettings(Section):
    """What is learned from where the tip landed, and what of it is applied."""

    rule: Literal["robust", "field"] = Field(
        "robust",
        description="robust: a global fit and squares, live only once proved; field: each square's plain mean, at once",
    )
    use: Literal["live", "candidate"] = Field(
        "live", description="candidate: trials try what was proposed last, to prove it; live: what was promoted"
    )
    retry: bool = Field(
        True, description="after a pick judged no, the next attempt also takes off what the camera saw it miss by"
    )
    enough: int = Field(3, ge=1, description="rule field: from so many lessons on a square's mean is applied")
    cap_mm: float = Field(40.0, gt=0, description="no target is ever corrected by more than this")
    cap_square_mm: float = Field(8.0, gt=0, description="rule robust: a square adds at most this to the global fit")
    memory: int = Field(500, ge=10, description="rule robust: so many of the last lessons count")
    spread_mm: float = Field(
        3.0, gt=0, description="a block whose captures lie farther apart than this teaches nothing"
    )
    contradiction_mm: float = Field(
        15.0, gt=0, description="a measurement this far from what the live correction expects teaches nothing"
    )
    margin: float = Field(0.05, gt=0, lt=1, description="a proof must rule out that success falls by more than this")
    most_pairs: int = Field(400, ge=1, description="a candidate that so many pairs of trials don't settle makes way")


class JudgeSettings(Section):
    """Who judges, and how a model is asked. The key itself never stands here."""

    kind: Literal["measured", "claude", "compatible", "panel", "person"] = Field(
        "measured",
        description="measured: OpenCV and the gripper's reading; claude: the Messages API; compatible: a local "
        "OpenAI-compatible server; panel: measured and a model together; person: asks at the terminal",
    )
    language: Literal["en", "ja"] = Field("en", description="language of prompts and reasons")
    model: str = Field("claude-haiku-5-5", min_length=1, description="the model that looks at the pictures")
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        "medium", description="how hard Claude is asked to think; empty: say nothing, for servers that don't know it"
    )
    base_url: str = Field(
        "", description="http://HOST:PORT of the server, without /v1; empty: $ANTHROPIC_BASE_URL, else Anthropic's own"
    )
    key_variable: str = Field(
        "ANTHROPIC_API_KEY",
        min_length=1,
        description="environment variable that holds the key; it is never written down",
    )
    deadline_s: float = Field(
        60.0, gt=0, le=3600, description="a judgement ends within this, retries and waits included"
    )
    max_tokens: int = Field(4000, ge=256, le=20_000, description="most tokens of a reply, thinking included")
    crops: bool = Field(True, description="also send a closer look at the decisive place, before and after")
    threshold: float = Field(0.5, ge=0, le=1, description="a model's yes or no less sure than this counts as unsure")
    budget_usd: float = Field(0.50, ge=0, description="most dollars that one run may spend on judging")
    budget_calls: int = Field(40, ge=0, description="most calls to a model that one run may make")
    escalate_model: str = Field("", description="stronger model that a panel asks on disagreement; empty: none")
    panel_model: Literal["claude", "compatible"] = Field("claude", description="what a panel's model is asked through")
    repeats: int = Field(
        1, ge=1, le=7, description="how often a model is asked about a step, in other order and words; all must agree"
    )
    repeat_below: float = Field(
        1.0, ge=0, le=1, description="asked again only if the first answer is less sure than this"
    )
    reviewer: str = Field("", description="name of the person who judges; empty: $USER")
    second_look: Literal["", "measured", "claude", "compatible", "panel"] = Field(
        "measured", description="whose answer a person is shown after having judged blind; empty: nobody's"
    )

    @field_validator("base_url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        if any(sign in url for sign in "@?#"):
            raise ValueError("an address of a server only: what else it holds would be written into every log")
        return url


class TwinSettings(Section):
    """The digital twin: how the desk is set up and how imperfect it is. Never read by vision or the trial."""

    profile: Literal["perfect", "field", "uncalibrated"] = Field(
        "perfect", description="how imperfect arm and camera are"
    )
    desk_seed: int = Field(1, ge=0, description="uncalibrated: fixes what is off on this desk, in all its trials")
    seed: int = Field(1, ge=0, description="fixes block, box, yaws, light and noise")
    firmware: Literal["none", "new", "old"] = Field(
        "none", description="none: driven directly; new, old: by the driver of a real arm, through its firmware"
    )
    faults: tuple[str, ...] = Field(
        (), description="what goes wrong with arm and camera: NAME, at a random moment, or NAME@SECONDS"
    )
    servos_c: float = Field(35.0, ge=0, le=100, description="how warm the servos are at the start")
    slip_deg: tuple[float, float, float, float, float, float] = Field(
        (0.0,) * 6, description="joints that have slipped by so much, unseen by their encoders"
    )
    block_mass_g: float = Field(16.0, gt=0, description="mass of the block")
    pad_friction: float = Field(1.0, gt=0, description="friction of the finger pads")
    table_friction: float = Field(0.6, gt=0, description="friction of table and box")
    camera_position_m: Vec3 = Field((0.0, 0.90, 0.20), description="the camera in the cell frame")
    camera_look_at_m: Vec3 = Field((0.0, 0.0, 0.20), description="the point that it looks at")
    camera_fov_deg: float = Field(60.0, gt=10, lt=120, description="horizontal field of view")
    lens_k1: float = Field(-0.12, description="first radial distortion")
    lens_k2: float = Field(0.04, description="second radial distortion")
    light_height_m: float = Field(1.2, gt=0.3, description="the lamp over the table")
    clutter: bool = Field(True, description="a mug, a roll of tape and a cable at the desk's edges")
    timestep_s: float = Field(0.004, ge=0.0005, le=0.005, description="physics step")
    block_x_min_m: float = Field(0.05, description="random starts: block at x from here")
    block_r_m: Range = Field((0.15, 0.30), description="random starts: distance of the block from the base axis")
    box_x_max_m: float = Field(-0.05, description="random starts: box at x up to here")
    box_r_m: Range = Field((0.16, 0.33), description="random starts: distance of the box from the base axis")


class CalibrationSettings(Section):
    """The calibration board and where it lies for the plane."""

    board_squares: tuple[int, int] = Field((7, 5), description="squares across and down")
    board_square_mm: float = Field(30.0, gt=0, description="side of a square")
    board_marker_mm: float = Field(22.0, gt=0, description="side of a marker")
    board_xz_m: Vec2 = Field((0.0, 0.22), description="centre of the board when it lies on the table")
    board_yaw_deg: float = Field(0.0, description="direction of the board's long side, from +x toward +z")
    lens_views: int = Field(12, ge=6, description="tilted views for the lens")
    drift_every: int = Field(
        10, ge=0, description="a batch looks before every so many trials whether a joint slipped; 0: never"
    )


class BatchSettings(Section):
    """Batches: how starts are drawn, how the scene is put back, when to rest, whom to call."""

    session: int = Field(5, ge=1, description="starts in a row with the box in one place; in the twin one world")
    round: int = Field(20, ge=1, description="trials between two updates of the corrections")
    workers: int = Field(0, ge=0, le=256, description="processes of a twin batch; 0: one a core")
    block_x_min_m: float = Field(0.05, description="starts: block at x from here")
    block_r_m: Range = Field((0.15, 0.29), description="starts: distance of the block from the base axis")
    box_x_max_m: float = Field(-0.05, description="starts: the twin's box at x up to here")
    box_r_m: Range = Field((0.17, 0.26), description="starts: the twin's box; farther out the arm can't empty it")
    gap_m: float = Field(0.05, ge=0.01, description="starts: least gap between block and box, so that jaws fit in")
    fault_share: float = Field(
        0.0, ge=0, le=1, description="the twin: in so large a share of the trials one of its faults begins, whichever"
    )
    reset: Literal["arm", "teleport"] = Field(
        "arm", description="who puts the block to the next start; teleport: in the twin, for speed only"
    )
    reset_attempts: int = Field(3, ge=1, le=10, description="tries of the arm, then a person is called")
    start_tolerance_mm: float = Field(15.0, gt=0, description="a block this near its planned start lies there")
    start_tolerance_deg: float = Field(20.0, gt=0, description="and turned by no more than this")
    person: Literal["none", "twin"] = Field(
        "twin", description="who comes when called: twin: in the twin, the block is put back, and the log says so"
    )
    person_after_s: float = Field(0.0, ge=0, description="so long after the call the twin's person comes")
    call_command: tuple[str, ...] = Field((), description="run to call a person; what and why comes as last argument")
    call_desktop: bool = Field(True, description="call by notify-send where there is a desktop")
    call_url: str = Field("", description="call by POST to this address, as JSON")
    faults_in_a_row: int = Field(3, ge=1, description="so many crashed trials in a row pause the batch")
    invalid_in_a_row: int = Field(3, ge=1, description="so many invalid starts in a row pause the batch")
    keep_pictures: Literal["all", "telling"] = Field(
        "all", description="telling: of a completed trial only the judged pictures and the tip's; of a reset the last"
    )
    keep_all_of_every: int = Field(10, ge=1, description="with telling: every so many-th start keeps all pictures")
    reconnect_s: float = Field(300.0, ge=0, description="how long to try to reach a lost arm or camera again")
    min_free_mb: int = Field(500, ge=0, description="with less disk free than this the batch pauses")

    @field_validator("call_url")
    @classmethod
    def _is_a_web_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("it begins with http:// or https://")
        return url


class Config(Section):
    """All settings of a cell."""

    cell: CellSettings = CellSettings()
    arm: ArmSettings = ArmSettings()
    gripper: GripperSettings = GripperSettings()
    camera: CameraSettings = CameraSettings()
    block: BlockSettings = BlockSettings()
    box: BoxSettings = BoxSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    table: TableSettings = TableSettings()
    guard: GuardSettings = GuardSettings()
    trial: TrialSettings = TrialSettings()
    corrections: CorrectionsSettings = CorrectionsSettings()
    judge: JudgeSettings = JudgeSettings()
    twin: TwinSettings = TwinSettings()
    calibration: CalibrationSettings = CalibrationSettings()
    batch: BatchSettings = BatchSettings()


def parse(raw: Mapping[str, Any], where: str) -> Config:
    """Settings from nested tables; what is not said has its default.

    Raises:
        UnknownSetting: a key that no setting has, with the nearest that there is.
        BadSetting: a value of the wrong type or out of range, or NaN.
    """
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        path = [p for p in first["loc"] if isinstance(p, str)]
        if first["type"] == "extra_forbidden":
            raise UnknownSetting(
                ".".join(path), setting_names() if len(path) > 1 else Config.model_fields, where
            ) from None
        why = first["msg"].removeprefix("Value error, ")
        shown = first["input"] if isinstance(first["input"], (str, int, float, bool, list, tuple)) else None
        raise BadSetting(
            ".".join(path) or "settings", why + (f" (got {shown!r})" if shown is not None else ""), where
        ) from None


def setting_names() -> list[str]:
    """Every setting as `section.key`."""
    return [f"{s}.{k}" for s, f in Config.model_fields.items() for k in _section(f.annotation).model_fields]


def load(path: Path, overrides: Iterable[str] = ()) -> Config:
    """The settings in a `cell.toml`, with `section.key=value` overrides laid over them.

    An `arm.model` that names an arm file in the same folder becomes its whole path.

    Raises:
        CellUnreadable: the file can't be read or is not TOML.
        UnknownSetting, BadSetting: see `parse`.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CellUnreadable(path, str(error)) from error
    parse(raw, str(path))
    overrides = list(overrides)
    config = parse(_overridden(raw, overrides), "--set") if overrides else parse(raw, str(path))
    own = path.parent / config.arm.model
    if not (config.arm.model.endswith(".toml") and own.is_file()):
        return config
    return config.model_copy(update={"arm": config.arm.model_copy(update={"model": str(own.resolve())})})


def with_overrides(config: Config, overrides: Iterable[str]) -> Config:
    """The settings with `section.key=value` laid over them; values are read as TOML, else as text."""
    return parse(_overridden(config.model_dump(), list(overrides)), "--set")


def to_toml(config: Config) -> str:
    """All settings as commented TOML, ready to be edited."""
    lines = [
        "# Settings of one cell: an arm, a camera, a table. Units stand in the names:",
        "# m, mm, deg, s, px, percent.",
    ]
    for name, field in Config.model_fields.items():
        section = _section(field.annotation)
        lines += ["", f"# {(section.__doc__ or '').strip().splitlines()[0]}", f"[{name}]"]
        for key, setting in section.model_fields.items():
            lines.append(f"{key} = {_toml_value(getattr(getattr(config, name), key))}  # {setting.description}")
    return "\n".join(lines) + "\n"


def _overridden(raw: Mapping[str, Any], overrides: list[str]) -> dict[str, Any]:
    merged: dict[str, Any] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in raw.items()}
    for item in overrides:
        key, equals, text = item.partition("=")
        section, dot, name = key.strip().partition(".")
        if not equals or not dot or not name:
            raise BadSetting(item, "write it as section.key=value, for example arm.speed_percent=30", "--set")
        if key.strip() not in setting_names():
            raise UnknownSetting(key.strip(), setting_names(), "--set")
        merged.setdefault(section, {})[name] = _value_of(text.strip())
    return merged


def _value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def _toml_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    return json.dumps(value)


def _section(annotation: Any) -> type[Section]:
    assert isinstance(annotation, type)
    assert issubclass(annotation, Section)
    return annotation
