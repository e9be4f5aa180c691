"""The arm's fit: it finds what was put in, drops what doesn't belong, and names what the data can't tell."""

from __future__ import annotations

import numpy as np
import pytest

from runner.calibrate.arm_fit import fit_arm
from runner.calibrate.bench import board_xz_m
from runner.calibrate.held_out import region_of
from runner.calibrate.samples import BadTouchFile, SeenTips, TouchedMarks, read_touched
from runner.calibrate.tip_poses import candidate_poses, poses_that_tell_most
from runner.calibrate.unknowns import ArmUnderCamera
from runner.geometry import obstacles_of
from vision.calibration.view import View
from vision.errors import CalibrationTooPoor

HEADER = "j0,j1,j2,j3,j4,j5,x_mm,y_mm,z_mm"


@pytest.fixture(scope="module")
def model(arm, base, config) -> ArmUnderCamera:
    view = View.looking_at((0.0, 0.9, 0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=60.0)
    return ArmUnderCamera(arm, base, view, board_xz_m(config))


@pytest.fixture(scope="module")
def poses(model, config) -> np.ndarray:
    return poses_that_tell_most(model, config, obstacles_of(config), 14)


def unknown_arm(rng, model) -> np.ndarray:
    values = np.zeros(model.n_unknowns)
    values[:6] = rng.normal(0.0, 1.5, 6)
    direction = rng.normal(0.0, 1.0, 3)
    values[6:9] = 5.0 * direction / np.linalg.norm(direction)
    return values


def seen(model, poses, values, rng, noise_px=0.5) -> SeenTips:
    return SeenTips(poses, poses, model.tips_px(poses, values) + rng.normal(0.0, noise_px, (len(poses), 2, 2)))


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 12))])
def test_what_was_put_in_comes_out(model, poses, number):
    rng = np.random.default_rng(number)
    true = unknown_arm(rng, model)
    fit = fit_arm(model, seen(model, poses, true, rng))
    off_m = model.tool_points_m(poses, fit.values) - model.tool_points_m(poses, true)
    assert np.linalg.norm(off_m, axis=1).max() < 2.5e-3
    assert fit.held_out.median_mm < 1.5 < fit.rms_before_mm
    assert fit.dropped == () == fit.left_alone


def test_a_camera_that_hangs_askew_is_put_right_by_the_heights_of_the_tip(model, poses):
    """A flat board hardly tells a tilt from a shift; both at once leave the board where it was."""
    rng = np.random.default_rng(5)
    true = unknown_arm(rng, model)
    true[9:15] = 0.0
    true[9], true[14] = 0.8, 12.6  # a turn about the picture's right, and the shift that hides it from the board
    assert np.abs(model.board_off_px(true)).max() < 3.0
    fit = fit_arm(model, seen(model, poses, true, rng))
    assert fit.values[9] == pytest.approx(0.8, abs=0.4)
    off_m = model.tool_points_m(poses, fit.values) - model.tool_points_m(poses, true)
    assert np.linalg.norm(off_m, axis=1).max() < 3e-3


def test_a_pose_that_was_seen_wrongly_is_dropped(model, poses):
    rng = np.random.default_rng(2)
    true = unknown_arm(rng, model)
    tips = seen(model, poses, true, rng)
    tips.ends_px[[3, 11]] += (60.0, -35.0)
    fit = fit_arm(model, tips)
    assert fit.dropped == (3, 11)
    assert np.abs(fit.values[:5] - true[:5]).max() < 0.6


def test_what_the_marks_cant_tell_is_left_as_it_was_and_named(arm, base, config):
    """Only j0 turns: marks then tell of j0 and of where the tool is, but not of every joint apart."""
    touched = ArmUnderCamera(arm, base, None, np.zeros((0, 2)))
    poses = np.tile([0.0, 40.0, 5.0, 0.0, 30.0, -30.0], (12, 1))
    poses[:, 0] = np.linspace(-60.0, 60.0, 12)
    true = np.zeros(touched.n_unknowns)
    true[0] = 2.0
    fit = fit_arm(touched, TouchedMarks(poses, touched.tool_points_m(poses, true)))
    assert fit.values[0] == pytest.approx(2.0, abs=0.2)
    assert {"zero of j3", "zero of j5"} <= set(fit.left_alone)
    for parameter in fit.parameters:
        if not parameter.determined:
            assert parameter.value == parameter.prior == 0.0
    assert "zero of j0" not in fit.left_alone
    assert len(fit.singular_values) == 9
    assert min(fit.singular_values) < 1e-3
    assert max(fit.singular_values) > 10.0


def test_pairs_that_show_only_together_are_named(arm, base):
    """With elbow and wrist at rest j1 and j2 show nearly as one."""
    touched = ArmUnderCamera(arm, base, None, np.zeros((0, 2)))
    rng = np.random.default_rng(3)
    poses = np.array([20.0, 40.0, 0.0, 5.0, 30.0, -30.0]) + rng.uniform(-1.0, 1.0, (16, 6)) * [60, 15, 1, 1, 1, 1]
    fit = fit_arm(touched, TouchedMarks(poses, touched.tool_points_m(poses, np.zeros(touched.n_unknowns))))
    assert any(pair.startswith("zero of j1 and zero of j2 show mostly as their sum") for pair in fit.confused)


def test_touched_marks_find_the_arm_too(arm, base, config, model):
    touched = ArmUnderCamera(arm, base, None, np.zeros((0, 2)))
    rng = np.random.default_rng(8)
    poses = candidate_poses(model, config, obstacles_of(config))[:30]
    true = unknown_arm(rng, touched)
    true[5] = 0.0
    points = touched.tool_points_m(poses, true) + rng.normal(0.0, 0.3e-3, (len(poses), 3))
    fit = fit_arm(touched, TouchedMarks(poses, points))
    off_m = touched.tool_points_m(poses, fit.values) - touched.tool_points_m(poses, true)
    assert np.linalg.norm(off_m, axis=1).max() < 1.5e-3


def test_too_few_poses_are_refused(model, poses):
    tips = seen(model, poses, np.zeros(model.n_unknowns), np.random.default_rng(4))
    with pytest.raises(CalibrationTooPoor, match="5 poses, 8 needed"):
        fit_arm(model, tips.at(np.arange(5)))


@pytest.mark.slow
def test_poses_of_no_arm_are_refused(model, poses):
    rng = np.random.default_rng(4)
    tips = seen(model, poses, unknown_arm(rng, model), rng)
    scattered = SeenTips(poses, poses, tips.ends_px + rng.normal(0.0, 60.0, (len(poses), 1, 2)))
    with pytest.raises(CalibrationTooPoor, match=r"agree with no arm|left out of the fit"):
        fit_arm(model, scattered)


def test_chosen_poses_spread_over_heights_and_sides(model, poses):
    places = model.tool_points_m(poses, np.zeros(model.n_unknowns))
    assert np.ptp(places[:, 1]) > 0.08
    assert len({region_of(x, z).split(",")[0] for x, _, z in places.tolist()}) == 3
    assert places[:, 1].min() > 0.06


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no line of figures"),
        (HEADER + "\n", "holds no line of figures"),
        ("j0,j1,j2,j3,j4,x_mm,y_mm,z_mm\n0,0,0,0,0,1,2,3\n", "no column j5"),
        (HEADER + "\n0,0,0,0,0,zero,1,2,3\n", "line 2: j5 is 'zero'"),
        (HEADER + "\n0,0,0,0,0,0,1,2\n", "line 2: z_mm is None"),
        (HEADER + "\n0,0,0,0,0,nan,1,2,3\n", "line 2 holds a number that is not finite"),
    ],
)
def test_a_list_of_marks_that_cant_be_used_says_where(tmp_path, text, said):
    (tmp_path / "marks.csv").write_text(text)
    with pytest.raises(BadTouchFile, match=said):
        read_touched(tmp_path / "marks.csv", 6)


def test_a_list_of_marks_is_read_in_its_units(tmp_path):
    (tmp_path / "marks.csv").write_text(f"{HEADER}\n1,2,3,4,5,6,100,0,250\n")
    marks = read_touched(tmp_path / "marks.csv", 6)
    assert marks.encoder_deg.tolist() == [[1, 2, 3, 4, 5, 6]]
    assert marks.point_m.tolist() == [[0.1, 0.0, 0.25]]
    with pytest.raises(BadTouchFile, match="No such file"):
        read_touched(tmp_path / "nowhere.csv", 6)
