"""Many copies of one scene, stepped at once: for motions that are tried before they are made.

The second module that loads MuJoCo: its batch stepping keeps the states of all copies side by side and steps them on at
most two threads, which `World` with its one state, its sleep and its contacts to look at can't. It takes targets for
the servos and hands out where things are; what is tried and what counts as success is said elsewhere. Angles and
lengths are radians and metres; places are in the arm's base frame where a name does not say cell.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from runner.kinematics.model import FloatArray
from runner.kinematics.threads import cores
from runner.twin.errors import PhysicsDiverged
from runner.twin.scene import Scene

_THREADS = 2


class Many:
    """`n` copies of a scene. Arrays have one row a copy."""

    def __init__(self, scene: Scene, n: int) -> None:
        self.scene, self.n = scene, n
        model = mujoco.MjModel.from_xml_string(scene.xml)
        model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        self._batch = Batch(model, n, min(_THREADS, n, cores()))
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._bias = self._batch.bind("ctrl"), self._batch.bind("qfrc_bias")
        self._n_joints = scene.arm.n_joints
        self._kp = np.array(model.actuator_gainprm[: self._n_joints, 0])
        self._drives = [int(model.joint(f"drive_{s}").qposadr[0]) for s in "rl"]
        self._counters = [int(model.joint(f"counter_{s}").qposadr[0]) for s in "rl"]
        self._things = {name: int(model.joint(name).qposadr[0]) for name in ("block", "box")}
        self._pads = [model.geom(f"pad_{s}").id for s in "rl"]
        ids = [model.geom(name).id for name in ("table", "block")]
        box = model.body("box").id
        self._table_like = [*ids, *np.flatnonzero(model.geom_bodyid == box).tolist()]
        self._friction = self._batch.expand("geom_friction")
        self.dt_s = float(model.opt.timestep)

    def rub(self, *, pads: FloatArray, table: FloatArray) -> None:
        """Sliding friction of the pads, (n,), and of table, block and box, (n,)."""
        self._friction[:, self._pads, 0] = pads[:, None]
        self._friction[:, self._table_like, 0] = table[:, None]

    def begin(self, joints_rad: FloatArray, jaws_rad: float) -> None:
        """All at rest at these joints, (n, n_joints), the jaws at one angle; block and box want to be put somewhere."""
        self._batch.reset(stage=int(mujoco.mjtStage.mjSTAGE_NONE))
        self._qpos[:, : self._n_joints] = joints_rad
        self._qpos[:, self._drives], self._qpos[:, self._counters] = jaws_rad, -jaws_rad

    def stand(self, thing: str, xz_m: FloatArray, yaw_deg: FloatArray, height_m: float) -> None:
        """Put `block` or `box` down: (x, z), (n, 2), and yaw, (n,), in the cell frame; the height of its middle."""
        base = self.scene.base
        points = np.insert(np.asarray(xz_m, dtype=float), 1, height_m, axis=1)
        yaw = np.radians(yaw_deg)
        ahead = base.turn_to_base(np.stack([np.cos(yaw), np.zeros_like(yaw), np.sin(yaw)], axis=1))
        half = np.arctan2(ahead[:, 1], ahead[:, 0]) / 2.0
        zero = np.zeros_like(half)
        self._put(thing, base.to_base(points), np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1))

    def hold(self, block_m: FloatArray, turn: FloatArray) -> None:
        """The block anywhere, turned anyhow: its middle (n, 3) and its axes as columns (n, 3, 3), base frame."""
        quats = np.empty((self.n, 4))
        for row, axes in zip(quats, turn, strict=True):
            mujoco.mju_mat2Quat(row, np.ascontiguousarray(axes, dtype=float).reshape(-1))
        self._put("block", block_m, quats)

    def _put(self, thing: str, points_m: FloatArray, quats: FloatArray) -> None:
        at = self._things[thing]
        self._qpos[:, at : at + 3], self._qpos[:, at + 3 : at + 7] = points_m, quats

    def ready(self) -> None:
        """Reckon forces once, after everything was put in its place: gravity is known from the first step on."""
        self._batch.forward(stage=int(mujoco.mjtStage.mjSTAGE_VEL))

    def step(self, targets_rad: FloatArray, jaws_rad: FloatArray, steps: int) -> None:
        """So many steps with these targets, (n, n_joints) and (n,); gravity is carried as the arm's servos do.

        Raises:
            PhysicsDiverged: a state is no longer finite.
        """
        self._ctrl[:, : self._n_joints] = targets_rad + self._bias[:, : self._n_joints] / self._kp
        self._ctrl[:, self._n_joints] = jaws_rad
        self._batch.step(nstep=steps)

    def check(self) -> None:
        """Make sure that all states can be used.

        Raises:
            PhysicsDiverged: one can't.
        """
        bad = int((~np.isfinite(self._qpos).all(axis=1)).sum())
        if bad:
            raise PhysicsDiverged(float(self._batch.bind("time").max()), f"{bad} of {self.n} tries are not finite")

    @property
    def joints_rad(self) -> FloatArray:
        """The arms' joints, (n, n_joints)."""
        return np.array(self._qpos[:, : self._n_joints])

    @property
    def jaws_rad(self) -> FloatArray:
        """The grippers' drive angles, (n,)."""
        return np.asarray(self._qpos[:, self._drives].mean(axis=1))

    def middle_m(self, thing: str) -> FloatArray:
        """Where `block` or `box` is, (n, 3), base frame."""
        at = self._things[thing]
        return np.array(self._qpos[:, at : at + 3])

    def turn(self, thing: str) -> FloatArray:
        """Its axes as columns, (n, 3, 3), base frame."""
        at = self._things[thing]
        out = np.empty((self.n, 9))
        for row, quat in zip(out, self._qpos[:, at + 3 : at + 7], strict=True):
            mujoco.mju_quat2Mat(row, np.ascontiguousarray(quat))
        return out.reshape(-1, 3, 3)
