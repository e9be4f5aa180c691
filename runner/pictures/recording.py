"""One inverse kinematics search as a Rerun recording: the arm in 3-D with every step on a timeline, errors and joints.

Only this module imports rerun, which comes with the extra `trialcell[view]`; `run_recording` has it from here. It
writes a file and opens no window.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import rerun as rr
import rerun.blueprint as rrb

from runner.kinematics.fk import link_poses
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.trace import Trace
from runner.kinematics.model import ArmModel, FloatArray, Shape
from runner.pictures.arm_drawing import Upright, arm_chain, floor_corners
from runner.pictures.canvas import BLUE, INK, LINE_GREY, PURPLE, SOFT_INK
from runner.pictures.perspective import round_step
from runs.files import storage
from vision.overlay import GREEN, ORANGE, SKY_BLUE, VERMILLION, Bgr

__all__ = ["JOINT_COLOURS", "log_arm", "log_shells", "new_recording", "rgb", "rr", "rrb", "write_recording"]

TIMELINE = "step"
_SHELL_ALPHA = 45
JOINT_COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY_BLUE, INK)


def write_recording(path: Path, trace: Trace, arm: ArmModel, base: BaseInCell, *, solver: str) -> None:
    """The search as a `.rrd` file: step k of the timeline is the k-th pose over all attempts.

    Args:
        path: of the file; what is there is replaced.
        trace: the search.
        arm: with the tool that it was searched for.
        base: where the arm stands.
        solver: its name.

    Raises:
        StorageUnwritable: it can't be written.
    """
    recording = new_recording(path, "ik", _layout())
    up = Upright.of(base)
    size = _still(recording, trace, arm, base, up, solver)
    step = 0
    for attempt in trace.attempts:
        tips = []
        for number, pose in enumerate(attempt.angles_deg):
            recording.set_time(TIMELINE, sequence=step)
            tips.append(log_arm(recording, arm, pose, up, size))
            target = up.points(trace.target.position_m)
            recording.log(
                "scene/error",
                rr.LineStrips3D([[tips[-1], target]], radii=rr.Radius.ui_points(2.0), colors=[rgb(VERMILLION)]),
            )
            recording.log("scene/path", rr.LineStrips3D([tips], radii=rr.Radius.ui_points(1.5), colors=[rgb(SKY_BLUE)]))
            recording.log("errors/position_mm", rr.Scalars(float(attempt.residual_mm[number])))
            if trace.target.rotation is not None:
                recording.log("errors/rotation_deg", rr.Scalars(float(attempt.residual_deg[number])))
            for joint, angle in zip(arm.data.joint, pose, strict=True):
                recording.log(f"joints_deg/{joint.name}", rr.Scalars(float(angle)))
            step += 1
    recording.flush()
    recording.disconnect()


def new_recording(path: Path, name: str, layout: rrb.Blueprint) -> rr.RecordingStream:
    """A recording that goes into a file; only the times that are set in it count.

    Raises:
        StorageUnwritable: it can't be written.
    """
    with storage(path), path.open("ab"):  # rerun itself only warns
        pass
    recording = rr.RecordingStream(f"trialcell_{name}", recording_id=name, send_properties=False)
    recording.set_log_time_enabled(False)
    recording.set_log_tick_enabled(False)
    recording.save(path, default_blueprint=layout)
    return recording


def _layout() -> rrb.Blueprint:
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Spatial3DView(origin="scene", name="arm"),
            rrb.Vertical(
                rrb.TextDocumentView(origin="summary", name="search"),
                rrb.TimeSeriesView(origin="errors", name="error left: mm, °"),
                rrb.TimeSeriesView(origin="joints_deg", name="joints, °"),
                row_shares=[1, 2, 2],
            ),
            column_shares=[3, 2],
        ),
        rrb.TimePanel(state="expanded", timeline=TIMELINE),
        collapse_panels=True,
    )


def _still(
    recording: rr.RecordingStream, trace: Trace, arm: ArmModel, base: BaseInCell, up: Upright, solver: str
) -> float:
    """What does not move: floor, axes, target, shells in their links' frames, words. Returns the scene's size, m."""
    best = trace.best
    target = up.points(trace.target.position_m)
    ends = np.vstack((arm_chain(arm, best.angles_deg[0], up), arm_chain(arm, best.angles_deg[-1], up), target))
    size = float(np.ptp(ends, axis=0).max())
    recording.log("scene", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    corners = floor_corners(ends, size)
    recording.log("scene/floor", _grid(corners, round_step(size, 10)), static=True)
    cell_axes = up.turn(base.turn_to_base(np.eye(3))) * 0.2 * size
    foot = corners[0]
    recording.log(
        "scene/cell",
        rr.Arrows3D(
            vectors=cell_axes,
            origins=[foot] * 3,
            radii=[0.004 * size],
            colors=[rgb(SOFT_INK)] * 3,
            labels=["x", "y", "z"],
        ),
        static=True,
    )
    mark = rr.Points3D([target], radii=[0.012 * size], colors=[rgb(VERMILLION)], labels=["target"])
    recording.log("scene/target", mark, static=True)
    if trace.target.rotation is not None:
        wanted = up.turn(trace.target.rotation[:, 2]) * 0.15 * size
        arrow = rr.Arrows3D(vectors=[wanted], origins=[target], radii=[0.005 * size], colors=[rgb(VERMILLION)])
        recording.log("scene/target/direction", arrow, static=True)
    log_shells(recording, arm)
    curves = [("errors/position_mm", "position, mm", BLUE), ("errors/rotation_deg", "rotation, °", PURPLE)]
    for i, joint in enumerate(arm.data.joint):
        curves.append((f"joints_deg/{joint.name}", joint.name, JOINT_COLOURS[i % len(JOINT_COLOURS)]))
    for path, name, colour in curves:
        recording.log(path, rr.SeriesLines(names=[name], colors=[rgb(colour)], widths=[2.0]), static=True)
    result = best.result
    words = f"# {arm.data.title}\n{solver}: **{result.status.value}** after {result.steps} steps, "
    words += f"{result.residual_mm:.3g} mm and {result.residual_deg:.3g}° left; attempts: {len(trace.attempts)}"
    recording.log("summary", rr.TextDocument(words, media_type="text/markdown"), static=True)
    return size


def log_shells(recording: rr.RecordingStream, arm: ArmModel) -> None:
    """The arm's collision shapes, once, each in its link's frame."""
    for i, shape in enumerate(arm.data.shape):
        recording.log(f"scene/shells/link{shape.link}/{i}", _shell(shape), static=True)


def log_arm(recording: rr.RecordingStream, arm: ArmModel, pose_deg: FloatArray, up: Upright, size: float) -> FloatArray:
    """The arm in one pose; returns its tool point as drawn."""
    chain, T = arm_chain(arm, pose_deg, up), link_poses(pose_deg, arm)
    axes = up.turn(np.stack([T[i, :3, :3] @ arm.axes[i] for i in range(arm.n_joints)])) * 0.17 * size
    recording.log("scene/links", rr.LineStrips3D([chain], radii=[0.010 * size], colors=[rgb(BLUE)]))
    names = [joint.name for joint in arm.data.joint]
    recording.log(
        "scene/axes",
        rr.Arrows3D(
            vectors=axes,
            origins=chain[1:-1] - axes / 2,
            radii=[0.006 * size],
            colors=[rgb(ORANGE)] * len(axes),
            labels=names,
        ),
    )
    along = up.turn(T[-1, :3, 2]) * 0.13 * size
    recording.log(
        "scene/tool", rr.Arrows3D(vectors=[along], origins=[chain[-1]], radii=[0.006 * size], colors=[rgb(GREEN)])
    )
    frames = np.concatenate((np.eye(4)[None], T[:-1]))
    for link in sorted({shape.link for shape in arm.data.shape}):
        recording.log(
            f"scene/shells/link{link}",
            rr.Transform3D(translation=up.points(frames[link, :3, 3]), mat3x3=up.R @ frames[link, :3, :3]),
        )
    return np.asarray(chain[-1])


def _grid(corners: FloatArray, step: float) -> rr.LineStrips3D:
    (x0, y0), (x1, y1) = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
    across = [[[x, y0, 0.0], [x, y1, 0.0]] for x in np.arange(x0, x1 + step / 2, step)]
    along = [[[x0, y, 0.0], [x1, y, 0.0]] for y in np.arange(y0, y1 + step / 2, step)]
    return rr.LineStrips3D([*across, *along], radii=rr.Radius.ui_points(0.8), colors=[rgb(LINE_GREY)])


def _shell(shape: Shape) -> rr.Capsules3D | rr.Boxes3D:
    """A collision shape in its link's frame."""
    colours = [(*rgb(SOFT_INK), _SHELL_ALPHA)]
    if shape.kind == "box":
        half, centre = np.array(shape.half_mm) / 1000.0, np.array(shape.centre_mm) / 1000.0
        return rr.Boxes3D(half_sizes=[half], centers=[centre], colors=colours, fill_mode="solid")
    a, b = np.array(shape.a_mm) / 1000.0, np.array(shape.b_mm) / 1000.0
    length, radius = float(np.linalg.norm(b - a)), (shape.radius_mm or 0.0) / 1000.0
    turn = rr.Quaternion(xyzw=_from_z((b - a) / length) if length > 0 else np.array([0.0, 0.0, 0.0, 1.0]))
    return rr.Capsules3D(
        lengths=[length], radii=[radius], translations=[a], quaternions=[turn], colors=colours, fill_mode="solid"
    )


def _from_z(along: FloatArray) -> FloatArray:
    """The quaternion (x, y, z, w) that turns z into a direction."""
    q = np.array([-along[1], along[0], 0.0, 1.0 + along[2]])
    length = float(np.linalg.norm(q))
    return q / length if length > 1e-9 else np.array([1.0, 0.0, 0.0, 0.0])


def rgb(colour: Bgr) -> tuple[int, int, int]:
    b, g, r = colour
    return r, g, b
