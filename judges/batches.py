"""Judging old runs by message batches, at half the price: what is handed in, what came back, and what goes once more.

Each batch has a note in the cell, written before it is handed in, so that no question is asked twice while it is under
way. Every id has to come back just once: one that is missing, or there twice, has no verdict and goes into the next
batch. What came back passes the same gates as an online reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from judges.asking import PASSED, Asked, attempt_of, cost_of
from judges.backend import Answer, clean
from judges.claude import answered
from judges.errors import BatchFileUnreadable
from judges.prices import Prices
from judges.protocol import Evidence
from judges.rejudge import Asking, Outcome, add_later, answered_ids
from judges.reply import Reading, read_reply
from judges.steps import Step
from runs.events import utc_text
from runs.files import storage, write_atomic
from runs.schema.base import Record
from runs.schema.verdict import JudgeAudit, JudgedStage, Verdict
from vision.detect.protocol import DetectSettings

if TYPE_CHECKING:
    from judges.batch_door import BatchResult

MOST_BYTES = 240_000_000  # the service takes 256 MB; the rest is for the frame round the requests
MOST_REQUESTS = 100_000
MOST_STRANGERS = 100  # ids that nobody asked for, told at most

FORGOTTEN = "forgotten_"

BatchStatus = Literal["handing_in", "handed_in", "collected"]


class BatchItem(Record):
    """One question that was handed in: which step, and all that is needed to read its reply."""

    id: str
    run_id: str
    stage: JudgedStage
    attempt: int
    criteria: tuple[str, ...]
    n_images: int
    threshold: float
    max_tokens: int
    audit: JudgeAudit


class BatchNote(Record):
    """What is known of one batch. `batch_id` is the server's; None while nobody knows whether it got there."""

    version: Literal[1] = 1
    status: BatchStatus
    made_at: str
    host: str
    batch_id: str | None = None
    items: tuple[BatchItem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A question ready to be handed in: its note, and how many bytes its request has."""

    item: BatchItem
    asking: Asking
    n_bytes: int


def split(ready: Sequence[Ready], *, most_bytes: int = MOST_BYTES, most: int = MOST_REQUESTS) -> Iterator[list[Ready]]:
    """Batches that the service takes, by bytes first: pictures fill one long before the number of requests does."""
    batch: list[Ready] = []
    size = 0
    for one in ready:
        if batch and (size + one.n_bytes > most_bytes or len(batch) >= most):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.n_bytes
    if batch:
        yield batch


def not_asked_yet(ready: Iterable[Ready], notes: Iterable[BatchNote], *, again: bool = False) -> list[Ready]:
    """Those that are neither answered nor under way. With `again`, answered ones are asked once more.

    A note that never got a batch's id counts as under way, too: whether the server has it is not known, and asking
    twice costs twice. `forget` gives it up.
    """
    under_way = {item.id for note in notes if note.status != "collected" for item in note.items}
    fresh: dict[str, Ready] = {}
    for one in ready:
        answered_before = one.item.id in answered_ids(one.asking.step)
        if one.item.id not in under_way and (again or not answered_before):
            fresh.setdefault(one.item.id, one)
    return list(fresh.values())


def read_notes(folder: Path) -> dict[Path, BatchNote]:
    """The notes of all batches of a cell, the oldest first.

    Raises:
        BatchFileUnreadable
    """
    notes = {}
    for path in sorted(folder.glob("batch_*.json")):
        try:
            notes[path] = BatchNote.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise BatchFileUnreadable(path, str(error).splitlines()[0]) from None
    return notes


def write_note(path: Path, note: BatchNote) -> None:
    """Write a batch's note, whole or not at all.

    Raises:
        StorageUnwritable
    """
    with storage(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, note.model_dump_json(indent=1).encode() + b"\n")


def new_note_path(folder: Path) -> Path:
    """Where the next note goes; a batch that was given up keeps its number."""
    names = [path.stem.removeprefix(FORGOTTEN) for path in folder.glob("*batch_*.json")]
    numbers = [int(name[6:]) for name in names if name[6:].isdigit()]
    return folder / f"batch_{max(numbers, default=0) + 1:04d}.json"


def forget(path: Path) -> Path:
    """Give a batch up; its note is kept under another name, which it returns, and replaces none.

    Raises:
        StorageUnwritable
    """
    name, n = f"{FORGOTTEN}{path.stem}", 1
    while (kept := path.with_name(f"{name}.json" if n == 1 else f"{name}_{n}.json")).exists():
        n += 1
    with storage(path):
        path.rename(kept)
    return kept


def drop(path: Path) -> None:
    """Take the note of a batch away that never was one.

    Raises:
        StorageUnwritable
    """
    with storage(path):
        path.unlink(missing_ok=True)


def note_of(batch: Sequence[Ready], host: str) -> BatchNote:
    """The note of a batch that is about to be handed in."""
    return BatchNote(status="handing_in", made_at=utc_text(), host=host, items=tuple(one.item for one in batch))


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """What came back: an outcome a question, ids that nobody asked for, and ids that are to go once more."""

    outcomes: tuple[Outcome, ...]
    unknown: tuple[str, ...]
    to_go: tuple[str, ...]


def collect(note: BatchNote, results: Iterable[BatchResult], steps: Mapping[str, Step], prices: Prices) -> Collected:
    """Read a batch's results and add a later verdict to each run; one that was added before is not added again.

    Args:
        results: as they come, in any order.
        steps: by `Step.name`; a step that is not there any more keeps its result out.

    Raises:
        StorageUnwritable
    """
    by_id: dict[str, BatchResult] = {}
    came = Counter[str]()
    own = {item.id for item in note.items}
    strangers: set[str] = set()
    for result in results:
        if result.custom_id in own:
            came[result.custom_id] += 1
            by_id[result.custom_id] = result
        elif len(strangers) < MOST_STRANGERS:
            strangers.add(str(clean(result.custom_id)))
    outcomes, to_go = [], []
    for item in note.items:
        step = steps.get(f"{item.run_id}/{item.stage}/{item.attempt}")
        verdict = _verdict(item, by_id.get(item.id), came[item.id], prices)
        if verdict.verdict is None:
            to_go.append(item.id)
        if step is None:
            continue
        if any(one.id == item.id and one.batch == note.batch_id for one in step.log.rejudged):
            outcomes.append(Outcome(step, skipped="it was added before"))
            continue
        add_later(step, item.id, verdict, batch=note.batch_id)
        outcomes.append(Outcome(step, verdict))
    return Collected(tuple(outcomes), tuple(sorted(strangers)), tuple(to_go))


def _verdict(item: BatchItem, result: BatchResult | None, times: int, prices: Prices) -> Verdict:
    """A verdict from a result that came just once; none, with its code, from anything else."""
    if result is None:
        return _judged(item, Answer(None, "the batch ended without it"), None, "missing", prices)
    if times > 1:
        return _judged(item, Answer(None, f"it came back {times} times"), None, "duplicate", prices)
    if result.outcome != "succeeded":
        return _judged(item, result.answer, None, result.outcome, prices)
    answer = result.answer
    if answer.code is not None or answer.text is None:
        return _judged(item, answer, None, answer.code or "malformed", prices)
    read = read_reply(
        answer.text, stage=item.stage, criteria=item.criteria, n_images=item.n_images, threshold=item.threshold
    )
    if isinstance(read, Reading):
        return _judged(item, answer, read, read.doubt or PASSED, prices)
    return _judged(item, replace(answer, detail=read.why), None, read.code, prices)


def _judged(item: BatchItem, answer: Answer, reading: Reading | None, gate: str, prices: Prices) -> Verdict:
    model = item.audit.model or ""
    attempt = attempt_of(
        answer,
        attempt=1,
        gate=gate,
        detail=answer.detail if reading is None else reading.reply.verdict,
        model_requested=model,
        max_tokens=item.max_tokens,
        started_at=utc_text(),
        seconds=0.0,
        cost_usd=cost_of(answer, model, prices, batch=True),
    )
    asked = Asked(attempts=[attempt], reading=reading, code=gate, why=answer.detail)
    evidence = Evidence(stage=item.stage, pictures=(), grip=None, settings=DetectSettings(), attempt=item.attempt)
    return answered(evidence, asked, item.audit, monotonic())
