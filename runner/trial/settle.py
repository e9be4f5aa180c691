"""Puts right what an earlier run left: back out of where the arm stands, a held block set down, or a person asked.

The first thing that a trial does after it has looked at the arm. The gripper's own word decides whether something is
held; the logs say where it came from. Without either nothing is moved: what can't be known is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from runner.geometry import HeldBlock, interpolated, obstacles_of
from runner.kinematics.errors import KinematicsError
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import stance_of, tool_points_cell_m
from runner.kinematics.model import FloatArray
from runner.kinematics.motion import StraightLine, straight_line
from runner.trial.errors import InvalidStart
from runner.trial.found import Standing, UnderWay, Way
from runner.trial.grip import check_grip
from runner.trial.rest import set_down
from runner.trial.trial import Trial
from runs.schema.geometry import TablePoint
from vision.cameras.quality import assess
from vision.detect.box import find_box

_ON_LINE_DEG = 4.0  # an arm this near to a planned line stands on it: it sags by up to 2.6°
_AT_END_DEG = 4.0
_SAME_BOX_M, _IN_BOX_M = 0.025, 0.03
_PLACE_YAWS_DEG = (0.0, 15.0, -15.0, 30.0, -30.0, 45.0)  # of a block that is set down at a chosen place
_SET_DOWN_MM = 4.0  # how far its lowest corner may be from the table when the jaws open

Act = Literal["nothing", "go_home", "set_down", "ask"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a trial found when it began, and what it did: `holding` is the gripper's word, None where it gave none."""

    under_way: UnderWay | None
    holding: bool | None
    act: Act
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The straight moves that the last run had planned, where they can still be gone."""

    pick: StraightLine | None
    place: StraightLine | None


def settle_first(trial: Trial, under_way: UnderWay | None) -> Found:
    """Say in one sentence what was found, and put it right. Afterwards nothing is held and the arm may go home.

    Raises:
        InvalidStart: it takes a person: the settings say so, or nobody knows where what is held came from.
        PlanningError, Refused, ArmError: the way there or a fault; what is held stays held.
    """
    here = trial.here_deg()
    reading = check_grip(trial, "stage1_grip_before")
    at_home = float(np.abs(here - np.array(trial.bench.config.arm.home_deg)).max())
    at_rest_home = at_home <= trial.bench.config.arm.tol_home_deg
    if under_way is None:
        return _unknown(trial, reading.holding, None if at_rest_home else at_home)
    lines = _Lines(_line(trial, under_way.pick), _line(trial, under_way.place))
    at_grasp = lines.pick is not None and _away_deg(here, lines.pick.waypoints_deg[-1]) <= _AT_END_DEG
    held = reading.holding is True or (under_way.may_hold and (reading.holding is None or at_grasp))
    trial.may_hold = held
    away = "at home" if at_rest_home else f"{at_home:.0f}° from home"
    found = f"{under_way.sentence}; the arm stands {away}, the gripper {_word(reading.holding, held=held)}"
    if not held:
        if at_rest_home:
            told = Found(under_way, reading.holding, "nothing", f"{found}: nothing to put right")
        else:
            told = Found(under_way, reading.holding, "go_home", f"{found}: it goes home")
        trial.book.note(told.sentence, aloud=True)
        if told.act == "go_home":
            _reckon_with(trial, under_way, None)
            _back_out(trial, here, lines)
        return told
    wanted = trial.bench.config.trial.found_held
    if wanted == "ask" or lines.pick is None:
        why = "a person is to take it out" if wanted == "ask" else "where it came from is not known"
        return _ask(trial, f"{found}: {why}")
    place = _taken_from(trial, lines.pick) if wanted == "start" else trial.bench.config.trial.found_place_xz_m
    x, z = (round(1000 * v) for v in place)
    where = "where it was taken" if wanted == "start" else "at the place of the settings"
    told = Found(under_way, reading.holding, "set_down", f"{found}: it is set down {where}, ({x}, {z}) mm")
    trial.book.note(told.sentence, aloud=True)
    _reckon_with(trial, under_way, _held_at(trial, lines.pick))
    trial.set_down_line = lines.pick if wanted == "start" else _line_to(trial, place, lines.pick)
    _bring_down(trial, here, lines, at_grasp=at_grasp and wanted == "start")
    return told


def _word(holding: bool | None, *, held: bool) -> str:
    """What the gripper does, and on whose word."""
    if held:
        return "holds the block" if holding else "may hold the block"
    return "holds nothing" if holding is False else "gave no answer, and by the log it holds nothing"


def _unknown(trial: Trial, holding: bool | None, off_home_deg: float | None) -> Found:
    """No run left anything, so what the jaws hold was put there by somebody.

    A gripper that gives no answer can't be asked; an arm away from home may then hold something over the table.
    """
    if holding:
        return _ask(trial, "the gripper already holds something, and no run says where it came from")
    if holding is None and off_home_deg is not None and trial.bench.arm.model.data.gripper is not None:
        return _ask(
            trial,
            f"the arm stands {off_home_deg:.0f}° from home, its gripper gave no answer, and no run says whether it "
            "holds something",
            "look at the gripper, take out what it holds, then: trialcell arm home",
        )
    return Found(None, holding, "nothing", "nothing was under way")


_TAKE_IT_OUT = "take it out (trialcell arm open, a hand under it), put it on the table, and begin again"


def _ask(trial: Trial, sentence: str, next_step: str = _TAKE_IT_OUT) -> Found:
    trial.may_hold = True
    raise InvalidStart(sentence, next_step=next_step)


def _bring_down(trial: Trial, here: FloatArray, lines: _Lines, *, at_grasp: bool) -> None:
    """Out of where the arm stands, over the place, down, open, up again; near the grasp itself, just down to it."""
    assert trial.set_down_line is not None
    arm = trial.bench.arm
    tolerance_deg = trial.bench.config.arm.tol_pick_place_deg
    if at_grasp:
        trial.move("found_down", trial.set_down_line.waypoints_deg[-1:], tolerance_deg, correct=True)
    else:
        _back_out(trial, here, lines)
        trial.travel("found_above", trial.set_down_line.waypoints_deg[0], tolerance_deg, correct=True)
        if check_grip(trial, "found_grip_check").holding is False:
            arm.obstacles = arm.obstacles.released()
            trial.may_hold = False
            return
    set_down(trial, "found")


def _back_out(trial: Trial, here: FloatArray, lines: _Lines) -> None:
    """Where the arm stands on one of the last run's straight moves, back along it, which is known to be clear."""
    for line in (lines.place, lines.pick):
        if line is None:
            continue
        points = interpolated(line.waypoints_deg, 1.0)
        away = np.abs(points - here).max(axis=1)
        nearest = int(np.argmin(away))
        if away[nearest] <= _ON_LINE_DEG and nearest > 0:
            trial.move("found_back_up", points[: nearest + 1][::-1], trial.bench.config.arm.tol_pick_place_deg)
            return


def _reckon_with(trial: Trial, under_way: UnderWay, held: HeldBlock | None) -> None:
    """The guard's surroundings: the box as the camera sees it now, else as it was seen last; the block, or it held."""
    box, block = _box_now(trial, under_way.box), under_way.block
    obstacles = obstacles_of(
        trial.bench.config,
        box_xz_m=None if box is None else box.xz_m,
        box_yaw_deg=0.0 if box is None else box.yaw_deg,
        block_xz_m=None if block is None or held is not None or _delivered(box, block) else block.xz_m,
        block_yaw_deg=0.0 if block is None else block.yaw_deg,
    )
    trial.bench.arm.obstacles = obstacles if held is None else obstacles.holding(held, may_rest=True)


def _delivered(box: Standing | None, block: Standing) -> bool:
    return box is not None and float(np.hypot(*np.subtract(box.xz_m, block.xz_m))) < _IN_BOX_M


def _box_now(trial: Trial, before: Standing | None) -> Standing | None:
    """The box in a picture taken now, kept as `found`. As it was before where it is not seen, or has not moved: then
    it was seen without the arm over it.
    """
    bench = trial.bench
    (frame,) = trial.capture("found")
    if bench.view is None or not bench.view.matches(frame.image_bgr) or assess(frame.image_bgr).problem is not None:
        trial.book.note("the camera shows nothing of use: reckoning with the box where it was seen last", aloud=True)
        return before
    box = find_box(frame.image_bgr, bench.view, bench.detect).best
    if box is None or box.xz_m is None or box.score < bench.detect.score_limit:
        return before
    if before is not None and float(np.hypot(*np.subtract(box.xz_m, before.xz_m))) <= _SAME_BOX_M:
        return before
    return Standing(box.xz_m, box.yaw_deg or 0.0)


def _line(trial: Trial, way: Way | None) -> StraightLine | None:
    if way is None:
        return None
    planner = trial.bench.planner
    try:
        return straight_line(np.array(way.begin_deg), np.array(way.end_deg), planner.arm, planner.limits)
    except KinematicsError:
        return None  # planned for an arm or limits that are others now


def _line_to(trial: Trial, place: TablePoint, taken: StraightLine) -> StraightLine:
    """The straight move down to a chosen place, the block standing on the table at its end.

    Raises:
        NoPlan: the place is out of reach. InvalidStart: the block would hang there or be pressed into the table.
    """
    bench = trial.bench
    T, half_m = _held_at(trial, taken).T_tcp_block, bench.config.block.side_mm / 2000.0
    free = bench.arm.obstacles.released()
    best_mm, best = np.inf, None
    for yaw_deg in _PLACE_YAWS_DEG:
        line = bench.planner.plan_pick(place, yaw_deg, free).line
        low_mm = 1000.0 * _lowest_m(trial, line.waypoints_deg[-1], T, half_m)
        if abs(low_mm) < abs(best_mm):
            best_mm, best = low_mm, line
    if best is None or abs(best_mm) > _SET_DOWN_MM:
        raise InvalidStart(
            f"at ({place[0] * 1000:.0f}, {place[1] * 1000:.0f}) mm the held block would come {best_mm:.1f} mm over the "
            f"table (allowed ±{_SET_DOWN_MM:g} mm): the arm stands otherwise there than where it was taken",
            next_step="choose another trial.found_place_xz_m, or trial.found_held = start",
        )
    return best


def _lowest_m(trial: Trial, pose_deg: FloatArray, T_tcp_block: FloatArray, half_m: float) -> float:
    T = tool_pose(pose_deg, trial.bench.planner.arm) @ T_tcp_block
    corners = np.array(list(product((-half_m, half_m), repeat=3)))
    return float(trial.bench.base.to_cell(corners @ T[:3, :3].T + T[:3, 3])[:, 1].min())


def _held_at(trial: Trial, line: StraightLine) -> HeldBlock:
    """The block as it lies in jaws that closed on it at the end of the line: between them, its edges along them."""
    planner, grasp = trial.bench.planner, line.waypoints_deg[-1]
    heading_deg = stance_of(grasp, planner.arm, planner.base).heading_deg
    T = planner.block_in_tool(grasp, _taken_from(trial, line), heading_deg)
    return HeldBlock(T, trial.bench.config.block.side_mm)


def _taken_from(trial: Trial, line: StraightLine) -> TablePoint:
    x, _, z = tool_points_cell_m(line.waypoints_deg[-1], trial.bench.planner.arm, trial.bench.planner.base).tolist()
    return (x, z)


def _away_deg(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one - other).max())
