"""The protocol's frames: written, read back in any pieces, and found again in rubbish."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.arms.wire import MAX_LEN, Cmd, Parser, WireFrame, angles_from_wire, angles_to_wire, from_int16s, int16s

FRAMES = st.builds(WireFrame, st.integers(0, 255), st.binary(max_size=MAX_LEN - 2))


def test_frames_seen_on_a_real_wire_are_written_to_the_byte():
    sent = angles_to_wire([10.5, -20.25, 30.33, -40, 50, -60]) + bytes([30])
    told = "FE FE 0F 22 04 1A F8 17 0B D9 F0 60 13 88 E8 90 1E FA"
    assert WireFrame(Cmd.SEND_ANGLES, sent).encode() == bytes.fromhex(told)
    assert WireFrame(Cmd.SET_GRIPPER_VALUE, bytes([40, 20, 1])).encode() == bytes.fromhex("FE FE 05 67 28 14 01 FA")
    assert WireFrame(Cmd.STOP).encode() == bytes.fromhex("FE FE 02 29 FA")
    assert WireFrame(Cmd.STOP, b"\x01").encode() == bytes.fromhex("FE FE 03 29 01 FA")


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="16 bit"):
        int16s([40_000])
    with pytest.raises(ValueError, match="whole number"):
        from_int16s(b"\x01\x02\x03")
    with pytest.raises(ValueError, match="no byte"):
        WireFrame(300).encode()
    with pytest.raises(ValueError, match="does not go into"):
        WireFrame(1, bytes(MAX_LEN)).encode()


@given(st.lists(st.integers(-32768, 32767), min_size=6, max_size=6))
def test_angles_come_back_as_they_were_sent(hundredths):
    angles = [h / 100 for h in hundredths]
    assert list(angles_from_wire(angles_to_wire(angles))) == angles


@given(st.lists(FRAMES, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_glued_frames_come_apart_however_they_are_cut(frames, cuts):
    data, parser, got, at = b"".join(f.encode() for f in frames), Parser(), [], 0
    while at < len(data):
        step = cuts[at % len(cuts)]
        got += parser.feed(data[at : at + step])
        at += step
    assert got == frames
    assert parser.dropped == 0
    assert parser.waiting == 0


@given(FRAMES, st.binary(max_size=8).map(lambda b: b.replace(b"\xfe", b"\x00")))
def test_rubbish_before_a_frame_is_dropped_and_an_extra_header_byte_too(frame, rubbish):
    for extra in (b"", b"\xfe"):
        parser = Parser()
        assert parser.feed(rubbish + extra + frame.encode()) == [frame]
        assert parser.dropped == len(rubbish) + len(extra)


def test_a_frame_cut_short_hides_the_next_one_only_until_it_is_given_up():
    whole = WireFrame(Cmd.STOP, b"\x01")
    cut = WireFrame(Cmd.GET_ANGLES, bytes(12)).encode()[:9]
    parser = Parser()
    assert parser.feed(cut + whole.encode()[:3]) == []
    assert parser.feed(whole.encode()[3:]) == []  # might still be the first frame's own
    assert parser.expire() == [whole]
    assert parser.expire() == []
    assert Parser().expire() == []


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A stream with bytes changed, lost and added, as on a bad line."""
    out = bytearray(data)
    for _ in range(int(rng.integers(0, 6))):
        at = int(rng.integers(0, len(out) + 1))
        kind = rng.integers(0, 4)
        if kind == 0:
            out[at:at] = rng.bytes(int(rng.integers(1, 4)))
        elif kind == 1:
            out[at:at] = b"\xfe\xfe\xfa"[: int(rng.integers(1, 4))]
        elif kind == 2 and at < len(out):
            out[at] ^= 1 << int(rng.integers(0, 8))
        else:
            del out[at : at + int(rng.integers(1, 6))]
    return bytes(out)


def a_stream(rng: np.random.Generator) -> bytes:
    if rng.random() < 0.3:
        return rng.bytes(int(rng.integers(0, 60)))
    commands = list(Cmd)
    frames = [
        WireFrame(int(commands[rng.integers(len(commands))]), rng.bytes(int(rng.integers(0, MAX_LEN - 1))))
        for _ in range(int(rng.integers(1, 4)))
    ]
    return mutated(b"".join(f.encode() for f in frames), rng)


def check_stream(data: bytes) -> int:
    """What holds for every stream; returns how many frames were in it."""
    at_once = Parser()
    frames = at_once.feed(data)
    by_byte, one_by_one = Parser(), []
    for byte in data:
        one_by_one += by_byte.feed(bytes((byte,)))
        assert by_byte.waiting <= MAX_LEN + 3
    assert one_by_one == frames
    assert (by_byte.dropped, by_byte.waiting) == (at_once.dropped, at_once.waiting)
    at = 0
    for frame in frames:  # each lies in the stream as it is, in order, and none twice
        at = data.index(frame.encode(), at) + len(frame.encode())
    assert sum(len(f.encode()) for f in frames) + at_once.dropped + at_once.waiting == len(data)
    at_once.clear()
    last = WireFrame(Cmd.GET_ANGLES)
    assert at_once.feed(last.encode()) == [last]  # whatever came, the next request is heard
    return len(frames)


def fuzz(streams: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    return sum(check_stream(a_stream(rng)) for _ in range(streams))


def test_no_stream_of_bytes_upsets_the_parser():
    assert fuzz(3_000, seed=1) > 1_000


@pytest.mark.slow
def test_a_hundred_thousand_streams_do_not_upset_the_parser():
    assert fuzz(100_000, seed=2) > 50_000
