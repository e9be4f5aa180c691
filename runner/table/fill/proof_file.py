"""Proofs as they are kept: a file beside the approach tables, bound to arm, tool, base, limits, band and tolerance.

Reads and writes; proves nothing. A file made for other settings is no proof for these and is left aside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.config import Config
from runner.table.approach import APPROACH_FOLDER
from runner.table.errors import BadTableFile
from runner.table.format import keep_in_archive
from runner.table.holes import Status
from runner.table.region import FillPhase, Ground, Square
from runner.table.rows import CellOfTable
from runs.files import storage, write_atomic


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SquareProof(_File):
    """Why a square can't be filled."""

    x_mm: int
    z_mm: int
    status: Literal["unreachable", "blocked"]
    by: Literal["lengths", "covering", "grid"]  # the links' lengths; all joint angles covered; all poses of the grid
    forbids: str  # which limit, reach or body, in words
    nearest_miss_mm: float  # from the square's space to the nearest tool point that can be had; 0 where poses exist
    nearest_deg: tuple[float, ...]  # its joints
    nearest_m: tuple[float, float, float]  # its tool point, cell frame
    at_limit: tuple[str, ...] = ()  # joints that would have to go beyond a limit
    short_mm: float | None = None  # by which the stretched arm is too short whatever the limits; None: it is not


class Searched(_File):
    """How the proof was found, for all squares of a file."""

    straight_reach_m: float
    by_lengths: int  # squares beyond the links' lengths
    grid: str  # the grid of postures, in words
    grid_postures_a_square: int
    grid_squares: int
    covered_from_m: float | None = None  # radii that hold no pose at these heights: from
    covered_to_m: float | None = None
    covering_pieces: int | None = None  # of the joint space
    covering_proved: bool | None = None


class ProvedFor(_File):
    """What a proof depends on besides arm, tool and base."""

    limit_margin_deg: float
    j1_safe_max_deg: float
    joint_tol_deg: float | None
    band_y_m: tuple[float, float]
    tolerance_mm: float

    @classmethod
    def of(cls, config: Config, ground: Ground) -> ProvedFor:
        """As the settings and the question say."""
        return cls(
            limit_margin_deg=config.arm.limit_margin_deg,
            j1_safe_max_deg=config.arm.j1_safe_max_deg,
            joint_tol_deg=ground.joint_tol_deg,
            band_y_m=ground.band_y_m,
            tolerance_mm=ground.tolerance_mm,
        )


class ProofFile(_File):
    """All proofs of one phase."""

    kind: Literal["proofs"] = "proofs"
    phase: FillPhase
    cell: CellOfTable
    made_at: str
    proved_for: ProvedFor
    searched: Searched
    squares: tuple[SquareProof, ...]

    def statuses(self) -> dict[Square, tuple[Status, str]]:
        """What `find_holes` wants to know."""
        return {(s.x_mm, s.z_mm): (Status(s.status), s.forbids) for s in self.squares}

    def of(self, square: Square) -> SquareProof | None:
        """The proof of one square."""
        return next((s for s in self.squares if (s.x_mm, s.z_mm) == square), None)


def proof_path(cell_folder: Path, phase: FillPhase) -> Path:
    """Where a phase's proofs are kept."""
    return cell_folder / APPROACH_FOLDER / f"{phase}_proofs.json"


def read_proofs(path: Path, config: Config, ground: Ground) -> ProofFile | None:
    """The proofs in a file, or None where there are none for this cell, these settings and this question.

    Raises:
        BadTableFile: the file is there but can't be read.
    """
    if not path.exists():
        return None
    try:
        proofs = ProofFile.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "the file"
        raise BadTableFile(path, f"{where}: {first['msg']}") from error
    fits = proofs.cell == CellOfTable.of(config) and proofs.proved_for == ProvedFor.of(config, ground)
    return proofs if fits and proofs.phase == ground.phase else None


def write_proofs(path: Path, proofs: ProofFile) -> None:
    """Put the proofs in their place, whole; what was there goes to the archive.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        keep_in_archive(path, path.parent.parent)
    write_atomic(path, proofs.model_dump_json(indent=1).encode())
