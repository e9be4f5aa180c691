"""Union of reach tables: rows keep their order and numbers, new ones come after them, none comes in twice.

A row is there already if one with the same joints is: the joints decide where the tool is. Refuses another arm, tool or
base. Whoever merges into a cell's file holds it from reading to writing, so that two who merge at once both get in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.table.format import LOCK_WAIT_S, changing, put_table, read_table
from runner.table.rows import CellOfTable, ReachTable, make_table

ROUND_DEG = 1e-6
"""Joints that differ by less are the same: far below what a servo or a CSV of the field can tell apart."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of the rows that were offered, source by source or in all."""

    source: str
    offered: int
    new: int
    duplicate: int


@dataclass(frozen=True, slots=True, eq=False)
class MergeResult:
    """The union, and what each addition brought."""

    table: ReachTable
    before: int  # rows
    added: tuple[Merged, ...]


def merge(table: ReachTable, additions: Sequence[ReachTable]) -> MergeResult:
    """The rows of a table, then those of the additions that are not there yet, in order.

    Raises:
        WrongTable: an addition for another arm, tool or base.
    """
    for addition in additions:
        addition.cell.require(table.cell, addition.batches[0].source if addition.batches else "the addition")
    every = [table, *additions]
    joints = np.hstack([one.joints_deg for one in every])
    first = first_alike(joints)
    keep = first == np.arange(joints.shape[1])
    keep[: len(table)] = True  # what is there stays as it is, whatever it holds
    batches, added, at = list(table.batches), [], len(table)
    for addition in additions:
        taken = 0
        for batch in addition.batches:
            new = int(np.count_nonzero(keep[at : at + batch.rows]))
            taken, at = taken + new, at + batch.rows
            if new:
                offered = batch.offered if batch.offered is not None else batch.rows
                batches.append(batch.model_copy(update={"rows": new, "offered": offered}))
        source = "; ".join(dict.fromkeys(batch.source for batch in addition.batches))
        added.append(Merged(source, len(addition), taken, len(addition) - taken))
    if not any(one.new for one in added):
        return MergeResult(table, len(table), tuple(added))
    columns = np.hstack([one.columns for one in every])[:, keep]
    return MergeResult(make_table(columns[:3].T, columns[3:].T, table.cell, batches), len(table), tuple(added))


def merge_into(
    path: Path, additions: Sequence[ReachTable], cell: CellOfTable, *, wait_s: float = LOCK_WAIT_S
) -> MergeResult:
    """Merge into a cell's table file, which is replaced whole if anything is new; made if there is none yet.

    Args:
        path: of `reach.parquet`.
        additions: what comes in, in order.
        cell: the arm, tool and base of the cell.
        wait_s: how long to wait for another process that is changing the table.

    Raises:
        WrongTable, BadTableFile: the file or an addition can't be used; the file stands as it was.
        TableBusy: another process held the table for too long.
        StorageUnwritable: the file stands as it was.
    """
    for addition in additions:
        addition.cell.require(cell, addition.batches[0].source if addition.batches else "the addition")
    with changing(path, wait_s=wait_s):
        there = path.exists()
        table = read_table(path, wanted=cell) if there else empty_table(cell)
        result = merge(table, additions)
        if result.table is not table or not there:
            put_table(path, result.table)
    return result


def empty_table(cell: CellOfTable) -> ReachTable:
    """A table of this cell without rows."""
    return make_table(np.empty((0, 3)), np.empty((0, cell.arm().n_joints)), cell, [])


def first_alike(joints_deg: FloatArray) -> NDArray[np.int64]:
    """For every row the number of the first row with the same joints; its own where there is none before it.

    Args:
        joints_deg: (n_joints, N).
    """
    steps = np.rint(joints_deg / ROUND_DEG).astype(np.int64)
    hashes = _hash(steps)
    order = np.argsort(hashes, kind="stable")
    ordered, hashes = steps[:, order], hashes[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    if np.any(begins[1:] & (hashes[1:] == hashes[:-1])):  # two rows share a hash: sort by all joints, which is slower
        order = np.lexsort((np.arange(len(order)), *steps))
        ordered = steps[:, order]
        begins[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    return first


def _hash(steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """64 bits of each row, mixed so that rows of a grid don't share them (finaliser of MurmurHash3)."""
    out = np.zeros(steps.shape[1], dtype=np.uint64)
    for column in steps.view(np.uint64):
        out ^= column
        for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
            out ^= out >> np.uint64(shift)
            out *= np.uint64(factor)
        out ^= out >> np.uint64(33)
    return out
