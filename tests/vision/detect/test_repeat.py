"""Several captures made into one answer: medians, spread, outliers, and no answer where captures disagree."""

from __future__ import annotations

import pytest

from runs.schema.detection import BlockDetection
from vision.detect.block import find_block
from vision.detect.protocol import DetectSettings, Found
from vision.detect.repeat import repeated

SETTINGS = DetectSettings()


def block_at(x_mm, z_mm, yaw_deg=0.0, score=0.9):
    return BlockDetection(
        centre_px=(x_mm, z_mm),
        angle_px_deg=0.0,
        size_px=(30.0, 30.0),
        outline_px=(),
        score=score,
        colour="red",
        touches_border=False,
        xz_m=(x_mm / 1000, z_mm / 1000),
        yaw_deg=yaw_deg,
        size_mm=30.0,
    )


def found(*blocks):
    return Found(best=blocks[0] if blocks else None, accepted=tuple(blocks), dropped=())


def test_the_median_leaves_an_outlier_out_and_says_the_spread():
    captures = [found(block_at(100, 200)), found(block_at(101, 200)), found(block_at(160, 200))]
    result = repeated(captures, SETTINGS)
    assert result.best is not None
    assert result.best.xz_m == pytest.approx((0.1005, 0.2))
    assert result.best.n_captures == 2
    assert result.best.spread_mm == pytest.approx(0.5)
    assert [d.reason for d in result.dropped] == ["seen in 1 of 3 captures only"]


def test_half_of_the_captures_is_no_answer():
    assert repeated([found(block_at(100, 200)), found()], SETTINGS).best is None
    assert repeated([found(block_at(100, 200)), found(block_at(160, 200))], SETTINGS).best is None
    assert repeated([], SETTINGS).best is None


def test_yaws_are_taken_together_across_the_seam():
    captures = [found(block_at(100, 200, yaw)) for yaw in (44.0, -45.0, -44.0)]
    best = repeated(captures, SETTINGS).best
    assert best is not None
    assert best.yaw_deg == pytest.approx(-45.0)


def test_a_score_below_the_limit_is_no_best():
    result = repeated([found(block_at(100, 200, score=0.4))] * 3, SETTINGS)
    assert result.best is None
    assert len(result.accepted) == 1


def test_captures_of_one_scene_differ_by_little(overhead, paint, make_cube):
    images = [paint(overhead, cubes=[make_cube((0.2, 0.2), 20.0)], seed=s, grain=0.0) for s in range(3)]
    best = repeated([find_block(image, overhead, SETTINGS) for image in images], SETTINGS).best
    assert best is not None
    assert best.n_captures == 3
    assert best.spread_mm < 0.3
