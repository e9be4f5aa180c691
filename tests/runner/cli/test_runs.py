"""`trialcell runs`: list, show, validate, recover, schema."""

from __future__ import annotations

import json

import pytest

from runs.migrate import load_log
from runs.published import log_schema
from runs.store import RunStore


def test_list_shows_every_run_the_newest_last(trialcell, cell):
    told = trialcell("runs", "list", "--cell", cell)
    assert told.code == 0
    lines = [line for line in told.out.splitlines() if line.startswith("run_")]
    assert ["completed" in lines[0], "refused" in lines[1], "interrupted" in lines[2]] == [True] * 3
    assert "in stage4_pick" in lines[1]
    assert "trialcell runs recover" in told.out
    assert "1 completed, 1 refused, 1 interrupted" in told.out


def test_list_as_an_object(trialcell, cell):
    runs = trialcell("runs", "list", "--cell", cell, "--json").object["runs"]
    assert [run["result"] for run in runs] == ["completed", "refused", "interrupted"]
    assert runs[0]["duration_s"] == 71.5


def test_list_can_be_narrowed(trialcell, cell):
    newest = trialcell("runs", "list", "--cell", cell, "--last", 1, "--json").object["runs"]
    assert [run["run_id"] for run in newest] == ["run_0003_20260703_132710"]
    refused = trialcell("runs", "list", "--cell", cell, "--result", "refused", "--json").object["runs"]
    assert [run["run_id"] for run in refused] == ["run_0002_20260703_132510"]


def test_list_goes_on_past_a_log_that_can_not_be_read(trialcell, cell):
    (cell / "runs" / "run_0002_20260703_132510" / "run.json").write_text("{")
    told = trialcell("runs", "list", "--cell", cell)
    assert told.code == 0
    assert "unreadable" in told.out


def test_a_cell_without_runs_says_so(trialcell, tmp_path):
    told = trialcell("runs", "list", "--cell", tmp_path / "none")
    assert (told.code, told.out) == (0, f"no runs in {tmp_path / 'none' / 'runs'}\n") or "no runs in" in told.out


def test_the_cell_comes_from_the_environment_too(trialcell, cell, monkeypatch):
    monkeypatch.setenv("TRIALCELL_DIR", str(cell))
    assert len(trialcell("runs", "list", "--json").object["runs"]) == 3


@pytest.mark.parametrize("wanted", ["latest", "3", "run_0003_20260703_132710"])
def test_show_finds_a_run_by_any_of_its_names(trialcell, cell, wanted):
    told = trialcell("runs", "show", wanted, "--cell", cell)
    assert told.code == 0
    assert told.out.startswith("run_0003_20260703_132710   interrupted")


def test_show_says_where_the_pictures_are(trialcell, cell):
    folder = cell / "runs" / "run_0001_20260703_132310"
    told = trialcell("runs", "show", folder)
    assert str(folder / "run_0001_20260703_132310_pick.jpg") in told.out.replace("\n", "").replace(" ", "")


def test_show_gives_the_log_as_an_object(trialcell, golden):
    log = load_log(golden / "v1.json")
    assert trialcell("runs", "show", golden / "v1.json", "--json").object == log.model_dump(mode="json")


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        ("99", 2, "no run '99' in"),
        ("no_such.json", 3, "no_such.json is not a run log: no such file or directory"),
        ("LICENSE", 3, "is not JSON"),
    ],
)
def test_show_of_what_is_not_there_is_one_sentence(trialcell, cell, wanted, code, message):
    told = trialcell("runs", "show", wanted, "--cell", cell)
    assert told.code == code
    assert message in told.err
    assert "Traceback" not in told.err
    assert trialcell("runs", "show", wanted, "--cell", cell, "--json").object["error"]["exit_code"] == code


def test_validate_passes_good_logs_and_names_what_is_wrong_in_others(trialcell, golden, tmp_path):
    raw = json.loads((golden / "v1.json").read_text(encoding="utf-8"))
    raw["moves"][0]["arrived"] = "perhaps"
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(raw))
    newer = tmp_path / "newer.json"
    newer.write_text('{"schema_version": 7}')
    good = trialcell("runs", "validate", golden / "v0.json", golden / "v1.json")
    assert good.code == 0
    assert good.out.count("✓") == 2
    told = trialcell("runs", "validate", golden / "v1.json", bad, newer)
    assert told.code == 3
    assert (told.out.count("✓"), told.out.count("✗")) == (1, 2)
    assert "moves.0.arrived: input should be a valid boolean" in told.out
    assert "schema version 7" in told.out
    logs = trialcell("runs", "validate", golden / "v1.json", bad, newer, "--json").object["logs"]
    assert [log["valid"] for log in logs] == [True, False, False]


def test_recover_builds_what_is_missing_and_leaves_the_rest(trialcell, cell):
    before = (cell / "runs" / "run_0001_20260703_132310" / "run.json").stat().st_mtime_ns
    told = trialcell("runs", "recover", "--cell", cell, "--json")
    assert told.code == 0
    assert told.object == {"recovered": [{"run_id": "run_0003_20260703_132710", "result": "crashed"}], "failed": []}
    assert (cell / "runs" / "run_0001_20260703_132310" / "run.json").stat().st_mtime_ns == before
    assert RunStore(cell / "runs").open("3").log.stage_records[0].outcome == "cut_off"
    assert "nothing to recover" in trialcell("runs", "recover", "--cell", cell).out


def test_recover_of_a_run_that_is_being_written_is_busy(trialcell, cell):
    from runs.store import RunHeader

    writer = RunStore(cell / "runs").create(RunHeader())
    told = trialcell("runs", "recover", "latest", "--cell", cell)
    assert told.code == 5
    assert "still being written" in told.out
    assert "nothing to recover" not in trialcell("runs", "recover", "--cell", cell).out
    writer.close()


def test_recover_goes_on_past_a_run_that_can_not_be_recovered(trialcell, cell):
    hopeless = cell / "runs" / "run_0009_20260703_140000"
    hopeless.mkdir()
    (cell / "runs" / "run_0003_20260703_132710").rename(cell / "runs" / "run_0010_20260703_132710")
    told = trialcell("runs", "recover", "--cell", cell)
    assert told.code == 3
    assert "✗ run_0009_20260703_140000" in told.out
    assert "crashed" in told.out


def test_schema_is_the_published_one(trialcell):
    assert json.loads(trialcell("runs", "schema").out) == log_schema()
    assert trialcell("runs", "schema", "--json").object == log_schema()
