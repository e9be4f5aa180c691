"""A labelled set from a folder of pictures and a list of labels: one row a step, in a CSV file with a header.

Columns: `picture` (from after the step), `stage` (pick or place) and `label` (yes or no) are needed; `before`, `crop`,
`kind`, `light`, `gripper_value`, `labelled_by`, `blind`, `note` and `id` may be there. A row that can't be used is left
out and named with its line and the reason; a label is never guessed.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path

from judges.labelled import LabelledItem, LabelledSet, OpenSet, write_set
from runner.calibrate.judge_set.errors import BadLabels
from runner.calibrate.judge_set.make import ReadGrip, prepare
from runs.files import storage
from vision.calibration.file import LENS_FILE, PLANE_FILE, load_lens, load_plane
from vision.calibration.kept import content_hash
from vision.cameras.protocol import read_picture
from vision.errors import VisionError

LABELS_FILE = "labels.csv"
NEEDED = ("picture", "stage", "label")
OPTIONAL = ("before", "crop", "kind", "light", "gripper_value", "labelled_by", "blind", "note", "id")
_YES, _NO = ("yes", "y", "true", "1", "success"), ("no", "n", "false", "0", "failure")


class _BadRow(ValueError):
    """A row that can't be used, and why."""


def set_from_folder(
    folder: Path,
    pictures: Path,
    *,
    read: ReadGrip,
    labels: Path | None = None,
    calibration: Path | None = None,
    camera: str = "unknown",
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[OpenSet, list[str]]:
    """Copy labelled pictures into a new set; also returns what was left out, a sentence each.

    Args:
        pictures: the folder that the rows' picture names are relative to.
        labels: the CSV file; `labels.csv` in that folder if not given.
        calibration: folder with the lens and plane files of the camera, if it is calibrated.
        read: what a gripper's value says about holding.

    Raises:
        BadLabels: no such file, not a CSV file with the needed columns, or no row that can be used.
        SetExists: the new folder is not empty.
        StorageUnwritable, CalibrationMissing, CalibrationUnreadable
    """
    labels = labels or pictures / LABELS_FILE
    rows = _rows(labels)
    hashes: dict[str, str] = {}
    if calibration is not None:
        hashes = {
            "lens_hash": content_hash(load_lens(calibration)),
            "plane_hash": content_hash(load_plane(calibration)),
        }
    items, left_out, seen = list[tuple[LabelledItem, list[tuple[Path, str]]]](), list[str](), set[str]()
    for line, row in rows:
        try:
            item, copies = _item(row, line, pictures, read)
        except _BadRow as why:
            left_out.append(f"line {line}: {why}")
            continue
        if item.id in seen:
            left_out.append(f"line {line}: the id {item.id!r} stands there twice")
            continue
        seen.add(item.id)
        items.append((item, copies))
    if not items:
        raise BadLabels(labels, "no row can be used", left_out)
    prepare(folder)
    for number, (_, copies) in enumerate(items):
        for source, name in copies:
            with storage(folder / name):
                shutil.copyfile(source, folder / name)
        if number % 100 == 99:
            progress(f"{number + 1} of {len(items)} rows")
    if calibration is not None:
        for name in (LENS_FILE, PLANE_FILE):
            with storage(folder / "calibration" / name):
                shutil.copyfile(calibration / name, folder / "calibration" / name)
    content = LabelledSet(
        made_by=f"trialcell judge make-set --pictures {pictures.name}",
        camera=camera,
        calibration=None if calibration is None else "calibration",
        items=tuple(item for item, _ in items),
        **hashes,
    )
    return write_set(folder, content), left_out


def _rows(labels: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows with their line numbers, keys and values without spaces round them."""
    try:
        text = labels.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise BadLabels(labels, "there is no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadLabels(labels, f"it can't be read: {error}") from error
    reader = csv.DictReader(text.splitlines())
    header = [(name or "").strip().lower() for name in reader.fieldnames or []]
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise BadLabels(labels, f"its header lacks {', '.join(missing)}")
    unknown = [name for name in header if name not in NEEDED + OPTIONAL]
    if unknown:
        raise BadLabels(labels, f"its header has {', '.join(map(repr, unknown))}, which no set holds")
    reader.fieldnames = header
    rows = []
    try:
        for row in reader:
            rest = row.pop(None, None)
            plain = {key: (value or "").strip() for key, value in row.items()}
            if rest:
                plain["picture"] = ""
            rows.append((reader.line_num, plain))
    except csv.Error as error:
        raise BadLabels(labels, f"line {reader.line_num} is no CSV: {error}") from error
    return rows


def _item(
    row: Mapping[str, str], line: int, pictures: Path, read: ReadGrip
) -> tuple[LabelledItem, list[tuple[Path, str]]]:
    """One row as an item, and which files go where. Raises `_BadRow` with the reason."""
    stage, word = row["stage"].lower(), row["label"].lower()
    if not row["picture"]:
        raise _BadRow("no picture is named, or there are more values than columns")
    if stage not in ("pick", "place"):
        raise _BadRow(f"stage is pick or place, not {row['stage']!r}")
    if word not in _YES + _NO:
        raise _BadRow(f"label is yes or no, not {row['label']!r}")
    blind = row.get("blind", "").lower()
    if blind not in ("", *_YES, *_NO):
        raise _BadRow(f"blind is yes or no, not {row['blind']!r}")
    names: dict[str, str] = {}
    copies: list[tuple[Path, str]] = []
    for column, role in (("picture", "after"), ("before", "before"), ("crop", "crop")):
        if row.get(column):
            source = _picture(pictures, row[column])
            names[role] = f"pictures/{line:05d}_{role}{source.suffix.lower()}"
            copies.append((source, names[role]))
    value = _number(row["gripper_value"]) if row.get("gripper_value") else None
    item = LabelledItem(
        id=row.get("id") or f"{line:05d}",
        stage="pick" if stage == "pick" else "place",
        label="yes" if word in _YES else "no",
        kind=row.get("kind") or "unknown",
        after=names["after"],
        before=names.get("before"),
        crop=names.get("crop"),
        grip=None if value is None else read(value),
        light=row.get("light") or "unknown",
        labelled_by=row.get("labelled_by") or None,
        blind=None if not blind else blind in _YES,
        note=row.get("note", ""),
    )
    return item, copies


def _picture(pictures: Path, name: str) -> Path:
    path = pictures / name
    if not path.resolve().is_relative_to(pictures.resolve()):
        raise _BadRow(f"{name} lies outside the folder of pictures")
    try:
        read_picture(path)
    except VisionError as error:
        raise _BadRow(f"{name}: {error.message}") from error
    return path


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _BadRow(f"gripper_value is a number from 0 to 100, not {text!r}") from None
    if not isfinite(value) or not 0 <= value <= 100:
        raise _BadRow(f"gripper_value is a number from 0 to 100, not {text!r}")
    return value
