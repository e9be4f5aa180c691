"""Named streams of random numbers: one seed fixes them all, and none moves another.

A new stream, or more numbers drawn from one, changes nothing in the others. Never uses Python's own `hash`, which
differs from process to process.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of that name under that seed; the same numbers on every machine."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(name.encode())])))
