"""Old runs before a judge again: online and by batches against a server that plays Claude, with the real SDK."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from dataclasses import replace

import cv2
import numpy as np
import pytest

from judges.asking import Policy
from judges.batch_door import BatchDoor
from judges.batches import (
    BatchItem,
    Ready,
    collect,
    forget,
    new_note_path,
    not_asked_yet,
    note_of,
    read_notes,
    split,
    write_note,
)
from judges.budget import Budget
from judges.claude import ModelJudge, ModelSettings
from judges.client import AnthropicBackend
from judges.errors import BatchFailed, BatchRefused, ForeignResults
from judges.panel import PanelJudge, RepeatedJudge
from judges.prices import load_prices
from judges.rejudge import add_later, prepare_asking, question_id, rejudge
from judges.scripted import ScriptedJudge
from judges.steps import PicturesGone, evidence_of_step, label_on, steps_of
from runs.rulings import rule
from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, SentImage, Verdict
from runs.store import RunHeader, RunStore
from runs.verdicts import standing_in
from vision.detect.protocol import DetectSettings

KEY = "sk-test-0123456789"
SETTINGS = DetectSettings()


def jpeg(level):
    image = np.full((240, 320, 3), level, dtype=np.uint8)
    image[::7] = 255 - level
    return cv2.imencode(".jpg", image)[1].tobytes()


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "cell" / "runs")


@pytest.fixture
def past(store):
    """A finished run that was judged, with its pictures: `past("yes")`; its place step."""

    def make(word="yes", *, error=None):
        writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
        writer.picture("detect_1", jpeg(60))
        capture = writer.picture("place", jpeg(120))
        said = Verdict(stage="place", verdict=word, reason="as seen", error=error, audit=JudgeAudit(judge="measured"))
        writer.add(said)
        writer.judgment(
            "place",
            Judgment(
                verdict=word, confidence=None, reason="as seen", model="measured", image=capture.image, error=error
            ),
        )
        writer.finish(Ending(result="unjudged", stage="stage9b_judge_place", reason="as seen"))
        return again(store, writer.run_id)

    return make


def again(store, run_id):
    """The place step of a run as it is on the disk now."""
    return next(iter(steps_of(store.open(run_id))))


def reread(step, store):
    return again(store, step.stored.entry.run_id)


@pytest.fixture
def claude(claude_server):
    """Claude as it is asked online, at the server that plays it."""
    return ModelJudge(
        "claude",
        lambda: AnthropicBackend(api_key=KEY, base_url=claude_server.url, model="claude-haiku-5-5", effort="low"),
        ModelSettings(crops=False, policy=Policy(deadline_s=20.0, max_tokens=2000)),
        Budget(limit_usd=1.0, limit_calls=100),
        model="claude-haiku-5-5",
    )


def ask(step, judge, **kwargs):
    return list(rejudge([step], judge, key="k", settings=SETTINGS, view_of=lambda _: None, **kwargs))


def test_a_step_is_evidence_again(past):
    step = past()
    evidence = evidence_of_step(step, SETTINGS, None)
    assert [(p.label, p.role) for p in evidence.pictures] == [("before", "before"), ("after", "after")]
    assert abs(float(evidence.last("after").image_bgr[3].mean()) - 120) < 4
    assert step.name == f"{step.stored.entry.run_id}/place/1"


def test_a_picture_that_was_changed_or_is_gone_is_told(past, store):
    step = past()
    path = step.stored.entry.folder / f"{step.stored.entry.run_id}_place.jpg"
    path.write_bytes(jpeg(10))
    with pytest.raises(PicturesGone, match="other bytes"):
        evidence_of_step(step, SETTINGS, None)
    path.unlink()
    (outcome,) = ask(step, ScriptedJudge({"place": ["yes"]}))
    assert outcome.verdict is None
    assert "is not there" in outcome.skipped
    assert reread(step, store).log.rejudged == ()


def test_the_label_is_a_persons_last_ruling(past, store):
    step = past()
    assert label_on(step) is None
    for word, label in (("unsure", None), ("no", "no"), ("yes", "yes")):
        rule(store, step.stored.entry.run_id, "place", word, by="Maya", reason="looked")
        found = label_on(reread(step, store))
        assert (None if found is None else found[0]) == label


def test_an_answer_is_added_and_replaces_nothing(past, store):
    step = past("yes")
    before = (step.stored.entry.folder / "run.json").read_bytes()
    (outcome,) = ask(step, ScriptedJudge({"place": ["no"]}))
    assert outcome.verdict.verdict == "no"
    after = reread(step, store)
    assert [one.verdict.verdict for one in after.log.rejudged] == ["no"]
    assert standing_in(after.log, "place").word == "yes"
    assert (step.stored.entry.folder / "run.json").read_bytes() == before


def test_what_was_answered_is_not_asked_again_but_an_error_is(past, store):
    step = past()
    judge = ScriptedJudge({"place": []})
    assert ask(step, judge)[0].verdict.error == "script_ended"
    assert ask(reread(step, store), ScriptedJudge({"place": ["no"]}))[0].verdict.verdict == "no"
    assert "answered that already" in ask(reread(step, store), ScriptedJudge({"place": ["yes"]}))[0].skipped
    assert ask(reread(step, store), ScriptedJudge({"place": ["yes"]}), again=True)[0].verdict.verdict == "yes"
    assert [one.verdict.verdict for one in reread(step, store).log.rejudged] == [None, "no", "yes"]


def test_claude_is_asked_online_and_a_second_time_with_the_very_same_bytes(past, store, claude, claude_server):
    claude_server.verdict = "no"
    step = past()
    (first,) = ask(step, claude)
    assert first.verdict.verdict == "no"
    images = reread(step, store).log.rejudged[0].verdict.audit.images
    assert all((store.runs_dir.parent / image.image).is_file() for image in images)
    other = ModelJudge("claude", claude._opening._open, claude.settings, claude.budget, model="claude-haiku-5-5")
    (second,) = rejudge([reread(step, store)], other, key="other", settings=SETTINGS, view_of=lambda _: None)
    assert second.verdict.audit.image_hashes == first.verdict.audit.image_hashes
    assert claude_server.seen[0].images == claude_server.seen[1].images
    assert [image.image for image in second.verdict.audit.images] == [image.image for image in images]


def test_sent_bytes_that_were_changed_are_not_sent_again(past, store, claude):
    step = past()
    ask(step, claude)
    sent = reread(step, store).log.rejudged[0].verdict.audit.images[0]
    (store.runs_dir.parent / sent.image).write_bytes(jpeg(1))
    (outcome,) = rejudge([reread(step, store)], claude, key="other", settings=SETTINGS, view_of=lambda _: None)
    assert "other bytes than those that were sent" in outcome.skipped


@pytest.fixture
def sent_with_crops(past, store):
    """A step about which a model got a whole picture and a closer look, as its audit says; and those bytes."""
    step = past()
    folder, run_id = step.stored.entry.folder, step.stored.entry.run_id
    images, sent = [], []
    for index, level in enumerate((30, 200), start=1):
        data = jpeg(level)
        path = folder / f"{run_id}_place_sent_{index}.jpg"
        path.write_bytes(data)
        sent.append(base64.b64encode(data).decode())
        record = SentImage(
            index=index, role="after", sha256_sent=hashlib.sha256(data).hexdigest(), sha256_source="s", width_px=320,
            height_px=240, n_bytes=len(data), crop_of=1 if index == 2 else None, image=f"runs/{run_id}/{path.name}",
        )  # fmt: skip
        images.append(record)
    audit = JudgeAudit(judge="claude", crops=True, images=tuple(images))
    add_later(step, "tc_earlier", Verdict(stage="place", verdict="no", reason="seen", audit=audit))
    return reread(step, store), sent


@pytest.mark.parametrize("crops", [True, False])
def test_sent_bytes_go_again_only_to_a_judge_that_would_be_sent_the_same(
    sent_with_crops, store, claude, claude_server, crops
):
    step, sent = sent_with_crops
    claude.settings = replace(claude.settings, crops=crops)
    (outcome,) = ask(step, claude)
    assert (claude_server.seen[0].images == sent) is crops
    assert len(claude_server.seen[0].images) == 2
    audit = outcome.verdict.audit
    assert audit.crops is crops
    assert any(image.crop_of is not None for image in audit.images) is crops
    kept = [(store.runs_dir.parent / image.image).read_bytes() for image in audit.images]
    assert [base64.b64encode(data).decode() for data in kept] == claude_server.seen[0].images


def test_a_panel_and_an_ask_again_get_those_bytes_too_and_all_is_kept(sent_with_crops, store, claude, claude_server):
    step, sent = sent_with_crops
    panel = PanelJudge((ScriptedJudge({"place": ["no"]}), RepeatedJudge(claude, 2)))
    (outcome,) = ask(step, panel, crops=True)
    assert [seen.images for seen in claude_server.seen] == [sent, sent[::-1]]
    (later,) = [one for one in reread(step, store).log.rejudged if one.verdict.audit.judge == "panel"]
    models = later.verdict.members[1].members
    assert [[image.image for image in one.audit.images] for one in models] == [
        [image.image for image in step.log.rejudged[0].verdict.audit.images][::order] for order in (1, -1)
    ]
    assert outcome.verdict.verdict == "no"


def test_what_a_panel_is_sent_anew_is_kept(past, store, claude, claude_server):
    step = past()
    ask(step, PanelJudge((ScriptedJudge({"place": ["no"]}), RepeatedJudge(claude, 2))))
    (later,) = reread(step, store).log.rejudged
    for seen, one in zip(claude_server.seen, later.verdict.members[1].members, strict=True):
        kept = [(store.runs_dir.parent / image.image).read_bytes() for image in one.audit.images]
        assert [base64.b64encode(data).decode() for data in kept] == seen.images


# --- batches -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ready(claude, claude_server):
    """A step as it is handed in."""

    def make(step):
        backend = claude._opening._open()
        asking = prepare_asking(step, SETTINGS, None, language="en", crops=False)
        prepared = asking.prepared
        item = BatchItem(
            id=question_id(step, "claude", "k", prepared.prompt.sha256),
            run_id=step.stored.entry.run_id,
            stage=step.stage,
            attempt=step.attempt,
            criteria=prepared.rubric.criteria,
            n_images=len(prepared.question.pictures),
            threshold=0.5,
            max_tokens=2000,
            audit=claude.audit_before(asking.evidence, prepared, backend),
        )
        size = len(json.dumps(backend.params(prepared.question, max_tokens=2000)))
        return Ready(item, asking, size)

    return make


@pytest.fixture
def door(claude_server):
    return BatchDoor(api_key=KEY, base_url=claude_server.url)


class Service:
    """The batches' side of the server: tells of a batch and of its results."""

    def __init__(self, server):
        self.server = server

    def batch(self, status="ended", results_url="own"):
        url = f"{self.server.url}/v1/messages/batches/msgbatch_1/results" if results_url == "own" else results_url
        counts = {"processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0}
        body = {
            "id": "msgbatch_1", "type": "message_batch", "processing_status": status, "request_counts": counts,
            "created_at": "2026-07-03T13:23:10Z", "expires_at": "2026-07-04T13:23:10Z",
            "results_url": url if status == "ended" else None,
        }  # fmt: skip
        return self.server.step(body=json.dumps(body).encode())

    def fetched(self, *lines, **changes):
        """What it takes to fetch results: the batch twice (ours and the SDK's own look), then the lines."""
        body = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        self.server.play(self.batch(**changes), self.batch(**changes), self.server.step(body=body))


def reply_of(item, verdict="no", **changes):
    """The nine fields, fitting the item's question."""
    met = {"yes": "yes", "no": "no", "unsure": "unclear"}[verdict]
    where = {"yes": "inside", "no": "outside", "unsure": "not_visible"}[verdict]
    reply = {
        "image_quality": {"usable": True, "issues": ["none"]},
        "observations": [{"image_index": 1, "text": "a table"}],
        "target_location": where,
        "released": "yes",
        "criteria": [{"id": each, "met": met, "image_index": 2} for each in item.criteria],
        "evidence_against": "",
        "verdict": verdict,
        "confidence": 0.9,
        "reason": f"the pictures say {verdict}",
    }
    return reply | changes


def succeeded(item, said, *, stop_reason="end_turn", **changes):
    text = json.dumps(said) if isinstance(said, dict) else said
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": text}], "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {"input_tokens": 3000, "output_tokens": 400, "service_tier": "batch"},
    }  # fmt: skip
    return {"custom_id": item.id, "result": {"type": "succeeded", "message": message | changes}}


def spliced(item, key, text):
    """A good yes with a piece of JSON in it that no tool writes."""
    line = succeeded(item, reply_of(item, "yes"))
    line["result"]["message"].pop(key, None)
    return json.dumps(line).replace('"type": "message"', f'"type": "message", "{key}": {text}').encode() + b"\n"


def errored(item, kind="invalid_request_error"):
    error = {"type": "error", "error": {"type": kind, "message": "injected"}, "request_id": "req_1"}
    return {"custom_id": item.id, "result": {"type": "errored", "error": error}}


@pytest.fixture
def service(claude_server):
    return Service(claude_server)


def collected(note, door, steps, store):
    return collect(
        note, door.results(note.batch_id, len(note.items)), {step.name: step for step in steps}, load_prices()
    )


def handed(batch):
    return note_of(batch, "host").model_copy(update={"status": "handed_in", "batch_id": "msgbatch_1"})


def test_a_batch_is_handed_in_with_the_same_request_as_online(past, ready, door, service, claude, claude_server):
    step = past()
    one = ready(step)
    claude_server.play(service.batch("in_progress"))
    backend = claude._opening._open()
    params = backend.params(one.asking.prepared.question, max_tokens=2000)
    assert door.hand_in([(one.item.id, params)]) == "msgbatch_1"
    wire = claude_server.seen[-1]
    assert wire.path == "/v1/messages/batches"
    assert wire.headers["authorization"] == f"Bearer {KEY}"
    (request,) = wire.body["requests"]
    assert request["custom_id"] == one.item.id
    ask(step, claude)
    online = claude_server.seen[-1].body
    assert request["params"] == {name: online[name] for name in request["params"]}
    assert len(one.item.id) <= 64
    assert "base64" not in one.item.model_dump_json()
    assert KEY not in one.item.model_dump_json()


def test_results_come_back_to_their_runs_in_any_order(past, ready, door, service, store):
    steps = [past() for _ in range(3)]
    items = [ready(step) for step in steps]
    lines = [
        succeeded(one.item, reply_of(one.item, word)) for one, word in zip(items, ("yes", "no", "unsure"), strict=True)
    ]
    service.fetched(*reversed(lines))
    found = collected(handed(items), door, steps, store)
    assert [outcome.verdict.verdict for outcome in found.outcomes] == ["yes", "no", "unsure"]
    assert (found.unknown, found.to_go) == ((), ())
    for step, word in zip(steps, ("yes", "no", "unsure"), strict=True):
        (later,) = reread(step, store).log.rejudged
        assert (later.verdict.verdict, later.batch) == (word, "msgbatch_1")
        assert later.verdict.audit.cost_usd == pytest.approx((3000 * 0.10 + 400 * 0.50) / 1e6 / 2)
        assert later.verdict.audit.attempts[0].gate == "passed"


def one_yes(item):
    return succeeded(item, reply_of(item, "yes"))


@pytest.mark.parametrize(
    ("line", "word", "code"),
    [
        (errored, None, "errored"),
        (lambda i: {"custom_id": i.id, "result": {"type": "expired"}}, None, "expired"),
        (lambda i: {"custom_id": i.id, "result": {"type": "canceled"}}, None, "canceled"),
        (lambda i: b"", None, "missing"),
        (lambda i: json.dumps(one_yes(i)).encode()[:-20] + b"\n", None, "missing"),
        (lambda i: (json.dumps(one_yes(i)).encode() + b"\n") * 2, None, "duplicate"),
        (lambda i: succeeded(i, reply_of(i, "yes"), stop_reason="refusal"), None, "refusal"),
        (lambda i: succeeded(i, reply_of(i, "yes"), stop_reason="max_tokens"), None, "truncated"),
        (lambda i: succeeded(i, reply_of(i, "yes"), stop_reason="strange"), None, "unexpected_stop"),
        (lambda i: succeeded(i, reply_of(i, "yes"), stop_reason=None), None, "stream_cut"),
        (lambda i: succeeded(i, "yes"), None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes", confidence=1.7)), None, "schema"),
        (lambda i: succeeded(i, reply_of(i, "yes", more=1)), None, "schema"),
        (lambda i: succeeded(i, "```json\n" + json.dumps(reply_of(i, "yes")) + "\n```"), None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes"), content=[]), None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes"), type="error"), None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes"), role="user"), None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes"), usage={"input_tokens": 10**400}), None, "missing"),
        (lambda i: spliced(i, "usage", "[" * 300 + "]" * 300), None, "missing"),
        (lambda i: spliced(i, "usage", "[" * 200_000), None, "missing"),
        (lambda i: spliced(i, "stop_details", "[" * 5000 + "]" * 5000), None, "missing"),
        (lambda i: {"custom_id": i.id, "result": {"type": "succeeded", "message": "<html>"}}, None, "malformed"),
        (lambda i: succeeded(i, reply_of(i, "yes", target_location="on_rim")), "unsure", "inconsistent"),
        (lambda i: succeeded(i, reply_of(i, "yes", confidence=0.2)), "unsure", "low_confidence"),
    ],
)  # fmt: skip
def test_no_odd_result_is_a_yes(past, ready, door, service, store, line, word, code):
    step = past()
    one = ready(step)
    service.fetched(line(one.item))
    found = collected(handed([one]), door, [step], store)
    (outcome,) = found.outcomes
    assert (outcome.verdict.verdict, outcome.verdict.error) == (word, code)
    assert found.to_go == ((one.item.id,) if word is None else ())
    (later,) = reread(step, store).log.rejudged
    assert len(later.verdict.audit.attempts) == 1


def test_one_line_that_no_one_can_read_spoils_no_other(past, ready, door, service, store):
    steps = [past(), past()]
    items = [ready(step) for step in steps]
    odd = spliced(items[0].item, "usage", "[" * 100_000)
    service.fetched(odd, b"\xff\xfe\n", b"\n", succeeded(items[1].item, reply_of(items[1].item, "no")))
    found = collected(handed(items), door, steps, store)
    assert [outcome.verdict.error for outcome in found.outcomes] == ["missing", None]
    assert found.to_go == (items[0].item.id,)


def test_a_count_that_cant_be_leaves_a_batchs_cost_unknown(past, ready, door, service, store):
    one = ready(step := past())
    usage = {"input_tokens": 3 * 10**9, "output_tokens": 1}
    service.fetched(succeeded(one.item, reply_of(one.item, "no"), usage=usage))
    (outcome,) = collected(handed([one]), door, [step], store).outcomes
    assert (outcome.verdict.verdict, outcome.verdict.audit.cost_usd) == ("no", None)


def test_only_a_line_feed_ends_a_line_of_results(past, ready, door, service, store):
    one = ready(step := past())
    reply = reply_of(one.item, "no", reason="a\u2028b\x85c\x0cd")
    line = json.dumps(succeeded(one.item, json.dumps(reply, ensure_ascii=False)), ensure_ascii=False)
    service.fetched(line.encode() + b"\n")
    (outcome,) = collected(handed([one]), door, [step], store).outcomes
    assert outcome.verdict.verdict == "no"


def test_results_without_an_end_are_not_taken_in(door, service, claude_server):
    claude_server.play(service.batch(), service.batch(), claude_server.step(body=b"x" * 65536, endless=True))
    with pytest.raises(BatchFailed, match="no end"):
        list(door.results("msgbatch_1", 1))
    claude_server.play(claude_server.step(body=b" " * 65536, endless=True))
    with pytest.raises(BatchFailed, match="no end"):
        door.state("msgbatch_1")


def test_what_a_service_calls_things_is_one_printable_line(past, ready, door, service, store, claude_server):
    odd = "\x1b]0;x\x07\x9b2J\u202e\n"
    one = ready(step := past())
    stranger = one.item.model_copy(update={"id": odd})
    told = succeeded(one.item, reply_of(one.item, "no"), model=odd, id=odd, stop_reason=odd)
    service.fetched(one_yes(stranger), told)
    found = collected(handed([one]), door, [step], store)
    (attempt,) = found.outcomes[0].verdict.audit.attempts
    texts = [*found.unknown, attempt.model_returned, attempt.message_id, attempt.stop_reason, attempt.detail]
    assert all(text.isprintable() for text in [*texts, found.outcomes[0].verdict.reason])
    error = {"type": "error", "error": {"type": odd, "message": odd}}
    claude_server.play(claude_server.step(status=404, body=json.dumps(error).encode()))
    with pytest.raises(BatchFailed) as caught:
        door.state("msgbatch_1")
    assert str(caught.value).isprintable()
    claude_server.play(claude_server.step(body=json.dumps({"id": odd}).encode()))
    with pytest.raises(BatchFailed, match="names no batch"):
        door.hand_in([("tc_1", {"model": "m", "max_tokens": 1, "messages": []})])


def test_no_header_of_the_environment_goes_to_a_batch(door, service, claude_server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-secret: other")
    claude_server.play(service.batch())
    door.state("msgbatch_1")
    assert "x-secret" not in claude_server.seen[0].headers


@pytest.mark.parametrize(
    ("status", "refused"),
    [(307, True), (400, True), (401, True), (404, True), (413, True), (429, True), (529, True)]
    + [(408, False), (409, False), (500, False), (503, False)],
)
def test_a_refusal_is_told_from_not_knowing(door, claude_server, status, refused):
    claude_server.play(claude_server.error(status, "some_error"))
    with pytest.raises(BatchFailed) as caught:
        door.hand_in([("tc_1", {"model": "m", "max_tokens": 1, "messages": []})])
    assert isinstance(caught.value, BatchRefused) is refused
    assert ("nothing of it is under way" in str(caught.value)) is refused
    assert len(claude_server.seen) == 1


def test_a_server_that_is_not_there_has_taken_nothing():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(BatchRefused):
        BatchDoor(api_key=KEY, base_url=url).hand_in([("tc_1", {"model": "m", "max_tokens": 1, "messages": []})])


def test_a_batch_that_is_given_up_keeps_its_number_and_its_note(past, ready, tmp_path):
    note = note_of([ready(past())], "host")
    for number in (1, 2):
        path = new_note_path(tmp_path)
        assert path.name == f"batch_000{number}.json"
        write_note(path, note.model_copy(update={"batch_id": str(number)}))
        forget(path)
    write_note(tmp_path / "batch_0001.json", note.model_copy(update={"batch_id": "3"}))
    forget(tmp_path / "batch_0001.json")
    kept = {path.name: json.loads(path.read_text())["batch_id"] for path in tmp_path.glob("forgotten_*.json")}
    expected = {"forgotten_batch_0001.json": "1", "forgotten_batch_0002.json": "2", "forgotten_batch_0001_2.json": "3"}
    assert kept == expected


def test_an_id_that_nobody_asked_for_is_told_and_judges_nothing(past, ready, door, service, store):
    step = past()
    one = ready(step)
    stranger = one.item.model_copy(update={"id": "tc_stranger"})
    service.fetched(one_yes(stranger), succeeded(one.item, reply_of(one.item, "no")))
    found = collected(handed([one]), door, [step], store)
    assert found.unknown == ("tc_stranger",)
    assert [outcome.verdict.verdict for outcome in found.outcomes] == ["no"]


def test_collecting_twice_adds_nothing_twice(past, ready, door, service, store):
    step = past()
    one = ready(step)
    for _ in range(2):
        service.fetched(one_yes(one.item))
        found = collected(handed([one]), door, [reread(step, store)], store)
    assert found.outcomes[0].skipped == "it was added before"
    assert len(reread(step, store).log.rejudged) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/results", "https://example.com/results", "http://localhost:1/r"])
def test_the_key_goes_to_no_foreign_results(door, service, claude_server, url):
    claude_server.play(service.batch(results_url=url))
    with pytest.raises(ForeignResults, match="nothing was asked of it"):
        list(door.results("msgbatch_1", 1))
    assert len(claude_server.seen) == 1


def test_an_address_that_changes_between_two_looks_is_refused_too(door, service, claude_server):
    claude_server.play(service.batch(), service.batch(results_url="http://127.0.0.1:9/results"))
    with pytest.raises(ForeignResults):
        list(door.results("msgbatch_1", 1))


def test_a_redirect_is_not_followed(door, service, claude_server):
    elsewhere = claude_server.step(status=307, headers={"location": "http://127.0.0.1:9/results"})
    claude_server.play(service.batch(), service.batch(), elsewhere)
    with pytest.raises(BatchFailed):
        list(door.results("msgbatch_1", 1))


@pytest.mark.parametrize("trouble", ["error", "html", "empty", "reset"])
def test_trouble_while_handing_in_is_one_error_and_one_request(door, claude_server, trouble):
    steps = {
        "error": claude_server.error(529, "overloaded_error"),
        "html": claude_server.step(body=b"<html>"),
        "empty": claude_server.step(body=b"{}"),
        "reset": claude_server.step(reset=True),
    }
    claude_server.play(steps[trouble])
    with pytest.raises(BatchFailed, match="hand the batch in"):
        door.hand_in([("tc_1", {"model": "m", "max_tokens": 1, "messages": []})])
    assert len(claude_server.seen) == 1, "handing in twice is paid for twice"


def test_results_that_break_off_add_nothing(past, ready, door, service, store, claude_server):
    step = past()
    one = ready(step)
    line = json.dumps(one_yes(one.item)).encode() + b"\n"
    claude_server.play(service.batch(), service.batch(), claude_server.step(body=line * 2, cut_at=len(line) + 10))
    with pytest.raises(BatchFailed, match="fetch the results"):
        collected(handed([one]), door, [step], store)
    assert reread(step, store).log.rejudged == ()


def test_batches_are_split_by_bytes_and_by_number(past, ready):
    one = ready(past())
    many = [one] * 10
    assert [len(batch) for batch in split(many, most_bytes=one.n_bytes * 4)] == [4, 4, 2]
    assert [len(batch) for batch in split(many, most=3)] == [3, 3, 3, 1]
    assert [len(batch) for batch in split(many, most_bytes=1)] == [1] * 10
    assert list(split([])) == []


def test_no_question_is_asked_twice(past, ready, store, tmp_path):
    steps = [past(), past(), past()]
    items = [ready(step) for step in steps]
    add_later(steps[0], items[0].item.id, Verdict(stage="place", verdict="no", reason="", audit=JudgeAudit(judge="c")))
    fresh = [ready(reread(step, store)) for step in steps]
    assert [one.item.id for one in fresh] == [one.item.id for one in items], "the same question has the same id"
    write_note(tmp_path / "batch_0001.json", note_of(items[1:2], "host"))
    notes = read_notes(tmp_path)
    wanted = not_asked_yet([*fresh, *fresh], notes.values())
    assert [one.item.id for one in wanted] == [items[2].item.id]
    assert len(not_asked_yet(fresh, notes.values(), again=True)) == 2
    done = [note.model_copy(update={"status": "collected"}) for note in notes.values()]
    assert len(not_asked_yet(fresh, done)) == 2


def test_a_question_is_another_with_any_change(past):
    step, other = past(), past()
    ids = {
        question_id(step, "claude", "k", "p"),
        question_id(other, "claude", "k", "p"),
        question_id(step, "local", "k", "p"),
        question_id(step, "claude", "k2", "p"),
        question_id(step, "claude", "k", "p2"),
        question_id(step, "claude", "k", "p", repeat=1),
    }
    assert len(ids) == 6
