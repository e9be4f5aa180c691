"""Drawings hold what they are given, in every backend."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import cv2
import numpy as np
import pytest

from runs.agreement import Sure, reliability
from runs.report.charts import (
    JointMove,
    Mark,
    Span,
    bars,
    joint_traces,
    nice_step,
    rate_chart,
    reliability_chart,
    timeline,
    tip_against_n,
)
from runs.report.maps import Arrow, Place, arrow_map, heat_map, square_of, success_map, trial_map
from runs.report.palette import DARK, LIGHT
from runs.report.raster import png
from runs.statistics import exact_rate

HOME = (0.0, 0.0, 0.0, 0.0, 0.0, -30.0)
DRAWINGS = {
    "success": success_map(
        [("pick_x220_z260", 8, exact_rate(7, 8)), ("pick_x-40_z120", 2, exact_rate(0, 0))], "success"
    ),
    "heat": heat_map([("pick_x220_z260", 13.0, 4), ("pick_x200_z260", 1.0, 1)], "tip"),
    "arrows": arrow_map([Arrow("pick_x220_z260", -2.7, -8.3, 3, solid=True)], "corrections", "correction"),
    "trial": trial_map([Place("block", (0.2164, 0.259), "block"), Place("tip", (0.2155, 0.2465), "tip")], "places"),
    "rates": rate_chart([("day <one>", exact_rate(3, 4)), ("none", exact_rate(0, 0))], "rates"),
    "timeline": timeline(
        [Span("stage1", 0, 3.5, "done"), Span("stage2", 3.5, 9, "failed")], [Mark(1, "move", "home")], "t"
    ),
    "joints": joint_traces([JointMove("home", HOME, None, HOME), JointMove("pick", HOME, HOME, None)], "joints"),
    "error": tip_against_n([(0, 13.0), (3, 4.0), (3, 5.0)], "error"),
    "reliability": reliability_chart(reliability([Sure(0.9, True, True), Sure(0.6, False, True)]).bins, "judge"),
    "bars": bars([("failed & lost", 3.0, "3")], "bars"),
    "nothing": heat_map([], "nothing"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_svg_is_xml_with_a_title_and_only_colours_of_both_palettes(name):
    text = str(DRAWINGS[name].svg(alone=True))
    root = ET.fromstring(text)
    assert root.find("{http://www.w3.org/2000/svg}title") is not None
    assert set(re.findall(r"var\(--(\w+)\)", text)) <= LIGHT.keys() & DARK.keys()
    assert "nan" not in text


@pytest.mark.parametrize("name", DRAWINGS)
def test_png_is_a_picture_of_the_same_shape_with_something_in_it(name):
    drawing = DRAWINGS[name].alone()
    image = cv2.imdecode(np.frombuffer(png(drawing), dtype=np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[:2] == (round(drawing.height * 3), round(drawing.width * 3))
    assert image.std() > 1


def test_text_in_a_drawing_is_text():
    text = str(DRAWINGS["rates"].svg())
    assert "day &lt;one&gt;" in text


@pytest.mark.parametrize(
    ("key", "square"), [("pick_x220_z260", (220, 260)), ("place_x-180_z220", (-180, 220)), ("odd", None), (None, None)]
)
def test_a_cell_key_is_a_square(key, square):
    assert square_of(key) == square


def contrast(a: str, b: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(palette):
    """Source: WCAG 2.2, success criterion 1.4.3: 4.5 to 1."""
    for ground in ("page", "panel", "faint"):
        for tone in ("ink", "quiet", "good"):
            assert contrast(palette[tone], palette[ground]) >= 4.5, (tone, ground)
    for tone in ("good", "bad", "doubt", "accent"):
        assert contrast(palette[tone], palette[f"{tone}_soft"]) >= 4.5, tone
    for step in range(6):
        tone = "on_strong" if step >= 4 else "ink"
        assert contrast(palette[tone], palette[f"heat{step}"]) >= 3.0, step


@pytest.mark.parametrize(("span", "step"), [(10, 2), (100, 20), (0.9, 0.2), (0, 1)])
def test_steps_of_axes_are_round(span, step):
    assert nice_step(span) == pytest.approx(step)
