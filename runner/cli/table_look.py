"""What the commands on holes have in common: a cell's tables over one region, as their options say; files written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.cli.output import Output
    from runner.kinematics.frames import BaseInCell
    from runner.kinematics.model import ArmModel
    from runner.table.approach import Approach
    from runner.table.fill.proof_file import ProofFile, SquareProof
    from runner.table.holes import Asked, HoleMap, SquareState
    from runner.table.region import Ground, Region, Square
    from runner.table.seeds import Seeds


def numbers_of(text: str, option: str, count: int | None) -> tuple[float, ...]:
    """Numbers with commas between them; `count` of them, or any number."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or (count is not None and len(numbers) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise typer.BadParameter(f"{option} wants {wanted} with commas between them; got {text!r}")
    return numbers


def ground_of(
    opened: Cell, phase: str, region: str | None, step_mm: int, band: str | None, tolerance_mm: float
) -> Ground:
    """The question of the options."""
    from runner.table.region import PICK_REGION, PLACE_REGION, Ground, Region

    if phase not in ("place", "pick"):
        raise typer.BadParameter(f"no phase {phase!r} here; place or pick")
    wanted = replace(PLACE_REGION if phase == "place" else PICK_REGION, step_mm=step_mm)
    if region is not None:
        x0, x1, z0, z1 = numbers_of(region, "--region", 4)
        wanted = Region.of((x0, x1), (z0, z1), step_mm)
    heights = None if band is None else numbers_of(band, "--band", 2)
    return Ground.of(
        opened.config,
        "place" if phase == "place" else "pick",
        region=wanted,
        band_y_m=None if heights is None else (heights[0], heights[1]),
        tolerance_mm=tolerance_mm,
    )


def written(kind: str, path: Path, data: bytes) -> dict[str, str]:
    """Write a file that was asked for; its place for the answer, under its kind.

    Raises:
        StorageUnwritable: the folder is missing or can't be written.
    """
    from runs.files import write_atomic

    write_atomic(path, data)
    return {kind: str(path)}


def said(files: dict[str, str]) -> list[str]:
    """The files for people."""
    return [f"written: {path}" for path in files.values()]


def to_png(picture: Any) -> bytes:
    """A picture as a file's content."""
    from runner.table.square_maps import to_png as encoded

    return encoded(picture)


def band_said(band_y_m: tuple[float, float]) -> str:
    """A band in millimetres."""
    return f"{band_y_m[0] * 1000:.0f}…{band_y_m[1] * 1000:.0f} mm"


def newest_archived(opened: Cell) -> Path | None:
    """The table that stood before the present one."""
    kept = sorted(opened.archive_dir.glob(f"{opened.table_file.stem}_*{opened.table_file.suffix}"))
    return kept[-1] if kept else None


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A cell's table and approach, and one question to them."""

    opened: Cell
    ground: Ground
    asked: Asked
    approach: Approach
    arm: ArmModel
    base: BaseInCell

    @classmethod
    def at(
        cls,
        out: Output,
        cell: Path,
        phase: str,
        region: str | None,
        step_mm: int,
        band: str | None,
        tolerance_mm: float,
        arc: str | None,
    ) -> Look:
        """Open the cell's tables, making what is missing, for the question of the options."""
        from runner.cell import open_cell
        from runner.table.cell_tables import open_tables
        from runner.table.fill.cell_files import approach_of, swept_approach
        from runner.table.holes import Asked
        from runner.table.postures import arm_of

        opened = open_cell(cell)
        ground = ground_of(opened, phase, region, step_mm, band, tolerance_mm)
        arm, base = arm_of(opened.config)
        with out.aside.status("opening the tables") as status:
            tables = open_tables(opened.folder, opened.config, lambda share, what: status.update(f"{what} {share:.0%}"))
        if arc is None:
            approach = approach_of(tables, ground.phase)
        else:
            approach = swept_approach(opened.config, ground.phase, numbers_of(arc, "--arc", arm.n_joints))
        return cls(opened, ground, Asked.of(tables.reach, arm, opened.config), approach, arm, base)

    def over(self, region: Region) -> Look:
        """The same question over other squares."""
        return replace(self, ground=replace(self.ground, region=region))

    def proofs(self) -> ProofFile | None:
        """The cell's proofs, where they are for this question."""
        from runner.table.fill.proof_file import proof_path, read_proofs

        return read_proofs(proof_path(self.opened.folder, self.ground.phase), self.opened.config, self.ground)

    def holes(self) -> HoleMap:
        """How the squares stand."""
        from runner.table.holes import find_holes

        proofs = self.proofs()
        return find_holes(self.asked, self.approach, self.ground, None if proofs is None else proofs.statuses())

    def seeds(self, dist_m: float) -> Seeds:
        """Seeds of the squares that aren't dense and aren't proved to be out of reach."""
        from runner.table.errors import BadQuery
        from runner.table.holes import Status
        from runner.table.seeds import find_seeds

        if not 0.0 < dist_m <= 1.0:
            raise BadQuery("dist_m", f"must be over 0 and at most 1 m, got {dist_m}")
        found = self.holes()
        return find_seeds(found, found.of(Status.HOLE, Status.MARGINAL), self.asked, self.approach, dist_m=dist_m)

    def one(self, square: Square, out: Output) -> tuple[SquareState, SquareProof | None]:
        """One square and the proof of why it can't be filled, kept or found now."""
        from runner.table.fill.proof import prove
        from runner.table.holes import Status, find_holes, overridden

        kept = self.proofs()
        proof = None if kept is None else kept.of(square)
        state = find_holes(self.asked, self.approach, self.ground).squares[0]
        if proof is None and state.status in (Status.HOLE, Status.MARGINAL):
            with out.aside.status("looking for a proof"):
                found = prove([square], self.arm, self.base, self.opened.config, self.ground)
            proof = next(iter(found.proofs), None)
        if proof is None:
            return state, None
        return overridden(state, {square: (Status(proof.status), proof.forbids)}), proof
