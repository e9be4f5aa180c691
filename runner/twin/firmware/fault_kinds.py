"""What goes wrong with such arms, a class each, as owners have reported it.

A fault's `row` is its place in the collection that they come from.
"""

from __future__ import annotations

from runner.twin.firmware.fault import Fault
from runner.twin.firmware.fault_answers import (
    CutFrames,
    GhostMotion,
    LineDrops,
    MovingAlways,
    NoAngles,
    NonsenseAngles,
    StrayHeader,
)
from runner.twin.firmware.fault_gripper import (
    CalibrationFails,
    GripperIgnores,
    GripperLetsGo,
    LateAfterGrip,
    SilentAfterGrip,
)
from runner.twin.firmware.fault_motion import CutsShort, DeadBand, DeafToGoal, Detour, DrivesToStop, LatchedError, Sag
from runner.twin.firmware.fault_power import Dead, HotServo, Restart, ServoOff, Unpowered

EVERY_FAULT: tuple[type[Fault], ...] = (
    NoAngles, StrayHeader, NonsenseAngles, GhostMotion, DeafToGoal, DrivesToStop, Detour, DeadBand, Sag,
    LatchedError, MovingAlways, GripperIgnores, GripperLetsGo, SilentAfterGrip, CalibrationFails, LateAfterGrip,
    Dead, ServoOff, Restart, HotServo, LineDrops, CutsShort, Unpowered, CutFrames,
)  # fmt: skip
