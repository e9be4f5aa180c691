"""Approach files: from where the last move starts. An arc of taught pairs, or a grid with poses for every square.

Reads, writes and looks up; how a grid is made stands in `approach_grid.py`, and an arc is taught by sweeping j0. A
target outside the taught pairs of an arc is `out_of_range`, never the nearest guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import floor, hypot
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from annotated_types import Len
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from runner.kinematics.ik.protocol import JointLimits
from runner.table.errors import BadTableFile, NoApproachYet
from runner.table.format import keep_in_archive
from runner.table.rows import CellOfTable
from runs.files import sha256_hex, storage, write_atomic
from runs.schema.geometry import TablePoint
from runs.schema.motion import LimitViolation, LookupRecord, NearestPoint

ApproachPhase = Literal["approach_pick", "approach_place"]
APPROACH_FOLDER = "approach"
SQUARE_MM = 20


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ignored_types=(cached_property,))


class TaughtPair(_File):
    """Where the tip was seen when j0 stood there."""

    detect_xz_m: TablePoint
    j0_cmd: float


class ArcApproach(_File):
    """A base pose j1…j5 that j0 swings over an arc. Pairs in the order of j0."""

    kind: Literal["arc"] = "arc"
    phase: ApproachPhase
    pose_id: str
    cell: CellOfTable | None = None
    taught_at: str | None = None
    base_angles_deg: tuple[float, ...]
    pairs: Annotated[tuple[TaughtPair, ...], Len(2)]


class GridPose(_File):
    """One way to approach a square's centre: the pose before it and how the tool stands in the last move."""

    tilt_deg: float
    heading_deg: float
    lift_m: float  # how far before the target
    joints_deg: tuple[float, ...]
    descent_deg: float  # of the last move below the level: the tilt along the tool, 90 straight down
    height_y_m: float | None = None  # of the tool point at the target; None: the file's
    target_xz_m: TablePoint | None = None  # where it leads, where that is not the square's centre


class GridSquare(_File):
    """A 20 mm square with its approach poses, best first. Each: tilt, heading (deg), lift (m), joints (deg).

    `ends` has a row for each pose, or none where all lead to the centre, along the tool, at the file's height. Each:
    descent (deg), height (m), x and z of where it leads (m).
    """

    x_mm: int
    z_mm: int
    poses: tuple[tuple[float, ...], ...]
    ends: tuple[tuple[float, float, float, float], ...] = ()

    @model_validator(mode="after")
    def _an_end_for_each_pose(self) -> Self:
        if self.ends and len(self.ends) != len(self.poses):
            raise ValueError(f"{len(self.poses)} poses but {len(self.ends)} ends")
        return self

    @property
    def centre_xz_m(self) -> TablePoint:
        """The square's centre, metres."""
        return self.x_mm / 1000.0, self.z_mm / 1000.0

    def pose(self, i: int) -> GridPose:
        """The i-th pose with its figures named."""
        tilt, heading, lift, *joints = self.poses[i]
        common = {"tilt_deg": tilt, "heading_deg": heading, "lift_m": lift, "joints_deg": tuple(joints)}
        if not self.ends:
            return GridPose(**common, descent_deg=tilt)
        descent, height, x, z = self.ends[i]
        return GridPose(**common, descent_deg=descent, height_y_m=height, target_xz_m=(x, z))


class GridApproach(_File):
    """Approach poses for all squares of a region; squares without a pose are left out."""

    kind: Literal["grid"] = "grid"
    phase: ApproachPhase
    cell: CellOfTable
    made_at: str
    height_y_m: float  # of the tool point at the target
    joint_tol_deg: float | None  # place: every joint of the target's pose is within this
    squares: tuple[GridSquare, ...]

    @cached_property
    def by_square(self) -> dict[tuple[int, int], GridSquare]:
        """The squares by their centre in millimetres."""
        return {(s.x_mm, s.z_mm): s for s in self.squares}

    @cached_property
    def on_multiples(self) -> bool:
        """Whether every square stands round multiples of 20 mm."""
        return all(s.x_mm % SQUARE_MM == 0 and s.z_mm % SQUARE_MM == 0 for s in self.squares)

    def at(self, target_xz_m: TablePoint) -> GridSquare | None:
        """The square that a point lies in, of several the one with the nearest centre; None where there is none.

        Squares stand round multiples of 20 mm, or where a fill of the table put them.
        """
        own = self.by_square.get(square_mm(target_xz_m))
        if own is not None and self.on_multiples:
            return own
        return min(self.near(target_xz_m, 1e-6), key=lambda s: _centre_mm(s, target_xz_m), default=None)

    def near(self, target_xz_m: TablePoint, within_mm: float) -> list[GridSquare]:
        """Squares with poses whose edge is at most that far from a point, the point's own first, then by distance."""
        at = [(_gap_mm(s, target_xz_m), _centre_mm(s, target_xz_m), s) for s in self.squares]
        return [s for gap, _, s in sorted(at, key=lambda row: row[:2]) if gap <= within_mm]

    def nearest(self, target_xz_m: TablePoint) -> tuple[GridSquare, float] | None:
        """The nearest square that has a pose, and how far the point is outside of it, mm."""
        gaps = ((_gap_mm(s, target_xz_m), s) for s in self.squares)
        best = min(gaps, key=lambda row: row[0], default=None)
        return None if best is None else (best[1], best[0])


def _gap_mm(square: GridSquare, point_xz_m: TablePoint) -> float:
    dx, dz = abs(point_xz_m[0] * 1000.0 - square.x_mm), abs(point_xz_m[1] * 1000.0 - square.z_mm)
    return hypot(max(0.0, dx - SQUARE_MM / 2), max(0.0, dz - SQUARE_MM / 2))


def _centre_mm(square: GridSquare, point_xz_m: TablePoint) -> float:
    return hypot(point_xz_m[0] * 1000.0 - square.x_mm, point_xz_m[1] * 1000.0 - square.z_mm)


ApproachFile = Annotated[ArcApproach | GridApproach, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[ArcApproach | GridApproach] = TypeAdapter(ApproachFile)


@dataclass(frozen=True, slots=True)
class Approach:
    """An approach file as it was read: its name and hash stand in the run log."""

    content: ArcApproach | GridApproach
    name: str
    sha256: str


def square_mm(point_xz_m: TablePoint) -> tuple[int, int]:
    """The square of a point: each coordinate in mm to the nearest multiple of 20, a half away from zero."""
    x, z = (_nearest_multiple(c * 1000.0) for c in point_xz_m)
    return x, z


def read_approach(path: Path, *, wanted: CellOfTable | None = None) -> Approach:
    """An approach file.

    Args:
        path: of the file, in `approach/`.
        wanted: the arm, tool and base that it must have been made for.

    Raises:
        NoApproachYet: there is no such file.
        BadTableFile: cut off, not JSON, or other keys.
        WrongTable: made for another arm, tool or base.
    """
    if not path.exists():
        raise NoApproachYet(path)
    data = path.read_bytes()
    try:
        content = _ADAPTER.validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "the file"
        raise BadTableFile(path, f"{where}: {first['msg']}") from error
    if wanted is not None and content.cell is not None:
        content.cell.require(wanted, path)
    return Approach(content, path.name, sha256_hex(data))


def write_approach(path: Path, content: ArcApproach | GridApproach) -> Approach:
    """Put an approach file in its place, whole; what was there goes to `archive/` beside the folder `approach/`.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    data = content.model_dump_json().encode()
    if path.exists():
        keep_in_archive(path, path.parent.parent)
    write_atomic(path, data)
    return Approach(content, path.name, sha256_hex(data))


def lookup_arc(
    approach: Approach,
    target_xz_m: TablePoint,
    limits: JointLimits,
    *,
    label: str,
    j1_safe_max_deg: float,
    x_residual_max_m: float,
    requested_xz_m: TablePoint | None = None,
    attempt: int | None = None,
) -> LookupRecord:
    """j0 between the two taught pairs that enclose the target along x, as in the field (`method: interp`).

    Of several such segments the one whose point is nearest in z counts. The residual in z is reported only: it is
    structural, since one arc can't serve every radius.
    """
    arc = approach.content
    assert isinstance(arc, ArcApproach)
    best = min(_segments(arc, target_xz_m[0]), key=lambda s: (abs(s.z_m - target_xz_m[1]), s.index), default=None)
    common = {"label": label, "phase": arc.phase, "source_file": approach.name, "target_xz_m": target_xz_m,
              "base_angles": arc.base_angles_deg, "requested_xz_m": requested_xz_m, "attempt": attempt}  # fmt: skip
    if best is None:
        xs = [p.detect_xz_m[0] for p in arc.pairs]
        why = f"x {target_xz_m[0]:.3f} m is outside the taught pairs ({min(xs):.3f}…{max(xs):.3f} m)"
        return LookupRecord(
            **common, pose_id=None, j0=None, method="out_of_range", x_residual_m=None, z_residual_m=None,
            interp_xz_m=None, joint_limit_ok=False, target_angles=None, guard_pass=False, guard_reason=why,
            abort_reason=why,
        )  # fmt: skip
    angles = (best.j0_deg, *arc.base_angles_deg[1:])
    broken = violations(angles, limits, j1_safe_max_deg)
    x_residual, z_residual = abs(best.x_m - target_xz_m[0]), abs(best.z_m - target_xz_m[1])
    reason = None
    if broken:
        v = broken[0]
        reason = f"{v.axis} at {v.value:.2f}° is outside {v.lo:g}…{v.hi:g}°"
    elif x_residual > x_residual_max_m:
        reason = f"x residual {x_residual * 1000:.1f} mm is over {x_residual_max_m * 1000:.1f} mm"
    pair = arc.pairs[best.index : best.index + 2]
    return LookupRecord(
        **common,
        pose_id=arc.pose_id,
        j0=best.j0_deg,
        method="interp",
        x_residual_m=x_residual,
        z_residual_m=z_residual,
        interp_xz_m=(best.x_m, best.z_m),
        joint_limit_ok=not broken,
        joint_limit_violations=broken,
        target_angles=angles,
        nearest_pts=tuple(NearestPoint(detect_xz_m=p.detect_xz_m, j0_cmd=p.j0_cmd) for p in pair),
        interp_t=best.share,
        interp_seg_idx=best.index,
        guard_pass=reason is None,
        guard_reason=reason,
        total_residual_m=float(np.hypot(x_residual, z_residual)),
        used_angles=angles,
        abort_reason=reason,
    )


def violations(
    angles_deg: tuple[float, ...], limits: JointLimits, j1_safe_max_deg: float
) -> tuple[LimitViolation, ...]:
    """Joints outside their hard limits, and j1 over its safe maximum."""
    out = []
    for i, (value, lo, hi) in enumerate(zip(angles_deg, limits.min_deg, limits.max_deg, strict=True)):
        if not lo <= value <= hi:
            out.append(LimitViolation(axis=f"j{i}", value=value, lo=float(lo), hi=float(hi), kind="hard"))
        elif i == 1 and value > j1_safe_max_deg:
            out.append(LimitViolation(axis="j1", value=value, lo=float(lo), hi=j1_safe_max_deg, kind="safe_max"))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _OnSegment:
    index: int
    share: float
    x_m: float
    z_m: float
    j0_deg: float


def _segments(arc: ArcApproach, x_m: float) -> Iterator[_OnSegment]:
    """Points of the arc at that x, one for each segment that encloses it."""
    for i, (a, b) in enumerate(zip(arc.pairs[:-1], arc.pairs[1:], strict=True)):
        (ax, az), (bx, bz) = a.detect_xz_m, b.detect_xz_m
        if not min(ax, bx) <= x_m <= max(ax, bx):
            continue
        share = 0.0 if ax == bx else (x_m - ax) / (bx - ax)
        x = ax + share * (bx - ax)
        yield _OnSegment(i, share, x, az + share * (bz - az), a.j0_cmd + share * (b.j0_cmd - a.j0_cmd))


def _nearest_multiple(mm: float) -> int:
    steps = floor(abs(mm) / SQUARE_MM + 0.5)
    return int(steps * SQUARE_MM if mm >= 0 else -steps * SQUARE_MM)
