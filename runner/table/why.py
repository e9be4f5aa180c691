"""One square explained to a person: how it stands, what approach and table say, what forbids it, what would help.

Puts into words what `holes.py` and the proofs found; decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from runner.kinematics.frames import BaseInCell, ToolStance, stance_of
from runner.kinematics.model import ArmModel
from runner.table.fill.proof_file import SquareProof
from runner.table.holes import SquareState, Status
from runner.table.postures import radius_m
from runner.table.region import Ground

_WIDTH = 104  # columns
_STATUS_SAID = {
    Status.DENSE: "dense: the table has a row here that the approach pose leads to",
    Status.MARGINAL: "marginal: the lookup answers, but with a row too far off",
    Status.HOLE: "a hole: nothing has been found here, and nothing has been proved",
    Status.UNREACHABLE: "unreachable: proved that no pose leads here",
    Status.BLOCKED: "blocked: poses lead here, but each collides",
}


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation: lines for people, and the same as facts."""

    lines: tuple[str, ...]
    facts: dict[str, Any]


def explain(state: SquareState, proof: SquareProof | None, ground: Ground, arm: ArmModel, base: BaseInCell) -> Why:
    """Explain one square.

    Args:
        state: as the map of holes has it.
        proof: why it can't be filled, where that is proved.
        ground: what it was asked for.
        arm: with its tool.
        base: where it stands.
    """
    x, z = state.square
    radius = radius_m((x / 1000.0, z / 1000.0), base) * 1000.0
    lo, hi = (1000.0 * y for y in ground.band_y_m)
    lines = [
        f"x {x}, z {z} mm, {ground.phase}: {_STATUS_SAID[state.status]}",
        f"  where     {radius:.0f} mm from the base axis; tool point wanted at {lo:.0f}…{hi:.0f} mm, "
        f"{ground.tolerance_mm:g} mm at most off the centre in x and in z",
        f"  approach  {_approach_said(state, arm, base)}",
        f"  table     {_table_said(state, ground)}",
    ]
    if state.row_deg is not None:
        lines.append(f"  row       {_stance_said(state.row_deg, arm, base)}, joints {_joints(state.row_deg)}")
    if proof is not None and state.status in (Status.UNREACHABLE, Status.BLOCKED):
        lines += _proof_said(proof, arm, base)
    lines.append(f"  helps     {_help(state, proof, ground)}")
    lines = [fill(line, _WIDTH, subsequent_indent=" " * 12) for line in lines]
    facts = state.as_dict() | {
        "radius_mm": round(radius, 3),
        "proof": None if proof is None else proof.model_dump(mode="json"),
        "helps": _help(state, proof, ground),
    }
    return Why(tuple(lines), facts)


def _approach_said(state: SquareState, arm: ArmModel, base: BaseInCell) -> str:
    if state.approach_deg is None:
        return "none" if state.status is not Status.HOLE else state.why.removeprefix("no approach: ")
    stance = _stance_said(state.approach_deg, arm, base)
    return f"{state.approach_method}, {stance}, joints {_joints(state.approach_deg)}"


def _table_said(state: SquareState, ground: Ground) -> str:
    if state.lookup_method is None:
        return "not asked: there is no approach pose to begin from"
    tol = ground.joint_tol_deg
    near = "" if tol is None else f" within {tol:g}° of the approach pose on every joint"
    left = f"{state.candidates_left:,} usable rows of the band{near}"
    if state.x_residual_mm is None or state.z_residual_mm is None:
        return left
    change = "" if state.max_dj_deg is None else f"; the last move turns no joint by more than {state.max_dj_deg:.1f}°"
    off = f"nearest row {state.row}: {state.x_residual_mm:.1f} mm off in x, {state.z_residual_mm:.1f} mm in z"
    height = "" if state.ee_y_m is None else f", at height {state.ee_y_m * 1000:.1f} mm"
    return f"{left}; {off}{height}{change}"


def _proof_said(proof: SquareProof, arm: ArmModel, base: BaseInCell) -> list[str]:
    by = {
        "lengths": "by the lengths of the links alone",
        "covering": "by covering all joint angles: no tilt, heading or height gets there",
        "grid": "by solving every posture of the proofs' grid",
    }[proof.by]
    lines = [f"  forbids   {proof.forbids}", f"  proved    {by}"]
    if proof.status == "unreachable" and proof.nearest_miss_mm > 0:
        x, y, z = (1000.0 * c for c in proof.nearest_m)
        lines.append(
            f"  nearest   {proof.nearest_miss_mm:.1f} mm short of the square: tool point at x {x:.0f}, y {y:.0f}, "
            f"z {z:.0f} mm, {_stance_said(proof.nearest_deg, arm, base)}, joints {_joints(proof.nearest_deg)}"
        )
    return lines


def _help(state: SquareState, proof: SquareProof | None, ground: Ground) -> str:
    thing = "box" if ground.phase == "place" else "block"
    if state.status is Status.DENSE:
        return "nothing is missing"
    if state.status in (Status.HOLE, Status.MARGINAL):
        again = "" if ground.phase == "place" else " --phase pick"
        return f"trialcell table fill{again}: it solves this square, or proves why not"
    if proof is None:
        return f"put the {thing} somewhere else"
    if proof.status == "blocked":
        return f"move what stands in the way, or put the {thing} somewhere else"
    nearer = f"put the {thing} at least {max(1.0, proof.nearest_miss_mm):.0f} mm nearer to the base"
    if proof.short_mm is None and "j1" in proof.at_limit:
        return f"{nearer}; or let j1 go farther (arm.j1_safe_max_deg), if the arm may"
    return nearer if proof.nearest_miss_mm > 0 else f"put the {thing} somewhere else"


def _stance_said(joints_deg: Sequence[float], arm: ArmModel, base: BaseInCell) -> str:
    stance: ToolStance = stance_of(np.array(joints_deg), arm, base)
    return f"tool {stance.tilt_deg:.0f}° below the level, heading {stance.heading_deg:.0f}°"


def _joints(joints_deg: Sequence[float]) -> str:
    return ", ".join(f"{round(j, 1) + 0.0:.1f}" for j in joints_deg)
