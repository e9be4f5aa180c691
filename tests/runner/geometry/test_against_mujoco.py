"""The guard against MuJoCo's own distances, which know nothing of ours: what it passes touches nothing on its way.

The twin's scene is loaded as it is; only the table's plane becomes a slab, since MuJoCo measures no distance to planes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

from runner.arms.errors import Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.config import Config
from runner.geometry import HeldBlock, Obstacles, clearances, first_broken, interpolated, obstacles_of
from runner.geometry.clearance import margin_mm
from runner.kinematics.fk import tool_pose
from runner.kinematics.gripper import gripper_of, theta_from_opening_rad
from runner.twin.scene import build_scene

CONFIG = Config()
STEP_DEG = 0.5  # of the poses that are looked at: the guard looks every 2°
FAR_M = 0.03
BOX_XZ_M, BLOCK_XZ_M = (-0.17, 0.16), (0.17, 0.16)


class Independent:
    """MuJoCo's distances between the twin's solids at any pose."""

    def __init__(self, arm: Any) -> None:
        self.scene = build_scene(CONFIG, arm, (0.21, 0.15))
        self.model = mujoco.MjModel.from_xml_string(self.scene.xml)
        table = self.model.geom("table").id
        self.model.geom_type[table] = mujoco.mjtGeom.mjGEOM_BOX
        self.model.geom_size[table] = (0.45, 0.7, 0.05)
        self.model.geom_pos[table, 2] -= 0.05
        self.model.geom_rbound[table] = 1.0
        self.data = mujoco.MjData(self.model)
        names = [self.model.geom(i).name for i in range(self.model.ngeom)]
        self.link_of: dict[int, int] = {}
        for geom, name in enumerate(names):
            body = self.model.body(self.model.geom_bodyid[geom]).name
            solid = self.model.geom_conaffinity[geom] == 1 or name.startswith("bar")
            if not solid or name in ("table", "mast") or body in ("block", "box"):
                continue
            link = int(body.removeprefix("link")) if body.startswith("link") else 0 if body == "world" else 6
            self.link_of[geom] = link
        self.things = {
            "table": [table],
            "mast": [self.model.geom("mast").id],
            "box": [g for g, name in enumerate(names) if name.startswith("box_")],
            "block": [self.model.geom("block").id],
        }
        self.put(np.zeros(6), Obstacles())
        self.pairs = [
            (a, b)
            for a, i in self.link_of.items()
            for b, j in self.link_of.items()
            if j - i >= 3 or (j - i == 2 and self.between(a, b) > 0.015)
        ]

    def put(self, pose_deg: np.ndarray, around: Obstacles) -> None:
        """The arm at a pose, jaws, block and box as the obstacles say."""
        qpos = self.data.qpos
        qpos[:6] = np.radians(pose_deg)
        gripper = gripper_of(self.scene.arm)
        theta = gripper.theta_open_rad
        if around.opening_mm is not None:
            theta = theta_from_opening_rad(around.opening_mm, gripper)
        for side in "rl":
            qpos[self.model.joint(f"drive_{side}").qposadr[0]] = theta
            qpos[self.model.joint(f"counter_{side}").qposadr[0]] = -theta
        T = np.eye(4)
        T[:3, 3] = (0.0, 0.0, 3.0)  # away
        if around.held is not None:
            T = tool_pose(pose_deg, self.scene.arm) @ around.held.T_tcp_block
        elif around.block is not None:
            half = around.block.side_mm / 2000.0
            T = self._upright((around.block.xz_m[0], half, around.block.xz_m[1]), around.block.yaw_deg)
        self._place("block", T)
        T = np.eye(4)
        T[:3, 3] = (0.0, 0.0, -3.0)
        if around.box is not None:
            T = self._upright((around.box.xz_m[0], 0.0, around.box.xz_m[1]), around.box.yaw_deg)
        self._place("box", T)
        mujoco.mj_kinematics(self.model, self.data)

    def _upright(self, place_m: tuple[float, float, float], yaw_deg: float) -> np.ndarray:
        base, yaw = self.scene.base, np.radians(yaw_deg)
        ahead = base.turn_to_base(np.array([np.cos(yaw), 0.0, np.sin(yaw)]))
        T = np.eye(4)
        T[:3, 0], T[:3, 2] = ahead, (0.0, 0.0, 1.0)
        T[:3, 1] = np.cross(T[:3, 2], ahead)
        T[:3, 3] = base.to_base(np.array(place_m))
        return T

    def _place(self, body: str, T: np.ndarray) -> None:
        at, quat = self.model.joint(body).qposadr[0], np.empty(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(T[:3, :3]).reshape(-1))
        self.data.qpos[at : at + 7] = [*T[:3, 3], *quat]

    def between(self, a: int, b: int) -> float:
        """Distance of two solids, metres; at most FAR_M."""
        return mujoco.mj_geomDistance(self.model, self.data, a, b, FAR_M, None)

    def smallest_m(self, pose_deg: np.ndarray, around: Obstacles) -> dict[str, float]:
        """The smallest distance to each obstacle, metres, FAR_M for all that is farther."""
        self.put(pose_deg, around)
        held = around.held is not None
        moving = [g for g, link in self.link_of.items() if link >= 2]
        found = {
            "table": min(self.between(g, self.things["table"][0]) for g in moving),
            "mast": self._to("mast", 1),
            "box": self._to("box", 1) if around.box is not None else FAR_M,
            "block": self._to("block", 1) if around.block is not None else FAR_M,
            "arm": min(self.between(a, b) for a, b in self.pairs),
        }
        if held:
            (block,) = self.things["block"]
            if not around.held_may_rest:
                found["table"] = min(found["table"], self.between(block, self.things["table"][0]))
            found["mast"] = min(found["mast"], self.between(block, self.things["mast"][0]))
            if around.box is not None:
                found["box"] = min(found["box"], *(self.between(block, g) for g in self.things["box"]))
            folded = [g for g, link in self.link_of.items() if link <= 3]
            found["arm"] = min(found["arm"], *(self.between(block, g) for g in folded))
        return found

    def _to(self, name: str, lowest_link: int) -> float:
        mine = [g for g, link in self.link_of.items() if link >= lowest_link]
        return min(self.between(g, thing) for g in mine for thing in self.things[name])

    def on_the_way_m(self, path_deg: np.ndarray, around: Obstacles) -> dict[str, float]:
        """The smallest distances along a path."""
        each = [self.smallest_m(pose, around) for pose in interpolated(path_deg, STEP_DEG)]
        return {name: min(one[name] for one in each) for name in each[0]}


@dataclass
class Tally:
    """How many moves passed, how many were refused for their path, and how MuJoCo sees those."""

    passed: int = 0
    refused: int = 0
    needlessly: int = 0  # though MuJoCo sees more than the margin all along the way
    nearest_passed_mm: float = np.inf
    early_mm: list[float] = field(default_factory=list)  # where a move is first refused: how far beyond the margin


@pytest.fixture(scope="module")
def independent(arm):
    return Independent(arm)


def surroundings(rng: np.random.Generator, *, held: bool) -> Obstacles:
    around = obstacles_of(
        CONFIG,
        box_xz_m=(BOX_XZ_M[0] + rng.uniform(-0.05, 0.05), BOX_XZ_M[1] + rng.uniform(-0.05, 0.05)),
        box_yaw_deg=rng.uniform(-45, 45),
        block_xz_m=(BLOCK_XZ_M[0] + rng.uniform(-0.06, 0.06), BLOCK_XZ_M[1] + rng.uniform(-0.05, 0.05)),
        block_yaw_deg=rng.uniform(-45, 45),
    )
    if not held:
        return replace(around, opening_mm=rng.choice([None, 10.0, 30.0]))
    T = np.eye(4)
    tilt = np.radians(rng.uniform(-60, 60))
    T[:3, :3] = [[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]
    T[:3, 3] = rng.uniform(-0.004, 0.004, 3) * (0.0, 1.0, 1.0)
    return around.holding(HeldBlock(T, 30.0))


def tried(independent: Independent, arm: Any, base: Any, seed: int, moves: int, *, held: bool) -> Tally:
    """Random moves from poses where nothing is touched, near ones and far ones, through the guard and MuJoCo."""
    rng, tally = np.random.default_rng(seed), Tally()
    rules = GuardRules.of(arm, CONFIG.arm, CONFIG.table, CONFIG.guard)
    guard = GuardedArm(SimpleNamespace(model=arm), base, rules)  # it is asked, and sends nothing
    lo, hi = np.array(rules.min_deg), np.array(rules.max_deg)
    hi[1] = rules.j1_safe_max_deg
    asked = 0
    while asked < moves:
        around = surroundings(rng, held=held)
        guard.obstacles = around
        start = np.clip(rng.normal([0, 40, -10, 0, 30, -30], [50, 25, 30, 20, 35, 30]), lo, hi)
        goal = np.clip(start + rng.normal(0, rng.choice([8, 30, 50]), 6), lo, hi)
        path = np.stack((start, goal))
        if first_broken(clearances(start, arm, base, around), CONFIG.guard) is not None:
            continue  # where an arm stands near something already, it may leave
        margins = {name: margin_mm(name, CONFIG.guard) for name in ("table", "box", "mast", "arm", "block")}
        asked += 1
        try:
            guard.check("move", goal[None], np.zeros(6), start_deg=start)
        except Refused as refusal:
            against = refusal.rule.removeprefix("path against ")
            if against not in margins:
                continue
            tally.refused += 1
            tally.needlessly += independent.on_the_way_m(path, around)[against] * 1000.0 > margins[against]
            tally.early_mm.append(_early_mm(guard, independent, path, margins))
            continue
        found = independent.on_the_way_m(path, around)
        assert min(found.values()) > 0.0, (found, start.tolist(), goal.tolist(), around)
        tally.passed += 1
        tally.nearest_passed_mm = min(tally.nearest_passed_mm, *(1000.0 * m for m in found.values()))
    return tally


def _early_mm(guard: GuardedArm, independent: Independent, path: np.ndarray, margins: dict[str, float]) -> float:
    """How far beyond its margin the arm still is, by MuJoCo, where a move that goes on is first refused."""
    start, way = path[0], path[1] - path[0]
    passes, refused, against = 0.0, 1.0, ""
    while (refused - passes) * np.abs(way).max() > 0.3:
        share = (passes + refused) / 2
        try:
            guard.check("part", (start + share * way)[None], np.zeros(6), start_deg=start)
            passes = share
        except Refused as refusal:
            refused, against = share, refusal.rule.removeprefix("path against ")
    if against not in margins:
        return 0.0  # a limit or the floor came first
    there = independent.smallest_m(start + refused * way, guard.obstacles)[against]
    return max(0.0, 1000.0 * there - margins[against])


@pytest.mark.parametrize("held", [pytest.param(False, marks=pytest.mark.slow), True])
def test_what_the_guard_passes_touches_nothing(independent, arm, base, held):
    tally = tried(independent, arm, base, 1, 25, held=held)
    assert tally.passed >= 4
    assert tally.refused >= 1


@pytest.mark.slow
@pytest.mark.parametrize("held", [False, True])
def test_of_many_moves_none_that_passes_touches_and_few_are_refused_for_nothing(independent, arm, base, held):
    tally = tried(independent, arm, base, 2, 450, held=held)
    assert tally.passed >= 300
    assert tally.refused >= 40
    assert tally.needlessly <= 0.05 * tally.refused
    assert np.median(tally.early_mm) <= 2.0
    assert max(tally.early_mm) <= 8.0


def test_the_independent_distances_are_those_of_hand_reckoning(independent, arm, base):
    """A check that could not fail would prove nothing: it sees a box, a block, the table and the arm itself."""
    folded = independent.smallest_m(np.array([0.0, 0, 65, 0, 0, 0]), Obstacles())
    assert folded["arm"] < 0.0
    down = independent.smallest_m(np.array([0.0, 88, 0, 0, 60, -30]), Obstacles())
    assert down["table"] < 0.0
    over = obstacles_of(CONFIG, box_xz_m=(0.0, 0.24))
    low = independent.smallest_m(np.array([0.0, 62, -20, 0, 20, -30]), over)
    assert low["box"] < FAR_M
