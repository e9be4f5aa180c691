"""A desk of which nothing is known: off by as much as it says, and the same in all its trials."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config, with_overrides
from runner.twin.profiles import FIELD, PERFECT, UNCALIBRATED, Desk
from runner.twin.setup import Twin, build_twin

NUMBERS = range(60)


def test_an_unknown_desk_is_off_as_much_as_its_profile_says():
    desks = [Desk.of(UNCALIBRATED, 6, number) for number in NUMBERS]
    camera_mm = np.array([np.linalg.norm(desk.camera_m) for desk in desks]) * 1000.0
    turn_deg = np.array([np.linalg.norm(desk.camera_deg) for desk in desks])
    zeros = np.array([desk.zero_deg for desk in desks])
    assert 7.0 < camera_mm.min() < camera_mm.max() <= 15.0
    assert 0.9 < turn_deg.min() < turn_deg.max() <= 2.0
    assert [np.linalg.norm(desk.tool_mm) for desk in desks] == pytest.approx([5.0] * len(desks))
    assert zeros.std() == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize("profile", [PERFECT, FIELD])
def test_other_profiles_have_nothing_that_stays(profile):
    desk = Desk.of(profile, 6, 3)
    assert not np.concatenate((desk.zero_deg, desk.tool_mm, desk.camera_m, desk.camera_deg)).any()
    view = Twin(with_overrides(Config(), [f"twin.profile={profile.name}"])).view
    assert desk.view(view) is view


def test_what_is_off_stays_from_trial_to_trial_and_differs_from_desk_to_desk():
    told = ['twin.profile="uncalibrated"', "twin.desk_seed=4"]
    twin = build_twin(with_overrides(Config(), told), seed=1)
    first = np.array(twin.truth().angles_deg) - twin.arm.read_angles_deg()
    camera = twin.view.camera_m
    twin.reset(2)
    again = np.array(twin.truth().angles_deg) - twin.arm.read_angles_deg()
    twin.close()
    np.testing.assert_allclose(first, Desk.of(UNCALIBRATED, 6, 4).zero_deg, atol=0.06)
    np.testing.assert_allclose(first, again, atol=0.1)
    other = Twin(with_overrides(Config(), [told[0], "twin.desk_seed=5"]))
    assert other.view.camera_m != camera
    other.close()
