"""`trialcell judge calibrate` and `compare`: a judge held against labels, and two judges against each other.

The commands are registered in `judge.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.runs_review import STAGES, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from judges.calibrate import Answered, Case, Comparison, Report
    from judges.certificate import Certificate, LightPart
    from judges.kept import Judging
    from judges.protocol import Judge
    from runner.cell import Cell
    from runner.config import Config

PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="SET|RUN…", help="Labelled sets and ruled runs; all ruled runs of the cell if none."),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as you like.")
]


def calibrate(
    paths: PathsArgument = None,
    judge: Annotated[str | None, typer.Option("--judge", help="Which judge; the cell's by default.")] = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Only pick or place.")] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Ask nobody: take the answers that the runs hold already.")
    ] = False,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, max=7, help="Ask so often more, in other order and words.")
    ] = 0,
    repeat_share: Annotated[float, typer.Option("--repeat-share", min=0, max=1, help="On that share of steps.")] = 0.2,
    risk: Annotated[
        float, typer.Option("--risk", min=0, max=1, help="Errors among the answered you would bear.")
    ] = 0.05,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many steps, drawn at random.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="For what is drawn at random.")] = 0,
    budget_usd: Annotated[float, typer.Option("--budget-usd", min=0, help="Most dollars to spend in all.")] = 5.0,
    again: Annotated[bool, typer.Option("--again", help="Ask anew what this judge has answered before.")] = False,
    dry: Annotated[bool, typer.Option("--no-certificate", help="Only tell; leave the certificate as it is.")] = False,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Measure a judge on labelled steps: how often it is right, what its confidence is worth, whether it is certified.

    The certificate stands for this judge, model, prompt, camera and light; any change asks for measuring again.
    """
    from judges.calibrate import ask_all, certificate_of, report_of
    from judges.certificate import save_certificate
    from runner.cell import open_cell
    from runner.cli.judge_cases import gather
    from runner.cli.trust import code_version
    from runner.rig import WrongRequest

    out, opened = Output(as_json=json), open_cell(cell)
    gathered = gather(opened, paths or (), recorded_by=judge)
    cases = _drawn(_at(gathered.cases, stage), limit, seed)
    config = _config(opened.config, judge, set_, budget_usd)
    left_out: list[str] = []
    judging, key = _kept(opened, config, recorded=recorded, again=again)
    with _progress(out, len(cases), "asked") as progress:
        answers = ask_all(
            None if recorded else _judge(config),
            cases,
            repeats=repeats,
            repeat_share=repeat_share,
            seed=seed,
            judging=judging,
            key=key,
            progress=progress,
            left_out=left_out.append,
        )
    reports = [report_of(answers, of_stage, risk=risk) for of_stage in STAGES]
    reports = [report for report in reports if report.n]
    if not reports:
        raise WrongRequest(
            f"there is no labelled step{f' of the stage {stage}' if stage else ''} to hold the judge against",
            next_step="make a set (trialcell judge make-set DIR) or rule on runs (trialcell runs rule)",
        )
    cut_off = sum(report.errors.get("budget", 0) for report in reports)
    dry = dry or cut_off > 0
    certificates = [
        certificate_of(report, answers, labels_from=gathered.sources, code_version=code_version()) for report in reports
    ]
    if not dry:
        for certificate in certificates:
            save_certificate(opened.calibration_dir, certificate)
    remarks = [*left_out, *_remarks(gathered.unruled, reports, dry, cut_off)]
    answer = {
        "stages": {report.stage: report.as_object() for report in reports},
        "certificate": None if dry else str(opened.calibration_dir / "judge.json"),
        "labels_from": list(gathered.sources),
        "answers": None if judging is None else str(judging.path),
        "remarks": remarks,
    }
    out.answer(answer, *(line for pair in zip(reports, certificates, strict=True) for line in told(*pair)), *remarks)


def compare(
    first: Annotated[str, typer.Argument(help="A judge; with --recorded also a model's name.")],
    second: Annotated[str, typer.Argument(help="Another judge.")],
    paths: PathsArgument = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Only pick or place.")] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Ask nobody: take the answers that the runs hold already.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many steps, drawn at random.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="For what is drawn at random.")] = 0,
    budget_usd: Annotated[float, typer.Option("--budget-usd", min=0, help="Most dollars to spend on each.")] = 5.0,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Put two judges before the same labelled steps, and test whether one is right more often (exact McNemar)."""
    from judges.calibrate import ask_all
    from judges.calibrate import compare as compared
    from runner.cell import open_cell
    from runner.cli.judge_cases import gather
    from runner.rig import WrongRequest

    out, opened = Output(as_json=json), open_cell(cell)
    answers: list[list[Answered]] = []
    for name in (first, second):
        cases = _drawn(
            _at(gather(opened, paths or (), recorded_by=name if recorded else None).cases, stage), limit, seed
        )
        judge = None if recorded else _judge(_config(opened.config, name, set_, budget_usd))
        with _progress(out, len(cases), f"asked {name}") as progress:
            answers.append(ask_all(judge, cases, progress=progress, left_out=out.aside.print))
    try:
        comparison = compared(*answers)
    except ValueError as error:
        raise WrongRequest(str(error), next_step="ask them anew: leave --recorded out") from None
    out.answer(comparison.as_object(), *_compared_told(comparison))


def _config(config: Config, judge: str | None, set_: list[str] | None, budget_usd: float) -> Config:
    """The settings for measuring: many steps have one budget."""
    from runner.config import with_overrides

    many = [f"judge.budget_usd={budget_usd}", "judge.budget_calls=1000000"]
    return with_overrides(config, [*many, *(set_ or []), *([] if judge is None else [f"judge.kind={judge}"])])


def _kept(opened: Cell, config: Config, *, recorded: bool, again: bool) -> tuple[Judging | None, str]:
    """Where a judge's answers are kept as they come, and what tells it from others there; a measurement's are not."""
    from hashlib import sha256

    from judges.kept import judging_named, new_judging
    from judges.rubric import load_rubric
    from runner.judging import judge_key

    if recorded or config.judge.kind == "measured":
        return None, ""
    rubrics = [load_rubric(stage, config.judge.language).template_hash for stage in STAGES]
    key = sha256("\n".join([judge_key(config), *rubrics]).encode()).hexdigest()
    if again:
        return new_judging(opened.folder), key
    return judging_named(opened.folder, f"calibrate_{config.judge.kind}_{key[:12]}"), key


def _judge(config: Config) -> Judge:
    from runner.judging import judge_of

    return judge_of(config)


def _at(cases: Sequence[Case], stage: str | None) -> list[Case]:
    if stage is not None and stage not in STAGES:
        raise typer.BadParameter(f"--stage is pick or place; got {stage!r}")
    return [case for case in cases if stage is None or case.stage == stage]


def _drawn(cases: list[Case], limit: int | None, seed: int) -> list[Case]:
    from random import Random

    if limit is None or limit >= len(cases):
        return cases
    return Random(seed).sample(cases, limit)


@contextmanager
def _progress(out: Output, total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A bar on stderr; only on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = out.aside
    bar = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _remarks(unruled: int, reports: list[Report], dry: bool, cut_off: int) -> list[str]:
    told = []
    if cut_off:
        told.append(f"the budget ran out before {cut_off} answers: give more --budget-usd, or fewer steps with --limit")
    if unruled:
        told.append(
            f"{unruled} judged steps of these runs have no ruling: people rule on doubtful ones first, so the rates "
            "above are worse than the judge is; rule on all of some runs to measure it fairly"
        )
    not_blind = sum(report.not_blind for report in reports)
    if not_blind:
        told.append(
            f"{not_blind} labels were given after the judge's word was seen: agreement may look better than it is"
        )
    if dry:
        told.append("no certificate was written")
    return told


def told(report: Report, certificate: Certificate) -> list[Any]:
    """A report for people."""
    from rich.text import Text

    from runner.cli.show.parts import QUIET, heading, indented, pairs

    confusion = report.confusion
    style = "bold green" if report.certified else "bold yellow"
    rows: list[tuple[Any, Any]] = [
        ("certified" if report.certified else "uncertified", Text(report.why, style=style)),
        ("for", Text("; ".join(_part_told(part.model_dump()) for part in certificate.parts) or "nobody", style=QUIET)),
        ("light", Text(_light_told(certificate.light), style=QUIET)),
        ("successes", Text(f"called yes {percent(report.tpr)}")),
        ("failures", Text(f"called no {percent(report.tnr)}")),
        ("false yes", Text(f"of all failures {percent(confusion.false_success)}")),
        ("decided", Text(f"of all {percent(confusion.coverage)}")),
        ("right", Text(f"of the decided {percent(confusion.accuracy)}")),
        ("always yes", Text(f"would be right on {percent(confusion.always_yes)}")),
    ]  # fmt: skip
    if report.kappa is not None:
        value = "none" if report.kappa.kappa is None else f"{report.kappa.kappa:.3f}"
        rows.append(
            ("kappa", Text(f"{value} (they agree on {report.kappa.po:.1%}, chance alone {report.kappa.pe:.1%})"))
        )
        rows += [("", Text(report.kappa.note, style="yellow"))] if report.kappa.note else []
    if report.stable.n:
        rows.append(("stable", Text(f"the same word when asked again {percent(report.stable)}")))
    rows += _confidence_told(report)
    rows.append(("cost", Text(_cost_told(report))))
    if report.errors:
        rows.append(("doubts, errors", Text(", ".join(f"{code} {n}" for code, n in report.errors.items()))))
    return [
        heading(f"{report.judge}, {report.stage}", f"{report.n} labelled steps"),
        indented(_confusion_table(report)),
        indented(pairs(rows)),
        *_kinds_told(report),
        *_reliability_told(report),
    ]


def _part_told(part: dict[str, str | None]) -> str:
    names = ("judge", "model", "template_id", "effort", "code_version")
    known = [str(part[name]) for name in names if part[name]]
    return " ".join(known) + (f" rubric {str(part['template_hash'])[:12]}" if part["template_hash"] else "")


def _light_told(light: LightPart) -> str:
    names = ", ".join(light.names) if len(light.names) < 4 else f"{len(light.names)} different ones"
    return f"{names} (level {light.low_level:.0f} to {light.high_level:.0f} of 255)"


def _confidence_told(report: Report) -> list[tuple[Any, Any]]:
    from rich.text import Text

    reliability = report.reliability
    if reliability.brier is None:
        return [("confidence", Text("none was given"))]
    ece = "too few for a calibration error" if reliability.ece is None else f"calibration error {reliability.ece:.3f}"
    rows: list[tuple[Any, Any]] = [("confidence", Text(f"Brier {reliability.brier:.3f}, {ece}"))]
    chosen = report.operating
    if chosen is None:
        rows.append(("threshold", Text(f"none shows a risk of at most {report.risk:g} on so many labels")))
    else:
        rows.append(
            (
                "threshold",
                Text(
                    f"{chosen.threshold:g} keeps the risk at most {report.risk:g}: answers {chosen.coverage:.1%}, "
                    f"wrong {percent(chosen.wrong)}, {chosen.wrong_yes} of them a wrong yes"
                ),
            )
        )
    return rows


def _cost_told(report: Report) -> str:
    seconds = "" if report.seconds is None else f", {report.seconds:.2f} s each"
    if report.cost_usd is None:
        return f"nothing that is known, {report.calls} answers{seconds}"
    each = report.cost_usd / report.calls
    return f"${report.cost_usd:.4f} for {report.calls} answers, ${each:.5f} each{seconds}"


def _confusion_table(report: Report) -> Any:
    from runner.cli.show.parts import columns

    table = columns("label", "said yes", "no", "unsure", "no verdict", right=("said yes", "no", "unsure", "no verdict"))
    for name, row in (("yes", report.confusion.yes), ("no", report.confusion.no)):
        table.add_row(name, str(row["yes"]), str(row["no"]), str(row["unsure"]), str(row[None]))
    return table


def _kinds_told(report: Report) -> list[Any]:
    from runner.cli.show.parts import columns, heading, indented

    if len(report.kinds) < 3:
        return []
    numbers = ("n", "said yes", "no", "unsure", "no verdict")
    table = columns("label", "kind", *numbers, right=numbers)
    for kind in report.kinds:
        table.add_row(kind.label, kind.kind, *(str(n) for n in (kind.n, kind.yes, kind.no, kind.unsure, kind.none)))
    return [heading("By kind"), indented(table)]


def _reliability_told(report: Report) -> list[Any]:
    from runner.cli.show.parts import columns, heading, indented

    if not report.reliability.bins:
        return []
    table = columns("confidence", "mean", "right", right=("mean",))
    for part in report.reliability.bins:
        table.add_row(f"{part.low:.2f} to {part.high:.2f}", f"{part.mean_confidence:.3f}", percent(part.right))
    return [heading("What its confidence is worth"), indented(table)]


def _compared_told(comparison: Comparison) -> list[Any]:
    from rich.text import Text

    from runner.cli.show.parts import columns

    paired = comparison.paired
    table = columns("", f"{comparison.second} right", "not right", right=(f"{comparison.second} right", "not right"))
    table.add_row(f"{comparison.first} right", str(paired.both), str(paired.only_first))
    table.add_row("not right", str(paired.only_second), str(paired.neither))
    better = "neither is shown to be right more often"
    if paired.p_value < 0.05:
        better = (
            f"{comparison.first if paired.only_first > paired.only_second else comparison.second} is right more often"
        )
    shown = ", ".join(comparison.differ[:10]) + (" …" if len(comparison.differ) > 10 else "")
    lines = [
        table,
        Text(f"the same word on {percent(comparison.same_word)}"),
        Text(f"{better} (p = {paired.p_value:.3g})"),
    ]
    return lines + ([Text(f"they differ on {shown}", style="dim")] if comparison.differ else [])
