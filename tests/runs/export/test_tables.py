"""Exported tables hold what the logs say."""

from __future__ import annotations

import csv
import io
import json

import pytest

from runs.export.tables import TABLES, table_rows, whole_logs, write_csv, write_jsonl
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.index.shape import COLUMNS
from runs.published import PUBLISHED, schema_of
from runs.schema.run import Ending, RunLog
from runs.store import RunHeader, RunStore


@pytest.fixture
def many(tmp_path):
    store = RunStore(tmp_path / "cell" / "runs")
    writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    writer.stage_started("stage1", started_s=0.0)
    writer.stage_ended("stage1", "done", ended_s=3.5)
    writer.finish(Ending(result="failed", stage="stage6", reason='=HYPERLINK("x"), then\n"quoted"'), duration_s=12.5)
    broken = store.create(RunHeader(started_at="2026-07-03T13:25:10Z"))
    broken.finish(Ending(result="failed", stage="stage6", reason="-3 mm off"))
    (broken.folder / "run.json").write_text("{")
    with ManyRuns([tmp_path / "cell"]) as many:
        many.refresh()
        yield many


def test_csv_reads_back_as_it_was_and_runs_as_no_formula(many):
    out = io.StringIO(newline="")
    assert write_csv(table_rows(many, Selection()), out) == 2
    first, second = csv.DictReader(io.StringIO(out.getvalue(), newline=""))
    assert first["reason"] == '\'=HYPERLINK("x"), then\n"quoted"'
    assert (first["duration_s"], first["seed"], first["dry_run"]) == ("12.5", "", "false")
    assert "not JSON" in second["problem"] or "cut off" in second["problem"]


def test_json_lines_fit_their_schema(many):
    out = io.StringIO()
    write_jsonl(table_rows(many, Selection()), out)
    properties = schema_of("runs.jsonl")["properties"]
    for line in out.getvalue().splitlines():
        row = json.loads(line)
        assert row.keys() == properties.keys()
        for name, value in row.items():
            kinds = {
                "str": "string",
                "int": "integer",
                "float": "number",
                "bool": "boolean",
                "NoneType": "null",
                "list": "array",
            }
            assert kinds[type(value).__name__] in properties[name]["type"], name


@pytest.mark.parametrize("table", TABLES)
def test_every_table_names_the_run(many, table):
    for row in table_rows(many, Selection(), table):
        assert {"cell", "run_id"} <= row.keys()
    if table == "stages":
        assert [(row["name"], row["duration_s"]) for row in table_rows(many, Selection(), table)] == [("stage1", 3.5)]


def test_whole_logs_are_logs(many):
    (raw,) = whole_logs(many, Selection())
    assert raw.pop("cell") == "cell"
    assert RunLog.model_validate_json(json.dumps(raw), strict=True).result == "failed"


def test_names_of_measured_columns_end_in_their_units():
    units = ("_m", "_mm", "_deg", "_s", "_usd", "_score", "_level", "_confidence", "_doubt", "_lot")
    assert all(name.endswith(units) for name, kind in COLUMNS.items() if kind == "DOUBLE")


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_file_has_a_schema(name):
    schema = schema_of(name)
    assert schema["type"] == "object"
    assert json.dumps(schema)
