"""The starts of a plan over the table, as characters."""

from __future__ import annotations

from rich.text import Text

from runs.batch_records import BatchPlan

_STEP_MM = 20


def map_of(plan: BatchPlan) -> Text:
    """How many starts each square of 20 mm has; a box's place is `b`, the arm's base `A`. z upwards, x to the right."""
    counts: dict[tuple[int, int], str] = {(0, 0): "A"}
    for start in plan.starts:
        if start.box_xz_m is not None:
            counts.setdefault(_square(start.box_xz_m), "b")
    blocks: dict[tuple[int, int], int] = {}
    for start in plan.starts:
        square = _square(start.block_xz_m)
        blocks[square] = blocks.get(square, 0) + 1
    counts |= {square: str(n) if n < 10 else "+" for square, n in blocks.items()}
    xs, zs = [x for x, _ in counts], [z for _, z in counts]
    rows = []
    for z in range(max(zs), min(zs) - 1, -1):
        cells = " ".join(counts.get((x, z), "·") for x in range(min(xs), max(xs) + 1))
        rows.append(f"z {z * _STEP_MM:>4} mm  {cells}")
    return Text("\n".join(rows), no_wrap=True)


def _square(xz_m: tuple[float, float]) -> tuple[int, int]:
    return round(xz_m[0] * 1000.0 / _STEP_MM), round(xz_m[1] * 1000.0 / _STEP_MM)
