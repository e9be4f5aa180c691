"""Questions and commands over a real socket, against an arm that is late, silent, odd or gone."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread

import pytest

from runner.arms.client import connect, host_and_port
from runner.arms.errors import ArmLost, ArmUnreachable, CommandRejected, NoAnswer, OddAnswer, PortBusy
from runner.arms.link import Link
from runner.arms.mycobot import to_hundredths
from runner.arms.port_lock import PortLock
from runner.arms.wire import Cmd, WireFrame, angles_to_wire
from runner.twin.firmware.ports import WirePorts

ANSWER_S = 0.25
Handle = Callable[[WireFrame], list[tuple[float, bytes]]]


class Counting:
    """An arm whose n-th joint reading is n on every joint, and that acknowledges everything else."""

    def __init__(self, handle: Handle | None = None) -> None:
        self.heard: list[int] = []
        self._handle = handle

    def __call__(self, request: WireFrame) -> list[tuple[float, bytes]]:
        self.heard.append(request.command)
        if self._handle is not None:
            return self._handle(request)
        return self.reading(request)

    def reading(self, request: WireFrame, delay_s: float = 0.0) -> list[tuple[float, bytes]]:
        if request.command == Cmd.GET_ANGLES:
            n = self.heard.count(Cmd.GET_ANGLES)
            return [(delay_s, WireFrame(Cmd.GET_ANGLES, angles_to_wire([float(n)] * 6)).encode())]
        return [(delay_s, WireFrame(request.command, b"\x01").encode())]


class Desk:
    """Doors that can be shut and opened again under the same address."""

    def __init__(self) -> None:
        self.ports: list[WirePorts] = []

    def open(self, handle: Handle, port: int = 0) -> str:
        doors = WirePorts()
        host, port = doors.listen("127.0.0.1", port)
        doors.start(handle)
        self.ports.append(doors)
        return f"{host}:{port}"

    def shut(self) -> None:
        for doors in self.ports:
            doors.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.shut()


@pytest.fixture
def linked() -> Iterator[Callable[[str], Link]]:
    links = []

    def make(address: str) -> Link:
        link = Link(partial(connect, "mycobot-tcp", address, baud=0, deadline_s=2.0), address, answer_s=ANSWER_S)
        links.append(link)
        return link

    yield make
    for link in links:
        link.close()


def test_acknowledgements_that_nobody_reads_shift_no_answer(desk, linked):
    arm = Counting()
    link = linked(desk.open(arm))
    for n in range(1, 31):
        link.tell("send_angles", [float(n)] * 6, 30)
        link.tell("set_gripper_value", 40, 20, 1)
        assert link.ask("get_angles") == [float(n)] * 6
        assert link.ask("is_moving") == 1


def test_a_call_sends_one_frame_even_when_nobody_answers(desk, linked):
    arm = Counting(lambda request: [])
    link = linked(desk.open(arm))
    with pytest.raises(NoAnswer, match="get_angles"):
        link.ask("get_angles")
    link.tell("send_angles", [0.0] * 6, 30)
    link.tell("stop")
    with pytest.raises(NoAnswer):
        link.ask("get_error_information")
    assert arm.heard.count(Cmd.GET_ANGLES) == 1
    assert arm.heard.count(Cmd.SEND_ANGLES) == 1
    assert arm.heard.count(Cmd.STOP) == 1


def test_an_answer_that_comes_late_is_never_believed(desk, linked):
    late = iter([0.4, 0.4])  # the first two readings come after the patience has run out
    arm = Counting()
    arm._handle = lambda request: arm.reading(
        request, next(late, 0.0) if request.command == Cmd.GET_ANGLES else 0.45 if next_slow(request) else 0.0
    )
    slow = [Cmd.IS_POWER_ON]

    def next_slow(request: WireFrame) -> bool:
        if request.command in slow:
            slow.remove(request.command)
            return True
        return False

    link = linked(desk.open(arm))
    read = []
    while len(read) < 8:
        try:
            read.append((arm.heard.count(Cmd.GET_ANGLES) + 1, link.ask("get_angles")[0]))
        except NoAnswer:
            continue
    assert all(asked == got for asked, got in read), read


def test_an_answer_to_something_else_is_passed_over(desk, linked):
    arm = Counting()
    arm._handle = lambda request: [
        (0.0, WireFrame(Cmd.GET_COORDS, angles_to_wire([9.0] * 6)).encode()),
        (0.0, b"\x00\xfe\x13"),
        *arm.reading(request),
    ]
    link = linked(desk.open(arm))
    for n in range(1, 6):
        assert link.ask("get_angles") == [float(n)] * 6


@pytest.mark.parametrize("payload", [bytes(11), bytes(13), bytes(3)])
def test_an_answer_of_the_wrong_length_is_no_reading(desk, linked, payload):
    link = linked(desk.open(Counting(lambda request: [(0.0, WireFrame(request.command, payload).encode())])))
    try:
        answer = link.ask("get_angles")
    except OddAnswer:
        return
    assert not isinstance(answer, list) or len(answer) != 6


def test_a_question_is_asked_again_on_a_new_connection(desk, linked):
    arm = Counting()
    address = desk.open(arm)
    link = linked(address)
    link.ask("get_angles")
    desk.shut()
    desk.open(arm, int(address.partition(":")[2]))
    assert link.ask("get_angles") == [2.0] * 6
    assert link.connections == 2


def test_a_dead_connection_is_found_before_a_command_is_sent_on_it(desk, linked):
    arm = Counting()
    address = desk.open(arm)
    link = linked(address)
    link.ask("get_angles")
    desk.shut()
    desk.open(arm, int(address.partition(":")[2]))
    link.tell("send_angles", [0.0] * 6, 30)
    link.ask("get_angles")
    assert arm.heard.count(Cmd.SEND_ANGLES) == 1


def test_an_arm_that_has_gone_is_said_to_be_lost(desk, linked):
    link = linked(desk.open(Counting()))
    link.ask("get_angles")
    desk.shut()
    for call in (lambda: link.ask("get_angles"), lambda: link.tell("stop"), lambda: link.shout(b"x")):
        with pytest.raises(ArmLost):
            call()


def test_nobody_at_the_address_is_said_at_once(linked):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ArmUnreachable, match=f"127.0.0.1:{port}"):
        linked(f"127.0.0.1:{port}").open()
    with pytest.raises(ArmUnreachable, match="/dev/nothing-here"):
        connect("mycobot-serial", "/dev/nothing-here", baud=0, deadline_s=1.0)


def test_a_connection_that_does_not_come_about_has_a_deadline():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        crowd = []
        for _ in range(8):  # more than may wait: the next is left hanging
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(address)
            crowd.append(sock)
        with pytest.raises(ArmUnreachable, match=r"within 0\.3 s"):
            connect("mycobot-tcp", f"{address[0]}:{address[1]}", baud=0, deadline_s=0.3)
        for sock in crowd:
            sock.close()


@pytest.mark.parametrize("text", ["", ":9000", "desk:", "desk:port", "desk:99999"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ArmUnreachable, match="no HOST:PORT"):
        host_and_port(text)


def test_an_address_without_a_port_means_the_makers_own():
    assert host_and_port("192.168.1.20") == ("192.168.1.20", 9000)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("send_angles", ([0.0] * 5, 30)),
        ("send_angles", ([0.0] * 6, 0)),
        ("send_angles", ([float("nan")] * 6, 30)),
        ("send_angles", ([0.0, 0, 90, 0, 0, 0], 30)),
        ("set_gripper_value", (40, 20)),
    ],
)
def test_what_the_client_finds_wrong_is_not_sent(desk, linked, name, args):
    arm = Counting()
    link = linked(desk.open(arm))
    link.open()
    with pytest.raises(CommandRejected):
        link.tell(name, *args)
    assert arm.heard == []


def test_stop_gets_past_somebody_who_waits_for_an_answer(desk, linked):
    arm = Counting(lambda request: [])
    link = linked(desk.open(arm))
    link.open()

    def wait_in_vain() -> None:
        with pytest.raises(NoAnswer):
            link.ask("get_angles")

    waiting = Thread(target=wait_in_vain)
    waiting.start()
    while Cmd.GET_ANGLES not in arm.heard:
        pass
    link.shout(WireFrame(Cmd.STOP).encode())
    while Cmd.STOP not in arm.heard:
        pass
    assert waiting.is_alive()  # it still waits
    waiting.join(5)


def test_one_process_drives_an_arm():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lock = PortLock("mycobot-tcp", f"127.0.0.1:{port}")
    with pytest.raises(PortBusy, match="in use by process"):
        PortLock("mycobot-tcp", f"localhost:{port}")
    PortLock("mycobot-tcp", f"127.0.0.1:{port + 1}").release()
    lock.release()
    lock.release()
    PortLock("mycobot-tcp", f"127.0.0.1:{port}").release()


def test_angles_go_out_to_the_nearest_hundredth(desk, linked):
    sent = []

    def hear(request: WireFrame) -> list[tuple[float, bytes]]:
        if request.command == Cmd.SEND_ANGLES:
            sent.append(struct.unpack(">6h", request.payload[:12]))
        return [(0.0, WireFrame(request.command, b"\x01").encode())]

    link = linked(desk.open(hear))
    angles = [-0.29, 0.57, 1.15, -4.35, 8.289, -0.014]
    link.tell("send_angles", to_hundredths(angles), 30)
    link.ask("is_moving")
    assert sent == [(-29, 57, 115, -435, 829, -1)]
