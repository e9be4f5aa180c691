"""How far the arm is from the table, the box, the mast, the block and itself: at poses, and along a path of poses.

Clearances are signed millimetres; below zero the two overlap. They are never better than the truth: spheres are drawn a
little too large, and two boxes count as near as their widest separating axis says. Decides nothing: margins are
compared by `first_broken`, and it is the caller who refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from runner.geometry.bodies import HELD, Body, arm_body, with_held
from runner.geometry.distance import Axes, Vec, axes_of, box_to_box, components, minus, point_to_box
from runner.geometry.obstacles import BOX_FLOOR, HeldBlock, Obstacles, Solids, solids_of
from runner.kinematics.errors import NoShells
from runner.kinematics.fk import link_poses
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray
from runner.settings.moves import GuardSettings

IntArray = NDArray[np.int64]

_BUILT_TOUCHING_M = 0.015  # shells of links two apart that are nearer than this at zero can't move apart or together
_BLOCK_OF_POSES = 256
_NOISE_MM = 0.2  # of readings: a pose read twice may be that much nearer


@dataclass(frozen=True, slots=True)
class Clearance:
    """The smallest distance to one obstacle: which part, from what, and at which of the poses."""

    mm: float
    what: str  # "pad", "link 3", "held block", …
    against: str  # "table", "box", "box floor", "mast", "block" or "arm"
    pose_index: int


@dataclass(frozen=True, slots=True, eq=False)
class _Distances:
    """Distances (k, P) in metres of k pieces, which belong to these parts of the body, to one obstacle."""

    against: str
    metres: FloatArray
    parts: IntArray


def clearances(angles_deg: FloatArray, arm: ArmModel, base: BaseInCell, obstacles: Obstacles) -> tuple[Clearance, ...]:
    """The smallest clearance to each obstacle over the poses.

    Args:
        angles_deg: poses, shape (P, n_joints) or (n_joints,).
        arm: with the tool that is mounted.
        base: where it stands.
        obstacles: what stands round it, how far its jaws are open, what they hold.

    Raises:
        WrongJoints: angles that are not one finite number a joint.
        OutsideOpening: the jaws can't be that far apart.
    """
    body, found = _measured(np.atleast_2d(np.asarray(angles_deg, dtype=float)), arm, base, obstacles)
    smallest: dict[str, Clearance] = {}
    for d in found:
        k, pose = np.unravel_index(int(np.argmin(d.metres)), d.metres.shape)
        mm = float(d.metres[k, pose]) * 1000.0
        if d.against not in smallest or mm < smallest[d.against].mm:
            smallest[d.against] = Clearance(mm, body.parts[int(d.parts[k])], d.against, int(pose))
    return tuple(smallest.values())


def smallest_mm(angles_deg: FloatArray, arm: ArmModel, base: BaseInCell, obstacles: Obstacles) -> FloatArray:
    """The smallest clearance to anything of each pose, shape (P,), for sorting many poses at once.

    Raises:
        NoShells: the arm file has neither shells nor a gripper.
    """
    found = each_clearance_mm(angles_deg, arm, base, obstacles)
    return np.asarray(np.min(list(found.values()), axis=0))


def each_clearance_mm(
    angles_deg: FloatArray, arm: ArmModel, base: BaseInCell, obstacles: Obstacles
) -> dict[str, FloatArray]:
    """The clearance of each pose to each obstacle, shape (P,) by its name, for judging many poses at once.

    Raises:
        NoShells: the arm file has neither shells nor a gripper.
    """
    poses = np.atleast_2d(np.asarray(angles_deg, dtype=float))
    out: dict[str, FloatArray] = {}
    for start in range(0, len(poses), _BLOCK_OF_POSES):
        part = slice(start, start + _BLOCK_OF_POSES)
        _, found = _measured(poses[part], arm, base, obstacles)
        if not found:
            raise NoShells(arm.name)
        for d in found:
            nearest = out.setdefault(d.against, np.full(len(poses), np.inf))
            nearest[part] = np.minimum(nearest[part], d.metres.min(axis=0) * 1000.0)
    return out


def swept(
    waypoints_deg: FloatArray, arm: ArmModel, base: BaseInCell, obstacles: Obstacles, *, step_deg: float
) -> tuple[Clearance, ...]:
    """The smallest clearance to each obstacle along the joint-space path through the waypoints, shape (k, n_joints).

    `pose_index` counts the poses that `interpolated` gives for the same step.
    """
    return clearances(interpolated(waypoints_deg, step_deg), arm, base, obstacles)


def interpolated(waypoints_deg: FloatArray, step_deg: float) -> FloatArray:
    """The path with poses put in, so that no joint goes farther than `step_deg` between two of them."""
    points = np.atleast_2d(np.asarray(waypoints_deg, dtype=float))
    parts = [points[:1]]
    for a, b in pairwise(points):
        count = max(1, int(np.ceil(np.abs(b - a).max() / step_deg - 1e-9)))
        parts.append(a + (b - a) * (np.arange(1, count + 1) / count)[:, None])
    return np.concatenate(parts)


def margin_mm(against: str, guard: GuardSettings) -> float:
    """The least clearance that the settings ask for."""
    margins = {
        "table": guard.table_mm,
        "box": guard.box_mm,
        BOX_FLOOR: guard.box_mm,
        "mast": guard.mast_mm,
        "arm": guard.self_mm,
        "block": guard.block_mm,
    }
    return margins[against]


def first_broken(
    found: tuple[Clearance, ...], guard: GuardSettings, *, standing: tuple[Clearance, ...] = ()
) -> Clearance | None:
    """The clearance that misses its margin by most, or None where all is well.

    Args:
        found: of a path.
        guard: the margins.
        standing: of the pose that the arm stands in; where that is nearer than the margin already, the path may stay as
            near but not come nearer, so that an arm can leave a tight place.
    """
    allowed = {c.against: c.mm - _NOISE_MM for c in standing}
    worst, worst_by = None, 0.0
    for c in found:
        margin = margin_mm(c.against, guard)
        short_by = min(margin, allowed.get(c.against, margin)) - c.mm
        if short_by > worst_by:
            worst, worst_by = c, short_by
    return worst


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A body at P poses in the cell frame, metres: each coordinate (S, P) or (B, P), so that long rows are reckoned."""

    sphere: Vec
    box: Vec
    box_axes: Axes


def _measured(
    poses: FloatArray, arm: ArmModel, base: BaseInCell, obstacles: Obstacles
) -> tuple[Body, list[_Distances]]:
    body = arm_body(arm, obstacles.opening_mm)
    if obstacles.held is not None:
        body = with_held(body, obstacles.held, arm)
    placed = _place(poses, body, arm, base)
    found = [
        *_to_table(body, placed, obstacles.held_may_rest),
        *_to_solids(body, placed, solids_of(obstacles), obstacles.held_may_rest and obstacles.rests_in_box),
        *_to_itself(body, placed, _pairs(arm, obstacles.opening_mm, obstacles.held is not None)),
    ]
    return body, [d for d in found if d.metres.size]


def _place(poses: FloatArray, body: Body, arm: ArmModel, base: BaseInCell) -> _Placed:
    T = np.empty((len(poses), arm.n_joints + 2, 4, 4))
    T[:, 0] = np.eye(4)
    T[:, 1:] = link_poses(poses, arm)
    R, t = base.M @ T[..., :3, :3], base.to_cell(T[..., :3, 3])
    s, b = body.sphere_frame, body.box_frame
    return _Placed(
        components(((R[:, s] @ body.sphere_m[:, :, None])[..., 0] + t[:, s]).swapaxes(0, 1)),
        components(((R[:, b] @ body.box_m[:, :, None])[..., 0] + t[:, b]).swapaxes(0, 1)),
        axes_of((R[:, b] @ body.box_axes).swapaxes(0, 1)),
    )


def _taken(vec: Vec, rows: IntArray) -> Vec:
    return vec[0][rows], vec[1][rows], vec[2][rows]


def _taken_axes(axes: Axes, rows: IntArray) -> Axes:
    return _taken(axes[0], rows), _taken(axes[1], rows), _taken(axes[2], rows)


def _over_poses(vectors: FloatArray) -> Vec:
    """Vectors (k, 3) that are the same at every pose."""
    x, y, z = components(vectors)
    return x[:, None], y[:, None], z[:, None]


def _beyond(body: Body, part: IntArray, lowest_link: int) -> IntArray:
    """The pieces on links from `lowest_link` on: the base and the turning column can't go down or sideways."""
    return np.flatnonzero(body.part_link[part] >= lowest_link)


def _to_table(body: Body, placed: _Placed, held_may_rest: bool) -> list[_Distances]:
    s, b = _beyond(body, body.sphere_part, 2), _beyond(body, body.box_part, 2)
    if held_may_rest and HELD in body.parts:
        b = b[body.box_part[b] != body.parts.index(HELD)]
    low = placed.sphere[1][s] - body.sphere_radius_m[s, None]
    reach = sum(np.abs(placed.box_axes[i][1][b]) * body.box_half_m[b, i, None] for i in range(3))
    box_low = placed.box[1][b] - reach
    return [_Distances("table", low, body.sphere_part[s]), _Distances("table", box_low, body.box_part[b])]


def _to_solids(body: Body, placed: _Placed, solids: Solids, rests_in_box: bool) -> list[_Distances]:
    if not solids.names:
        return []
    s, b = _beyond(body, body.sphere_part, 1), _beyond(body, body.box_part, 1)
    # (O, 1, 1) against (k, P)
    centre, half = components(solids.centre_m[:, None, None]), components(solids.half_m[:, None, None])
    axes = axes_of(solids.axes[:, None, None])
    spheres = point_to_box(_taken(placed.sphere, s), centre, axes, half) - body.sphere_radius_m[s, None]
    mine = _taken(placed.box, b), _taken_axes(placed.box_axes, b), _over_poses(body.box_half_m[b])
    boxes = box_to_box(*mine, centre, axes, half)
    names = np.array(solids.names)
    found = []
    for name in dict.fromkeys(solids.names):
        of_name = names == name
        found.append(_Distances(name, spheres[of_name].min(axis=0), body.sphere_part[s]))
        rests = rests_in_box and name == BOX_FLOOR
        counts = (
            np.flatnonzero(body.box_part[b] != body.parts.index(HELD)) if rests and HELD in body.parts else slice(None)
        )
        found.append(_Distances(name, boxes[of_name].min(axis=0)[counts], body.box_part[b][counts]))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pieces of the body that can meet."""

    first: IntArray  # spheres
    second: IntArray
    box: IntArray  # boxes and
    sphere: IntArray  # spheres
    box_a: IntArray  # boxes
    box_b: IntArray


def _to_itself(body: Body, placed: _Placed, pairs: _Pairs) -> list[_Distances]:
    x, y, z = minus(_taken(placed.sphere, pairs.first), _taken(placed.sphere, pairs.second))
    reach = body.sphere_radius_m[pairs.first] + body.sphere_radius_m[pairs.second]
    spheres = np.sqrt(x * x + y * y + z * z) - reach[:, None]
    near = point_to_box(
        _taken(placed.sphere, pairs.sphere),
        _taken(placed.box, pairs.box),
        _taken_axes(placed.box_axes, pairs.box),
        _over_poses(body.box_half_m[pairs.box]),
    )
    both = box_to_box(
        _taken(placed.box, pairs.box_a),
        _taken_axes(placed.box_axes, pairs.box_a),
        _over_poses(body.box_half_m[pairs.box_a]),
        _taken(placed.box, pairs.box_b),
        _taken_axes(placed.box_axes, pairs.box_b),
        _over_poses(body.box_half_m[pairs.box_b]),
    )
    return [
        _Distances("arm", spheres, body.sphere_part[pairs.second]),
        _Distances("arm", near - body.sphere_radius_m[pairs.sphere, None], body.box_part[pairs.box]),
        _Distances("arm", both, body.box_part[pairs.box_b]),
    ]


@lru_cache(maxsize=64)
def _pairs(arm: ArmModel, opening_mm: float | None, held: bool) -> _Pairs:
    """What can meet: pieces at least two links apart, but for those links that are built touching."""
    body = arm_body(arm, opening_mm)
    if held:
        body = with_held(body, HeldBlock(np.eye(4), 30.0), arm)
    n = arm.n_joints
    may = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1))) >= 2
    at = np.stack(_place(np.zeros((1, n)), body, arm, BaseInCell.at()).sphere)[:, :, 0]
    of_sphere, of_box = body.part_link[body.sphere_part], body.part_link[body.box_part]
    gap = np.linalg.norm(at[:, :, None] - at[:, None], axis=0)
    gap -= body.sphere_radius_m[:, None] + body.sphere_radius_m[None]
    for i, j in np.argwhere(gap < _BUILT_TOUCHING_M):
        if abs(of_sphere[i] - of_sphere[j]) == 2:
            may[of_sphere[i], of_sphere[j]] = False
    ordered = of_sphere[:, None] < of_sphere[None]
    first, second = np.nonzero(may[of_sphere[:, None], of_sphere[None]] & ordered)
    box, sphere = np.nonzero(may[of_box[:, None], of_sphere[None]])
    box_a, box_b = np.nonzero(may[of_box[:, None], of_box[None]] & (of_box[:, None] < of_box[None]))
    return _Pairs(first, second, box, sphere, box_a, box_b)
