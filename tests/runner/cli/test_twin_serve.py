"""`trialcell twin serve` as a process of its own: beginning, ending, several at once, and trials against it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pymycobot.mecharmsocket import MechArmSocket

from runner.twin.served import FOLDER, Addresses, TwinControl

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0  # for a machine with much else to do
TRIAL = (
    "arm.speed_percent=60",
    "arm.send_wait_s=0.3",
    "camera.captures=1",
)


METAL = ("--set", "arm.kind=mycobot-tcp", "--set", "arm.address=127.0.0.1:1")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_makes_a_new_cell_serves_the_real_client_and_ends_when_told(serve, how):
    serving = serve("--tcp", "0", "--pty", "--seed", "5")
    told = serving.ready()
    host, port = told["tcp"].split(":")
    client = MechArmSocket(host, int(port))
    assert client.get_angles() == pytest.approx([0, 0, 0, 0, 0, -30], abs=0.2)
    assert client.set_gripper_value(50, 50, 1) == 1
    client.close()
    assert (serving.cell / "cell.toml").exists()
    assert not (serving.cell / "cell.lock.json").exists()  # a run may have the cell
    assert serving.end(how) == 0
    assert list((serving.cell / FOLDER).iterdir()) == []


@pytest.mark.slow
def test_several_on_one_new_cell_wait_for_each_other(serve):
    servings = [serve("--tcp", "0") for _ in range(3)]
    ports = {serving.ready()["tcp"] for serving in servings}
    assert len(ports) == 3
    assert len(list((servings[0].cell / FOLDER).iterdir())) == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("twin", "serve"), "--tcp PORT, --pty, or both"),
        (("twin", "serve", "--tcp", "0", "--fault", "ded"), "did you mean 'dead'"),
        (("twin", "serve", "--tcp", "70000"), "65535"),
        (("twin", "serve", "--tcp", "0", "--host", "no.such.host.invalid"), "can't listen on no.such.host.invalid"),
        (("twin", "serve", "--tcp", "0", "--set", "twin.profil=field"), "twin.profile"),
        (("run", "--set", "arm.kind=mycobot-tcp"), "no HOST:PORT"),
        (("run", "--set", "arm.kind=mycobot-tcp", "--set", "arm.address=127.0.0.1:1", "--seed", "3"), "no twin's"),
        (("run", "--set", "arm.kind=mycobot-tcp", "--set", "arm.address=127.0.0.1:1"), "which camera"),
        (("run", *METAL, "--set", "camera.source=http://127.0.0.1:1/"), "the calibration of its camera is the twin's"),
        (("run", *METAL, "--set", "camera.kind=twin"), "does not see the arm's table"),
        (("run", "--set", "twin.faults=['dead']"), "twin.firmware=new"),
        (("run", "--set", "twin.firmware=new", "--set", "twin.faults=['ded']"), "did you mean 'dead'"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(trialcell, tmp_path, prepared_cell, args, says):
    told = trialcell(*args, "--cell", prepared_cell if args[0] == "run" else tmp_path / "cell")
    assert told.code in (2, 3, 4), told.err
    assert says in told.err
    assert "Traceback" not in told.err


@pytest.mark.slow
def test_a_trial_in_process_through_the_driver_of_a_real_arm(trialcell, cell_copy):
    settings = [part for setting in (*TRIAL, "twin.firmware=old") for part in ("--set", setting)]
    told = trialcell("run", "--cell", cell_copy, "--seed", 7, "--json", *settings)
    assert (told.object["result"], told.object["truth"]) == ("completed", {"block_in_box": True})


@pytest.mark.slow
@pytest.mark.parametrize("door", ["tcp", "serial"])
@pytest.mark.parametrize("firmware", ["new", "old"])
def test_a_trial_over_the_wire_ends_as_in_process(trialcell, serve, cell_copy, door, firmware):
    options = ("--pty",) if door == "serial" else ("--tcp", "0")
    there = serve(*options, "--firmware", firmware, "--speedup", "6", cell=cell_copy).ready()
    wire = (f"arm.kind=mycobot-{door}", f"arm.address={there['pty'] or there['tcp']}")
    settings = [part for setting in (*TRIAL, *wire) for part in ("--set", setting)]
    over_wire = trialcell("run", "--cell", cell_copy, "--seed", 7, "--json", *settings)
    in_process = trialcell("run", "--cell", cell_copy, "--seed", 7, "--json", *[p for s in TRIAL for p in ("--set", s)])
    for answer in (over_wire.object, in_process.object):
        assert (answer["result"], answer["truth"]) == ("completed", {"block_in_box": True})
    assert over_wire.object["verdicts"] == in_process.object["verdicts"]


@pytest.mark.slow
def test_a_run_whose_served_twin_dies_ends_as_crashed_with_a_whole_log(serve, cell_copy):
    serving = serve("--tcp", "0", "--speedup", "4", cell=cell_copy)
    there = serving.ready()
    run = subprocess.Popen(
        [sys.executable, "-c", "from runner.cli.main import main; main()", "run", "--seed", "7", "--json"]
        + ["--cell", str(cell_copy), "--set", "arm.kind=mycobot-tcp", "--set", f"arm.address={there['tcp']}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    control = TwinControl(Addresses.model_validate({k: v for k, v in there.items() if k != "cell"}))
    home = control.truth()["angles_deg"]
    end = time.monotonic() + PATIENCE_S
    while abs(control.truth()["angles_deg"][0] - home[0]) < 5 and time.monotonic() < end:
        time.sleep(0.1)
    serving.end(signal.SIGKILL)
    out, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 4, err
    assert "Traceback" not in err
    assert json.loads(out)["result"] == "crashed"
