"""Pictures of the table: squares stand where they should, in colours that stay apart, with their legend."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.density import density_map
from runner.table.fill.sequence import Filled
from runner.table.holes import Asked
from runner.table.reach_maps import draw_density, draw_holes, draw_reach_map, reach_map
from runner.table.square_maps import Sign, StatePanel, ValuePanel, draw_panels, to_png

RED, BLUE = (0, 0, 255), (255, 0, 0)


def test_a_square_is_drawn_where_its_place_is():
    signs = [Sign("a", RED, "none"), Sign("b", BLUE, "none")]
    panel = StatePanel("states", {(0, 0): 0, (20, 0): 0, (0, 20): 1}, signs)
    picture = draw_panels("heading", [panel], [20, 0], [0, 20])
    red, blue = (np.argwhere((picture == c).all(axis=2)) for c in (RED, BLUE))
    legend = red[:, 0].max() - 40
    red, blue = red[red[:, 0] < legend], blue[blue[:, 0] < legend]
    assert blue[:, 0].max() < red[:, 0].min()  # z upwards
    assert abs(blue[:, 1].min() - red[:, 1].min()) <= 1  # both begin at x 0


def test_numbers_get_darker_to_brighter_and_none_is_grey():
    panel = ValuePanel("rows", "", {(0, 0): 1.0, (20, 0): 1000.0}, (1.0, 1000.0), True)
    picture = draw_panels("heading", [panel], [0, 20, 40], [0]).astype(int).sum(axis=2)
    row = picture[130]
    assert row[80] < row[104] < row[128]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_long_heading_stays_on_the_sheet(columns):
    panel = ValuePanel("rows", "", {}, (1.0, 10.0))
    picture = draw_panels("a heading " * 12, [panel] * 2, [0, 20], [0], columns=columns)
    assert (picture[:50, -20:] == 255).all()


def test_the_maps_of_a_filled_table_are_pictures(
    filled: Filled, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    found = reach_map(Asked.of(filled.table, arm, config), filled.after, arm, base)
    assert sum(found.rows.values()) > 10_000
    assert set(found.tilt_deg) == set(found.room_deg) == set(found.rows)
    assert min(found.room_deg.values()) >= 0.0
    assert max(found.last_move_deg.values()) <= 15.0
    for picture in (
        draw_reach_map(found),
        draw_holes([("before", filled.before), ("after", filled.after)]),
        draw_density([("place", density_map(filled.table, config.table.place_band_y_m))]),
    ):
        again = cv2.imdecode(np.frombuffer(to_png(picture), np.uint8), cv2.IMREAD_COLOR)
        assert np.array_equal(again, picture)
