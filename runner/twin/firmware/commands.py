"""The command table: a request's payload to a deed of the controller and the payload of its answer.

Two kinds of firmware: `new` acknowledges what it is told to do; `old` says nothing to that, knows fewer commands and
calls the arm always moving. A request that makes no sense gets no answer. Frames themselves are `wire.py`'s business.

Source: the maker's protocol page for the 280 Pi and the real client, pymycobot 4.0.7, driven over a loopback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from runner.arms.wire import Cmd, WireFrame, angles_from_wire, angles_to_wire, from_int16s, int16s
from runner.kinematics.model import FloatArray
from runner.twin.firmware.controller import NO_SOLUTION, Controller

Kind = Literal["new", "old"]
Question = Callable[[bytes], bytes | None]
Order = Callable[[bytes], None]
DONE = b"\x01"
_SYSTEM_VERSION = {"new": 72, "old": 41}  # tenths
_STEPS = 4096
_JAW_OPEN_STEPS, _JAW_CLOSED_STEPS = 2048, 1500
_GRIPPER_TYPES = (1, 3, 4)
_OPEN, _CLOSE, _RELEASE = 0, 1, 254

# Questions and orders that old firmware does not know. Of the others it answers the questions only: by the maker's
# protocol page orders have no return value.
_NEW_ONLY = frozenset(
    {
        Cmd.MODIFY_VERSION, Cmd.CLEAR_QUEUE, Cmd.READ_NEXT_ERROR, Cmd.SET_VISION_MODE, Cmd.SET_GRIPPER_TORQUE,
        Cmd.GET_GRIPPER_TORQUE, Cmd.GET_PROTECT_CURRENT, Cmd.INIT_GRIPPER, Cmd.SET_PROTECT_CURRENT, Cmd.SOLVE_INVERSE,
        Cmd.GET_ANGLES_COORDS, Cmd.GET_REBOOT_COUNT, Cmd.GET_SERVO_SPEEDS, Cmd.GET_SERVO_VOLTAGES,
        Cmd.GET_SERVO_STATUS, Cmd.GET_SERVO_TEMPS,
    }
)  # fmt: skip
# Settings that change nothing here: order, question and what it is at first.
_KEPT = (
    (Cmd.SET_TOOL_REFERENCE, Cmd.GET_TOOL_REFERENCE, bytes(12)),
    (Cmd.SET_WORLD_REFERENCE, Cmd.GET_WORLD_REFERENCE, bytes(12)),
    (Cmd.SET_REFERENCE_FRAME, Cmd.GET_REFERENCE_FRAME, b"\x00"),
    (Cmd.SET_MOVEMENT_TYPE, Cmd.GET_MOVEMENT_TYPE, b"\x00"),
    (Cmd.SET_END_TYPE, Cmd.GET_END_TYPE, b"\x00"),
    (Cmd.SET_GRIPPER_TORQUE, Cmd.GET_GRIPPER_TORQUE, int16s([300])),
    (Cmd.SET_PROTECT_CURRENT, Cmd.GET_PROTECT_CURRENT, int16s([200])),
    (Cmd.SET_VISION_MODE, None, b"\x00"),
)


class Commands:
    """Answers requests. Whoever calls it holds the world's lock."""

    def __init__(self, controller: Controller, kind: Kind) -> None:
        self.controller, self.kind = controller, kind
        self._questions: dict[int, Question] = {**self._of_state(), **self._of_joints(), **self._of_settings()}
        self._orders: dict[int, Order] = {**self._to_move(), **self._to_set(), **self._to_keep()}

    def handle(self, request: WireFrame) -> WireFrame | None:
        """Carry out a request; its answer, or None where this firmware stays silent."""
        if self.kind == "old" and request.command in _NEW_ONLY:
            return None
        question, order = self._questions.get(request.command), self._orders.get(request.command)
        try:
            if question is not None:
                answer = question(request.payload)
                return None if answer is None else WireFrame(request.command, answer)
            if order is None:
                return None
            order(request.payload)
        except (ValueError, IndexError):
            return None  # too short, too long, or no such joint: the firmware does not even shrug
        return None if self.kind == "old" else WireFrame(request.command, DONE)

    def _of_state(self) -> dict[int, Question]:
        c = self.controller
        return {
            Cmd.MODIFY_VERSION: lambda _: b"\x01",
            Cmd.SYSTEM_VERSION: lambda _: bytes([_SYSTEM_VERSION[self.kind]]),
            Cmd.GET_ERROR: lambda _: bytes([c.error]),
            Cmd.IS_POWER_ON: lambda _: _flag(c.powered),
            Cmd.IS_CONTROLLER_CONNECTED: lambda _: DONE,
            Cmd.READ_NEXT_ERROR: lambda _: bytes(7),
            Cmd.GET_REBOOT_COUNT: lambda _: int16s([c.reboots]),
            Cmd.GET_FRESH_MODE: lambda _: bytes([c.fresh_mode]),
            Cmd.GET_ANGLES: lambda _: angles_to_wire(c.angles_deg().tolist()),
            Cmd.GET_COORDS: self._coords,
            Cmd.GET_ANGLES_COORDS: lambda _: angles_to_wire(c.angles_deg().tolist()) + self._coords(b""),
            Cmd.SOLVE_INVERSE: self._solve_inverse,
            Cmd.IS_PAUSED: lambda _: _flag(c.paused),
            Cmd.IS_IN_POSITION: self._is_in_position,
            Cmd.IS_MOVING: lambda _: _flag(self.kind == "old" or c.moving),
            Cmd.GET_GRIPPER_VALUE: lambda _: bytes([c.gripper_value()]),
            Cmd.IS_GRIPPER_MOVING: lambda _: _flag(c.arm.jaws_moving),
        }

    def _of_joints(self) -> dict[int, Question]:
        c = self.controller
        return {
            Cmd.IS_SERVO_ENABLE: lambda p: bytes([p[0], c.servos[self._joint(p[0]) - 1]]),
            Cmd.IS_ALL_SERVO_ENABLE: lambda _: _flag(all(c.servos)),
            Cmd.GET_ENCODER: lambda p: int16s([self._encoder(p[0])]),
            Cmd.GET_ENCODERS: lambda _: int16s([_steps(a) for a in c.angles_deg().tolist()]),
            Cmd.GET_JOINT_MIN: lambda p: p[:1] + int16s([round(c.min_deg[self._joint(p[0]) - 1] * 10)]),
            Cmd.GET_JOINT_MAX: lambda p: p[:1] + int16s([round(c.max_deg[self._joint(p[0]) - 1] * 10)]),
            Cmd.GET_SERVO_SPEEDS: lambda _: int16s([round(r * _STEPS / 360) for r in c.arm.rate_deg_s.tolist()]),
            Cmd.GET_SERVO_VOLTAGES: lambda _: bytes(round(v * 10) for v in c.voltages_v),
            Cmd.GET_SERVO_STATUS: lambda _: bytes(len(c.servos)),
            Cmd.GET_SERVO_TEMPS: lambda _: bytes(map(max, c.temperatures_c, map(int, c.arm.temperatures_c))),
        }

    def _of_settings(self) -> dict[int, Question]:
        table: dict[int, Question] = {
            Cmd.GET_SERVO_DATA: lambda p: self._kept(0x10000 | p[0] << 8 | p[1], b"\x00"),
        }
        for set_to, get, first in _KEPT:
            if get is not None:
                table[get] = self._giver(set_to, first)
        return table

    def _to_move(self) -> dict[int, Order]:
        c = self.controller
        return {
            Cmd.SEND_ANGLE: lambda p: c.send_one(self._joint(p[0]), angles_from_wire(p[1:3])[0], p[3]),
            Cmd.SEND_ANGLES: lambda p: c.send(angles_from_wire(_exactly(p, 13)[:12]), p[12]),
            Cmd.SEND_COORD: self._send_coord,
            Cmd.SEND_COORDS: lambda p: c.send_coords(_coords_from_wire(p[:12]), p[12]),
            Cmd.JOG_ANGLE: lambda p: c.jog(self._joint(p[0]), p[1], p[2]),
            Cmd.JOG_INCREMENT: self._increment,
            Cmd.SET_ENCODER: self._set_encoder,
            Cmd.CLEAR_QUEUE: lambda _: c.clear_queue(),
            Cmd.PAUSE: lambda _: c.pause(),
            Cmd.RESUME: lambda _: c.resume(),
            Cmd.STOP: lambda _: c.stop(),
            Cmd.SET_GRIPPER_STATE: self._set_gripper_state,
            Cmd.SET_GRIPPER_VALUE: self._set_gripper_value,
            Cmd.SET_GRIPPER_CALIBRATION: lambda _: None,
            Cmd.INIT_GRIPPER: lambda _: None,
        }

    def _to_set(self) -> dict[int, Order]:
        c = self.controller
        return {
            Cmd.CLEAR_ERROR: lambda _: c.clear_error(),
            Cmd.POWER_ON: lambda _: c.set_power(True),
            Cmd.POWER_OFF: lambda _: c.set_power(False),
            Cmd.RELEASE_ALL_SERVOS: lambda _: c.set_servo(0, False),
            Cmd.RELEASE_SERVO: lambda p: c.set_servo(self._joint_or_all(p[0]), False),
            Cmd.FOCUS_SERVO: lambda p: c.set_servo(self._joint_or_all(p[0]), True),
            Cmd.SET_FRESH_MODE: self._set_fresh_mode,
            Cmd.SET_JOINT_MIN: lambda p: self._set_limit(c.min_deg, p),
            Cmd.SET_JOINT_MAX: lambda p: self._set_limit(c.max_deg, p),
        }

    def _to_keep(self) -> dict[int, Order]:
        table: dict[int, Order] = {
            Cmd.SET_COLOR: lambda p: self._keep(Cmd.SET_COLOR, _exactly(p, 3)),
            Cmd.SET_SERVO_DATA: lambda p: self._keep(0x10000 | _exactly(p, 3)[0] << 8 | p[1], p[2:]),
        }
        for set_to, _, first in _KEPT:
            table[set_to] = self._keeper(set_to, len(first))
        return table

    def _keeper(self, key: int, size: int) -> Order:
        return lambda payload: self._keep(key, _exactly(payload, size))

    def _giver(self, key: int, first: bytes) -> Question:
        return lambda _: self._kept(key, first)

    def _keep(self, key: int, payload: bytes) -> None:
        self.controller.registers[key] = payload

    def _kept(self, key: int, first: bytes) -> bytes:
        return self.controller.registers.get(key, first)

    def _joint(self, number: int) -> int:
        if not 1 <= number <= self.controller.model.n_joints:
            raise ValueError(f"there is no joint {number}")
        return number

    def _joint_or_all(self, number: int) -> int:
        return number if number == 0 else self._joint(number)

    def _set_fresh_mode(self, payload: bytes) -> None:
        if _exactly(payload, 1)[0] not in (0, 1):
            raise ValueError("a fresh mode is 0 or 1")
        self.controller.fresh_mode = payload[0]

    def _coords(self, payload: bytes) -> bytes:
        angles = angles_from_wire(_exactly(payload, 12)) if payload else self.controller.angles_deg().tolist()
        return _coords_to_wire(self.controller.coordinates.of(angles))

    def _send_coord(self, payload: bytes) -> None:
        axis = self._joint(payload[0]) - 1
        coords = list(self.controller.coordinates.of(self.controller.angles_deg()))
        coords[axis] = from_int16s(payload[1:3])[0] / (10.0 if axis < 3 else 100.0)
        self.controller.send_coords(coords, payload[3])

    def _solve_inverse(self, payload: bytes) -> bytes | None:
        from_deg = angles_from_wire(_exactly(payload, 24)[12:])
        start = self.controller.angles_deg()
        start[:] = from_deg
        found = self.controller.coordinates.solve(_coords_from_wire(payload[:12]), start)
        if found is None:
            self.controller.error = NO_SOLUTION
            return None
        return angles_to_wire(found.tolist())

    def _is_in_position(self, payload: bytes) -> bytes:
        coords = bool(_exactly(payload, 13)[12])
        values = _coords_from_wire(payload[:12]) if coords else angles_from_wire(payload[:12])
        return _flag(self.controller.in_position(values, coords=coords))

    def _increment(self, payload: bytes) -> None:
        joint = self._joint(_exactly(payload, 4)[0])
        goal = self.controller.angles_deg()[joint - 1] + angles_from_wire(payload[1:3])[0]
        self.controller.send_one(joint, float(goal), payload[3])

    def _set_limit(self, limits: FloatArray, payload: bytes) -> None:
        limits[self._joint(_exactly(payload, 3)[0]) - 1] = from_int16s(payload[1:])[0] / 10.0

    def _encoder(self, joint: int) -> int:
        c = self.controller
        if joint == c.model.n_joints + 1:
            share = c.gripper_value() / 100.0
            return round(_JAW_CLOSED_STEPS + share * (_JAW_OPEN_STEPS - _JAW_CLOSED_STEPS))
        return _steps(float(c.angles_deg()[self._joint(joint) - 1]))

    def _set_encoder(self, payload: bytes) -> None:
        joint, (steps,), speed = _exactly(payload, 4)[0], from_int16s(payload[1:3]), payload[3]
        if joint == self.controller.model.n_joints + 1:
            share = (steps - _JAW_CLOSED_STEPS) / (_JAW_OPEN_STEPS - _JAW_CLOSED_STEPS)
            self.controller.set_gripper(round(min(max(share, 0.0), 1.0) * 100))
        else:
            self.controller.send_one(self._joint(joint), (steps - _STEPS / 2) * 360.0 / _STEPS, speed)

    def _set_gripper_value(self, payload: bytes) -> None:
        self._check_type(payload[2:3])
        if payload[0] > 100:
            raise ValueError("a gripper value is 0 to 100")
        self.controller.set_gripper(payload[0])

    def _set_gripper_state(self, payload: bytes) -> None:
        self._check_type(payload[2:3])
        values = {_OPEN: 100, _CLOSE: 0}
        if payload[0] in values:
            self.controller.set_gripper(values[payload[0]])
        elif payload[0] != _RELEASE:
            raise ValueError("a gripper state is 0, 1 or 254")

    @staticmethod
    def _check_type(kind: bytes) -> None:
        if kind and kind[0] not in _GRIPPER_TYPES:
            raise ValueError(f"there is no gripper type {kind[0]}")


def _exactly(payload: bytes, size: int) -> bytes:
    if len(payload) != size:
        raise ValueError(f"{len(payload)} bytes where {size} belong")
    return payload


def _flag(yes: bool) -> bytes:
    return bytes([bool(yes)])


def _steps(angle_deg: float) -> int:
    return round(_STEPS / 2 + angle_deg * _STEPS / 360.0)


def _coords_to_wire(coords: tuple[float, ...]) -> bytes:
    return int16s([round(v * 10) for v in coords[:3]] + [round(v * 100) for v in coords[3:]])


def _coords_from_wire(payload: bytes) -> tuple[float, ...]:
    values = from_int16s(_exactly(payload, 12))
    return (*(v / 10.0 for v in values[:3]), *(v / 100.0 for v in values[3:]))
