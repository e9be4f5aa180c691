"""How much each pixel is of a wanted colour: a soft map 0…255 from hue, saturation and brightness.

Names are those people use for toy blocks. A soft map, not a mask: where the edge of a block lies is decided locally by
the detector, halfway between the block and what surrounds it. It refuses names that it doesn't know.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.protocol import Picture
from vision.detect.protocol import LearnedColour
from vision.errors import CannotLearnColour, UnknownColour

Map = NDArray[np.uint8]

Knots = tuple[tuple[float, float], ...]
"""(value, weight 0…1) pairs, linear in between, constant outside."""

PLAIN_BELOW = 0.22  # saturation under which a hue means nothing


@dataclass(frozen=True, slots=True)
class ColourModel:
    """Weights over hue (degrees, −180…540 so that red has no seam), saturation and value (0…1); they multiply."""

    hue: Knots
    saturation: Knots
    value: Knots
    core: float  # weight from which a pixel is surely of this colour


_ANY_HUE: Knots = ((0.0, 1.0),)
_SATURATED: Knots = ((0.18, 0.0), (0.34, 0.34), (1.0, 1.0))  # white walls under coloured light stay dark
_NOT_DARK: Knots = ((0.08, 0.0), (0.16, 1.0))
_NOT_BLACK: Knots = ((0.07, 0.0), (0.16, 1.0))

# Hue limits read off real blocks under warm, cold and dim light: red ones lie at −16…+14°, orange ones at 16…30°,
# wood and skin at 14…50° with little saturation, yellow 40…58°, purple 225…275°.
MODELS: dict[str, ColourModel] = {
    "red": ColourModel(((-40, 0), (-25, 0.8), (-14, 1), (9, 1), (15, 0.75), (18, 0)), _SATURATED, _NOT_DARK, 0.50),
    "orange": ColourModel(((13, 0), (19, 1), (30, 1), (38, 0)), _SATURATED, _NOT_DARK, 0.58),
    "yellow": ColourModel(((32, 0), (42, 1), (62, 1), (72, 0)), _SATURATED, _NOT_DARK, 0.45),
    "green": ColourModel(((75, 0), (95, 1), (165, 1), (178, 0)), _SATURATED, _NOT_BLACK, 0.33),
    "blue": ColourModel(((180, 0), (194, 1), (222, 1), (236, 0)), _SATURATED, _NOT_BLACK, 0.42),
    "purple": ColourModel(((212, 0), (228, 1), (290, 1), (315, 0)), _SATURATED, _NOT_BLACK, 0.27),
    "white": ColourModel(_ANY_HUE, ((0.14, 1), (0.30, 0)), ((0.45, 0), (0.70, 1)), 0.60),
    "black": ColourModel(_ANY_HUE, _ANY_HUE, ((0.18, 1), (0.34, 0)), 0.60),
    "wood": ColourModel(
        ((18, 0), (26, 1), (56, 1), (66, 0)), ((0.14, 0), (0.26, 1), (0.50, 1), (0.66, 0)), _NOT_DARK, 0.60
    ),
}

COLOURS = tuple(MODELS)


def colour_model(name: str, learned: LearnedColour | None = None) -> ColourModel:
    """The model of a name, or of a learned colour, which goes first.

    Raises:
        UnknownColour: no such name.
    """
    if learned is not None:
        return _learned_model(learned)
    try:
        return MODELS[name]
    except KeyError:
        raise UnknownColour(name, COLOURS) from None


def _learned_model(colour: LearnedColour) -> ColourModel:
    if colour.saturation < PLAIN_BELOW:
        s, v = colour.saturation, colour.value
        return ColourModel(
            _ANY_HUE, ((s + 0.12, 1), (s + 0.25, 0)), ((v - 0.30, 0), (v - 0.15, 1), (v + 0.15, 1), (v + 0.30, 0)), 0.6
        )
    h, w, s = colour.hue_deg, colour.hue_spread_deg, colour.saturation
    return ColourModel(
        ((h - 1.8 * w, 0), (h - 0.8 * w, 1), (h + 0.8 * w, 1), (h + 1.8 * w, 0)),
        ((0.35 * s, 0.0), (0.8 * s, 1.0)),
        _NOT_BLACK if colour.value < 0.4 else _NOT_DARK,
        0.6,
    )


def _weights(knots: Knots, at: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.interp(at, [k[0] for k in knots], [k[1] for k in knots])


@lru_cache(maxsize=32)
def _tables(model: ColourModel) -> tuple[Map, Map, Map]:
    """The model as three tables of 256 steps for OpenCV's hue (2° a step), saturation and value."""
    hue_deg = np.arange(256, dtype=np.float64) * 2.0
    hue = np.max([_weights(model.hue, hue_deg + turn) for turn in (-360.0, 0.0, 360.0)], axis=0)
    if len(model.hue) == 1:
        hue = np.ones(256)
    byte = np.arange(256, dtype=np.float64) / 255.0
    tables = (hue, _weights(model.saturation, byte), _weights(model.value, byte))
    return tuple(np.round(255 * t).astype(np.uint8) for t in tables)  # type: ignore[return-value]


def colour_map(image_bgr: Picture, model: ColourModel) -> Map:
    """How much each pixel is of the colour: (h, w) uint8, 255 = fully."""
    hsv = cv2.cvtColor(image_bgr, cv2.COLOR_BGR2HSV)
    hue, saturation, value = _tables(model)
    out = cv2.multiply(cv2.LUT(hsv[..., 0], hue), cv2.LUT(hsv[..., 1], saturation), scale=1 / 255)
    return np.asarray(cv2.multiply(out, cv2.LUT(hsv[..., 2], value), scale=1 / 255), dtype=np.uint8)


def learn_colour(image_bgr: Picture, px: tuple[float, float], radius_px: int = 6) -> LearnedColour:
    """The colour round a clicked pixel (u, v), from a disc of `radius_px`.

    Raises:
        CannotLearnColour: outside the picture, or more than one colour there.
    """
    h, w = image_bgr.shape[:2]
    u, v = round(px[0]), round(px[1])
    if not (0 <= u < w and 0 <= v < h):
        raise CannotLearnColour(px, f"the picture is {w}×{h} px")
    patch = image_bgr[max(v - radius_px, 0) : v + radius_px + 1, max(u - radius_px, 0) : u + radius_px + 1]
    hsv = cv2.cvtColor(np.ascontiguousarray(patch), cv2.COLOR_BGR2HSV).reshape(-1, 3).astype(np.float64)
    saturation, value = np.median(hsv[:, 1:], axis=0) / 255.0
    if float(np.percentile(hsv[:, 2], 90) - np.percentile(hsv[:, 2], 10)) > 110:
        raise CannotLearnColour(px, "light and dark lie side by side")
    turn = np.exp(1j * np.deg2rad(2.0 * hsv[:, 0]))
    middle = np.angle(turn.mean())
    away_deg = np.abs(np.rad2deg(np.angle(turn * np.exp(-1j * middle))))
    spread_deg = float(np.percentile(away_deg, 90))
    if saturation >= PLAIN_BELOW and spread_deg > 40:
        raise CannotLearnColour(px, "several hues lie side by side")
    return LearnedColour(
        hue_deg=float(np.rad2deg(middle)) % 360.0,
        saturation=float(saturation),
        value=float(value),
        hue_spread_deg=min(max(spread_deg * 1.5, 10.0), 40.0),
    )
