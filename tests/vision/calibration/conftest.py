"""Boards drawn through a known camera, so that a calibration can be held against the truth."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
import pytest

from vision.calibration.board import BoardSpec, board_image, find_board, find_boards
from vision.calibration.lens import calibrate_lens
from vision.calibration.plane import plane_from_board

SPEC = BoardSpec()
PX_PER_M = 4000.0
MARGIN_MM = 10.0


@lru_cache(maxsize=2)
def all_rays(view):
    """Where each pixel of a view looks, row by row."""
    u, v = np.meshgrid(np.arange(view.size_px[0]), np.arange(view.size_px[1]))
    return view.pixel_rays(np.stack([u, v], axis=-1).reshape(-1, 2).astype(float))


def draw_board(view, centre_m, along, up, *, noise=2.0, seed=0):
    """The board at a pose: middle (x, y, z) and unit directions of its width and its up, cell frame."""
    sheet = board_image(SPEC, px_per_m=PX_PER_M, margin_mm=MARGIN_MM)
    h, w = sheet.shape
    centre, along, up = (np.asarray(v, float) for v in (centre_m, along, up))
    normal = np.cross(along, up)
    rays = all_rays(view)
    eye = np.asarray(view.camera_m)
    reach = ((centre - eye) @ normal) / (rays @ normal)
    hit = eye + reach[:, None] * rays - centre
    map_u = (hit @ along) * PX_PER_M + (w - 1) / 2
    map_v = (h - 1) / 2 - (hit @ up) * PX_PER_M
    shape = (view.size_px[1], view.size_px[0])
    soft = cv2.GaussianBlur(sheet, (0, 0), 2.0)
    picture = cv2.remap(
        soft,
        map_u.reshape(shape).astype(np.float32),
        map_v.reshape(shape).astype(np.float32),
        cv2.INTER_LINEAR,
        borderValue=110,
    )
    noisy = cv2.GaussianBlur(picture, (0, 0), 0.6) + np.random.default_rng(seed).normal(0, noise, shape)
    return cv2.cvtColor(np.clip(noisy, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2BGR)


def tilted_pose(k):
    """The k-th of a series of hand-held poses: middle, along, up."""
    tilt, around = np.deg2rad([18, 30, 24][k % 3]), np.deg2rad(150.0 * k)
    normal = np.array([np.sin(tilt) * np.cos(around), np.cos(tilt), np.sin(tilt) * np.sin(around)])
    along = np.array([np.cos(0.9 * k), 0.0, np.sin(0.9 * k)])
    along -= normal * (along @ normal)
    along /= np.linalg.norm(along)
    up = np.cross(along, normal)
    middle = ([-0.22, 0.0, 0.22, -0.1, 0.1][k % 5], [0.15, 0.25, 0.32][k % 3], [0.12, 0.2, 0.28][(k // 3) % 3])
    return middle, along, up


@pytest.fixture(scope="session")
def spec():
    return SPEC


@pytest.fixture(scope="session")
def show_board():
    """Draws the board: `show_board(view, centre_m, along, up)`."""
    return draw_board


@pytest.fixture(scope="session")
def tilted_pictures(overhead):
    """Twelve pictures of the board held at different tilts."""
    return [(f"view {k}", draw_board(overhead, *tilted_pose(k), seed=k)) for k in range(12)]


@pytest.fixture(scope="session")
def flat_pictures(overhead):
    """Ten pictures of the board lying flat at different places and yaws."""
    pictures = []
    for k in range(10):
        yaw = 0.6 * k
        middle = ([-0.2, 0.0, 0.2, -0.1, 0.1][k % 5], 0.0, [0.12, 0.2, 0.26][k % 3])
        along, up = (np.cos(yaw), 0.0, np.sin(yaw)), (-np.sin(yaw), 0.0, np.cos(yaw))
        pictures.append((f"flat {k}", draw_board(overhead, middle, along, up, seed=k)))
    return pictures


@pytest.fixture(scope="session")
def lens(tilted_pictures, spec, overhead):
    """The lens fitted to the tilted boards."""
    seen, without = find_boards(tilted_pictures, spec)
    assert not without
    return calibrate_lens(seen, overhead.size_px)


@pytest.fixture(scope="session")
def plane(lens, overhead, spec, show_board):
    """The plane fitted to one board that lies flat."""
    yaw = np.deg2rad(12.0)
    along, up = (np.cos(yaw), 0.0, np.sin(yaw)), (-np.sin(yaw), 0.0, np.cos(yaw))
    image = show_board(overhead, (0.03, 0.001, 0.22), along, up, seed=99)
    return plane_from_board(lens, find_board(image, spec), spec, (0.03, 0.22), 12.0, thickness_m=0.001)


@pytest.fixture(scope="session")
def table_grid():
    """Table points (35, 2) over the part of the table that counts."""
    return np.stack(np.meshgrid(np.linspace(-0.3, 0.3, 7), np.linspace(0.02, 0.38, 5)), axis=-1).reshape(-1, 2)
