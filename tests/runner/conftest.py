"""A cell with tables and calibration, made once a test session and shared by all workers, copied for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from filelock import FileLock

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.schema.run import RunLog
from runs.store import RunStore

STAGES = (
    "stage1", "stage2", "stage3_approach_pick", "stage4_pick", "stage5", "stage6", "stage7_approach_place",
    "stage8_place", "stage9", "stage9b_judge_place", "stage10",
)  # fmt: skip


@pytest.fixture
def stages() -> tuple[str, ...]:
    """The stages of a trial in which nothing goes wrong, in their order."""
    return STAGES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`each_stage(quick=…, name=values…)`: a test for each stage and each value of the others, slow but for `quick`."""
    mark = metafunc.definition.get_closest_marker("each_stage")
    if mark is None:
        return
    others = {name: values for name, values in mark.kwargs.items() if name != "quick"}
    sets = []
    for each in product(STAGES, *others.values()):
        is_quick = (each if others else each[0]) in mark.kwargs["quick"]
        sets.append(pytest.param(*each, marks=() if is_quick else pytest.mark.slow))
    metafunc.parametrize(("stage", *others), sets)


@pytest.fixture(scope="session")
def quick() -> tuple[str, ...]:
    """Settings that make a trial short; how it goes is the same."""
    return (
        "arm.speed_percent=80",
        "arm.send_wait_s=0.1",
        "gripper.wait_s=1.3",
        "gripper.pre_release_wait_s=0",
        "camera.captures=1",
        "camera.settle_s=0.3",
    )


@pytest.fixture(scope="session")
def prepared_cell(tmp_path_factory) -> Path:
    """The default cell after its first use. Never to be written to: ask for `make_cell_copy` or `cell_copy`."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / "prepared_cell"
    with FileLock(shared / "prepared_cell.lock"):
        if not (folder / "calibration" / "plane.json").exists():
            build_rig(open_cell(folder), Request(seed=1), switch=StopSwitch(), progress=lambda _: None).__exit__(
                None, None, None
            )
    return folder


@pytest.fixture(scope="session")
def rehearsed_cell(prepared_cell, tmp_path_factory) -> Path:
    """A cell with one trial of the field profile in it, whose pick was rehearsed. Only to be read.

    Quick: few tries, one capture, a fast arm.
    """
    folder = tmp_path_factory.mktemp("rehearsed") / "cell"
    shutil.copytree(prepared_cell, folder, copy_function=_link_or_copy, ignore=shutil.ignore_patterns("cell.lock*"))
    told = ["twin.profile=field", "arm.speed_percent=80", "arm.send_wait_s=0.2", "camera.captures=1"]
    told += ['rehearse.policy="always"', "rehearse.block_sd_mm=5", "rehearse.tries=16", "rehearse.choices=2"]
    cell, switch = open_cell(folder, told), StopSwitch()
    with build_rig(cell, Request(seed=13), switch=switch, progress=lambda _: None) as rig:
        run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
    return folder


@pytest.fixture(scope="session")
def rehearsed_log(rehearsed_cell) -> RunLog:
    """The log of that trial."""
    return RunStore(rehearsed_cell / "runs").open("1").log


@pytest.fixture
def make_cell_copy(prepared_cell, tmp_path) -> Callable[[str], Path]:
    """Makes a cell of a test's own, ready for trials. Table and index are hard links: files are only ever replaced."""

    def make(name: str = "cell") -> Path:
        target = tmp_path / name
        shutil.copytree(prepared_cell, target, copy_function=_link_or_copy, ignore=shutil.ignore_patterns("cell.lock*"))
        return target

    return make


@pytest.fixture
def cell_copy(make_cell_copy) -> Path:
    return make_cell_copy()


def _link_or_copy(source: str, target: str) -> object:
    if source.endswith((".parquet", ".index")):
        os.link(source, target)
        return target
    return shutil.copy2(source, target)
