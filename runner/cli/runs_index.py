"""`trialcell runs list`, `stats`, `compare`, `queue`, `sql` and `index`: many runs at once, answered from their index.

The commands are registered in `runs.py`. Each brings the index up to date first; none changes a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import (
    DEFAULT_CELLS,
    CellsOption,
    JsonOption,
    SinceOption,
    UntilOption,
    WhereOption,
)
from runner.cli.output import Output

if TYPE_CHECKING:
    from runs.index.compared import Comparison
    from runs.index.groups import Group
    from runs.index.questions import ManyRuns
    from runs.index.select import Selection
    from runs.statistics import Rate

_DATE = re.compile(r"\d{4}(-\d{2}){0,2}")


def list_runs(
    cells: CellsOption = DEFAULT_CELLS,
    last: Annotated[int, typer.Option("--last", min=1, help="So many a page; the first page is the newest.")] = 50,
    page: Annotated[int, typer.Option("--page", min=1, help="Which page.")] = 1,
    sort: Annotated[
        str | None, typer.Option("--sort", metavar="KEY", help="In this order; -KEY for the largest first.")
    ] = None,
    result: Annotated[str | None, typer.Option("--result", metavar="WORD", help="Only those that ended so.")] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    json: JsonOption = False,
) -> None:
    """List the runs of a cell, the newest last."""
    from runner.cli.show.listing import LINE_COLUMNS, Line, listing

    out = Output(as_json=json)
    selection = selected(where, since, until, result=result)
    with many_runs(cells, out) as many:
        shown = many.listed(selection, sort=sort, page=page, size=last, columns=LINE_COLUMNS)
        rows = [Line(**row) for row in shown.rows]
        dirs = [str(index.runs_dir) for index in many.indexes]
    data = {
        "runs_dir": dirs[0],
        "runs_dirs": dirs,
        "runs": [line.as_object() for line in rows],
        "page": page,
        "pages": -(-shown.total // last),
        "total": shown.total,
        "results": shown.results,
    }
    out.answer(data, *listing(rows, dirs, shown, page=page, size=last))


def stats(
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="KEY", help="square, place_square, day, session, judge, code, light, profile, arm, …"
        ),
    ] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """How often it worked, with exact intervals, over all runs or by what they have in common."""
    from rich.text import Text

    from runner.cli.show.parts import QUIET

    out = Output(as_json=json)
    selection = selected(where, since, until)
    with many_runs(cells, out) as many:
        groups = many.stats(by, selection) if by is not None else []
        total = many.stats(None, selection, agents=by == "agent")
        unreadable = many.unreadable(selection)
    data = {
        "by": by,
        "groups": [asdict(group) for group in groups],
        "total": asdict(total[0]) if total else None,
        "unreadable": unreadable,
    }
    if not total:
        out.answer(data, Text("no runs", style=QUIET))
        return
    told = [_groups_told(by, groups, total[0])]
    told += [Text(f"can't be read: {row['run_id']}  {row['problem']}", style="yellow") for row in unreadable]
    pace = total[0].units_per_h
    hour = "" if pace is None else f"; {pace:.0f} blocks placed in an hour of trials"
    words = f"\nsuccess is completed of completed and failed, 95 % exact interval{hour}"
    out.answer(data, *told, Text(words, style=QUIET))


def compare(
    first: Annotated[
        str, typer.Argument(metavar="A", help="A cell's folder, or conditions: profile=field,day=2026-07-03.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other set.")],
    where: WhereOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Hold two sets of runs against each other, in pairs where they share a start (a seed, else the squares)."""
    out = Output(as_json=json)
    folders = list(cells)
    texts: list[str | Path] = []
    for side in (first, second):
        path = Path(side)
        if path.is_dir():
            if path not in folders:
                folders.append(path)
            texts.append(path)
        else:
            texts.append(side)
    if all(isinstance(each, Path) for each in texts):
        folders = list(dict.fromkeys(Path(each) for each in texts))
    with many_runs(folders, out) as many:
        sides = [_side(each, where, many) for each in texts]
        found = many.compare(*sides)
    out.answer({"a": first, "b": second, **asdict(found)}, *_compared(first, second, found))


def _side(text: str | Path, where: Sequence[str] | None, many: ManyRuns) -> Selection:
    if isinstance(text, Path):
        return selected([*(where or ()), f"cell={many.labels[many.folders.index(text)]}"])
    return selected([*(where or ()), *text.split(",")])


def queue(
    share: Annotated[
        float, typer.Option("--share", min=0, max=1, help="Of the confident ones, how many to look at all the same.")
    ] = 0.07,
    seed: Annotated[
        int, typer.Option("--seed", help="Which of the confident ones; they stay the same for a seed.")
    ] = 0,
    last: Annotated[int | None, typer.Option("--last", min=1, help="Only among so many runs, the newest.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many steps.")] = 100,
    where: WhereOption = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Also show what was said; who has seen that no longer judges blind.")
    ] = False,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """What a person should look at, the most doubtful first: no verdict, unsure, disagreements, and some at random.

    Nobody's word is shown, so that you can judge blind; --json holds everything.
    """
    out = Output(as_json=json)
    selection = selected(where, last=last)
    with many_runs(cells, out) as many:
        items, total = many.queue(selection, share=share, seed=seed, limit=limit)
        unreadable = [row["run_id"] for row in many.unreadable(selection)]
        n_runs = many.listed(selection, size=1, columns=("run_id",)).total - len(unreadable)
    answer = {
        "queue": items,
        "total": total,
        "runs": n_runs,
        "share": share,
        "seed": seed,
        "unreadable": unreadable,
    }
    out.answer(answer, *_queue_told(items, total, n_runs, unreadable, cells, verdicts))


def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT; - reads it from stdin.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many rows.")] = 1000,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Ask the index in SQL. Tables: runs, lookups, stages, picks, tips; DESCRIBE runs names the columns."""
    import sys

    from rich.text import Text

    from runner.cli.show.parts import QUIET, columns
    from runs.figures import clean

    out = Output(as_json=json)
    with many_runs(cells, out) as many:
        names, rows, more = many.sql(sys.stdin.read() if query == "-" else query, limit=limit)
    data = {"columns": names, "rows": [[_plain(value) for value in row] for row in rows], "more": more}
    numbers = [name for at, name in enumerate(names) if rows and isinstance(rows[0][at], int | float)]
    table = columns(*names, right=numbers)
    for row in rows:
        table.add_row(*(clean(_cell(value)) for value in row))
    end = f"\nmore than {limit} rows: --limit shows more" if more else f"\n{len(rows)} rows"
    out.answer(data, table, Text(end, style=QUIET))


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make it anew from the folders.")] = False,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Look at every run and bring the index up to date; it is never more than a copy of what the folders say."""
    from runs.index.questions import ManyRuns

    out = Output(as_json=json)
    with ManyRuns(cells) as many:
        done = [
            each.rebuild(progress=progress_of(out)) if rebuild else each.refresh(full=True, progress=progress_of(out))
            for each in many.indexes
        ]
        unreadable = many.unreadable()
        dirs = [str(each.runs_dir) for each in many.indexes]
    data = {
        "indexes": [{"runs_dir": where, **asdict(each)} for where, each in zip(dirs, done, strict=True)],
        "unreadable": unreadable,
    }
    told = [
        f"{where}: {each.how}, {each.runs:,} runs, {each.changed:,} read in {each.seconds:.2f} s"
        for where, each in zip(dirs, done, strict=True)
    ]
    out.answer(data, *told, *(f"can't be read: {row['run_id']}  {row['problem']}" for row in unreadable))


def selected(
    where: Sequence[str] | None,
    since: str | None = None,
    until: str | None = None,
    *,
    result: str | None = None,
    last: int | None = None,
    run_ids: tuple[str, ...] | None = None,
) -> Selection:
    """The runs that the options mean."""
    from runs.index.select import Selection

    for name, day in (("--since", since), ("--until", until)):
        if day is not None and not _DATE.fullmatch(day):
            raise typer.BadParameter(f"{name} is a day such as 2026-07-03, a month or a year; got {day!r}")
    conditions = [*(where or ()), *([f"result={result}"] if result is not None else [])]
    return Selection.parse(conditions, since=since, until=until, last=last, run_ids=run_ids)


@contextmanager
def many_runs(cells: Sequence[Path], out: Output) -> Iterator[ManyRuns]:
    """The runs of these cells, the index up to date."""
    from runs.index.questions import ManyRuns

    with ManyRuns(cells) as many:
        many.refresh(progress=progress_of(out))
        yield many


def progress_of(out: Output) -> Any:
    """Says on stderr what takes long."""

    def tell(text: str) -> None:
        out.aside.print(f"{text} …", style="dim")

    return tell


def _groups_told(by: str | None, groups: Sequence[Group], total: Group) -> Any:
    from rich.text import Text

    from runner.cli.show.parts import columns
    from runs.figures import NOTHING, clean

    names = (by or "", "runs", "completed", "failed", "other", "success", "", "first try", "tip mm", "took")
    table = columns(*names, right=("runs", "completed", "failed", "other", "success", "first try", "tip mm", "took"))
    for group in [*groups, total]:
        other = group.n - group.success.n
        name = ("all" if group is total else "not known") if group.key is None else clean(group.key)
        table.add_row(
            Text(name, style="bold" if group is total else ""),
            str(group.n),
            str(group.results.get("completed", 0)),
            str(group.results.get("failed", 0)),
            str(other) if other else NOTHING,
            *_rate_cells(group.success),
            NOTHING if group.first_attempt.rate is None else f"{group.first_attempt.rate:.1%}",
            NOTHING if group.tip_mm is None else f"{group.tip_mm:.1f}",
            NOTHING if group.duration_s is None else f"{group.duration_s:.1f} s",
        )
    return table


def _rate_cells(rate: Rate) -> tuple[str, str]:
    if rate.rate is None:
        return "·", ""
    return f"{rate.rate:.1%}", f"{rate.low:.1%} to {rate.high:.1%}"


def _compared(first: str, second: str, found: Comparison) -> Iterator[Any]:
    from rich.text import Text

    from runner.cli.show.parts import QUIET, columns, heading, indented, pairs

    table = columns(
        "", "runs", "completed", "failed", "other", "success", "", "tip mm", "took", right=("runs", "tip mm")
    )
    for letter, side, group in (("A", first, found.first), ("B", second, found.second)):
        results = group.results
        table.add_row(
            f"{letter}  {side}",
            str(group.n),
            str(results.get("completed", 0)),
            str(results.get("failed", 0)),
            str(group.n - group.success.n),
            *_rate_cells(group.success),
            "·" if group.tip_mm is None else f"{group.tip_mm:.1f}",
            "·" if group.duration_s is None else f"{group.duration_s:.1f} s",
        )
    yield table
    rows: list[tuple[Any, Any]] = []
    if found.difference is not None:
        rows.append(("B minus A", Text(_difference(found.difference))))
    if found.paired is not None:
        told = (
            f"{found.pairs} decided on both sides: {found.both} worked in both, {found.only_first} only in A, "
            f"{found.only_second} only in B, {found.neither} in neither"
        )
        rows.append(("pairs", Text(f"by {found.paired_by}, {told}")))
        rows.append(("B minus A", Text(_difference(found.paired))))
    if rows:
        yield heading("difference")
        yield indented(pairs(rows))
    if found.paired_by is None:
        yield Text("\nno start is shared, so there are no pairs", style=QUIET)
    elif found.undecided_pairs:
        yield Text(f"\n{found.undecided_pairs} pairs are not decided on both sides", style=QUIET)


def _difference(found: Any) -> str:
    chance = f"p = {found.p_value:.3f}" if found.p_value >= 0.001 else "p < 0.001"
    return f"{found.value:+.1%} ({found.low:+.1%} to {found.high:+.1%}), {chance}"


def _queue_told(
    items: list[dict[str, Any]],
    total: int,
    n_runs: int,
    unreadable: list[str],
    cells: Sequence[Path],
    with_words: bool,
) -> list[Any]:
    from rich.text import Text

    from runner.cli.show.parts import QUIET, columns, verdict_word

    told: list[Any] = [Text(f"can't be read, so not in the queue: {name}", style="yellow") for name in unreadable]
    if not items:
        return [*told, Text(f"nothing to look at in {n_runs} runs", style=QUIET)]
    table = columns("run", "step", "doubt", *["stands"] * with_words, "why", right=("doubt",), wide="why")
    for item in items:
        stands = [verdict_word(item["word"])] if with_words else []
        why = Text("; ".join(item["reasons" if with_words else "blind_reasons"]))
        table.add_row(item["run_id"], item["stage"], f"{item['doubt']:.2f}", *stands, why)
    where = "" if list(cells) == DEFAULT_CELLS else f" --cell {cells[0]}"
    first = items[0]
    more = f", {len(items)} of them shown (--limit)" if total > len(items) else ""
    how = f"look and say: trialcell runs rule {first['run_id']} --stage {first['stage']}{where}"
    return [*told, table, Text(f"\n{total} steps in {n_runs} runs{more}; {how}", style=QUIET)]


def _cell(value: Any) -> str:
    if value is None:
        return "·"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """A value of SQL as one of JSON."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
