"""Versions of a cell's calibration: found, compared, rolled back, always so that lens and plane belong together.

What it puts back is what was measured then; it mixes nothing that was not measured together.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from runner.arm_calibration import ARM_KIND
from runner.calibrate.check import CHECK_KIND
from runs.errors import Family, TrialcellError
from vision.calibration.file import PlaneFile
from vision.calibration.kept import Version, put_back, read, version_of, versions

KINDS = ("lens", "plane", ARM_KIND, CHECK_KIND)


class CannotRollBack(TrialcellError):
    """A version that can't count again, for what it was measured with is gone; or two that can't be compared."""

    family: ClassVar[Family] = "usage"


def all_versions(folder: Path) -> list[Version]:
    """All versions of all kinds, newest first in each.

    Raises:
        CalibrationUnreadable: a file that is none.
    """
    return versions(folder, KINDS)


def version(folder: Path, id_text: str) -> Version:
    """The version whose id begins so.

    Raises:
        NoSuchCalibration: none or several.
    """
    return version_of(folder, id_text, KINDS)


def roll_back(folder: Path, id_text: str) -> list[Version]:
    """Make a version count again, and with it what belongs to it; which versions were put back.

    Raises:
        NoSuchCalibration: there is no such version. CannotRollBack: what belongs to it is gone; nothing was changed.
        CalibrationUnreadable: it was edited.
    """
    wanted = version(folder, id_text)
    if wanted.current:
        return []
    together = [wanted]
    if wanted.kind == "plane":
        lens_hash = read(wanted.path, PlaneFile, kind="plane").lens_hash
        lens = next((v for v in versions(folder, ("lens",)) if v.hash == lens_hash), None)
        if lens is None:
            raise CannotRollBack(
                f"the lens that the plane {wanted.id} was measured with is gone",
                next_step="measure the plane anew: trialcell calibrate plane",
            )
        together.insert(0, lens)
    if wanted.kind == "lens":
        planes = versions(folder, ("plane",))
        plane = next((v for v in planes if read(v.path, PlaneFile, kind="plane").lens_hash == wanted.hash), None)
        if plane is None:
            raise CannotRollBack(
                f"no plane was measured with the lens {wanted.id}",
                next_step="measure both anew: trialcell calibrate lens, then calibrate plane",
            )
        together.append(plane)
    back = [each for each in together if not each.current]
    for each in back:
        put_back(each, folder)
    return back


def comparable(one: Version, other: Version) -> None:
    """Only files of one kind can be compared.

    Raises:
        CannotRollBack: they are of two.
    """
    if one.kind != other.kind:
        raise CannotRollBack(
            f"{one.id} is a {one.kind}, {other.id} a {other.kind}: they have nothing in common",
            next_step="compare two versions of one kind: trialcell calibrate list",
        )
