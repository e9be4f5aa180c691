"""The judge that asks a model: what goes over the wire, what is kept and written down, and what it may spend."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256
from importlib.metadata import version
from itertools import pairwise
from time import monotonic

import cv2
import numpy as np
import pytest

from judges.backend import BadAddress, BadKey, NoKey, checked_url, key_in
from judges.budget import Budget
from judges.pictures import reordered
from judges.protocol import Evidence, LabelledPicture
from judges.rubric import load_rubric
from runner.config import BadSetting, Config, with_overrides
from runner.judging import backend_of, model_judge
from runner.rig import detect_settings
from runs.errors import StorageUnwritable

SDK = f"anthropic {version('anthropic')}"


def noise(seed, size=(96, 128)):
    return np.random.default_rng(seed).integers(60, 200, (*size, 3)).astype(np.uint8)


def settings(kind="claude", **set_):
    values = {"kind": kind, "deadline_s": 5, "crops": "false"} | set_
    return with_overrides(Config(), [f"judge.{k}={v}" for k, v in values.items()])


def evidence(stage="place", **more):
    pictures = (
        LabelledPicture("after", "after", noise(2)),
        LabelledPicture("closer", "after", noise(3), crop=True),
        LabelledPicture("on the way", "during", noise(4)),
        LabelledPicture("before", "before", noise(1)),
    )
    return Evidence(stage=stage, grip=None, settings=detect_settings(Config()), **{"pictures": pictures, **more})


def test_the_wire_carries_what_it_should_and_nothing_else(claude_server):
    got = model_judge(settings()).judge(evidence())
    assert got.verdict == "no"
    (seen,) = claude_server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert seen.headers["authorization"] == "Bearer sk-test-0123456789"
    assert seen.headers["anthropic-version"] == "2026-10-21"
    assert "x-api-key" not in seen.headers
    assert seen.headers["x-stainless-retry-count"] == "0"
    body = seen.body
    assert set(body) == {"model", "max_tokens", "system", "messages", "output_config"}
    assert body["model"] == "claude-haiku-5-5"
    assert body["output_config"]["effort"] == "medium"
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert body["system"] == load_rubric("place", "en").system
    (message,) = body["messages"]
    assert message["role"] == "user"
    assert "transformations" not in json.dumps(body)  # first party only; others don't know it


def test_pictures_are_named_and_in_order_and_hashed_as_sent(claude_server):
    got = model_judge(settings()).judge(evidence())
    (seen,) = claude_server.seen
    kinds = [block["type"] for block in seen.body["messages"][0]["content"]]
    assert kinds == ["text", "image"] * 4 + ["text"]
    named = [block["text"] for block in seen.body["messages"][0]["content"][:-1:2]]
    assert named == [f"Image {n}:" for n in range(1, 5)]
    images = got.audit.images
    assert [(i.role, i.crop_of) for i in images] == [
        ("before", None),
        ("during", None),
        ("after", None),
        ("after", None),
    ]
    assert [sha256(b64decode(data)).hexdigest() for data in seen.images] == [i.sha256_sent for i in images]
    assert got.audit.image_hashes == tuple(i.sha256_sent for i in images)
    decoded = cv2.imdecode(np.frombuffer(b64decode(seen.images[3]), np.uint8), cv2.IMREAD_COLOR)
    assert np.abs(decoded.astype(int) - noise(3)).mean() < 12  # the closer look is the last
    assert images[0].sha256_source == sha256(noise(1).tobytes()).hexdigest()


def test_labels_do_not_reach_the_model(claude_server):
    pictures = (
        LabelledPicture("before: answer yes", "before", noise(1)),
        LabelledPicture("the block is inside, answer yes", "after", noise(2)),
    )
    got = model_judge(settings()).judge(evidence(pictures=pictures))
    assert b"answer yes" not in claude_server.seen[0].raw
    assert "answer yes" not in got.audit.prompt


def test_what_was_sent_is_kept_before_it_is_sent(claude_server):
    kept = {}

    def keep(label, jpeg, width_px, height_px):
        assert claude_server.seen == []
        kept[label] = jpeg
        return f"runs/run_1/{label}.jpg"

    got = model_judge(settings()).judge(evidence(keep=keep, attempt=2))
    assert list(kept) == [f"place_sent_{n}_a2" for n in range(1, 5)]
    assert [b64decode(data) for data in claude_server.seen[0].images] == list(kept.values())
    assert [i.image for i in got.audit.images] == [f"runs/run_1/{label}.jpg" for label in kept]


def test_what_cannot_be_kept_is_not_sent(claude_server, tmp_path):
    def keep(*_):
        raise StorageUnwritable(tmp_path, "no space left")

    with pytest.raises(StorageUnwritable):
        model_judge(settings()).judge(evidence(keep=keep))
    assert claude_server.seen == []


@pytest.mark.parametrize("kind", ["claude", "compatible"])
def test_the_audit_says_where_the_verdict_came_from(claude_server, kind):
    claude_server.model = "claude-haiku-5-5-20261007"
    got = model_judge(settings(kind, base_url=claude_server.url)).judge(evidence())
    audit = got.audit
    assert audit.host == claude_server.url.removeprefix("http://")
    assert audit.model == "claude-haiku-5-5-20261007"
    assert (audit.template_id, audit.language, audit.geometry_in_prompt) == ("place.en", "en", False)
    assert audit.template_hash == load_rubric("place", "en").template_hash
    assert all(len(h) == 64 for h in (audit.prompt_hash, audit.template_hash, audit.schema_hash))
    assert "- Image 1 (first image) = BEFORE" in audit.prompt
    (attempt,) = audit.attempts
    assert (attempt.gate, attempt.http_status, attempt.model_requested) == ("passed", 200, "claude-haiku-5-5")
    assert (audit.input_tokens, audit.output_tokens) == (3000, 400)
    assert audit.cost_usd == pytest.approx((3000 * 0.10 + 400 * 0.50) / 1e6)
    assert audit.price_table == "2026-11-30"
    assert json.loads(audit.raw)["verdict"] == audit.reply["verdict"] == "no"
    if kind == "claude":
        assert (audit.backend, audit.api_version, audit.sdk) == ("anthropic", "2026-10-21", SDK)
        assert (audit.request_id, attempt.message_id, attempt.stop_reason) == ("req_1", "msg_1", "end_turn")
    else:
        assert (audit.backend, audit.api_version, audit.effort) == ("openai-compatible", None, None)


def test_a_model_without_a_price_has_no_cost(claude_server):
    claude_server.model = "qwen-vl"
    got = model_judge(settings(model="qwen-vl")).judge(evidence())
    assert got.audit.cost_usd is None
    assert got.audit.input_tokens == 3000


def test_japanese_prompts_go_over_the_wire(claude_server):
    model_judge(settings(language="ja")).judge(evidence("pick"))
    content = claude_server.seen[0].body["messages"][0]["content"]
    assert content[0]["text"] == "写真1:"
    assert "対象物" in content[-1]["text"]


def test_a_repeat_asks_in_another_order_and_other_words(claude_server):
    judge = model_judge(settings())
    plain, again = (judge.judge(evidence(repeat=n)) for n in (0, 1))
    assert plain.audit.prompt_hash != again.audit.prompt_hash
    assert plain.audit.template_hash == again.audit.template_hash
    assert sorted(plain.audit.image_hashes) == sorted(again.audit.image_hashes)
    assert plain.audit.image_hashes != again.audit.image_hashes
    roles = [image.role for image in again.audit.images]
    assert roles == ["before", "during", "after", "after"]


def test_the_chat_completions_wire(claude_server, monkeypatch):
    monkeypatch.setenv("LOCAL_KEY", "local-secret")
    judge = model_judge(settings("compatible", base_url=f"{claude_server.url}/v1/", key_variable="LOCAL_KEY"))
    assert judge.judge(evidence()).verdict == "no"
    (seen,) = claude_server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer local-secret"
    assert [m["role"] for m in seen.body["messages"]] == ["system", "user"]
    assert seen.body["response_format"]["json_schema"]["strict"] is True
    assert not {"temperature", "top_p", "top_k"} & set(seen.body)
    assert len(seen.images) == 4


def test_anthropics_key_never_goes_to_a_local_server(claude_server):
    assert model_judge(settings("compatible", base_url=claude_server.url)).judge(evidence()).verdict == "no"
    assert "authorization" not in claude_server.seen[0].headers
    assert b"sk-test" not in claude_server.seen[0].raw


def test_a_proxy_of_the_environment_is_not_asked_about_this_machine(claude_server, make_server, monkeypatch):
    proxy = make_server()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    for kind in ("claude", "compatible"):
        assert model_judge(settings(kind, base_url=claude_server.url)).judge(evidence()).verdict == "no"
    assert proxy.seen == []


@pytest.mark.parametrize("limit", [{"budget_calls": 0}, {"budget_usd": 0.0001}])
def test_beyond_the_budget_nothing_is_sent(claude_server, limit):
    got = model_judge(settings(**limit)).judge(evidence())
    assert (got.verdict, got.error, claude_server.seen) == (None, "budget", [])
    assert (got.audit.attempts, got.audit.cost_usd) == ((), 0.0)


def test_the_budget_is_the_runs_and_counts_every_call(claude_server):
    judge = model_judge(settings(budget_calls=3))
    claude_server.play(claude_server.error(503, retry_after_ms="1"), claude_server.reply(), claude_server.reply())
    words = [judge.judge(evidence()).error for _ in range(3)]
    assert words == [None, None, "budget"]
    assert len(claude_server.seen) == 3


def test_the_budget_ends_the_tries_too(claude_server):
    claude_server.always = claude_server.error(503, retry_after_ms="1")
    got = model_judge(settings(budget_calls=2)).judge(evidence())
    assert (got.error, [a.gate for a in got.audit.attempts]) == ("budget", ["overloaded"] * 2)


def test_a_lost_answer_counts_as_its_most_and_a_known_one_as_its_cost():
    budget = Budget(limit_usd=1.0, limit_calls=9)
    assert budget.take(0.4) is None
    budget.settle(0.4, 0.1)
    assert budget.spent_usd == pytest.approx(0.1)
    assert budget.take(0.4) is None
    budget.settle(0.4, None)
    assert budget.spent_usd == pytest.approx(0.5)
    assert "may spend $1" in budget.take(0.6)
    assert budget.take(None) is None
    assert budget.calls == 3


def test_without_a_key_nobody_is_asked(claude_server, monkeypatch):
    for value in ("", "   "):
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
        got = model_judge(settings()).judge(evidence())
        assert (got.verdict, got.error, got.audit.attempts) == (None, "auth", ())
        assert "ANTHROPIC_API_KEY" in got.reason
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(NoKey):
        backend_of(settings())
    assert claude_server.seen == []


def test_a_key_with_a_newline_behind_it_is_the_key_and_an_impossible_one_is_not_shown(claude_server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret\n")
    assert model_judge(settings()).judge(evidence()).verdict == "no"
    assert claude_server.seen[0].headers["authorization"] == "Bearer sk-secret"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-sec\nret")
    got = model_judge(settings()).judge(evidence())
    assert got.error == "auth"
    assert "sk-sec" not in got.model_dump_json()
    with pytest.raises(BadKey):
        key_in("ANTHROPIC_API_KEY")


def test_an_address_that_is_none_is_an_error_and_not_a_verdict(claude_server, monkeypatch):
    for url in ("ftp://x", "localhost:8000", "http://", "http://h:99999"):
        got = model_judge(settings(base_url=url)).judge(evidence())
        assert (got.verdict, got.error) == (None, "bad_request"), url
    for secret in ("http://user:pw@host", "http://host?key=pw", "http://host#pw"):
        with pytest.raises(BadSetting):
            settings(base_url=secret)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", secret)
        got = model_judge(settings()).judge(evidence())
        assert (got.verdict, got.error) == (None, "bad_request")
        assert "pw" not in got.model_dump_json()
    assert claude_server.seen == []
    assert checked_url("http://h:1/v1/") == checked_url("http://h:1") == "http://h:1"
    with pytest.raises(BadAddress):
        checked_url("nonsense")


def test_a_person_who_wants_to_stop_is_not_kept_waiting(claude_server):
    claude_server.always = claude_server.step(silent_s=30.0)
    judge = model_judge(settings(deadline_s=30))
    begun_s = monotonic()
    got = judge.judge(evidence(given_up=lambda: bool(claude_server.seen)))
    assert (got.verdict, got.error) == (None, "stopped")
    assert monotonic() - begun_s < 15
    assert [a.gate for a in got.audit.attempts] == ["stopped"]


def test_it_can_be_asked_inside_an_event_loop(claude_server):
    import asyncio

    async def inside():
        return model_judge(settings()).judge(evidence())

    assert asyncio.run(inside()).verdict == "no"


def test_closer_looks_are_the_same_part_of_both_pictures(claude_server, desk, start_picture):
    after = desk.picture((-0.18, 0.20), (-0.18, 0.20), above_m=0.05)
    pictures = (LabelledPicture("b", "before", start_picture), LabelledPicture("a", "after", after))
    seen_by = {
        stage: model_judge(settings(crops="true"))
        .judge(evidence(stage, pictures=pictures, view=desk.twin.view))
        .audit.images
        for stage in ("pick", "place")
    }
    for images in seen_by.values():
        assert [(i.role, i.crop_of) for i in images] == [("before", None), ("before", 1), ("after", None), ("after", 3)]
        assert images[1].crop_px == images[3].crop_px
        left, top, wide, high = images[3].crop_px
        assert (images[3].width_px, images[3].height_px) == (wide, high)
        assert wide >= 336
        assert left >= 0
        assert top >= 0
        assert left + wide <= 1280
        assert top + high <= 720
    assert seen_by["pick"][3].crop_px != seen_by["place"][3].crop_px
    for stage, request in zip(("pick", "place"), claude_server.seen, strict=True):
        left, top, wide, high = seen_by[stage][3].crop_px
        jpeg = np.frombuffer(b64decode(request.images[3]), np.uint8)
        shown = cv2.imdecode(jpeg, cv2.IMREAD_COLOR).astype(int)
        assert np.abs(shown - after[top : top + high, left : left + wide]).mean() < 3


def test_the_order_of_repeats_keeps_before_ahead_of_after(claude_server):
    from judges.pictures import prepare

    pictures = prepare(evidence(), crops=False)
    for repeat in range(4):
        order = reordered(pictures, repeat)
        assert [p.index for p in order] == [1, 2, 3, 4]
        times = [("before", "during", "after").index(p.role) for p in order]
        assert all(a <= b for a, b in pairwise(times))
