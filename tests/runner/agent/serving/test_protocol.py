"""The real `mcp` client lists and calls every tool, over stdio and HTTP; one holder of the arm at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

mcp = pytest.importorskip("mcp", reason="the extra trialcell[mcp] is not installed")

from mcp import Client, MCPError, StdioServerParameters  # noqa: E402
from mcp_types import Implementation  # noqa: E402

from runner.agent.cell_view import CellView  # noqa: E402
from runner.agent.serving.holder import ArmHolder  # noqa: E402
from runner.agent.serving.offer import RESOURCES, Offer  # noqa: E402
from runner.agent.serving.protocol import HttpDoor, server_of  # noqa: E402
from runner.agent.toolbox import READING, TOOLS  # noqa: E402
from runner.cell import open_cell  # noqa: E402
from runner.rig import Request  # noqa: E402
from runs.errors import CellBusy  # noqa: E402
from runs.lock import CellLock  # noqa: E402
from runs.store import RunStore  # noqa: E402

QUICK = (
    "arm.speed_percent=80",
    "arm.send_wait_s=0.2",
    "gripper.wait_s=1.3",
    "gripper.pre_release_wait_s=0",
    "camera.captures=1",
    "camera.settle_s=0.3",
    "rehearse.tries=16",
    "rehearse.choices=2",
)
ARGUMENTS = {
    "lookup": {"phase": "pick", "x_m": 0.2, "z_m": 0.2},
    "why_not": {"phase": "place", "x_m": -0.2, "z_m": 0.2},
    "rehearse": {"phase": "pick", "x_m": 0.2, "z_m": 0.2},
    "where_is": {"what": "arm"},
    "note": {"text": "a client was here"},
}
ORDER = ["look", "pick", "place", "judge", *(set(TOOLS) - {"look", "pick", "place", "judge", "retreat"})]


def text_of(result) -> dict:
    return json.loads(result.content[0].text)


def test_a_reading_server_offers_reading_and_nothing_else(cell_copy):
    server = server_of(Offer(CellView(open_cell(cell_copy)), None), version="1")

    async def talk():
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == set(READING)
            assert all(tool.annotations.read_only_hint for tool in listed)
            found = await client.call_tool("corrections", {})
            assert not found.is_error
            assert found.structured_content["squares"] == []
            refused = await client.call_tool("pick", {})
            assert refused.is_error
            assert "no tool" in text_of(refused)["reason"]
            wrong = await client.call_tool("lookup", {"phase": "fly", "x_m": 0.2, "z_m": 0.2})
            assert text_of(wrong)["outcome"] == "wrong_arguments"
            uris = {resource.uri for resource in (await client.list_resources()).resources}
            assert uris == {each.uri for each in RESOURCES}
            learned = await client.read_resource("trialcell://maps/corrections")
            assert json.loads(learned.contents[0].text)["applied"] is True
            with pytest.raises(MCPError, match="no run"):
                await client.read_resource("trialcell://runs/latest")
            with pytest.raises(MCPError):
                await client.read_resource("trialcell://runs/../../etc/passwd")

    anyio.run(talk)


def test_what_a_client_calls_itself_is_one_printable_line(cell_copy):
    heard = []

    class Heard(Offer):
        def call(self, client, name, arguments):
            heard.append(client)
            return super().call(client, name, arguments)

    server = server_of(Heard(CellView(open_cell(cell_copy)), None), version="1")

    async def talk():
        me = Implementation(name="a\x1b]0;x\x07\nb" + 200 * "c", version="1")
        async with Client(server, client_info=me) as client:
            await client.call_tool("corrections", {})

    anyio.run(talk)
    (told,) = heard
    assert told.startswith("a")
    assert told.isprintable()
    assert len(told) == 80


async def every_tool(client: Client) -> dict[str, dict]:
    """Take the arm, call all, give it back."""
    assert {tool.name for tool in (await client.list_tools()).tools} == {
        *TOOLS, "take_arm", "renew_lease", "give_back_arm"
    }  # fmt: skip
    lease = text_of(await client.call_tool("take_arm", {}))["lease"]
    told = {}
    for name in ORDER:
        result = await client.call_tool(name, {**ARGUMENTS.get(name, {}), "lease": lease})
        assert not result.is_error, (name, result.content[0])
        told[name] = text_of(result)
        if name in ("look", "pick", "place"):
            assert result.content[-1].type == "image"
    late = await client.call_tool("retreat", {"lease": lease})
    assert text_of(late)["outcome"] == "not_now"
    assert text_of(await client.call_tool("renew_lease", {"lease": lease}))["left_s"] > 0
    told["end"] = text_of(await client.call_tool("give_back_arm", {"lease": lease}))
    gone = await client.call_tool("look", {"lease": lease})
    assert gone.is_error
    return told


def check_all(told: dict[str, dict], cell: Path) -> None:
    assert told["end"]["result"] == "completed"
    assert [one["verdict"] for one in told["judge"]["verdicts"]] == ["yes", "yes"]
    assert [way["tries"] > 0 for way in told["rehearse"]["ways"]] == [True, True]
    log = RunStore(cell / "runs").open("latest").log
    assert log.run_id == told["end"]["run_id"]
    assert log.agent.begun.by == "mcp"
    assert [call.tool for call in log.agent.calls] == [*ORDER, "retreat"]


def command_of(cell: Path, *more: str) -> list[str]:
    """The server as a process of its own."""
    sets = [part for each in QUICK for part in ("--set", each)]
    run = "from runner.cli.main import main; main()"
    return [sys.executable, "-c", run, "mcp", "--cell", str(cell), "--seed", "13", *sets, *more]


def stdio_parameters(cell: Path) -> StdioServerParameters:
    command, *arguments = command_of(cell)
    return StdioServerParameters(command=command, args=arguments, env={"PYTHONPATH": os.pathsep.join(sys.path)})


def check_given_back(cell: Path) -> None:
    """Nobody holds the cell any more, and the last sitting ended as it should."""
    with CellLock(cell):
        log = RunStore(cell / "runs").open("latest").log
    assert log.agent.ended.by == "released"
    assert log.ending.at_rest is True


async def signal_the_holder(cell: Path, number: int) -> int:
    """Ask the process that has the cell to end, twice as impatient people do; wait until the cell is free; its pid."""
    pid = json.loads((cell / "cell.lock.json").read_text(encoding="utf-8"))["pid"]
    os.kill(pid, number)
    await anyio.sleep(0.5)
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    with anyio.fail_after(180):
        while True:
            with suppress(CellBusy), CellLock(cell):
                return pid
            await anyio.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_stdio_server_whose_client_keeps_its_end_open(cell_copy, number):
    async def talk():
        async with Client(stdio_parameters(cell_copy)) as client:
            assert "lease" in text_of(await client.call_tool("take_arm", {}))
            pid = await signal_the_holder(cell_copy, number)
            with anyio.fail_after(60), suppress(ProcessLookupError):
                while True:
                    os.kill(pid, 0)
                    await anyio.sleep(0.1)

    anyio.run(talk)
    check_given_back(cell_copy)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_http_server_with_the_arm_at_rest(cell_copy, number):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = command_of(cell_copy, "--http", "--port", "0", "--json")
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
        told = ""
        while not told.rstrip().endswith("}"):
            told += server.stdout.readline()
        url = json.loads(told)["url"]

        async def talk():
            async with Client(url) as client:
                assert "lease" in text_of(await client.call_tool("take_arm", {}))
                await signal_the_holder(cell_copy, number)

        with suppress(BaseExceptionGroup, OSError):  # the client is cut off
            anyio.run(talk)
        assert server.wait(60) == 0
    check_given_back(cell_copy)


@pytest.mark.slow
def test_the_real_client_calls_every_tool_over_stdio_and_its_death_frees_the_arm(cell_copy):
    parameters = stdio_parameters(cell_copy)

    async def talk():
        async with Client(parameters) as client:
            told = await every_tool(client)
            frame = await client.read_resource("trialcell://frame/last")
            assert frame.contents[0].mime_type == "image/jpeg"
            latest = await client.read_resource("trialcell://runs/latest")
            assert json.loads(latest.contents[0].text)["run_id"] == told["end"]["run_id"]
            await client.call_tool("take_arm", {})  # and then it goes without a word
            return told

    check_all_told = anyio.run(talk)
    assert check_all_told["end"]["result"] == "completed"
    check_given_back(cell_copy)  # the server has ended with its client


@pytest.fixture
def serve(cell_copy):
    """Serves HTTP on loopback on a thread; `serve(token=…)` gives the door."""
    made = []

    def start(*, now_s=None, token=None, overrides=(), host="127.0.0.1"):
        opened = open_cell(cell_copy, [*QUICK, *overrides])
        clock = {} if now_s is None else {"now_s": now_s}
        holder = ArmHolder(opened, request=Request(seed=13), **clock)
        door = HttpDoor(Offer(CellView(opened), holder), host=host, port=0, token=token, version="1")
        ready = threading.Event()
        thread = threading.Thread(target=door.run, args=(ready.set,), daemon=True)
        thread.start()
        assert ready.wait(30)
        made.append((door, holder, thread))
        return door

    yield start
    for door, holder, thread in made:
        door.stop()
        thread.join(20)
        holder.close()


@pytest.mark.slow
def test_the_real_client_calls_every_tool_over_http(serve, cell_copy):
    door = serve()

    async def talk():
        async with Client(door.url) as client:
            return await every_tool(client)

    check_all(anyio.run(talk), cell_copy)


@pytest.mark.slow
def test_two_clients_fight_for_the_arm_and_one_that_dies_loses_it(serve, cell_copy):
    now = {"s": 0.0}
    door = serve(now_s=lambda: now["s"], overrides=["agent.lease_s=30"])

    async def talk():
        async with Client(door.url) as second:
            first = Client(door.url)
            await first.__aenter__()
            lease = text_of(await first.call_tool("take_arm", {}))["lease"]
            refused = await second.call_tool("take_arm", {})
            assert refused.is_error
            told = text_of(refused)
            assert told["outcome"] == "refused"
            assert "the arm is held by" in told["reason"]
            assert "30 s" in told["reason"]
            guessed = await second.call_tool("look", {"lease": "guessed"})
            assert "holds nothing" in text_of(guessed)["reason"]
            assert not (await second.call_tool("holes", {})).is_error  # who only reads is served meanwhile
            now["s"] += 29
            assert not (await first.call_tool("where_is", {"what": "arm", "lease": lease})).is_error
            now["s"] += 29  # that call has renewed it
            still = await second.call_tool("take_arm", {})
            assert still.is_error
            with anyio.CancelScope() as gone:  # it dies: not a word more
                gone.cancel()
            now["s"] += 2
            with anyio.fail_after(120):
                while True:
                    taken = await second.call_tool("take_arm", {})
                    if not taken.is_error:
                        break
                    await anyio.sleep(0.2)
            late = await first.call_tool("where_is", {"what": "arm", "lease": lease})
            assert late.is_error
            await second.call_tool("give_back_arm", {"lease": text_of(taken)["lease"]})
            await first.__aexit__(None, None, None)

    anyio.run(talk)
    logs = [RunStore(cell_copy / "runs").open(e.run_id).log for e in RunStore(cell_copy / "runs").list()]
    assert [log.agent.ended.by for log in logs] == ["lease", "released"]
    assert all(log.ending.at_rest for log in logs)


@pytest.mark.slow
def test_http_lets_in_who_names_us_and_has_the_token(serve):
    import httpx2

    door = serve(token="a-token-that-nobody-guesses")
    ask = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    told = {"accept": "application/json, text/event-stream"}
    right = {**told, "authorization": "Bearer a-token-that-nobody-guesses"}
    assert httpx2.post(door.url, json=ask, headers=told).status_code == 401
    assert httpx2.post(door.url, json=ask, headers={**told, "authorization": "Bearer x"}).status_code == 401
    assert httpx2.post(door.url, json=ask, headers={**right, "host": "evil.example"}).status_code == 421
    assert httpx2.post(door.url, json=ask, headers={**right, "origin": "http://evil.example"}).status_code == 403
    assert httpx2.post(door.url, content=b"x" * 1_000_000, headers=right).status_code in (400, 413)
    assert httpx2.post(door.url, json=ask, headers=right).status_code != 401


def test_an_address_that_others_reach_needs_a_token(cell_copy):
    from runner.review.errors import NeedsToken

    offer = Offer(CellView(open_cell(cell_copy)), None)
    with pytest.raises(NeedsToken):
        HttpDoor(offer, host="0.0.0.0", port=0, token=None, version="1")
