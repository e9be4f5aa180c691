"""The frame of the command line: help, nouns, exit codes, one object with --json, instant."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.cli import main
from runner.cli.main import NOUNS, command

ROOT = Path(__file__).resolve().parents[3]
HELP = "import sys; sys.argv = ['trialcell', '--help']\nfrom runner.cli.main import main\nmain()"


def test_help_names_every_noun_under_its_heading(trialcell):
    told = trialcell("--help")
    assert told.code == 0
    for noun in NOUNS:
        assert f"  {noun.name}" in told.out
        assert noun.help in told.out
        assert f"{noun.heading}:" in told.out


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
def test_every_noun_has_help_with_an_example(trialcell, noun):
    if importlib.util.find_spec(noun.module) is None:
        pytest.skip(f"{noun.module} is not written yet")
    told = trialcell(noun.name, "--help")
    assert told.code == 0, told.err
    assert told.out.startswith(f"Usage: trialcell {noun.name}")
    assert "Example: trialcell" in told.out


def test_a_command_alone_shows_its_help_and_is_no_success(trialcell):
    for args in ((), ("runs",)):
        told = trialcell(*args)
        assert told.code == 2
        assert told.out.startswith("Usage: trialcell")


def test_the_version_is_said(trialcell):
    assert trialcell("--version").out.startswith("trialcell 0.")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rnus",), "No such command 'rnus'. Did you mean 'runs'"),
        (("runs", "shwo"), "No such command 'shwo'. Did you mean 'show'"),
        (("runs", "list", "--lats", "3"), "No such option: --lats"),
        (("runs", "list", "--last", "x"), "Invalid value for '--last'"),
        (("runs", "show"), "Missing argument"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(trialcell, args, message):
    told = trialcell(*args)
    assert told.code == 2
    assert told.out == ""
    first, second = told.err.strip().splitlines()
    assert message in first
    assert "--help" in second
    as_object = trialcell(*args, "--json")
    assert as_object.code == 2
    assert message in as_object.object["error"]["message"]


def test_nothing_heavy_is_loaded_for_help():
    code = HELP.replace("main()", "") + (
        "\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'cv2', 'mujoco', 'anthropic', 'pydantic', 'scipy', 'pyarrow', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_help_takes_at_most_three_times_as_long_as_importing_typer():
    def fastest_s(code):
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
            taken.append(time.perf_counter() - began)
        return min(taken)

    assert fastest_s(HELP) <= 3 * fastest_s("import typer")


def test_ctrl_c_in_a_command_that_makes_nothing_of_it_is_130(trialcell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("runs.index.questions.ManyRuns.listed", interrupted)
    told = trialcell("runs", "list")
    assert told.code == 130
    assert "stopped by you" in told.err
    assert trialcell("runs", "list", "--json").object["error"]["exit_code"] == 130


def test_a_mistake_of_ours_shows_its_traceback_and_one_sentence(trialcell, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("runs.index.questions.ManyRuns.listed", broken)
    told = trialcell("runs", "list")
    assert told.code == 1
    assert "Traceback" in told.err
    assert "trialcell made a mistake: ZeroDivisionError: by nothing" in told.err
    assert trialcell("runs", "list", "--json").object["error"]["family"] == "bug"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    script = tmp_path / "schema.py"
    script.write_text(HELP.replace("'--help'", "'runs', 'schema'"))
    piped = f"{sys.executable} {script} | head -c 10"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(piped, shell=True, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout == '{\n  "$schem'[:10]
    assert done.stderr == ""


def test_the_installed_command_is_this_one():
    with (ROOT / "pyproject.toml").open("rb") as file:
        import tomllib

        assert tomllib.load(file)["project"]["scripts"]["trialcell"] == "runner.cli.main:main"
    assert callable(main.main)


def test_completion_knows_the_nouns():
    group = command()
    assert list(group.commands) == [noun.name for noun in NOUNS]
