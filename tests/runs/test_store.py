"""Runs in their folders: numbers, pictures, finishing, finding again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from runs.errors import NotARunLog, RunClosed, RunNotFound, StorageUnwritable
from runs.schema.run import CorrectionUse, Ending, PoseUsed
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.store import RunHeader, RunStore, open_any, picture_path

DONE = Ending(result="completed", stage="stage10", reason="the block is in the box")


def test_a_run_is_named_by_its_number_and_its_start_in_utc(store, header):
    assert store.create(header).run_id == "run_0001_20260703_132310"
    elsewhere = header.model_copy(update={"started_at": "2026-07-03T22:23:10+09:00"})
    assert store.create(elsewhere).run_id == "run_0002_20260703_132310"


def test_numbers_go_on_after_the_highest_in_the_folder(store, header):
    (store.runs_dir / "run_0416_20250101_000000").mkdir(parents=True)
    (store.runs_dir / "notes").mkdir()
    assert store.create(header).run_id.startswith("run_0417_")


def test_a_start_without_its_offset_is_refused(store):
    with pytest.raises(ValueError, match="offset from UTC"):
        store.create(RunHeader(started_at="2026-07-03T13:23:10"))


def test_no_two_writers_share_a_number(tmp_path, header):
    def create(_):
        return RunStore(tmp_path / "runs").create(header).run_id

    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(create, range(24)))
    assert sorted(int(name[4:8]) for name in names) == list(range(1, 25))


def test_the_folder_appears_with_its_first_event_in_it(store, header):
    writer = store.create(header)
    first = json.loads((writer.folder / "events.jsonl").read_text().splitlines()[0])
    assert first["seq"] == 0
    assert first["kind"] == "run_created"
    assert first["data"]["run_id"] == writer.run_id
    assert first["data"]["frames_dir"] == f"runs/{writer.run_id}"


def test_what_a_killed_process_left_half_made_is_cleared_away(store, header):
    store.runs_dir.mkdir(parents=True)
    left_over = store.runs_dir / ".new_0badcafe"
    left_over.mkdir()
    store.create(header)
    assert not left_over.exists()


def test_every_event_is_in_the_file_when_the_call_returns(store, header, some_records):
    writer = store.create(header)
    writer.stage_started("stage2", started_s=1.0)
    for record in some_records:
        writer.add(record)
        last = json.loads((writer.folder / "events.jsonl").read_bytes().splitlines()[-1])
        assert last["data"] == record.model_dump(mode="json")
    numbers = [json.loads(line)["seq"] for line in (writer.folder / "events.jsonl").read_text().splitlines()]
    assert numbers == list(range(len(numbers)))


def test_the_live_log_the_finished_one_and_the_file_are_the_same(store, header, some_records):
    writer = store.create(header)
    writer.stage_started("stage2", started_s=1.0, attempt=1)
    for record in some_records:
        writer.add(record)
    writer.stage_ended("stage2", "done", ended_s=4.5)
    finished = writer.finish(DONE, duration_s=62.5, wall_s=3.25)
    assert finished == writer.log
    assert store.open("latest").log == finished
    assert finished.result == "completed"
    assert finished.duration_s == 62.5
    assert finished.stage_records[0].duration_s == 3.5
    assert finished.ended_at is not None
    assert finished.ended_at.endswith("Z")


def test_a_finished_run_has_its_log_and_its_events_and_nothing_else(store, header):
    writer = store.create(header)
    writer.finish(DONE)
    assert sorted(path.name for path in writer.folder.iterdir()) == ["events.jsonl", "run.json"]


def test_a_finished_run_takes_no_more_events(store, header):
    writer = store.create(header)
    writer.finish(DONE)
    with pytest.raises(RunClosed, match="has ended and takes no note"):
        writer.note("too late")


def test_a_stage_that_is_not_open_can_not_end(store, header):
    writer = store.create(header)
    with pytest.raises(ValueError, match="open is none"):
        writer.stage_ended("stage2", "done")
    assert len((writer.folder / "events.jsonl").read_text().splitlines()) == 1


def test_an_open_stage_ends_with_the_run_that_ended_in_it(store, header):
    writer = store.create(header)
    writer.stage_started("stage4_pick")
    log = writer.finish(Ending(result="refused", stage="stage4_pick", reason="j1 would pass 88°"))
    assert log.stage_records[0].outcome == "refused"


def test_a_stage_that_began_over_an_open_one_cuts_it_off(store, header):
    writer = store.create(header)
    writer.stage_started("stage4_pick")
    writer.stage_started("stage5")
    assert [stage.outcome for stage in writer.log.stage_records] == ["cut_off", "cut_off"]
    assert writer.log.stage_records[0].ended_at is not None
    assert writer.log.stage_records[1].ended_at is None


def test_stages_are_named_once_however_often_they_were_gone_through(store, header):
    writer = store.create(header)
    for name in ("stage3_approach_pick", "stage4_pick", "stage3_approach_pick"):
        writer.stage_started(name)
        writer.stage_ended(name, "done")
    assert writer.log.stages == ("stage3_approach_pick", "stage4_pick")
    assert len(writer.log.stage_records) == 3


def test_verdicts_corrections_and_poses_find_their_places(store, header):
    writer = store.create(header)
    verdict = Verdict(
        stage="place", verdict=None, reason="no answer", error="timeout", audit=JudgeAudit(judge="measured")
    )
    judgment = Judgment(verdict=None, confidence=None, reason="no answer", model=None, error="timeout")
    use = CorrectionUse(
        phase="place",
        target_before_mm=(1.0, 2.0),
        target_after_mm=(1.0, 2.0),
        cell_key="place_x0_z0",
        dx_mm=None,
        dz_mm=None,
        n=0,
        applied=False,
    )
    writer.add(verdict)
    writer.judgment("place", judgment)
    writer.add(use)
    writer.not_learned("no verdict, no lesson")
    writer.add(PoseUsed(pick_pose_id="fk_row_1", pick_used=(1.0, 2.0)))
    writer.add(PoseUsed(place_pose_id="fk_row_2", place_used=(3.0, 4.0)))
    log = writer.log
    assert log.verdicts[0].verdict is None
    assert log.verdicts[0].at is not None
    assert log.judgments == {"place": judgment}
    assert log.correction.place_last == use
    assert log.correction.last is None
    assert log.correction.not_learned == "no verdict, no lesson"
    assert (log.pose_used.pick_pose_id, log.pose_used.place_used) == ("fk_row_1", (3.0, 4.0))


def test_a_picture_is_kept_with_its_hash(store, header):
    writer = store.create(header)
    capture = writer.picture("detect_1", b"jpeg bytes", width_px=1280, height_px=720, sharpness=12.5)
    path = writer.folder / f"{writer.run_id}_detect_1.jpg"
    assert path.read_bytes() == b"jpeg bytes"
    assert capture.image == f"runs/{writer.run_id}/{path.name}"
    assert capture.sha256 == hashlib.sha256(b"jpeg bytes").hexdigest()
    assert writer.log.vlm_captures == (capture,)


def test_a_label_that_is_taken_keeps_both_pictures(store, header):
    writer = store.create(header)
    labels = [writer.picture("pick", content).label for content in (b"one", b"two", b"three")]
    assert labels == ["pick", "pick_2", "pick_3"]
    assert (writer.folder / f"{writer.run_id}_pick.jpg").read_bytes() == b"one"


@pytest.mark.parametrize("label", ["", "Pick", "../pick", "a b", "pick_"])
def test_a_label_is_small_letters_digits_and_underscores(store, header, label):
    with pytest.raises(ValueError, match="labelled"):
        store.create(header).picture(label, b"")


def test_pictures_are_found_when_the_folder_was_moved(store, header, tmp_path):
    writer = store.create(header)
    capture = writer.picture("pick", b"x")
    writer.finish(DONE)
    assert picture_path(capture.image, writer.folder) == writer.folder / f"{writer.run_id}_pick.jpg"
    moved = writer.folder.rename(tmp_path / "on_a_stick")
    stored = open_any(str(moved), store)
    assert picture_path(stored.log.vlm_captures[0].image, stored.entry.folder) == moved / f"{writer.run_id}_pick.jpg"
    assert picture_path("runs/gone/gone.jpg", moved) is None


def test_numpy_figures_in_open_fields_become_plain_ones(store, header):
    writer = store.create(header)
    audit = JudgeAudit(
        judge="measured", measurements={"inside_mm": np.float32(1.5), "held": np.bool_(True), "p": np.arange(3)}
    )
    writer.add(Verdict(stage="pick", verdict="yes", reason="", audit=audit))
    assert writer.log.verdicts[0].audit.measurements == {"inside_mm": 1.5, "held": True, "p": [0, 1, 2]}


def test_a_measurement_that_is_not_finite_is_written_as_null(store, header):
    writer = store.create(header)
    audit = JudgeAudit(judge="measured", measurements={"inside_mm": float("nan"), "far_mm": float("inf")})
    writer.add(Verdict(stage="pick", verdict="no", reason="", audit=audit))
    assert writer.finish(DONE).verdicts[0].audit.measurements == {"inside_mm": None, "far_mm": None}


def test_runs_are_found_by_id_number_and_latest(store, header):
    first, second = store.create(header), store.create(header)
    for wanted in (first.run_id, "1", "0001", "run_0001"):
        assert store.find(wanted).run_id == first.run_id
    latest = store.latest()
    assert latest is not None
    assert latest.run_id == second.run_id == store.find("latest").run_id
    assert [entry.run_id for entry in store.list()] == [first.run_id, second.run_id]


def test_a_run_that_is_not_there_is_said_to_be_missing(store):
    assert store.list() == ()
    assert store.latest() is None
    with pytest.raises(RunNotFound, match="trialcell runs list"):
        store.open("7")


def test_an_unfinished_run_opens_as_far_as_it_went(store, header):
    writer = store.create(header)
    writer.note("here")
    assert store.list()[0].state == "running"
    stored = store.open("latest")
    assert stored.log.result is None
    assert stored.log.notes[0].text == "here"
    writer.close()
    assert store.list()[0].state == "interrupted"


def test_a_folder_without_log_and_events_is_no_run(tmp_path, store):
    with pytest.raises(NotARunLog, match=r"neither run\.json nor events\.jsonl"):
        open_any(str(tmp_path), store)


def test_a_file_that_is_not_there_is_no_run(tmp_path, store):
    with pytest.raises(NotARunLog, match="no such file"):
        open_any(str(tmp_path / "gone.json"), store)


def test_a_writable_folder_passes_and_nothing_is_left_in_it(store):
    store.check_writable()
    assert list(store.runs_dir.iterdir()) == []


def test_a_folder_that_can_not_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnwritable, match="not a directory") as caught:
        RunStore(tmp_path / "file" / "runs").check_writable()
    assert caught.value.path == tmp_path / "file" / "runs"


NOBODY_MAY_WRITE = """
import os, sys
from pathlib import Path
from runs.errors import StorageUnwritable
from runs.store import RunHeader, RunStore
if os.geteuid() == 0:  # root may write anywhere, so be somebody else
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store = RunStore(Path(sys.argv[1]))
for attempt in (store.check_writable, lambda: store.create(RunHeader())):
    try:
        attempt()
    except StorageUnwritable as error:
        print(error.message)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
def test_a_folder_without_permission_is_refused(child):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        told, _ = child(NOBODY_MAY_WRITE, folder).communicate(timeout=60)
    lines = told.strip().splitlines()
    assert len(lines) == 2
    assert all("permission denied" in line for line in lines)


def test_too_little_space_is_refused_with_its_figures(store):
    with pytest.raises(StorageUnwritable, match="MB are free") as caught:
        store.check_writable(needed_bytes=2**62)
    assert caught.value.needed_bytes == 2**62
    assert caught.value.free_bytes is not None


def test_ctrl_c_after_the_line_was_written_counts_the_event(store, header, monkeypatch):
    writer = store.create(header)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("runs.files.os.fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.stage_started("stage2")
    writer.stage_ended("stage2", "stopped")
    log = writer.finish(Ending(result="stopped", stage="stage2", reason="Ctrl-C"))
    assert [stage.outcome for stage in log.stage_records] == ["stopped"]
    assert log.notes == ()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from runs.errors import StorageUnwritable
from runs.store import RunHeader, RunStore
store = RunStore(Path(sys.argv[1]))
writer = store.create(RunHeader())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
written = 0
try:
    while True:
        writer.note("x" * 200)
        written += 1
except StorageUnwritable as error:
    print(written, error.errno, len(writer.log.notes), error.message)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.note("after")
"""


def test_a_disk_that_fills_up_leaves_whole_events_and_says_so(tmp_path, child):
    process = child(FULL_DISK, str(tmp_path / "runs"))
    told, _ = process.communicate(timeout=60)
    written, errno, in_log, message = told.strip().split(" ", 3)
    assert int(written) == int(in_log) > 3
    assert int(errno) > 0
    assert message.startswith("can't write to")
    log = RunStore(tmp_path / "runs").recover("latest")
    assert len(log.notes) == int(written) + 1
    assert log.notes[-1].text == "after"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_no_space_left_is_told_in_the_systems_words():
    from runs.files import append_line

    with pytest.raises(StorageUnwritable, match="no space left on device"):
        append_line(Path("/dev/full"), b"x")


@pytest.mark.parametrize("image", ["../../../secret.jpg", "/etc/hostname", "link.jpg", "a\x00b"])
def test_a_log_leads_to_no_picture_outside_its_cell(store, header, tmp_path, image):
    folder = store.create(header).folder
    (tmp_path / "secret.jpg").write_bytes(b"not for us")
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    assert picture_path(image, folder) is None
    (folder / "own.jpg").write_bytes(b"ours")
    assert picture_path("runs/elsewhere/own.jpg", folder) == folder / "own.jpg"
