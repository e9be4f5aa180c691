"""A way to a model is opened once, within a time, and again where it failed."""

from __future__ import annotations

import threading
from time import monotonic

import pytest

from judges.backend import NoKey
from judges.opening import Opening


def test_it_is_opened_once_and_kept():
    made = []

    def make():
        made.append(object())
        return made[-1]

    opening = Opening(make)
    assert opening.until(monotonic() + 20) is opening.until(monotonic() + 20) is made[0]
    assert len(made) == 1


def test_nobody_waits_longer_than_told_and_it_goes_on_opening():
    go_on = threading.Event()
    opening = Opening(lambda: go_on.wait(20))
    assert opening.until(monotonic() - 1) is None
    assert opening.until(monotonic() + 20, given_up=lambda: True) is None
    go_on.set()
    assert opening.until(monotonic() + 20) is True


def test_what_failed_is_told_and_tried_anew():
    tries = []

    def make():
        tries.append(1)
        if len(tries) < 3:
            raise NoKey("SOME_KEY")
        return "open"

    opening = Opening(make)
    for _ in range(2):
        with pytest.raises(NoKey, match="SOME_KEY"):
            opening.until(monotonic() + 20)
    assert opening.until(monotonic() + 20) == "open"
