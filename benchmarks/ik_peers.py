"""Other people's inverse kinematics, all asked in the same way. A library that is not installed says so.

Each peer is made with an arm, written as a URDF, and gets a tool frame and a start in radians. How it is set up is said
beside it; figures of one attempt are for a start that is given, restarts are ours and random but for solvers that have
their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import radians
from pathlib import Path
from typing import Any

import numpy as np

from runner.kinematics.model import ArmModel, FloatArray

RESTARTS = 10
STEPS = 60


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to solve: a frame (4, 4) and a start (6,) to angles (6,) or None, in the unit that the way speaks."""

    name: str
    solve: Callable[[FloatArray, FloatArray], FloatArray | None]
    own_restarts: bool = True
    speaks_degrees: bool = False
    all_branches: Callable[[FloatArray], FloatArray] | None = None  # a frame to (k, 6), radians


def urdf_of(arm: ArmModel) -> str:
    """The arm's joints and tool point as a URDF, with masses that physics engines ask for."""
    inertial = (
        '<inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    names = (*(f"link{i}" for i in range(6)), "tool")
    links = ['<link name="base"/>', *(f'<link name="{name}">{inertial}</link>' for name in names)]
    joints = []
    for i, joint in enumerate(arm.data.joint):
        xyz = " ".join(repr(float(v)) for v in arm.T_parent_joint[i, :3, 3])
        rpy = " ".join(repr(radians(v)) for v in joint.rpy_deg)
        axis = " ".join(repr(float(v)) for v in arm.axes[i])
        lower, upper = radians(joint.min_deg), radians(joint.max_deg)
        joints.append(
            f'<joint name="j{i}" type="revolute"><parent link="{f"link{i - 1}" if i else "base"}"/>'
            f'<child link="link{i}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit lower="{lower!r}" upper="{upper!r}" effort="10" velocity="10"/></joint>'
        )
    xyz = " ".join(repr(float(v)) for v in arm.T_link_tcp[:3, 3])
    joints.append(
        '<joint name="tcp" type="fixed"><parent link="link5"/><child link="tool"/>'
        f'<origin xyz="{xyz}" rpy="0 0 0"/></joint>'
    )
    head = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    return f'<robot name="arm">{head}{"".join(links)}{"".join(joints)}</robot>'


def file_with(text: str) -> Path:
    """A file of that text, for libraries that read no strings."""
    path = Path(tempfile.mkdtemp(prefix="peers")) / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def roboticstoolbox_lm(arm: ArmModel) -> Peer:
    """`ik_LM` in C++, chan, 30 steps, 100 searches of its own, tolerance 1e-9."""
    import roboticstoolbox as rtb
    from spatialmath import SE3

    parts: list[Any] = []
    for i, T in enumerate(arm.T_parent_joint):
        parts += [
            rtb.ET.SE3(SE3(T, check=False)),
            rtb.ET.Rz(jindex=i, qlim=np.radians([arm.min_deg[i], arm.max_deg[i]])),
        ]
    ets = rtb.ETS([*parts, rtb.ET.SE3(SE3(arm.T_link_tcp, check=False))])

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        found = ets.ik_LM(T, q0=q0, ilimit=30, slimit=100, tol=1e-9, joint_limits=True, method="chan")
        return np.asarray(found.q if hasattr(found, "q") else found[0])

    return Peer("roboticstoolbox ik_LM", solve)


def ssik_exact(arm: ArmModel) -> Peer:
    """`Manipulator`, exact, general 6R; it derives its solver once, which takes a minute."""
    import ssik

    robot = ssik.Manipulator.from_urdf(file_with(urdf_of(arm)), base="base", ee="tool")

    def every(T: FloatArray) -> FloatArray:
        found = [one.q for one in robot.solve(T)]
        return np.array(found) if found else np.empty((0, 6))

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        found = robot.solve(T, q_seed=q0, max_solutions=1)
        return np.asarray(found[0].q) if found else None

    return Peer("ssik", solve, all_branches=every)


def trac_ik(arm: ArmModel) -> Peer:
    """`pytracik`, Speed, 50 ms at most."""
    import pytracik

    solver = pytracik.TRAC_IK("base", "tool", urdf_of(arm), 0.05, 1e-6, pytracik.SolveType.Speed)

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        found = np.asarray(pytracik.ik(solver, q0, *T[:3, 3], *_quaternion(T[:3, :3])))
        return found[1:] if found.shape == (7,) and found[0] > 0.0 else None

    return Peer("pytracik (TRAC-IK)", solve)


def pinocchio_lm(arm: ArmModel) -> Peer:
    """Our loop on its kinematics: Levenberg–Marquardt, limits projected."""
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf_of(arm))
    data, frame = model.createData(), model.getFrameId("tool")

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        goal, q = pin.SE3(T[:3, :3], T[:3, 3]), q0.copy()
        for _ in range(STEPS):
            J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
            error = pin.log6(_placed(pin, model, data, q, frame).actInv(goal)).vector
            if np.linalg.norm(error) < 1e-6:
                break
            H = J.T @ J + (1e-3 * float(error @ error) + 1e-9) * np.eye(6)
            q = np.clip(q + np.linalg.solve(H, J.T @ error), model.lowerPositionLimit, model.upperPositionLimit)
        return q

    return Peer("pinocchio, our LM loop", solve, own_restarts=False)


def _placed(pin: Any, model: Any, data: Any, q: FloatArray, frame: int) -> Any:
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[frame]


def pink_steps(arm: ArmModel) -> Peer:
    """daqp, full steps, 60 at most, lm_damping 1e-2."""
    import pink
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf_of(arm))
    task = pink.tasks.FrameTask("tool", position_cost=1.0, orientation_cost=0.1, lm_damping=1e-2)

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        at = pink.Configuration(model, model.createData(), q0)
        task.set_target(pin.SE3(T[:3, :3], T[:3, 3]))
        for _ in range(STEPS):
            if np.linalg.norm(task.compute_error(at)) < 1e-6:
                break
            at.integrate_inplace(pink.solve_ik(at, [task], 1.0, solver="daqp", safety_break=False), 1.0)
        return np.array(at.q)

    return Peer("pink", solve, own_restarts=False)


def mink_steps(arm: ArmModel) -> Peer:
    """daqp, full steps, 60 at most, lm_damping 1e-2."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(urdf_of(arm))
    task = mink.FrameTask("tool", "body", position_cost=1.0, orientation_cost=0.1, lm_damping=1e-2)
    limits = [mink.ConfigurationLimit(model)]

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        at = mink.Configuration(model, q0.copy())
        task.set_target(mink.SE3.from_matrix(T))
        for _ in range(STEPS):
            if np.linalg.norm(task.compute_error(at)) < 1e-6:
                break
            at.integrate_inplace(mink.solve_ik(at, [task], 1.0, "daqp", limits=limits), 1.0)
        return np.array(at.q)

    return Peer("mink", solve, own_restarts=False)


def placo_steps(arm: ArmModel) -> Peer:
    """Full steps, 60 at most."""
    import placo

    robot = placo.RobotWrapper(str(file_with(urdf_of(arm)).parent), placo.Flags.ignore_collisions)
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    task = solver.add_frame_task("tool", np.eye(4))
    task.configure("tool", "soft", 1.0, 0.1)

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        for i, angle in enumerate(q0):
            robot.set_joint(f"j{i}", float(angle))
        robot.update_kinematics()
        task.T_world_frame = T
        for _ in range(STEPS):
            solver.solve(True)
            robot.update_kinematics()
            if np.abs(robot.get_T_world_frame("tool") - T).max() < 1e-7:
                break
        return np.array([robot.get_joint(f"j{i}") for i in range(6)])

    return Peer("placo", solve, own_restarts=False)


def ikpy_chain(arm: ArmModel) -> Peer:
    """`inverse_kinematics_frame` for the whole orientation."""
    import ikpy.chain

    path = str(file_with(urdf_of(arm)))
    chain = ikpy.chain.Chain.from_urdf_file(path, base_elements=["base"], active_links_mask=[False, *[True] * 6, False])

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        found = chain.inverse_kinematics_frame(T, initial_position=[0.0, *q0, 0.0], orientation_mode="all")
        return np.asarray(found)[1:7]

    return Peer("ikpy", solve, own_restarts=False)


PEERS: dict[str, tuple[str, Callable[[ArmModel], Peer]]] = {
    "rtb": ("roboticstoolbox-python", roboticstoolbox_lm),
    "ssik": ("ssik", ssik_exact),
    "tracik": ("pytracik", trac_ik),
    "pinocchio": ("pin", pinocchio_lm),
    "pink": ("pin-pink", pink_steps),
    "mink": ("mink", mink_steps),
    "placo": ("placo", placo_steps),
    "ikpy": ("ikpy", ikpy_chain),
}
"""By a short name: the distribution, and how the peer is made."""


def version_of(distribution: str) -> str | None:
    """The installed version, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _quaternion(R: FloatArray) -> list[float]:
    """x, y, z, w of a rotation."""
    from scipy.spatial.transform import Rotation

    return [float(v) for v in Rotation.from_matrix(R).as_quat()]
