"""`trialcell judge rejudge` and `collect`: old runs before a judge again, online or by batches at half the price.

The commands are registered in `judge.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.judge_calibrate import SetOption
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

    from judges.batch_door import BatchDoor
    from judges.batches import BatchNote, Collected, Ready
    from judges.client import AnthropicBackend
    from judges.rejudge import Outcome
    from judges.steps import Step
    from runner.cell import Cell
    from runner.config import Config

BATCHES_DIR = "batches"


def rejudge(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Ids or numbers of runs, latest, or all.")],
    judge: Annotated[str | None, typer.Option("--judge", help="Which judge; the cell's by default.")] = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Only pick or place.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also ask what this judge has answered before.")] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Hand message batches in (Claude only); fetch them with judge collect.")
    ] = False,
    budget_usd: Annotated[float, typer.Option("--budget-usd", min=0, help="Most dollars to spend in all.")] = 5.0,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Ask a judge about old runs. Answers are added to the runs and never stand over an older word.

    A model gets the very pictures that were sent before, where they were kept. Exit code 0 where every step that was
    asked about has a verdict, 6 where one has none.
    """
    from runner.cell import open_cell
    from runner.config import with_overrides

    out, opened = Output(as_json=json), open_cell(cell)
    steps = _steps(opened, runs, stage)
    limits = [f"judge.budget_usd={budget_usd}", "judge.budget_calls=1000000"]
    kind = [] if judge is None else [f"judge.kind={judge}"]
    config = with_overrides(opened.config, [*limits, *(set_ or []), *kind])
    if batch:
        return _hand_in(out, opened, config, steps, again=again)
    return _online(out, opened, config, steps, again=again)


def collect(
    forget: Annotated[
        str | None,
        typer.Option("--forget", metavar="BATCH", help="Give a batch up; its steps may then be asked anew."),
    ] = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Fetch what batches came to and add it to the runs. Exit code 0 where nothing is under way any more, else 6."""
    from judges.batches import read_notes
    from judges.errors import BatchFailed
    from runner.cell import open_cell
    from runner.config import with_overrides

    out, opened = Output(as_json=json), open_cell(cell)
    config = with_overrides(opened.config, set_ or [])
    notes = read_notes(opened.folder / BATCHES_DIR)
    if forget is not None:
        return _forget(out, notes, forget)
    open_ones = {path: note for path, note in notes.items() if note.status != "collected"}
    rows: list[dict[str, Any]] = []
    lines: list[Any] = []
    for path, note in open_ones.items():
        try:
            row = _collected(opened, config, path, note)
        except BatchFailed as error:
            row = {"batch": path.stem, "status": "failed", "why": str(error)}
        rows.append(row)
        lines.append(_batch_line(row))
    under_way = [row for row in rows if row["status"] != "collected"]
    out.answer({"batches": rows, "under_way": len(under_way)}, *(lines or ["no batch is under way"]))
    return 6 if under_way else 0


def _steps(opened: Cell, runs: Sequence[str], stage: str | None) -> list[Step]:
    from judges.steps import steps_of
    from runs.store import RunStore

    if stage is not None and stage not in ("pick", "place"):
        raise typer.BadParameter(f"--stage is pick or place; got {stage!r}")
    store = RunStore(opened.runs_dir)
    names = [entry.run_id for entry in store.list()] if list(runs) == ["all"] else runs
    found = [step for name in names for step in steps_of(store.open(name))]
    return [step for step in found if stage is None or step.stage == stage]


def _online(out: Output, opened: Cell, config: Config, steps: Sequence[Step], *, again: bool) -> int:
    from rich.text import Text

    from judges.budget import spent_on
    from judges.rejudge import rejudge as asked_again
    from runner.cli.judge_cases import view_for
    from runner.judging import judge_key, judge_of
    from runner.rig import detect_settings

    outcomes = []
    told = asked_again(
        steps,
        judge_of(config),
        key=judge_key(config),
        settings=detect_settings(config),
        view_of=view_for(opened),
        crops=config.judge.crops,
        again=again,
    )
    for outcome in told:
        outcomes.append(outcome)
        out.aside.print(Text(_line(outcome)))
    asked = [outcome.verdict for outcome in outcomes if outcome.verdict is not None]
    none = sum(verdict.verdict is None for verdict in asked)
    cost_usd = spent_on(*asked)
    answer = {
        "steps": [_as_object(outcome) for outcome in outcomes],
        "asked": len(asked),
        "without_verdict": none,
        "cost_usd": cost_usd,
    }
    cost = ", cost unknown" if cost_usd is None else f", ${cost_usd:.4f}" if cost_usd else ""
    out.answer(answer, Text(f"{len(asked)} of {len(outcomes)} steps asked about, {none} without a verdict{cost}"))
    return 6 if none else 0


def _as_object(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "step": outcome.step.name,
        "verdict": None if verdict is None else verdict.verdict,
        "error": None if verdict is None else verdict.error,
        "reason": None if verdict is None else verdict.reason,
        "skipped": outcome.skipped,
    }


def _line(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return f"{outcome.step.name}  not asked: {outcome.skipped}"
    word = outcome.verdict.verdict or f"no verdict ({outcome.verdict.error})"
    return f"{outcome.step.name}  {word}: {outcome.verdict.reason}"


def _hand_in(out: Output, opened: Cell, config: Config, steps: Sequence[Step], *, again: bool) -> int:
    """Prepare what is not under way, split it, and hand it in; each batch's note is on the disk before it goes."""
    from rich.text import Text

    from judges.batches import drop, new_note_path, not_asked_yet, note_of, read_notes, split, write_note
    from judges.errors import BatchRefused

    folder = opened.folder / BATCHES_DIR
    backend = _backend(config)
    ready, skipped = _ready(opened, config, backend, steps)
    wanted = not_asked_yet(ready, read_notes(folder).values(), again=again)
    _check_budget(config, wanted)
    door: BatchDoor = _door(config)
    handed = []
    for batch in split(wanted):
        path, note = new_note_path(folder), note_of(batch, backend.host)
        write_note(path, note)
        requests = [
            (one.item.id, backend.params(one.asking.prepared.question, max_tokens=one.item.max_tokens)) for one in batch
        ]
        try:
            batch_id = door.hand_in(requests)
        except BatchRefused:
            drop(path)
            raise
        write_note(path, note.model_copy(update={"status": "handed_in", "batch_id": batch_id}))
        handed.append({"batch": path.stem, "batch_id": batch_id, "steps": len(batch)})
    left = len(ready) - len(wanted)
    answer = {"batches": handed, "handed_in": len(wanted), "answered_or_under_way": left, "skipped": skipped}
    lines = [Text(f"{one['batch']}: {one['steps']} steps handed in as {one['batch_id']}") for one in handed]
    lines += [Text(f"not asked: {why}", style="yellow") for why in skipped]
    end = Text(f"{len(wanted)} steps handed in, {left} were answered or under way; fetch them: trialcell judge collect")
    out.answer(answer, *lines, end)
    return 0


def _ready(
    opened: Cell, config: Config, backend: AnthropicBackend, steps: Sequence[Step]
) -> tuple[list[Ready], list[str]]:
    from judges.batches import BatchItem, Ready
    from judges.rejudge import prepare_asking, question_id
    from judges.steps import PicturesGone
    from runner.cli.judge_cases import view_for
    from runner.judging import judge_key, model_judge
    from runner.rig import detect_settings
    from vision.errors import VisionError

    judge, view_of, settings = model_judge(config), view_for(opened), config.judge
    ready, skipped = [], []
    for step in steps:
        try:
            asking = prepare_asking(
                step, detect_settings(config), view_of(step), language=settings.language, crops=settings.crops
            )
        except (PicturesGone, VisionError) as error:
            skipped.append(str(error))
            continue
        prepared = asking.prepared
        item = BatchItem(
            id=question_id(step, judge.name, judge_key(config), prepared.prompt.sha256),
            run_id=step.stored.entry.run_id,
            stage=step.stage,
            attempt=step.attempt,
            criteria=prepared.rubric.criteria,
            n_images=len(prepared.question.pictures),
            threshold=settings.threshold,
            max_tokens=settings.max_tokens,
            audit=judge.audit_before(asking.evidence, prepared, backend),
        )
        params = backend.params(prepared.question, max_tokens=settings.max_tokens)
        ready.append(Ready(item, asking, len(dumps(params, ensure_ascii=False).encode())))
    return ready, skipped


def _check_budget(config: Config, wanted: Sequence[Ready]) -> None:
    """Refuse what could cost more than was allowed, before anything is handed in.

    Raises:
        WrongRequest
    """
    from judges.prices import load_prices
    from runner.rig import WrongRequest

    prices, most_usd = load_prices(), 0.0
    for one in wanted:
        question = one.asking.prepared.question
        pictures = sum(picture.tokens for picture in question.pictures)
        text = len(question.prompt.system) + len(question.prompt.text) + 1000
        each = prices.most_usd(config.judge.model, pictures + text, one.item.max_tokens, batch=True)
        if each is None:
            raise WrongRequest(
                f"{config.judge.model} has no price in the list, so nobody knows what a batch would cost",
                next_step="judge online, where each call has its own limit",
            )
        most_usd += each
    if most_usd > config.judge.budget_usd:
        raise WrongRequest(
            f"{len(wanted)} steps could cost up to ${most_usd:.2f}, more than the ${config.judge.budget_usd:g} allowed",
            next_step="allow more with --budget-usd, or name fewer runs",
        )


def _backend(config: Config) -> AnthropicBackend:
    from judges.client import AnthropicBackend
    from runner.judging import backend_of
    from runner.rig import WrongRequest

    if config.judge.kind != "claude":
        raise WrongRequest("only Claude takes message batches", next_step="add --judge claude, or leave --batch out")
    backend = backend_of(config)
    assert isinstance(backend, AnthropicBackend)
    return backend


def _door(config: Config) -> BatchDoor:
    """The way to the batches of the account that the settings and the environment name."""
    from judges.backend import NoKey, key_in
    from judges.batch_door import BatchDoor
    from runner.judging import address_of

    key = key_in(config.judge.key_variable)
    if key is None:
        raise NoKey(config.judge.key_variable)
    return BatchDoor(api_key=key, base_url=address_of(config))


def _collected(opened: Cell, config: Config, path: Path, note: BatchNote) -> dict[str, Any]:
    from judges.batches import collect as read_in
    from judges.batches import write_note
    from judges.prices import load_prices
    from runs.store import RunStore

    row: dict[str, Any] = {"batch": path.stem, "batch_id": note.batch_id}
    if note.batch_id is None:
        why = f"nobody knows whether it arrived; to ask anew: trialcell judge collect --forget {path.stem}"
        return row | {"status": "handing_in", "why": why}
    door = _door(config)
    state = door.state(note.batch_id)
    if not state.ended:
        return row | {"status": state.status, "why": "it has not ended yet"}
    there = {entry.run_id for entry in RunStore(opened.runs_dir).list()}
    wanted = sorted({item.run_id for item in note.items} & there)
    steps = {step.name: step for step in _steps(opened, wanted, None)}
    result: Collected = read_in(note, door.results(note.batch_id, len(note.items)), steps, load_prices())
    write_note(path, note.model_copy(update={"status": "collected"}))
    return row | {
        "status": "collected",
        "steps": [_as_object(outcome) for outcome in result.outcomes],
        "unknown_ids": list(result.unknown),
        "to_go_again": list(result.to_go),
    }


def _batch_line(row: dict[str, Any]) -> Any:
    from rich.text import Text

    if row["status"] != "collected":
        return Text(f"{row['batch']}: {row['status']}, {row.get('why', '')}", style="yellow")
    none = len(row["to_go_again"])
    again = f", {none} without a verdict: judge rejudge --batch asks again" if none else ""
    return Text(f"{row['batch']}: {len(row['steps'])} answers added{again}")


def _forget(out: Output, notes: dict[Path, BatchNote], name: str) -> int:
    from judges.batches import forget
    from runner.rig import WrongRequest

    path = next((path for path in notes if path.stem == name), None)
    if path is None:
        raise WrongRequest(f"there is no batch {name!r}", next_step="list them: trialcell judge collect")
    kept = forget(path)
    out.answer(
        {"forgotten": name, "kept_as": kept.name}, f"{name} is given up; what it would have answered may be asked anew"
    )
    return 0
