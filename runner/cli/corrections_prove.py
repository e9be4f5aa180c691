"""`trialcell corrections prove`: trials with the candidate and without it, in pairs, until it is clear if it helps.

The command is registered in `corrections.py`. On the twin it runs them; on an arm it reads those that a batch has run.
What a proof asks for is decided in `runs/corrections/proof.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.cell import Cell
    from runs.corrections.proof import Pair
    from runs.schema.run import RunLog

USES = ("live", "candidate")


def prove(
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="At most so many pairs; fewer once it is clear.")] = 60,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the first pair; the next ones count on.")] = 1,
    runs: Annotated[
        list[str] | None,
        typer.Option("--runs", metavar="RUN", help="Read trials that were run already: a run's id or number, or all."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Settings for these trials alone.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Hold the candidate against what is live, over trials that share their starts, and keep what came of it."""
    from runner.cell import open_cell
    from runner.cli.show.corrections import proof_page
    from runner.learning import belongs_here, proof_of
    from runs.corrections.file import CorrectionFile
    from runs.corrections.proof import decided
    from runs.corrections.proof import prove as proof_from
    from runs.errors import NothingToPromote

    out, opened = Output(as_json=json), open_cell(cell, set_ or [])
    file, belongs, settings = CorrectionFile(cell), belongs_here(opened), proof_of(opened.config)
    state = file.load(belongs)
    if state.candidate is None:
        raise NothingToPromote
    candidate = state.candidate.content_hash
    against = None if state.live is None else state.live.content_hash
    found: list[Pair] = []
    proof = proof_from(found, candidate=candidate, against=against, settings=settings)
    source = _read(cell, runs, candidate, against) if runs else _run(opened, range(seed, seed + pairs), set_ or [])
    for pair in source:
        found.append(pair)
        proof = proof_from(found, candidate=candidate, against=against, settings=settings)
        out.aside.print(f"pair {len(found)}: {_words(pair)}; so far {proof.word}", style="dim", highlight=False)
        if not runs and decided(proof, settings):
            break
    file.record_proof(belongs, proof, by="corrections prove")
    step = "\nlet it go live: trialcell corrections promote" if proof.holds else ""
    out.answer(proof.model_dump(mode="json"), *proof_page(proof), *([step] if step else []))
    return 0 if proof.holds else 1


def _run(opened: Cell, seeds: Sequence[int], overrides: Sequence[str]) -> Iterator[Pair]:
    """Two trials a seed on the twin, the one that comes first taking turns. They teach nothing."""
    from runner.cell import open_cell
    from runner.rig import Request, WrongRequest, build_rig
    from runner.trial.sequence import run_trial
    from runner.trial.stop import StopSwitch, listening
    from runs.corrections.proof import paired
    from runs.lock import CellLock
    from runs.store import RunStore

    if opened.config.arm.kind != "twin":
        raise WrongRequest(
            "only the twin can be put to the same start twice by itself",
            next_step="let a batch try both (corrections.use = live and candidate), then: corrections prove --runs all",
        )

    def trial(seed: int, use: str) -> RunLog:
        chosen = [*overrides, f"corrections.use={use}", "trial.learn=false", "trial.corrections=true"]
        cell, switch = open_cell(opened.folder, chosen), StopSwitch()
        with build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None) as rig, listening(switch):
            log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
        if log.result == "stopped":
            raise KeyboardInterrupt
        return log

    with CellLock(opened.folder):
        for seed in seeds:
            logs = {use: trial(seed, use) for use in (USES if seed % 2 else USES[::-1])}
            start = f"seed {seed}"
            yield from paired([(start, logs["candidate"])], [(start, logs["live"])])


def _read(cell: Path, runs: Sequence[str], candidate: str, against: str | None) -> list[Pair]:
    """Pairs among trials of the cell: those that share a seed, else in turn. Agents' sittings are left out."""
    from runs.corrections.proof import paired
    from runs.corrections.unattended import model_in, pairs_in_turn
    from runs.store import RunStore

    store = RunStore(cell / "runs")
    names = [entry.run_id for entry in store.list()] if list(runs) == ["all"] else list(runs)
    logs = [log for name in names if (log := store.open(name).log).agent is None]
    by_seed: dict[str | None, list[tuple[str, RunLog]]] = {candidate: [], against: []}
    for log in logs:
        if log.provenance is not None and log.provenance.seed is not None and model_in(log) in by_seed:
            by_seed[model_in(log)].append((f"seed {log.provenance.seed}", log))
    found = paired(by_seed[candidate], by_seed[against])
    return found or pairs_in_turn(logs, candidate=candidate, against=against)


def _words(pair: Pair) -> str:
    words = {True: "succeeded", False: "did not", None: "said nothing"}
    tips = ["" if one.tip_mm is None else f", tip {one.tip_mm:.1f} mm off" for one in (pair.with_it, pair.without)]
    told = [f"{words[one.succeeded]}{tip}" for one, tip in zip((pair.with_it, pair.without), tips, strict=True)]
    return f"{pair.start}, with it {told[0]}, without {told[1]}"
