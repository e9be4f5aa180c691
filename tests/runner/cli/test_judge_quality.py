"""`trialcell judge calibrate`, `compare`, `rejudge`, `collect`, and what an ask says of its judge's certificate."""

from __future__ import annotations

import json
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import cv2
import numpy as np
import pytest

from judges.certificate import load_certificates
from judges.labelled import LabelledItem, LabelledSet, write_set
from runner.cli.main import run
from runner.config import Config
from runner.twin.setup import build_twin
from runs.rulings import rule
from runs.store import RunStore
from vision.calibration.file import load_lens, load_plane
from vision.calibration.kept import content_hash

pytestmark = pytest.mark.slow  # whole trials and rendered sets; the rules behind them have quick tests of their own


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """Pictures of the twin's table: block beside the box, and in the middle of it."""
    folder = tmp_path_factory.mktemp("scenes")
    from runner.twin.world import Resting

    twin = build_twin(Config(), seed=5)
    twin.arm.send_path(np.array([[150.0, 0, 0, 0, 0, -30.0]]), speed_percent=100)
    twin.clock.sleep(5.0)
    twin.world.put_box(Resting((-0.18, 0.20), 10.0))
    for name, block in (("before", (0.20, 0.20)), ("beside", (-0.06, 0.26)), ("inside", (-0.18, 0.20))):
        twin.world.put_block(Resting(block, 20.0), above_m=0.01)
        twin.clock.sleep(1.5)
        cv2.imwrite(str(folder / f"{name}.png"), twin.camera.read().image_bgr)
    twin.close()
    return folder


@pytest.fixture(scope="session")
def labelled(scenes, prepared_cell):
    """A set of 16 successes and 16 failures (two scenes, many times over), seen by the cell's camera."""
    items = tuple(
        LabelledItem(
            id=f"{kind}{n}",
            stage="place",
            label=label,
            kind=kind,
            before="before.png",
            after=f"{kind}.png",
            light="day",
        )
        for n in range(16)
        for kind, label in (("inside", "yes"), ("beside", "no"))
    )
    calibration = prepared_cell / "calibration"
    write_set(
        scenes,
        LabelledSet(
            made_by="test",
            camera="twin",
            lens_hash=content_hash(load_lens(calibration)),
            plane_hash=content_hash(load_plane(calibration)),
            items=items,
        ),
    )
    return scenes


@pytest.fixture(scope="session")
def measured(labelled, tmp_path_factory, prepared_cell):
    """What `judge calibrate` told of that set, and the certificate that it left."""
    cell = tmp_path_factory.mktemp("measured") / "cell"
    shutil.copytree(prepared_cell, cell, ignore=shutil.ignore_patterns("cell.lock*", "*.parquet"))
    out = StringIO()
    with redirect_stdout(out):
        args = [str(labelled), "--repeats", "1", "--repeat-share", "0.2", "--json"]
        assert run(["judge", "calibrate", *args, "--cell", str(cell)]) == 0
    return json.loads(out.getvalue()), cell / "calibration" / "judge.json"


@pytest.fixture
def certified(measured, cell_copy):
    """A cell whose measuring judge is certified."""
    shutil.copy(measured[1], cell_copy / "calibration")
    return cell_copy


def test_a_judge_is_measured_and_certified(measured, certified):
    place = measured[0]["stages"]["place"]
    assert place["confusion"] == {
        "yes_yes": 16, "yes_no": 0, "yes_unsure": 0, "yes_none": 0,
        "no_yes": 0, "no_no": 16, "no_unsure": 0, "no_none": 0,
    }  # fmt: skip
    assert place["certified"]
    assert 0 < place["stable"]["successes"] == place["stable"]["n"] < 16
    assert place["always_yes"]["rate"] == 0.5
    certificate = load_certificates(certified / "calibration").of("measured", "place")
    assert certificate.certified
    assert certificate.light.names == ("day",)


def test_the_report_for_people_has_it_all(trialcell, cell_copy, labelled):
    out = trialcell("judge", "calibrate", labelled, "--limit", 12, "--no-certificate").out
    for word in (
        "certified",
        "said yes",
        "always yes",
        "kappa",
        "threshold",
        "Brier",
        "cost",
        "no certificate was written",
    ):
        assert word in out, word
    assert not (cell_copy / "calibration" / "judge.json").exists()


def test_an_answer_says_whether_its_judge_is_certified(trialcell, cell_copy, labelled, measured, tmp_path):
    ask = ["judge", "ask", "--stage", "place", "--before", labelled / "before.png", "--after", labelled / "inside.png"]
    before = trialcell(*ask, "--json").object
    assert (before["certified"], before["verdict"]) == (False, "yes")
    assert "against labels" in before["certified_why"]
    shutil.copy(measured[1], cell_copy / "calibration")
    assert trialcell(*ask, "--json").object["certified"]
    assert "certified: right on 16 of 16 successes" in " ".join(trialcell(*ask).out.split())
    dark = cv2.imread(str(labelled / "inside.png")) // 2
    cv2.imwrite(str(tmp_path / "dark.png"), dark)
    other = trialcell(*ask[:-1], tmp_path / "dark.png", "--json").object
    assert not other["certified"]
    assert "the light has changed" in other["certified_why"]


def test_a_changed_rubric_model_or_effort_is_uncertified(trialcell, cell_copy, labelled, claude_server):
    claude_server.verdict = "no"
    few = ["judge", "calibrate", labelled, "--judge", "claude", "--limit", 6, "--json"]
    told = trialcell(*few).object["stages"]["place"]
    assert told["calls"] == 6
    assert told["cost_usd"] == pytest.approx(6 * (3000 * 0.10 + 400 * 0.50) / 1e6)
    path = cell_copy / "calibration" / "judge.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["certificates"][0] |= {"certified": True, "why": "taken to be good"}
    path.write_text(json.dumps(raw), encoding="utf-8")
    ask = ["judge", "ask", "--judge", "claude", "--stage", "place", "--after", labelled / "inside.png", "--json"]
    ask += ["--before", labelled / "before.png"]
    assert trialcell(*ask).object["certified"]
    assert "the effort has changed" in trialcell(*ask, "--set", "judge.effort=low").object["certified_why"]
    assert "the threshold has changed" in trialcell(*ask, "--set", "judge.threshold=0.8").object["certified_why"]
    assert "closer looks" in trialcell(*ask, "--set", "judge.crops=false").object["certified_why"]
    japanese = trialcell(*ask, "--set", "judge.language=ja").object
    assert "language" in japanese["certified_why"]
    claude_server.model = "claude-haiku-6"
    assert "the model has changed" in trialcell(*ask).object["certified_why"]
    raw["certificates"][0]["parts"][0]["template_hash"] = "of a rubric with one other word"
    path.write_text(json.dumps(raw), encoding="utf-8")
    claude_server.model = "claude-haiku-5-5"
    assert "the rubric has changed" in trialcell(*ask).object["certified_why"]


def test_an_answer_once_paid_for_is_kept_and_not_asked_for_again(trialcell, cell_copy, labelled, claude_server):
    claude_server.verdict = "no"
    few = ["judge", "calibrate", labelled, "--judge", "claude", "--limit", 5, "--json"]
    cut_off = trialcell(*few, "--set", "judge.budget_calls=2")
    assert any("budget ran out" in remark for remark in cut_off.object["remarks"])
    assert cut_off.object["certificate"] is None
    assert not (cell_copy / "calibration" / "judge.json").exists()
    paid = len(claude_server.seen)
    assert paid == 2
    whole = trialcell(*few).object
    assert len(claude_server.seen) == 5, "only what was missing is asked for"
    (answers,) = (cell_copy / "judgings").rglob("answers.jsonl")
    assert Path(whole["answers"]).resolve() == answers.resolve()
    sent = next(json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines())["verdict"]["audit"]
    assert all((cell_copy / image["image"]).is_file() for image in sent["images"])
    trialcell(*few, "--again")
    assert len(claude_server.seen) == 10


def test_without_a_labelled_step_at_that_stage_it_says_so(trialcell, cell_copy, labelled):
    told = trialcell("judge", "calibrate", labelled, "--stage", "pick")
    assert told.code == 2
    assert "no labelled step of the stage pick" in told.err


def test_two_judges_are_compared(trialcell, cell_copy, labelled, claude_server):
    claude_server.verdict = "no"
    told = trialcell("judge", "compare", "measured", "claude", labelled, "--limit", 12, "--seed", 1, "--json").object
    assert told["paired"]["only_second"] == 0
    assert told["paired"]["both"] + told["paired"]["only_first"] == told["n"] == 12
    assert "right more often" in trialcell("judge", "compare", "measured", "claude", labelled, "--limit", 12).out


def test_without_labels_one_is_told_how_to_get_them(trialcell, cell_copy):
    told = trialcell("judge", "calibrate")
    assert told.code == 2
    assert "judge make-set" in told.err


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The cell that commands work in by default is that of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def trial(tmp_path_factory, prepared_cell):
    """The runs of a cell after one whole trial."""
    cell = tmp_path_factory.mktemp("trial") / "cell"
    shutil.copytree(prepared_cell, cell, ignore=shutil.ignore_patterns("cell.lock*"))
    quick = ["--set", "arm.speed_percent=80", "--set", "camera.captures=1"]
    assert run(["run", "--seed", "8", *quick, "--cell", str(cell)]) == 0
    return cell / "runs"


@pytest.fixture
def ruled(trial, cell_copy):
    """A cell with one whole trial in it, ruled on by a person."""
    shutil.copytree(trial, cell_copy / "runs", dirs_exist_ok=True)
    rule(RunStore(cell_copy / "runs"), "latest", "place", "yes", by="Maya", reason="inside", blind=True)
    return cell_copy


def test_ruled_runs_are_labels_and_recorded_answers_cost_nothing(trialcell, ruled):
    told = trialcell("judge", "calibrate", "--recorded", "--no-certificate", "--json").object
    place = told["stages"]["place"]
    assert (place["n"], place["confusion"]["yes_yes"], place["not_blind"]) == (1, 1, 0)
    assert any("1 judged steps of these runs have no ruling" in remark for remark in told["remarks"])
    anew = trialcell("judge", "calibrate", "latest", "--stage", "place", "--no-certificate", "--json").object
    assert anew["stages"]["place"]["confusion"]["yes_yes"] == 1, "judged again from the kept pictures"


def test_a_run_says_that_its_judge_is_not_certified(trialcell, ruled):
    out = trialcell("judge", "calibrate", "--recorded").out
    assert "uncertified" in out


def test_rejudging_adds_to_the_run(trialcell, ruled, claude_server):
    claude_server.verdict = "no"
    told = trialcell("judge", "rejudge", "latest", "--judge", "claude", "--json")
    assert told.code == 0, told.err
    assert [step["verdict"] for step in told.object["steps"]] == ["no", "no"]
    log = RunStore(ruled / "runs").open("latest").log
    assert [one.verdict.verdict for one in log.rejudged] == ["no", "no"]
    assert log.judgments["place"].verdict == "yes"
    shown = trialcell("runs", "show", "latest").out
    assert "added later" in shown
    assert "said by claude" in shown
    assert "claude-haiku-5-5 later said no" in trialcell("runs", "queue", "--share", "0", "--verdicts").out
    again = trialcell("judge", "rejudge", "latest", "--judge", "claude", "--json").object
    assert again["asked"] == 0
    compared = trialcell("judge", "compare", "measured", "claude", "--recorded", "--json").object
    assert (compared["n"], compared["paired"]["only_first"]) == (1, 1)


def test_a_judge_that_can_not_answer_leaves_the_run_as_it_is(trialcell, ruled, claude_server):
    claude_server.always = claude_server.error(401, "authentication_error")
    told = trialcell("judge", "rejudge", "all", "--judge", "claude", "--stage", "place", "--json")
    assert told.code == 6
    assert [(step["verdict"], step["error"]) for step in told.object["steps"]] == [(None, "auth")]


def test_batches_are_handed_in_and_collected(trialcell, ruled, claude_server):
    batch = {
        "id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress", "results_url": None,
        "request_counts": {"processing": 2, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": "2026-07-03T13:23:10Z", "expires_at": "2026-07-04T13:23:10Z",
    }  # fmt: skip
    ended = batch | {
        "processing_status": "ended",
        "results_url": f"{claude_server.url}/v1/messages/batches/msgbatch_1/results",
    }

    def said(what):
        return claude_server.step(body=json.dumps(what).encode())

    claude_server.play(said(batch))
    told = trialcell("judge", "rejudge", "all", "--judge", "claude", "--batch", "--json")
    assert told.code == 0, told.err
    assert told.object["handed_in"] == 2
    requests = claude_server.seen[-1].body["requests"]
    assert trialcell("judge", "rejudge", "all", "--judge", "claude", "--batch", "--json").object["handed_in"] == 0
    claude_server.play(said(batch))
    waiting = trialcell("judge", "collect", "--json")
    assert (waiting.code, waiting.object["under_way"]) == (6, 1)
    note = next((ruled / "batches").glob("*.json")).read_text(encoding="utf-8")
    assert "sk-test" not in note
    assert "base64" not in note
    error = {"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "no"}}}
    line = json.dumps({"custom_id": requests[0]["custom_id"], "result": error})
    claude_server.play(said(ended), said(ended), said(ended), claude_server.step(body=line.encode()))
    done = trialcell("judge", "collect", "--json")
    assert done.code == 0, done.err
    (row,) = done.object["batches"]
    assert sorted(step["error"] for step in row["steps"]) == ["errored", "missing"]
    assert len(row["to_go_again"]) == 2
    claude_server.play(said(batch))
    assert trialcell("judge", "rejudge", "all", "--judge", "claude", "--batch", "--json").object["handed_in"] == 2
    assert trialcell("judge", "collect", "--forget", "batch_0002").code == 0
    assert trialcell("judge", "collect").out.strip() == "no batch is under way"


def test_a_batch_that_could_cost_too_much_is_not_handed_in(trialcell, ruled, claude_server):
    told = trialcell("judge", "rejudge", "all", "--judge", "claude", "--batch", "--budget-usd", "0.0001")
    assert told.code == 2
    assert "more than the $0.0001 allowed" in told.err
    assert claude_server.seen == []
    local = trialcell("judge", "rejudge", "all", "--judge", "measured", "--batch")
    assert local.code == 2
    assert "only Claude takes message batches" in local.err


def test_a_panel_runs_a_trial_and_its_doubts_are_in_the_queue(trialcell, cell_copy, claude_server):
    quick = ["--set", "arm.speed_percent=80", "--set", "camera.captures=1", "--set", "judge.kind=panel"]
    claude_server.verdict = "yes"
    agreed = trialcell("run", "--seed", "8", *quick, "--json")
    assert agreed.object["verdicts"] == {"pick": "yes", "place": "yes"}
    log = RunStore(cell_copy / "runs").open("latest").log
    assert [member.audit.judge for member in log.verdicts[0].members] == ["measured", "claude"]
    assert log.verdicts[0].members[1].audit.attempts[0].usage is not None
    claude_server.always = claude_server.error(401, "authentication_error")
    alone = trialcell("run", "--seed", "8", *quick, "--json")
    assert (alone.code, alone.object["result"]) == (1, "unjudged")
    assert alone.object["verdicts"]["place"] is None
    assert RunStore(cell_copy / "runs").open("latest").log.verdicts[-1].members[0].verdict == "yes", (
        "measured all the same"
    )
    queue = trialcell("runs", "queue", "--share", "0", "--json").object["queue"]
    assert {item["run_id"] for item in queue} == {alone.object["run_id"]}
    assert any("auth" in reason for reason in queue[0]["reasons"])


def test_a_panel_asks_the_stronger_model_where_the_two_differ(trialcell, labelled, cell_copy, claude_server):
    claude_server.play(
        claude_server.reply(claude_server.fitting("no")), claude_server.reply(claude_server.fitting("yes"))
    )
    told = trialcell(
        "judge", "ask", "--judge", "panel", "--set", "judge.escalate_model=claude-opus-5-5", "--stage", "place",
        "--before", labelled / "before.png", "--after", labelled / "inside.png", "--json",
    ).object  # fmt: skip
    assert [seen.body["model"] for seen in claude_server.seen] == ["claude-haiku-5-5", "claude-opus-5-5"]
    assert told["verdict"] == "yes"
    assert [member["verdict"] for member in told["members"]] == ["yes", "no", "yes"]


def test_a_model_is_asked_again_in_another_order(trialcell, labelled, cell_copy, claude_server):
    claude_server.verdict = "yes"
    told = trialcell(
        "judge", "ask", "--judge", "claude", "--set", "judge.repeats=3", "--stage", "place",
        "--before", labelled / "before.png", "--after", labelled / "inside.png", "--json",
    ).object  # fmt: skip
    assert told["verdict"] == "yes"
    asked = [(seen.images, seen.body["messages"][-1]["content"][-1]["text"]) for seen in claude_server.seen]
    assert len(asked) == 3
    assert len({json.dumps(each) for each in asked}) == 3, "each ask differs in the order of pictures or in words"
    assert all(sorted(images) == sorted(asked[0][0]) for images, _ in asked), "of the same pictures"
