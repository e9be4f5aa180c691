"""Last moves and lifts as they truly went: on the line, without a jump, and no farther than told. Truth scores here."""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.fk import tool_points_m
from runs.schema.motion import MoveRecord

STRAIGHT = ("stage4_pick", "stage6_lift", "stage8_place", "stage9b_lift")
MOST_MM = 1.0


class Follow:
    """Stands between the world and the arm and keeps, for every period, time, set-point and true joints (degrees)."""

    def __init__(self, twin):
        self.arm, self.world, self.rows, self.moves = twin.arm, twin.world, [], []
        twin.world.drive_with(self)

    def targets(self, gravity_nm):
        out = self.arm.targets(gravity_nm)
        self.rows.append((self.world.now_s, self.arm._set_deg, np.degrees(self.world.joints_rad)))
        return out

    def heard(self, record, _switch):
        if isinstance(record, MoveRecord):
            self.moves.append((record, self.world.now_s - record.duration_s, self.world.now_s))

    def during(self, began_s, ended_s):
        rows = [row for row in self.rows if began_s <= row[0] <= ended_s]
        return np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def check_trial(play, seed, profile="perfect"):
    """Plays one trial and checks every move; returns what the straight ones truly deviated, mm, by label."""
    follow: list[Follow] = []
    played = play(
        seed=seed,
        overrides=[f"twin.profile={profile}"],
        arrange=lambda twin: follow.append(Follow(twin)),
        on=lambda *heard: follow[0].heard(*heard),  # noqa: PLW0108 - it is there only when the trial begins
        quick=False,
    )
    arm, period_s = played.twin.arm.model, played.twin.arm._period_s
    deviated, targets = {}, {m.label: np.array(m.target_angles) for m, _, _ in follow[0].moves}
    for move, began_s, ended_s in follow[0].moves:
        told_deg, true_deg = follow[0].during(began_s, ended_s)
        speed = np.diff(told_deg, axis=0) / period_s
        rates = played.twin.arm.rates(move.speed_percent)
        assert (np.abs(speed) <= rates.speed_deg_s + 1e-6).all(), f"{move.label}: a command jumped"
        if move.corrective_deg is None:
            sent = np.array([told_deg[0], *move.via, move.commanded])
            assert (told_deg >= sent.min(axis=0) - 1e-6).all(), f"{move.label}: overshot"
            assert (told_deg <= sent.max(axis=0) + 1e-6).all(), f"{move.label}: overshot"
        if move.label in STRAIGHT:
            assert move.line_off_mm is not None
            assert move.line_off_mm <= 0.25
            begins = {"stage4_pick": "stage3_approach_pick", "stage8_place": "stage7_approach_place"}.get(move.label)
            b, tips = tool_points_m(np.array(move.target_angles), arm), tool_points_m(true_deg, arm)
            # Down: from where the tool was meant to be. Up: from where it stood, with the block gripped or let go.
            a = tips[0] if begins is None else tool_points_m(targets[begins], arm)
            share = np.clip((tips - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)[:, None]
            deviated[move.label] = float(np.linalg.norm(tips - a - share * (b - a), axis=1).max() * 1000)
        else:
            assert move.line_off_mm is None
    return played, deviated


def test_last_moves_and_lifts_are_straight_and_nothing_jumps_or_overshoots(play):
    played, deviated = check_trial(play, seed=13)
    assert played.log.result == "completed"
    assert set(deviated) == set(STRAIGHT)
    assert max(deviated.values()) <= MOST_MM, deviated


@pytest.mark.slow
def test_they_are_straight_in_twenty_trials(make_cell_copy, play):
    for seed in range(1, 21):
        played, deviated = check_trial(
            lambda seed=seed, **how: play(seed=seed, cell=make_cell_copy(f"c{seed}"), **how), seed
        )
        assert max(deviated.values(), default=0.0) <= MOST_MM, (seed, deviated)
        assert played.log.result == "completed", seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_the_field_profile_commands_do_not_jump_or_overshoot_either(play, seed):
    check_trial(play, seed=seed, profile="field")
