"""One inverse kinematics search as a picture: the arm at its answer, how it got there, errors, joints and limits.

Shows what a `Trace` says and solves nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.frames import BaseInCell, stance_of_rotation
from runner.kinematics.ik.protocol import IkStatus
from runner.kinematics.ik.trace import Trace
from runner.kinematics.model import ArmModel, FloatArray
from runner.pictures.arm_drawing import ArmDrawing, draw_arm, length_text
from runner.pictures.canvas import BLUE, INK, LINE_GREY, PURPLE, SHELL_GREY, SOFT_INK, Canvas
from runner.pictures.chart import Curve, draw_curves
from runs.files import write_atomic
from vision.overlay import GREEN, ORANGE, SKY_BLUE, VERMILLION, WHITE

WIDTH_PX, HEIGHT_PX = 1600, 1000
_SPLIT = 1010.0  # left of it the arm, right of it curves and joints
_WORDS = {
    IkStatus.CONVERGED: "converged",
    IkStatus.STALLED: "stalled: this is the nearest pose found",
    IkStatus.MAX_STEPS: "ran out of steps",
}


def ik_picture(
    trace: Trace,
    arm: ArmModel,
    base: BaseInCell,
    *,
    solver: str,
    tolerance_mm: float,
    tolerance_deg: float,
) -> NDArray[np.uint8]:
    """The picture, blue, green, red, uint8, shape (1000, 1600, 3).

    Args:
        trace: the search.
        arm: with the tool that it was searched for.
        base: where the arm stands.
        solver: its name, for the title.
        tolerance_mm, tolerance_deg: of the solver.
    """
    best = trace.best
    canvas = Canvas(WIDTH_PX, HEIGHT_PX)
    target_cell = base.to_cell(trace.target.position_m)
    turned = trace.target.rotation is not None
    canvas.text((40, 52), f"{arm.data.title}: {solver}", size=25, weight=700)
    canvas.text((40, 82), _asked(target_cell, trace, base), size=16, colour=SOFT_INK)
    drawing = ArmDrawing(
        arm=arm,
        base=base,
        poses_deg=best.angles_deg,
        target_m=trace.target.position_m,
        target_R=trace.target.rotation,
        residual_mm=best.result.residual_mm,
        reached=best.result.converged,
    )
    draw_arm(canvas, (70.0, 130.0, _SPLIT - 130.0, HEIGHT_PX - 280.0), drawing)
    _legend(canvas, 40.0, HEIGHT_PX - 52.0, turned=turned, steps=best.result.steps, shells=bool(arm.data.shape))
    right = _SPLIT + 70.0
    _verdict(canvas, right, trace)
    curves = [Curve("position", "mm", [a.residual_mm for a in trace.attempts], tolerance_mm, BLUE, False)]
    if turned:
        curves.append(Curve("rotation", "°", [a.residual_deg for a in trace.attempts], tolerance_deg, PURPLE, True))
    chosen = next(i for i, attempt in enumerate(trace.attempts) if attempt is best)
    canvas.text((right - 45, 160), "Error left after each step", size=17, weight=600)
    draw_curves(canvas, (right, 212.0, WIDTH_PX - right - 45.0, 330.0), curves, chosen=chosen)
    _joints(canvas, right - 45, 655.0, arm, trace, best.angles_deg)
    return canvas.finished()


def write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    """Write a picture, whole or not at all.

    Raises:
        StorageUnwritable: it can't be written.
    """
    _, data = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    write_atomic(path, data.tobytes())


def _asked(target_cell_m: FloatArray, trace: Trace, base: BaseInCell) -> str:
    x, y, z = (f"{v:.3f}" for v in target_cell_m)
    frame = "the cell (x right, y up, z forward)" if np.linalg.det(base.M) < 0 else "the arm's frame (y up)"
    words = f"target x {x}, y {y}, z {z} m in {frame}"
    if trace.target.rotation is not None:
        stance = stance_of_rotation(trace.target.rotation, base)
        words += f", tool {round(stance.tilt_deg)}° below the level, heading {round(stance.heading_deg)}°"
    return words.replace("-", "−")


def _verdict(canvas: Canvas, left: float, trace: Trace) -> None:
    best = trace.best.result
    colour = GREEN if best.converged else VERMILLION
    canvas.disc((left - 37, 46), 8.0, colour)
    canvas.text((left - 20, 52), _WORDS[best.status], size=19, weight=600)
    tries = len(trace.attempts)
    words = f"{best.steps} step{'' if best.steps == 1 else 's'}, {length_text(best.residual_mm)}"
    words += f" and {_angle(best.residual_deg)} left" if trace.target.rotation is not None else " left"
    if tries > 1:
        words += f"; the best of {tries} attempts"
    canvas.text((left - 45, 82), words, size=16, colour=SOFT_INK)
    if tries > 1:
        total = sum(attempt.result.steps for attempt in trace.attempts)
        note = f"{total} steps in all; dotted lines part the attempts"
        canvas.text((left - 45, 106), note, size=16, colour=SOFT_INK)


def _angle(deg: float) -> str:
    return "under 0.001°" if deg < 0.001 else f"{deg:.3g}°"


def _joints(canvas: Canvas, left: float, top: float, arm: ArmModel, trace: Trace, poses_deg: FloatArray) -> None:
    """Each joint's range as a bar, with where it began and where it ended."""
    canvas.text((left, top), "Joints within their limits, °", size=17, weight=600)
    limits = trace.limits
    bar_left, bar_right = left + 108, WIDTH_PX - 150.0
    step = min(42.0, 250.0 / arm.n_joints)
    for i in range(arm.n_joints):
        y = top + 34 + step * i
        lo, hi = float(limits.min_deg[i]), float(limits.max_deg[i])

        def at(angle: float, lo: float = lo, hi: float = hi) -> float:
            return bar_left + (bar_right - bar_left) * (angle - lo) / (hi - lo)

        canvas.text((left, y + 5), arm.data.joint[i].name, size=16, weight=600)
        canvas.text((bar_left - 10, y + 5), f"{lo:.0f}".replace("-", "−"), size=13, colour=SOFT_INK, align="right")
        canvas.text((bar_right + 10, y + 5), f"{hi:.0f}", size=13, colour=SOFT_INK)
        canvas.line([(bar_left, y), (bar_right, y)], LINE_GREY, 7.0)
        began, ended = at(float(poses_deg[0, i])), at(float(poses_deg[-1, i]))
        canvas.line([(began, y), (ended, y)], SKY_BLUE, 3.0)
        canvas.ring((began, y), 5.0, SOFT_INK, 2.0)
        canvas.disc((ended, y), 7.4, WHITE)
        canvas.disc((ended, y), 6.0, BLUE)
        value = f"{round(float(poses_deg[-1, i]), 1) + 0.0:.1f}".replace("-", "−")
        canvas.text((WIDTH_PX - 40.0, y + 5), value, size=15, weight=600, align="right")
    y = top + 34 + step * arm.n_joints + 4
    canvas.ring((left + 6, y - 5), 5.0, SOFT_INK, 2.0)
    canvas.text((left + 20, y), "start", size=14)
    canvas.disc((left + 78, y - 5), 6.0, BLUE)
    canvas.text((left + 92, y), "answer", size=14)


def _legend(canvas: Canvas, left: float, base: float, *, turned: bool, steps: int, shells: bool) -> None:
    x, y = left, base
    words: Sequence[tuple[str, str]] = [
        ("link", "link"),
        ("axis", "joint and its axis"),
        ("tool", "tool point and its z axis"),
        ("target", "target" + (" and z axis wanted" if turned else "")),
        ("start", "start"),
        *([("step", "after each step")] if steps > 1 else []),
        *([("shell", "collision shapes")] if shells else []),
    ]
    for kind, text in words:
        width = 46.0 + canvas.text_width(text, size=14) + 22.0
        if x + width > _SPLIT + 10:
            x, y = left, y + 26.0
        _sample(canvas, kind, x, y - 5)
        canvas.text((x + 42, y), text, size=14)
        x += width


def _sample(canvas: Canvas, kind: str, x: float, y: float) -> None:
    if kind == "link":
        canvas.line([(x + 4, y), (x + 30, y)], BLUE, 8.0)
    elif kind == "axis":
        canvas.arrow((x, y), (x + 34, y), ORANGE, 3.0, head=11.0)
        canvas.disc((x + 14, y), 6.6, INK)
        canvas.disc((x + 14, y), 5.2, ORANGE)
    elif kind == "tool":
        canvas.arrow((x + 4, y), (x + 34, y), GREEN, 3.0, head=11.0)
        canvas.disc((x + 4, y), 4.6, GREEN)
    elif kind == "target":
        canvas.ring((x + 17, y), 7.0, VERMILLION, 2.2)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            canvas.line([(x + 17 + 4 * dx, y + 4 * dy), (x + 17 + 11 * dx, y + 11 * dy)], VERMILLION, 2.2)
    elif kind == "start":
        canvas.dashed((x, y), (x + 34, y), SOFT_INK, 2.2, on=8, off=5)
    elif kind == "step":
        canvas.line([(x, y), (x + 34, y)], SKY_BLUE, 2.2)
        canvas.disc((x + 17, y), 3.6, SKY_BLUE)
    else:
        canvas.area([(x + 2, y - 7), (x + 32, y - 7), (x + 32, y + 7), (x + 2, y + 7)], SHELL_GREY)
