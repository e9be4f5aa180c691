"""The twin's world: the one module that loads MuJoCo, and the only place where physics is stepped.

Hands out readings, truth and rays; takes targets for the servos, and places for things between two trials. It never
writes stiffness, damping or forces at run time, and holds nothing in the gripper but by friction and contact.
Angles and lengths inside are radians and metres in the arm's base frame; what goes out is in the cell frame where its
name says so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from math import atan2, cos, degrees, radians, sin
from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray
from runner.kinematics.threads import cores
from runner.twin.errors import PhysicsDiverged
from runner.twin.scene import Scene

IntArray = NDArray[np.int32]
GEOM_KINDS = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): "plane",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
}
_THREADS = 2
_RAYS_WORTH_A_THREAD = 4096
_SETTLE_S = 0.3
_WAKE_M_S = 1e-3  # a thing that is put somewhere is set down, which wakes it
_CLEAR_M = 0.04  # half of it to be used up between two looks, the other half in the steps before the next one
_CLEAR_STEPS = 10
_LONGEST_M = 0.6  # no point of the arm is farther from any of its joints
_HIDDEN_M = (0.0, 0.0, -5.0)


class Controller(Protocol):
    """Who says where the servos shall go."""

    def targets(self, gravity_nm: FloatArray) -> tuple[FloatArray, int]:
        """Targets of all actuators, radians, and for how many steps they stand (at least 1).

        `gravity_nm` is the torque at each arm joint that gravity asks for at this moment.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rays:
    """What a bundle of rays met. Row i belongs to ray i; distance is inf and geom -1 where it met nothing."""

    distance_m: FloatArray  # (n,), along unit directions
    geom: IntArray  # (n,)
    normal: FloatArray | None  # (n, 3), unit, outward


@dataclass(frozen=True, slots=True)
class Resting:
    """Where a thing stands on the table: its middle in the cell frame and its yaw, from +x toward +z."""

    xz_m: tuple[float, float]
    yaw_deg: float


@dataclass(frozen=True, slots=True)
class Truth:
    """How things are, for scoring and for tests. Nothing that runs a trial may look at it."""

    block_in_box: bool  # its middle within the walls and below the rim, resting in the box, not held
    block_held: bool  # both pads press it and neither table nor box carries it
    block_on_table: bool  # it touches the table
    block_m: tuple[float, float, float]  # middle, cell frame (x, y, z)
    block_yaw_deg: float
    box_m: tuple[float, float, float]  # middle of its underside, cell frame
    box_yaw_deg: float
    tool_m: tuple[float, float, float]  # the tool point as it truly is, cell frame
    angles_deg: tuple[float, ...]  # the joints as they truly are
    jaw_opening_theta_rad: float


class Snapshot:
    """The scene at one moment, ready for rays from several threads. Stays as it is while the world goes on."""

    def __init__(self, model: mujoco.MjModel, pool: ThreadPoolExecutor, threads: int) -> None:
        self._model, self._pool, self._threads = model, pool, threads
        self._data = [mujoco.MjData(model) for _ in range(threads)]

    def take(self, qpos: FloatArray, mocap_pos: FloatArray, mocap_quat: FloatArray) -> None:
        """Move everything to where it is now."""
        for data in self._data:
            data.qpos[:], data.mocap_pos[:], data.mocap_quat[:] = qpos, mocap_pos, mocap_quat
            mujoco.mj_kinematics(self._model, data)

    @property
    def geom_place_m(self) -> FloatArray:
        """Middles of all geoms, (g, 3)."""
        return np.array(self._data[0].geom_xpos)

    @property
    def geom_turn(self) -> FloatArray:
        """Rotations of all geoms, (g, 3, 3), columns: their own axes."""
        return np.array(self._data[0].geom_xmat).reshape(-1, 3, 3)

    def cast(
        self,
        origin_m: FloatArray,
        directions: FloatArray | NDArray[np.float32],
        groups: Sequence[int],
        *,
        normals: bool = False,
    ) -> Rays:
        """What rays from one point meet among the geoms of these groups.

        Args:
            origin_m: (3,), base frame.
            directions: (n, 3), unit, of single precision or double.
            groups: as in `scene`.
        """
        n = len(directions)
        flags = np.zeros(6, np.uint8)
        flags[list(groups)] = 1
        geom, distance = np.empty(n, np.int32), np.empty(n)
        normal = np.empty((n, 3)) if normals else None
        threads = 1 if n < _RAYS_WORTH_A_THREAD else self._threads
        cut = [n * i // threads for i in range(threads + 1)]

        def part(i: int) -> None:
            a, b = cut[i], cut[i + 1]
            if b > a:
                mujoco.mj_multiRay(
                    self._model,
                    self._data[i],
                    origin_m,
                    np.ascontiguousarray(directions[a:b], np.float64).reshape(-1),
                    flags,
                    True,
                    -1,
                    geom[a:b],
                    distance[a:b],
                    None if normal is None else normal[a:b].reshape(-1),
                    b - a,
                    mujoco.mjMAXVAL,
                )

        if threads == 1:
            part(0)
        else:
            list(self._pool.map(part, range(threads)))
        distance[geom < 0] = np.inf
        return Rays(distance, geom, normal)


class _Clear:
    """Knows when the arm is so far from everything that there can be no contact, so that none need be looked for.

    Only while all else sleeps. The state comes out the same to the last bit, and a step takes two thirds of the time.
    """

    def __init__(self, xml: str, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        wide = mujoco.MjSpec.from_string(xml)
        for geom in wide.geoms:
            geom.margin = _CLEAR_M / 2  # those of two geoms add up
            geom.conaffinity = int(geom.conaffinity and not geom.contype)  # what is not the arm meets the arm alone
        self._wide = wide.compile()
        self._near = mujoco.MjData(self._wide)
        self._data = data
        free = model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)
        self._n = int((~free).sum())
        assert not free[: self._n].any(), "the arm's joints come first, then things"
        self._qpos = data.qpos[: self._n]
        self._at, self._gone = np.full(self._n, np.inf), np.empty(self._n)
        self._clear = False

    def of_all(self, steps: int) -> bool:
        """Whether nothing can touch the arm during the next few steps, and nothing else moves."""
        if steps > _CLEAR_STEPS:
            return False
        if self._data.nv_awake != self._n:
            self._at[:] = np.inf
            return False
        gone = np.abs(np.subtract(self._qpos, self._at, self._gone), self._gone)
        if sum(gone.tolist()) * _LONGEST_M > _CLEAR_M / 2:
            self._look()
        return self._clear

    def _look(self) -> None:
        model, data = self._wide, self._near
        data.qpos[:] = self._data.qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        self._at[:] = self._qpos
        self._clear = data.ncon == 0


class World:
    """Model and state of one twin, with its clock. Physics moves only while the clock does."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.lock = threading.RLock()  # held by whoever steps or changes the world while others look at it
        self._model = mujoco.MjModel.from_xml_string(scene.xml)
        self._data = mujoco.MjData(self._model)
        # A block that rests falls asleep and then costs nothing, and has no contacts either. Whoever only looks at the
        # state takes this model, in which nothing sleeps.
        self._awake = copy(self._model)
        self._awake.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        self._seen = mujoco.MjData(self._awake)
        self._threads = min(_THREADS, cores())
        self._pool = ThreadPoolExecutor(self._threads)
        self._controller: Controller | None = None
        self._steps, self._owed_s = 0, 0.0
        self._stand = 0  # steps for which the controller's last word still stands
        self._n = scene.arm.n_joints
        self._ctrl, self._gravity_nm = self._data.ctrl, self._data.qfrc_bias[: self._n]  # views of what physics fills
        self._contacts = int(self._model.opt.disableflags)
        self._no_contacts = self._contacts | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._clear = _Clear(scene.xml, self._model, self._data)
        self.dt_s = float(self._model.opt.timestep)
        self._drives = [int(self._model.joint(f"drive_{s}").qposadr[0]) for s in "rl"]
        self._counters = [int(self._model.joint(f"counter_{s}").qposadr[0]) for s in "rl"]
        self._block, self._box = (int(self._model.joint(name).qposadr[0]) for name in ("block", "box"))
        self._tool_body = self._model.body(f"link{self._n}").id
        self._of_block = self._model.geom("block").id
        self._pads = [self._model.geom(f"pad_{s}").id for s in "rl"]
        self._table = self._model.geom("table").id
        self._box_body = self._model.body("box").id

    # The clock.

    @property
    def now_s(self) -> float:
        """Virtual seconds since the last reset."""
        return self._steps * self.dt_s

    def advance(self, seconds: float) -> None:
        """Let time pass: physics in steps of `dt_s`; what is left over of a step is kept for the next call.

        Raises:
            PhysicsDiverged: the state is no longer finite.
        """
        self._owed_s += max(0.0, seconds)
        left = round(self._owed_s / self.dt_s)
        self._owed_s -= left * self.dt_s
        self._step(left)

    def _step(self, left: int) -> None:
        data, controller = self._data, self._controller
        self._steps += left
        while left > 0:
            if self._stand == 0 and controller is not None:
                self._ctrl[:], self._stand = controller.targets(self._gravity_nm)
            run = min(left, self._stand) if controller is not None else left
            self._model.opt.disableflags = self._no_contacts if self._clear.of_all(run) else self._contacts
            mujoco.mj_step(self._model, data, run)
            left -= run
            self._stand = max(0, self._stand - run)
        self._model.opt.disableflags = self._contacts
        bad = data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number
        if bad or not np.isfinite(data.qpos).all():
            raise PhysicsDiverged(self.now_s, f"{bad} steps with impossible accelerations")

    def drive_with(self, controller: Controller) -> None:
        """From now on this one sets the servos' targets."""
        self._controller = controller

    # Readings.

    @property
    def joints_rad(self) -> FloatArray:
        """The arm's joints as they truly are, (n,)."""
        return np.array(self._data.qpos[: self._n])

    @property
    def jaw_theta_rad(self) -> float:
        """The gripper's drive angle, mean of both sides."""
        return float(sum(self._data.qpos[i] for i in self._drives) / 2.0)

    @property
    def servo_gains(self) -> FloatArray:
        """Stiffness and damping of all servos as the model has them: gain and bias figures, one row an actuator."""
        return np.hstack([self._model.actuator_gainprm, self._model.actuator_biasprm])

    # Between trials.

    def reset(self, angles_rad: FloatArray, jaw_theta_rad: float, block: Resting, box: Resting) -> None:
        """Everything to its start, at rest; the clock begins anew."""
        data, side = self._data, self.scene.config.block.side_mm / 1000.0
        mujoco.mj_resetData(self._model, data)
        data.qpos[: self._n] = angles_rad
        for drive, counter in zip(self._drives, self._counters, strict=True):
            data.qpos[drive], data.qpos[counter] = jaw_theta_rad, -jaw_theta_rad
        self._put(self._block, block, side / 2)
        self._put(self._box, box, 0.0)
        data.mocap_pos[0] = _HIDDEN_M
        self._stand = 0
        mujoco.mj_forward(self._model, data)
        self._step(round(_SETTLE_S / self.dt_s))
        self._steps, self._owed_s = 0, 0.0

    def put_block(self, block: Resting, above_m: float = 0.0) -> None:
        """The block elsewhere, at rest, `above_m` over the table."""
        self._put(self._block, block, self.scene.config.block.side_mm / 2000.0 + above_m)
        mujoco.mj_forward(self._model, self._data)

    def pose(self, name: str, middle_m: tuple[float, float, float], turn: FloatArray) -> None:
        """A block (`block`, or `block_0`, … for those that a scene has beyond it) anywhere, turned anyhow, at rest.

        Args:
            middle_m: its middle (x, y, z), cell frame.
            turn: its axes as columns, base frame, (3, 3).
        """
        address = int(self._model.joint(name).qposadr[0])
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(turn, dtype=float).reshape(-1))
        self._data.qpos[address : address + 3] = self.scene.base.to_base(np.array(middle_m))
        self._data.qpos[address + 3 : address + 7] = quat
        self._set_down(address)
        mujoco.mj_forward(self._model, self._data)

    def middle_m(self, name: str) -> tuple[float, float, float]:
        """Where a block's middle is, cell frame."""
        address = int(self._model.joint(name).qposadr[0])
        return _triple(self.scene.base.to_cell(self._data.qpos[address : address + 3]))

    def put_box(self, box: Resting) -> None:
        """The box elsewhere, at rest."""
        self._put(self._box, box, 0.0)
        mujoco.mj_forward(self._model, self._data)

    def _put(self, address: int, where: Resting, height_m: float) -> None:
        base = self.scene.base
        yaw = radians(where.yaw_deg)
        ahead = base.turn_to_base(np.array([cos(yaw), 0.0, sin(yaw)]))
        turn = atan2(ahead[1], ahead[0])
        self._data.qpos[address : address + 3] = base.to_base(np.array([where.xz_m[0], height_m, where.xz_m[1]]))
        self._data.qpos[address + 3 : address + 7] = (cos(turn / 2), 0.0, 0.0, sin(turn / 2))
        self._set_down(address)

    def _set_down(self, address: int) -> None:
        dof = int(self._model.jnt_dofadr[np.flatnonzero(self._model.jnt_qposadr == address)[0]])
        self._data.qvel[dof : dof + 6] = (0.0, 0.0, -_WAKE_M_S, 0.0, 0.0, 0.0)

    def put_board(self, place_m: FloatArray | None, turn: FloatArray | None = None) -> None:
        """The board's middle (base frame) and its axes as columns, (3, 3); None puts it away."""
        if place_m is None or turn is None:
            self._data.mocap_pos[0] = _HIDDEN_M
            return
        self._data.mocap_pos[0] = place_m
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(turn).reshape(-1))
        self._data.mocap_quat[0] = quat

    # Looking.

    def new_snapshot(self) -> Snapshot:
        """A snapshot to be taken and taken again."""
        snapshot = Snapshot(self._awake, self._pool, self._threads)
        self.take(snapshot)
        return snapshot

    def take(self, snapshot: Snapshot) -> None:
        """Bring a snapshot up to now."""
        with self.lock:
            snapshot.take(self._data.qpos, self._data.mocap_pos, self._data.mocap_quat)

    def geom_names(self) -> list[str]:
        """Names of all geoms, in their order; empty where one has none."""
        return [self._model.geom(i).name for i in range(self._model.ngeom)]

    def geom_table(self) -> tuple[list[str], FloatArray, IntArray, FloatArray]:
        """Of all geoms: kind, half sizes (g, 3), group (g,), colour as linear red green blue (g, 3)."""
        model = self._model
        kinds = [GEOM_KINDS.get(int(k), "other") for k in model.geom_type]
        return kinds, np.array(model.geom_size), np.array(model.geom_group), np.array(model.geom_rgba[:, :3], float)

    def truth(self) -> Truth:
        """How things are now."""
        base, data, model = self.scene.base, self._seen, self._model
        data.qpos[:], data.qvel[:], data.ctrl[:] = self._data.qpos, self._data.qvel, self._data.ctrl
        mujoco.mj_forward(self._awake, data)
        touching = self._touching_block()
        on_table = self._table in touching
        in_hand = all(pad in touching for pad in self._pads)
        on_box = any(g >= 0 and model.geom_bodyid[g] == self._box_body for g in touching)
        block = data.qpos[self._block : self._block + 3]
        box_R = _matrix(data.qpos[self._box + 3 : self._box + 7])
        local = box_R.T @ (block - data.qpos[self._box : self._box + 3])
        settings = self.scene.config.box
        inner = (np.array(settings.outside_mm) / 2 - settings.wall_mm) / 1000.0
        within = bool((np.abs(local[:2]) < inner).all() and 0.0 < local[2] < settings.wall_height_mm / 1000.0)
        tool_m = self.scene.arm.T_link_tcp[:3, 3] + np.array(self.scene.tool_off_mm) / 1000.0
        T = np.eye(4)
        T[:3, :3] = np.array(data.xmat[self._tool_body]).reshape(3, 3)
        T[:3, 3] = data.xpos[self._tool_body]
        return Truth(
            block_in_box=within and on_box and not any(pad in touching for pad in self._pads),
            block_held=in_hand and not on_table and not on_box,
            block_on_table=on_table,
            block_m=_triple(base.to_cell(block)),
            block_yaw_deg=self._yaw_deg(self._block),
            box_m=_triple(base.to_cell(data.qpos[self._box : self._box + 3])),
            box_yaw_deg=self._yaw_deg(self._box),
            tool_m=_triple(base.to_cell((T @ np.append(tool_m, 1.0))[:3])),
            angles_deg=tuple(np.degrees(data.qpos[: self._n]).tolist()),
            jaw_opening_theta_rad=self.jaw_theta_rad,
        )

    def _touching_block(self) -> set[int]:
        found: set[int] = set()
        for i in range(self._seen.ncon):
            contact = self._seen.contact[i]
            pair = int(contact.geom[0]), int(contact.geom[1])
            if self._of_block in pair and contact.dist < 0.0005:
                found.add(pair[0] if pair[1] == self._of_block else pair[1])
        return found

    def _yaw_deg(self, address: int) -> float:
        ahead = self.scene.base.turn_to_cell(_matrix(self._data.qpos[address + 3 : address + 7])[:, 0])
        return degrees(atan2(ahead[2], ahead[0]))

    def close(self) -> None:
        """Let the threads go. Safe more than once."""
        self._pool.shutdown(wait=False)


def _matrix(quaternion: FloatArray) -> FloatArray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.ascontiguousarray(quaternion))
    return out.reshape(3, 3)


def _triple(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
