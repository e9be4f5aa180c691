"""The page's answers over real HTTP: blind until said otherwise, rulings on the record, pictures, live, corrections."""

from __future__ import annotations

import json
import os
import socket
import threading

import pytest

from runs.batch_records import BatchPlan, PlannedStart, Started
from runs.batches import BatchStore
from runs.events import utc_text
from runs.latch import StopLatch
from runs.lock import CellLock
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore


def ruling(run_id, stage, word, *, by="Maya", reason="", blind=True):
    return {"cell": 0, "run_id": run_id, "stage": stage, "verdict": word, "by": by, "reason": reason, "blind": blind}


def test_the_queue_is_that_of_the_record_and_says_nobodys_word(standing):
    answer = standing.ask("/api/queue")
    found = answer.object
    assert [(each["run_id"], each["stage"]) for each in found["items"]] == standing.queue(1.0)
    assert found["total"] == len(found["items"]) > 100
    assert set(found["items"][0]) == {"cell", "run_id", "stage", "doubt", "reasons"}
    assert "unsure" not in answer.text


def test_a_step_is_shown_without_any_judges_word(standing):
    run_id, stage = standing.queue(1.0)[0]
    answer = standing.ask(f"/api/step/0/{run_id}/{stage}")
    assert answer.status == 200
    step = answer.object
    assert step["before"]["url"] != step["after"]["url"]
    assert (step["after"]["width"], step["after"]["height"]) == (640, 360)
    assert not step["seen"]
    said = standing.ask(f"/api/said/0/{run_id}/{stage}").object["answers"][0]
    assert said["reason"] not in answer.text
    for name in ("verdict", "confidence", "block inside", 'measured", "word'):
        assert name not in answer.text
    assert standing.ask(f"/api/step/0/{run_id}/{stage}").object["seen"]  # it was told just now


def test_a_ruling_is_kept_with_name_time_and_reason_and_leaves_the_queue(review):
    run_id, stage = review.queue(1.0)[0]
    before = (review.cell / "runs" / run_id / "run.json").read_bytes()
    told = review.say("/api/rule", ruling(run_id, stage, "no", reason="on the rim"))
    assert told.status == 200, told.text
    (line,) = [one for one in review.rulings(run_id) if one["by"] == "Maya"]
    assert (line["verdict"], line["reason"], line["blind"], line["stage"]) == ("no", "on the rim", True, stage)
    assert line["at"].endswith("Z")
    assert told.object["stands"] == {"word": "no", "source": "person", "by": "Maya", "reason": "on the rim"}
    assert (run_id, stage) not in [(e["run_id"], e["stage"]) for e in review.ask("/api/queue").object["items"]]
    assert (review.cell / "runs" / run_id / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    "path",
    ["/api/said/0/{}/{}", *(pytest.param(p, marks=pytest.mark.slow) for p in ("/run/0/{}", "/runs", "/api/live/0"))],
)
def test_whoever_was_shown_a_word_no_longer_rules_blind(review, path):
    run_id = sorted(p.name for p in (review.cell / "runs").glob("run_*"))[-1]
    assert review.ask(path.format(run_id, "place")).status == 200
    review.say("/api/rule", ruling(run_id, "place", "yes"))
    assert [one["blind"] for one in review.rulings(run_id) if one["by"] == "Maya"] == [False]


def test_a_word_is_taken_back_and_both_stay_on_record(review):
    run_id, stage = review.queue(1.0)[0]
    about = {"cell": 0, "run_id": run_id, "stage": stage, "by": "Maya"}
    assert review.say("/api/take-back", about).status == 409
    review.say("/api/rule", ruling(run_id, stage, "no"))
    told = review.say("/api/take-back", about)
    assert told.status == 200, told.text
    assert [(one["verdict"], one["takes_back"]) for one in review.rulings(run_id)[-2:]] == [("no", False), ("no", True)]
    assert (run_id, stage) in [(e["run_id"], e["stage"]) for e in review.ask("/api/queue").object["items"]]


def test_two_who_rule_at_once_lose_nothing_and_see_each_other(serve, bench):
    one, two = serve(bench, share=1.0).open(), serve(bench, share=1.0).open()
    steps = one.queue(1.0)[:25]

    def work(who, name, word):
        for run_id, stage in steps:
            assert who.say("/api/rule", ruling(run_id, stage, word, by=name)).status == 200

    threads = [threading.Thread(target=work, args=each) for each in ((one, "Maya", "yes"), (two, "Grace", "no"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    said = [(line["run_id"], line["stage"], line["by"], line["verdict"]) for line in one.all_rulings()]
    wanted = [(*step, name, word) for step in steps for name, word in (("Maya", "yes"), ("Grace", "no"))]
    assert sorted(line for line in said if line[2] in ("Maya", "Grace") and line[:2] in set(steps)) == sorted(wanted)
    run_id, stage = steps[0]
    seen = one.ask(f"/api/said/0/{run_id}/{stage}").object["rulings"]
    assert {each["by"] for each in seen} >= {"Maya", "Grace"}


@pytest.mark.parametrize(
    "said",
    [
        b"", b"{", b"[]", b"\xff\xfe", b'{"cell": 0}',
        b'{"cell":0,"by":"Maya","run_id":"x","stage":"pick","verdict":"maybe"}',
        b'{"cell":0,"by":"  ","run_id":"x","stage":"pick","verdict":"yes"}',
        b'{"cell":-1,"by":"Maya","run_id":"x","stage":"pick","verdict":"yes"}',
        b'{"cell":NaN,"by":"Maya","run_id":"x","stage":"pick","verdict":"yes"}',
        b'{"cell":0,"by":"Maya","run_id":"x","stage":"pick","verdict":"yes","also":1}',
    ],
)  # fmt: skip
def test_what_is_said_wrongly_is_refused_and_nothing_is_written(standing, said):
    before = standing.all_rulings()
    answer = standing.say("/api/rule", said)
    assert answer.status == 400
    assert answer.object["error"] == "Malformed"
    assert standing.all_rulings() == before


def test_what_cant_be_ruled_on_is_said(review, bench):
    store = RunStore(bench / "runs")
    with_end = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    with_end.finish(Ending(result="invalid", stage="stage2", reason="no block"))
    still = store.create(RunHeader(started_at="2026-07-03T13:25:10Z"))
    for run_id, status in ((with_end.run_id, 404), (still.run_id, 404), ("run_9999_20260101_000000", 404)):
        assert review.say("/api/rule", ruling(run_id, "place", "yes")).status == status
    still.close()


def test_a_picture_comes_as_it_is_and_a_part_as_it_is_cut(standing):
    run_id, stage = standing.queue(1.0)[0]
    step = standing.ask(f"/api/step/0/{run_id}/{stage}").object
    picture = standing.ask(step["after"]["url"])
    assert picture.headers["content-type"] == "image/jpeg"
    assert picture.body == (standing.cell / "after.jpg").read_bytes()
    again = standing.ask(step["after"]["url"], If_None_Match=picture.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    part = standing.ask(step["after"]["url"] + "?part=10,10,50,40")
    assert part.headers["content-type"] == "image/png"
    assert int.from_bytes(part.body[16:20]) == 50


def test_a_missing_picture_is_said_in_words(review):
    run_id, _ = next(each for each in review.queue(1.0) if each[1] == "place")
    (review.cell / "runs" / run_id / f"{run_id}_place.jpg").unlink()
    step = review.ask(f"/api/step/0/{run_id}/place").object
    assert step["after"]["problem"] == "the picture is not there"
    assert "url" in step["before"]


def test_the_stop_latches_and_no_request_clears_it(review):
    told = review.say("/api/stop", {"cell": 0, "by": "Maya", "why": "a loose cable"})
    assert told.object["stop"]["by"] == "Maya"
    assert StopLatch(review.cell).read().why == "a loose cable"
    assert review.ask("/api/stopped/0").object["stop"]["why"] == "a loose cable"
    assert review.say("/api/stop", {"cell": 0, "by": "Maya", "why": "x", "clear": True}).status == 400
    for method in ("DELETE", "PUT", "PATCH", "OPTIONS"):
        assert review.ask("/api/stop", method=method).status == 405
    assert StopLatch(review.cell).read() is not None


def test_live_tells_of_the_driver_the_trial_under_way_and_the_rate(review, bench):
    assert review.ask("/api/live/0").object["holder"] is None
    store = RunStore(bench / "runs")
    with CellLock(bench, command="trialcell batch run night"):
        writer = store.create(RunHeader(started_at=utc_text()))
        writer.stage_started("stage4_pick", started_s=20.0)
        told = settled(review, lambda told: told["running"])
        assert told["holder"]["command"] == "trialcell batch run night"
        assert told["holder"]["pid"] == os.getpid()
        assert [(run["run_id"], run["stage"]) for run in told["running"]] == [(writer.run_id, "stage4_pick")]
        writer.finish(Ending(result="completed", stage="stage10", reason="in the box"), duration_s=70.0)
        told = settled(review, lambda told: not told["running"])
        assert told["batch"]["results"] == {"completed": 1}
        assert told["batch"]["success"]["n"] == 1
        assert told["batch"]["success"]["low"] == pytest.approx(0.025)
    note = {"pid": 2**22 + 5, "host": socket.gethostname(), "since": utc_text(), "command": "gone"}
    (bench / "cell.lock.json").write_text(json.dumps(note))
    assert review.ask("/api/live/0").object["holder"] is None  # a dead holder is none


def test_live_tells_how_far_a_planned_batch_is(review, bench):
    start = PlannedStart(index=0, pair=0, session=0, round=0, seed=1, block_xz_m=(0.2, 0.1), block_yaw_deg=0.0)
    starts = (start, start.model_copy(update={"index": 1, "pair": 1}))
    store = BatchStore(bench)
    plan = BatchPlan(batch_id=store.new_id(), made_at=utc_text(), kind="random", seed=1, first_number=61, starts=starts)
    batch = store.create(plan)
    assert review.ask("/api/live/0").object["planned"] is None
    with batch.running():
        batch.add(Started(at=utc_text(), pid=1, workers=1))
        told = review.ask("/api/live/0").object["planned"]
        assert (told["batch_id"], told["done"], told["of"]) == (plan.batch_id, 0, 2)
        assert told["success"]["rate"] is None
        (batch.folder / "plan.json").write_text("{")
        assert review.ask("/api/live/0").object["planned"]["problem"]


def settled(review, enough):
    """What is live once the index was looked after again."""
    for _ in range(60):
        told = review.ask("/api/live/0").object
        if enough(told):
            return told
        threading.Event().wait(0.1)
    raise AssertionError(told)


def test_runs_are_listed_filtered_and_bad_filters_explained(standing):
    everything = standing.ask("/runs")
    assert "60 runs" in everything.text
    some = standing.ask("/runs?result=unjudged&where=profile%3Dfield")
    assert "unjudged" in some.text
    assert "60 runs" not in some.text
    wrong = standing.ask("/runs?where=profil%3Dfield")
    assert wrong.status == 200
    assert "did you mean profile?" in wrong.text


def test_a_run_has_a_page_and_its_motion(standing):
    run_id, _ = standing.queue(1.0)[0]
    page = standing.ask(f"/run/0/{run_id}")
    assert page.status == 200
    assert "Motion again" in page.text
    assert "Timeline" in page.text
    motion = standing.ask(f"/api/replay/0/{run_id}").object
    assert len(motion["links"]) == len(motion["times_s"]) == len(motion["labels"])
    assert standing.ask("/run/0/run_9999_20260101_000000").status == 404


def test_an_empty_cell_has_pages_too(serve, tmp_path):
    (tmp_path / "empty").mkdir()
    served = serve(tmp_path / "empty").open()
    assert served.ask("/api/queue").object == {"items": [], "total": 0, "unreadable": []}
    for path in ("/", "/live", "/runs", "/corrections"):
        assert served.ask(path).status == 200
    assert "There are no such runs" in served.ask("/runs").text
    assert "Nothing has been learned here yet" in served.ask("/corrections").text


def test_many_cells_are_told_apart(tmp_path, bench, generator):
    from runner.review.records import Records

    other = tmp_path / "other"
    generator.make_runs(other / "runs", 12)
    with Records([bench, other], share=1.0) as records:
        items, _ = records.queue()
        numbers = {records.number_of(item["cell"]) for item in items}
        assert numbers == {0, 1}
        assert records.cell(1).folder == other


@pytest.mark.parametrize("kept", [True, False])
def test_closer_looks_are_those_that_the_judge_was_sent(review, kept):
    """As kept, byte for byte; where nobody kept them, cut out of their picture again."""
    run_id, _ = next(each for each in review.queue(1.0) if each[1] == "place")
    folder = review.cell / "runs" / run_id
    log = json.loads((folder / "run.json").read_text())
    place = next(each for each in log["vlm_captures"] if each["label"] == "place")
    sent = {
        "index": 2, "role": "after", "sha256_sent": "0" * 64, "sha256_source": place["sha256"], "width_px": 100,
        "height_px": 60, "n_bytes": 5, "crop_of": 1, "crop_px": [290, 110, 100, 60], "image": None,
    }  # fmt: skip
    if kept:
        sent["image"] = f"runs/{run_id}/{run_id}_judge_1.jpg"
        (folder / f"{run_id}_judge_1.jpg").write_bytes((review.cell / "before.jpg").read_bytes())
    next(each for each in log["verdicts"] if each["stage"] == "place")["audit"]["images"] = [sent]
    (folder / "run.json").write_text(json.dumps(log))
    (closer,) = review.ask(f"/api/step/0/{run_id}/place").object["closer"]
    assert (closer["role"], closer["by_judge"]) == ("after", True)
    picture = review.ask(closer["url"])
    if kept:
        assert picture.body == (review.cell / "before.jpg").read_bytes()
    else:
        assert picture.headers["content-type"] == "image/png"
        assert [int.from_bytes(picture.body[at : at + 4]) for at in (16, 20)] == [100, 60]
