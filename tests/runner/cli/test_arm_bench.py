"""`trialcell arm …` by hand, on the served twin, through the real client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.cell import open_cell
from runner.twin.serve import Doors, ResetOrder, ServedTwin
from runs.latch import StopLatch


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[ServedTwin, Path, list[str]]]:
    cell = open_cell(tmp_path_factory.mktemp("desk") / "cell")
    twin = ServedTwin(cell.config, "new", Doors(0, True), speedup=10.0)
    there = twin.start(cell.folder)
    yield twin, cell.folder, ["--set", "arm.kind=mycobot-tcp", "--set", f"arm.address={there.tcp}"]
    twin.close()


@pytest.fixture
def arm(served, trialcell) -> Callable:
    twin, cell, way = served
    twin.reset(ResetOrder(seed=2))

    def call(*args: object, as_json: bool = True):
        return trialcell("arm", *args, "--cell", cell, *way, *(["--json"] if as_json else []))

    return call


def test_ports_lists_the_twins_that_are_served_for_the_cell(served, trialcell):
    _, cell, _ = served
    told = trialcell("arm", "ports", "--cell", cell, "--json")
    kinds = {port["kind"] for port in told.object["ports"]}
    assert {"mycobot-tcp", "mycobot-serial"} <= kinds
    assert "served twin, new firmware" in trialcell("arm", "ports", "--cell", cell).out


def test_read_says_how_the_arm_stands_and_moves_nothing(arm, served):
    answer = arm("read").object
    assert answer["angles_deg"] == pytest.approx([0, 0, 0, 0, 0, -30], abs=0.2)
    assert (answer["powered"], answer["error_code"], answer["servos_enabled"]) == (True, 0, True)
    assert answer["gripper"] == 100
    told = arm("read", as_json=False).out
    assert "tool      x 0, y 243, z 268 mm" in told
    assert "power     on, error 0, servos all on" in told


def test_jog_park_and_home_go_there_and_say_so(arm, served):
    assert arm("jog", 0, 12, "--speed", 50).object["post_actual"][0] == pytest.approx(12, abs=0.6)
    assert arm("jog", 0, -24, "--speed", 50).object["post_actual"][0] == pytest.approx(-12, abs=0.6)
    assert arm("park", "--speed", 60).object["post_actual"][:3] == pytest.approx([0, -45, 45], abs=0.6)
    assert arm("home", "--speed", 60).object["post_actual"] == pytest.approx([0, 0, 0, 0, 0, -30], abs=0.6)
    assert "clear of everything" in arm("home", as_json=False).out


def test_jaws_close_by_value_and_open(arm):
    assert arm("close", "--value", 40).object == {"told": 40, "gripper": pytest.approx(40, abs=4)}
    assert arm("open").object == {"told": "open", "gripper": pytest.approx(100, abs=4)}


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("jog", 1, 95), 3, "no clear path"),
        (("jog", 9, 5), 2, "Invalid value"),
        (("jog", 0, "nan"), 2, "must be a number"),
        (("close", "--value", 101), 2, "100"),
    ],
)
def test_what_would_harm_or_makes_no_sense_is_refused(arm, served, args, code, says):
    told = arm(*args, as_json=False)
    assert told.code == code, told.err
    assert says in told.err
    assert "Traceback" not in told.err


def test_a_latched_stop_keeps_it_still_but_lets_it_be_read(arm, served, trialcell):
    _, cell, _ = served
    trialcell("stop", "--why", "the cable is loose", "--cell", cell)
    try:
        told = arm("home", as_json=False)
        assert (told.code, "the cable is loose" in told.err) == (3, True)
        assert arm("read").code == 0
    finally:
        trialcell("stop", "--clear", "--by", "Maya", "--cell", cell)


def test_without_an_arm_in_the_settings_it_says_what_to_set(trialcell, served):
    told = trialcell("arm", "read", "--cell", served[1])
    assert told.code == 2
    assert "arm.address" in told.err


def test_a_stop_latched_while_it_moves_holds_it_still_there(arm, served, trialcell):
    twin, cell, _ = served
    goal_deg, began = 100.0, float(arm("read").object["angles_deg"][0])

    def latch_when_it_moves():
        while abs(twin.truth()["angles_deg"][0] - began) < 2.0:
            time.sleep(0.005)
        StopLatch(cell).set(by="Maya", why="a hand on the table")

    other = threading.Thread(target=latch_when_it_moves)
    other.start()
    told = arm("jog", 0, goal_deg - began, "--speed", 10)
    other.join()
    try:
        assert told.code == 130, told.err
        assert "a hand on the table" in told.err + told.out
        stood = float(arm("read").object["angles_deg"][0])
        assert 2.0 <= abs(stood - began) < goal_deg - 20
        assert float(arm("read").object["angles_deg"][0]) == pytest.approx(stood, abs=0.3)
    finally:
        trialcell("stop", "--clear", "--by", "Maya", "--cell", cell)
