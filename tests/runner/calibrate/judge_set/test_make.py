"""Made sets: half failures, every kind, labels from the truth, the same scenes from the same seed."""

from __future__ import annotations

import multiprocessing
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.labelled import evidence_of, read_set
from runner.calibrate.judge_set.errors import BadScenes, SetExists, WorkerLost
from runner.calibrate.judge_set.kinds import KINDS
from runner.calibrate.judge_set.make import counts, least_scenes, make_set
from runner.config import Config
from runner.rig import detect_settings
from vision.calibration.file import load_lens, load_plane, load_view
from vision.calibration.kept import content_hash

BOTH = ("place", "pick")


def height_mm(item) -> float:
    found = re.search(r"y (-?\d+),", item.note)
    assert found
    return float(found[1])


@given(st.integers(min_value=0, max_value=1500), st.sampled_from([BOTH, ("place",), ("pick",)]))
def test_every_kind_is_there_and_half_are_failures(more, stages):
    scenes = least_scenes(stages) + 2 * more
    made = counts(scenes, stages)
    assert sum(made.values()) == scenes
    assert min(made.values()) >= 1
    for stage in stages:
        halves = Counter[bool]()
        for kind, many in made.items():
            if KINDS[kind].stage == stage:
                halves[KINDS[kind].label] += many
        assert halves[True] == halves[False]


def test_shares_of_each_half_add_up():
    sums = Counter[tuple[str, bool]]()
    for kind in KINDS:
        sums[kind.stage, kind.label] += kind.share
    assert set(sums.values()) == {50}


@pytest.mark.slow
def test_a_set_has_its_pictures_its_calibration_and_every_kind(small_set, calibration):
    content = read_set(small_set.folder).content
    assert content == small_set.content
    assert Counter(item.label for item in content.items) == {
        "yes": len(content.items) // 2,
        "no": len(content.items) // 2,
    }
    assert {(i.stage, i.kind, i.label) for i in content.items} == {
        (k.stage, k.name, "yes" if k.label else "no") for k in KINDS
    }
    folder = small_set.folder / content.calibration
    assert content.lens_hash == content_hash(load_lens(folder)) == content_hash(load_lens(calibration))
    assert content.plane_hash == content_hash(load_plane(folder))
    view, settings = load_view(folder), detect_settings(Config())
    for item in content.items:
        evidence = evidence_of(small_set, item, settings, view)
        assert evidence.view is view
        assert [p.role for p in evidence.pictures] == ["before", "after", "after"]
        assert evidence.grip == item.grip
        assert item.seed is not None
        assert " K, strength " in item.light


@pytest.mark.slow
def test_light_differs_from_desk_to_desk(small_set):
    assert len({item.light for item in small_set.content.items}) >= len(small_set.content.items) // 8


@pytest.mark.slow
def test_what_a_kind_says_is_true_of_its_scenes(small_set):
    by_kind = {(item.stage, item.kind, item.label): item for item in small_set.content.items}
    rim_mm, side_mm = Config().box.wall_height_mm, Config().block.side_mm
    for kind in ("clean", "at_wall", "in_corner", "with_other"):
        assert height_mm(by_kind["place", kind, "yes"]) < side_mm
    assert height_mm(by_kind["place", "on_rim", "no"]) > rim_mm
    assert height_mm(by_kind["place", "stacked", "no"]) > rim_mm
    assert height_mm(by_kind["place", "half_inside", "no"]) > side_mm
    assert height_mm(by_kind["place", "beside", "no"]) == pytest.approx(side_mm / 2, abs=1)
    held, empty = by_kind["pick", "held", "yes"], by_kind["pick", "empty_gripper", "no"]
    assert height_mm(held) > rim_mm
    assert held.grip.holding is not False
    assert empty.grip.holding is not True
    assert by_kind["place", "in_gripper", "no"].grip.holding is not False


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scenes_however_many_share_the_work(tmp_path, calibration, read_grip):
    made = [
        make_set(
            tmp_path / str(workers),
            Config(),
            calibration,
            scenes=least_scenes(("pick",)),
            seed=5,
            read=read_grip,
            stages=("pick",),
            workers=workers,
        )
        for workers in (1, 2)
    ]
    assert made[0].content.items == made[1].content.items
    for item in made[0].content.items:
        assert (made[0].folder / item.after).read_bytes() == (made[1].folder / item.after).read_bytes()


@pytest.mark.parametrize("scenes", [0, 2, 41, 43, -4])
def test_a_number_that_no_set_can_have_is_refused(tmp_path, calibration, read_grip, scenes):
    with pytest.raises(BadScenes, match=r"half failures; ask for an even number, 42 or more"):
        make_set(tmp_path / "set", Config(), calibration, scenes=scenes, seed=1, read=read_grip)
    assert not (tmp_path / "set").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path, calibration, read_grip):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SetExists, match="is not empty; name a new folder"):
        make_set(tmp_path, Config(), calibration, scenes=42, seed=1, read=read_grip)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_a_worker_ended_from_outside_is_told_in_a_sentence(tmp_path, calibration, read_grip):
    def end_a_worker(_: str) -> None:
        multiprocessing.active_children()[0].kill()

    with pytest.raises(WorkerLost, match="was ended from outside") as caught:
        make_set(
            tmp_path / "cut", Config(), calibration,
            scenes=60, seed=5, read=read_grip, workers=2, progress=end_a_worker,
        )  # fmt: skip
    assert "fewer --workers" in (caught.value.next_step or "")
