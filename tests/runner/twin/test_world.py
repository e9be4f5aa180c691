"""The world: its clock, its resets, what it says of the truth, and that looking changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from runner.twin.scene import MOVING, STILL
from runner.twin.world import Resting


def test_time_passes_in_steps_and_nothing_is_lost(perfect_twin):
    perfect_twin.reset(1)
    for _ in range(100):
        perfect_twin.clock.sleep(0.0017)
    assert perfect_twin.clock.now_s() == pytest.approx(0.17, abs=0.0041)


def test_how_time_is_cut_does_not_change_what_happens(perfect_twin):
    ends = []
    for parts in (1, 7, 500):
        perfect_twin.reset(1)
        perfect_twin.arm.send_path(np.array([[50.0, 20, -10, 5, 30, 0]]), speed_percent=30)
        for _ in range(parts):
            perfect_twin.clock.sleep(1.0 / parts)
        left = 1.0 - perfect_twin.clock.now_s()
        perfect_twin.clock.sleep(max(0.0, left))
        ends.append(perfect_twin.world.joints_rad)
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


def test_contacts_that_cannot_be_are_left_out_and_nothing_comes_out_otherwise(perfect_twin, monkeypatch):
    """From high over the table down among block and box and up again; with every contact looked for, and without."""
    clear = perfect_twin.world._clear
    asked = clear.of_all
    ends, left_out = [], []
    for look_always in (True, False):
        monkeypatch.setattr(
            clear, "of_all", lambda n, always=look_always: (left_out.append(not always and asked(n)), left_out[-1])[1]
        )
        perfect_twin.reset(5)
        path = []
        for pose, speed in (
            ((50, 60, -10, 5, 30, 0), 60),
            ((-40, 80, -20, 0, 20, 0), 100),
            ((0, 0, 0, 0, 0, -30), 100),
        ):
            perfect_twin.arm.send_path(np.array([pose], float), speed_percent=speed)
            for _ in range(25):
                perfect_twin.clock.sleep(0.06)
                path.append(perfect_twin.world.joints_rad)
        ends.append((np.array(path), perfect_twin.truth()))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert ends[0][1] == ends[1][1]
    half = len(left_out) // 2
    assert not any(left_out[:half])
    assert 0.2 < np.mean(left_out[half:]) < 0.95, "some of the way is clear of everything, and some is not"


def test_looking_at_the_truth_and_taking_pictures_change_nothing(perfect_twin):
    ends = []
    for looks in (False, True):
        perfect_twin.reset(5)
        perfect_twin.arm.send_path(np.array([[50.0, 60, -10, 5, 30, 0]]), speed_percent=60)
        for _ in range(10):
            perfect_twin.clock.sleep(0.2)
            if looks:
                perfect_twin.truth()
                perfect_twin.camera.read()
        ends.append((perfect_twin.world.joints_rad, perfect_twin.truth()))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert ends[0][1] == ends[1][1]


def test_truth_is_in_the_cell_frame(perfect_twin):
    perfect_twin.reset(8)
    start, truth = perfect_twin.start, perfect_twin.truth()
    assert (truth.block_m[0], truth.block_m[2]) == pytest.approx(start.block.xz_m, abs=1e-4)
    assert truth.block_m[1] == pytest.approx(0.015, abs=2e-4)
    assert (truth.box_m[0], truth.box_m[2]) == pytest.approx(start.box.xz_m, abs=1e-4)
    assert (truth.block_yaw_deg - start.block.yaw_deg + 180) % 360 - 180 == pytest.approx(0.0, abs=0.1)
    assert truth.tool_m == pytest.approx((0.0, 0.243, 0.2683), abs=3e-4)


def test_a_block_in_the_box_beside_it_and_on_its_rim(perfect_twin):
    perfect_twin.reset(8)
    x, z = perfect_twin.start.box.xz_m
    perfect_twin.world.put_block(Resting((x, z), 5.0), 0.05)
    assert not perfect_twin.truth().block_in_box, "still in the air"
    perfect_twin.clock.sleep(1.0)
    assert perfect_twin.truth().block_in_box
    assert not perfect_twin.truth().block_on_table
    perfect_twin.world.put_block(Resting((x + 0.12, z), 5.0), 0.02)
    perfect_twin.clock.sleep(1.0)
    assert not perfect_twin.truth().block_in_box
    assert perfect_twin.truth().block_on_table


def test_rays_meet_what_is_there(perfect_twin):
    perfect_twin.reset(8)
    snapshot, base = perfect_twin.world.new_snapshot(), perfect_twin.world.scene.base
    x, z = perfect_twin.start.block.xz_m
    above = base.to_base(np.array([x, 1.0, z]))
    down = np.tile(base.turn_to_base(np.array([0.0, -1.0, 0.0])), (3, 1))
    rays = snapshot.cast(above, down, (MOVING,), normals=True)
    assert rays.distance_m == pytest.approx([0.97] * 3, abs=1e-4)
    assert rays.normal is not None
    assert rays.normal[0] == pytest.approx(-down[0], abs=1e-6)
    assert np.isinf(snapshot.cast(above, -down, (MOVING, STILL)).distance_m).all()


def test_a_snapshot_stays_as_it_was(perfect_twin):
    perfect_twin.reset(8)
    snapshot = perfect_twin.world.new_snapshot()
    before = snapshot.geom_place_m
    perfect_twin.arm.send_path(np.array([[50.0, 0, 0, 0, 0, -30]]), speed_percent=60)
    perfect_twin.clock.sleep(1.0)
    assert np.array_equal(snapshot.geom_place_m, before)
    perfect_twin.world.take(snapshot)
    assert not np.array_equal(snapshot.geom_place_m, before)
