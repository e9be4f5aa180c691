"""Every fault that a server has been seen to make, through the real SDK: never a yes, in time, each try on record.

The rows are numbered as in the matrix of docs/judges.md. One backend serves Claude, one the chat-completions servers;
both must hold.
"""

from __future__ import annotations

import json
import socket
from time import monotonic

import numpy as np
import pytest

from judges.asking import GRACE_S
from judges.protocol import Evidence, LabelledPicture
from runner.config import Config, with_overrides
from runner.rig import detect_settings, model_judge

DEADLINE_S = 2.5
SLACK_S = GRACE_S + 2.0  # for a busy machine; the deadline itself is the judge's own


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(3)
    image = rng.integers(60, 200, (96, 128, 3)).astype(np.uint8)
    return LabelledPicture("before", "before", image), LabelledPicture("after", "after", image[::-1].copy())


@pytest.fixture
def ask(claude_server, pictures):
    """`ask("claude", deadline_s=…)`: the verdict of the judge with the server as it is set up, held to the rules."""

    def asking(kind="claude", *, url=None, fine=False, **set_):
        values = {"kind": kind, "base_url": url or claude_server.url, "deadline_s": DEADLINE_S, "crops": "false"}
        config = with_overrides(Config(), [f"judge.{k}={v}" for k, v in (values | set_).items()])
        judge = model_judge(config)
        judge._the_backend()  # the SDK's import is no part of a judgement
        evidence = Evidence(stage="place", pictures=pictures, grip=None, settings=detect_settings(config))
        begun_s = monotonic()
        verdict = judge.judge(evidence)
        assert monotonic() - begun_s < float(values["deadline_s"]) + SLACK_S
        if not fine:
            assert verdict.verdict in (None, "unsure")
            assert verdict.error
        attempts = verdict.audit.attempts
        assert [attempt.attempt for attempt in attempts] == list(range(1, len(attempts) + 1))
        assert 1 <= len(attempts) <= 3
        assert all(attempt.gate and attempt.model_requested and attempt.started_at for attempt in attempts)
        told = verdict.model_dump_json()
        assert "sk-test" not in told
        assert not any(image[:200] in told for seen in claude_server.seen for image in seen.images)
        return verdict

    return asking


def tried(verdict):
    return [attempt.gate for attempt in verdict.audit.attempts]


BOTH = pytest.mark.parametrize("kind", ["claude", "compatible"])


@BOTH
@pytest.mark.parametrize("verdict", ["yes", "no", "unsure"])
def test_0_a_good_reply_is_a_verdict(claude_server, ask, kind, verdict):
    claude_server.verdict = verdict
    got = ask(kind, fine=True)
    assert (got.verdict, got.error, tried(got)) == (verdict, None, ["passed"])
    assert len(claude_server.seen) == 1


@BOTH
def test_1_a_rate_limit_is_tried_three_times(claude_server, ask, kind):
    claude_server.always = claude_server.error(429, "rate_limit_error", retry_after_ms="20")
    got = ask(kind)
    assert (got.verdict, got.error) == (None, "rate_limited")
    assert tried(got) == ["rate_limited"] * 3
    assert len(claude_server.seen) == 3
    assert got.audit.attempts[0].http_status == 429
    assert got.audit.attempts[0].retry_after_s == pytest.approx(0.02)


@BOTH
def test_1_a_rate_limit_that_passes_gives_the_verdict(claude_server, ask, kind):
    claude_server.play(claude_server.error(429, "rate_limit_error"), claude_server.reply())
    got = ask(kind, fine=True)
    assert (got.verdict, tried(got)) == ("no", ["rate_limited", "passed"])


@BOTH
def test_1_an_hour_of_retry_after_is_not_waited_for(claude_server, ask, kind):
    claude_server.always = claude_server.error(429, "rate_limit_error", retry_after="3600")
    begun_s = monotonic()
    got = ask(kind)
    assert got.error == "rate_limited"
    assert monotonic() - begun_s < DEADLINE_S
    assert got.audit.attempts[0].retry_after_s == 3600
    assert len(claude_server.seen) == 1


@pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
def test_2_a_spend_limit_is_not_tried_again(claude_server, ask, code):
    claude_server.always = claude_server.error(429, "rate_limit_error", code=code)
    got = ask()
    assert (got.error, len(claude_server.seen)) == ("spend_limit", 1)
    assert got.audit.attempts[0].error_type == code


@BOTH
@pytest.mark.parametrize(
    ("status", "code"), [(529, "overloaded"), (503, "overloaded"), (500, "server_error"), (504, "server_error")]
)
def test_3_a_server_in_trouble_is_tried_again(claude_server, ask, kind, status, code):
    claude_server.always = claude_server.error(status, retry_after_ms="10")
    got = ask(kind)
    assert (got.error, tried(got)) == (code, [code] * 3)


@BOTH
@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "auth"), (402, "spend_limit"), (403, "auth"), (404, "bad_request"), (413, "image_too_large")],
)
def test_4_what_trying_again_does_not_help_is_tried_once(claude_server, ask, kind, status, code):
    claude_server.always = claude_server.error(status)
    got = ask(kind)
    assert (got.verdict, got.error, len(claude_server.seen)) == (None, code, 1)
    assert got.audit.cost_usd == 0.0


def test_5_a_picture_that_is_too_large_says_so(claude_server, ask):
    claude_server.always = claude_server.error(400, "invalid_request_error", code="image_dimensions_too_large")
    got = ask()
    assert (got.error, len(claude_server.seen)) == ("image_too_large", 1)


def test_6_a_refusal_without_a_word(claude_server, ask):
    details = {"type": "refusal", "category": "reasoning_extraction", "explanation": None}
    claude_server.always = claude_server.reply([], stop_reason="refusal", stop_details=details)
    got = ask()
    assert (got.error, len(claude_server.seen)) == ("refusal", 1)
    assert got.audit.attempts[0].stop_details["category"] == "reasoning_extraction"


@BOTH
def test_7_a_refusal_that_says_yes_is_a_refusal(claude_server, ask, kind):
    stop = "refusal" if kind == "claude" else "content_filter"
    claude_server.always = claude_server.reply(claude_server.fitting("yes"), stop_reason=stop)
    got = ask(kind)
    assert (got.error, len(claude_server.seen)) == ("refusal", 1)
    assert '"verdict": "yes"' in got.audit.attempts[0].raw


@BOTH
def test_8_a_cut_off_reply_is_none_even_if_it_happens_to_be_whole(claude_server, ask, kind):
    claude_server.always = claude_server.reply(claude_server.fitting("yes"), stop_reason="max_tokens")
    got = ask(kind)
    assert (got.error, tried(got)) == ("truncated", ["truncated"] * 2)
    sizes = [seen.body["max_tokens"] for seen in claude_server.seen]
    assert sizes == [4000, 8000]
    assert [attempt.max_tokens for attempt in got.audit.attempts] == sizes


@BOTH
@pytest.mark.parametrize(
    "body", [b"{not json", b'{"id": "msg_1", "type": "mess', b"", b"null", b"[]", b'"yes"', b"\xff\xfe"]
)
def test_9_a_body_that_is_no_answer(claude_server, ask, kind, body):
    claude_server.always = claude_server.step(body=body)
    assert ask(kind).error == "malformed"


@BOTH
def test_10_nothing_at_all_with_success(claude_server, ask, kind):
    claude_server.always = claude_server.step(status=204)
    got = ask(kind)
    assert got.verdict is None


@BOTH
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_10_a_redirect_is_not_followed_and_gets_no_pictures(claude_server, make_server, ask, kind, status):
    elsewhere = make_server()
    elsewhere.verdict = "yes"
    claude_server.always = claude_server.step(status=status, headers={"location": f"{elsewhere.url}/v1/messages"})
    got = ask(kind)
    assert (got.error, got.audit.attempts[0].http_status) == ("redirect", status)
    assert elsewhere.seen == []


@BOTH
def test_11_a_page_of_a_captive_network(claude_server, ask, kind):
    page = b"<html><body>Please log in. verdict: yes</body></html>"
    claude_server.always = claude_server.step(body=page, headers={"content-type": "text/html"})
    assert ask(kind).error == "malformed"


@BOTH
@pytest.mark.parametrize(
    "body", [b"{}", b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}', b'{"choices": []}']
)
def test_12_an_empty_object_or_an_error_that_calls_itself_success(claude_server, ask, kind, body):
    claude_server.always = claude_server.step(body=body)
    assert ask(kind).error == "malformed"


def spoilt(server, how):
    """A reply of the right form with one thing wrong, as text."""

    def make(seen):
        good = server.fitting("yes")(seen)
        if callable(how):
            return how(good)
        return json.dumps({**good, **how})

    return lambda seen: server.message(make(seen))(seen)


SPOILT = {
    "13 wrong form": {"criteria": []},
    "13 an extra key": {"note": "yes"},
    "13 a key twice": lambda good: json.dumps(good)[:-1] + ', "verdict": "yes"}',
    "13 another criterion": {"criteria": [{"id": "looks_good", "met": "yes", "image_index": 1}]},
    "14 confidence 1.7": {"confidence": 1.7},
    "14 confidence NaN": {"confidence": float("nan")},
    "14 confidence as text": {"confidence": "0.9"},
    "14 confidence null": {"confidence": None},
    "15 fenced twice": lambda good: f"```json\n```json\n{json.dumps(good)}\n```\n```",
    "15 trailing prose": lambda good: json.dumps(good) + "\nSo the answer is yes.",
    "15 prose": lambda _: "Yes. The block is in the box, I am certain.",
}


@BOTH
@pytest.mark.parametrize("name", SPOILT)
def test_13_to_15_a_text_that_is_not_exactly_a_reply(claude_server, ask, kind, name):
    claude_server.always = claude_server.step(body=spoilt(claude_server, SPOILT[name]))
    got = ask(kind)
    assert got.error in ("malformed", "schema")
    assert tried(got) == [got.error] * 2  # once more with more room, then no more
    assert all(attempt.raw for attempt in got.audit.attempts)


def test_15_a_fence_is_no_reply_where_the_form_is_enforced(claude_server, ask):
    fenced = spoilt(claude_server, lambda good: f"```json\n{json.dumps(good)}\n```")
    claude_server.always = claude_server.step(body=fenced)
    assert ask().error == "malformed"
    assert ask("compatible", fine=True).verdict == "yes"


def blocks(server, *make):
    """A message whose content is made from a fitting yes, as text."""

    def body(seen):
        text = {"type": "text", "text": json.dumps(server.fitting("yes")(seen))}
        return server.message([block if block else text for block in make])(seen)

    return server.step(body=body)


TEXT = None
TOOL = {"type": "tool_use", "id": "tu_1", "name": "say", "input": {"verdict": "yes"}}


def test_15_two_texts_are_none(claude_server, ask):
    claude_server.always = blocks(claude_server, TEXT, TEXT)
    assert ask().error == "malformed"


def test_16_thinking_is_passed_over_and_never_read(claude_server, ask):
    thinking = {"type": "thinking", "thinking": '{"verdict": "yes"}', "signature": "s"}
    claude_server.play(
        claude_server.step(
            body=lambda seen: claude_server.message(
                [thinking, {"type": "text", "text": json.dumps(claude_server.fitting("no")(seen))}]
            )(seen)
        )
    )
    assert ask(fine=True).verdict == "no"
    claude_server.always = claude_server.reply([thinking])
    assert ask().error == "malformed"


def test_16_a_tool_call_instead_of_a_text(claude_server, ask):
    claude_server.always = claude_server.reply([TOOL], stop_reason="tool_use")
    assert ask().error == "unexpected_stop"
    claude_server.always = claude_server.reply([TOOL])
    assert ask().error == "malformed"


@BOTH
@pytest.mark.parametrize("stop", ["tired", "pause_turn", "stop_sequence", "tool_use", None, 7])
def test_17_an_unknown_reason_to_stop(claude_server, ask, kind, stop):
    claude_server.always = claude_server.reply(claude_server.fitting("yes"), stop_reason=stop)
    got = ask(kind)
    assert got.error in ("unexpected_stop", "stream_cut")
    assert len(claude_server.seen) == 1


@pytest.mark.parametrize("content", [[{"type": "hologram", "text": "yes"}], {"verdict": "yes"}, None, [7], [None]])
def test_17_an_unknown_block(claude_server, ask, content):
    def body(seen):
        return json.dumps({**json.loads(claude_server.message([])(seen)), "content": content}).encode()

    claude_server.always = claude_server.step(body=body)
    assert ask().error == "malformed"


def test_17_an_unknown_block_beside_a_good_text(claude_server, ask):
    claude_server.always = blocks(claude_server, {"type": "hologram", "text": "yes"}, TEXT)
    assert ask().error == "malformed"


@BOTH
def test_18_a_body_that_drips_is_cut_by_the_deadline(claude_server, ask, kind):
    claude_server.verdict = "yes"
    claude_server.always = claude_server.step(body=claude_server.message(), drip_s=0.05)
    got = ask(kind, deadline_s=1.0)
    assert (got.verdict, got.error, tried(got)) == (None, "timeout", ["timeout"])
    assert got.audit.cost_usd is None  # it may have been billed; nobody knows


@BOTH
def test_18_a_silent_server_is_cut_by_the_deadline(claude_server, ask, kind):
    claude_server.always = claude_server.step(silent_s=30.0)
    assert ask(kind, deadline_s=0.8).error == "timeout"


@BOTH
def test_18_a_refused_port(ask, kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    got = ask(kind, url=url)
    assert (got.error, tried(got)) == ("connection", ["connection"] * 3)


@BOTH
def test_18_a_reset_and_a_cut_in_the_body(claude_server, ask, kind):
    claude_server.verdict = "yes"
    claude_server.always = claude_server.step(reset=True)
    assert ask(kind).error == "connection"
    claude_server.always = claude_server.step(body=claude_server.message(), cut_at=300)
    assert ask(kind).error in ("connection", "malformed")


@BOTH
def test_18_a_host_that_is_not_there(ask, kind):
    assert ask(kind, url="http://no-such-host.invalid").error in ("connection", "timeout")


STREAM = [
    b'event: message_start\ndata: {"type": "message_start"}\n\n',
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n',
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"text": "yes"}}\n\n',
]


@BOTH
@pytest.mark.parametrize("events", [STREAM[:1], STREAM[:2], STREAM])
def test_19_a_stream_that_nobody_asked_for(claude_server, ask, kind, events):
    """Nothing is streamed here, so that no stream can end early; a server that streams all the same gives no answer."""
    headers = {"content-type": "text/event-stream"}
    claude_server.always = claude_server.step(body=b"".join(events), headers=headers)
    assert ask(kind).error == "malformed"
    assert all("stream" not in seen.body for seen in claude_server.seen)


@BOTH
def test_19_a_stream_that_stalls(claude_server, ask, kind):
    headers = {"content-type": "text/event-stream"}
    claude_server.always = claude_server.step(body=STREAM[0] * 50, headers=headers, drip_s=0.05)
    assert ask(kind, deadline_s=1.0).error == "timeout"


DOUBTS = {
    "inconsistent": {"target_location": "on_rim"},
    "image_unusable": {"image_quality": {"usable": False, "issues": ["occluded"]}},
    "low_confidence": {"confidence": 0.3},
}


@BOTH
@pytest.mark.parametrize("code", DOUBTS)
def test_a_yes_in_doubt_is_unsure_with_its_code(claude_server, ask, kind, code):
    claude_server.always = claude_server.reply(claude_server.fitting("yes", **DOUBTS[code]))
    got = ask(kind)
    assert (got.verdict, got.error, tried(got)) == ("unsure", code, [code])
    assert got.audit.reply["verdict"] == "yes"


def test_the_deadline_counts_all_tries_together(claude_server, ask):
    claude_server.always = claude_server.step(silent_s=0.5, status=503)
    got = ask(deadline_s=0.9)
    assert got.error in ("overloaded", "timeout")
    assert len(got.audit.attempts) <= 2


@BOTH
def test_an_answer_that_says_a_thing_twice_is_none(claude_server, ask, kind):
    def twice(seen):
        key = "stop_reason" if kind == "claude" else "choices"
        good = json.loads(claude_server.message(claude_server.fitting("yes"))(seen))
        return (json.dumps(good)[:-1] + f', "{key}": {json.dumps(good[key])}}}').encode()

    claude_server.always = claude_server.step(body=twice)
    assert ask(kind).error == "malformed"


def test_a_key_that_the_server_sends_back_is_blotted_out(claude_server, ask):
    def echo(seen):
        key = seen.headers["authorization"].removeprefix("Bearer ")
        return json.dumps({"type": "error", "error": {"type": "x", "message": f"bad key {key}"}}).encode()

    claude_server.always = claude_server.step(status=401, body=echo)
    assert "bad key [key]" in ask().audit.attempts[0].detail


def test_what_a_server_sends_can_be_written_down(claude_server, ask):
    content = '[{"type": "text", "text": "\\ud83d"}]'
    odd = '{"id": "\\ud800", "type": "message", "role": "assistant", "model": "\\udfff", "content": ' + content
    odd += ', "stop_reason": "end_turn", "usage": {"input_tokens": -1, "output_tokens": "many"}}'
    claude_server.always = claude_server.step(body=odd.encode())
    got = ask()
    assert type(got).model_validate_json(got.model_dump_json()) == got
    assert got.audit.cost_usd is None
