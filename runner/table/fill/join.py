"""Rows put behind those of a table, without those that are there already. Reads and writes no file."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from runner.table.rows import ReachTable, make_table

_ROUND_DEG = 6  # decimals: joints that are alike to these are the same row


def joined(table: ReachTable, addition: ReachTable) -> ReachTable:
    """The table's rows in their order, then those of the addition with joints that are not there yet, in theirs.

    Raises:
        WrongTable: the addition is for another arm, tool or base.
    """
    addition.cell.require(table.cell, addition.batches[0].source if addition.batches else "the addition")
    joints = np.round(np.hstack((table.joints_deg, addition.joints_deg)).T, _ROUND_DEG) + 0.0
    keys = np.ascontiguousarray(joints).view(np.dtype((np.void, joints.dtype.itemsize * joints.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    new = np.sort(first[first >= len(table)]) - len(table)
    if not len(new):
        return table
    edges = np.cumsum([0, *(b.rows for b in addition.batches)])
    counts = [int(np.count_nonzero((new >= a) & (new < b))) for a, b in pairwise(edges)]
    batches = [b.model_copy(update={"rows": n}) for b, n in zip(addition.batches, counts, strict=True) if n]
    columns = np.hstack((table.columns, addition.columns[:, new]))
    return make_table(columns[:3].T, columns[3:].T, table.cell, [*table.batches, *batches])
