"""Runs that were cut off: whatever was written is kept, and nothing is invented."""

from __future__ import annotations

import json
import random
import time

import pytest

from runs.errors import NewerThanUs, NotARunLog, RunInProgress
from runs.migrate import load_log
from runs.schema.run import Ending
from runs.store import RunStore

WRITES_UNTIL_KILLED = """
import sys
from pathlib import Path
from runs.schema.motion import GuardRecord
from runs.store import RunHeader, RunStore
writer = RunStore(Path(sys.argv[1])).create(RunHeader())
n = 0
while True:
    stage = f"stage{n}"
    writer.stage_started(stage, started_s=float(n))
    writer.add(GuardRecord(label=stage, allowed=True))
    writer.picture(f"p{n}", b"picture " * 2000)
    writer.stage_ended(stage, "done", ended_s=n + 0.5)
    n += 1
    print(n, flush=True)
"""


def kill_and_recover(child, folder, seed):
    process = child(WRITES_UNTIL_KILLED, str(folder))
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(random.Random(seed).uniform(0, 0.05))
    process.kill()
    told = [int(line) for line in process.stdout.read().split()]
    finished_rounds = max(told, default=1)
    log = RunStore(folder).recover("latest")
    assert log.result == "crashed"
    assert log.recovered
    done = [stage for stage in log.stage_records if stage.outcome == "done"]
    assert len(done) >= finished_rounds  # at most the event in flight is missing, and that was never reported
    assert [stage.name for stage in log.stage_records] == [f"stage{n}" for n in range(len(log.stage_records))]
    assert all(stage.outcome == "cut_off" for stage in log.stage_records[len(done) :])
    assert len(log.stage_records) - len(done) <= 1
    lines = (folder / log.run_id / "events.jsonl").read_bytes().split(b"\n")
    whole = [json.loads(line) for line in lines[:-1]]
    assert [event["seq"] for event in whole] == list(range(len(whole)))
    assert len(log.guards) == sum(event["kind"] == "guard" for event in whole)
    assert load_log(folder / log.run_id) == log
    assert not list((folder / log.run_id).glob("*.lock"))


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_is_recovered_up_to_the_event_in_flight(tmp_path, child, seed):
    kill_and_recover(child, tmp_path / "runs", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_a_run_killed_at_any_moment_is_recovered(tmp_path, child, seed):
    kill_and_recover(child, tmp_path / "runs", seed)


@pytest.fixture
def cut_off(store, header, some_records):
    writer = store.create(header)
    writer.stage_started("stage1")
    writer.stage_ended("stage1", "done")
    writer.stage_started("stage2")
    for record in some_records:
        writer.add(record)
    writer.close()
    return writer


def test_the_log_says_what_happened_to_it(store, cut_off):
    log = store.recover("latest")
    assert log.recovered
    assert log.ending == Ending(
        result="crashed", stage="stage2", reason="the program ended before the run did; rebuilt from its 9 events"
    )
    assert [stage.outcome for stage in log.stage_records] == ["done", "cut_off"]
    assert log.ended_at == json.loads((cut_off.folder / "events.jsonl").read_text().splitlines()[-1])["at"]


def test_recovering_twice_changes_nothing(store, cut_off):
    first = store.recover("latest")
    before = (cut_off.folder / "run.json").stat().st_mtime_ns
    assert store.recover("latest") == first
    assert (cut_off.folder / "run.json").stat().st_mtime_ns == before
    (cut_off.folder / "run.json").unlink()
    assert store.recover("latest") == first


def test_events_are_never_changed_by_recovering(store, cut_off):
    before = (cut_off.folder / "events.jsonl").read_bytes()
    store.recover("latest")
    assert (cut_off.folder / "events.jsonl").read_bytes() == before


def test_a_torn_last_line_is_left_out(store, cut_off):
    path = cut_off.folder / "events.jsonl"
    whole = len(store.open("latest").log.gripper)
    path.write_bytes(path.read_bytes()[:-40])
    log = store.recover("latest")
    assert len(log.gripper) == whole - 1
    assert log.notes == ()


def test_every_length_of_the_file_gives_a_valid_log(store, cut_off):
    path = cut_off.folder / "events.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for length in range(first, len(whole), 97):
        path.write_bytes(whole[:length])
        assert store.recover("latest", overwrite=True).result == "crashed"


def test_a_damaged_line_in_the_middle_is_left_out_and_told(store, cut_off):
    path = cut_off.folder / "events.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[4] = b"\x00\x00\xff"
    path.write_bytes(b"\n".join(lines))
    log = store.recover("latest")
    assert log.detect == ()
    assert len(log.moves) == 1
    assert "line 5 of events.jsonl was left out" in log.notes[0].text
    assert "events 4 to 4 are missing" in log.notes[1].text


def test_a_run_without_a_readable_first_event_is_no_run(store, cut_off):
    (cut_off.folder / "events.jsonl").write_bytes(b"{")
    with pytest.raises(NotARunLog, match="its first line is"):
        store.recover("latest")


def test_events_of_a_later_version_are_refused(store, cut_off):
    path = cut_off.folder / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"schema_version":1', b'"schema_version":9'))
    with pytest.raises(NewerThanUs, match="schema version 9"):
        store.recover("latest")


def test_a_run_that_is_being_written_is_left_alone(store, header):
    writer = store.create(header)
    with pytest.raises(RunInProgress, match="still being written"):
        store.recover("latest")
    writer.note("goes on")
    assert writer.finish(Ending(result="stopped", stage=None, reason="enough")).notes[0].text == "goes on"


def test_a_complete_log_is_only_replaced_when_asked(store, header):
    writer = store.create(header)
    writer.finish(Ending(result="completed", stage=None, reason="done"))
    path = writer.folder / "run.json"
    edited = path.read_bytes().replace(b'"done"', b'"well done"')
    path.write_bytes(edited)
    assert store.recover("latest").ending.reason == "well done"
    assert path.read_bytes() == edited
    again = store.recover("latest", overwrite=True)
    assert (again.ending.reason, again.result, again.recovered) == ("done", "completed", True)


def test_a_damaged_run_json_is_built_again_and_kept_aside(store, header):
    writer = store.create(header)
    writer.finish(Ending(result="completed", stage=None, reason="done"))
    path = writer.folder / "run.json"
    path.write_bytes(path.read_bytes()[:200])
    assert store.recover("latest").result == "completed"
    assert (writer.folder / "run.json.damaged").stat().st_size == 200
    assert store.open("latest").log.result == "completed"
