"""A batch on a Ray cluster: results as with one process; a machine that is lost in the middle costs only time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.batches import BatchStore
from runs.check import check_log
from runs.corrections.file import CorrectionFile
from runs.likeness import differing
from runs.store import RunStore

pytest.importorskip("ray", reason='Ray is not installed: pip install "trialcell[ray]"')

ROOT = Path(__file__).resolve().parents[3]
CLI = "from runner.cli.main import main; main()"
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
PLAN = ("--profile", "field", "--set", "batch.session=2", "--set", "batch.round=4")


def begin(cell: Path, quick: tuple[str, ...], *args: object) -> subprocess.Popen[str]:
    settings = [part for setting in quick for part in ("--set", setting)]
    command = [sys.executable, "-c", CLI, "batch", *map(str, args), *PLAN, *settings, "--cell", str(cell), "--json"]
    return subprocess.Popen(command, cwd=ROOT, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    told = json.loads(out)
    assert isinstance(told, dict)
    return told


def check_alike(one: Path, other: Path) -> None:
    """Logs equal but for the clock, and the same corrections."""
    stores = [RunStore(cell / "runs") for cell in (one, other)]
    logs = [[store.open(entry.run_id).log for entry in store.list()] for store in stores]
    assert [differing(a, b) for a, b in zip(*logs, strict=True)] == [[] for _ in logs[0]]
    taught = [
        [
            (lesson.xz_m, lesson.tip_minus_block_mm)
            for state in CorrectionFile(cell).all_states()
            for lesson in state.table.lessons
        ]
        for cell in (one, other)
    ]
    assert taught[0] == taught[1]
    assert taught[0]


@pytest.fixture
def cluster(monkeypatch) -> Iterator[Any]:
    """Two machines with a core each, and a head that runs nothing."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    small = {"object_store_memory": 200 * 2**20}
    there = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    there.machines = [there.add_node(num_cpus=1, **small) for _ in range(2)]
    yield there
    there.shutdown()


@pytest.mark.slow
def test_two_machines_give_what_one_process_gives(make_cell_copy, cluster, quick):
    here, there = make_cell_copy("here"), make_cell_copy("there")
    alone = ended(begin(here, quick, 8, "--workers", 1))
    away = ended(begin(there, quick, 8, "--engine", "ray", "--ray-address", cluster.address))
    assert away["finished"] == alone["finished"] == 8
    assert away["success"] == alone["success"]
    assert away["resets"] == alone["resets"]
    check_alike(here, there)
    assert not list(there.glob("batches/.home_*")) + list(there.glob(".home_*"))


@pytest.mark.slow
def test_a_machine_lost_in_the_middle_costs_only_time(make_cell_copy, cluster, quick):
    here, there = make_cell_copy("here"), make_cell_copy("there")
    running = begin(there, quick, 6, "--engine", "ray", "--ray-address", cluster.address)
    while running.poll() is None and not _finished(there):
        time.sleep(0.05)
    assert running.poll() is None, "it was still at it"
    cluster.remove_node(cluster.machines[0], allow_graceful=False)
    told = ended(running)
    assert (told["planned"], told["finished"], told["crashed"], told["cut_off"]) == (6, 6, 0, 0)
    store = RunStore(there / "runs")
    assert all(check_log(entry.run_id, store).valid for entry in store.list())
    starts = Counter(store.open(entry.run_id).log.provenance.batch.start for entry in store.list())
    assert starts == dict.fromkeys(range(6), 1), "nothing twice, nothing lost"
    ended(begin(here, quick, 6, "--workers", 1))
    check_alike(here, there)


@pytest.mark.slow
def test_a_cluster_of_ones_own_ends_with_the_batch_and_a_pause_is_heard_there(make_cell_copy, quick, monkeypatch):
    cell = make_cell_copy("cell")
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as scratch:  # a short path: sockets lie below it
        monkeypatch.setitem(ENV, "TMPDIR", scratch)
        running = begin(cell, quick, 6, "--engine", "ray", "--workers", 2)
        while running.poll() is None and not _finished(cell):
            time.sleep(0.05)
        assert _processes_with(scratch)
        stop = [sys.executable, "-c", CLI, "batch", "stop", "--cell", str(cell)]
        subprocess.run(stop, cwd=ROOT, env=ENV, check=True, capture_output=True)
        out, err = running.communicate()
        assert running.returncode == 130, err
        assert 1 <= json.loads(out)["finished"] < 6
        assert _processes_with(scratch) == []
        assert not list(Path(scratch).iterdir())
    resumed = [sys.executable, "-c", CLI, "batch", "resume", "--workers", "1", "--cell", str(cell), "--json"]
    done = subprocess.run(resumed, cwd=ROOT, env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] == 6, "begun on a cluster, gone on with here"


@pytest.mark.slow
def test_a_time_is_up_there_as_it_is_here(make_cell_copy, quick, monkeypatch):
    """The second trial is the last that begins, and no other session is handed out."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as scratch:
        monkeypatch.setitem(ENV, "TMPDIR", scratch)
        told = ended(begin(make_cell_copy("cell"), quick, 6, "--for", "1min", "--engine", "ray", "--workers", 1))
    assert told["state"] == "finished"
    assert "of the arm's clock are over" in told["enough"]
    assert 1 <= told["finished"] <= 2


def _finished(cell: Path) -> bool:
    return any("trial_ended" in path.read_text() for path in cell.glob("batches/*/events.jsonl"))


def _processes_with(text: str) -> list[str]:
    out = subprocess.run(["ps", "-ewwo", "args="], capture_output=True, text=True, check=False).stdout
    return [line for line in out.splitlines() if text in line]


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_said(make_cell_copy):
    cell = make_cell_copy("cell")
    process = begin(cell, (), 2, "--engine", "ray", "--ray-address", "127.0.0.1:1")
    out, _ = process.communicate()
    assert process.returncode == 4
    error = json.loads(out)["error"]
    assert "127.0.0.1:1" in error["message"]
    assert BatchStore(cell).find().is_running() is False
