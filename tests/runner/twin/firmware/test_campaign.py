"""Whole trials with a fault at a random moment: nothing beyond limits, no false success, an arm at rest, a true log."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runner.twin.firmware.faults import FAULTS

ROOT = Path(__file__).resolve().parents[4]
CARRIED_ON = {"stray-header", "detour", "dead-band", "sag", "moving-always", "late-after-grip", "calibration-fails"}
CARRIED_ON |= {"cuts-short", "line-drops", "cut-frames", "camera-other-light"}
"""Faults that a trial outlives whenever they come."""


@pytest.fixture(scope="module")
def campaign() -> ModuleType:
    """The program that makes the table in the docs."""
    folder = ROOT / "benchmarks"
    spec = importlib.util.spec_from_file_location("fault_campaign", folder / "faults.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


@pytest.fixture
def check(campaign) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    def checked(rows: list[dict[str, Any]]) -> dict[str, Any]:
        sums = campaign.summed_up(rows)
        never = ("false_success", "beyond_limits", "not_at_rest", "errors_out", "not_told")
        broken = {what: sums[what] for what in never if sums[what]}
        assert not broken, [(row["seed"], row["result"], row["reason"], row["notes"], row["error"]) for row in rows]
        return sums

    return checked


@pytest.mark.parametrize(("fault", "seed"), [("unpowered", 2), ("ghost-motion", 1)])
def test_a_trial_with_a_fault_says_nothing_false_and_ends_at_rest(campaign, check, cell_copy, fault, seed):
    row = campaign.one(cell_copy, seed, fault, "new")
    assert row["begun"]
    assert check([row])["completed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("firmware", ["new", "old"])
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_twenty_trials_with_a_fault_at_a_random_moment(campaign, check, cell_copy, fault, firmware):
    trials = 20 if firmware == "new" else 3
    rows = [campaign.one(cell_copy, seed, fault, firmware) for seed in range(1, 1 + trials)]
    sums = check(rows)
    assert 2 * sums["begun"] > trials
    if fault in CARRIED_ON:
        assert sums["completed"] == trials


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_trial_with_a_fault_over_the_wire(campaign, check, cell_copy, fault):
    check([campaign.over_the_wire(cell_copy, 3, fault, "new", 5.0)])
