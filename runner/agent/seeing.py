"""The tools that look: what the camera sees now, what detectors find in a kept picture, where things are."""

from __future__ import annotations

import cv2
import numpy as np

from runner.agent.cell_view import CellView
from runner.agent.errors import NotHere, NotNow
from runner.agent.fence import quoted
from runner.agent.models import DetectIn, DetectOut, DroppedThing, Grip, LookIn, LookOut, Thing, WhereIsIn, WhereIsOut
from runner.agent.sitting import Sitting, View
from runner.agent.tool import Result
from runner.kinematics.frames import tool_points_cell_m
from runner.trial.grip import check_grip
from runner.trial.trial import joints_of
from runs.schema.detection import BlockDetection, BoxDetection
from runs.schema.motion import GripReading
from vision.cameras.protocol import Picture
from vision.cameras.quality import assess
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.inside import inside_by

MOST_DROPPED = 12


def look(sitting: Sitting, asked: LookIn) -> Result:
    """Look now."""
    before = len(sitting.trial.book.log.vlm_captures)
    view = sitting.look(aside=asked.aside)
    return Result(seen_out(sitting, view, before), last_picture(sitting))


def seen_out(sitting: Sitting, view: View, captures_before: int) -> LookOut:
    """What a look has shown, for its answer."""
    log = sitting.trial.book.log
    last = log.detect[-1]
    block: BlockDetection | None = last.block
    box: BoxDetection | None = last.box
    if view.seen is not None:
        block, box = view.seen.block, view.seen.box
    inside = None
    if block is not None and box is not None and block.xz_m is not None and box.inside_xz_m is not None:
        inside = round(inside_by(box.inside_xz_m, block.xz_m) * 1000.0, 1)
    return LookOut(
        block=thing_of(block),
        box=thing_of(box),
        block_inside_box_mm=inside,
        no_pick_because=None if view.no_pick_because is None else quoted(view.no_pick_because),
        doubts=() if last.note is None else (quoted(last.note),),
        grip=grip_of(sitting.trial.grip),
        pictures=tuple(capture.label for capture in log.vlm_captures[captures_before:]),
    )


def detect(at: Sitting | CellView, asked: DetectIn) -> Result:
    """Detectors on one kept picture: of a run that has ended, or of this sitting."""
    cell = at.cell if isinstance(at, Sitting) else at
    if asked.run is not None or not isinstance(at, Sitting):
        stored = cell.ended_run(asked.run or "latest")
    else:
        stored = cell.store.open(at.trial.book.run_id)
    label, path = cell.kept_picture(stored, asked.picture)
    read = cv2.imread(str(path))
    if read is None:
        raise NotHere(f"the picture {label!r} can't be read")
    image: Picture = np.asarray(read, dtype=np.uint8)
    blocks, boxes = find_block(image, cell.view, cell.detect), find_box(image, cell.view, cell.detect)
    problem = assess(image).problem
    dropped = sorted((*blocks.dropped, *boxes.dropped), key=lambda each: -each.area_px)[:MOST_DROPPED]
    answer = DetectOut(
        picture=f"{stored.entry.run_id}/{label}",
        block=thing_of(blocks.best),
        box=thing_of(boxes.best),
        dropped=tuple(
            DroppedThing(what=d.what, px=d.centre_px, area_px=d.area_px, reason=quoted(d.reason)) for d in dropped
        ),
        quality=None if problem is None else quoted(problem),
    )
    return Result(answer, {label: path.read_bytes()})


def where_is(sitting: Sitting, asked: WhereIsIn) -> Result:
    """Where one thing is, seen or read."""
    trial, view = sitting.trial, sitting.view
    if asked.what in ("block", "box"):
        if view is None or view.seen is None:
            raise NotNow("nothing has been seen yet: look first" if view is None else f"not seen: {view.missing}")
        thing = view.seen.block if asked.what == "block" else view.seen.box
        ago = round(trial.bench.clock.now_s() - view.at_s, 1)
        return Result(WhereIsOut(what=asked.what, thing=thing_of(thing), seen_s_ago=ago))
    if asked.what == "gripper":
        reading = check_grip(trial, "agent_grip_check", on_table=True)
        return Result(WhereIsOut(what="gripper", grip=grip_of(reading)))
    if asked.what == "tip":
        tip = trial.tip
        if tip is None:
            raise NotNow("the tip is measured at a pick, and none has been tried")
        off = None if tip.diff is None else (round(tip.diff.dx_mm, 2), round(tip.diff.dz_mm, 2))
        said = None if tip.reason is None else quoted(tip.reason)
        return Result(WhereIsOut(what="tip", tip_minus_block_mm=off, said=said))
    joints = trial.here_deg() if trial.dry_run else trial.bench.mover.readings.read_deg()
    x, y, z = tool_points_cell_m(joints, trial.bench.arm.model, trial.bench.base).tolist()
    tool = (round(x, 4), round(y, 4), round(z, 4))
    return Result(WhereIsOut(what="arm", joints_deg=joints_of(joints), tool_m=tool))


def thing_of(found: BlockDetection | BoxDetection | None) -> Thing | None:
    """A detection for an answer."""
    if found is None:
        return None
    x, z = found.xz_m if found.xz_m is not None else (None, None)
    return Thing(
        x_m=None if x is None else round(x, 4),
        z_m=None if z is None else round(z, 4),
        yaw_deg=None if found.yaw_deg is None else round(found.yaw_deg, 1),
        score=round(found.score, 3),
        spread_mm=None if found.spread_mm is None else round(found.spread_mm, 2),
        px=(round(found.centre_px[0], 1), round(found.centre_px[1], 1)),
    )


def grip_of(reading: GripReading | None) -> Grip | None:
    """A reading of the gripper for an answer."""
    if reading is None:
        return None
    opening = None if reading.opening_mm is None else round(reading.opening_mm, 1)
    return Grip(value=reading.value, opening_mm=opening, holding=reading.holding, reason=quoted(reading.reason))


def last_picture(sitting: Sitting) -> dict[str, bytes]:
    """The picture that was kept last, by its label."""
    captures = sitting.trial.book.log.vlm_captures
    if not captures:
        return {}
    path = sitting.cell.cell.folder / captures[-1].image
    return {captures[-1].label: path.read_bytes()} if path.is_file() else {}
