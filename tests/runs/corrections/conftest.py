"""A table to learn on: an arm that misses by shift, yaw and a ripple, measured with noise and with wild readings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runs.corrections.table import BelongsTo, CorrectionTable, Lesson, Way

HERE = BelongsTo(calibration_hash="c1", table_hash="t1", profile="field", tool="short")


def spot(rng) -> tuple[float, float]:
    """Somewhere a block may lie, metres."""
    r, angle = rng.uniform(0.15, 0.30), rng.uniform(0.1, 1.3)
    return float(r * np.cos(angle)), float(r * np.sin(angle))


def missed_mm(xz_m, ripple_mm: float = 1.5):
    """By how much this arm misses a point, mm."""
    x, z = xz_m[0] * 1000, xz_m[1] * 1000
    yaw = np.radians(2.0)
    wide = np.array([8.0 - yaw * (z - 200), -6.0 + yaw * x])
    return wide + ripple_mm * np.array([np.sin(x / 25), np.cos(z / 25)])


@pytest.fixture
def here() -> BelongsTo:
    return HERE


@pytest.fixture
def learned() -> Callable[..., CorrectionTable]:
    """Makes a table of `n` lessons; `wild` is the share of readings that are anywhere."""

    def make(n: int, *, seed=1, wild=0.0, noise_mm=1.0, miss=missed_mm, way=lambda xz_m: Way()) -> CorrectionTable:
        rng = np.random.default_rng(seed)
        lessons = []
        for number in range(n):
            at = spot(rng)
            dx, dz = miss(at) + rng.normal(0, noise_mm, 2)
            if rng.random() < wild:
                dx, dz = rng.uniform(-28, 28, 2)
            run_id = f"run_{number:04d}"
            lessons.append(Lesson.of("pick", at, (float(dx), float(dz)), run_id=run_id, at="t", way=way(at)))
        return CorrectionTable(belongs_to=HERE).learned(*lessons)

    return make


@pytest.fixture
def left_over() -> Callable[..., np.ndarray]:
    """How far the tip is off with a model, mm, at places that taught it nothing."""

    def measure(model, *, miss=missed_mm, n=150, way=lambda xz_m: Way()) -> np.ndarray:
        rng = np.random.default_rng(99)
        off = []
        for _ in range(n):
            at = spot(rng)
            target, _ = model.apply("pick", at, way(at))
            off.append(np.linalg.norm(miss(at) + np.subtract(target, at) * 1000))
        return np.array(off)

    return measure
