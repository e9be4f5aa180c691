"""stdout is for the answer: with --json one object, whatever anybody prints meanwhile."""

from __future__ import annotations

import json

import pytest
from rich.text import Text

from runner.cli.output import Output, claimed_stdout, write_object


def test_prints_of_others_go_to_stderr_while_stdout_is_claimed(capsys):
    with claimed_stdout(True):
        print("a library says hello")
        write_object({"answer": 42})
    told = capsys.readouterr()
    assert json.loads(told.out) == {"answer": 42}
    assert told.err == "a library says hello\n"


def test_for_a_program_the_object_is_on_one_line(capsys):
    write_object({"answer": [1, 2], "text": "−3 mm"})
    assert capsys.readouterr().out == '{"answer": [1, 2], "text": "−3 mm"}\n'


def test_people_get_the_renderables_and_programs_the_object(capsys):
    Output(as_json=False).answer({"n": 1}, "for people")
    assert capsys.readouterr().out == "for people\n"
    Output(as_json=True).answer({"n": 1}, "for people")
    assert json.loads(capsys.readouterr().out) == {"n": 1}


def test_remarks_never_reach_stdout(capsys):
    Output(as_json=False).aside.print("working")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "working\n")


def test_a_figure_that_json_has_no_word_for_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="JSON"):
        write_object({"x": float("nan")})


def test_a_command_answers_once():
    out = Output(as_json=True)
    out.answer({})
    with pytest.raises(AssertionError):
        out.answer({})


def test_a_text_that_must_not_be_broken_is_one_line_whatever_the_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    command = "trialcell runs show run_0001_20260703_132310 --cell /a/long/path/to/a/cell"
    Output(as_json=False).answer({}, Text(command, no_wrap=True), Text(command))
    first, *broken = capsys.readouterr().out.splitlines()
    assert first == command
    assert len(broken) > 1
