"""The stop that only a person clears."""

from __future__ import annotations

import json

import pytest

from runs.latch import StopLatch


@pytest.fixture
def latch(tmp_path):
    return StopLatch(tmp_path / "cell")


def test_nothing_is_latched_at_first(latch):
    assert latch.read() is None


def test_a_stop_says_who_why_and_when(latch):
    stop = latch.set(by="Maya", why="the cable is loose")
    assert latch.read() == stop
    assert (stop.by, stop.why, stop.at[-1]) == ("Maya", "the cable is loose", "Z")


def test_the_first_stop_stands_and_the_second_is_remembered(latch):
    first = latch.set(by="the guard", why="joint 1 stalls")
    assert latch.set(by="Maya", why="smoke") == first
    assert latch.read() == first
    lines = [json.loads(line) for line in latch.history_path.read_text().splitlines()]
    assert [(line["what"], line["why"]) for line in lines] == [("set", "joint 1 stalls"), ("set", "smoke")]


def test_a_stop_outlives_its_process_until_somebody_clears_it(latch):
    latch.set(by="the guard", why="joint 1 stalls")
    again = StopLatch(latch.path.parent)
    cleared = again.clear(by="Maya")
    assert cleared is not None
    assert cleared.why == "joint 1 stalls"
    assert latch.read() is None
    last = json.loads(latch.history_path.read_text().splitlines()[-1])
    assert (last["what"], last["by"], last["why"]) == ("cleared", "Maya", "cleared: joint 1 stalls")


def test_clearing_nothing_is_no_event(latch):
    assert latch.clear(by="Maya") is None
    assert not latch.history_path.exists()


def test_nobody_clears_nothing(latch):
    latch.set(by="Maya", why="smoke")
    with pytest.raises(ValueError, match="say who"):
        latch.clear(by=" ")
    assert latch.read() is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"by": "Maya"}'])
def test_a_latch_that_can_not_be_read_counts_as_set(latch, text):
    latch.path.parent.mkdir()
    latch.path.write_text(text)
    stop = latch.read()
    assert stop is not None
    assert "can't be read" in stop.why
    assert latch.clear(by="Maya") is not None
    assert latch.read() is None


def test_a_latch_that_is_a_folder_counts_as_set(latch):
    latch.path.mkdir(parents=True)
    assert latch.read() is not None
