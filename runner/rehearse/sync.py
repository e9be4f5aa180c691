"""Real to render: the twin put into the state that calibrated pictures show, and how far its own picture is from them.

Block and box come from the detectors over several captures, the arm from its readings, the lamp from shadows and
brightness. Each has its spread. What is compared is what one can see: the same detectors look at the rendered picture,
and the arm's rendered outline is held against the edges of the real one. The nominal scene is used, and nothing of the
twin that may stand in for the desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.rehearse.nominal import nominal_twin
from runner.rehearse.outline import arm_outlines_px, outline_off_px
from runner.twin.profiles import PERFECT
from runner.twin.setup import Twin
from runner.twin.shading import Light
from runner.twin.textures import TABLE_KINDS
from runner.twin.world import Resting
from runs.errors import Family, TrialcellError
from runs.schema.detection import BlockDetection, BoxDetection
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.protocol import DetectSettings
from vision.detect.repeat import repeated

SMALL = 4  # the lamp is looked for in pictures so many times smaller
_LAMPS_X_M, _LAMPS_Z_M = (-0.45, -0.225, 0.0, 0.225, 0.45), (-0.15, 0.05, 0.25, 0.45)
_FINER_M = 0.1
_AS_GOOD = 1.05  # places of the lamp whose pictures are hardly worse tell how well it is known
_ROUND_PX = 12  # about things and their shadows, in the small picture
_TURN_SD_DEG = 0.5  # of a yaw that all captures agree on
_FEWEST_MM = 0.3  # no place is known better than this


class NothingToSync(TrialcellError):
    """Pictures that the twin can't be put into the state of."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the twin can't be put into this state: {why}", next_step="look at the pictures: trialcell detect"
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A thing on the table with its spread (one standard deviation)."""

    xz_m: tuple[float, float]
    yaw_deg: float
    sd_mm: float
    sd_deg: float


@dataclass(frozen=True, slots=True)
class Lamp:
    """Where the light comes from and how well that is known; lamp and room (blue, green, red); the table top."""

    at_m: tuple[float, float, float]
    sd_m: float
    lamp: tuple[float, float, float]
    room: tuple[float, float, float]
    table_kind: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Rendered less seen, of one thing. mm on the table; degrees where it has a direction."""

    px: float
    mm: float
    deg: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Synced:
    """The state, the twin's picture of it, and how far that is from what was seen."""

    block: Placed | None
    box: Placed | None
    joints_deg: tuple[float, ...]
    joints_sd_deg: float
    lamp: Lamp
    seen: Picture
    rendered: Picture
    differences: dict[str, Difference]
    arm_outlines_px: tuple[NDArray[np.int32], ...]
    seen_block: BlockDetection | None
    seen_box: BoxDetection | None
    brightness_off: float  # of 255: rendered less seen, root mean square over the picture


def sync(
    pictures: Sequence[Picture],
    joints_deg: FloatArray,
    view: View,
    config: Config,
    detect: DetectSettings,
    *,
    plane_mm: float,
) -> Synced:
    """Put the nominal twin into the state that some pictures of one still scene show.

    Args:
        joints_deg: as the arm was read when they were taken, (n_joints,).
        view: as calibrated.
        plane_mm: the calibration's error on points that it had not seen.

    Raises:
        NothingToSync: neither block nor box is seen, or the pictures are of another size than the calibration's.
    """
    if not pictures or not all(view.matches(picture) for picture in pictures):
        raise NothingToSync(f"the pictures are not of the calibration's {view.size_px[0]}×{view.size_px[1]} px")
    blocks = [find_block(picture, view, detect) for picture in pictures]
    boxes = [find_box(picture, view, detect) for picture in pictures]
    block, box = repeated(blocks, detect).best, repeated(boxes, detect).best
    if block is None and box is None:
        raise NothingToSync("neither block nor box is seen")
    placed_block, placed_box = (_placed(thing, plane_mm) for thing in (block, box))
    seen = np.median(np.stack(pictures), axis=0).astype(np.uint8) if len(pictures) > 1 else pictures[0]
    twin = nominal_twin(config)
    try:
        _set_up(twin, placed_block, placed_box, joints_deg)
        lamp, light = _lamp(twin, seen, view, (placed_block, placed_box))
        twin.relight(light, 0)
        twin.camera.look_from(view)
        rendered = twin.camera.noiseless()
        outlines = arm_outlines_px(twin.world, view)
    finally:
        twin.close()
    differences = _differences(block, box, rendered, view, detect)
    if outlines:
        px = outline_off_px(outlines, seen)
        differences["arm"] = Difference(px, px * view.mm_per_px((0.0, 0.2), 0.1))
    servo = twin.arm.model.data.servo
    step_deg = 0.0 if servo is None else 360.0 / servo.encoder_steps
    off = rendered.astype(np.float32) - seen.astype(np.float32)
    return Synced(
        block=placed_block,
        box=placed_box,
        joints_deg=tuple(float(j) for j in joints_deg),
        joints_sd_deg=float(np.hypot(step_deg / np.sqrt(12.0), config.rehearse.zero_sd_deg)),
        lamp=lamp,
        seen=seen,
        rendered=rendered,
        differences=differences,
        arm_outlines_px=outlines,
        seen_block=block,
        seen_box=box,
        brightness_off=float(np.sqrt(np.mean(off**2))),
    )


def _placed(thing: BlockDetection | BoxDetection | None, plane_mm: float) -> Placed | None:
    if thing is None or thing.xz_m is None:
        return None
    spread = (thing.spread_mm or 0.0) / np.sqrt(max(1, thing.n_captures))
    sd_mm = float(max(_FEWEST_MM, np.hypot(spread, plane_mm)))
    side_mm = thing.size_mm if isinstance(thing, BlockDetection) else max(thing.size_mm or (120.0, 120.0))
    sd_deg = float(np.hypot(_TURN_SD_DEG, np.degrees(sd_mm / (side_mm or 30.0))))
    return Placed(thing.xz_m, thing.yaw_deg or 0.0, sd_mm, sd_deg)


def _set_up(twin: Twin, block: Placed | None, box: Placed | None, joints_deg: FloatArray) -> None:
    """Block, box and arm as they were seen; what was not seen stands behind the arm."""
    twin.reset(1)
    twin.arm.begin(PERFECT, np.random.default_rng(0), joints_deg)
    away = Resting((0.0, -0.30), 0.0), Resting((0.0, -0.43), 0.0)
    places = [
        Resting(p.xz_m, p.yaw_deg) if p is not None else spare for p, spare in zip((block, box), away, strict=True)
    ]
    open_rad = twin.world.jaw_theta_rad
    twin.world.reset(np.radians(joints_deg), open_rad, *places)


def _smaller(view: View) -> View:
    K = np.array(view.K) / SMALL
    K[2, 2] = 1.0
    K[0, 2] -= (1 - 1 / SMALL) / 2
    K[1, 2] -= (1 - 1 / SMALL) / 2
    size = view.size_px[0] // SMALL, view.size_px[1] // SMALL
    return View.make(K, view.distortion, view.R_camera_cell, view.t_camera_cell_m, size)


def _lamp(twin: Twin, seen: Picture, view: View, things: Sequence[Placed | None]) -> tuple[Lamp, Light]:
    """The lamp and the table top whose picture is most like the seen one near things and their shadows."""
    small_view = _smaller(view)
    small = cv2.resize(seen, small_view.size_px, interpolation=cv2.INTER_AREA).astype(np.float64)
    mask = _near_things(small_view, things)
    height_m = twin.config.twin.light_height_m

    def tried(at: tuple[float, float], kind: str) -> tuple[float, tuple[float, float], FloatArray, str]:
        twin.relight(_plain_light((at[0], height_m, at[1]), kind), 0)
        twin.camera.look_from(small_view)
        cost, gains = _likeness(twin.camera.noiseless().astype(np.float64)[mask], small[mask])
        return cost, at, gains, kind

    grid = [(x, z) for x in _LAMPS_X_M for z in _LAMPS_Z_M]
    found = [tried(at, TABLE_KINDS[0]) for at in grid]
    best = min(found, key=_cost)
    best = min((tried(best[1], kind) for kind in TABLE_KINDS), key=_cost)
    steps = (-_FINER_M, 0.0, _FINER_M)
    found = [tried((best[1][0] + i, best[1][1] + j), best[3]) for i in steps for j in steps]
    cost, (x, z), gains, kind = min(found, key=_cost)
    near = np.array([at for c, at, _, _ in found if c <= cost * _AS_GOOD])
    sd_m = float(max(_FINER_M, np.hypot(*near.std(axis=0))))
    plain = _plain_light((x, height_m, z), kind)
    lamp, room = plain.lamp * gains.astype(np.float32), plain.room * gains.astype(np.float32)
    light = replace(plain, lamp=lamp, room=room)
    return Lamp((round(x, 4), height_m, round(z, 4)), sd_m, _three(lamp), _three(room), kind), light


def _cost(row: tuple[float, tuple[float, float], FloatArray, str]) -> float:
    return row[0]


def _plain_light(at_m: tuple[float, float, float], table_kind: str) -> Light:
    ones = np.ones(3, np.float32)
    return Light(lamp_m=at_m, lamp=0.6 * ones, room=0.38 * ones, glare=0.05, table_kind=table_kind, lamp_k=5000.0)


def _likeness(rendered: FloatArray, seen: FloatArray) -> tuple[float, FloatArray]:
    """How unlike two sets of pixels (k, 3) are once each colour's brightness is fitted, and those gains (linear)."""
    straight, linear = (rendered / 255.0) ** 2.2, (seen / 255.0) ** 2.2
    gains = (straight * linear).sum(axis=0) / np.maximum((straight**2).sum(axis=0), 1e-9)
    again = 255.0 * np.clip(straight * gains, 0, 1) ** (1 / 2.2)
    return float(np.sqrt(np.mean(np.abs(again - seen)))), np.clip(gains, 0.1, 4.0)


def _near_things(view: View, things: Sequence[Placed | None]) -> NDArray[np.bool_]:
    """The pixels about block and box, wide enough for their shadows."""
    mask = np.zeros((view.size_px[1], view.size_px[0]), np.uint8)
    for thing, radius_m in zip(things, (0.05, 0.12), strict=True):
        if thing is not None:
            u, v = np.asarray(view.table_to_pixel(thing.xz_m)).round().astype(int).tolist()
            radius = round(radius_m * 1000 / view.mm_per_px(thing.xz_m)) + _ROUND_PX
            cv2.circle(mask, (u, v), radius, 255, -1)
    return np.asarray(mask > 0)


def _differences(
    block: BlockDetection | None, box: BoxDetection | None, rendered: Picture, view: View, detect: DetectSettings
) -> dict[str, Difference]:
    out = {}
    again = {"block": find_block(rendered, view, detect).best, "box": find_box(rendered, view, detect).best}
    for name, seen in (("block", block), ("box", box)):
        other = again[name]
        if seen is None or other is None or seen.xz_m is None or other.xz_m is None:
            continue
        px = float(np.hypot(*np.subtract(other.centre_px, seen.centre_px)))
        mm = float(np.hypot(*np.subtract(other.xz_m, seen.xz_m)) * 1000.0)
        turn = abs(((other.yaw_deg or 0.0) - (seen.yaw_deg or 0.0) + 45.0) % 90.0 - 45.0)
        out[name] = Difference(px, mm, turn)
    return out


def _three(values: NDArray[np.float32]) -> tuple[float, float, float]:
    a, b, c = (round(float(v), 4) for v in values)
    return a, b, c
