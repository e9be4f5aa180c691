"""Corrections in words, for the terminal and for pages: what they belong to, a model, a change."""

from __future__ import annotations

from runs.corrections.history import HistoryLine
from runs.corrections.model import CorrectionModel
from runs.corrections.table import BelongsTo


def belonging(belongs: BelongsTo) -> str:
    """What corrections belong to, in a line."""
    parts = [f"calibration {belongs.calibration_hash[:12]}", f"reach table {belongs.table_hash[:12]}"]
    parts += [f"profile {belongs.profile}"] if belongs.profile else []
    return ", ".join([*parts, belongs.tool or "tool not said"])


def named(model: CorrectionModel) -> str:
    """A model in a line."""
    noise = "" if model.noise_mm is None else f", noise {model.noise_mm:.1f} mm"
    out = f", {model.outliers} not believed" if model.outliers else ""
    return f"{model.content_hash[:12]} by the {model.rule} rule from {model.lessons} lessons{out}{noise}"


def told(line: HistoryLine) -> str:
    """What a change was, in words."""
    if line.change is not None:
        dx, dz, n = line.change.after
        return f"{line.change.cell_key}: mean ({dx:+.1f}, {dz:+.1f}) mm of {n}"
    if line.kind == "proved" and line.proof is not None:
        return f"{line.proof.candidate[:12]}: {line.proof.word}; {line.proof.reason}"
    if line.model is not None:
        grounds = "" if line.word is None else f", on the word of {line.word.by}: {line.word.reason}"
        return named(line.model) + grounds
    if line.kind == "merged":
        return f"{len(line.lessons)} lessons from {line.source}"
    if line.word is not None:
        return f"to point {line.to_seq}: {line.word.reason}"
    return ""
