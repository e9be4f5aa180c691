"""A mechArm of metal (or the served twin, which can't be told from one) as an `Arm`, over serial or TCP.

Believes angles, not answers to commands. Goals are handed to the firmware one by one, the next when the arm is nearly
at the one before, so that an arm whose program dies stops at the next waypoint. Nothing is sent twice blindly: a goal
after which the arm is read not to have moved at all is told once more, and a gripper that is read to have ignored one
kind of command is told by the other kind, once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from runner.arms.errors import ArmError, ArmLost, ArmRestarted, NoAnswer, OddAnswer, ReadingRejected
from runner.arms.link import Link
from runner.arms.port_lock import PortLock
from runner.arms.protocol import ArmHealth, Clock
from runner.arms.readings import Readings, checked_reading
from runner.arms.wire import Cmd, WireFrame
from runner.kinematics.model import ArmModel, FloatArray

PASS_DEG = 4.0  # a waypoint this near counts as passed: arms sag by up to 2.6° and readings come late
THIN_DEG = 0.15  # waypoints nearer than this to the straight line between their neighbours are left out
_QUEUED = 0  # fresh mode: one planned motion after another
_STILL_DEG, _STILL_S = 0.15, 0.1
_TEND_S = 0.05
_UNHEARD_S, _UNMOVED_DEG = 2.0, 0.3  # an arm that has not moved for so long has not heard its goal
_ASKED, _ASK_PAUSE_S = 3, 0.2  # a question that got no answer is asked again; commands never are
_JAWS_S = 1.0  # jaws that have not moved by then were not listening
_JAWS_SETTLE_S = 2.0
_JAW_MOVED, _JAW_THERE = 3.0, 4.0
_SULK_S, _SULK_PAUSE_S = 45.0, 1.0  # a gripper that closes hard silences the controller for about 40 s
_LINE_S, _LINE_PAUSE_S = 10.0, 0.5  # a connection that broke may come back: networks do, cables are plugged in again
_Answer = TypeVar("_Answer")
_STOP = WireFrame(Cmd.CLEAR_QUEUE).encode() + WireFrame(Cmd.STOP).encode()


@dataclass(frozen=True, slots=True)
class _JawOrder:
    """What the jaws were told, how, and where they were read to be just before."""

    value: float
    by_state: bool
    before: float | None = None


class MyCobotArm:
    """One arm on one link. `connect` first; `lock` is released by `close`."""

    def __init__(
        self,
        model: ArmModel,
        link: Link,
        time: Clock,
        *,
        lock: PortLock | None = None,
        reading_margin_deg: float = 5.0,
        gripper_type: int = 1,
        gripper_speed_percent: int = 50,
    ) -> None:
        self._model, self._link, self._time, self._lock = model, link, time, lock
        self._margin_deg = reading_margin_deg
        self._gripper_type, self._gripper_speed = gripper_type, gripper_speed_percent
        self._goals_lock = threading.Lock()
        self._to_come: deque[FloatArray] = deque()
        self._goal: FloatArray | None = None  # handed over last
        self._goal_before = model.home_deg  # where the arm was to be before that
        self._sent: tuple[float, FloatArray] | None = None  # since when the arm is there; None once it is told again
        self._speed_percent = 1
        self._last: tuple[float, FloatArray] | None = None
        self._under_way = False
        self._jaws: _JawOrder | None = None
        self._jaws_told_s = float("-inf")
        self._reboots: int | None = None
        self._mute: set[str] = set()

    @property
    def model(self) -> ArmModel:
        """The arm's figures, with the tool that is mounted."""
        return self._model

    def connect(self) -> None:
        """Connect and put the firmware into the mode that the driver works with.

        Raises:
            ArmUnreachable: nobody is there, or not in time. NoAnswer: somebody is, and stays silent.
        """
        self._link.open()
        self._patiently("is_power_on")
        self._link.tell("set_fresh_mode", _QUEUED)
        mode = self._optional("get_fresh_mode")
        if mode not in (None, _QUEUED):
            raise OddAnswer("get_fresh_mode", mode)
        self.tend()
        self._time.sleep(2 * _STILL_S)
        self.tend()  # two looks: whether it moves, left so by a program that died

    def read_angles_deg(self) -> FloatArray:
        """The joints as the encoders have them, shape (n_joints,). Also hands over the next goal when it is due.

        Raises:
            ReadingRejected: no answer, or one that can't be a reading. ArmLost: the connection is gone.
        """
        reading = checked_reading(self._angles(), self._model, margin_deg=self._margin_deg)
        now_s = self._time.now_s()
        if self._last is not None and now_s - self._last[0] >= _STILL_S:
            self._under_way = bool(np.abs(reading - self._last[1]).max() > _STILL_DEG)
        if self._last is None or now_s - self._last[0] >= _STILL_S:
            self._last = (now_s, reading)
        self._hand_over(reading)
        return reading

    def send_path(self, waypoints_deg: FloatArray, *, speed_percent: int) -> None:
        """Start moving through the waypoints, shape (k, n_joints), and return at once. The last is the goal.

        Raises:
            NoReading: where the arm is can't be read, so nothing was sent.
            ArmLost: the connection broke; whether the arm moves is not known. CommandRejected: nothing was sent.
        """
        path = np.atleast_2d(np.asarray(waypoints_deg, dtype=float))
        here = Readings(self, self._time, margin_deg=self._margin_deg).read_deg()
        if self._under_way or self._to_come:
            self.stop()
        goals = thinned(np.vstack((here, path)), THIN_DEG)[1:]
        with self._goals_lock:
            self._to_come = deque(goals[1:])
            self._speed_percent = int(speed_percent)
            self._last, self._under_way = None, True
            self._send(goals[0], here, before=here)

    def stop(self) -> None:
        """Hold still now: forget every goal, here and in the firmware. Safe at any time and from any thread."""
        with self._goals_lock:
            self._to_come.clear()
            self._goal = self._sent = None
            self._link.shout(_STOP)

    def tend(self) -> None:
        """Look where the arm is and hand over the next goal if it is due. A reading that fails is left to the next."""
        try:
            self.read_angles_deg()
        except ArmError:
            return

    @property
    def wants_tending(self) -> bool:
        """Whether goals are left to be handed over."""
        return bool(self._to_come)

    def send_gripper_value(self, value: int) -> None:
        """Start moving the jaws to 0 (closed) … 100 (open), by value; returns at once."""
        self._order_jaws(_JawOrder(float(value), by_state=False))

    def send_gripper_open(self) -> None:
        """Open the jaws fully, by state; returns at once."""
        self._order_jaws(_JawOrder(100.0, by_state=True))

    def read_gripper_value(self) -> float | None:
        """Where the jaws are, 0…100, or None where the gripper gives no answer.

        Jaws that have not moved since they were told to are told by the other kind of command, and waited for.
        """
        value = self._jaw_value()
        order, self._jaws = self._jaws, None
        if value is None or order is None or order.before is None:
            return value
        ignored = abs(value - order.before) < _JAW_MOVED and abs(value - order.value) > _JAW_THERE
        if not ignored:
            return value
        if self._time.now_s() - self._jaws_told_s < _JAWS_S:
            self._jaws = order  # asked too early to say
            return value
        self._tell_jaws(_JawOrder(order.value, by_state=not order.by_state))
        self._time.sleep(_JAWS_SETTLE_S)
        return self._jaw_value()

    def health(self) -> ArmHealth:
        """Power, latched error, servos, temperatures, voltages, restarts; None for what this firmware does not say.

        Raises:
            NoAnswer, OddAnswer: to the question for power or error. ArmRestarted: since it was connected.
        """
        powered = self._when_awake(lambda: self._number("is_power_on"))
        error = self._number("get_error_information")
        servos = self._optional("is_all_servo_enable")
        reboots = self._optional("get_reboot_count")
        version = self._optional("get_system_version")
        if isinstance(reboots, int) and reboots >= 0:
            before, self._reboots = self._reboots, reboots
            if before is not None and before != reboots:
                raise ArmRestarted(before, reboots)
        return ArmHealth(
            powered=powered == 1,
            error_code=error,
            servos_enabled=None if servos not in (0, 1) else servos == 1,
            temperatures_c=self._figures("get_servo_temps"),
            voltages_v=self._figures("get_servo_voltages"),
            reboot_count=self._reboots,
            firmware=f"{version:.1f}" if isinstance(version, int | float) and version > 0 else None,
        )

    def close(self) -> None:
        """Let go of the connection. The arm keeps its place."""
        with self._goals_lock:
            self._to_come.clear()
        self._link.close()
        if self._lock is not None:
            self._lock.release()

    def _angles(self) -> object:
        """The client's answer for the angles."""
        try:
            return self._when_awake(lambda: self._ask("get_angles"))
        except OddAnswer as error:
            raise ReadingRejected(error.got, error.message) from error
        except NoAnswer as error:
            raise ReadingRejected(None, error.message) from error

    def _when_awake(self, ask: Callable[[], _Answer]) -> _Answer:
        """An answer from a controller that may sulk after a gripper command: that is waited for.

        Raises:
            NoAnswer: it is silent for another reason, or for longer.
        """
        began_s = self._time.now_s()
        while True:
            try:
                return ask()
            except NoAnswer:
                now_s = self._time.now_s()
                if now_s - self._jaws_told_s > _SULK_S or now_s - began_s > _SULK_S:
                    raise
                self._time.sleep(_SULK_PAUSE_S)

    def _hand_over(self, reading: FloatArray) -> None:
        with self._goals_lock:
            if self._goal is None:
                return
            near = bool(np.abs(reading - self._goal).max() <= PASS_DEG)
            if near and self._to_come:
                self._send(self._to_come.popleft(), reading, before=self._goal)
            elif not near and self._sent is not None:
                self._tell_again_if_unheard(reading, self._goal, self._sent)

    def _tell_again_if_unheard(self, reading: FloatArray, goal: FloatArray, seen: tuple[float, FloatArray]) -> None:
        """An arm that still stands where it was before the goal has not heard it; it may have come to rest there since.

        One that stands elsewhere has heard something: that is not mended by saying it again.
        """
        now_s = self._time.now_s()
        if np.abs(reading - seen[1]).max() > _UNMOVED_DEG:
            self._sent = (now_s, reading)
        elif now_s - seen[0] >= _UNHEARD_S:
            self._sent = None
            if np.abs(reading - self._goal_before).max() <= PASS_DEG:
                self._tell(goal)

    def _send(self, goal: FloatArray, here: FloatArray, *, before: FloatArray) -> None:
        self._goal, self._goal_before, self._sent = goal, before, (self._time.now_s(), here)
        self._tell(goal)

    def _tell(self, goal: FloatArray) -> None:
        self._link.tell("send_angles", to_hundredths(goal), self._speed_percent)

    def _order_jaws(self, order: _JawOrder) -> None:
        self._jaws = replace(order, before=self._jaw_value())
        self._tell_jaws(order)

    def _tell_jaws(self, order: _JawOrder) -> None:
        self._jaws_told_s = self._time.now_s()
        if order.by_state:
            flag = 0 if order.value >= 50 else 1
            self._link.tell("set_gripper_state", flag, self._gripper_speed, self._gripper_type)
        else:
            self._link.tell("set_gripper_value", round(order.value), self._gripper_speed, self._gripper_type)

    def _jaw_value(self) -> float | None:
        try:
            value = self._patiently("get_gripper_value", self._gripper_type)
        except (NoAnswer, OddAnswer):
            return None
        return float(value) if isinstance(value, int) and 0 <= value <= 100 else None

    def _number(self, question: str) -> int:
        answer = self._patiently(question)
        if not isinstance(answer, int) or answer < 0:
            raise OddAnswer(question, answer)
        return answer

    def _optional(self, question: str) -> object:
        """The answer, or None from firmware that does not know the question; that is asked once only."""
        if question in self._mute:
            return None
        try:
            return self._patiently(question)
        except NoAnswer:
            self._mute.add(question)
        except OddAnswer:
            return None
        return None

    def _ask(self, question: str, *args: object) -> object:
        """A question, asked again while the connection is gone, for a while; whatever the arm is at goes on meanwhile.

        Raises:
            ArmLost: it does not come back. NoAnswer, OddAnswer: as the link says.
        """
        began_s = self._time.now_s()
        while True:
            try:
                answer: object = self._link.ask(question, *args)
            except ArmLost:
                if self._time.now_s() - began_s > _LINE_S:
                    raise
                self._time.sleep(_LINE_PAUSE_S)
            else:
                return answer

    def _patiently(self, question: str, *args: object) -> object:
        """A question, asked again where the answer got lost or garbled."""
        for left in reversed(range(_ASKED)):
            try:
                return self._ask(question, *args)
            except (NoAnswer, OddAnswer):
                if not left:
                    raise
                self._time.sleep(_ASK_PAUSE_S)
        raise AssertionError("the last try answers or raises")

    def _figures(self, question: str) -> tuple[float, ...] | None:
        answer = self._optional(question)
        if not isinstance(answer, list) or len(answer) != self._model.n_joints:
            return None
        return tuple(float(v) for v in answer)


class TendingClock:
    """A clock that hands goals over while somebody waits on it."""

    def __init__(self, time: Clock, arm: MyCobotArm) -> None:
        self._time, self._arm = time, arm

    def now_s(self) -> float:
        """The arm's time."""
        return self._time.now_s()

    def sleep(self, seconds: float) -> None:
        """Let that much of the arm's time pass."""
        end_s = self._time.now_s() + seconds
        while self._arm.wants_tending and (left_s := end_s - self._time.now_s()) > 0:
            self._time.sleep(min(_TEND_S, left_s))
            self._arm.tend()
        left_s = end_s - self._time.now_s()
        if left_s > 0:
            self._time.sleep(left_s)


def thinned(path_deg: FloatArray, within_deg: float) -> FloatArray:
    """The path without waypoints that lie on the straight way between those that stay, shape (m, n), ends kept.

    Douglas and Peucker's rule in joint space: nowhere is the way off by more than `within_deg` on any joint.
    """
    keep = np.zeros(len(path_deg), dtype=bool)
    keep[[0, -1]] = True
    parts = [(0, len(path_deg) - 1)]
    while parts:
        a, b = parts.pop()
        if b - a < 2:
            continue
        way, between = path_deg[b] - path_deg[a], path_deg[a + 1 : b] - path_deg[a]
        length = float(way @ way)
        share = np.clip(between @ way / length, 0.0, 1.0) if length > 0 else np.zeros(len(between))
        off = np.abs(between - share[:, None] * way).max(axis=1)
        worst = int(off.argmax())
        if off[worst] > within_deg:
            keep[a + 1 + worst] = True
            parts += [(a, a + 1 + worst), (a + 1 + worst, b)]
    return np.asarray(path_deg[keep])


def to_hundredths(angles_deg: Sequence[float] | FloatArray) -> list[float]:
    """Angles as a plain list that goes out to the nearest 0.01°: the client cuts toward zero."""
    rounded = np.round(np.asarray(angles_deg, dtype=float), 2)
    return [float(v) for v in rounded + np.copysign(1e-4, rounded)]
