"""The twin's arm and its clock: `Arm` and `Clock` in process, in virtual time.

Starts motions and reads, as a driver of a real arm does; whether a motion may be sent and whether it has arrived is
judged elsewhere. It writes servo targets only. Time passes while someone sleeps on the clock, and never otherwise.
"""

from __future__ import annotations

import numpy as np

from runner.arms.protocol import ArmHealth
from runner.kinematics.fk import checked_joints
from runner.kinematics.gripper import gripper_of, theta_from_value_rad, value_from_theta
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.kinematics.motion import Follower, RateLimits, set_points
from runner.twin.errors import ArmWithoutTwin
from runner.twin.profiles import Desk, Imperfection, Profile
from runner.twin.thermal import Servos
from runner.twin.world import World

_JAW_STROKE_S = 1.2  # from open to closed; owners measured 1.5 to 2 s with the contact settling
_BRAKE_S = 0.05  # time constant in which an interrupted motion loses its speed
_MOVING_STEPS, _REST_STEPS = 2, 10  # physics steps for which targets stand: 4 and 20 ms
_CAUGHT_UP_DEG = 0.002


class TwinClock:
    """Virtual time: `sleep` steps the physics."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now_s(self) -> float:
        """Virtual seconds since the twin's last reset."""
        return self._world.now_s

    def sleep(self, seconds: float) -> None:
        """Let physics run for that long."""
        self._world.advance(seconds)


class _Planned:
    """Set-points to be gone through and how far that got. Replaced as a whole: `stop` may come from any thread."""

    def __init__(self, plan: FloatArray) -> None:
        self._plan, self._at = plan, 0

    @property
    def resting(self) -> bool:
        """Whether nothing is left to be gone through."""
        return self._at >= len(self._plan)

    def next(self) -> FloatArray | None:
        """The set-point of the next period, None at the end."""
        if self.resting:
            return None
        self._at += 1
        return np.asarray(self._plan[self._at - 1])


class _Chase:
    """A set-point on its way to a goal that may be moved meanwhile."""

    def __init__(self, follower: Follower, goal_deg: FloatArray) -> None:
        self.follower, self.goal_deg = follower, goal_deg

    @property
    def resting(self) -> bool:
        """Whether it has arrived."""
        return np.array_equal(self.follower.at_deg, self.goal_deg)

    def next(self) -> FloatArray | None:
        """The set-point of the next period, None while it rests on its goal."""
        if self.resting:
            return None
        return self.follower.step(self.goal_deg)


class TwinArm:
    """An arm of physics with a gripper of physics. Angles in degrees, (n_joints,), base joint first."""

    def __init__(self, world: World, profile: Profile, rng: np.random.Generator, desk: Desk | None = None) -> None:
        self._desk = desk
        self._world, self._model = world, world.scene.arm
        servo = self._model.data.servo
        if servo is None:
            raise ArmWithoutTwin(self._model.name, "servo")
        self._gripper = gripper_of(self._model)
        self._servo = servo
        self._kp = np.array(servo.kp)
        self._lead_s = (np.array(servo.kv) + servo.damping) / self._kp  # a servo trails its target by this
        self._step_deg = 360.0 / servo.encoder_steps
        self._period_s = _MOVING_STEPS * world.dt_s
        self._no_rate = frozen(np.zeros(self._model.n_joints))
        self._targets = np.empty(self._model.n_joints + 1)
        self._theta_rate = (self._gripper.theta_open_rad - self._gripper.theta_closed_rad) / _JAW_STROKE_S
        self.begin(profile, rng, self._model.home_deg)
        world.drive_with(self)

    def begin(self, profile: Profile, rng: np.random.Generator, angles_deg: FloatArray) -> FloatArray:
        """A new arm of that profile, resting with its set-point at these angles; returns where its joints are, rad."""
        stays = None if self._desk is None else self._desk.zero_deg
        self._imperfection = Imperfection(profile, self._model.n_joints, rng, stays)
        self._direct = self._imperfection.none
        self._set_deg = np.array(angles_deg, dtype=float)
        self._rate_deg_s = self._no_rate
        self._driven_deg = np.array(self._imperfection.rest_at(self._set_deg))
        self._motion: _Planned | _Chase = _Planned(self._set_deg[None, :])
        self._theta = self._theta_goal = self._gripper.theta_open_rad
        self._servos = Servos(self._model.n_joints, self._world.scene.config.twin.servos_c)
        return np.asarray(np.radians(self._driven_deg + self._imperfection.zero_deg))

    @property
    def model(self) -> ArmModel:
        """The arm's figures, with the tool of the settings."""
        return self._model

    @property
    def moving(self) -> bool:
        """Whether set-points of a motion are still to come."""
        return not self._motion.resting

    @property
    def jaws_moving(self) -> bool:
        """Whether the jaws are still being driven to where they were told to go."""
        return self._theta != self._theta_goal

    @property
    def rate_deg_s(self) -> FloatArray:
        """How fast the set-points run now, (n_joints,)."""
        return np.array(self._rate_deg_s)

    def read_angles_deg(self) -> FloatArray:
        """The joints as the encoders have them: without their zero offsets, in whole encoder steps."""
        seen = np.degrees(self._world.joints_rad) - self._imperfection.zero_deg
        return np.asarray(np.round(seen / self._step_deg) * self._step_deg)

    def send_path(self, waypoints_deg: FloatArray, *, speed_percent: int) -> None:
        """Start moving through the waypoints, (k, n_joints), k ≥ 1, and return at once; replaces a motion under way.

        Raises:
            WrongJoints: another number of joints, or an angle that is not finite.
        """
        waypoints = np.atleast_2d(checked_joints(waypoints_deg, self._model))
        plan = set_points(self._set_deg, waypoints, self.rates(speed_percent), dt_s=self._period_s)
        self._motion = _Planned(self._braked(plan, lands=True))

    def follow(self, goal_deg: FloatArray, *, speed_percent: int) -> None:
        """Go to a goal that may be replaced at any moment, (n_joints,), and return at once: the newest wins.

        Without a planned path: joints go as fast as they may from the speed at hand, each for itself.

        Raises:
            WrongJoints: another number of joints, or an angle that is not finite.
        """
        goal = np.array(checked_joints(goal_deg, self._model))
        follower = Follower(self._set_deg, self.rates(speed_percent), dt_s=self._period_s, rate_deg_s=self._rate_deg_s)
        self._motion = _Chase(follower, goal)

    def rates(self, speed_percent: int) -> RateLimits:
        """What the joints may do at this per cent of full speed."""
        return RateLimits.even(
            self._model.n_joints,
            speed_deg_s=self._servo.max_speed_deg_s * min(max(speed_percent, 1), 100) / 100.0,
            acceleration_deg_s2=self._servo.max_acceleration_deg_s2,
        )

    def stop(self) -> None:
        """Brake and hold, now. Safe from any thread and more than once."""
        self._motion = _Planned(self._braked(self._set_deg[None, :], lands=False))

    def send_gripper_value(self, value: int) -> None:
        """Start moving the jaws to 0 (closed) … 100 (open); returns at once."""
        self._theta_goal = theta_from_value_rad(min(max(float(value), 0.0), 100.0), self._gripper)

    def send_gripper_open(self) -> None:
        """Open the jaws fully; returns at once."""
        self._theta_goal = self._gripper.theta_open_rad

    def read_gripper_value(self) -> float | None:
        """Where the jaws are, 0…100, a whole number as on the wire."""
        return float(min(max(round(value_from_theta(self._world.jaw_theta_rad, self._gripper)), 0), 100))

    def health(self) -> ArmHealth:
        """Always powered, no error latched; its servos warm up with what they hold."""
        return ArmHealth(
            True,
            0,
            True,
            temperatures_c=self.temperatures_c,
            voltages_v=(12.0,) * self._model.n_joints,
            reboot_count=0,
            firmware="the twin itself",
        )

    @property
    def temperatures_c(self) -> tuple[float, ...]:
        """Of the joints' servos, whole degrees as on the wire."""
        return tuple(round(float(c)) + 0.0 for c in self._servos.now_c)

    def close(self) -> None:
        """Nothing to let go of; the arm keeps its place."""

    def targets(self, gravity_nm: FloatArray) -> tuple[FloatArray, int]:
        """The servos' targets now, radians, jaws last, and for how many steps they stand.

        The next answer overwrites this one.
        """
        dt_s = self._period_s
        now = self._motion.next()
        moving = now is not None
        if now is None:
            self._rate_deg_s = self._no_rate
        else:
            self._rate_deg_s = (now - self._set_deg) / dt_s
            self._set_deg = now
        moving = self._shift_jaws(dt_s) or moving
        if self._direct:
            driven = self._set_deg
        else:
            driven = self._imperfection.follow(self._set_deg, dt_s)
            moving = moving or self._imperfection.catching_up_deg > _CAUGHT_UP_DEG
        angles = np.radians(driven + self._imperfection.zero_deg + self._rate_deg_s * self._lead_s)
        steps = _MOVING_STEPS if moving else _REST_STEPS
        self._servos.hold(gravity_nm, steps * self._world.dt_s)
        self._targets[:-1] = angles + gravity_nm / self._kp
        self._targets[-1] = self._theta
        return self._targets, steps

    def _shift_jaws(self, dt_s: float) -> bool:
        gap = self._theta_goal - self._theta
        if gap == 0.0:
            return False
        step = self._theta_rate * dt_s
        self._theta = self._theta_goal if abs(gap) <= step else self._theta + (step if gap > 0 else -step)
        return True

    def _braked(self, plan: FloatArray, *, lands: bool) -> FloatArray:
        """The plan with the speed at hand run out over it; `lands`: it still ends where it was to end."""
        if not self._rate_deg_s.any():
            return plan
        tail = round(12 * _BRAKE_S / self._period_s)
        if len(plan) < tail:
            plan = np.vstack([plan, np.tile(plan[-1], (tail - len(plan), 1))])
        t = np.arange(1, len(plan) + 1)[:, None] * self._period_s
        if lands:
            run_out = t * np.exp(-t / _BRAKE_S)
            run_out[-1] = 0.0
        else:
            run_out = _BRAKE_S * (1.0 - np.exp(-t / _BRAKE_S))
        return np.asarray(plan + run_out * self._rate_deg_s)
