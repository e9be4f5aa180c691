"""Wrong measurements can't hurt: batches left alone whose tip is measured by somebody who lies.

Arm and measurement are invented (benchmarks/corrections.py); files, rule, proofs and promotions are the program's own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from runs.corrections.file import CorrectionFile
from runs.corrections.history import PersonsWord

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def bench():
    """The benchmark that ships, as a module."""
    spec = importlib.util.spec_from_file_location("corrections_benchmark", ROOT / "benchmarks" / "corrections.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compare(bench, folder, liar, seed, trials, *, size):
    """The same batch without corrections and with those that must prove themselves: trials that succeeded at first."""
    arm = bench.InventedArm.of(seed, size=size)
    done = {}
    for rule in ("none", "robust"):
        done[rule] = bench.batch(folder / f"{liar}_{seed}_{rule}", arm, rule, bench.LIARS[liar], trials, seed)
    return done["none"], done["robust"]


@pytest.mark.parametrize("liar", ["aside", "turned"])
def test_a_liar_costs_only_the_few_trials_that_find_him_out(bench, tmp_path, liar):
    without, with_it = compare(bench, tmp_path, liar, 0, 240, size=0.25)
    assert (
        sum(without.first_try) - sum(with_it.first_try) <= 14
    )  # three tries of each candidate, or nine where one of the three came out well
    assert with_it.promoted == 0
    assert with_it.refused >= 1


def test_honest_measurements_bring_success_by_themselves(bench, tmp_path):
    without, with_it = compare(bench, tmp_path, "honest", 0, 320, size=1.0)
    assert np.mean(without.first_try) < 0.3
    assert np.mean(with_it.first_try[-100:]) >= 0.97
    assert np.median(with_it.tip_mm[-100:]) < 2.0
    assert with_it.promoted >= 1


@pytest.mark.slow
@pytest.mark.parametrize("liar", ["aside", "drifting", "wild", "turned"])
def test_over_thousands_of_trials_no_liar_makes_it_worse_beyond_noise(bench, tmp_path, liar):
    lost = trials = 0
    late = []
    for seed in range(4):
        without, with_it = compare(bench, tmp_path, liar, seed, 1000, size=0.25)
        lost += sum(without.first_try) - sum(with_it.first_try)
        trials += 1000
        late.append(np.mean(without.first_try[-300:]) - np.mean(with_it.first_try[-300:]))
    assert lost / trials <= 0.015
    assert np.mean(late) <= 0.015


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_over_a_thousand_trials_honest_measurements_end_near_the_truth(bench, tmp_path, seed):
    _, with_it = compare(bench, tmp_path, "honest", seed, 1000, size=1.0)
    assert np.mean(with_it.first_try[-200:]) >= 0.97
    assert np.median(with_it.tip_mm[-200:]) <= 2.0


def test_somebody_who_promotes_a_lie_by_his_word_is_bounded_by_the_cap_and_taken_back(bench, tmp_path):
    file = CorrectionFile(tmp_path)
    before = len(file.history())
    far = (300.0, 400.0)
    lessons = [
        bench.Lesson.of("pick", (0.1 + n / 100, 0.2), far, run_id=f"r{n:02}", at="2026-12-01T00:00:00Z")
        for n in range(12)
    ]
    file.merge(bench.HERE, lessons, source="a lie", by="test")
    file.propose(bench.HERE, bench.RULES["robust"], by="test")
    live = file.promote(bench.HERE, PersonsWord(by="Maya", reason="trust me"), by="Maya")
    target, use = live.apply("pick", (0.15, 0.2))
    assert np.hypot(target[0] - 0.15, target[1] - 0.2) * 1000 == pytest.approx(bench.RULES["robust"].cap_mm)
    assert use.capped
    back = file.roll_back(bench.HERE, before, PersonsWord(by="Maya", reason="it was a lie"))
    assert back.nothing
    assert [line.kind for line in file.history()] == ["merged", "proposed", "promoted", "rolled_back"]
