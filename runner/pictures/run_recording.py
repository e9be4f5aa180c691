"""Runs as one Rerun recording on the clock of their logs: camera with what was seen, arm, targets, moves, verdicts.

It shows what the logs hold and makes nothing up: the arm stands where it was last read back (no pose between two
readings), a picture stays until the next one. Runs follow one another in the same scene.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import cv2
import numpy as np

from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.pictures.arm_drawing import Upright, arm_chain
from runner.pictures.canvas import BLUE
from runner.pictures.recording import JOINT_COLOURS, log_arm, log_shells, new_recording, rgb, rr, rrb
from runs.errors import RecordError
from runs.files import storage
from runs.report.pictures import read_picture
from runs.schema.detection import BoxDetection, DetectRecord
from runs.schema.geometry import TablePoint
from runs.schema.motion import MoveRecord
from runs.schema.run import RunLog, TipMeasurement
from vision.overlay import GREEN, ORANGE, SKY_BLUE, VERMILLION, Bgr, draw_overlay

TIMELINE = "utc"
_JPEG_QUALITY = 88
_SIZE_M = 0.4  # what axes and tool are drawn for: an arm on a table
_LEVEL = {"yes": "INFO", "no": "WARN", "unsure": "WARN", None: "ERROR"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run as it goes into a recording: its log, its folder, and the arm that it was made with."""

    log: RunLog
    folder: Path
    arm: ArmModel
    base: BaseInCell


def write_runs(path: Path, runs: Iterable[Recorded]) -> int:
    """These runs as a `.rrd` file, on the timeline `utc`, one after the other; how many. What is there is replaced.

    Args:
        runs: all made with the same arm.

    Raises:
        RecordError: there is none.
        StorageUnwritable: it can't be written.
    """
    coming = iter(runs)
    first = next(coming, None)
    if first is None:
        raise RecordError("there is no run to record", next_step="list what there is: trialcell runs list")
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.rrd")
    try:
        with storage(path):
            temporary.touch()
        recording = new_recording(temporary, "runs", _layout())
        _still(recording, first.arm)
        n = 0
        for run in chain((first,), coming):
            _run(recording, run)
            n += 1
        recording.flush()
        recording.disconnect()
        with storage(path):
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return n


def _still(recording: rr.RecordingStream, arm: ArmModel) -> None:
    """What does not change: the scene's axes, the curves' names, the arm's shapes."""
    recording.log("scene", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for i, joint in enumerate(arm.data.joint):
        colour = rgb(JOINT_COLOURS[i % len(JOINT_COLOURS)])
        for what, width in (("commanded", 1.0), ("read_back", 2.5)):
            line = rr.SeriesLines(names=[f"{joint.name} {what}"], colors=[colour], widths=[width])
            recording.log(f"joints_deg/{what}/{joint.name}", line, static=True)
    log_shells(recording, arm)


def _layout() -> rrb.Blueprint:
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Vertical(
                rrb.Spatial3DView(origin="scene", name="arm"),
                rrb.Spatial2DView(origin="camera/top", name="camera"),
            ),
            rrb.Vertical(
                rrb.TextLogView(origin="log", name="what happened"),
                rrb.TimeSeriesView(origin="joints_deg", name="joints, °: commanded thin, read back thick"),
                rrb.TimeSeriesView(origin="errors", name="read back less commanded, °; tip off, mm"),
            ),
        ),
        rrb.TimePanel(state="expanded", timeline=TIMELINE),
        collapse_panels=True,
    )


def _run(recording: rr.RecordingStream, run: Recorded) -> None:
    log, up = run.log, Upright.of(run.base)
    _say(recording, log.started_at, "run", log.run_id)
    first = next((move.pre_actual for move in log.moves if move.pre_actual is not None), None)
    if first is not None:
        _at(recording, log.started_at)
        log_arm(recording, run.arm, np.array(first), up, _SIZE_M)
    for stage in log.stage_records:
        _say(recording, stage.started_at, "stage", stage.name)
        if stage.outcome != "done":
            _say(recording, stage.ended_at, "stage", f"{stage.name}: {stage.outcome} {stage.note or ''}", "WARN")
    for move in log.moves:
        _move(recording, run, move, up)
    _pictures(recording, run)
    for look in log.detect:
        for name, xz_m, colour in (("block", look.block_xz_m, VERMILLION), ("box", look.box_xz_m, ORANGE)):
            if xz_m is not None:
                _mark(recording, run, look.at, name, (xz_m, 0.0), colour)
    for lookup in log.lookups:
        height_m = lookup.refined.target_m[1] if lookup.refined is not None else 0.0
        _mark(recording, run, lookup.at, "target", (lookup.target_xz_m, height_m), BLUE)
        if not lookup.guard_pass:
            _say(recording, lookup.at, "guard", f"{lookup.label}: {lookup.guard_reason}", "WARN")
    _words(recording, log)


def _words(recording: rr.RecordingStream, log: RunLog) -> None:
    """What the gripper said of itself, what was decided, and how it ended."""
    for grip in log.gripper:
        read = f": {grip.reading.reason}" if grip.reading is not None else ""
        _say(recording, grip.at, "gripper", f"{grip.action}{read}")
    for verdict in log.verdicts:
        told = f"{verdict.stage}: {verdict.verdict or 'no verdict'}, {verdict.error or verdict.reason}"
        _say(recording, verdict.at, "verdicts", told, _LEVEL[verdict.verdict])
    for ruling in log.rulings:
        taken = " is taken back" if ruling.takes_back else ""
        _say(
            recording, ruling.at, "verdicts", f"{ruling.by} on {ruling.stage}: {ruling.verdict}{taken} {ruling.reason}"
        )
    if log.ending is not None:
        _say(recording, log.ended_at, "run", f"{log.ending.result}: {log.ending.reason}")


def _at(recording: rr.RecordingStream, at: str | None) -> bool:
    """Set the time; False where the log says none, and then nothing is to be recorded."""
    if at is None:
        return False
    time = datetime.fromisoformat(at)
    plain = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    recording.set_time(TIMELINE, timestamp=np.datetime64(plain, "ns"))
    return True


def _say(recording: rr.RecordingStream, at: str | None, room: str, text: str, level: str = "INFO") -> None:
    if _at(recording, at):
        recording.log(f"log/{room}", rr.TextLog(text, level=level))


def _move(recording: rr.RecordingStream, run: Recorded, move: MoveRecord, up: Upright) -> None:
    goal = move.commanded or move.target_angles
    if not _at(recording, move.at):
        return
    if not move.arrived and not move.dry_run:
        recording.log("log/moves", rr.TextLog(f"{move.label} did not arrive", level="WARN"))
    recording.log("log/moves", rr.TextLog(move.label, level="DEBUG"))
    for what, pose in (("commanded", goal), ("read_back", move.post_actual)):
        if pose is not None and len(pose) == run.arm.n_joints:
            for joint, angle in zip(run.arm.data.joint, pose, strict=True):
                recording.log(f"joints_deg/{what}/{joint.name}", rr.Scalars(float(angle)))
    if move.post_actual is None or len(move.post_actual) != run.arm.n_joints:
        return
    log_arm(recording, run.arm, np.array(move.post_actual), up, _SIZE_M)
    off = np.array(move.post_actual) - np.array(goal)
    recording.log("errors/joints_deg", rr.Scalars(float(np.abs(off).max())))
    wanted = arm_chain(run.arm, np.array(goal), up)
    recording.log("scene/commanded", rr.LineStrips3D([wanted], radii=[0.002], colors=[rgb(SKY_BLUE)]))


def _mark(
    recording: rr.RecordingStream,
    run: Recorded,
    at: str | None,
    name: str,
    place: tuple[TablePoint, float],
    colour: Bgr,
) -> None:
    """A named point of the cell: on the table, and so high above it, metres."""
    if _at(recording, at):
        (x, z), y = place
        point = Upright.of(run.base).points(run.base.to_base(np.array([x, y, z])))
        recording.log(f"scene/{name}", rr.Points3D([point], radii=[0.006], colors=[rgb(colour)], labels=[name]))


def _pictures(recording: rr.RecordingStream, run: Recorded) -> None:
    """Every picture of the log when it was taken, with what was seen in it drawn over it; what is gone is said."""
    looks = {image: look for look in run.log.detect for image in look.images}
    tips = {tip.image: tip for tip in run.log.tip_measurements}
    box: BoxDetection | None = None
    for capture in run.log.vlm_captures:
        if not _at(recording, capture.at):
            continue
        image, problem = read_picture(capture.image, run.folder)
        if image is None:
            recording.log("log/camera", rr.TextLog(f"{capture.label}: {problem}", level="WARN"))
            continue
        look: DetectRecord | None = looks.get(capture.image)
        tip: TipMeasurement | None = tips.get(capture.image)
        box = look.box if look is not None and look.box is not None else box
        drawn = draw_overlay(
            image,
            blocks=() if look is None or look.block is None else (look.block,),
            box=box if look is not None or capture.label.startswith("place") else None,
            tip=None if tip is None else tip.tip,
        )
        coded = cv2.imencode(".jpg", drawn, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])[1].tobytes()
        recording.log("camera/top", rr.EncodedImage(contents=coded, media_type="image/jpeg"))
        recording.log("log/camera", rr.TextLog(capture.label, level="DEBUG"))
        if tip is not None and tip.diff is not None:
            recording.log("errors/tip_mm", rr.Scalars(tip.diff.dist_mm))
            height_m = tip.tip.height_y_m if tip.tip is not None and tip.tip.height_y_m is not None else 0.0
            _mark(recording, run, capture.at, "tip", ((tip.diff.tip_x, tip.diff.tip_z), height_m), GREEN)
