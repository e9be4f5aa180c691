"""Work on many rows, shared out over the cores. The work lets go of the interpreter's lock, as compiled kernels do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

_at_most: list[int] = []


def in_blocks(rows: int, block: int, work: Callable[[slice], None]) -> None:
    """Call `work` for every block of rows; on threads where there is more than one. Its first error is raised."""
    blocks = [slice(i, min(i + block, rows)) for i in range(0, rows, block)]
    if len(blocks) < 2 or cores() < 2:
        for one in blocks:
            work(one)
        return
    with ThreadPoolExecutor(min(cores(), len(blocks))) as pool:
        for _ in pool.map(work, blocks):
            pass


def cores() -> int:
    """How many cores this process may use at a time."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, *_at_most) if _at_most else there


@contextmanager
def on_one_core() -> Iterator[None]:
    """While inside, work that is begun stays on one core: many processes side by side have one each."""
    _at_most.append(1)
    try:
        yield
    finally:
        _at_most.pop()
