"""What the commands of `trialcell table` say in the same words: angles, numbers, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.cell import Cell
    from runner.table.rows import CellOfTable, ReachTable, RowBatch


def joints_of(text: str | None, option: str) -> tuple[float, ...] | None:
    """Angles as they come from an option: J0,J1,…"""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} wants angles in degrees, J0,J1,…; got {text!r}") from None


def facts_of(opened: Cell, table: ReachTable) -> dict[str, Any]:
    """A table for programs."""
    return {
        "file": str(opened.table_file),
        "rows": len(table),
        "content_hash": table.content_hash,
        "cell": table.cell.model_dump(mode="json"),
        "batches": [batch.model_dump(mode="json") for batch in table.batches],
    }


def batch_lines(batches: Sequence[RowBatch]) -> list[str]:
    """A line a batch: rows, time, source; and how many rows the source had besides."""
    return [
        f"batch    {batch.rows:>9,} rows  {batch.made_at[:16].replace('T', ' ')}  {batch.source}"
        + (f"  ({batch.offered:,} offered)" if batch.offered not in (None, batch.rows) else "")
        for batch in batches
    ]


def about_table(cell: CellOfTable, content_hash: str, batches: Sequence[RowBatch]) -> str:
    """For whom the table is, its hash and its batches."""
    arm = f"arm      {cell.arm_model}, tool point {short(list(cell.tcp_mm))} mm, roll {cell.tool_roll_deg:g}°"
    return "\n".join([arm, f"content  {content_hash}", *batch_lines(batches)])


def short(value: Any) -> str:
    """A value in few digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(short(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(part)}" for key, part in value.items())
    return str(value)
