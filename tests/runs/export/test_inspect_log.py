"""The log for Inspect: trials as samples, what stands as scores, nothing unknown as a zero; and Inspect reads it."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from runs.errors import RecordError
from runs.export.inspect_log import write_inspect
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.rulings import rule
from runs.store import RunStore


@pytest.fixture
def exported(generator, tmp_path):
    """A cell's log as text, with a ruling, an unsure one and a broken run in it."""
    cell = tmp_path / "bench"
    generator.make_runs(cell / "runs", 40)
    store = RunStore(cell / "runs")
    names = [entry.run_id for entry in store.list()]
    rule(store, names[0], "place", "no", by="Maya", reason="on the rim")
    rule(store, names[1], "place", "unsure", by="Maya", reason="hidden")
    (cell / "runs" / names[2] / "run.json").write_text("{")
    with ManyRuns([cell]) as many:
        many.refresh()
        out = io.StringIO()
        written = write_inspect(many, Selection(), out, version="1.2.3", name="bench")
    return out.getvalue(), written, names


def test_a_trial_is_a_sample_and_what_stands_its_score(exported):
    text, written, names = exported
    log = json.loads(text)
    assert written.samples == len(log["samples"]) == 39
    assert [each["run_id"] for each in written.left_out] == [names[2]]
    place = log["samples"][0]["scores"]["place"]
    assert (place["value"], place["answer"], place["explanation"]) == ("I", "no", "on the rim")
    assert place["metadata"]["by"] == "Maya"


def test_what_is_unsure_has_no_score_and_counts_as_none(exported):
    log = json.loads(exported[0])
    second = log["samples"][1]
    assert "place" not in second["scores"]
    assert "place" in second["metadata"]["not_scored"]
    scored = [sample for sample in log["samples"] if "place" in sample["scores"]]
    figures = log["results"]["scores"][1]
    assert (figures["scored_samples"], figures["unscored_samples"]) == (len(scored), 39 - len(scored))
    right = sum(sample["scores"]["place"]["value"] == "C" for sample in scored)
    assert figures["metrics"]["accuracy"]["value"] == pytest.approx(right / len(scored))
    assert figures["metrics"]["low_95"]["value"] < right / len(scored) < figures["metrics"]["high_95"]["value"]


def test_an_agents_sitting_is_a_sample_only_where_asked_for(generator, by_agent, tmp_path):
    generator.make_runs(tmp_path / "runs", 6)
    sat = RunStore(tmp_path / "runs").find("2")
    by_agent(sat.folder)

    def samples(*conditions):
        out = io.StringIO()
        write_inspect(many, Selection.parse(conditions), out, version="1", name="bench")
        return [sample["id"] for sample in json.loads(out.getvalue())["samples"]]

    with ManyRuns([tmp_path]) as many:
        many.refresh()
        assert len(samples()) == 5
        assert sat.run_id not in samples()
        assert samples("agent=claude") == [sat.run_id]


def test_no_runs_are_an_error(tmp_path):
    (tmp_path / "runs").mkdir()
    with ManyRuns([tmp_path]) as many:
        many.refresh()
        with pytest.raises(RecordError, match="no such runs"):
            write_inspect(many, Selection(), io.StringIO(), version="1", name="none")


READER = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
head = read_eval_log(sys.argv[1], header_only=True)
print(json.dumps({
    "status": log.status, "total": head.results.total_samples, "samples": len(log.samples),
    "values": [sample.scores["place"].value if "place" in sample.scores else None for sample in log.samples],
    "accuracy": log.results.scores[1].metrics["accuracy"].value, "text": log.samples[0].messages[1].text,
}))
"""


@pytest.mark.slow
def test_inspects_own_reader_opens_it(exported, tmp_path):
    home = tmp_path / "inspect"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    got = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "inspect_ai>=0.3.200,<0.4"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if got.returncode:
        pytest.skip(f"inspect_ai can't be installed here: {got.stderr[-200:]}")
    path = tmp_path / "bench.json"
    path.write_text(exported[0], encoding="utf-8")
    read = subprocess.run([python, "-c", READER, str(path)], capture_output=True, text=True, check=True)
    found = json.loads(read.stdout.splitlines()[-1])
    log = json.loads(exported[0])
    assert (found["status"], found["total"], found["samples"]) == ("success", 39, 39)
    assert found["values"] == [each["scores"].get("place", {}).get("value") for each in log["samples"]]
    assert found["accuracy"] == pytest.approx(log["results"]["scores"][1]["metrics"]["accuracy"]["value"])
    assert found["text"] == log["samples"][0]["messages"][1]["content"]
