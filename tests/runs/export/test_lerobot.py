"""The LeRobot dataset: lengths, columns, outcomes, pictures; what can't go in is named; LeRobot itself replays it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from runs.errors import RecordError, StorageUnwritable
from runs.export import lerobot_video
from runs.export.lerobot import write_lerobot
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]


def folders(cell):
    return [(cell.name, entry.folder) for entry in RunStore(cell / "runs").list()]


@pytest.fixture
def dataset(moved, tmp_path):
    to = tmp_path / "dataset"
    return to, write_lerobot(folders(moved), to)


def test_episodes_are_runs_with_their_outcomes(dataset):
    to, written = dataset
    assert (written.episodes, written.frames, written.left_out, written.pictures_missing) == (3, 15, [], 0)
    info = json.loads((to / "meta" / "info.json").read_text(encoding="utf-8"))
    assert (info["codebase_version"], info["total_episodes"], info["total_frames"]) == ("v3.0", 3, 15)
    assert "no pose is interpolated" in info["frames_are"]
    episodes = pq.read_table(to / "meta" / "episodes").to_pylist()
    assert [each["success"] for each in episodes] == [True, False, None]
    assert [each["place_verdict"] for each in episodes] == ["yes", "no", None]
    assert [(each["dataset_from_index"], each["dataset_to_index"]) for each in episodes] == [(0, 5), (5, 10), (10, 15)]
    assert {path.name for path in to.parent.iterdir() if path.name.endswith(".tmp")} == set()


def test_frames_hold_what_was_read_and_what_is_commanded_next(dataset):
    rows = pq.read_table(dataset[0] / "data").to_pylist()
    assert [row["index"] for row in rows] == list(range(15))
    first = rows[:5]
    assert [row["event"] for row in first] == ["move1", "at2", "check", "move4", "at5"]
    assert first[0]["observation.state"] == [10.25, 5.25, 0.25, 0.0]
    assert first[0]["action"][:3] == [0.0, 0.0, 0.0]
    assert [row["observation.known"] for row in first] == [[3, 0, 0], [2, 0, 3], [2, 3, 2], [3, 2, 2], [2, 2, 3]]
    assert [row["next.done"] for row in first] == [False] * 4 + [True]
    stats = json.loads((dataset[0] / "meta" / "stats.json").read_text(encoding="utf-8"))
    assert stats["observation.state"]["max"][0] == 30.25
    assert stats["observation.images.top"]["max"][2][0][0] == pytest.approx(200 / 255)


def test_pictures_decode_in_their_places(dataset):
    video = cv2.VideoCapture(str(next((dataset[0] / "videos").rglob("*.mp4"))))
    means = [frame.mean(axis=(0, 1)) for ok, frame in (video.read() for _ in range(15)) if ok]
    video.release()
    assert len(means) == 15
    black, brown, blue = (0, 0, 0), (30, 60, 90), (200, 40, 20)
    for got, wanted in zip(means, [black, brown, brown, brown, blue] * 3, strict=True):
        assert np.allclose(got, wanted, atol=8)


def test_what_can_not_be_an_episode_is_named(moved, tmp_path):
    runs = folders(moved)
    (runs[0][1] / "run.json").write_text("{")
    for picture in runs[1][1].glob("*.png"):
        picture.write_bytes(b"no picture")
    written = write_lerobot(runs, tmp_path / "some")
    assert written.episodes == 1
    assert [each["run_id"] for each in written.left_out] == [runs[0][1].name, runs[1][1].name]
    assert "no picture that can be read" in written.left_out[1]["problem"]
    with pytest.raises(StorageUnwritable, match="there already"):
        write_lerobot(runs, tmp_path / "some")
    with pytest.raises(RecordError, match="no run can be an episode"):
        write_lerobot(runs[:2], tmp_path / "none")
    assert not (tmp_path / "none").exists()


CUT_SHORT = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from runs.errors import StorageUnwritable
from runs.export.lerobot_video import Video
pictures = list(np.random.default_rng(0).integers(0, 255, (20, 48, 64, 3), dtype=np.uint8))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for most_bytes in (10_000_000, 20_000, 200):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    video = Video(Path(sys.argv[1]) / str(most_bytes), "{video_key}/{chunk_index}/{file_index}.mp4", 10)
    video.add(pictures)
    try:
        video.close()
        print("whole")
    except StorageUnwritable as error:
        print(error.message)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_video_that_does_not_fit_is_noticed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    told = done.stdout.splitlines()
    assert ["cut short" in each for each in told] == [False, True, True]
    assert told[0] == "whole"


def test_a_disk_that_fills_up_leaves_no_run_out_and_no_dataset_behind(moved, tmp_path, monkeypatch):
    def full(path, frames):
        return False

    monkeypatch.setattr(lerobot_video, "_is_whole", full)
    with pytest.raises(StorageUnwritable, match="cut short"):
        write_lerobot(folders(moved), tmp_path / "dataset")
    assert not list(tmp_path.glob("*dataset*"))


READER = """
import json, sys
from lerobot.datasets.lerobot_dataset import LeRobotDataset
data = LeRobotDataset("local/trials", root=sys.argv[1], video_backend="pyav")
episode = data.meta.episodes[1]
frames = [data[i] for i in range(episode["dataset_from_index"], episode["dataset_to_index"])]
print(json.dumps({
    "frames": len(data), "episodes": data.num_episodes, "success": list(data.meta.episodes["success"]),
    "states": [frame["observation.state"].tolist() for frame in frames],
    "actions": [frame["action"].tolist() for frame in frames], "events": [frame["event"] for frame in frames],
    "pictures": [frame["observation.images.top"].mean(dim=(1, 2)).tolist() for frame in frames],
    "task": frames[0]["task"], "mean": data.meta.stats["action"]["mean"].tolist(),
}))
"""


@pytest.mark.slow
def test_lerobot_itself_replays_an_episode(dataset, tmp_path):
    home = tmp_path / "lerobot"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    got = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "lerobot[dataset]>=0.4.4,<0.6"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if got.returncode:
        pytest.skip(f"lerobot can't be installed here: {got.stderr[-200:]}")
    read = subprocess.run([python, "-c", READER, str(dataset[0])], capture_output=True, text=True, check=True)
    found = json.loads(read.stdout.splitlines()[-1])
    assert (found["frames"], found["episodes"], found["success"]) == (15, 3, [True, False, None])
    rows = pq.read_table(dataset[0] / "data").to_pylist()[5:10]
    assert found["states"] == [row["observation.state"] for row in rows]
    assert found["actions"] == [row["action"] for row in rows]
    assert found["events"] == [row["event"] for row in rows]
    wanted = np.array([(0, 0, 0), *[(90, 60, 30)] * 3, (20, 40, 200)]) / 255
    assert np.allclose(found["pictures"], wanted, atol=0.04)
    assert found["task"].startswith("Pick up the block")
