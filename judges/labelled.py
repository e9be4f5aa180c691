"""Labelled sets: pictures of single steps with the right answer beside each, to hold a judge against.

A set is a folder with `set.json` and the pictures that it names. It is made by rendering scenes, from runs that people
have ruled on, or from a folder of pictures with labels. A label is yes or no; what nobody could tell is not in a set.
It judges nothing, and the label never reaches the judge: `evidence_of` hands out pictures and the gripper's reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from judges.errors import LabelledSetUnreadable
from judges.protocol import Evidence, LabelledPicture, Role
from runs.errors import StorageUnwritable
from runs.events import utc_text
from runs.files import sha256_hex, write_atomic
from runs.schema.base import Record
from runs.schema.motion import GripReading
from runs.schema.verdict import JudgedStage
from vision.calibration.view import View
from vision.cameras.protocol import read_picture
from vision.detect.protocol import DetectSettings

SET_FILE = "set.json"
SET_VERSION = 1

Label = Literal["yes", "no"]
PictureLabel = Literal["before", "crop", "after"]


class LabelledItem(Record):
    """One step with its right answer. Picture paths are relative to the set's folder, with forward slashes.

    `kind` says what sort of scene it is (`clean`, `on_rim`, `beside`, `half_inside`, `wrong_colour`, `in_gripper`,
    `empty_gripper`, `two_blocks`, `hidden`, `in_box_at_start`, …), `light` under which light it was taken.
    """

    id: str = Field(min_length=1)
    stage: JudgedStage
    label: Label
    kind: str
    after: str
    before: str | None = None
    crop: str | None = None
    grip: GripReading | None = None
    light: str = "unknown"
    seed: int | None = None
    labelled_by: str | None = None
    blind: bool | None = None
    note: str = ""

    @field_validator("after", "before", "crop")
    @classmethod
    def _inside_the_folder(cls, path: str | None) -> str | None:
        if path is not None and (PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts):
            raise ValueError("a picture of a set lies in its folder")
        return path


class LabelledSet(Record):
    """What `set.json` holds. `calibration` names the folder, inside the set's, with lens and plane files if any."""

    version: Literal[1] = 1
    made_by: str
    made_at: str = Field(default_factory=utc_text)
    camera: str = "unknown"
    lens_hash: str | None = None
    plane_hash: str | None = None
    profile: str | None = None
    calibration: str | None = None
    items: tuple[LabelledItem, ...]

    @model_validator(mode="after")
    def _ids_differ(self) -> LabelledSet:
        seen: set[str] = set()
        for item in self.items:
            if item.id in seen:
                raise ValueError(f"the id {item.id!r} stands there twice")
            seen.add(item.id)
        return self


@dataclass(frozen=True, slots=True)
class OpenSet:
    """A set and the folder that holds its pictures. `content_hash` is that of its `set.json`."""

    folder: Path
    content: LabelledSet
    content_hash: str


def read_set(folder: Path) -> OpenSet:
    """The set in that folder.

    Raises:
        LabelledSetUnreadable: there is no `set.json`, or it is not one, or of a later version.
    """
    path = folder / SET_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabelledSetUnreadable(folder, (error.strerror or str(error)).lower()) from error
    try:
        content = LabelledSet.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LabelledSetUnreadable(folder, f"{where}: {first['msg']}" if where else first["msg"]) from None
    return OpenSet(folder, content, sha256_hex(data))


def write_set(folder: Path, content: LabelledSet) -> OpenSet:
    """Write `set.json`; the pictures are there already.

    Raises:
        StorageUnwritable
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnwritable(folder, (error.strerror or str(error)).lower()) from error
    data = content.model_dump_json(indent=1).encode() + b"\n"
    write_atomic(folder / SET_FILE, data)
    return OpenSet(folder, content, sha256_hex(data))


def labelled_picture(path: Path, label: PictureLabel) -> LabelledPicture:
    """A picture file as evidence; a crop is one of those from after the step.

    Raises:
        PictureUnreadable
    """
    image = read_picture(path)
    role: Role = "before" if label == "before" else "after"
    return LabelledPicture(label, role, image, crop=label == "crop", source_sha256=sha256_hex(path.read_bytes()))


def evidence_of(opened: OpenSet, item: LabelledItem, settings: DetectSettings, view: View | None) -> Evidence:
    """What a judge gets to see of an item: before first, the crop if any, and the whole picture from after last.

    Raises:
        PictureUnreadable: a picture that the set names can't be read.
    """
    named: tuple[tuple[str | None, PictureLabel], ...] = (
        (item.before, "before"),
        (item.crop, "crop"),
        (item.after, "after"),
    )
    pictures = tuple(labelled_picture(opened.folder / path, label) for path, label in named if path is not None)
    fits = view is not None and view.matches(pictures[-1].image_bgr)
    return Evidence(stage=item.stage, pictures=pictures, grip=item.grip, settings=settings, view=view if fits else None)
