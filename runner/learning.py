"""How a cell learns corrections: by what rule, what proves one, and what a lesson belongs to."""

from __future__ import annotations

from runner.arm_calibration import has_arm_file, load_arm_file
from runner.cell import Cell
from runner.config import Config
from runner.station import profile_of
from runner.table.opening import open_table
from runs.corrections.proof import ProofSettings
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo
from runs.files import sha256_hex
from vision.calibration.file import load_plane
from vision.calibration.kept import content_hash


def rule_of(config: Config) -> RuleSettings:
    """How lessons are put together in this cell."""
    settings = config.corrections
    return RuleSettings(
        rule=settings.rule,
        enough=settings.enough,
        cap_mm=settings.cap_mm,
        cap_square_mm=settings.cap_square_mm,
        memory=settings.memory,
    )


def proof_of(config: Config) -> ProofSettings:
    """What a proof of a correction asks for in this cell."""
    return ProofSettings(margin=config.corrections.margin, most_pairs=config.corrections.most_pairs)


def belongs_to(cell: Cell, table_hash: str, profile: str) -> BelongsTo:
    """What corrections that are learned in this cell now belong to.

    Raises:
        CalibrationMissing: the cell has no plane yet.
    """
    arm = cell.config.arm
    tcp = ", ".join(f"{value:g}" for value in arm.tcp_mm)
    learned_with = content_hash(load_plane(cell.calibration_dir))
    if has_arm_file(cell.calibration_dir):
        learned_with = sha256_hex(f"{learned_with} {content_hash(load_arm_file(cell.calibration_dir))}".encode())
    return BelongsTo(
        calibration_hash=learned_with,
        table_hash=table_hash,
        profile=profile,
        tool=f"{arm.model}: tool point ({tcp}) mm, rolled {arm.tool_roll_deg:g}°",
    )


def belongs_here(cell: Cell) -> BelongsTo:
    """The same for whoever has no rig: by the cell's files and settings alone.

    Raises:
        NoTableYet, BadTableFile, WrongTable, CalibrationMissing: the cell lacks what corrections are learned with.
    """
    return belongs_to(cell, open_table(cell.table_file, cell.config).content_hash, profile_of(cell))
