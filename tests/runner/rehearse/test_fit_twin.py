"""`trialcell twin fit`: an arm's sag and lag learned from its logged moves, and the twin truer on moves left out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from runner.arms.arrival import MoveControl
from runner.arms.errors import Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.config import with_overrides
from runner.rehearse.doubt import doubt_of, draw
from runner.rehearse.fit_twin import FRICTIONS, Rubbed, camera_off_mm, fit_twin, left_at_grasps, rub_of, split, to_keep
from runner.rehearse.hindsight import judged_ways
from runner.table.cell_tables import open_tables
from runner.twin.drive_file import DriveFile, drive_of
from runner.twin.drive_fit import Moves, TooFewMoves, fit_drive, moves_of, predicted_deg
from runner.twin.profiles import FIELD, Profile
from runner.twin.setup import build_twin
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore
from vision.calibration.kept import save

UNKNOWN = Profile(
    "unknown",
    offset_deg=(-0.9, 3.1, -0.8, 1.0, 1.3, -0.5),
    half_width_deg=(0.4, 0.25, 0.9, 0.2, 0.5, 0.3),
    lag_deg=(2.0, 1.5, 1.0, 0.3, 1.0, 0.2),
    lag_s=0.4,
    ripple_deg=(0.1,),
    zero_sigma_deg=0.3,
)


@pytest.fixture(scope="module")
def record(arm, base, config, tmp_path_factory):
    """Records a run of so many moves between random poses by a twin of a profile that no settings know."""
    store = RunStore(tmp_path_factory.mktemp("moves") / "runs")
    fast = with_overrides(config, ["arm.speed_percent=100", "arm.send_wait_s=0.1"])

    def make(moves: int, seed: int = 5, profile: Profile = UNKNOWN):
        twin = build_twin(fast, seed=seed, profile=profile)
        guard = GuardedArm(twin.arm, base, GuardRules.of(arm, fast.arm, fast.table, fast.guard))
        mover, rng = MoveControl(guard, twin.clock, base, fast.arm), np.random.default_rng(seed)
        writer = RunStore(store.runs_dir).create(RunHeader())
        made = 0
        while made < moves:
            goal = np.array([0, 0, 0, 0, 20, -30]) + rng.uniform(-1, 1, 6) * (60, 20, 20, 30, 40, 40)
            with suppress(Refused):  # too near to the table: another one
                moved = mover.move(f"move{made}", goal[None], tolerance_deg=8.0, correct=made % 3 == 0)
                writer.add(moved.record)
                made += 1
        twin.close()
        return writer.finish(Ending(result="completed", stage="stage10", reason="a test"))

    return make


@pytest.fixture(scope="module")
def planner(prepared_cell, config):
    return open_tables(prepared_cell, config).planner(config)


def test_a_few_moves_tell_sag_and_dead_band_and_make_the_twin_truer(record, config, arm):
    file = fit_twin([record(12)], config, arm, FIELD, seeds=(1,), source="a test")
    assert file.offset_deg == pytest.approx(UNKNOWN.offset_deg, abs=0.45)
    assert (file.moves, file.held_out, file.before) == (9, 3, "field")
    assert file.after_deg < 0.5 * file.before_deg


@pytest.mark.slow
def test_two_hundred_moves_halve_the_parity_error_of_held_out_moves_at_least(record, config, arm):
    logs = [record(50, seed) for seed in (5, 6, 7, 8)]
    file = fit_twin(logs, config, arm, FIELD, seeds=(1,), source="a test")
    assert file.moves + file.held_out == 200
    assert file.after_deg <= 0.5 * file.before_deg
    assert file.offset_deg == pytest.approx(UNKNOWN.offset_deg, abs=0.2)
    assert file.half_width_deg == pytest.approx(UNKNOWN.half_width_deg, abs=0.25)


def made_up(profile: Profile, n: int = 120, seed: int = 3) -> Moves:
    """Moves of an arm that is just what the fit assumes."""
    rng = np.random.default_rng(seed)
    before, goal = rng.uniform(-40, 40, (2, n, 6))
    rate = np.clip(goal - before, -10, 10)
    since = rng.uniform(0.1, 1.0, n)
    empty = np.full((n, 6), np.nan)
    moves = Moves(before, goal[:, None], rate, since, empty, empty)
    arrived = predicted_deg(profile, moves)
    moves = replace(moves, arrived_deg=arrived)
    return replace(moves, later_deg=predicted_deg(profile, moves, later=True))


def test_an_arm_as_assumed_is_found_to_the_digit():
    truth = replace(UNKNOWN, ripple_deg=(0.0,), lag_deg=(2.0, 1.5, 1.0, 0.3, 1.0, 0.6))
    found = fit_drive(made_up(truth), _Bare())
    assert found.lag_s == truth.lag_s
    assert found.offset_deg == pytest.approx(truth.offset_deg, abs=0.02)
    assert found.half_width_deg == pytest.approx(truth.half_width_deg, abs=0.02)
    assert found.lag_deg == pytest.approx(truth.lag_deg, abs=0.1)


@pytest.mark.slow
def test_a_few_wild_readings_change_little():
    moves = made_up(replace(UNKNOWN, ripple_deg=(0.0,)))
    bumped = moves.arrived_deg.copy()
    bumped[::15] += 5.0
    found = fit_drive(replace(moves, arrived_deg=bumped), _Bare())
    assert found.offset_deg == pytest.approx(UNKNOWN.offset_deg, abs=0.1)


def test_too_few_moves_are_refused_in_a_sentence(record, arm):
    log = record(4)
    with pytest.raises(TooFewMoves, match="4 moves can't tell"):
        moves_of([log], arm, speed_percent=20)


def test_every_fourth_run_is_held_out_and_of_one_the_last_quarter(record):
    log = record(4)
    eight = [log.model_copy(update={"run_id": f"run_{i}"}) for i in range(8)]
    parts = split(eight)
    assert [held.run_id for held, _ in parts.held] == ["run_3", "run_7"]
    assert len(parts.fit) == 6
    one = split([log])
    assert [(len(one.fit[0].moves), first) for _, first in one.held] == [(3, 3)]


def test_a_kept_fit_is_what_rehearsals_reckon_with(tmp_path, config):
    assert drive_of(tmp_path, "mecharm270") is FIELD
    save(fitted(1.0, 0.2, 1.0), tmp_path)
    drive = drive_of(tmp_path, "mecharm270")
    doubt = doubt_of(config.rehearse, drive)
    assert (doubt.lag_deg, doubt.lag_s, doubt.left_deg) == ((2.0,) * 6, 0.9, pytest.approx((0.3,) * 6))
    assert drive_of(tmp_path, "another") is FIELD


def fitted(before_deg: float, after_deg: float, offset_deg: float, **more) -> DriveFile:
    return DriveFile(
        made_at="2026-01-01T00:00:00+00:00", source=f"sag {offset_deg}", arm_model="mecharm270",
        offset_deg=(offset_deg,) * 6, half_width_deg=(0.5,) * 6, lag_deg=(2.0,) * 6, lag_s=0.9, ripple_deg=(0.1,) * 6,
        moves=100, held_out=20, before="field", before_deg=before_deg, after_deg=after_deg, **more,
    )  # fmt: skip


def test_a_fit_that_is_no_truer_leaves_the_kept_sag_dead_band_and_lag():
    good = fitted(1.0, 0.2, 3.0, pad_friction=0.4, picks=9)
    grasps = {"left_deg": (1.2,) * 6, "left_sd_deg": (0.2,) * 6, "grasps": 8}
    no_truer = fitted(0.2, 0.2, 0.1, **grasps)
    kept = to_keep(no_truer, good)
    assert kept == good.model_copy(update={**grasps, "source": kept.source})
    assert kept.source.startswith("sag 3.0")
    assert to_keep(fitted(0.2, 0.2, 0.1), good) is None, "nothing was measured besides"
    assert to_keep(no_truer, None) == no_truer
    assert to_keep(fitted(0.2, 0.2, 0.1), None) is None


def test_a_truer_fit_replaces_the_kept_one_but_for_what_it_could_not_measure():
    good = fitted(1.0, 0.2, 3.0, left_deg=(1.2,) * 6, left_sd_deg=(0.2,) * 6, grasps=8)
    truer = fitted(0.3, 0.1, 2.0, tip_bias_mm=(1.0, 0.0), tip_sd_mm=(0.5, 0.5), tips=5)
    kept = to_keep(truer, good)
    assert (kept.offset_deg, kept.left_deg, kept.grasps, kept.tips) == ((2.0,) * 6, (1.2,) * 6, 8, 5)


def test_what_corrected_joints_were_left_at_grasps_is_what_rehearsals_draw_round(rehearsed_log, config):
    (move,) = [m for m in rehearsed_log.moves if m.label == "stage4_pick"]
    one = rehearsed_log.model_copy(update={"moves": (move,)})
    assert left_at_grasps([one] * 5) == ((), (), 5)
    low = move.model_copy(update={"post_actual": tuple(np.array(move.target_angles) + (0, 1.0, 0, 0, 0, 0))})
    high = move.model_copy(update={"post_actual": tuple(np.array(move.target_angles) + (0, 1.4, 0, 0, 0, 0))})
    logs = [rehearsed_log.model_copy(update={"moves": (each,)}) for each in (low, high) * 4]
    middle, spread, n = left_at_grasps(logs)
    assert (middle[1], spread[1], n) == (pytest.approx(1.2), pytest.approx(0.2), 8)
    doubt = doubt_of(config.rehearse, replace(FIELD, left_deg=middle, left_sd_deg=spread))
    off = draw(doubt, 32, 6, seed=1)
    assert off.left_deg[:, 1].mean() == pytest.approx(1.2, abs=0.05)
    assert np.abs(off.left_deg[:, 0]).max() < 0.01


def test_friction_is_told_only_where_the_picks_determine_it():
    flat = Rubbed((-5.0, -4.9, -4.8, -4.8, -4.8, -4.8, -4.8, -4.8), 12)
    assert flat.best is None
    peak = Rubbed((-30.0, -20.0, -9.0, -5.0, -6.0, -8.0, -9.0, -9.5), 12)
    assert peak.best == FRICTIONS[3]
    assert Rubbed((0.0,) * 8, 0).best is None


def test_the_camera_is_not_judged_by_two_tips():
    assert camera_off_mm([]) == (None, None, 0)


@pytest.mark.slow
def test_picks_that_fail_for_slippery_pads_are_told_from_picks_that_hold(rehearsed_log, config, planner):
    pairs = list(judged_ways(rehearsed_log, planner, config))
    assert [pick.verdict for pick, _ in pairs] == ["yes"]
    held = rub_of(pairs * 4, planner, config, FIELD)
    lost = rub_of([(replace(pick, verdict="no"), plan) for pick, plan in pairs * 4], planner, config, FIELD)
    assert held.log_likelihood[0] < held.log_likelihood[-1]
    assert lost.best == FRICTIONS[0]


class _Bare:
    """As much of an arm as the fit looks at."""

    n_joints = 6

    class data:
        servo = None
