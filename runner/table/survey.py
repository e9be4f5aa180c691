"""A cell's table and approach over some squares, and one question to them: where rows are missing, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from runner.cell import Cell
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.cell_tables import CellTables
from runner.table.fill.cell_files import approach_of
from runner.table.fill.proof import prove
from runner.table.fill.proof_file import ProofFile, SquareProof, proof_path, read_proofs
from runner.table.holes import Asked, HoleMap, SquareState, Status, find_holes, overridden
from runner.table.postures import arm_of
from runner.table.region import Ground, Region, Square


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What squares are asked of. Nothing is changed by it."""

    opened: Cell
    ground: Ground
    asked: Asked
    approach: Approach
    arm: ArmModel
    base: BaseInCell

    @classmethod
    def of(cls, opened: Cell, tables: CellTables, ground: Ground, approach: Approach | None = None) -> Self:
        """Of these tables; with another approach than the cell's where one is given."""
        arm, base = arm_of(opened.config)
        chosen = approach_of(tables, ground.phase) if approach is None else approach
        return cls(opened, ground, Asked.of(tables.reach, arm, opened.config), chosen, arm, base)

    def over(self, region: Region) -> Self:
        """The same question over other squares."""
        return replace(self, ground=replace(self.ground, region=region))

    def around(self, square: Square) -> Self:
        """The same about one square."""
        return self.over(Region((square[0], square[0]), (square[1], square[1]), self.ground.region.step_mm))

    def proofs(self) -> ProofFile | None:
        """The cell's proofs, where they are for this question."""
        return read_proofs(proof_path(self.opened.folder, self.ground.phase), self.opened.config, self.ground)

    def holes(self) -> HoleMap:
        """How the squares stand."""
        proofs = self.proofs()
        return find_holes(self.asked, self.approach, self.ground, None if proofs is None else proofs.statuses())

    def one(self, square: Square) -> tuple[SquareState, SquareProof | None]:
        """The only square of this survey, and the proof of why it can't be filled, kept or found now."""
        kept = self.proofs()
        proof = None if kept is None else kept.of(square)
        state = find_holes(self.asked, self.approach, self.ground).squares[0]
        if proof is None and state.status in (Status.HOLE, Status.MARGINAL):
            found = prove([square], self.arm, self.base, self.opened.config, self.ground)
            proof = next(iter(found.proofs), None)
        if proof is None:
            return state, None
        return overridden(state, {square: (Status(proof.status), proof.forbids)}), proof
