"""Work on many rows, shared out over the cores. The work lets go of the interpreter's lock, as compiled kernels do."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_blocks(rows: int, block: int, work: Callable[[slice], None]) -> None:
    """Call `work` for every block of rows; on threads where there is more than one. Its first error is raised."""
    blocks = [slice(i, min(i + block, rows)) for i in range(0, rows, block)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(blocks) < 2 or cores < 2:
        for one in blocks:
            work(one)
        return
    with ThreadPoolExecutor(min(cores, len(blocks))) as pool:
        for _ in pool.map(work, blocks):
            pass
