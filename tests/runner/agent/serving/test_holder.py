"""Who ends with the arm: nothing that still waits is done after that, and nobody gets the arm any more."""

from __future__ import annotations

import threading
import time

import pytest

from runner.agent.errors import NoLease
from runner.agent.serving.holder import ArmHolder
from runner.cell import open_cell
from runner.rig import Request
from runs.store import RunStore


def test_nobody_gets_the_arm_of_a_server_that_is_ending(cell_copy):
    holder = ArmHolder(open_cell(cell_copy))
    holder.close()
    with pytest.raises(NoLease, match="ending"):
        holder.take("a client")
    assert holder.client is None


@pytest.mark.slow
def test_calls_that_wait_are_refused_once_the_arm_is_given_back(cell_copy):
    holder = ArmHolder(open_cell(cell_copy, ["arm.send_wait_s=0.2", "camera.captures=1"]), request=Request(seed=13))
    lease = holder.take("a client")
    came = {}

    def ask(number):
        try:
            came[number] = holder.call(lease.key, "look", {}).outcome
        except NoLease:
            came[number] = "refused"

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for each in asking:
        each.start()
        time.sleep(0.1)  # so that the first is under way
    log = holder.give_back(lease.key)
    for each in asking:
        each.join()
    done = [outcome for outcome in came.values() if outcome != "refused"]
    assert len(came) == 4
    assert "refused" in came.values()
    assert len(log.agent.calls) == len(done)
    assert log.ending.at_rest is True
    assert RunStore(cell_copy / "runs").open("latest").log == log
