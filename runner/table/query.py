"""One question to the reach table and its answer: what may be asked, what comes back.

Checks questions and holds answers; searches nothing. It loads nothing heavy, so that the command line answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from runner.table.errors import BadQuery

if TYPE_CHECKING:
    from runs.schema.geometry import TablePoint

DEFAULT_TOL_DEG = 5.0  # of j3_ref and j5_ref
_FARTHEST_M = 20.0  # a target beyond that is millimetres by mistake

JointTest = tuple[int, float, float]
"""A joint, its reference and its tolerance, degrees: the joint must be that near to it."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question. Angles in degrees; `ee_y_band_m` takes in its lower end only."""

    target_xz_m: TablePoint
    ee_y_band_m: tuple[float, float]
    dist_max_m: float
    j3_ref: float | None = None
    j3_tol_deg: float | None = None
    j5_ref: float | None = None
    j5_tol_deg: float | None = None
    ref_joints: tuple[float, ...] | None = None
    joint_tol_deg: float | None = None
    place_ee_y_floor: float | None = None


class Found(NamedTuple):
    """The answer. Row numbers count from 0. A tuple, for it is made in a quarter of a dataclass's time."""

    method: str  # "fk_nearest" or "out_of_range"
    query: Query
    rows: int  # of the table
    selected_idx: int | None = None
    ee_xz_m: TablePoint | None = None
    ee_y_m: float | None = None
    joints_deg: tuple[float, ...] | None = None
    dist_m: float | None = None
    max_dj_deg: float | None = None  # largest joint difference to the reference
    candidates_left: dict[str, int] | None = None  # rows after each filter; counted when refused
    abort_reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a row."""
        return self.method == "fk_nearest"

    @property
    def pose_id(self) -> str | None:
        """The row's name in the log."""
        return None if self.selected_idx is None else f"fk_row_{self.selected_idx}"

    @property
    def x_residual_m(self) -> float | None:
        """The row's point less the target in x, as a size."""
        return None if self.ee_xz_m is None else abs(self.ee_xz_m[0] - self.query.target_xz_m[0])

    @property
    def z_residual_m(self) -> float | None:
        """The same in z."""
        return None if self.ee_xz_m is None else abs(self.ee_xz_m[1] - self.query.target_xz_m[1])


def as_logged(
    found: Found,
    *,
    label: str,
    phase: str,
    source_file: str,
    requested_xz_m: TablePoint | None = None,
    attempt: int | None = None,
) -> dict[str, Any]:
    """The answer under the run log's keys, all of them, before refining."""
    q, joints = found.query, found.joints_deg
    nearest = {"detect_xz_m": None, "j0_cmd": None, "ee_xz_m": found.ee_xz_m, "ee_y_m": found.ee_y_m, "joints": joints}
    return {
        "label": label,
        "phase": phase,
        "source_file": source_file,
        "pose_id": found.pose_id,
        "target_xz_m": q.target_xz_m,
        "j0": None if joints is None else joints[0],
        "method": found.method,
        "x_residual_m": found.x_residual_m,
        "z_residual_m": found.z_residual_m,
        "interp_xz_m": found.ee_xz_m,
        "joint_limit_ok": found.ok,
        "joint_limit_violations": (),
        "target_angles": joints,
        "base_angles": joints,
        "nearest_pts": () if found.selected_idx is None else (nearest,),
        "interp_t": None,
        "interp_seg_idx": None,
        "ee_y_m_selected": found.ee_y_m,
        "max_dj_deg": found.max_dj_deg,
        "joint_tol_deg_used": q.joint_tol_deg if q.ref_joints is not None else None,
        "guard_pass": found.ok,
        "guard_reason": found.abort_reason,
        "at": None,
        "attempt": attempt,
        "requested_xz_m": requested_xz_m,
        "total_residual_m": found.dist_m,
        "dist_m": found.dist_m,
        "used_angles": joints,
        "ee_y_band_m": q.ee_y_band_m,
        "selected_idx": found.selected_idx,
        "ref_joints_used": q.ref_joints if q.joint_tol_deg is not None else None,
        "abort_reason": found.abort_reason,
        "candidates_left": found.candidates_left,
        "refined": None,
        "skipped": (),
    }


def joint_tests(query: Query) -> list[tuple[str, tuple[JointTest, ...]]]:
    """The filters by joints in the order in which they apply: a name and the tests that a row must all pass."""
    out: list[tuple[str, tuple[JointTest, ...]]] = []
    for name, joint, ref, tol in (
        ("j3_ref", 3, query.j3_ref, query.j3_tol_deg),
        ("j5_ref", 5, query.j5_ref, query.j5_tol_deg),
    ):
        if ref is not None:
            out.append((name, ((joint, ref, DEFAULT_TOL_DEG if tol is None else tol),)))
    tol = query.joint_tol_deg
    if query.ref_joints is not None and tol is not None:
        out.append(("ref_joints", tuple((joint, ref, tol) for joint, ref in enumerate(query.ref_joints))))
    return out


def check(query: Query, n_joints: int) -> None:
    """Refuse a question that can't be meant.

    Raises:
        BadQuery: names the argument.
    """
    x, z = query.target_xz_m
    lo, hi = query.ee_y_band_m
    if not (
        -_FARTHEST_M <= x <= _FARTHEST_M
        and -_FARTHEST_M <= z <= _FARTHEST_M
        and isfinite(lo)
        and isfinite(hi)
        and lo < hi
        and query.dist_max_m >= 0
        and (query.place_ee_y_floor is None or isfinite(query.place_ee_y_floor))
    ):
        _refuse(query)
    if (
        query.ref_joints is not None
        or query.joint_tol_deg is not None
        or query.j3_ref is not None
        or query.j3_tol_deg is not None
        or query.j5_ref is not None
        or query.j5_tol_deg is not None
    ):
        _check_references(query, n_joints)


def _refuse(query: Query) -> None:
    """Name the argument of the place or the band that can't be meant."""
    x, z = query.target_xz_m
    lo, hi = query.ee_y_band_m
    for name, value in (
        ("x", x),
        ("z", z),
        ("ee_y_min", lo),
        ("ee_y_max", hi),
        ("place_ee_y_floor", query.place_ee_y_floor),
    ):
        if value is not None and not isfinite(value):
            raise BadQuery(name, f"must be a finite number, got {value}")
    for name, value in (("x", x), ("z", z)):
        if abs(value) > _FARTHEST_M:
            raise BadQuery(name, f"{value} m is no place on a table; give metres, not mm")
    if not lo < hi:
        raise BadQuery("ee_y_min", f"{lo} is not below ee_y_max {hi}")
    raise BadQuery("dist_max_m", f"must be a distance, got {query.dist_max_m}")


def _check_references(query: Query, n_joints: int) -> None:
    for name, value in (("j3_ref", query.j3_ref), ("j5_ref", query.j5_ref)):
        if value is not None and not isfinite(value):
            raise BadQuery(name, f"must be a finite number, got {value}")
    ref = query.ref_joints
    for name, given, tol in (
        ("j3", query.j3_ref is not None, query.j3_tol_deg),
        ("j5", query.j5_ref is not None, query.j5_tol_deg),
        ("joint", ref is not None, query.joint_tol_deg),
    ):
        if tol is None:
            continue
        if not given:
            raise BadQuery(f"{name}_tol_deg", "a tolerance without a reference")
        if not (isfinite(tol) and tol >= 0):
            raise BadQuery(f"{name}_tol_deg", f"must be a finite number from 0, got {tol}")
    if query.j3_ref is not None and n_joints <= 3:
        raise BadQuery("j3_ref", f"the arm has {n_joints} joints")
    if query.j5_ref is not None and n_joints <= 5:
        raise BadQuery("j5_ref", f"the arm has {n_joints} joints")
    if ref is not None and (len(ref) != n_joints or not all(map(isfinite, ref))):
        raise BadQuery("ref_joints", f"must be {n_joints} finite angles in degrees, got {ref}")
