"""Fill the table of a region: from holes to a merged table, as the field did it and then beyond, step by step.

Holes, seeds, clusters, a scan round each cluster's middle, holes again; then approach poses and rows solved for every
square; then proofs for the rest. Every step says how many squares stand how. Computes; whoever asks writes the files.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import SQUARE_MM, Approach, GridApproach, GridSquare
from runner.table.clusters import DIAMETER_DEG, Cluster, find_clusters
from runner.table.fill.direct import Served, serve, serve_from
from runner.table.fill.proof import prove, without_approach
from runner.table.fill.proof_file import ProofFile, ProvedFor
from runner.table.holes import Asked, HoleMap, Status, find_holes, overridden
from runner.table.merge import merge
from runner.table.postures import hard_limits
from runner.table.region import Ground
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table, now_utc
from runner.table.scan import Progress, quiet, scan
from runner.table.seeds import SEED_DIST_M, Seeds, find_seeds

MOST_BASES = 9  # as the field
SCANNED_JOINTS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class FillSettings:
    """How the field's part is done."""

    bases: int = MOST_BASES  # most clusters that are scanned; 0: none
    joints: tuple[int, ...] = SCANNED_JOINTS
    diameter_deg: float = DIAMETER_DEG
    seed_dist_m: float = SEED_DIST_M


@dataclass(frozen=True, slots=True)
class Stage:
    """How the squares stood after a step."""

    name: str
    counts: dict[str, int]
    rows: int  # of the table
    seconds: float
    note: str

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name, "counts": self.counts, "rows": self.rows, "seconds": round(self.seconds, 3),
            "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """The result: a table, an approach grid and proofs, and how they came about."""

    table: ReachTable
    approach: GridApproach
    proofs: ProofFile
    before: HoleMap
    scanned: HoleMap  # after the field's part
    after: HoleMap
    seeds: Seeds
    clusters: tuple[Cluster, ...]
    stages: tuple[Stage, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        after = self.after.counts()
        was, mid = self.before.counts(), self.scanned.counts()
        return {
            "before": was,
            "after": after,
            "decided": len(self.after.squares) - after["hole"] - after["marginal"],
            "squares_in_all": len(self.after.squares),
            "filled_by_scanning": mid["dense"] - was["dense"],
            "filled_by_direct_solution": after["dense"] - mid["dense"],
            "rows": len(self.table),
            "stages": [s.as_dict() for s in self.stages],
            "seeds": {k: v for k, v in self.seeds.as_dict().items() if k != "seeds"},
            "clusters": [c.as_dict() for c in self.clusters],
            "proof": self.proofs.searched.model_dump(mode="json"),
            "squares": [s.as_dict() for s in self.after.squares],
        }


def fill(
    table: ReachTable,
    approach: Approach,
    arm: ArmModel,
    base: BaseInCell,
    config: Config,
    ground: Ground,
    settings: FillSettings | None = None,
    progress: Progress = quiet,
    *,
    known: ProofFile | None = None,
) -> Filled:
    """Fill one region of one phase. Takes some seconds.

    Args:
        table: with its rows so far; they keep their order and numbers.
        approach: the phase's approach file so far, an arc or a grid.
        arm: with its tool.
        base: where it stands.
        config: limits, bands, lifts, tolerances.
        ground: which squares, and what counts as filled.
        settings: of the field's part.
        progress: told how far it is.
        known: proofs from an earlier fill: their squares are not scanned for again. They are proved again.
    """
    run = _Run(arm, base, config, ground, settings or FillSettings(), progress)
    progress(0.0, "looking for holes")
    before = run.holes(table, approach)
    if known is not None:
        before = HoleMap(ground, tuple(overridden(s, known.statuses()) for s in before.squares))
    run.stage("before", before, table, f"{len(ground.region)} squares")
    table, scanned, seeds, clusters = run.scanned(table, approach, before)
    progress(0.3, "solving an approach for every square")
    served = serve(arm, base, config, ground, lambda share, what: progress(0.3 + 0.3 * share, what))
    reached = {(s.x_mm, s.z_mm) for s in served.squares}
    left = [s for s in ground.region.squares if s not in reached]
    grid = run.grid(approach, served.squares)
    source = f"direct solution, {ground.phase}: {len(served.squares)} squares"
    table = merge(table, [run.table_of(served, source)]).table
    holes = run.holes(table, Approach(grid, approach.name, ""))
    run.stage("direct solution", holes, table, f"{len(served.joints_deg):,} poses solved")
    progress(0.7, f"proving why {len(left)} squares can't be filled")
    proved = prove(left, arm, base, config, ground, lambda share, what: progress(0.7 + 0.3 * share, what))
    late = serve_from(proved.clear_deg, arm, base, config, ground)
    if late.squares:
        grid = grid.model_copy(update={"squares": (*grid.squares, *late.squares)})
        late_rows = run.table_of(late, f"direct solution from the proofs' grid, {ground.phase}")
        table = merge(table, [late_rows]).table
        holes = run.holes(table, Approach(grid, approach.name, ""))
    proofs = ProofFile(
        phase=ground.phase,
        cell=CellOfTable.of(config),
        made_at=now_utc(),
        proved_for=ProvedFor.of(config, ground),
        searched=proved.searched,
        squares=(*proved.proofs, *without_approach(proved.clear_deg, late.squares, arm, base)),
    )
    statuses = proofs.statuses()
    after = HoleMap(ground, tuple(overridden(s, statuses) for s in holes.squares))
    run.stage("proofs", after, table, f"{len(proofs.squares)} squares proved")
    progress(1.0, "done")
    return Filled(table, grid, proofs, before, scanned, after, seeds, clusters, tuple(run.stages))


class _Run:
    """What the steps share, and the list of them."""

    def __init__(
        self,
        arm: ArmModel,
        base: BaseInCell,
        config: Config,
        ground: Ground,
        settings: FillSettings,
        progress: Progress,
    ) -> None:
        self.arm, self.base, self.config, self.ground = arm, base, config, ground
        self.settings, self.progress = settings, progress
        self.stages: list[Stage] = []
        self._began = time.perf_counter()

    def stage(self, name: str, holes: HoleMap, table: ReachTable, note: str) -> None:
        """Note how things stand; a stage's seconds run from the end of the one before."""
        now = time.perf_counter()
        self.stages.append(Stage(name, holes.counts(), len(table), now - self._began, note))
        self._began = now

    def asked(self, table: ReachTable) -> Asked:
        """The table ready to be asked."""
        return Asked.of(table, self.arm, self.config)

    def holes(self, table: ReachTable, approach: Approach) -> HoleMap:
        """How the squares stand."""
        return find_holes(self.asked(table), approach, self.ground)

    def scanned(
        self, table: ReachTable, approach: Approach, before: HoleMap
    ) -> tuple[ReachTable, HoleMap, Seeds, tuple[Cluster, ...]]:
        """The field's part: seeds of what is not dense, clusters, a scan round each, holes again."""
        own = self.settings
        self.progress(0.1, "looking for seeds")
        wanted = before.of(Status.HOLE, Status.MARGINAL)
        seeds = find_seeds(before, wanted, self.asked(table), approach, dist_m=own.seed_dist_m)
        clusters = find_clusters(seeds.found, diameter_deg=own.diameter_deg)
        taken = clusters[: own.bases]
        if not taken:
            self.stage("scan", before, table, "nothing to scan")
            return table, before, seeds, clusters
        self.progress(0.15, f"scanning round {len(taken)} base poses")
        poses = np.array([c.base_deg for c in taken])
        limits = hard_limits(self.arm, self.config)
        rows = scan(poses, self.arm, self.base, limits=limits, joints=own.joints)
        names = ", ".join(f"j{j}" for j in own.joints)
        source = f"fill {self.ground.phase}: 7^{len(own.joints)} offsets of {names} round {len(taken)} clusters"
        batch = RowBatch(rows=len(rows.joints_deg), source=source, made_at=now_utc())
        addition = make_table(rows.points_m, rows.joints_deg, table.cell, [batch])
        table = merge(table, [addition]).table
        self.progress(0.2, "looking for holes again")
        holes = self.holes(table, approach)
        note = f"{len(seeds.found)} seeds, {len(taken)} of {len(clusters)} clusters"
        self.stage("scan", holes, table, note)
        return table, holes, seeds, clusters

    def table_of(self, served: Served, source: str) -> ReachTable:
        """The rows of a direct solution."""
        batch = RowBatch(rows=len(served.joints_deg), source=source, made_at=now_utc())
        return make_table(served.points_m, served.joints_deg, CellOfTable.of(self.config), [batch])

    def grid(self, approach: Approach, squares: Sequence[GridSquare]) -> GridApproach:
        """The approach grid with these squares; those outside the region stay as they are."""
        kept: tuple[GridSquare, ...] = ()
        if isinstance(approach.content, GridApproach):
            kept = tuple(s for s in approach.content.squares if not self._inside(s))
        t = self.config.table
        place = self.ground.phase == "place"
        return GridApproach(
            phase="approach_place" if place else "approach_pick",
            cell=CellOfTable.of(self.config),
            made_at=now_utc(),
            height_y_m=t.release_y_m if place else t.grasp_y_m,
            joint_tol_deg=self.ground.joint_tol_deg,
            squares=(*kept, *squares),
        )

    def _inside(self, square: GridSquare) -> bool:
        region, half = self.ground.region, SQUARE_MM / 2
        xs, zs = region.xs_mm, region.zs_mm
        across = min(xs) - half < square.x_mm < max(xs) + half
        return across and min(zs) - half < square.z_mm < max(zs) + half
