"""The firmware's doors: requests in any pieces, several clients, clients that go away or talk rubbish."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from runner.arms.wire import Cmd, Parser, WireFrame
from runner.twin.errors import AddressTaken
from runner.twin.firmware.ports import WirePorts

ASK = WireFrame(Cmd.GET_ANGLES)


def echo(request: WireFrame) -> list[tuple[float, bytes]]:
    """Answers with the request's own payload; command 1 is answered late, command 2 not at all."""
    if request.command == 2:
        return []
    return [(0.3 if request.command == 1 else 0.0, request.encode())]


@pytest.fixture
def ports() -> Iterator[WirePorts]:
    ports = WirePorts()
    yield ports
    ports.close()


@pytest.fixture
def address(ports) -> tuple[str, int]:
    where = ports.listen("127.0.0.1", 0)
    ports.start(echo)
    return where


def read_frames(read, count: int, patience_s: float = 10.0) -> list[WireFrame]:
    parser, got, end = Parser(), [], time.monotonic() + patience_s
    while len(got) < count and time.monotonic() < end:
        got += parser.feed(read(4096))
    return got


def client(address) -> socket.socket:
    sock = socket.create_connection(address, timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def test_requests_that_come_glued_or_byte_by_byte_are_each_answered(address):
    frames = [WireFrame(0x20, bytes([n])) for n in range(5)]
    data = b"".join(f.encode() for f in frames)
    with client(address) as sock:
        sock.sendall(data)
        assert read_frames(sock.recv, 5) == frames
        for byte in data:
            sock.sendall(bytes([byte]))
        assert read_frames(sock.recv, 5) == frames


def test_an_answer_comes_whole_in_one_read(address):
    frame = WireFrame(0x20, bytes(12))
    with client(address) as sock:
        for _ in range(50):
            sock.sendall(frame.encode())
            assert sock.recv(1024) == frame.encode()


def test_two_clients_get_their_own_answers(address):
    wrong = []

    def talk(number: int) -> None:
        with client(address) as sock:
            for n in range(200):
                frame = WireFrame(0x20, bytes([number, n]))
                sock.sendall(frame.encode())
                if read_frames(sock.recv, 1) != [frame]:
                    wrong.append((number, n))

    threads = [threading.Thread(target=talk, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_a_client_that_vanishes_hurts_nobody(ports, address):
    stays, goes = client(address), client(address)
    goes.sendall(WireFrame(0x01).encode() + ASK.encode()[:3])  # an answer is owed, a request half sent
    goes.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    goes.close()
    with stays:
        stays.sendall(ASK.encode())
        assert read_frames(stays.recv, 1) == [ASK]
        time.sleep(0.4)  # the owed answer has nobody to go to
        stays.sendall(ASK.encode())
        assert read_frames(stays.recv, 1) == [ASK]
        assert ports.clients == 1


def test_a_client_that_reads_nothing_does_not_hold_up_the_others(address):
    with client(address) as deaf, client(address) as other:
        big = WireFrame(0x20, bytes(28)).encode() * 200
        deaf.setblocking(False)
        for _ in range(400):
            try:
                deaf.send(big)
            except BlockingIOError:
                break
        other.sendall(ASK.encode())
        assert read_frames(other.recv, 1) == [ASK]


def test_a_request_cut_short_is_given_up_and_the_next_is_heard(address):
    with client(address) as sock:
        sock.sendall(WireFrame(Cmd.SEND_ANGLES, bytes(13)).encode()[:9] + ASK.encode())
        assert read_frames(sock.recv, 1) == [ASK]


def test_rubbish_is_not_answered(address):
    rng = np.random.default_rng(5)
    with client(address) as sock:
        sock.sendall(rng.bytes(3000).replace(b"\xfe\xfe", b"\xfe\x00") + WireFrame(2).encode() + ASK.encode())
        assert read_frames(sock.recv, 1) == [ASK]


def test_a_late_answer_comes_late_and_holds_up_nothing(address):
    with client(address) as sock:
        sock.sendall(WireFrame(1).encode() + ASK.encode())
        assert read_frames(sock.recv, 2) == [ASK, WireFrame(1)]


def test_a_pseudo_terminal_is_served_like_a_serial_port(ports):
    path = ports.open_pty()
    ports.start(echo)
    for _ in range(2):  # a client that closes it leaves it ready for the next
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        frame = WireFrame(0x20, bytes(range(28)))
        os.write(fd, frame.encode())
        assert read_frames(lambda n, fd=fd: os.read(fd, n), 1) == [frame]
        os.close(fd)


def test_a_port_that_is_taken_is_said_so(ports, address):
    with pytest.raises(AddressTaken, match="can't listen"):
        WirePorts().listen(*address)


def test_closing_ends_it_and_may_be_done_twice(ports, address):
    sock = client(address)
    ports.close()
    ports.close()
    with sock:
        assert sock.recv(10) == b""
