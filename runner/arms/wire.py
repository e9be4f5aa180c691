"""The arm's wire protocol: frames to bytes and a stream of bytes back to frames.

`FE FE  LEN  CMD  payload  FA`; LEN counts CMD, payload and FA; numbers are big-endian 16 bit. The parser goes by
length and end byte, so that header and end bytes inside a payload do no harm. It never guesses: bytes that make no
frame are dropped and counted. It knows no arm and opens no port.

Source: the maker's protocol page for the 280 Pi and pymycobot 4.0.7, which the 270 shares.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

HEADER = b"\xfe\xfe"
FOOTER = 0xFA
MIN_LEN, MAX_LEN = 2, 30  # what LEN may say; the maker's client takes no more than 30
_AROUND = 3  # header and LEN itself
_INT16 = (-32768, 32767)


class Cmd(IntEnum):
    """Command numbers that an arm runner needs, as the maker's client names the calls."""

    MODIFY_VERSION = 0x01
    SYSTEM_VERSION = 0x02
    CLEAR_QUEUE = 0x05
    GET_ERROR = 0x07
    CLEAR_ERROR = 0x08
    POWER_ON = 0x10
    POWER_OFF = 0x11
    IS_POWER_ON = 0x12
    RELEASE_ALL_SERVOS = 0x13
    IS_CONTROLLER_CONNECTED = 0x14
    READ_NEXT_ERROR = 0x15
    SET_FRESH_MODE = 0x16
    GET_FRESH_MODE = 0x17
    SET_VISION_MODE = 0x1D
    GET_ANGLES = 0x20
    SEND_ANGLE = 0x21
    SEND_ANGLES = 0x22
    GET_COORDS = 0x23
    SEND_COORD = 0x24
    SEND_COORDS = 0x25
    PAUSE = 0x26
    IS_PAUSED = 0x27
    RESUME = 0x28
    STOP = 0x29
    IS_IN_POSITION = 0x2A
    IS_MOVING = 0x2B
    JOG_ANGLE = 0x30
    JOG_COORD = 0x32
    JOG_INCREMENT = 0x33
    SET_GRIPPER_TORQUE = 0x35
    GET_GRIPPER_TORQUE = 0x36
    GET_PROTECT_CURRENT = 0x37
    INIT_GRIPPER = 0x38
    SET_PROTECT_CURRENT = 0x39
    SET_ENCODER = 0x3A
    GET_ENCODER = 0x3B
    GET_ENCODERS = 0x3D
    GET_JOINT_MIN = 0x4A
    GET_JOINT_MAX = 0x4B
    SET_JOINT_MIN = 0x4C
    SET_JOINT_MAX = 0x4D
    IS_SERVO_ENABLE = 0x50
    IS_ALL_SERVO_ENABLE = 0x51
    SET_SERVO_DATA = 0x52
    GET_SERVO_DATA = 0x53
    RELEASE_SERVO = 0x56
    FOCUS_SERVO = 0x57
    GET_GRIPPER_VALUE = 0x65
    SET_GRIPPER_STATE = 0x66
    SET_GRIPPER_VALUE = 0x67
    SET_GRIPPER_CALIBRATION = 0x68
    IS_GRIPPER_MOVING = 0x69
    SET_COLOR = 0x6A
    SET_TOOL_REFERENCE = 0x81
    GET_TOOL_REFERENCE = 0x82
    SET_WORLD_REFERENCE = 0x83
    GET_WORLD_REFERENCE = 0x84
    SET_REFERENCE_FRAME = 0x85
    GET_REFERENCE_FRAME = 0x86
    SET_MOVEMENT_TYPE = 0x87
    GET_MOVEMENT_TYPE = 0x88
    SET_END_TYPE = 0x89
    GET_END_TYPE = 0x8A
    SOLVE_INVERSE = 0x8D
    GET_ANGLES_COORDS = 0xD5
    GET_REBOOT_COUNT = 0xD8
    GET_SERVO_SPEEDS = 0xE1
    GET_SERVO_VOLTAGES = 0xE3
    GET_SERVO_STATUS = 0xE4
    GET_SERVO_TEMPS = 0xE5


@dataclass(frozen=True, slots=True)
class WireFrame:
    """One frame: a request, or an answer, which carries its request's command."""

    command: int
    payload: bytes = b""

    def encode(self) -> bytes:
        """The frame as bytes.

        Raises:
            ValueError: the command is no byte, or the payload too long for a frame.
        """
        if not 0 <= self.command <= 0xFF:
            raise ValueError(f"command {self.command} is no byte")
        length = len(self.payload) + 2
        if length > MAX_LEN:
            raise ValueError(f"a payload of {len(self.payload)} bytes does not go into a frame of {MAX_LEN - 2}")
        return HEADER + bytes((length, self.command)) + self.payload + bytes((FOOTER,))


class Parser:
    """Bytes in, in whatever pieces they come; whole frames out, in their order.

    `dropped` counts bytes that belonged to no frame. What is kept between two calls is never more than one frame long.
    """

    def __init__(self) -> None:
        self._kept = b""
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """Bytes of a frame that has begun and is not whole yet."""
        return len(self._kept)

    def feed(self, data: bytes) -> list[WireFrame]:
        """The frames that are whole with these bytes."""
        return self._parse(self._kept + data)

    def expire(self) -> list[WireFrame]:
        """Give up the frame that has begun, because its end has not come in time; frames may lie behind it."""
        if not self._kept:
            return []
        self.dropped += 1
        return self._parse(self._kept[1:])

    def clear(self) -> None:
        """Forget what has begun."""
        self.dropped += len(self._kept)
        self._kept = b""

    def _parse(self, data: bytes) -> list[WireFrame]:
        frames: list[WireFrame] = []
        at, n = 0, len(data)
        while True:
            start = data.find(HEADER, at)
            if start < 0:
                start = n - 1 if data[at:].endswith(HEADER[:1]) else n
            self.dropped += start - at
            at = start
            if n - at < _AROUND:
                break
            length = data[at + 2]
            if not MIN_LEN <= length <= MAX_LEN:
                at, self.dropped = at + 1, self.dropped + 1
                continue
            end = at + _AROUND + length
            if end > n:
                break
            if data[end - 1] != FOOTER:
                at, self.dropped = at + 1, self.dropped + 1
                continue
            frames.append(WireFrame(data[at + 3], data[at + 4 : end - 1]))
            at = end
        self._kept = data[at:]
        return frames


def int16s(values: Sequence[int]) -> bytes:
    """Whole numbers as big-endian 16 bit.

    Raises:
        ValueError: one does not fit.
    """
    if any(not _INT16[0] <= value <= _INT16[1] for value in values):
        raise ValueError(f"{list(values)} do not all fit into 16 bit")
    return struct.pack(f">{len(values)}h", *values)


def from_int16s(payload: bytes) -> tuple[int, ...]:
    """Big-endian 16 bit numbers.

    Raises:
        ValueError: an odd number of bytes.
    """
    if len(payload) % 2:
        raise ValueError(f"{len(payload)} bytes are no whole number of 16 bit numbers")
    return struct.unpack(f">{len(payload) // 2}h", payload)


def angles_to_wire(angles_deg: Sequence[float]) -> bytes:
    """Angles in hundredths of a degree."""
    return int16s([round(float(a) * 100.0) for a in angles_deg])


def angles_from_wire(payload: bytes) -> tuple[float, ...]:
    """Degrees from hundredths."""
    return tuple(value / 100.0 for value in from_int16s(payload))
