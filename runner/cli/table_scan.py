"""`trialcell table scan`: rows for the reach table, by forward kinematics over many poses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_words import about_table, facts_of, joints_of

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.kinematics.model import FloatArray
    from runner.table.rows import ReachTable


def scan(
    around: Annotated[
        list[str] | None,
        typer.Option(metavar="J0,…,J5", help="Scan offsets round this base pose; repeatable."),
    ] = None,
    bases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Scan round the base poses of this CSV: columns j0…j5.")
    ] = None,
    joints: Annotated[str, typer.Option(metavar="N,…", help="Which joints are offset.")] = "1,2,3,4,5",
    offsets_deg: Annotated[
        str, typer.Option(metavar="DEG,…", help="The offsets of each: 7⁵ = 16,807 poses a base.")
    ] = "-15,-10,-5,0,5,10,15",
    sample: Annotated[int | None, typer.Option(min=1, help="That many poses spread all over the limits.")] = None,
    uniform: Annotated[bool, typer.Option("--uniform", help="Draw the sample at random instead of evenly.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 0,
    merge: Annotated[bool, typer.Option("--merge", help="Add to the table that is there; keep its rows.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Make the reach table anew: the default cell's own, or a scan of yours. What was there goes to archive/.

    The approach tables are made anew with it, except with --merge, which adds to what is there.
    """
    from runner.cell import open_cell
    from runner.table.cell_tables import remake_approach
    from runner.table.format import write_table
    from runner.table.merge import merge_into
    from runner.table.opening import open_table
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    own = around or bases is not None or sample is not None
    if merge and not own:
        raise typer.BadParameter("--merge adds a scan of yours: say --around, --bases or --sample")
    with CellLock(opened.folder), out.aside.status("scanning") as status:

        def told(share: float, what: str) -> None:
            status.update(f"{what} {share:.0%}")

        if own:
            poses = _poses(opened, around or [], bases)
            made, dropped = _scanned(opened, poses, joints, offsets_deg, (sample, not uniform, seed))
        else:
            made, dropped = _default(opened, told), 0
        added: dict[str, Any] = {}
        table = made
        if merge:
            result = merge_into(opened.table_file, [made], made.cell)
            table = result.table
            added = {"new": result.added[0].new, "duplicate": result.added[0].duplicate}
        else:
            write_table(opened.table_file, table)
            remake_approach(opened.folder, opened.config, told)
        open_table(opened.table_file, opened.config)
    facts = facts_of(opened, table) | {"scanned": len(made) + dropped, "outside_limits": dropped} | added
    lines = [f"{len(table):,} rows in [bold]{opened.table_file}[/bold]"]
    if own:
        lines.append(f"scanned  {len(made) + dropped:,} poses, {dropped:,} of them outside the limits and dropped")
    if merge:
        lines.append(f"merged   {added['new']:,} new rows, {added['duplicate']:,} were there already")
    out.answer(facts, *lines, about_table(table.cell, table.content_hash, table.batches))
    return 0


def _default(opened: Cell, told: Any) -> ReachTable:
    from runner.table.postures import arm_of
    from runner.table.scan import default_scan

    return default_scan(*arm_of(opened.config), opened.config, told)


def _poses(opened: Cell, around: list[str], bases: Path | None) -> list[FloatArray]:
    import numpy as np

    from runner.table.csv_file import read_base_poses
    from runner.table.postures import arm_of

    poses = [np.array(joints_of(text, "--around")) for text in around]
    if bases is not None:
        poses += list(read_base_poses(bases, arm_of(opened.config)[0].n_joints))
    return poses


def _scanned(
    opened: Cell, poses: list[FloatArray], joints: str, offsets_deg: str, spread: tuple[int | None, bool, int]
) -> tuple[ReachTable, int]:
    """The rows asked for, a batch a base pose, and how many poses were outside the limits."""
    import numpy as np

    from runner.table.errors import BadQuery
    from runner.table.postures import arm_of, hard_limits
    from runner.table.rows import CellOfTable, RowBatch, make_table, now_utc
    from runner.table.scan import sample, scan

    arm, base = arm_of(opened.config)
    limits = hard_limits(arm, opened.config)
    turned = [_joint(j) for j in joints.split(",")]
    offsets = joints_of(offsets_deg, "--offsets-deg") or ()
    parts, sources = [], []
    for pose in poses:
        parts.append(scan(pose, arm, base, limits=limits, joints=turned, offsets_deg=offsets))
        steps = f"{len(offsets)}^{len(turned)} of j{''.join(map(str, turned))} {min(offsets):g}…{max(offsets):g}°"
        sources.append(f"scan {steps} round {','.join(f'{angle:g}' for angle in pose)}")
    count, evenly, seed = spread
    if count is not None:
        parts.append(sample(count, arm, base, limits=limits, seed=seed, spread=evenly))
        sources.append(f"sample of {count} poses, {'evenly' if evenly else 'at random'}, seed {seed}")
    batches = [
        RowBatch(rows=len(part.joints_deg), source=source, made_at=now_utc())
        for part, source in zip(parts, sources, strict=True)
    ]
    points, angles = (np.concatenate([getattr(p, name) for p in parts]) for name in ("points_m", "joints_deg"))
    if not len(points):
        raise BadQuery("poses", "none of them is inside the joint limits, so there is nothing to keep")
    table = make_table(points, angles, CellOfTable.of(opened.config), [batch for batch in batches if batch.rows])
    return table, sum(part.dropped_outside for part in parts)


def _joint(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"--joints wants numbers of joints, 1,2,…; got {text!r}") from None
