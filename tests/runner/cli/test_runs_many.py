"""`trialcell runs stats`, `compare`, `queue`, `sql`, `index`, `export`, `import`, `report`, `open`, `plot`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import cv2
import pytest

from runner.cli.show.plots import error, judge
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.rulings import rule
from runs.schema.detection import DetectRecord
from runs.schema.run import Ending, Provenance, TipDiff, TipMeasurement
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.store import RunHeader, RunStore


@pytest.fixture
def night(tmp_path):
    """A cell with eight judged runs of two profiles that share their seeds; one was ruled on."""
    store = RunStore(tmp_path / "night" / "runs")
    for number in range(8):
        profile = ("perfect", "field")[number % 2]
        made_with = Provenance(
            cell_id="desk", code_version="0.1", arm_kind="twin", arm_model="m", camera="twin", judge="measured",
            seed=number // 2, profile=profile,
        )  # fmt: skip
        writer = store.create(RunHeader(started_at=f"2026-07-0{number // 4 + 3}T13:23:10Z", provenance=made_with))
        writer.add(
            DetectRecord(
                stage=2,
                source="twin",
                block_xz_m=(0.22, 0.26),
                box_xz_m=(-0.18, 0.22),
                block_score=1,
                box_score=1,
                n_captures=3,
            )
        )
        diff = TipDiff(tip_x=0.221, tip_z=0.26, block_x=0.22, block_z=0.26, dx_mm=1.0, dz_mm=0.0, dist_mm=1.0 + number)
        writer.add(TipMeasurement(attempt=1, image="", diff=diff))
        word = "no" if number == 3 else "yes"
        audit = JudgeAudit(judge="measured", model="measured")
        writer.add(Verdict(stage="place", verdict=word, confidence=0.9, reason="seen", audit=audit))
        writer.judgment("place", Judgment(verdict=word, confidence=0.9, reason="seen", model="measured"))
        writer.finish(
            Ending(result="failed" if word == "no" else "completed", stage="stage9b", reason="seen"), duration_s=70
        )
    rule(store, "1", "place", "yes", by="Ada", reason="inside")
    return tmp_path / "night"


def test_stats_tell_rates_with_exact_intervals(trialcell, night):
    told = trialcell("runs", "stats", "--by", "profile", "--cell", night)
    assert told.code == 0
    assert "75.0%" in told.out
    assert "19.4% to 99.4%" in told.out
    total = trialcell("runs", "stats", "--cell", night, "--json").object["total"]
    assert (total["success"]["successes"], total["success"]["n"]) == (7, 8)


def test_days_choose_runs(trialcell, night):
    told = trialcell("runs", "stats", "--since", "2026-07-04", "--cell", night, "--json").object
    assert told["total"]["n"] == 4
    assert trialcell("runs", "stats", "--since", "yesterday", "--cell", night).code == 2


def test_compare_pairs_what_shares_a_seed(trialcell, night):
    told = trialcell("runs", "compare", "profile=perfect", "profile=field", "--cell", night, "--json").object
    assert (told["paired_by"], told["pairs"], told["only_first"]) == ("seed", 4, 1)
    shown = trialcell("runs", "compare", "profile=perfect", "profile=field", "--cell", night)
    assert "1 only in A" in shown.out
    assert trialcell("runs", "compare", night, night).code == 0


def test_many_cells_are_one_list(trialcell, night, cell):
    runs = trialcell("runs", "list", "--cell", night, "--cell", cell, "--json").object
    assert runs["total"] == 11
    assert {run["cell"] for run in runs["runs"]} == {"night", "cell"}
    assert "night" in trialcell("runs", "list", "--cell", night, "--cell", cell).out


def test_lists_have_pages_and_orders(trialcell, night):
    first = trialcell("runs", "list", "--cell", night, "--last", 3, "--sort", "-tip_dist_mm", "--json").object
    assert [run["run_id"][:8] for run in first["runs"]] == ["run_0008", "run_0007", "run_0006"]
    assert (first["pages"], first["total"]) == (3, 8)
    assert "there is no page 9" in trialcell("runs", "list", "--cell", night, "--page", 9).out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["list", "--where", "tpi_dist_mm>3"], 2, "did you mean tip_dist_mm?"),
        (["list", "--sort", "colour"], 2, "is nothing that runs are known by"),
        (["stats", "--by", "colour"], 2, "is nothing that runs are known by"),
        (["sql", "DELETE FROM runs"], 2, "only one that looks"),
        (["sql", "SELECT nothing FROM runs"], 2, "nothing"),
        (["export", "xml"], 2, "the format is csv, jsonl, logs, inspect, lerobot or rerun"),
        (["export", "csv", "--table", "moves"], 2, "--table is one of"),
        (["export", "csv", "--out", "/nowhere/x.csv"], 4, "can't write"),
        (["export", "lerobot"], 2, "say where the lerobot dataset goes"),
        (["export", "lerobot", "--out", "dataset"], 3, "no run can be an episode"),
        (["export", "rerun", "--out", "x.mp4"], 2, "ends in .rrd"),
        (["export", "csv", "99"], 2, "no run '99'"),
        (["import", "/nowhere"], 2, "there is no /nowhere"),
        (["report", "99"], 2, "no run '99'"),
        (["report", "90-99"], 3, "there are no such runs"),
        (["report", "--out", "/proc/x/y.html"], 4, "can't write"),
        (["plot", "colours"], 2, "there is success"),
        (["plot", "success", "--out", "x.gif"], 2, ".svg or .png"),
        (["schema", "--of", "x.json"], 2, "--of is one of"),
    ],
)
def test_mistakes_are_one_sentence(trialcell, night, arguments, code, message):
    cell = [] if arguments[0] == "schema" else ["--cell", night]
    told = trialcell("runs", *arguments, *cell)
    assert told.code == code, told.err
    assert message in " ".join(told.err.split())
    assert "Traceback" not in told.err


def test_sql_answers(trialcell, night):
    told = trialcell("runs", "sql", "SELECT profile, count(*) AS n FROM runs GROUP BY ALL ORDER BY 1", "--cell", night)
    assert "field" in told.out
    assert "2 rows" in told.out
    rows = trialcell("runs", "sql", "SELECT max(tip_dist_mm), max(started) FROM runs", "--cell", night, "--json").object
    assert rows["rows"] == [[8.0, "2026-07-04 13:23:10"]]


def test_the_index_can_be_made_anew(trialcell, night):
    assert trialcell("runs", "index", "--cell", night, "--json").object["indexes"][0]["how"] == "rebuilt"
    again = trialcell("runs", "index", "--cell", night, "--json").object["indexes"][0]["how"]
    assert again in ("current", "updated")  # a folder that was touched a moment ago is looked at once more
    assert "8 runs" in trialcell("runs", "index", "--rebuild", "--cell", night).out


def test_exports_go_to_stdout_or_a_file(trialcell, night, tmp_path):
    told = trialcell("runs", "export", "csv", "--cell", night)
    assert len(told.out.splitlines()) == 9
    out = tmp_path / "tips.jsonl"
    done = trialcell("runs", "export", "jsonl", "--table", "tips", "--out", out, "--cell", night, "--json").object
    assert done["rows"] == 8
    assert [json.loads(line)["dist_mm"] for line in out.read_text().splitlines()] == [1.0 + n for n in range(8)]
    assert trialcell("runs", "export", "csv", "--json", "--cell", night).code == 2
    assert len(trialcell("runs", "export", "csv", "2-4", "latest", "--cell", night).out.splitlines()) == 5


def test_import_takes_in_and_says_what_it_left(trialcell, golden, tmp_path):
    told = trialcell("runs", "import", golden, "--cell", tmp_path / "cell")
    assert told.code == 0, told.err
    assert "taken in" in told.out
    again = trialcell("runs", "import", golden, "--cell", tmp_path / "cell", "--json").object
    assert again["taken"] == 0
    assert again["there already"] >= 1
    empty = tmp_path / "empty"
    empty.mkdir()
    assert trialcell("runs", "import", empty, "--cell", tmp_path / "cell").code == 3


def test_reports_are_written_where_they_say(trialcell, night, tmp_path):
    one = trialcell("runs", "report", "latest", "--cell", night)
    assert one.out.strip() == str(night / "reports" / "run_0008_20260704_132310.html")
    batch = trialcell(
        "runs", "report", "2-4", "--cell", night, "--out", tmp_path / "b.html", "--title", "A <b>night", "--json"
    )
    assert batch.object["runs"] == 3
    html = (tmp_path / "b.html").read_text()
    assert "A &lt;b&gt;night" in html
    opened = trialcell("runs", "open", "3", "--no-browser", "--cell", night, "--json").object
    assert opened["opened"] is False
    assert opened["out"].endswith(".html")


def test_plots_leave_agents_out_unless_asked(generator, by_agent, tmp_path):
    generator.make_runs(tmp_path / "runs", 8)
    store = RunStore(tmp_path / "runs")
    for number in ("2", "3"):
        rule(store, number, "place", "yes", by="Ada", reason="inside")
    by_agent(store.find("2").folder)
    counted = {}
    with ManyRuns([tmp_path]) as many:
        many.refresh()
        for asked in ((), ("agent=claude",)):
            chosen = Selection.parse(asked)
            errors, answers = error(many, chosen, "place").data, judge(many, chosen, "place").data
            counted[asked] = sum(one["runs"] for one in errors), sum(one["n"] for one in answers)
    assert counted == {(): (7, 1), ("agent=claude",): (1, 1)}


@pytest.mark.parametrize("what", ["success", "place", "tip", "corrections", "error", "judge"])
def test_plots_are_read_in_the_terminal_and_written(trialcell, night, tmp_path, what):
    told = trialcell("runs", "plot", what, "--cell", night)
    assert told.code == 0, told.err
    assert told.out.strip()
    trialcell("runs", "plot", what, "--out", tmp_path / "p.svg", "--cell", night)
    ET.parse(tmp_path / "p.svg")
    trialcell("runs", "plot", what, "--out", tmp_path / "p.png", "--cell", night)
    assert cv2.imread(str(tmp_path / "p.png")) is not None
    assert trialcell("runs", "plot", what, "--cell", night, "--json").object["plot"] == what
