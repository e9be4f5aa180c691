"""Trials as a LeRobot dataset, version 3: Parquet, a video and the facts about them; an episode is a run.

Frames are what `frames.py` makes of a log: events, not a regular stream. The format wants a regular one, so its
`timestamp` counts frames at a nominal rate, and when things were stands in columns of their own. The outcome of an
episode is in `meta/episodes`; what nobody knows is null there. It reads run folders and writes where it is told.
Source: https://huggingface.co/docs/lerobot/lerobot-dataset-v3
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from runs.errors import RecordError, StorageUnwritable
from runs.export.frames import Frame, Known, NoFrames, frames_of
from runs.export.lerobot_stats import Stats
from runs.export.lerobot_video import CAMERA, FPS, Video, video_feature
from runs.files import storage
from runs.report.pictures import Picture, read_picture
from runs.schema.run import RunLog
from runs.store import open_folder
from runs.verdicts import Standing, standing_in, standing_result

VERSION = "v3.0"
TASK = "Pick up the block and put it into the box."
CHUNK = 1000
"""At most so many files a folder."""

_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_FRAMES_A_FILE = 400_000
_RULE = (
    "A frame is the end of a move, a gripper action or reading, or a picture, as the run's log has it; no pose is "
    f"interpolated. timestamp counts frames at a nominal {FPS} a second: when a frame really was says "
    "observation.since_start_s (the computer's clock), how long the move that ends in it took says "
    "observation.lasted_s (the arm's clock). observation.known tells of joints, gripper and picture: 0 not known yet "
    "(the figure is 0, the picture black), 1 only commanded, 2 carried over from an earlier frame, 3 read or taken in "
    "this one. action is what is commanded next. Joints in degrees, the gripper 0 (closed) to 100 (open)."
)


@dataclass(frozen=True, slots=True)
class Written:
    """What went in, and which runs did not and why."""

    episodes: int
    frames: int
    pictures_missing: int
    left_out: list[dict[str, Any]]


def write_lerobot(folders: Iterable[tuple[str, Path]], to: Path) -> Written:
    """The runs of these folders (cell, folder) as episodes in this order; `to` is whole or not there.

    Only runs that moved and have ended. The first one says which arm and which size of pictures the dataset has.

    Raises:
        RecordError: none of them can be an episode.
        StorageUnwritable: `to` is there already or can't be written.
    """
    if to.exists():
        raise StorageUnwritable(to, "it is there already, and nothing is written over")
    temporary = to.with_name(f".{to.name}.{secrets.token_hex(4)}.tmp")
    left_out: list[dict[str, Any]] = []
    try:
        with storage(to):
            temporary.mkdir()
            dataset = _Dataset(temporary)
            try:
                for cell, folder in folders:
                    try:
                        dataset.add(cell, folder)
                    except StorageUnwritable:
                        raise
                    except RecordError as error:
                        left_out.append({"cell": cell, "run_id": folder.name, "problem": error.message})
            finally:
                dataset.close()
            if not dataset.episodes:
                why = f": {left_out[0]['run_id']}: {left_out[0]['problem']}" if left_out else ""
                raise RecordError(f"no run can be an episode{why}", next_step="list what there is: trialcell runs list")
            dataset.write_meta()
            temporary.rename(to)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Written(len(dataset.episodes), dataset.n_frames, dataset.pictures_missing, left_out)


class _Dataset:
    """What has been written so far; memory holds the figures for the statistics and a row an episode."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.episodes: list[dict[str, Any]] = []
        self.n_frames = 0
        self.pictures_missing = 0
        self._arm: tuple[str, int] | None = None
        self._data: pq.ParquetWriter | None = None
        self._data_file, self._frames_in_file = -1, 0
        self._video = Video(root, _VIDEO, CHUNK)
        self._stats = Stats()

    def add(self, cell: str, folder: Path) -> None:
        """A run as the next episode.

        Raises:
            RecordError: it can't be read, or be an episode of this dataset.
        """
        stored = open_folder(folder)
        log = stored.log
        if stored.entry.state == "running" or log.dry_run:
            raise NoFrames("it is still going on" if stored.entry.state == "running" else "nothing moved in it")
        frames = frames_of(log)
        arm = (_arm_name(log), len(frames[0].joints_deg))
        if self._arm is not None and arm != self._arm:
            raise NoFrames(f"its arm is {arm[0]}, the dataset's is {self._arm[0]}")
        pictures = {frame.picture: read_picture(frame.picture, folder)[0] for frame in frames if frame.picture}
        known = self._pictures(frames, pictures)
        self._arm = arm
        missing = sum(picture is None for picture in pictures.values())
        place = self._video.add([pictures.get(frame.picture or "") for frame in frames])
        columns = _columns(frames, known, len(self.episodes), self.n_frames)
        self._write(columns)
        self._stats.add(columns)
        self._stats.add_pictures([picture for picture in pictures.values() if picture is not None])
        self.pictures_missing += missing
        self.episodes.append(
            _episode(log, cell, frames, len(self.episodes), self.n_frames)
            | {"data/chunk_index": self._data_file // CHUNK, "data/file_index": self._data_file % CHUNK}
            | place
        )
        self.n_frames += len(frames)

    def _pictures(self, frames: Sequence[Frame], pictures: dict[str, Picture | None]) -> list[Known]:
        """How each frame's picture is known."""
        sizes = {picture.shape[:2] for picture in pictures.values() if picture is not None}
        if not sizes:
            raise NoFrames("it has no picture that can be read")
        wanted = self._video.size or next(iter(sizes))
        if sizes != {wanted}:
            told = ", ".join(f"{wide}×{high}" for high, wide in sorted(sizes - {wanted}))
            raise NoFrames(f"it has pictures of {told} px, the dataset's are {wanted[1]}×{wanted[0]}")
        told_of, last = [], Known.NOT
        for frame in frames:
            if frame.picture is not None and pictures[frame.picture] is not None:
                last = Known.READ
            elif last is Known.READ:
                last = Known.CARRIED
            told_of.append(last)
        return told_of

    def _write(self, columns: dict[str, Any]) -> None:
        table = _table(columns)
        if self._data is None or self._frames_in_file >= _FRAMES_A_FILE:
            if self._data is not None:
                self._data.close()
            self._data_file, self._frames_in_file = self._data_file + 1, 0
            name = _DATA.format(chunk_index=self._data_file // CHUNK, file_index=self._data_file % CHUNK)
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._data = pq.ParquetWriter(path, table.schema)
        self._data.write_table(table)
        self._frames_in_file += table.num_rows

    def close(self) -> None:
        """Let go of the files."""
        self._video.close()
        if self._data is not None:
            self._data.close()
            self._data = None

    def write_meta(self) -> None:
        """`info.json`, `stats.json`, tasks and episodes."""
        assert self._arm is not None
        meta = self.root / "meta"
        meta.mkdir()
        info = {
            "codebase_version": VERSION, "robot_type": self._arm[0], "total_episodes": len(self.episodes),
            "total_frames": self.n_frames, "total_tasks": 1, "chunks_size": CHUNK, "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200, "fps": FPS, "splits": {"train": f"0:{len(self.episodes)}"},
            "data_path": _DATA, "video_path": _VIDEO,
            "features": _features(self._arm[1]) | {CAMERA: video_feature(self._video.size)},
            "frames_are": _RULE,
        }  # fmt: skip
        (meta / "info.json").write_text(json.dumps(info, indent=4, ensure_ascii=False), encoding="utf-8")
        (meta / "stats.json").write_text(json.dumps(self._stats.told(), indent=4, allow_nan=False), encoding="utf-8")
        pq.write_table(_tasks(), meta / "tasks.parquet")
        into = meta / "episodes" / "chunk-000"
        into.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(self.episodes, schema=_EPISODES), into / "file-000.parquet")


def _arm_name(log: RunLog) -> str:
    return log.provenance.arm_model if log.provenance is not None else "unknown"


def _columns(frames: Sequence[Frame], pictures: Sequence[Known], episode: int, first: int) -> dict[str, Any]:
    n = len(frames)
    return {
        "observation.state": np.array([(*f.joints_deg, f.gripper) for f in frames], dtype=np.float32),
        "action": np.array([(*f.action_deg, f.action_gripper) for f in frames], dtype=np.float32),
        "observation.known": np.array(
            [(f.joints_known, f.gripper_known, p) for f, p in zip(frames, pictures, strict=True)], dtype=np.int64
        ),
        "observation.since_start_s": np.array([f.since_start_s for f in frames], dtype=np.float32),
        "observation.lasted_s": np.array([f.lasted_s for f in frames], dtype=np.float32),
        "event": [f.label for f in frames],
        "next.done": np.arange(n) == n - 1,
        "timestamp": (np.arange(n) / FPS).astype(np.float32),
        "frame_index": np.arange(n, dtype=np.int64),
        "episode_index": np.full(n, episode, dtype=np.int64),
        "index": np.arange(first, first + n, dtype=np.int64),
        "task_index": np.zeros(n, dtype=np.int64),
    }


def _table(columns: dict[str, Any]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and values.ndim == 2:
            arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def _features(n_joints: int) -> dict[str, Any]:
    names = [*(f"j{i}_deg" for i in range(n_joints)), "gripper_0_to_100"]

    def one(dtype: str) -> dict[str, Any]:
        return {"dtype": dtype, "shape": [1], "names": None}

    return {
        "observation.state": {"dtype": "float32", "shape": [len(names)], "names": names},
        "action": {"dtype": "float32", "shape": [len(names)], "names": names},
        "observation.known": {"dtype": "int64", "shape": [3], "names": ["joints", "gripper", "picture"]},
        "observation.since_start_s": one("float32"), "observation.lasted_s": one("float32"), "event": one("string"),
        "next.done": one("bool"), "timestamp": one("float32"), "frame_index": one("int64"),
        "episode_index": one("int64"), "index": one("int64"), "task_index": one("int64"),
    }  # fmt: skip


_EPISODES = pa.schema(
    [
        ("episode_index", pa.int64()), ("tasks", pa.list_(pa.string())), ("length", pa.int64()),
        ("dataset_from_index", pa.int64()), ("dataset_to_index", pa.int64()),
        ("data/chunk_index", pa.int64()), ("data/file_index", pa.int64()),
        *((f"videos/{CAMERA}/{name}_index", pa.int64()) for name in ("chunk", "file")),
        *((f"videos/{CAMERA}/{name}_timestamp", pa.float64()) for name in ("from", "to")),
        ("meta/episodes/chunk_index", pa.int64()), ("meta/episodes/file_index", pa.int64()),
        ("run_id", pa.string()), ("cell", pa.string()), ("started_at", pa.string()), ("seed", pa.int64()),
        ("profile", pa.string()), ("result", pa.string()), ("success", pa.bool_()), ("reason", pa.string()),
        *((f"{stage}_{name}", pa.string()) for stage in ("pick", "place") for name in ("verdict", "by", "source")),
    ]
)  # fmt: skip


def _episode(log: RunLog, cell: str, frames: Sequence[Frame], number: int, first: int) -> dict[str, Any]:
    result = standing_result(log)
    made_with = log.provenance
    pick, place = _words("pick", standing_in(log, "pick")), _words("place", standing_in(log, "place"))
    return {
        "episode_index": number, "tasks": [TASK], "length": len(frames),
        "dataset_from_index": first, "dataset_to_index": first + len(frames),
        "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
        "run_id": log.run_id, "cell": cell, "started_at": log.started_at,
        "seed": None if made_with is None else made_with.seed,
        "profile": None if made_with is None else made_with.profile,
        "result": result, "success": {"completed": True, "failed": False}.get(result or ""),
        "reason": None if log.ending is None else log.ending.reason,
    } | pick | place  # fmt: skip


def _words(stage: str, stands: Standing | None) -> dict[str, Any]:
    if stands is None:
        return {}
    return {f"{stage}_verdict": stands.word, f"{stage}_by": stands.by, f"{stage}_source": stands.source}


def _tasks() -> pa.Table:
    """One task; its text is the table's index, as pandas reads it."""
    kinds = (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
        for name, kind, numpy in kinds
    ]
    told = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.2.0"}
    table = pa.table({"task_index": pa.array([0], pa.int64()), "task": pa.array([TASK])})
    return table.replace_schema_metadata({"pandas": json.dumps(told)})
