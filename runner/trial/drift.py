"""Has anything moved since calibrating? The camera by its marks, another camera by its picture, a joint by the tip.

Asked before a trial, and by whoever runs many. It says what moved and by how much, and corrects nothing: with a camera
or an arm that moved there is no place to send the arm to. What it can't look at it says too; only pictures of a live
camera or of the twin, of the calibration's size, can tell anything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runner.calibrate.bench import ends_in
from runner.calibrate.check_poses import find_slip
from runner.kinematics.model import FloatArray
from runner.trial.bench import Bench
from runner.trial.errors import InvalidStart
from runner.trial.trial import Trial
from runs.schema.run import DriftRecord
from vision.calibration.drift import OTHER_SCENE, check_drift, likeness
from vision.cameras.protocol import Picture
from vision.cameras.quality import assess

Going = Callable[[str, FloatArray], FloatArray]
Looking = Callable[[str], list[Picture]]
_AGAIN = {
    "camera": "calibrate again: trialcell calibrate plane",
    "picture": "connect the camera that was calibrated, set as it was, or calibrate this one: trialcell calibrate all",
    "scene": "connect the camera that was calibrated, or calibrate this one: trialcell calibrate all",
    "joint": "look at the arm and the gripper, then: trialcell calibrate joints",
}


class Moved(InvalidStart):
    """Something has moved since calibrating."""

    def __init__(self, found: DriftRecord) -> None:
        self.found = found
        super().__init__(found.problem or "", next_step=_AGAIN[found.moved or "camera"])


def drift_due(trial_number: int, every: int) -> bool:
    """Whether a batch looks for slipped joints before this trial (from 1): the first, then every so many; 0: never."""
    return every > 0 and (trial_number - 1) % every == 0


def what_moved(bench: Bench, *, with_arm: bool = True) -> DriftRecord:
    """What has moved since calibrating and by how much; `problem` None is all well. The arm ends at home.

    Args:
        with_arm: also go to the check poses and look at the tip, where the arm is calibrated. The gripper must be open
            and empty, and nothing may stand on the table that is higher than block and box.

    Raises:
        NoWay, Refused, ArmError: the arm could not go there. CameraUnavailable: there is no picture.
    """

    def go(label: str, goal_deg: FloatArray) -> FloatArray:
        here = bench.mover.readings.read_deg()
        path = bench.planner.plan_transfer(here, goal_deg, bench.arm.obstacles)
        bench.mover.move(label, path, tolerance_deg=bench.config.arm.tol_pick_place_deg, correct=True)
        return bench.mover.readings.read_deg()

    def look(label: str) -> list[Picture]:
        bench.clock.sleep(bench.config.camera.settle_s)
        return [bench.camera.read().image_bgr for _ in range(bench.config.camera.captures)]

    home = np.asarray(bench.config.arm.home_deg, dtype=np.float64)
    go("drift_home", home)
    found = _looked(bench, go, look, with_arm=with_arm)
    go("drift_home", home)
    return found


def camera_drift(bench: Bench, image_bgr: Picture) -> DriftRecord:
    """What one picture says of the camera, (h, w, 3) blue-green-red."""
    if bench.camera.replays:
        return DriftRecord(moved=None, problem=None, not_looked="stored pictures")
    if bench.view is None:
        return DriftRecord(moved=None, problem=None, not_looked="no calibration")
    if not bench.view.matches(image_bgr):
        high, wide = image_bgr.shape[:2]
        then = bench.view.size_px
        problem = f"the camera's picture is {wide}×{high} px, and the calibrated one's was {then[0]}×{then[1]} px"
        return DriftRecord(moved="picture", problem=f"{problem}: it is another camera, or set otherwise")
    if bench.view_note is not None:
        return DriftRecord(moved=None, problem=None, not_looked=bench.view_note)
    drift = check_drift(image_bgr, bench.marks)
    told = {"marks_px": {str(n): px for n, px in drift.moved_px.items()}, "marks_missing": drift.missing}
    if drift.camera_moved:
        return DriftRecord(moved="camera", problem=drift.problem, **told)
    if bench.marks and not drift.moved_px:
        problem = f"{drift.problem}; or this is not the camera that was calibrated"
        return DriftRecord(moved="scene", problem=problem, **told)
    if not bench.marks and bench.scene is not None and likeness(image_bgr, bench.scene) < OTHER_SCENE:
        problem = "the picture does not look like the one that the plane was calibrated with: another camera or desk"
        return DriftRecord(moved="scene", problem=problem)
    return DriftRecord(moved=None, problem=drift.problem, **told)


def refuse_other_picture(trial: Trial, image_bgr: Picture) -> None:
    """Before the arm goes by what is seen: a camera with pictures of another size is not the one that was calibrated.

    Raises:
        Moved: it is so.
    """
    found = camera_drift(trial.bench, image_bgr)
    if found.moved == "picture":
        trial.book.add(found)
        raise Moved(found)


def refuse_what_moved(trial: Trial) -> None:
    """At home, with open jaws: look at the camera, then at the tip at the check poses, and write down what was found.

    Only where the arm is calibrated and the trial shall look; the camera is looked at again by every look at the table.

    Raises:
        Moved: camera or joint has moved. Refused, ArmError, Stopped: on the way.
    """
    bench = trial.bench
    if bench.arm_file is None or not bench.look_for_slip or trial.dry_run or bench.camera.replays:
        return
    tolerance_deg = bench.config.arm.tol_pick_place_deg

    def go(label: str, goal_deg: FloatArray) -> FloatArray:
        trial.travel(label, goal_deg, tolerance_deg, correct=True)
        return bench.mover.readings.read_deg()

    def look(label: str) -> list[Picture]:
        return [frame.image_bgr for frame in trial.capture(label)]

    found = _looked(bench, go, look, with_arm=True)
    trial.book.add(found)
    if found.moved is not None:
        raise Moved(found)
    go("stage1_back_home", np.asarray(bench.config.arm.home_deg, dtype=np.float64))


def moved_camera(trial: Trial, image_bgr: Picture, *, noted: bool = False) -> DriftRecord | None:
    """What speaks against believing this picture, or None; asked of each picture from which something is concluded.

    One mark that was pushed alone is only noted; `noted`: that is in the log already.
    """
    found = camera_drift(trial.bench, image_bgr)
    if found.moved is not None:
        unfit = assess(image_bgr).problem
        if unfit is None:
            return found
        return found.model_copy(update={"problem": f"the camera's picture is of no use: {unfit}"})
    if found.problem is not None and not noted:
        trial.book.note(found.problem)
    return None


def _looked(bench: Bench, go: Going, look: Looking, *, with_arm: bool) -> DriftRecord:
    """From home: the camera by its picture, then, if that is as it was, the arm by its tip."""
    found = camera_drift(bench, look("drift_home")[0])
    return _with_arm(bench, found, go, look) if with_arm and found.moved is None else found


def _with_arm(bench: Bench, camera: DriftRecord, go: Going, look: Looking) -> DriftRecord:
    """The same record with what the tip says at the check poses."""
    file = bench.arm_file
    view, zero_deg = bench.view, np.array(bench.config.arm.joint_zero_deg)
    why = _cant_look(bench)
    if why is not None or file is None or view is None:
        return camera.model_copy(update={"not_looked": why})
    seen_poses, encoders, ends = [], [], []
    for number, pose in enumerate(file.check_poses, start=1):
        read = go(f"drift_{number}", np.array(pose.goal_deg))
        seen = ends_in(look(f"drift_{number}"), read, bench.arm.model, bench.base, view)
        if seen is not None:
            seen_poses.append(pose)
            encoders.append(read - zero_deg)
            ends.append(seen)
    if not seen_poses:
        problem = f"the fingertips were seen at none of the {len(file.check_poses)} check poses"
        return camera.model_copy(update={"moved": "joint", "problem": problem})
    slip = find_slip(seen_poses, np.array(encoders), np.array(ends), bench.arm.model, bench.base, view, zero_deg)
    update = {
        "check_poses": len(seen_poses),
        "tip_off_px": slip.off_px,
        "tip_off_mm": slip.off_mm,
        "slipped_joint": None if slip.joint is None else f"j{slip.joint}",
        "slip_deg": slip.slip_deg,
    }
    if slip.problem is not None:
        update |= {"moved": "joint", "problem": slip.problem}
    return camera.model_copy(update=update)


def _cant_look(bench: Bench) -> str | None:
    """Why the tip can't tell of a slip, or None."""
    if bench.arm_file is None or not bench.arm_file.check_poses:
        return "the arm was not calibrated by sight"
    if bench.arm_file.calibration_hashes.get("plane") != bench.provenance.calibration_hashes.get("plane"):
        return "the camera was calibrated anew since the arm was: trialcell calibrate joints"
    return None
