"""That a person opened the jaws by hand: whatever runs begun before that had left in them is out.

It is what a gripper that gives no answer can't say. A file in the cell's folder; one that can't be read says nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from runs.events import utc_text
from runs.files import storage, write_atomic
from runs.schema.base import Record

EMPTIED_FILE = "jaws_opened.json"


class Emptied(Record):
    """When the jaws were opened by hand last (UTC)."""

    at: str


def note_emptied(cell: Path) -> None:
    """Write down that it was done just now.

    Raises:
        StorageUnwritable
    """
    with storage(cell):
        write_atomic(cell / EMPTIED_FILE, Emptied(at=utc_text()).model_dump_json().encode() + b"\n")


def emptied_since(cell: Path, run_id: str) -> bool:
    """Whether the jaws were opened by hand after a run began, by its id."""
    try:
        at = datetime.fromisoformat(Emptied.model_validate_json((cell / EMPTIED_FILE).read_bytes()).at)
        began = datetime.strptime("".join(run_id.split("_")[2:4]), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except (OSError, ValidationError, ValueError):
        return False
    return at > began
