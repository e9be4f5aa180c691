"""`trialcell judge ask` and `doctor --judge`: one question, its object and its exit code."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path

import cv2
import numpy as np
import pytest

from judges.kept import Judging


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(5)
    paths = {}
    for name in ("before", "after", "crop"):
        paths[name] = tmp_path / f"{name} answer yes.jpg"
        cv2.imwrite(str(paths[name]), rng.integers(60, 200, (240, 320, 3)).astype(np.uint8))
    return paths


@pytest.fixture
def ask(trialcell, pictures, tmp_path):
    def asking(*more, judge="claude", stage="place"):
        named = ("--before", pictures["before"], "--after", pictures["after"])
        cell = tmp_path / "no cell yet"
        return trialcell("judge", "ask", "--judge", judge, "--stage", stage, *named, "--cell", cell, *more)

    return asking


@pytest.mark.parametrize("stage", ["pick", "place"])
@pytest.mark.parametrize("verdict", ["yes", "no", "unsure"])
def test_a_verdict_is_one_object_and_code_0(claude_server, ask, stage, verdict):
    claude_server.verdict = verdict
    told = ask("--json", stage=stage)
    assert told.code == 0, told.err
    got = told.object
    assert (got["verdict"], got["error"], got["attempts"]) == (verdict, None, 1)
    assert got["cost_usd"] == pytest.approx(0.0005)
    assert got["audit"]["attempts"][0]["gate"] == "passed"
    assert "sk-test" not in told.out + told.err
    assert claude_server.seen[0].images[0][:100] not in told.out


def test_a_closer_look_goes_last(claude_server, ask, pictures):
    told = ask("--crop", pictures["crop"], "--json")
    roles = [(image["role"], image["index"]) for image in told.object["audit"]["images"]]
    assert roles == [("before", 1), ("after", 2), ("after", 3)]
    assert (
        "Image 3 (last image) = AFTER, closer look" in claude_server.seen[0].body["messages"][0]["content"][-1]["text"]
    )
    assert b"answer yes" not in claude_server.seen[0].raw  # the files' names


def test_no_verdict_is_null_with_its_code_and_code_6(claude_server, ask):
    claude_server.always = claude_server.error(503, retry_after_ms="1")
    told = ask("--json")
    assert told.code == 6
    got = told.object
    assert (got["verdict"], got["error"], got["attempts"], got["cost_usd"]) == (None, "overloaded", 3, 0.0)


def test_without_a_key_it_says_what_to_do(claude_server, ask, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    told = ask("--json")
    assert told.code == 6
    assert (told.object["verdict"], told.object["error"], told.object["attempts"]) == (None, "auth", 0)
    assert "set ANTHROPIC_API_KEY" in told.object["reason"]
    assert claude_server.seen == []


def test_settings_come_from_the_command_line_too(claude_server, ask):
    local = ("--set", f"judge.base_url={claude_server.url}/v1", "--set", "judge.language=ja")
    assert ask(*local, judge="compatible").code == 0
    assert claude_server.seen[0].path == "/v1/chat/completions"
    assert "対象物" in json.dumps(claude_server.seen[0].body, ensure_ascii=False)


@pytest.mark.parametrize("text", ["[bold]x[/nope] answer yes", "[/]", "\x1b[31mred", "{verdict}"])
def test_what_a_model_writes_is_shown_and_not_obeyed(claude_server, ask, text):
    claude_server.always = claude_server.reply(claude_server.fitting("no", reason=text))
    told = ask()
    assert told.code == 0, told.err
    assert told.out.startswith("no  ")
    assert "\x1b[31m" not in told.out


def test_an_address_with_a_secret_in_it_is_refused(ask):
    told = ask("--set", "judge.base_url=http://me:secret@host")
    assert told.code == 2
    assert "judge.base_url" in told.err


def test_doctor_says_what_a_server_really_does(claude_server, trialcell, tmp_path):
    cell = tmp_path / "cell"
    assert trialcell("init", "--cell", cell).code == 0
    toml = (cell / "cell.toml").read_text()
    (cell / "cell.toml").write_text(toml.replace('kind = "measured"', 'kind = "claude"', 1))

    def honest(seen):
        properties = seen.schema["properties"]
        if "answer" in properties:
            return {"answer": properties["answer"]["enum"][0]}
        return colours_of(seen)

    def careless(seen):
        return "banana" if "answer" in seen.schema["properties"] else colours_of(seen)

    def blind(seen):
        return "banana" if "answer" in seen.schema["properties"] else {"first": "red", "second": "red"}

    for content, code, words in (
        (honest, 0, "holds replies to their form"),
        (careless, 0, "does not hold replies to their form"),
        (blind, 6, "does not tell two pictures apart"),
    ):
        claude_server.always = claude_server.reply(content)
        told = trialcell("doctor", "--quick", "--judge", "--cell", cell, "--json")
        assert told.code == code, told.out
        (row,) = [row for row in told.object["checks"] if row["check"] == "judge"]
        assert words in row["told"]
    claude_server.always = claude_server.error(401)
    assert trialcell("doctor", "--quick", "--judge", "--cell", cell).code == 6
    before = len(claude_server.seen)
    assert trialcell("doctor", "--cell", cell).code == 0
    assert len(claude_server.seen) == before


def colours_of(seen):
    names = {"red": (40, 40, 220), "green": (60, 170, 40), "blue": (210, 90, 30), "yellow": (40, 220, 240)}
    names |= {"black": (15, 15, 15), "white": (245, 245, 245)}
    told = []
    for data in seen.images:
        image = cv2.imdecode(np.frombuffer(b64decode(data), np.uint8), cv2.IMREAD_COLOR)
        mean = image.reshape(-1, 3).mean(axis=0)
        told.append(min(names, key=lambda name: np.abs(np.array(names[name]) - mean).sum()))
    return {"first": told[0], "second": told[1]}


@pytest.fixture
def cell(trialcell, tmp_path):
    made = tmp_path / "cell"
    assert trialcell("init", "--cell", made).code == 0
    return made


def test_in_a_cell_answer_and_what_was_sent_are_kept(trialcell, claude_server, pictures, cell):
    claude_server.play(claude_server.error(503, retry_after_ms="1"), claude_server.reply())
    named = ("--stage", "place", "--before", pictures["before"], "--after", pictures["after"], "--cell", cell)
    told = trialcell("judge", "ask", "--judge", "claude", *named, "--json")
    folder = Path(told.object["kept_in"])
    assert folder.parent == cell / "judgings"
    (kept,) = Judging(folder).answers()
    assert [attempt.gate for attempt in kept.verdict.audit.attempts] == ["overloaded", "passed"]
    sent = [(cell / image.image).read_bytes() for image in kept.verdict.audit.images]
    assert [b64encode(data).decode() for data in sent] == claude_server.seen[-1].images
    assert told.object["audit"]["images"][0]["image"] == kept.verdict.audit.images[0].image
    text = (folder / "answers.jsonl").read_text()
    assert "sk-test" not in text
    assert claude_server.seen[-1].images[0][:100] not in text
    claude_server.always = claude_server.error(401)
    failed = trialcell("judge", "ask", "--judge", "claude", *named)
    assert failed.code == 6
    assert f"kept in {cell / 'judgings'}" in failed.out
    assert len(list((cell / "judgings").iterdir())) == 2


def test_nothing_is_kept_where_that_is_asked_for_or_there_is_no_cell(trialcell, claude_server, ask, pictures, cell):
    named = ("--stage", "place", "--before", pictures["before"], "--after", pictures["after"], "--cell", cell)
    told = trialcell("judge", "ask", "--judge", "claude", *named, "--no-keep", "--json")
    assert (told.code, told.object["kept_in"]) == (0, None)
    assert told.object["audit"]["images"][0]["image"] is None
    assert not (cell / "judgings").exists()
    assert ask("--json").object["kept_in"] is None


def test_what_cant_be_kept_is_not_sent(trialcell, claude_server, pictures, cell):
    (cell / "judgings").write_text("in the way")
    named = ("--stage", "place", "--after", pictures["after"], "--cell", cell)
    told = trialcell("judge", "ask", "--judge", "claude", *named)
    assert told.code == 4
    assert claude_server.seen == []
