"""URDFs for tests: a writer of plain chains, and MuJoCo's own loading of the same text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import numpy as np
import pytest

Joint = tuple[str, str, str, str]  # kind, xyz, rpy, axis


def _text(joints: Sequence[Joint], limits: str = '<limit lower="-2.5" upper="2.8" effort="1" velocity="1"/>') -> str:
    lines = ['<robot name="test">', '<link name="link0"/>']
    for i, (kind, xyz, rpy, axis) in enumerate(joints):
        lines += [
            f'<joint name="joint{i}" type="{kind}"><parent link="link{i}"/><child link="link{i + 1}"/>',
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>{limits if kind == "revolute" else ""}</joint>',
            f'<link name="link{i + 1}"/>',
        ]
    return "\n".join([*lines, "</robot>"]) + "\n"


@pytest.fixture(scope="session")
def chain_text() -> Callable[..., str]:
    """The text of a URDF whose links hang on each other in a row: link0, joint0, link1, …"""
    return _text


@pytest.fixture
def urdf(tmp_path) -> Callable[[str], Path]:
    """Writes a text to a file and gives its path."""

    def write(text: str, name: str = "arm.urdf") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def mujoco_poses() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Where MuJoCo's own URDF loader puts a link: positions (N, 3) and rotations (N, 3, 3) for joints in radians."""

    def poses(text: str, link: str, joints_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        plain = re.sub(r"(<robot[^>]*>)", r'\1<mujoco><compiler fusestatic="false"/></mujoco>', text, count=1)
        spec = mujoco.MjSpec.from_string(plain)
        for body in spec.bodies:
            if body.name != "world":
                body.mass, body.inertia, body.explicitinertial = 1.0, [1.0, 1.0, 1.0], True
        model = spec.compile()
        data = mujoco.MjData(model)
        index = model.body(link).id
        points, turns = [], []
        for joints in np.atleast_2d(joints_rad):
            data.qpos[:] = joints
            mujoco.mj_kinematics(model, data)
            points.append(data.xpos[index].copy())
            turns.append(data.xmat[index].reshape(3, 3).copy())
        return np.array(points), np.array(turns)

    return poses
