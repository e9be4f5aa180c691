"""`trialcell runs rule` and `rates`: a person's word over a judge's, and what comes of it.

The commands are registered in `runs.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from judges.certificate import Certificate, Certificates
    from runs.schema.verdict import JudgedStage, Verdict, Word
    from runs.statistics import CorrectedRate, Rate
    from runs.store import RunStore, StoredRun
    from runs.tally import Tally

STAGES: tuple[JudgedStage, ...] = ("pick", "place")


def rule(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or number, or latest.")],
    stage: Annotated[str, typer.Option("--stage", help="pick or place.")],
    verdict: Annotated[
        str | None,
        typer.Option("--verdict", help="yes, no or unsure; without it you are shown the pictures and asked."),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who says so; $USER by default.")] = None,
    why: Annotated[str | None, typer.Option("--why", metavar="TEXT", help="What was seen.")] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="It was said before any judge's verdict on this run was seen.")
    ] = False,
    seen: Annotated[
        bool, typer.Option("--seen", help="You know already what a judge said: your answer is not kept as a blind one.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--take-back", help="Your last word on that step was a slip: what stood before stands.")
    ] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Put a person's word over the judges': it stands from now on, and theirs stays on record.

    Without --verdict you see the pictures first, answer, and are then shown what the judge said; both your answers are
    kept.
    """
    from runs.rulings import rule as put
    from runs.rulings import take_back
    from runs.store import RunStore
    from runs.verdicts import standing_result

    out = Output(as_json=json)
    of_stage = _stage(stage)
    name = (by or os.environ.get("USER", "")).strip()
    if not name:
        raise typer.BadParameter("who says so? give --by NAME")
    store = RunStore(cell / "runs")
    if blind and seen:
        raise typer.BadParameter("--blind and --seen say opposite things")
    if undo and (verdict is not None or blind or seen):
        raise typer.BadParameter("--take-back takes a word back and gives none")
    if undo:
        stored = take_back(store, run, of_stage, by=name)
    elif verdict is None:
        stored = _ask_and_put(store, run, of_stage, name, cell, blind=not seen)
    else:
        if not (why or "").strip():
            raise typer.BadParameter("a ruling has a reason: give --why TEXT")
        stored = put(store, run, of_stage, _word(verdict), by=name, reason=why or "", blind=blind)
    last = stored.log.rulings[-1]
    result = standing_result(stored.log)
    answer = {
        "run_id": stored.entry.run_id,
        "ruling": last.model_dump(mode="json"),
        "rulings": len(stored.log.rulings),
        "result": result,
        "result_then": stored.log.result,
    }
    changed = "" if result == stored.log.result else f"; the run, {stored.log.result} then, counts as {result}"
    done = " taken back" if last.takes_back else ""
    out.answer(answer, f"{stored.entry.run_id} {of_stage}: {last.verdict} by {last.by}{done}{changed}")


def _ask_and_put(store: RunStore, run: str, stage: JudgedStage, name: str, cell: Path, *, blind: bool) -> StoredRun:
    """Pictures, the person's word, then the judge's; a revised word is a second ruling."""
    from judges.person import ask_again, ask_blind
    from judges.steps import Step, evidence_of_step
    from judges.terminal import TerminalAsker
    from runner.cell import open_cell
    from runner.rig import detect_settings
    from runs.rulings import check_rulable
    from runs.rulings import rule as put
    from runs.verdicts import last_attempt

    stored = store.open(run)
    check_rulable(stored, stage)
    asker = TerminalAsker()
    step = Step(stored, stage, last_attempt(stored.log, stage))
    said = ask_blind(asker, evidence_of_step(step, detect_settings(open_cell(cell).config), None))
    after = put(store, stored.entry.run_id, stage, said.word, by=name, reason=said.reason, blind=blind)
    verdicts = [v for v in stored.log.verdicts if v.stage == stage]
    if not verdicts:
        return after
    final = ask_again(asker, said, verdicts[-1])
    if final == said:
        return after
    return put(store, stored.entry.run_id, stage, final.word, by=name, reason=final.reason, blind=False)


def rates(
    stage: Annotated[str | None, typer.Option("--stage", help="Only pick or place.")] = None,
    last: Annotated[int | None, typer.Option("--last", min=1, help="Only so many runs, the newest.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """How often it worked: what stands, the judge's raw rate, and that rate corrected for the judge's own error."""
    from runner.cell import open_cell
    from runner.cli.trust import certificates_of
    from runs.store import RunStore
    from runs.tally import tally

    runs, unreadable = _readable(RunStore(cell / "runs"), last)
    logs = [stored.log for stored in runs]
    certificates = certificates_of(open_cell(cell))
    found = []
    for of_stage in STAGES if stage is None else (_stage(stage),):
        found.append((of_stage, tally(logs, of_stage), _corrected(runs, of_stage, certificates)))
    answer = {
        "runs": len(runs),
        "unreadable": unreadable,
        "stages": {of_stage: _as_object(counts, by_judge) for of_stage, counts, by_judge in found},
    }
    told = [line for of_stage, counts, by_judge in found for line in _rates_told(of_stage, counts, by_judge)]
    Output(as_json=json).answer(answer, *told)


def _corrected(
    runs: list[StoredRun], stage: JudgedStage, certificates: Certificates
) -> dict[str, tuple[Rate, CorrectedRate | str]]:
    """For each judge: its own raw rate over all trials it was heard on, and the corrected one or why there is none.

    Dry runs and agents' sittings are left out, as in `tally`.
    """
    from runs.errors import CannotCorrect
    from runs.statistics import exact_rate
    from runs.verdicts import PERSON

    heard: dict[str, list[tuple[Verdict, StoredRun]]] = {}
    for stored in runs:
        log = stored.log
        if log.dry_run or log.agent is not None:
            continue
        said = [v for v in log.verdicts if v.stage == stage and v.verdict is not None]
        if said and said[-1].audit.judge != PERSON:
            heard.setdefault(said[-1].audit.judge, []).append((said[-1], stored))
    found: dict[str, tuple[Rate, CorrectedRate | str]] = {}
    for judge, verdicts in sorted(heard.items()):
        yes = sum(verdict.verdict == "yes" for verdict, _ in verdicts)
        raw = exact_rate(yes, len(verdicts))
        certificate = certificates.of(judge, stage)
        if certificate is None:
            found[judge] = (raw, "this judge has not been measured here: trialcell judge calibrate")
            continue
        why = _not_as_measured(verdicts, certificates, certificate)
        if why is not None:
            found[judge] = (raw, why)
            continue
        try:
            found[judge] = (raw, certificate.corrected(yes, len(verdicts)))
        except CannotCorrect as error:
            found[judge] = (raw, error.why)
    return found


def _not_as_measured(
    verdicts: list[tuple[Verdict, StoredRun]], certificates: Certificates, certificate: Certificate
) -> str | None:
    """Why the judge's error rates don't hold for some of these runs; None where they hold for all."""
    from judges.certificate import other_light, what_changed
    from runner.cli.trust import camera_of_run, code_version, level_in_run

    reasons = []
    for verdict, stored in verdicts:
        changed = what_changed(verdict, certificates, camera_of_run(stored.log), code_version())
        changed = changed or other_light(certificate.light, level_in_run(stored.log, stored.entry.folder, verdict))
        reasons += [] if changed is None else [changed]
    return f"in {len(reasons)} of {len(verdicts)} runs {reasons[0]} since it was measured" if reasons else None


def _as_object(counts: Tally, by_judge: dict[str, tuple[Rate, CorrectedRate | str]]) -> dict[str, Any]:
    from dataclasses import asdict

    judges = {
        judge: {
            "raw": asdict(raw),
            "corrected": None if isinstance(fixed, str) else asdict(fixed),
            "why_not": fixed if isinstance(fixed, str) else None,
        }
        for judge, (raw, fixed) in by_judge.items()
    }
    return {**asdict(counts), "decided": asdict(counts.decided), "bounds": counts.bounds, "judges": judges}


def _rates_told(stage: JudgedStage, counts: Tally, by_judge: dict[str, tuple[Rate, CorrectedRate | str]]) -> list[Any]:
    from rich.text import Text

    from runner.cli.show.parts import heading, indented, pairs

    remark = f"{counts.n} judged, {counts.by_person} of them ruled by people"
    if counts.bounds is None:
        return [heading(stage, remark)]
    low, high = counts.bounds
    counted = f"{counts.yes} yes, {counts.no} no, {counts.unsure} unsure, {counts.none} without a verdict"
    rows: list[tuple[Any, Any]] = [("stands", Text(counted)), ("success", Text(percent(counts.decided)))]
    if counts.unsure or counts.none:
        rows[-1] = ("of the decided", rows[-1][1])
        rows.append(("of all", Text(f"{low:.1%} to {high:.1%}, whatever the undecided ones were")))
    for judge, (raw, fixed) in by_judge.items():
        rows.append((judge, Text(f"says yes of {percent(raw)}")))
        told = (
            f"not corrected: {fixed}"
            if isinstance(fixed, str)
            else (f"corrected for its error: {fixed.rate:.1%} ({fixed.low:.1%} to {fixed.high:.1%})")
        )
        rows.append(("", Text(told, style="yellow" if isinstance(fixed, str) else "")))
    return [heading(stage, remark), indented(pairs(rows))]


def percent(rate: Rate) -> str:
    """A rate with its counts and interval."""
    if rate.rate is None:
        return "none"
    return f"{rate.successes} of {rate.n}: {rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%})"


def _readable(store: RunStore, last: int | None) -> tuple[list[StoredRun], list[str]]:
    """The runs that can be read, and the names of those that can't."""
    from runs.errors import RecordError

    runs, unreadable = [], []
    entries = store.list()
    for entry in entries[-last:] if last else entries:
        try:
            runs.append(store.open(entry.run_id))
        except RecordError:
            unreadable.append(entry.run_id)
    return runs, unreadable


def _stage(text: str) -> JudgedStage:
    if text in STAGES:
        return "pick" if text == "pick" else "place"
    raise typer.BadParameter(f"--stage is pick or place; got {text!r}")


def _word(text: str) -> Word:
    words: dict[str, Word] = {"yes": "yes", "no": "no", "unsure": "unsure"}
    if text not in words:
        raise typer.BadParameter(f"--verdict is yes, no or unsure; got {text!r}")
    return words[text]
