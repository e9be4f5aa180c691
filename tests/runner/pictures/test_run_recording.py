"""Runs as a recording, read back with the viewer's own reader, in this environment or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from runs.store import RunStore
from runs.writer import log_bytes

ROOT = Path(__file__).resolve().parents[3]

WRITE_AND_READ = """
import json, sys
from pathlib import Path
from runner.config import Config
from runner.pictures.run_recording import TIMELINE, Recorded, write_runs
from runner.review.replay import arm_then
from runs.errors import RecordError, StorageUnwritable
from runs.store import RunStore
import rerun
folder, path = Path(sys.argv[1]), Path(sys.argv[2])
log = RunStore(folder.parent).open("latest").log
run = Recorded(log, folder, *arm_then(log, Config()))
n = write_runs(path, [run])
errors = []
for runs, to in (([], path), ([run], path.parent / "none" / "x.rrd")):
    try:
        write_runs(to, runs)
    except (RecordError, StorageUnwritable) as error:
        errors.append(type(error).__name__)
rows, times = {}, []
for chunk in rerun.chunk.RrdReader(str(path)).stream():
    batch = chunk.to_record_batch()
    if not chunk.is_static:
        times += batch.column(TIMELINE).cast("int64").to_pylist()
    for name in batch.schema.names:
        if name.endswith((":scalars", ":text", ":labels")):
            rows.setdefault(str(chunk.entity_path), []).extend(batch.column(name).to_pylist())
        if name == "EncodedImage:blob":
            rows.setdefault("pictures", []).extend(len(each[0]) for each in batch.column(name).to_pylist())
print(json.dumps({"n": n, "rows": rows, "first": min(times), "last": max(times), "errors": errors,
                  "left": [each.name for each in path.parent.iterdir() if each.name.startswith(".")]}))
"""


@pytest.fixture
def run_folder(tmp_path):
    """The golden run with its first picture on disk."""
    from runs.migrate import parse_log

    golden = ROOT / "tests" / "golden" / "runs" / "v1.json"
    log = parse_log(golden.read_bytes(), golden)
    picture = tmp_path / Path(log.vlm_captures[0].image).name
    cv2.imwrite(str(picture), np.full((48, 64, 3), 90, dtype=np.uint8))
    entry = RunStore(tmp_path / "runs").adopt(log.run_id, log_bytes(log), {picture.name: picture})
    return log, entry.folder


def check(python, log, folder, path, more_path=""):
    done = subprocess.run(
        [python, "-c", WRITE_AND_READ, str(folder), str(path)],
        capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}{more_path}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    rows = found["rows"]
    assert (found["n"], found["errors"], found["left"]) == (1, ["RecordError", "StorageUnwritable"], [])
    assert len(rows["pictures"]) == 1
    assert len(rows["/log/camera"]) == len(log.vlm_captures)
    read = [move.post_actual for move in log.moves if move.post_actual is not None]
    told = [each[0] for each in rows["/joints_deg/read_back/j0"] if each and not isinstance(each[0], str)]
    assert sorted(told) == pytest.approx(sorted(pose[0] for pose in read))
    assert len(rows["/log/verdicts"]) == len(log.verdicts) + len(log.rulings)
    assert len([each for each in rows["/scene/target"] if each]) == len(log.lookups)
    assert np.datetime64(found["first"], "ns") == np.datetime64(log.started_at.removesuffix("Z"))


def check_a_log_without_times(python, field_log, tmp_path, more_path=""):
    entry = RunStore(tmp_path / "field" / "runs").adopt("run_0001_20260703_132310", field_log.read_bytes(), {})
    words = ["runs", "export", "rerun", "--cell", str(tmp_path / "field"), "--out", str(tmp_path / "field.rrd")]
    done = subprocess.run(
        [python, "-c", "from runner.cli.main import main; main()", *words],
        capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}{more_path}"},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"{entry.run_id}: its records carry no times" in " ".join(done.stderr.split())
    assert not (tmp_path / "field.rrd").exists()


def test_the_viewers_reader_opens_it(run_folder, tmp_path):
    pytest.importorskip("rerun", reason="the extra trialcell[view] is not installed")
    check(sys.executable, *run_folder, tmp_path / "x.rrd")


def test_a_log_without_times_makes_no_empty_recording(field_log, tmp_path):
    pytest.importorskip("rerun", reason="the extra trialcell[view] is not installed")
    check_a_log_without_times(sys.executable, field_log, tmp_path)


@pytest.mark.slow
def test_the_viewers_reader_opens_it_in_an_environment_of_its_own(run_folder, field_log, tmp_path):
    home = tmp_path / "viewer"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    got = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "rerun-sdk>=0.41,<1"], capture_output=True, text=True, check=False
    )
    if got.returncode:
        pytest.skip(f"rerun-sdk can't be installed here: {got.stderr[-200:]}")
    ours = Path(cv2.__file__).parents[1]  # what we stand on comes from here, the viewer from there
    check(python, *run_folder, tmp_path / "x.rrd", f":{ours}")
    check_a_log_without_times(python, field_log, tmp_path, f":{ours}")
