"""Several captures of one still scene made into one answer: the median, its spread, outliers left out.

Fewer than half of the captures agreeing is no answer. Nothing is averaged over two different things: captures are first
brought together by place, and only one group can hold more than half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runs.schema.detection import BlockDetection, BoxDetection, Dropped, TipDetection
from vision.detect.protocol import DetectSettings, Found, T_co

SAME_PLACE_MM = 6.0  # captures of a still scene differ by tenths of a millimetre
SAME_PLACE_PX = 8.0


def repeated(founds: Sequence[Found[T_co]], settings: DetectSettings) -> Found[T_co]:
    """One result from one `Found` a capture: medians, `spread_*` and `n_captures` filled in.

    Every place that more than half of the captures agree on is accepted; `best` is the one with the highest score. What
    was seen in fewer is in `dropped`. With no captures there is nothing found.
    """
    if not founds:
        return Found(best=None, accepted=(), dropped=())
    groups: list[list[T_co]] = []
    for found in founds:
        for thing in found.accepted:
            group = next((g for g in groups if _near(g[0], thing)), None)
            if group is None:
                groups.append([thing])
            else:
                group.append(thing)
    accepted: list[T_co] = []
    dropped: list[Dropped] = list(founds[0].dropped)
    for group in groups:
        if 2 * len(group) > len(founds):
            accepted.append(_median(group))
        else:
            dropped.append(_too_rare(group[0], len(group), len(founds)))
    accepted.sort(key=lambda thing: -thing.score)
    best = accepted[0] if accepted and accepted[0].score >= settings.score_limit else None
    return Found(best=best, accepted=tuple(accepted), dropped=tuple(dropped))


def _near(one: Any, other: Any) -> bool:
    if one.xz_m is not None and other.xz_m is not None:
        return float(np.hypot(one.xz_m[0] - other.xz_m[0], one.xz_m[1] - other.xz_m[1])) * 1000 < SAME_PLACE_MM
    a, b = one.centre_px, other.centre_px
    return float(np.hypot(a[0] - b[0], a[1] - b[1])) < SAME_PLACE_PX


def _median(group: list[T_co]) -> T_co:
    """The capture nearest the median, with the median's place and angle and how far the captures lie from it."""
    pixels = np.array([thing.centre_px for thing in group])
    middle_px = np.median(pixels, axis=0)
    off_px = np.hypot(*(pixels - middle_px).T)
    nearest = group[int(np.argmin(off_px))]
    update: dict[str, Any] = {
        "centre_px": (float(middle_px[0]), float(middle_px[1])),
        "score": float(np.median([thing.score for thing in group])),
        "n_captures": len(group),
    }
    if not isinstance(nearest, TipDetection):
        update["spread_px"] = float(off_px.max())
    places = np.array([thing.xz_m for thing in group if thing.xz_m is not None])
    if len(places) == len(group):
        middle = np.median(places, axis=0)
        update["xz_m"] = (float(middle[0]), float(middle[1]))
        update["spread_mm"] = float(np.hypot(*(places - middle).T).max() * 1000.0)
    if isinstance(nearest, BlockDetection | BoxDetection) and nearest.yaw_deg is not None:
        period = 90.0 if isinstance(nearest, BlockDetection) or _square(nearest) else 180.0
        yaws = [thing.yaw_deg for thing in group if isinstance(thing, BlockDetection | BoxDetection)]
        update["yaw_deg"] = _median_angle_deg([yaw for yaw in yaws if yaw is not None], period)
    if isinstance(nearest, BlockDetection) and nearest.size_mm is not None:
        sizes = [thing.size_mm for thing in group if isinstance(thing, BlockDetection) and thing.size_mm is not None]
        update["size_mm"] = float(np.median(sizes))
    return nearest.model_copy(update=update)


def _square(box: BoxDetection) -> bool:
    return box.size_mm is None or abs(box.size_mm[0] - box.size_mm[1]) < 1e-3


def _median_angle_deg(angles_deg: Sequence[float], period_deg: float) -> float:
    """The median of directions that repeat, taken round the first so that a seam does no harm."""
    first = angles_deg[0]
    half = period_deg / 2
    turned = [(angle - first + half) % period_deg - half for angle in angles_deg]
    return float((first + np.median(turned) + half) % period_deg - half)


def _too_rare(thing: BlockDetection | BoxDetection | TipDetection, seen: int, captures: int) -> Dropped:
    kind = {BlockDetection: "block", BoxDetection: "box", TipDetection: "tip"}[type(thing)]
    size = thing.size_px if isinstance(thing, BlockDetection) else (0.0, 0.0)
    return Dropped(
        what=kind,
        centre_px=thing.centre_px,
        area_px=size[0] * size[1],
        reason=f"seen in {seen} of {captures} captures only",
    )
