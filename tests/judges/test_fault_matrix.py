"""Every fault that a server has been seen to make, through the real SDK: never a yes, in time, each try on record.

The rows are numbered as in the matrix of docs/judges.md. One backend serves Claude, one the chat-completions servers;
both must hold.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from dataclasses import replace
from importlib import import_module
from time import monotonic

import numpy as np
import pytest

from judges.asking import GRACE_S
from judges.opening import Opening
from judges.protocol import Evidence, LabelledPicture
from runner.config import Config, with_overrides
from runner.judging import backend_of, model_judge
from runner.rig import detect_settings

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
    got = ask(kind, url=url, deadline_s=20)
    assert (got.error, tried(got)) == ("connection", ["connection"] * 3)


@BOTH
def test_18_a_reset_and_a_cut_in_the_body(claude_server, ask, kind):
    claude_server.verdict = "yes"
    claude_server.always = claude_server.step(reset=True)
    assert ask(kind, deadline_s=20).error == "connection"
    claude_server.always = claude_server.step(body=claude_server.message(), cut_at=300)
    assert ask(kind, deadline_s=20).error in ("connection", "malformed")


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


DEEP = "[" * 200_000
"""Deeper than any reader of JSON goes down."""


@BOTH
@pytest.mark.parametrize("status", [200, 400, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("body", [DEEP, DEEP + "]" * 200_000, '{"error": ' * 100_000, '{"usage": ' + DEEP])
def test_21_a_body_that_is_nested_without_an_end(claude_server, ask, kind, status, body):
    claude_server.always = claude_server.step(status=status, body=body.encode(), headers={"retry-after-ms": "1"})
    assert ask(kind).error == {200: "malformed", 400: "bad_request", 500: "server_error"}[status]


@BOTH
@pytest.mark.parametrize("depth", [60, 900, *(pytest.param(n, marks=pytest.mark.slow) for n in (300, 5000))])
@pytest.mark.parametrize("where", ["usage", "stop_details", "model", "id", "anything"])
def test_21_a_good_reply_with_something_nested_in_it(claude_server, ask, kind, depth, where):
    def body(seen):
        good = json.loads(claude_server.message(claude_server.fitting("yes"))(seen))
        good.pop(where, None)
        return (json.dumps(good)[:-1] + f', "{where}": {{"a": {"[" * depth}{"]" * depth}}}}}').encode()

    claude_server.always = claude_server.step(body=body)
    assert ask(kind).error == "malformed"


@BOTH
def test_21_a_reply_that_names_without_an_end(claude_server, ask, kind):
    def long(good):
        return json.dumps({**good, "criteria": [{"id": "x\x1b" * 9, "met": "yes", "image_index": 1}] * 5_000})

    claude_server.always = claude_server.step(body=spoilt(claude_server, long))
    got = ask(kind)
    assert got.error == "schema"
    assert len(got.reason) < 1000
    assert got.reason.isprintable()


@BOTH
def test_21_nesting_inside_the_text(claude_server, ask, kind):
    claude_server.always = claude_server.step(body=spoilt(claude_server, lambda good: DEEP))
    got = ask(kind)
    assert got.error == "malformed"
    assert len(got.audit.attempts[0].raw) == 20_000


def counted(server, n):
    """A good yes whose usage counts so many tokens of every kind."""

    def body(seen):
        good = json.loads(server.message(server.fitting("yes"))(seen))
        names = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "cache_read_input_tokens")
        return (json.dumps({**good, "usage": {}})[:-3] + "{" + ", ".join(f'"{k}": {n}' for k in names) + "}}").encode()

    return server.step(body=body)


@BOTH
@pytest.mark.parametrize("n", [10**400, 17 * 10**307, -(10**400), "1e400", "1" * 5000])
def test_21_a_count_that_no_computer_holds(claude_server, ask, kind, n):
    claude_server.always = counted(claude_server, n)
    got = ask(kind)
    assert (got.error, got.audit.cost_usd) == ("malformed", None)


@BOTH
@pytest.mark.parametrize("n", [10**17, 2 * 10**9, -1, "1e300", "null", "true", '"many"', "[[]]"])
def test_21_a_count_that_cant_be_leaves_the_cost_unknown(claude_server, ask, kind, n):
    claude_server.always = counted(claude_server, n)
    got = ask(kind, fine=True)
    assert (got.verdict, got.audit.cost_usd, got.audit.input_tokens) == ("yes", None, None)
    assert type(got).model_validate_json(got.model_dump_json()) == got


@BOTH
def test_21_what_else_goes_wrong_while_reading_is_on_record(claude_server, pictures, kind):
    """Nothing is known to come to this; a fault of our own must not become a crash of a trial either."""
    config = with_overrides(Config(), [f"judge.kind={kind}", f"judge.base_url={claude_server.url}"])
    judge = model_judge(config)

    def broken(*_):
        raise OverflowError("int too large to convert to float")

    judge._read = broken
    evidence = Evidence(stage="place", pictures=pictures, grip=None, settings=detect_settings(config))
    got = judge.judge(evidence)
    assert (got.verdict, got.error, tried(got)) == (None, "malformed", ["malformed"] * 2)
    assert "OverflowError" in got.reason
    assert all(attempt.http_status == 200 and attempt.raw and attempt.cost_usd for attempt in got.audit.attempts)


@BOTH
@pytest.mark.parametrize("status", [200, 400, 529])
def test_22_a_body_without_an_end_is_not_taken_in(claude_server, ask, kind, status):
    claude_server.always = claude_server.step(status=status, body=b" " * 65536, endless=True)
    got = ask(kind, deadline_s=20)
    assert (got.error, got.audit.cost_usd) == ("malformed", None)
    assert "no end" in got.reason


@BOTH
def test_22_a_good_reply_behind_too_much_of_nothing(claude_server, ask, kind):
    claude_server.verdict = "yes"
    claude_server.always = claude_server.step(body=lambda seen: b" " * 5_000_000 + claude_server.message()(seen))
    assert ask(kind, deadline_s=20).error == "malformed"


@BOTH
def test_22_a_packed_body_may_hold_anything_and_is_not_unpacked(claude_server, ask, kind):
    claude_server.verdict = "yes"
    headers = {"content-encoding": "gzip"}
    claude_server.always = claude_server.step(
        body=lambda seen: gzip.compress(claude_server.message()(seen)), headers=headers
    )
    got = ask(kind)
    assert (got.error, "packed" in got.reason) == ("malformed", True)
    assert claude_server.seen[0].headers["accept-encoding"] == "identity"


ODD = "\x1b]0;pwned\x07\x1b[31mred\x9b2J\u202eyes\n" + "x" * 10_000


@BOTH
@pytest.mark.parametrize("stop", ["end_turn", ODD])
def test_23_what_a_server_calls_things_is_one_printable_line(claude_server, ask, kind, stop):
    claude_server.model = ODD
    more = {"id": ODD, "stop_details": {"type": ODD, ODD: [ODD]}}
    more |= {} if kind == "compatible" else {"usage": {"input_tokens": 1, "output_tokens": 1, "tier": ODD}}
    claude_server.always = claude_server.reply(claude_server.fitting("no"), stop_reason=stop, **more)
    check_printable(ask(kind, fine=True))


@BOTH
def test_23_nor_does_an_error_reach_a_terminal_as_it_is(claude_server, ask, kind):
    fault = {"type": ODD, "code": ODD, "message": ODD, "details": {"error_code": ODD}}
    claude_server.always = claude_server.step(status=400, body=json.dumps({"error": fault}).encode())
    check_printable(ask(kind))


def check_printable(verdict):
    def walk(value):
        if isinstance(value, str):
            assert value.isprintable(), value[:80]
            assert len(value) < 1000
        for key, item in value.items() if isinstance(value, dict) else ():
            walk(key)
            walk(item)
        for item in value if isinstance(value, list) else ():
            walk(item)

    told = verdict.model_dump(mode="json")
    audit = told.pop("audit")
    walk(told)
    walk({name: audit[name] for name in ("model", "request_id", "host", "sdk")})
    for attempt in audit["attempts"]:
        walk({**attempt, "raw": None})


@BOTH
@pytest.mark.parametrize("status", [201, 202, 203, 206])
def test_24_another_success_is_no_answer(claude_server, ask, kind, status):
    claude_server.verdict = "yes"
    claude_server.always = claude_server.step(status=status, body=claude_server.message())
    got = ask(kind)
    assert (got.error, tried(got)) == ("malformed", ["malformed"] * 2)
    assert got.audit.attempts[0].http_status == status


@BOTH
@pytest.mark.parametrize("role", ["user", "system", None, 7])
def test_24_nobody_but_the_model_answers(claude_server, ask, kind, role):
    def body(seen):
        good = json.loads(claude_server.message(claude_server.fitting("yes"))(seen))
        (good if kind == "claude" else good["choices"][0]["message"])["role"] = role
        return json.dumps(good).encode()

    claude_server.always = claude_server.step(body=body)
    assert ask(kind).error == "malformed"


@BOTH
def test_25_a_slow_start_counts_in_the_deadline(claude_server, pictures, kind):
    claude_server.verdict = "yes"
    settings = [f"judge.kind={kind}", f"judge.base_url={claude_server.url}", "judge.deadline_s=0.5"]
    config = with_overrides(Config(), settings)
    judge, go_on = model_judge(config), threading.Event()
    opened = []

    def slow():
        go_on.wait(30)
        opened.append(backend_of(config))
        return opened[-1]

    judge._opening = Opening(slow)
    evidence = Evidence(stage="place", pictures=pictures, grip=None, settings=detect_settings(config))
    begun_s = monotonic()
    got = judge.judge(evidence)
    assert monotonic() - begun_s < 0.5 + SLACK_S
    assert (got.verdict, got.error, got.audit.attempts) == (None, "timeout", ())
    stopped = judge.judge(replace(evidence, given_up=lambda: True))
    assert (stopped.verdict, stopped.error) == (None, "stopped")
    assert claude_server.seen == []
    go_on.set()
    judge.settings = replace(judge.settings, policy=replace(judge.settings.policy, deadline_s=20.0))
    assert [judge.judge(evidence).verdict for _ in range(2)] == ["yes", "yes"]
    assert len(opened) == 1


def test_26_nothing_of_the_environment_but_the_key_goes_out(claude_server, ask, monkeypatch):
    told = {"CUSTOM_HEADERS": "x-secret: other\nauthorization: Bearer evil", "AUTH_TOKEN": "evil", "PROFILE": "evil"}
    for name, value in told.items():
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)
    ask(fine=True)
    (seen,) = claude_server.seen
    assert "x-secret" not in seen.headers
    assert seen.headers["authorization"] == "Bearer sk-test-0123456789"
    assert "evil" not in str(seen.headers)


def test_26_no_log_level_of_the_environment_writes_pictures(claude_server, ask, monkeypatch, caplog):
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    import_module("anthropic._utils._logs").setup_logging()  # what the SDK does when it is loaded
    ask(fine=True)
    assert not any(claude_server.seen[0].images[0][:50] in record.getMessage() for record in caplog.records)
    assert not any(record.name.startswith(("anthropic", "httpx2")) for record in caplog.records)


def test_27_one_billed_and_one_lost_try_have_no_sum(claude_server, ask):
    claude_server.play(
        claude_server.reply("no JSON"),
        claude_server.step(body=claude_server.message(), cut_at=200),
        claude_server.reply(),
    )
    got = ask(fine=True)
    assert [attempt.cost_usd is None for attempt in got.audit.attempts] == [False, True, False]
    assert got.audit.cost_usd is None
