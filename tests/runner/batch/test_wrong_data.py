"""Wrong measurements can't hurt whole trials: twin batches left alone, whose tip is seen by somebody who lies.

The liar stands between the picture and the measurement; everything else is the program. The twin's truth scores.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import runner.trial.stages.tip as tip_stage
from runner.cli.main import run
from runs.batch_state import BatchState
from runs.batches import BatchStore
from runs.corrections.file import CorrectionFile
from runs.corrections.history import PersonsWord
from runs.sequential import paired_difference_so_far
from runs.statistics import mcnemar
from runs.store import RunStore
from vision.detect.protocol import Found
from vision.detect.tip import find_tip

TRIALS = 40
MAYA = PersonsWord(by="Maya", reason="a test")
Lie = Callable[[int], tuple[float, float]]


def aside(number: int) -> tuple[float, float]:
    """14 mm to the right, as by a camera that was bumped."""
    return 14.0, 0.0


def growing(number: int) -> tuple[float, float]:
    """Farther and farther away, a millimetre in two looks."""
    return min(25.0, number / 2), 0.0


def anywhere(number: int) -> tuple[float, float]:
    """Two of five looks are wild."""
    rng = np.random.default_rng(number)
    return tuple(rng.uniform(-20, 20, 2).tolist()) if rng.random() < 0.4 else (0.0, 0.0)


@contextmanager
def seen_by(lie: Lie) -> Iterator[None]:
    """While inside, the tip is seen where the liar says."""
    looks = 0

    def lying(*args, **more):
        nonlocal looks
        found = find_tip(*args, **more)
        if found.best is None or found.best.xz_m is None:
            return found
        looks += 1
        (x, z), (dx, dz) = found.best.xz_m, lie(looks)
        tip = found.best.model_copy(update={"xz_m": (x + dx / 1000, z + dz / 1000)})
        return Found(best=tip, accepted=(tip,), dropped=())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tip_stage, "find_tip", lying)
        yield


def batch(cell: Path, quick: tuple[str, ...], n: int, *settings: str) -> BatchState:
    """A batch left alone, with the same starts whenever it is run."""
    chosen = ("twin.profile=field", "batch.reset=teleport", "batch.round=10", *quick, *settings)
    told = [arg for setting in chosen for arg in ("--set", setting)]
    assert run(["batch", str(n), "--workers", "1", "--seed", "3", "--cell", str(cell), *told]) == 0
    found = BatchStore(cell).find("latest")
    return BatchState.of(found.plan(), found.events())


def copied(cell: Path, to: Path) -> Path:
    shutil.copytree(cell, to, ignore=shutil.ignore_patterns("cell.lock*"))
    return to


@pytest.fixture(scope="module")
def without(prepared_cell, tmp_path_factory, quick) -> BatchState:
    """The same starts without corrections."""
    folder = tmp_path_factory.mktemp("without") / "cell"
    return batch(copied(prepared_cell, folder), quick, TRIALS, "trial.corrections=false")


@pytest.mark.slow
@pytest.mark.parametrize("lie", [aside, growing, anywhere])
def test_a_liar_makes_no_batch_worse_beyond_noise_and_nothing_of_his_goes_live(cell_copy, quick, without, lie):
    with seen_by(lie):
        state = batch(cell_copy, quick, TRIALS)
    good = [[batch.final[n].result == "completed" for n in range(TRIALS)] for batch in (without, state)]
    counts = [sum(pair == kind for pair in zip(*good, strict=True)) for kind in ((1, 1), (1, 0), (0, 1), (0, 0))]
    interval = paired_difference_so_far(*counts)
    print(f"{lie.__name__}: both, only without, only with, neither: {counts}; without less with {interval}")
    assert mcnemar(*counts).p_value > 0.05 or counts[2] > counts[1], "worse beyond noise"
    assert counts[1] <= 4
    scored = [end for end in state.final.values() if end.result == "completed"]
    assert all(end.truth_in_box for end in scored)
    history = CorrectionFile(cell_copy).history()
    if lie is not anywhere:  # the middle of what two of five make wild is right, and may well be proved
        assert [line.kind for line in history if line.kind == "promoted"] == []
        assert any(line.proof is not None and not line.proof.holds for line in history)


@pytest.mark.slow
def test_a_lie_that_somebody_lets_go_live_is_bounded_by_the_cap_and_taken_back(cell_copy, quick):
    file, store = CorrectionFile(cell_copy), RunStore(cell_copy / "runs")
    with seen_by(aside):
        batch(cell_copy, quick, 10, "corrections.cap_mm=6")
    (belongs,) = [state.table.belongs_to for state in file.all_states() if state.table.lessons]
    before = len(file.history())
    live = file.promote(belongs, MAYA, by="Maya")
    with seen_by(aside):
        last = batch(cell_copy, quick, 1, "corrections.cap_mm=6").final[0]
    use = store.open(last.run_id).log.correction.last
    assert (use.model, use.capped) == (live.content_hash, True)
    assert np.hypot(use.dx_mm, use.dz_mm) == pytest.approx(6.0)
    file.roll_back(belongs, before, MAYA)
    use = store.open(batch(cell_copy, quick, 1).final[0].run_id).log.correction.last
    assert not use.applied
