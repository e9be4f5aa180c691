"""`trialcell runs`: list, show, check and recover the logs of trials. Reads any log; writes only with `recover`."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.runs_export import export, import_runs
from runner.cli.runs_index import compare, index, list_runs, queue, sql, stats
from runner.cli.runs_proposals import decide, proposals
from runner.cli.runs_report import open_run, plot, report
from runner.cli.runs_review import rates, rule

app = typer.Typer(
    name="runs",
    help="List, show, check and recover the logs of trials.",
    no_args_is_help=True,
    epilog="Example: trialcell runs show latest",
)

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN|FILE|FOLDER", help="A run's id or number, latest, or a log's file or folder.")
]


app.command("list", epilog="Example: trialcell runs list --last 20 --where profile=field --sort -tip_dist_mm")(
    list_runs
)
app.command(epilog="Example: trialcell runs stats --by square")(stats)
app.command(epilog="Example: trialcell runs compare profile=perfect profile=field")(compare)


@app.command(epilog="Example: trialcell runs show latest --full")
def show(
    run: RunArgument,
    cell: CellOption = DEFAULT_CELL,
    full: Annotated[bool, typer.Option("--full", help="Every digit as it stands in the log.")] = False,
    json: JsonOption = False,
) -> None:
    """Show one run as a page: how it ended, what was seen, moved, judged and learned."""
    from runner.cli.show.page import page
    from runs.store import RunStore, open_any, picture_path

    stored = open_any(run, RunStore(cell / "runs"))
    out = Output(as_json=json)
    if json:
        out.answer(stored.log.model_dump(mode="json"))
        return
    found = {one.image: picture_path(one.image, stored.entry.folder) for one in stored.log.vlm_captures}
    out.answer({}, *page(stored.log, full=full, state=stored.entry.state, found=found))


@app.command(epilog="Example: trialcell runs validate cell/runs/*/run.json")
def validate(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Logs: files, folders or runs of the cell.")],
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Say of each log whether it is valid, and if not, which key is wrong; check the hashes of its pictures."""
    from rich.text import Text

    from runs.check import check_log
    from runs.store import RunStore

    checks = [check_log(path, RunStore(cell / "runs")) for path in paths]
    told: list[Any] = []
    for check in checks:
        told.append(
            Text.assemble(
                ("✓ " if check.valid else "✗ ", "green" if check.valid else "bold red"),
                check.source,
                (f"  {check.summary}", "bright_black" if check.valid else ""),
            )
        )
        told += [Text(f"    {problem}") for problem in check.problems]
    Output(as_json=json).answer({"logs": [check.as_object() for check in checks]}, *told)
    return 0 if all(check.valid for check in checks) else 3


@app.command(epilog="Example: trialcell runs recover")
def recover(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Which; all that need it if none.")] = None,
    cell: CellOption = DEFAULT_CELL,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Build run.json again where it is complete.")] = False,
    json: JsonOption = False,
) -> int:
    """Build the log of a run that was cut off, from the events that were written until then."""
    from rich.text import Text

    from runner.cli.failures import exit_code_of
    from runs.errors import RecordError
    from runs.store import RunStore

    store = RunStore(cell / "runs")
    wanted = runs or [entry.run_id for entry in store.list() if entry.state == "interrupted"]
    logs, failed = [], {}
    for name in wanted:
        try:
            logs.append(store.recover(name, overwrite=overwrite))
        except RecordError as error:
            failed[name] = error
    told = [Text(f"✓ {log.run_id}  {log.result}: {log.ending.reason if log.ending else ''}") for log in logs]
    told += [Text(f"✗ {name}  {error}", style="red") for name, error in failed.items()]
    data = {
        "recovered": [{"run_id": log.run_id, "result": log.result} for log in logs],
        "failed": [{"run": name, "message": str(error)} for name, error in failed.items()],
    }
    Output(as_json=json).answer(data, *(told or [Text("nothing to recover")]))
    return max((exit_code_of(error) for error in failed.values()), default=0)


@app.command(epilog="Example: trialcell runs schema > run-log.schema.json")
def schema(
    of: Annotated[
        str, typer.Option("--of", metavar="FILE", help="run.json, events.jsonl, rulings.jsonl, corrections.json, …")
    ] = "run.json",
    json: JsonOption = False,
) -> None:
    """Print the JSON Schema of a file of the record; of a .jsonl that of each line."""
    from runs.published import PUBLISHED, schema_of

    if of not in PUBLISHED:
        raise typer.BadParameter(f"--of is one of {', '.join(PUBLISHED)}; got {of!r}")
    data = schema_of(of)
    Output(as_json=json).verbatim(data, jsonlib.dumps(data, indent=2, ensure_ascii=False))


app.command(epilog="Example: trialcell runs report latest")(report)
app.command("open", epilog="Example: trialcell runs open latest")(open_run)
app.command(epilog="Example: trialcell runs plot success --out success.png")(plot)
app.command("export", epilog="Example: trialcell runs export csv --out runs.csv")(export)
app.command("import", epilog="Example: trialcell runs import /mnt/field/runs --cell cell")(import_runs)
app.command(epilog="Example: trialcell runs queue --share 0.1")(queue)
app.command(epilog='Example: trialcell runs rule latest --stage place --verdict no --why "it hangs on the rim"')(rule)
app.command(epilog="Example: trialcell runs sql 'SELECT result, count(*) FROM runs GROUP BY ALL'")(sql)
app.command(epilog="Example: trialcell runs index")(index)
app.command(epilog="Example: trialcell runs rates --stage place")(rates)
app.command(epilog="Example: trialcell runs proposals --open")(proposals)
app.command(epilog='Example: trialcell runs decide latest 1 --accept --by Kim --why "seen on the pictures"')(decide)
