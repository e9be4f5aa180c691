"""Calibrates a cell's arm: watches the tip over many poses, or takes touched marks, fits, and keeps what came out.

What it keeps is used from the next opening of the cell on. It doesn't touch the cell's tables; whoever calls has them
made to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from runner.arm_calibration import (
    ArmFile,
    CheckPose,
    as_delivered,
    has_arm_file,
    laid_over,
    load_arm_file,
    model_name,
)
from runner.calibrate.arm_fit import ArmFit, fit_arm
from runner.calibrate.bench import ArmBench, watch
from runner.calibrate.check_poses import slip_poses
from runner.calibrate.samples import SeenTips, TouchedMarks
from runner.calibrate.tip_poses import poses_that_tell_most
from runner.calibrate.unknowns import ArmUnderCamera
from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.table.postures import arm_of
from vision.calibration.file import PlaneFile, load_lens, load_plane
from vision.calibration.kept import content_hash, now_text, save
from vision.calibration.view import View

TIP_POSES, JOINT_POSES = 14, 26
_REFINED = "; refined by the arm's tip at "
Method = Literal["seen", "touched"]


@dataclass(frozen=True, slots=True, eq=False)
class ArmCalibrated:
    """The file that was kept, the bench that knows it now, and what was missed."""

    file: ArmFile
    bench: ArmBench
    missed: tuple[str, ...]


def calibrate_by_sight(
    bench: ArmBench, folder: Path, *, joints: bool = True, poses: int | None = None
) -> ArmCalibrated:
    """Watch the tip over many poses, fit the gripper's place and (with `joints`) the zeros, and keep what came out.

    With it is kept where the tip is seen afterwards at the check poses. A tip at many heights tells more of how the
    camera is tilted than a board that lies flat, so the plane is kept anew too.

    Raises:
        CalibrationTooPoor: too few poses, or they don't agree; nothing was kept.
        NoWay, Refused, ArmError: the arm could not go on.
    """
    count = poses or (JOINT_POSES if joints else TIP_POSES)
    bench.open_jaws()
    goals = poses_that_tell_most(bench.believed(), bench.config, bench.guard.obstacles, count, joints=joints)
    seen, missed = watch(bench, goals, label="joints" if joints else "tip")
    model = bench.delivered()
    fit = fit_arm(model, seen, joints=joints, start=_start(bench.config, joints=joints))
    view = model.seen_from(fit.values)
    found = _file(bench.config, fit, len(seen), method="seen", source=_source(seen, bench))
    known = bench.knowing(laid_over(as_delivered(bench.config), found.tool_shift_mm, found.joint_zero_deg), view=view)
    checked, unseen = watch_check_poses(known)
    save(_with_view(load_plane(folder), view, len(seen)), folder)
    file = found.model_copy(update={"check_poses": checked, "calibration_hashes": _seen_with(folder)})
    save(file, folder)
    return ArmCalibrated(file, known, (*missed, *unseen))


def calibrate_by_touch(config: Config, touched: TouchedMarks, folder: Path, *, joints: bool, source: str) -> ArmFile:
    """Fit to touched marks and keep the result. Nothing moves and nothing is seen, so no slip can be found later.

    Raises:
        CalibrationTooPoor: too few marks, or they don't agree; nothing was kept.
    """
    arm, base = arm_of(as_delivered(config))
    fit = fit_arm(
        ArmUnderCamera(arm, base, None, np.zeros((0, 2))), touched, joints=joints, start=_start(config, joints=joints)
    )
    file = _file(config, fit, len(touched), method="touched", source=source)
    save(file, folder)
    return file


def watch_check_poses(bench: ArmBench) -> tuple[tuple[CheckPose, ...], list[str]]:
    """Where the fingertips are now at poses that show a slip of any joint, and which were not seen."""
    seen, missed = watch(bench, slip_poses(bench), label="drift")
    return tuple(
        CheckPose(goal_deg=_floats(goal), encoder_deg=_floats(encoder), ends_px=_pixels(ends))
        for goal, encoder, ends in zip(seen.goal_deg, seen.encoder_deg, seen.ends_px, strict=True)
    ), missed


def hashes_of(folder: Path) -> dict[str, str]:
    """What the calibration of a folder stands on: the hashes of its files."""
    hashes = {"lens": content_hash(load_lens(folder)), "plane": content_hash(load_plane(folder))}
    if has_arm_file(folder):
        hashes["arm"] = content_hash(load_arm_file(folder))
    return hashes


def _seen_with(folder: Path) -> dict[str, str]:
    return {name: h for name, h in hashes_of(folder).items() if name != "arm"}


def _start(config: Config, *, joints: bool) -> FloatArray | None:
    """With the zeros fitted, as delivered; else with the zeros that are known."""
    return None if joints else np.concatenate((config.arm.joint_zero_deg, np.zeros(12)))


def _source(seen: SeenTips, bench: ArmBench) -> str:
    return f"the tip seen by {bench.camera.name} at {len(seen)} poses"


def _file(config: Config, fit: ArmFit, count: int, *, method: Method, source: str) -> ArmFile:
    n = len(config.arm.home_deg)
    x, y, z = fit.values[n : n + 3].tolist()
    return ArmFile(
        made_at=now_text(),
        source=source,
        method=method,
        arm_model=model_name(config),
        tcp_mm=config.arm.tcp_mm,
        tool_shift_mm=(x, y, z),
        joint_zero_deg=_floats(fit.values[:n]),
        parameters=fit.parameters,
        confused=fit.confused,
        singular_values=fit.singular_values,
        n_poses=count,
        n_dropped=len(fit.dropped),
        rms_before_mm=fit.rms_before_mm,
        rms_mm=fit.rms_mm,
        rms_px=fit.rms_px,
        held_out=fit.held_out,
    )


def _with_view(plane: PlaneFile, view: View, poses: int) -> PlaneFile:
    """The plane's file with the camera where the arm's tip says it is."""
    R, t = view.R_camera_cell.tolist(), view.t_camera_cell_m.tolist()
    H = view.H_table_pixel.tolist()
    source = f"{plane.source.split(_REFINED)[0]}{_REFINED}{poses} poses"
    new = {"R_camera_cell": R, "t_camera_cell_m": t, "camera_m": view.camera_m, "H_table_pixel": H}
    return PlaneFile.model_validate({**plane.model_dump(), **new, "source": source, "made_at": now_text()})


def _floats(values: FloatArray | Sequence[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _pixels(ends: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    (a, b), (c, d) = ends.tolist()
    return (a, b), (c, d)
