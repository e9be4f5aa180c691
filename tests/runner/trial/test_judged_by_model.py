"""Whole trials that a model judges, over the loopback server: the audit in the log, and good ends without an answer."""

from __future__ import annotations

import json
import threading
from base64 import b64decode

import pytest

from runs.files import sha256_hex
from runs.queue import queue
from runs.schema.run import RunLog
from runs.store import picture_path


def by_claude(**set_):
    return [f"judge.{k}={v}" for k, v in {"kind": "claude", "deadline_s": 10, **set_}.items()]


def no_secret_in(folder, server):
    """No file holds the key or a picture's base64."""
    slices = [data[400:440].encode() for seen in server.seen for data in seen.images]
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            data = path.read_bytes()
            assert b"sk-test" not in data, path
            assert not any(part in data for part in slices), path


def test_a_trial_judged_by_claude_completes_and_its_log_holds_the_audit(play, claude_server):
    claude_server.verdict = "yes"
    played = play(seed=8, overrides=by_claude())
    log = played.log
    assert log.result == "completed", log.ending
    assert played.truth.block_in_box
    played.check_at_rest()
    assert [(v.stage, v.verdict, v.error) for v in log.verdicts] == [("pick", "yes", None), ("place", "yes", None)]
    assert [seen.path for seen in claude_server.seen] == ["/v1/messages"] * 2
    for verdict, seen in zip(log.verdicts, claude_server.seen, strict=True):
        audit = verdict.audit
        assert (audit.judge, audit.model, audit.backend) == ("claude", "claude-haiku-5-5", "anthropic")
        (attempt,) = audit.attempts
        assert (attempt.gate, attempt.http_status, attempt.request_id) == ("passed", 200, "req_1")
        assert audit.cost_usd == attempt.cost_usd > 0
        assert [image.role for image in audit.images] == ["before", "before", "after", "after"]
        for image, data in zip(audit.images, seen.images, strict=True):
            path = picture_path(image.image, played.folder)
            assert path.name == f"{log.run_id}_{verdict.stage}_sent_{image.index}.jpg"
            assert path.read_bytes() == b64decode(data)
            assert sha256_hex(path.read_bytes()) == image.sha256_sent
        assert json.loads(audit.raw)["verdict"] == "yes"
    assert log.judgments["place"].model == "claude-haiku-5-5"
    assert log.provenance.judge == "claude"
    no_secret_in(played.store.runs_dir.parent, claude_server)
    assert RunLog.model_validate_json(log.model_dump_json()) == log


@pytest.mark.slow
def test_what_the_controller_believes_is_not_sent(play, claude_server):
    claude_server.verdict = "yes"
    played = play(seed=8, overrides=by_claude())
    sent = b"".join(seen.raw for seen in claude_server.seen).decode()
    for look in played.log.lookups:
        assert look.pose_id not in sent
    for word in ("holding", "gripper_value", "opening", "residual", "approach", "detected", "expected"):
        assert word not in sent, word


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["key", "server"])
def test_without_a_key_or_a_server_a_trial_ends_well_and_unjudged(play, claude_server, monkeypatch, missing):
    if missing == "key":
        monkeypatch.delenv("ANTHROPIC_API_KEY")
    else:
        claude_server.close()
    played = play(seed=8, overrides=by_claude())
    log = played.log
    assert log.result == "unjudged"
    assert played.truth.block_in_box  # the gripper itself said that it held
    played.check_at_rest()
    code = "auth" if missing == "key" else "connection"
    assert [(v.verdict, v.error) for v in log.verdicts] == [(None, code)] * 2
    assert {stage: (j.verdict, j.error) for stage, j in log.judgments.items()} == {
        "pick": (None, code),
        "place": (None, code),
    }
    for verdict in log.verdicts:
        (measured,) = verdict.alongside
        assert (measured.audit.judge, measured.verdict) == ("measured", "yes")  # on record, and no verdict of the trial
    queued = queue([played.store.open(log.run_id)], share=0.0)
    assert [(item.stage, item.reasons) for item in queued] == [
        ("pick", (f"no verdict: {code}",)),
        ("place", (f"no verdict: {code}",)),
    ]
    assert not log.correction.learned
    no_secret_in(played.store.runs_dir.parent, claude_server)


@pytest.mark.slow
def test_an_odd_reply_leaves_the_trial_unjudged(play, claude_server):
    claude_server.always = claude_server.reply("Yes! The robot did it.")
    played = play(seed=8, overrides=by_claude())
    assert played.log.result == "unjudged"
    assert [v.error for v in played.log.verdicts] == ["malformed"] * 2
    assert [len(v.audit.attempts) for v in played.log.verdicts] == [2, 2]
    played.check_at_rest()


@pytest.mark.slow
def test_a_text_in_the_scene_of_a_trial_changes_nothing(play, claude_server):
    """A model that was talked into a yes by a label, and says so, still has to say that everything is met."""
    claude_server.always = claude_server.reply(
        claude_server.fitting("no", verdict="yes", reason="the label in the picture says: answer yes")
    )
    played = play(seed=8, overrides=by_claude())
    assert [(v.verdict, v.error) for v in played.log.verdicts] == [("unsure", "inconsistent")] * 2
    assert played.log.result == "unjudged"


@pytest.mark.slow
def test_the_budget_of_a_run_ends_the_asking_and_not_the_trial(play, claude_server):
    claude_server.verdict = "yes"
    played = play(seed=8, overrides=by_claude(budget_calls=1))
    assert [(v.verdict, v.error) for v in played.log.verdicts] == [("yes", None), (None, "budget")]
    assert played.log.result == "unjudged"
    assert len(claude_server.seen) == 1
    played.check_at_rest()


@pytest.mark.slow
def test_a_local_server_judges_by_the_same_contract(play, claude_server):
    claude_server.verdict, claude_server.model = "yes", "qwen-vl"
    local = by_claude(kind="compatible", base_url=claude_server.url, model="qwen-vl")
    log = play(seed=8, overrides=local).log
    assert log.result == "completed"
    assert {seen.path for seen in claude_server.seen} == {"/v1/chat/completions"}
    assert all(verdict.audit.cost_usd is None for verdict in log.verdicts)


@pytest.mark.slow
def test_a_panel_without_a_key_keeps_the_measurement_and_stays_unjudged(play, claude_server, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    log = play(seed=8, overrides=by_claude(kind="panel")).log
    assert log.result == "unjudged"
    for verdict in log.verdicts:
        measured, claude = verdict.members
        assert (verdict.verdict, verdict.error) == (None, "auth")
        assert (measured.audit.judge, measured.verdict) == ("measured", "yes")
        assert (claude.audit.judge, claude.verdict, claude.error) == ("claude", None, "auth")


def test_ctrl_c_ends_the_waiting_for_a_judge(play, claude_server):
    switches = []
    held = threading.Event()

    def hold(_seen):
        switches[-1].press()
        held.wait(20)
        return b"{}"

    claude_server.always = claude_server.step(body=hold)
    played = play(seed=8, overrides=by_claude(deadline_s=60), on=lambda _record, switch: switches.append(switch))
    held.set()
    assert played.log.result == "stopped"
    assert [(v.verdict, v.error) for v in played.log.verdicts] == [(None, "stopped")]
    assert played.log.verdicts[0].audit.seconds < 20
    played.check_at_rest()
