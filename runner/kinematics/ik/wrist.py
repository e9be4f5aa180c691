"""What a closed form needs to know of an arm: found in its joints' axes, or a refusal that says what is in the way.

The family: six joints, the second and third parallel, the first not parallel to them, and a wrist whose fifth and sixth
axes meet in a point (the wrist's centre) that the fourth axis passes within a few millimetres. The mechArm 270 is one,
with 1 mm between its fourth axis and the centre. Reckons once per arm; solves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.kinematics.errors import NoClosedForm
from runner.kinematics.fk import frames_about_z
from runner.kinematics.model import ArmModel, FloatArray, frozen

LARGEST_OFFSET_M = 0.005  # from the fourth axis to the wrist's centre
LARGEST_GAP_M = (
    0.0002  # between the fifth axis and the sixth: the polish makes up for it, but not next to a singularity
)
_PARALLEL = 1e-6
_CROSSED = 0.1  # sine of the least angle between axes that must not be parallel


@dataclass(frozen=True, slots=True, eq=False)
class Wrist:
    """The arm's constants; arrays are read-only."""

    constants: FloatArray  # (25, 3), rows as `closed_kernels` names them
    frames: FloatArray  # (7, 3, 4), see `kernels`
    offset_m: float  # from the fourth axis to the wrist's centre
    gap_m: float  # between the fifth and the sixth axis


def wrist_of(arm: ArmModel) -> Wrist:
    """What the closed form needs of this arm with this tool.

    Raises:
        NoClosedForm: the arm is not of the family; the error says in what.
    """
    if arm.n_joints != 6:
        raise NoClosedForm(arm.name, f"it has {arm.n_joints} joints, not six")
    axes, points, tool = _at_zero(arm)
    _refuse_others(arm, axes, points)
    centre, gap_m = _meeting(points[4], axes[4], points[5], axes[5])
    on_fourth = points[3] + axes[3] * float(axes[3] @ (centre - points[3]))
    offset_m = float(np.linalg.norm(centre - on_fourth))
    if gap_m > LARGEST_GAP_M:
        allowed = f"at most {LARGEST_GAP_M * 1000.0:g} mm"
        raise NoClosedForm(arm.name, f"its last two axes pass each other at {gap_m * 1000.0:.1f} mm ({allowed})")
    if offset_m > LARGEST_OFFSET_M:
        allowed = f"at most {LARGEST_OFFSET_M * 1000.0:g} mm"
        raise NoClosedForm(
            arm.name, f"its fourth axis passes the wrist's centre at {offset_m * 1000.0:.1f} mm ({allowed})"
        )
    F = _rows_with_z_along(axes[1])
    a = axes @ F.T
    p = (points - points[1]) @ F.T
    c, w = (on_fourth - points[1]) @ F.T, (centre - points[1]) @ F.T
    if offset_m < 1e-12:
        offset_m, w = 0.0, c
    kappa = float(a[4] @ a[5])
    across = a[5] - kappa * a[4]
    x6 = axes[4] - kappa * axes[5]
    x6 /= np.linalg.norm(x6)
    y6 = np.cross(axes[5], x6)
    R, t = tool[:3, :3], tool[:3, 3]
    rows = [a[0], p[0], p[2]]
    turned = _turned_by(a[3], w - c)
    turned[0] += c - p[2]
    rows += [*turned, *_turned_by(a[3], a[4]), *_turned_by(a[3], across), *_turned_by(a[3], np.cross(a[4], across))]
    doubt = np.array([1e-6 + 30.0 * gap_m, 40.0 * gap_m, gap_m])
    rows += [doubt, np.array([kappa, offset_m, np.sign(a[2] @ a[1])]), *F, points[1]]
    rows += [R.T @ (centre - t), R.T @ axes[5], R.T @ x6, R.T @ y6]
    return Wrist(frozen(np.array(rows)), frozen(frames_about_z(arm)), offset_m, gap_m)


def _refuse_others(arm: ArmModel, axes: FloatArray, points: FloatArray) -> None:
    def crossed(i: int, k: int) -> float:
        return float(np.linalg.norm(np.cross(axes[i], axes[k])))

    if crossed(1, 2) > _PARALLEL:
        angle = np.degrees(np.arcsin(min(1.0, crossed(1, 2))))
        raise NoClosedForm(arm.name, f"its second and third axis are not parallel ({angle:.3f}° apart)")
    between = points[2] - points[1]
    if np.linalg.norm(between - axes[1] * (axes[1] @ between)) < 1e-3:
        raise NoClosedForm(arm.name, "its second and third joint turn about the same axis")
    if crossed(0, 1) < _CROSSED:
        raise NoClosedForm(arm.name, "its first axis is parallel to its second")
    for i in (3, 4):
        if crossed(i, i + 1) < _CROSSED:
            raise NoClosedForm(arm.name, f"its axes {i + 1} and {i + 2} are parallel, so its wrist has no centre")


def _at_zero(arm: ArmModel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit axes (6, 3), a point on each (6, 3) and the tool's frame (4, 4), at zero in the base frame."""
    axes, points, T = np.empty((6, 3)), np.empty((6, 3)), np.eye(4)
    for i in range(6):
        T = T @ arm.T_parent_joint[i]
        axes[i], points[i] = T[:3, :3] @ arm.axes[i], T[:3, 3]
    return axes, points, T @ arm.T_link_tcp


def _meeting(p: FloatArray, a: FloatArray, q: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """The point nearest to two lines that are not parallel, and how far they pass each other."""
    n = np.cross(a, b)
    s, _, d = np.linalg.solve(np.stack((a, -b, n), axis=1), q - p)
    return p + s * a + d * n / 2.0, abs(float(d)) * float(np.linalg.norm(n))


def _turned_by(axis: FloatArray, v: FloatArray) -> FloatArray:
    """Constant, cosine and sine part (3, 3) of a vector turned about a unit axis."""
    along = axis * float(axis @ v)
    return np.stack((along, v - along, np.cross(axis, v)))


def _rows_with_z_along(axis: FloatArray) -> FloatArray:
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.stack((x, np.cross(axis, x), axis))
