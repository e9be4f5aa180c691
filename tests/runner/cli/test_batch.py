"""`trialcell batch`: run, killed in the middle, gone on with, watched, paused; what it says and its exit codes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runs.batch_records import ResetEnded, RoundTaught, SceneMade
from runs.batches import BatchStore
from runs.check import check_log
from runs.corrections.file import CorrectionFile
from runs.latch import StopLatch
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
CLI = "from runner.cli.main import main; main()"
QUICK = [
    arg
    for setting in (
        "arm.speed_percent=80",
        "arm.send_wait_s=0.1",
        "gripper.wait_s=1.3",
        "gripper.pre_release_wait_s=0",
        "camera.captures=1",
        "camera.settle_s=0.3",
    )
    for arg in ("--set", setting)
]


class Killed:
    """A batch in a process of its own, in a cell; killed when and as often as one likes."""

    def __init__(self, cell: Path) -> None:
        self.cell = cell

    def begin(self, *args: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CLI, "batch", *map(str, args), "--cell", str(self.cell)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill_when(self, process: subprocess.Popen[str], there: Callable[[], bool]) -> bool:
        """Kill −9 as soon as something is so; whether it was still alive then."""
        while process.poll() is None and not there():
            time.sleep(0.02)
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return alive

    def wrote(self, text: str) -> bool:
        """Whether any run's or reset's events hold these words."""
        logs = [*self.cell.glob("runs/*/events.jsonl"), *self.cell.glob("batches/*/resets/*/events.jsonl")]
        return any(text in path.read_text(encoding="utf-8") for path in logs)

    def check(self, n: int, status: dict[str, object]) -> Counter[str]:
        """Every start has one final run, every run an end, no lesson came twice; how the runs ended."""
        store = RunStore(self.cell / "runs")
        logs = [store.open(entry.run_id).log for entry in store.list()]
        assert all(entry.state == "complete" for entry in store.list())
        assert all(check_log(log.run_id, store).valid for log in logs)
        final = Counter(log.provenance.batch.start for log in logs if not (log.recovered and log.result == "crashed"))
        assert final == dict.fromkeys(range(n), 1)
        assert status["planned"] == status["finished"] == n
        ends = Counter(log.result for log in logs)
        assert status["crashed"] == ends["crashed"]
        assert status["completed"] == ends["completed"]
        taught = [lesson.run_id for state in CorrectionFile(self.cell).all_states() for lesson in state.table.lessons]
        assert len(taught) == len(set(taught))
        return ends


@pytest.fixture
def killed(cell_copy) -> Killed:
    return Killed(cell_copy)


def test_a_batch_killed_with_the_block_in_the_air_goes_on_where_it_was(trialcell, killed):
    running = killed.begin("run", 2, "--workers", 1, *QUICK)
    assert killed.kill_when(running, lambda: killed.wrote('"name":"stage7_approach_place"'))
    told = trialcell("batch", "status", "--json", "--cell", killed.cell).object
    assert (told["state"], told["finished"], told["running"]) == ("interrupted", 0, False)
    resumed = trialcell("batch", "resume", "--workers", 1, "--json", "--cell", killed.cell)
    assert resumed.code == 0, resumed.err
    told = trialcell("batch", "status", "--json", "--cell", killed.cell).object
    assert killed.check(2, told)["crashed"] == 1
    assert told["cut_off"] == 1
    events = BatchStore(killed.cell).find().events()
    assert [event.by for event in events if isinstance(event, SceneMade)] == ["new world", "same world"]
    (put_down,) = [event.found for event in events if isinstance(event, ResetEnded) and event.found]
    assert "the gripper holds the block: it is set down where it was taken" in put_down
    assert not list(killed.cell.glob("batches/*/world_*"))
    assert told["resets"]["done"] == 2, "to the start that was cut off, and to the next"
    assert (told["success"]["n"], told["rounds_taught"], told["state"]) == (2, 1, "finished")
    assert "cut off" in resumed.err
    page = Path(resumed.object["report"]).read_text(encoding="utf-8")
    assert all(entry.run_id in page for entry in RunStore(killed.cell / "runs").list())
    again = trialcell("batch", "resume", "--json", "--cell", killed.cell)
    assert again.code == 0
    assert again.object["finished"] == 2
    assert len(RunStore(killed.cell / "runs").list()) == 3, "nothing is run that has its result"


def test_what_is_asked_wrongly_is_said_before_anything_is_made(trialcell, tmp_path, cell):
    for args, why in (
        (("batch", "0"), "greater than or equal to 1"),
        (("batch", "run"), "how many starts"),
        (("batch", "3", "--until", "decided"), "no A and B"),
        (("batch", "3", "--until", "often"), "a share between"),
        (("batch", "run", "--for", "24"), "for example 24h"),
        (("batch", "run", "--for", "1000d"), "for example 24h"),
        (("batch", "run", "--for", "1000h"), "up to 30 days"),
        (("batch", "3", "--from", tmp_path / "none.csv"), "can't read"),
        (("batch", "3", "--a", "camera.captures=1", "--b", "camera.captures=2"), "share one desk"),
        (("batch", "3", "--set", "batch.sesion=3"), "batch.session"),
        (("batch", "resume"), "no batch yet"),
        (("batch", "status", "7"), "no batch '7'"),
    ):
        told = trialcell(*args, "--cell", cell)
        assert told.code == 2, told.err
        assert why in told.err
    assert not (cell / "batches").exists()


def test_a_plan_is_shown_and_written(trialcell, cell, tmp_path):
    told = trialcell("batch", "plan", "12", "--kind", "halton", "--out", tmp_path / "starts.csv", "--cell", cell)
    assert told.code == 0
    assert "12 trials in 3 sessions and 1 rounds" in told.out
    assert len((tmp_path / "starts.csv").read_text().splitlines()) == 13
    again = trialcell("batch", "plan", "12", "--from", tmp_path / "starts.csv", "--json", "--cell", cell).object
    first = trialcell("batch", "plan", "12", "--kind", "halton", "--json", "--cell", cell).object
    assert again["starts"] == first["starts"]
    assert not (cell / "batches").exists()


def test_how_many_trials_a_difference_takes_is_said(trialcell, cell):
    told = trialcell("batch", "plan", "--detect", "5%", "--cell", cell)
    assert told.code == 0
    found = trialcell("batch", "plan", "--detect", "0.05", "--json", "--cell", cell).object
    assert found["trials"] == 2 * found["pairs"]
    assert f"{found['pairs']} pairs" in told.out
    assert trialcell("batch", "plan", "--detect", "x", "--cell", cell).code == 2


def test_a_latched_stop_pauses_a_batch_before_its_first_start(trialcell, cell_copy):
    StopLatch(cell_copy).set(by="Maya", why="hand on the table")
    told = trialcell("batch", "2", "--workers", 1, "--cell", cell_copy)
    assert told.code == 3
    assert "hand on the table" in told.out
    assert "trialcell batch resume 1" in told.out
    status = trialcell("batch", "status", "--json", "--cell", cell_copy).object
    assert (status["state"], status["finished"]) == ("paused", 0)
    assert trialcell("batch", "list", "--json", "--cell", cell_copy).object["batches"][0]["state"] == "paused"
    assert "not running" in trialcell("batch", "stop", "--cell", cell_copy).out


def test_a_full_disk_pauses_a_batch(trialcell, cell_copy):
    told = trialcell("batch", "2", "--workers", 1, "--set", "batch.min_free_mb=999999999", "--cell", cell_copy)
    assert told.code == 4
    assert "MB of disk are free" in told.out


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_and_count_nothing_twice(trialcell, make_cell_copy):
    """At random moments, with the block in the gripper, and while a round is taught; of batches of twenty."""
    rng = random.Random(7)
    hit: Counter[str] = Counter()
    batches = 0
    while hit.total() < 100:
        batches += 1
        killed = Killed(make_cell_copy(f"cell{batches}"))
        args: tuple[object, ...] = ("run", 20, "--workers", 1, "--set", "batch.round=2", *QUICK)
        while hit.total() < 100 and not _done(killed.cell):
            process = killed.begin(*args)
            moment = ("anywhere", "anywhere", "holding", "learning")[hit.total() % 4]
            if killed.kill_when(process, _moment(killed, process, moment, rng)):
                hit[moment] += 1
            if BatchStore(killed.cell).list():
                args = ("resume", "--workers", 1)
        assert trialcell("batch", "resume", "--cell", killed.cell).code == 0
        told = trialcell("batch", "status", "--json", "--cell", killed.cell).object
        ends = killed.check(20, told)
        assert told["false_successes"] == 0
        assert told["completed"] >= 17, ends
        taught = [lesson for state in CorrectionFile(killed.cell).all_states() for lesson in state.table.lessons]
        assert len(taught) >= 17, "what was kept is taught, once"
        events = BatchStore(killed.cell).find().events()
        assert Counter(event.round for event in events if isinstance(event, RoundTaught)) == dict.fromkeys(range(10), 1)
    assert min(hit["holding"], hit["learning"]) >= 20
    print(f"{batches} batches: {dict(hit)}")


def _moment(killed: Killed, process: subprocess.Popen[str], moment: str, rng: random.Random) -> Callable[[], bool]:
    """Whether it has come: so long after the process took the batch up, after it grasped, or after a trial was told."""
    wait_s, since = rng.uniform(0.0, 4.0 if moment == "anywhere" else 0.06), [0.0]
    before: list[tuple[Path, int]] = []

    def seen() -> tuple[Path, int]:
        kind, word = {
            "anywhere": ("batches", '"kind":"started"'),
            "holding": ("runs", '"name":"stage7_approach_place"'),
            "learning": ("batches", '"kind":"trial_ended"'),
        }[moment]
        logs = killed.cell.glob(f"{kind}/*/events.jsonl")
        newest = max(logs, key=lambda path: path.stat().st_mtime_ns, default=killed.cell / "cell.toml")
        return newest, newest.read_text(encoding="utf-8").count(word)

    def come() -> bool:
        if not _began(killed.cell, process.pid):
            return False
        if not before:
            before.append(seen())
        if not since[0] and (moment == "anywhere" or (seen() != before[0] and seen()[1] > 0)):
            since[0] = time.monotonic()
        return bool(since[0]) and time.monotonic() > since[0] + wait_s

    return come


def _done(cell: Path) -> bool:
    return any('"kind":"finished"' in path.read_text() for path in cell.glob("batches/*/events.jsonl"))


def _began(cell: Path, pid: int) -> bool:
    return any(f'"pid":{pid}' in path.read_text() for path in cell.glob("batches/*/events.jsonl"))


@pytest.mark.slow
def test_workers_die_with_their_parent_and_one_that_dies_alone_is_replaced(trialcell, killed):
    running = killed.begin("run", 6, "--workers", 2, "--set", "batch.session=2", *QUICK)
    while not killed.wrote('"name":"stage4_pick"'):
        time.sleep(0.05)
    workers = _children(running.pid)
    assert workers
    os.kill(workers[0], signal.SIGKILL)  # alone
    assert killed.kill_when(running, lambda: len(list(killed.cell.glob("runs/*/run.json"))) >= 3)
    time.sleep(2.0)
    assert not [pid for pid in workers[1:] if Path(f"/proc/{pid}").exists() and _is_ours(pid)]
    assert trialcell("batch", "resume", "--workers", 2, "--cell", killed.cell).code == 0
    killed.check(6, trialcell("batch", "status", "--json", "--cell", killed.cell).object)


def _children(pid: int) -> list[int]:
    out = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in out.stdout.splitlines() if "spawn_main" in line]


def _is_ours(pid: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.slow
def test_results_are_the_same_however_many_workers(trialcell, make_cell_copy):
    def results(workers: int) -> list[tuple[object, ...]]:
        cell = make_cell_copy(f"cell{workers}")
        told = trialcell(
            *("batch", 12, "--workers", workers, "--profile", "field", "--set", "batch.session=3"),
            *("--set", "batch.round=6", *QUICK, "--cell", cell),
        )
        assert told.code == 0, told.err
        logs = [RunStore(cell / "runs").open(entry.run_id).log for entry in RunStore(cell / "runs").list()]
        states = CorrectionFile(cell).all_states()
        samples = [lesson.tip_minus_block_mm for state in states for lesson in state.table.lessons]
        tips = [tip.diff and tip.diff.dist_mm for log in logs for tip in log.tip_measurements]
        return [*[(log.run_id.split("_")[1], log.result, log.duration_s) for log in logs], tips, samples]

    assert results(1) == results(2) == results(3)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["perfect", "field", "uncalibrated"])
def test_the_arm_puts_the_scene_back_in_nearly_every_of_thirty_times(trialcell, cell_copy, profile):
    """On the desk where nothing is known the program calibrates first."""
    if profile == "uncalibrated":
        settings = cell_copy / "cell.toml"
        settings.write_text(settings.read_text().replace('profile = "perfect"', f'profile = "{profile}"'))
        assert trialcell("calibrate", "all", "--yes", "--cell", cell_copy).code == 0
    told = trialcell(
        *("batch", 36, "--workers", 2, "--profile", profile, "--seed", 5, "--set", "batch.session=6"),
        *(*QUICK, "--json", "--cell", cell_copy),
    )
    assert told.code == 0
    resets = told.object["resets"]
    assert resets["done"] + resets["failed"] == 30
    assert resets["done"] >= 29, "95 %"
    assert resets["by_twin_person"] == resets["failed"] == len(told.object["calls"])
    assert told.object["false_successes"] == 0
