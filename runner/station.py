"""The arm, its clock and its camera by the settings: the twin in process, the twin served, or an arm of metal.

Drivers are imported where they are asked for. Which of the three it is shows nowhere else: a trial gets an `Arm`, a
`Clock` and a `Camera`. An arm of metal never gets the twin's camera or calibration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from runner.arms.protocol import Arm, Clock
from runner.cell import Cell
from runner.config import Config
from runner.kinematics.model import ArmModel
from runner.twin.errors import TwinGone
from runner.twin.served import Addresses, TwinControl, TwinTime, served_at, served_twins
from runner.twin.setup import Twin, build_twin
from runs.errors import Family, TrialcellError
from vision.cameras.protocol import Camera

if TYPE_CHECKING:
    from runner.twin.firmware.faults import FaultyFirmware

METAL = "metal"  # the profile of an arm that is no twin's


class WrongRequest(TrialcellError):
    """Something was asked for that this cell does not have."""

    family: ClassVar[Family] = "usage"


class RealTime:
    """The `Clock` of this world."""

    def now_s(self) -> float:
        """Seconds since some start."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds))


@dataclass(frozen=True, slots=True, eq=False)
class Station:
    """What a run works on. `twin`, `firmware`, `control` are for scoring.

    The first two are there in process only, `firmware` where there is one; `control` with a served twin only.
    """

    arm: Arm
    clock: Clock
    camera: Camera
    profile: str
    twin: Twin | None = None
    firmware: FaultyFirmware | None = None
    control: TwinControl | None = None
    closers: tuple[Callable[[], None], ...] = field(default=())

    def truth(self) -> dict[str, Any] | None:
        """What the twin knows, to score a run that has ended.

        None on metal, for pictures that are not its own, and where a served twin has gone.
        """
        if self.twin is not None:
            in_box = self.twin.truth().block_in_box
            return {"block_in_box": in_box} if self.camera is self.twin.camera else None
        if self.control is None:
            return None
        try:
            return {"block_in_box": bool(self.control.truth()["block_in_box"])}
        except TwinGone:
            return None

    def close(self) -> None:
        """Let go of everything."""
        for close in (self.camera.close, self.arm.close, *self.closers):
            close()


def profile_of(cell: Cell) -> str:
    """The profile of the arm that the settings name: a twin's, in process or served, else that of metal."""
    if cell.config.arm.kind == "twin":
        return cell.config.twin.profile
    served = served_at(cell.folder, cell.config.arm.address)
    return METAL if served is None else served.profile


def check_station(cell: Cell, *, asks_for_a_start: bool) -> None:
    """What can be known to be wrong before anything is made or connected.

    Raises:
        WrongRequest: a seed or places for metal, no camera that belongs to the arm, faults without firmware.
        UnknownFault: a fault that the twin does not know. ArmUnreachable: no address, or one that is none.
    """
    config = cell.config
    if config.arm.kind == "twin":
        _check_faults(config)
        return
    if config.arm.kind == "mycobot-tcp":
        from runner.arms.client import host_and_port

        host_and_port(config.arm.address)
    served = served_at(cell.folder, config.arm.address)
    if served is None and asks_for_a_start:
        raise WrongRequest(
            f"the arm at {config.arm.address} is no twin's: nothing here can put block and box into their places",
            next_step=f"leave --seed, --block and --box out{_or_another(cell)}",
        )
    _camera(config, lambda: _camera_beside(cell, served)).close()


def refuse_twins_calibration(cell: Cell, made_by_twin: bool | None) -> None:
    """An arm of metal needs a calibration of its own; `made_by_twin` is None where there is none at all.

    Raises:
        WrongRequest: it has none.
    """
    if made_by_twin is False:
        return
    what = "is the twin's" if made_by_twin else "is missing"
    raise WrongRequest(
        f"the arm at {cell.config.arm.address} is of metal, and the calibration of its camera {what}",
        next_step="calibrate with pictures of your own (trialcell calibrate lens --pictures DIR, then calibrate plane "
        f"--picture FILE){_or_another(cell)}",
    )


def open_station(
    cell: Cell,
    *,
    seed: int | None = None,
    block_xz_m: tuple[float, float] | None = None,
    box_xz_m: tuple[float, float] | None = None,
) -> Station:
    """Arm, clock and camera of the cell. A seed or a place resets a twin, in process or served.

    Raises:
        WrongRequest: a seed or places for metal, or no camera that belongs to the arm.
        ArmUnreachable, PortBusy, NoAnswer, TwinGone, CameraUnavailable, StartNotPossible: what stands in the way.
    """
    config = cell.config
    if config.arm.kind == "twin":
        _check_faults(config)
        start = config.twin.seed if seed is None else seed
        twin = build_twin(config, seed=start, block_xz_m=block_xz_m, box_xz_m=box_xz_m)
        camera = _camera(config, lambda: twin.camera)
        arm, clock, firmware = _in_process(config, twin, start)
        return Station(arm, clock, camera, config.twin.profile, twin=twin, firmware=firmware, closers=(twin.close,))
    served = served_at(cell.folder, config.arm.address)
    asked = seed is not None or block_xz_m is not None or box_xz_m is not None
    check_station(cell, asks_for_a_start=asked)
    camera = _camera(config, lambda: _camera_beside(cell, served))
    control = None if served is None else TwinControl(served)
    if control is not None and asked:
        start = config.twin.seed if seed is None else seed
        control.reset(start, block_xz_m=block_xz_m, box_xz_m=box_xz_m)
    arm, clock = _connected(config, control)
    closers = () if control is None else (control.close,)
    return Station(arm, clock, camera, METAL if served is None else served.profile, control=control, closers=closers)


@contextmanager
def open_arm(cell: Cell, model: ArmModel) -> Iterator[tuple[Arm, Clock]]:
    """The cell's arm by itself, for work on the bench; without a camera.

    Raises:
        WrongRequest: the settings name the twin in process. ArmUnreachable, PortBusy, NoAnswer: as in `open_station`.
    """
    if cell.config.arm.kind == "twin":
        raise WrongRequest(
            "the settings name no arm but the twin, which is made anew for every command",
            next_step="set arm.kind = mycobot-tcp or mycobot-serial, and arm.address",
        )
    served = served_at(cell.folder, cell.config.arm.address)
    control = None if served is None else TwinControl(served)
    arm, clock = _connected(cell.config, control, model)
    try:
        yield arm, clock
    finally:
        arm.close()
        if control is not None:
            control.close()


def camera_of(kind: str, source: str, size_px: tuple[int, int]) -> Camera:
    """A camera that is not the twin's."""
    if kind == "folder":
        from vision.cameras.folder import FolderCamera

        return FolderCamera(source)
    from vision.cameras.opencv import OpenCvCamera

    return OpenCvCamera(int(source) if source.isdigit() else source, size_px=size_px)


@contextmanager
def any_camera(cell: Cell) -> Iterator[Camera]:
    """The camera of the settings by itself; the twin's looks at a start of the settings' seed."""
    config = cell.config
    if config.camera.kind in ("auto", "twin") and config.arm.kind == "twin":
        twin = build_twin(config, seed=config.twin.seed)
        try:
            yield twin.camera
        finally:
            twin.close()
        return
    served = None if config.arm.kind == "twin" else served_at(cell.folder, config.arm.address)
    camera = _camera(config, lambda: _camera_beside(cell, served))
    try:
        yield camera
    finally:
        camera.close()


def _check_faults(config: Config) -> None:
    if not config.twin.faults:
        return
    from runner.twin.firmware.faults import only_cameras

    if not only_cameras(config.twin.faults) and config.twin.firmware == "none":
        raise WrongRequest(
            "twin.faults names a fault of the firmware, and the twin is driven directly",
            next_step="add --set twin.firmware=new",
        )


def _or_another(cell: Cell) -> str:
    """A hint at the twins that are served for this cell, for who took another address."""
    served = ", ".join(where for there in served_twins(cell.folder) for where in (there.tcp, there.pty) if where)
    return f"; the twin is served at {served}" if served else "; the twin would have to be served: trialcell twin serve"


def _in_process(config: Config, twin: Twin, seed: int) -> tuple[Arm, Clock, FaultyFirmware | None]:
    """The twin's arm itself, or the driver of a real one through the twin's firmware; the faults of the settings."""
    if config.twin.faults:
        from runner.twin.firmware.faults import trouble_camera

        trouble_camera(twin, config.twin.faults, seed)
    if config.twin.firmware == "none":
        return twin.arm, twin.clock, None
    from runner.twin.firmware.direct import direct_arm

    return direct_arm(twin, twin.arm.model, config, kind=config.twin.firmware, faults=config.twin.faults, seed=seed)


def _camera(config: Config, auto: Callable[[], Camera]) -> Camera:
    """The camera of the settings; `auto` makes the one that belongs to the arm."""
    if config.camera.kind == "auto" or (config.camera.kind == "twin" and config.arm.kind == "twin"):
        return auto()
    if config.camera.kind == "twin":
        raise WrongRequest(
            "the twin's camera does not see the arm's table",
            next_step="set camera.kind = auto, or opencv with a source",
        )
    if not config.camera.source:
        raise WrongRequest(
            f"camera {config.camera.kind} needs a source", next_step=f"for example --camera {config.camera.kind}:PATH"
        )
    return camera_of(config.camera.kind, config.camera.source, config.camera.size_px)


def _camera_beside(cell: Cell, served: Addresses | None) -> Camera:
    """The camera at an arm that is reached over a wire: the served twin's stream, else what the settings name."""
    config = cell.config
    if served is not None:
        return camera_of("opencv", served.camera, config.camera.size_px)
    if config.camera.source:
        return camera_of("opencv", config.camera.source, config.camera.size_px)
    raise WrongRequest(
        f"which camera looks at the arm at {config.arm.address} is not said",
        next_step=f"set camera.source to its name, path or address{_or_another(cell)}",
    )


def _connected(config: Config, control: TwinControl | None, model: ArmModel | None = None) -> tuple[Arm, Clock]:
    from functools import partial

    from runner.arms.client import connect
    from runner.arms.link import Link
    from runner.arms.mycobot import MyCobotArm, TendingClock
    from runner.arms.port_lock import PortLock
    from runner.table.postures import arm_of

    arm, gripper = config.arm, config.gripper
    time_there: Clock = RealTime() if control is None else TwinTime(control)
    lock = PortLock(arm.kind, arm.address)
    link = Link(
        partial(connect, arm.kind, arm.address, baud=arm.baud, deadline_s=arm.connect_s),
        arm.address,
        answer_s=arm.answer_s,
    )
    driver = MyCobotArm(
        model or arm_of(config)[0],
        link,
        time_there,
        lock=lock,
        reading_margin_deg=arm.reading_margin_deg,
        gripper_type=gripper.type_id,
        gripper_speed_percent=gripper.speed_percent,
    )
    try:
        driver.connect()
    except BaseException:
        driver.close()
        raise
    return driver, TendingClock(time_there, driver)
