"""Answers that were asked for outside a trial, kept in the cell: `judgings/<name>/answers.jsonl` and what was sent.

One folder holds one asking: a single question, or a long measurement that is carried on where it broke off. Each answer
is on the disk with its whole audit before the next one is asked for, and the pictures before they are sent. It only
adds, and judges nothing.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from judges.protocol import Keep
from runs.appended import append, read
from runs.events import utc_text
from runs.files import sha256_hex, storage, write_atomic
from runs.schema.base import Record
from runs.schema.verdict import Verdict

JUDGINGS_DIR = "judgings"
ANSWERS_FILE = "answers.jsonl"


class KeptAnswer(Record):
    """One answer: on what (`id`), which ask of it (`repeat`), and what tells its judge from others (`key`)."""

    id: str
    repeat: int = 0
    key: str = ""
    at: str
    verdict: Verdict


class Judging:
    """The answers of one asking, in one folder that is there already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def path(self) -> Path:
        """The file of the answers."""
        return self.folder / ANSWERS_FILE

    @property
    def keep(self) -> Keep:
        """For `Evidence.keep`: the pictures are kept here, as they are sent."""
        return keep_beside(self.folder)

    def add(self, own_id: str, verdict: Verdict, *, repeat: int = 0, key: str = "") -> KeptAnswer:
        """Put an answer on the disk.

        Raises:
            StorageUnwritable: it is not there.
        """
        at = utc_text()
        kept = KeptAnswer(id=own_id, repeat=repeat, key=key, at=at, verdict=verdict.model_copy(update={"at": at}))
        append(self.path, [kept])
        return kept

    def tidy(self) -> None:
        """Take the folder away again if nothing has come to lie in it."""
        with contextlib.suppress(OSError):  # something lies in it
            self.folder.rmdir()

    def answers(self) -> tuple[KeptAnswer, ...]:
        """All answers, the oldest first.

        Raises:
            AppendedUnreadable
        """
        return read(self.path, KeptAnswer)

    def answered(self, key: str = "") -> dict[tuple[str, int], Verdict]:
        """The last answers by id and repeat that have a word, of the judge with that key; errors are to be asked anew.

        Raises:
            AppendedUnreadable
        """
        return {
            (kept.id, kept.repeat): kept.verdict
            for kept in self.answers()
            if kept.key == key and kept.verdict.verdict is not None
        }


def new_judging(cell_folder: Path) -> Judging:
    """A new folder for an asking, named after the moment.

    Raises:
        StorageUnwritable
    """
    parent = cell_folder / JUDGINGS_DIR
    stamp = f"{datetime.now(UTC):%Y%m%d_%H%M%S}"
    name, n = stamp, 1
    with storage(parent):
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                (parent / name).mkdir()
            except FileExistsError:
                n += 1
                name = f"{stamp}_{n}"
            else:
                return Judging(parent / name)


def judging_named(cell_folder: Path, name: str) -> Judging:
    """The asking of that name, to be carried on; its folder is made where there is none yet.

    Raises:
        StorageUnwritable
    """
    folder = cell_folder / JUDGINGS_DIR / name
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return Judging(folder)


def keep_beside(folder: Path) -> Keep:
    """Keeps what is sent in a folder that is there, under its hash: the same bytes are kept once."""

    def keep(label: str, jpeg: bytes, width_px: int, height_px: int) -> str:
        path = folder / f"{folder.name}_{label}_{sha256_hex(jpeg)[:12]}.jpg"
        if not path.exists():
            write_atomic(path, jpeg)
        return f"{folder.parent.name}/{folder.name}/{path.name}"

    return keep
