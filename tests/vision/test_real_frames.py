"""Real pictures, where they are beside the repository: red blocks are found and what is like them is not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRAMES = ROOT.parent / "shared" / "frames"

needs_frames = pytest.mark.skipif(
    not (FRAMES / "annotations.json").is_file(), reason="skipped: no real pictures beside the repository"
)


@pytest.fixture(scope="module")
def bench():
    path = ROOT / "benchmarks" / "frames.py"
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("bench_frames", path))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@needs_frames
def test_nine_of_ten_red_blocks_are_found_with_few_false_alarms(bench):
    result = bench.run(FRAMES, ["red"], None)["totals"]["red"]
    ours, plain = result["ours"], result["plain_largest"]
    assert ours["found_rate"] >= 0.9
    assert ours["false"] <= 2
    assert ours["found_rate"] > plain["found_rate"]
    assert ours["median_error_px"] < 3.0


@needs_frames
def test_chessboards_and_boards_of_another_dictionary(bench):
    from vision.calibration.board import BoardSpec, find_board, find_chessboard
    from vision.cameras.protocol import read_picture
    from vision.errors import BoardNotFound
    from vision.markers import find_markers

    assert len(find_chessboard(read_picture(FRAMES / "cal_chess_left12.jpg"), (9, 6), 25.0).ids) == 54
    other = read_picture(FRAMES / "cal_aruco_grid_other_dictionary.jpg")
    assert find_markers(other, "DICT_4X4_50") == ()
    with pytest.raises(BoardNotFound):
        find_board(other, BoardSpec())


def test_matching_follows_the_stated_rule(bench):
    thing = {"centre_px": [100.0, 100.0], "bbox_px": [80.0, 90.0, 120.0, 110.0], "tolerance_px": 3, "counts": True}
    assert bench.score([(109.0, 100.0)], [thing], complete=True).found == 1
    far = bench.score([(111.0, 100.0)], [thing], complete=True)
    assert (far.found, far.false) == (0, 1)
    assert bench.score([(111.0, 100.0)], [thing], complete=False).false == 0
    twice = bench.score([(100.0, 100.0), (101.0, 100.0)], [thing], complete=True)
    assert (twice.found, twice.false) == (1, 1)
    ignored = bench.score([(100.0, 100.0)], [{**thing, "counts": False}], complete=True)
    assert (ignored.scored, ignored.found, ignored.false) == (0, 0, 0)


def test_a_folder_without_pictures_is_said_in_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "frames.py"), "--frames", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert done.returncode == 2
    assert "no annotated pictures in" in done.stderr
