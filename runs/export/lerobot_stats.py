"""What a LeRobot dataset says of its figures: extremes, mean, spread and quantiles of each feature over all frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runs.export.lerobot_video import CAMERA
from runs.report.pictures import Picture

_QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
_EVERY_PX = 16
"""Of a picture every sixteenth pixel in both directions counts."""


class Stats:
    """Gathers frames; keeps the figures, and of pictures how many pixels have each level."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {}
        self._levels = np.zeros((3, 256), dtype=np.int64)
        self._pictures = 0

    def add(self, columns: dict[str, Any]) -> None:
        """An episode's columns; texts are passed over."""
        for name, values in columns.items():
            if isinstance(values, np.ndarray):
                self._columns.setdefault(name, []).append(values.reshape(len(values), -1))

    def add_pictures(self, pictures: Sequence[Picture]) -> None:
        """Pictures as they were taken, BGR."""
        for picture in pictures:
            for channel in range(3):
                some = picture[::_EVERY_PX, ::_EVERY_PX, 2 - channel]
                self._levels[channel] += np.bincount(some.reshape(-1), minlength=256)
        self._pictures += len(pictures)

    def told(self) -> dict[str, Any]:
        """By feature: plain lists, a picture's as (3, 1, 1), RGB, 0…1."""
        told = {name: _of(np.concatenate(parts).astype(np.float64)) for name, parts in self._columns.items()}
        shades = np.arange(256) / 255.0
        by_channel = [_of(np.repeat(shades, levels)[:, None]) for levels in self._levels]
        told[CAMERA] = {key: [[each[key]] for each in by_channel] for key in by_channel[0] if key != "count"}
        told[CAMERA]["count"] = [self._pictures]
        return told


def _of(values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """Of an array (n, width)."""
    figures = {
        "min": values.min(axis=0), "max": values.max(axis=0), "mean": values.mean(axis=0), "std": values.std(axis=0)
    }  # fmt: skip
    figures |= {f"q{round(q * 100):02d}": np.quantile(values, q, axis=0) for q in _QUANTILES}
    return {name: figure.tolist() for name, figure in figures.items()} | {"count": [len(values)]}
