"""The served twin: its camera as a network stream, its control port, its addresses, its time."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from runner.arms.wire import Cmd, WireFrame
from runner.config import Config
from runner.twin.errors import AddressTaken, StartNotPossible, TwinGone, UnknownFault
from runner.twin.serve import Doors, ServedTwin
from runner.twin.served import FOLDER, Addresses, TwinControl, TwinTime, served_at, served_twins
from vision.cameras.opencv import STREAM_IDLE_S, OpenCvCamera
from vision.errors import CameraUnavailable


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cell")


@pytest.fixture(scope="module")
def served(folder) -> Iterator[tuple[ServedTwin, Addresses]]:
    twin = ServedTwin(Config(), "new", Doors(0, True), speedup=8.0)
    yield twin, twin.start(folder)
    twin.close()


@pytest.fixture
def control(served) -> Iterator[TwinControl]:
    control = TwinControl(served[1])
    yield control
    control.close()


def post(url: str, data: bytes) -> tuple[int, dict]:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_its_addresses_stand_in_the_cell_and_lead_to_it_however_they_are_said(served, folder):
    there = served[1]
    assert list(served_twins(folder)) == [there]
    port = there.tcp.rpartition(":")[2]
    for address in (there.tcp, f"localhost:{port}", there.pty):
        assert served_at(folder, address) == there
    for address in ("127.0.0.1:1", "", "192.0.2.7:" + port, "/dev/null"):
        assert served_at(folder, address) is None


def test_addresses_of_a_process_that_is_no_more_are_passed_over(tmp_path, served):
    folder = tmp_path / FOLDER
    folder.mkdir()
    gone = served[1].model_copy(update={"pid": 2**22 - 3})
    (folder / f"{gone.pid}.json").write_text(gone.model_dump_json())
    (folder / "broken.json").write_text("{")
    assert list(served_twins(tmp_path)) == []
    assert list(served_twins(tmp_path / "nowhere")) == []


@pytest.mark.slow
def test_a_look_through_the_stream_shows_what_is_there_now(served, control):
    twin, there = served
    camera = OpenCvCamera(there.camera, size_px=(1280, 720))
    for seed in (5, 6):
        control.reset(seed)
        seen = camera.read()
        time.sleep(STREAM_IDLE_S)  # meanwhile the stream goes on and fills what lies between
        assert seen.size_px == (1280, 720)
        with twin._looking:
            true = twin.twin.camera.noiseless()
        off = np.abs(seen.image_bgr.astype(int) - true.astype(int))
        assert off.mean() < 4  # noise and JPEG
        assert (off.max(axis=2) > 60).mean() < 1e-4  # no block where none is, none missing
    camera.close()


def test_a_stream_that_has_ended_is_no_camera(tmp_path):
    twin = ServedTwin(Config(), "new", Doors(0, False))
    there = twin.start(tmp_path)
    camera, clock = OpenCvCamera(there.camera, size_px=(1280, 720)), TwinTime(TwinControl(there))
    camera.read()
    before = clock.now_s()
    twin.close()
    clock.sleep(0.2)  # time goes on all the same
    assert clock.now_s() >= before + 0.2
    with pytest.raises(CameraUnavailable):
        camera.read()
    assert not list((tmp_path / FOLDER).iterdir())
    with pytest.raises(TwinGone):
        TwinControl(there).clock()
    twin.close()


def test_a_single_picture_can_be_had(served):
    url = served[1].camera.replace("/stream.mjpg", "/picture.jpg")
    with urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.read(3) == b"\xff\xd8\xff"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(url.replace("picture", "nothing"), timeout=20)


def test_a_seed_gives_the_same_start_as_in_process(served, control):
    from runner.twin.setup import build_twin

    control.reset(11)
    own = build_twin(Config(), seed=11)
    assert control.truth()["block_m"] == pytest.approx(own.truth().block_m, abs=1e-3)
    assert control.truth()["box_m"] == pytest.approx(own.truth().box_m, abs=1e-3)
    own.close()
    control.reset(11, block_xz_m=(0.2, 0.2), box_xz_m=(-0.2, 0.15))
    assert control.truth()["block_m"][::2] == pytest.approx((0.2, 0.2), abs=1e-3)


def test_its_time_runs_by_itself_and_no_reset_turns_it_back(control):
    clock = TwinTime(control)
    before = clock.now_s()
    control.reset(3)
    clock.sleep(1.0)
    control.reset(3)
    assert clock.now_s() - before >= 1.0


def test_its_pace_can_be_set(served, control):
    url = served[1].control
    assert post(f"{url}/clock", b'{"speedup": 20}')[1]["speedup"] == 20
    assert control.clock()[1] == 20
    assert post(f"{url}/clock", b'{"speedup": 8}')[0] == 200


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/reset", b"{", 400),
        ("/reset", b"{}", 400),
        ("/reset", b'{"seed": -1}', 400),
        ("/reset", b'{"seed": 1, "blok": 2}', 400),
        ("/reset", b'{"seed": 1, "block_xz_m": [NaN, 0]}', 400),
        ("/reset", b"[]", 400),
        ("/clock", b'{"speedup": 0}', 400),
        ("/truth", b"{}", 404),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_and_changes_nothing(served, control, path, data, status):
    control.reset(4)
    before = control.truth()["block_m"]
    assert post(served[1].control + path, data)[0] == status
    assert control.truth()["block_m"] == pytest.approx(before, abs=1e-4)


def test_places_that_overlap_are_no_start(control):
    with pytest.raises(StartNotPossible, match="overlap"):
        control.reset(4, block_xz_m=(0.2, 0.2), box_xz_m=(0.2, 0.2))


def test_a_reset_also_switches_the_firmware_on_anew(served, control):
    twin = served[0]
    twin._handle(WireFrame(Cmd.POWER_OFF))
    assert twin._handle(WireFrame(Cmd.IS_POWER_ON))[0][1] == WireFrame(Cmd.IS_POWER_ON, b"\x00").encode()
    control.reset(4)
    assert twin._handle(WireFrame(Cmd.IS_POWER_ON))[0][1] == WireFrame(Cmd.IS_POWER_ON, b"\x01").encode()


def test_what_can_not_be_served_is_said_before_anything_is(served, tmp_path):
    port = int(served[1].tcp.rpartition(":")[2])
    for doors, faults, error in (
        (Doors(port, False), (), AddressTaken),
        (Doors(0, False), ("ded",), UnknownFault),
        (Doors(0, False), ("dead@soon",), UnknownFault),
    ):
        twin = ServedTwin(Config(), "new", doors, faults=faults)
        with pytest.raises(error):
            twin.start(tmp_path)
        twin.close()
    assert not (tmp_path / FOLDER).exists()
