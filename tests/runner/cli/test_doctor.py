"""`trialcell doctor`: green, yellow or red for everything a trial needs, in words, with the next step."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import cv2
import numpy as np
import pytest

from runner.cell import Cell
from runner.cli.checks import of_arm, of_camera, of_cell, of_judge
from runner.cli.checks.contact_sheet import Shot, drawn
from runner.cli.checks.light import carried_out, green
from runner.config import Config, with_overrides
from runner.twin.firmware.direct import direct_arm
from runner.twin.setup import build_twin
from runs.schema.motion import HealthRecord
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore
from vision.calibration.file import load_plane
from vision.cameras.folder import FolderCamera


def lights(findings):
    return {finding.check: finding.light for finding in findings}


def test_all_is_green_with_a_prepared_cell_and_each_line_says_what_was_seen(trialcell, cell_copy):
    told = trialcell("doctor", "--cell", cell_copy, "--json")
    assert told.code == 0
    assert told.object["well"] is True
    rows = {row["check"]: row for row in told.object["checks"]}
    assert {row["light"] for row in rows.values()} == {"green"}
    assert set(rows) == {
        *("python", "libraries", "cell", "stop", "last run", "storage", "reach table", "approach", "calibration"),
        *("camera", "picture", "marks", "arm", "judge"),
    }
    assert "rows for mecharm270 with its tool point at (0, 0, 100.3) mm" in rows["reach table"]["told"]
    assert "px, plane" in rows["calibration"]["told"]
    assert "made today" in rows["calibration"]["told"]
    assert "1280×720 px" in rows["camera"]["told"]
    assert "4 of 4 in sight" in rows["marks"]["told"]


def test_the_colours_are_words_too(trialcell, cell_copy):
    told = trialcell("doctor", "--quick", "--cell", cell_copy)
    assert told.out.count("✓ green") == 9
    assert told.out.splitlines()[-1] == "9 green, 0 yellow, 0 red"


def test_a_cell_that_is_not_made_yet_is_looked_at_without_making_it(trialcell, tmp_path):
    told = trialcell("doctor", "--cell", tmp_path / "new")
    assert told.code == 0
    assert "is not made yet" in " ".join(told.out.split())
    assert not (tmp_path / "new").exists()


def test_what_is_wrong_is_red_with_what_to_do_and_the_rest_is_still_looked_at(trialcell, cell_copy):
    (cell_copy / "calibration" / "plane.json").write_text("{}", encoding="utf-8")
    trialcell("stop", "--cell", cell_copy, "--by", "Maya", "--why", "smoke")
    told = trialcell("doctor", "--quick", "--cell", cell_copy, "--json")
    assert told.code == 3
    wrong = {row["check"]: row["next_step"] for row in told.object["checks"] if row["light"] == "red"}
    assert set(wrong) == {"calibration", "stop"}
    assert "trialcell stop --clear" in wrong["stop"]


def test_a_table_of_another_tool_is_red(trialcell, cell_copy):
    told = trialcell("doctor", "--quick", "--cell", cell_copy, "--set", "arm.tcp_mm=[0, 0, 90]", "--json")
    assert told.code in (2, 3)
    (row,) = [row for row in told.object["checks"] if row["light"] == "red"]
    assert row["check"] == "reach table"
    assert row["next_step"]


def test_what_an_earlier_run_left_is_yellow(trialcell, cell_copy):
    writer = RunStore(cell_copy / "runs").create(RunHeader())
    writer.stage_started("stage6")
    writer.close()
    told = trialcell("doctor", "--quick", "--cell", cell_copy)
    assert told.code == 0
    assert "was cut off in stage6" in told.out
    assert "! yellow" in told.out


def test_a_calibration_that_is_old_or_the_twins_is_told(cell_copy, monkeypatch):
    opened = Cell(cell_copy, Config())
    plane = load_plane(opened.calibration_dir)
    old = plane.model_copy(update={"made_at": (datetime.now(UTC) - timedelta(days=45)).isoformat()})
    monkeypatch.setattr("vision.calibration.file.load_plane", lambda _: old)
    monkeypatch.setattr("vision.calibration.file.view_of", lambda *_, **__: None)
    (finding,) = of_cell.calibration(opened)
    assert finding.light == "yellow"
    assert "45 days ago" in finding.told
    metal = with_overrides(Config(), ["arm.kind=mycobot-tcp", "arm.address=127.0.0.1:1"])
    (finding,) = of_cell.calibration(Cell(cell_copy, metal))
    assert (finding.light, finding.exit_code) == ("red", 3)
    assert "of metal" in finding.told
    (finding,) = of_cell.calibration(Cell(cell_copy / "none", metal))
    assert finding.light == "red"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A good picture of the desk, and what cameras do to it."""
    folder = tmp_path_factory.mktemp("pictures")
    twin = build_twin(Config(), seed=4)
    good = twin.camera.read().image_bgr
    twin.close()
    moved = np.roll(good, 12, axis=1)
    for name, image in {
        "good": good,
        "dark": (good * 0.08).astype(np.uint8),
        "blurred": cv2.GaussianBlur(good, (0, 0), 40),
        "moved": moved,
        "small": cv2.resize(good, (640, 360)),
        "covered": np.full_like(good, 120),
    }.items():
        (folder / name).mkdir()
        for i in range(3):  # a live sensor's pictures are never the same
            noisy = image if name == "covered" else cv2.add(image, np.full_like(image, i))
            cv2.imwrite(str(folder / name / f"{i}.png"), noisy)
    return folder


@pytest.mark.parametrize(
    ("name", "check", "light", "words"),
    [
        ("good", "marks", "green", "4 of 4 in sight"),
        ("dark", "picture", "red", "dark"),
        ("blurred", "picture", "red", "blurred"),
        ("moved", "marks", "red", "the camera or the table moved"),
        ("small", "marks", "red", "for pictures of 1280×720 px"),
        ("covered", "camera", "red", "the same picture again and again"),
    ],
)
def test_what_is_wrong_with_a_camera_is_told(prepared_cell, pictures, monkeypatch, name, check, light, words):
    @contextmanager
    def looking(_cell):
        yield FolderCamera(pictures / name)

    monkeypatch.setattr("runner.station.any_camera", looking)
    found = {finding.check: finding for finding in of_camera.camera(Cell(prepared_cell, Config()))}
    assert found[check].light == light, found
    assert words in found[check].told
    assert found[check].next_step or light == "green"


@pytest.fixture(scope="module")
def twin():
    built = build_twin(Config(), seed=3)
    yield built
    built.close()


@pytest.fixture
def examined(twin, tmp_path, monkeypatch):
    """What the doctor says of a real driver on firmware with these faults, some seconds after it was connected."""

    def examine(*faults, kind="new", jaws=False, runs=()):
        twin.reset(3)
        config = with_overrides(Config(), ["arm.kind=mycobot-tcp", "arm.address=127.0.0.1:1"])
        arm, clock, _ = direct_arm(twin, twin.arm.model, config, kind=kind, faults=faults, seed=1)
        clock.sleep(2.0)

        @contextmanager
        def opened(_cell, _model):
            yield arm, clock

        monkeypatch.setattr("runner.station.open_arm", opened)
        cell = Cell(tmp_path, config)
        for count in runs:
            writer = RunStore(cell.runs_dir).create(RunHeader())
            writer.add(HealthRecord(stage="end", powered=True, error_code=0, reboot_count=count))
            writer.finish(Ending(result="completed", stage="stage10", reason="a test"))
        return carried_out("arm", lambda: of_arm.arm(cell, jaws=jaws))

    return examine


@pytest.mark.parametrize("kind", ["new", "old"])
def test_an_arm_that_is_well_is_green_on_every_line(examined, kind):
    found = examined(kind=kind, jaws=True, runs=[3])
    assert lights(found) == dict.fromkeys(
        ("arm", "power", "error latch", "servos", "restarts", "joints", "gripper"), "green"
    )
    told = {finding.check: finding.told for finding in found}
    assert told["gripper"].startswith("moves: told 60 it read")
    if kind == "new":
        assert "firmware 7.2" in told["arm"]
        assert told["power"] == "on, 12.0 V at the servos"


@pytest.mark.parametrize(
    ("fault", "check", "light", "exit_code", "words"),
    [
        ("unpowered@1", "power", "red", 4, "off"),
        ("error-latched@1", "error latch", "red", 4, "error 32"),
        ("servo-off@1", "servos", "red", 4, "one is off"),
        ("hot-servo@1", "servos", "red", 3, "j1 at 75 °C (refused above 68 °C)"),
        ("dead@1", "arm", "red", 4, "no answer to is_power_on"),
    ],
)
def test_what_is_wrong_with_an_arm_is_red(examined, fault, check, light, exit_code, words):
    found = {finding.check: finding for finding in examined(fault)}
    assert (found[check].light, found[check].exit_code) == (light, exit_code), found
    assert words in found[check].told
    assert found[check].next_step


def test_a_controller_that_has_restarted_since_the_last_run_is_yellow(examined):
    found = {finding.check: finding for finding in examined(runs=[2])}
    assert found["restarts"].light == "yellow"
    assert "3 in all, 2 at the end of the last run" in found["restarts"].told


def test_jaws_are_moved_only_when_asked(examined, twin):
    openings = []
    examined(jaws=False)
    openings.append(twin.arm.read_gripper_value())
    assert openings == [100.0]


def test_a_judge_that_nobody_listens_for_is_red_without_a_question(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
    config = with_overrides(Config(), ["judge.kind=claude", "judge.base_url=http://127.0.0.1:9"])
    (finding,) = carried_out("judge", lambda: of_judge.judge(Cell(tmp_path, config), ask=False))
    assert (finding.light, finding.exit_code) == ("red", 6)
    assert "127.0.0.1:9 is not reached" in finding.told


def test_a_sheet_shows_every_camera_also_those_that_give_nothing(trialcell, tmp_path):
    sheet = tmp_path / "sheet.png"
    told = trialcell("doctor", "--cameras", "--cell", tmp_path / "new", "--sheet", sheet, "--json")
    assert told.code == 0
    (own,) = told.object["cameras"]
    assert (own["in_use"], own["size_px"]) == (True, [1280, 720])
    assert cv2.imread(str(sheet)).std() > 20
    assert not (tmp_path / "new").exists()
    usb = trialcell("doctor", "--cameras", "--cell", tmp_path / "new", "--sheet", sheet, "--set", "camera.kind=opencv",
                    "--set", "camera.source=USB", "--json")  # fmt: skip
    assert usb.code == 4
    assert "no camera is called so" in usb.object["cameras"][0]["told"]
    many = [Shot(str(i), ("a long name " * 9,), None, "nothing came") for i in range(5)]
    assert drawn(many).shape[1] > 1400


def test_a_check_that_breaks_off_keeps_what_it_found(tmp_path):
    def check():
        yield green("one", "well")
        RunStore(tmp_path).find("run_1")

    found = carried_out("two", check)
    assert [(f.check, f.light) for f in found] == [("one", "green"), ("two", "red")]
