"""Errors as sentences, objects and exit codes; no traceback for a user's mistake."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import get_args

import pytest

import judges
import runner
import runs
import vision
from runner.cli import failures
from runs.errors import CellBusy, Family, NewerThanUs, NotARunLog, RunNotFound, StorageUnwritable, TrialcellError
from runs.schema.run import RunLog


def every_error_of_ours():
    for package in (runs, vision, judges, runner):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("errors") or module.name == "runner.config":
                for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                    if issubclass(found, TrialcellError):
                        yield found


def test_every_family_has_an_exit_code():
    assert set(failures.EXIT_CODE_OF_FAMILY) == set(get_args(Family))


def test_every_error_of_ours_is_of_a_known_family():
    assert {
        error.__name__: error.family for error in every_error_of_ours() if error.family not in get_args(Family)
    } == {}


def test_every_result_of_a_trial_has_an_exit_code():
    results = get_args(get_args(RunLog.model_fields["result"].annotation)[0])
    assert set(failures.EXIT_CODE_OF_RESULT) == set(results)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunNotFound("9", Path("runs")), 2),
        (NotARunLog("x.json", "it is empty"), 3),
        (NewerThanUs("x.json", 2, 1), 3),
        (StorageUnwritable(Path("runs"), "no space left on device"), 4),
        (CellBusy(Path("cell"), pid=7, host="bench", since="now", command="trialcell run"), 5),
        (TrialcellError("something went wrong"), 1),
        (KeyboardInterrupt(), 130),
        (failures.Interrupted(), 130),
        (ZeroDivisionError(), 1),
    ],
)
def test_errors_have_the_exit_code_of_their_family(error, code):
    assert failures.explain(error).exit_code == code


def test_an_error_keeps_its_facts_for_programs():
    error = CellBusy(Path("cell"), pid=7, host="bench", since="2026-08-01T10:00:00Z", command="trialcell run")
    told = failures.as_object(failures.explain(error))["error"]
    assert told["type"] == "CellBusy"
    assert told["family"] == "busy"
    assert told["facts"]["pid"] == 7
    assert told["facts"]["cell"] == "cell"
    assert told["next_step"] == "wait for it, or stop it: trialcell stop"


def test_people_are_told_the_sentence_and_the_next_step(capsys):
    failures.tell(failures.explain(RunNotFound("[red]9", Path("runs"))))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "✗ no run '[red]9' in runs\n  → list them with: trialcell runs list\n"


def test_words_of_others_in_an_error_drive_no_terminal(capsys):
    by = "trialcell mcp, for x\x1b]0;y\x07"
    failures.tell(failures.explain(CellBusy(Path("cell"), pid=7, host="bench", since="now", command=by)))
    told = capsys.readouterr().err
    assert "for x" in told
    assert "\x1b" not in told
    assert "\x07" not in told


def test_a_users_mistake_has_no_traceback():
    assert failures.explain(NotARunLog("x.json", "it is empty")).bug is None
    assert "ZeroDivisionError" in (failures.explain(ZeroDivisionError("x")).bug or "")
