"""The start-state gate: what speaks against a start, in one sentence, or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.protocol import LabelledPicture
from runner.config import Config
from runner.trial.gate import why_not
from runner.trial.trial import Seen
from runs.schema.detection import BlockDetection, BoxDetection

CONFIG = Config()
BOX_XZ_M, HALF_M = (-0.20, 0.20), 0.057
PICTURE = LabelledPicture("before", "before", np.zeros((16, 16, 3), np.uint8))


def seen(block_xz_m, *, calibrated=True):
    x, z = BOX_XZ_M
    inside = tuple((x + i * HALF_M, z + k * HALF_M) for i, k in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    block = BlockDetection(
        centre_px=(600.0, 400.0),
        angle_px_deg=0.0,
        size_px=(40.0, 40.0),
        outline_px=((580.0, 380.0), (620.0, 380.0), (620.0, 420.0), (580.0, 420.0)),
        colour="red",
        score=0.9,
        touches_border=False,
        xz_m=block_xz_m if calibrated else None,
    )
    box = BoxDetection(
        centre_px=(300.0, 400.0),
        corners_px=(),
        inside_px=(),
        score=0.9,
        touches_border=False,
        xz_m=BOX_XZ_M if calibrated else None,
        inside_xz_m=inside if calibrated else None,
    )
    return Seen(block, box, PICTURE)


def test_a_block_on_the_table_beside_the_box_may_start():
    assert why_not(seen((0.20, 0.20)), CONFIG) is None


def test_without_a_calibration_nothing_has_a_place_and_nothing_starts():
    assert "trialcell calibrate lens" in why_not(seen((0.2, 0.2), calibrated=False), CONFIG)


@pytest.mark.parametrize("xz_m", [(0.41, 0.2), (-0.41, 0.2), (0.2, -0.01), (0.2, 0.45)])
def test_a_block_outside_the_workspace_says_where_it_lies(xz_m):
    assert f"({xz_m[0] * 1000:.0f}, {xz_m[1] * 1000:.0f}) mm" in why_not(seen(xz_m), CONFIG)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_block_anywhere_inside_the_walls_is_in_the_box_already(along, across):
    block = (BOX_XZ_M[0] + 0.99 * along * HALF_M, BOX_XZ_M[1] + 0.99 * across * HALF_M)
    assert why_not(seen(block), CONFIG) == "the block is in the box already"


@given(st.floats(0.0005, 0.0175), st.floats(-1, 1))
def test_a_block_on_the_rim_or_touching_a_wall_may_not_start(beyond_m, across):
    block = (BOX_XZ_M[0] + HALF_M + beyond_m, BOX_XZ_M[1] + across * HALF_M)
    assert "rim" in why_not(seen(block), CONFIG)


@given(st.floats(0.0225, 0.15))
def test_a_block_with_room_to_the_wall_may_start(beyond_m):
    assert why_not(seen((BOX_XZ_M[0] + HALF_M + beyond_m, BOX_XZ_M[1])), CONFIG) is None
