"""Clusters of seeds that lie close together in their joints; the middle of each is a base pose for a scan.

Complete linkage on the Chebyshev distance of j1…j5, so that no two seeds of a cluster differ by more than its diameter
in any of these joints. Chooses base poses and scans nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from runner.kinematics.model import FloatArray
from runner.table.errors import BadQuery
from runner.table.region import Square
from runner.table.seeds import Seed

DIAMETER_DEG = 30.0
_FIRST_COMPARED = 1  # j0 only turns the arm to another place


@dataclass(frozen=True, slots=True)
class Cluster:
    """Seeds that one scan may serve."""

    base_deg: tuple[float, ...]  # the median of each joint, j0 too
    squares: tuple[Square, ...]  # its members' holes
    diameter_deg: float  # the largest difference between two members in one of j1…j5
    x_mm: tuple[int, int]  # from, to
    z_mm: tuple[int, int]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "members": len(self.squares), "diameter_deg": self.diameter_deg, "x_mm": self.x_mm, "z_mm": self.z_mm,
            "base_deg": self.base_deg, "squares": self.squares,
        }  # fmt: skip


def find_clusters(seeds: Sequence[Seed], *, diameter_deg: float = DIAMETER_DEG) -> tuple[Cluster, ...]:
    """Clusters of at most that diameter, the largest first; of equal ones that of the earlier seed.

    Raises:
        BadQuery: a diameter that is no positive number.
    """
    if not (np.isfinite(diameter_deg) and diameter_deg > 0):
        raise BadQuery("diameter_deg", f"must be over 0, got {diameter_deg}")
    if not seeds:
        return ()
    joints = np.array([s.joints_deg for s in seeds])
    compared = joints[:, _FIRST_COMPARED:]
    if len(seeds) == 1:
        labels = np.ones(1, dtype=int)
    else:
        labels = fcluster(linkage(pdist(compared, "chebyshev"), "complete"), diameter_deg, criterion="distance")
    members = sorted((np.flatnonzero(labels == k) for k in np.unique(labels)), key=lambda m: (-len(m), m[0]))
    return tuple(_cluster(joints[m], [seeds[int(i)].square for i in m]) for m in members)


def to_csv(clusters: Sequence[Cluster]) -> str:
    """One line a cluster: size, diameter, what it covers, base pose."""
    n = len(clusters[0].base_deg) if clusters else 6
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    spans = ["x_from_mm", "x_to_mm", "z_from_mm", "z_to_mm"]
    writer.writerow(["cluster", "members", "diameter_deg", *spans, *(f"j{i}" for i in range(n))])
    for i, c in enumerate(clusters):
        writer.writerow(
            [i + 1, len(c.squares), f"{c.diameter_deg:.6g}", *c.x_mm, *c.z_mm, *(f"{j:.6g}" for j in c.base_deg)]
        )
    return out.getvalue()


def _cluster(joints: FloatArray, squares: list[Square]) -> Cluster:
    compared = joints[:, _FIRST_COMPARED:]
    x, z = np.array(squares).T
    return Cluster(
        base_deg=tuple(float(j) for j in np.median(joints, axis=0)),
        squares=tuple(squares),
        diameter_deg=float((compared.max(axis=0) - compared.min(axis=0)).max()),
        x_mm=(int(x.min()), int(x.max())),
        z_mm=(int(z.min()), int(z.max())),
    )
