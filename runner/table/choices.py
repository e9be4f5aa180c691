"""Ways to pick a block that differ in heading, tilt and where along the tool it is gripped, in a useful order.

The planner takes the first posture that passes; a rehearsal wants several that differ. Solves nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import cos, radians, sin

from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel
from runner.table.candidates import Candidate, reachable
from runs.schema.motion import Skipped

AHEAD_MM = (6.0, 12.0, 0.0)
"""How far beyond the block's middle the tool is aimed, along its heading; the most promising first.

Fingertips that go over the block's middle still hold it when it lies farther off than it was seen, and the closing
jaws push it into the palm rather than out.
"""
_BEST_TILT_DEG = 40.0  # of those that were tried at many places with a block nudged by 4 mm
_ALIKE_DEG = 9.0  # tilts nearer than this to one another are the same way


def varied(
    level: Sequence[Candidate], arm: ArmModel, base: BaseInCell, limits: JointLimits
) -> Iterator[tuple[Candidate, float]]:
    """Candidates of one level that are in reach and differ, aimed farther or less far ahead; every kind early.

    Yields:
        The candidate, and how far ahead of the block's middle it is aimed, mm.
    """
    ranked: list[tuple[float, int, Candidate, float]] = []
    headings = list(dict.fromkeys(c.heading_deg for c in level))
    for later, ahead_mm in enumerate(AHEAD_MM):
        aimed = [_aimed(c, ahead_mm) for c in level]
        taken: dict[float, list[float]] = {heading: [] for heading in headings}
        for c in reachable(aimed, arm, base, limits, None):
            if isinstance(c, Skipped) or any(abs(c.tilt_deg - t) < _ALIKE_DEG for t in taken[c.heading_deg]):
                continue
            taken[c.heading_deg].append(c.tilt_deg)
            off = abs(c.tilt_deg - _BEST_TILT_DEG) / 10.0
            ranked.append((later + off + headings.index(c.heading_deg), len(ranked), c, ahead_mm))
    for _, _, c, ahead_mm in sorted(ranked, key=lambda row: row[:2]):
        yield c, ahead_mm


def _aimed(c: Candidate, ahead_mm: float) -> Candidate:
    if not ahead_mm:
        return c
    x, y, z = c.target_m
    turn, ahead_m = radians(c.heading_deg), ahead_mm / 1000.0
    target = (x + ahead_m * cos(turn), y, z + ahead_m * sin(turn))
    return replace(c, name=f"{c.name}_a{ahead_mm:.0f}", target_m=target)
