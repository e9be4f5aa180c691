"""The corrections' page: what a table says now, and what its history changed between two moments."""

from __future__ import annotations

import pytest

from runner.review.corrections import body, learned
from runs.corrections.file import CorrectionFile
from runs.corrections.history import PersonsWord
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo, Lesson
from runs.report.markup import tag


@pytest.fixture
def taught(tmp_path):
    """A cell with four lessons in one square and one in another, and a model that a person has promoted."""
    file = CorrectionFile(tmp_path)
    belongs = BelongsTo(calibration_hash="a" * 64, table_hash="b" * 64, profile="field")
    for n, (xz, off) in enumerate([((0.1, 0.2), (1.0, 2.0))] * 4 + [((0.2, 0.2), (5.0, 0.0))]):
        run_id, at = f"run_000{n}_20260701_000000", f"2026-07-01T00:00:0{n}Z"
        file.learn(belongs, Lesson.of("pick", xz, off, run_id=run_id, at=at))
    file.propose(belongs, RuleSettings(rule="field"), by="trialcell corrections propose")
    file.promote(belongs, PersonsWord(by="Maya", reason="measured <b>twice</b>"), by="Maya")
    return tmp_path


def test_what_stands_is_told_with_its_grounds_and_its_history(taught):
    html = tag("div", body(learned(taught), 0, None, None, None))
    assert "field rule from 5 lessons" in html
    assert "on the word of Maya: measured &lt;b&gt;twice&lt;/b&gt;" in html
    assert 'href="/run/0/run_0003_20260701_000000"' in html
    assert "correction (+1.0, +2.0) mm" in html


def test_what_changed_between_two_moments_is_told(taught):
    html = tag("div", body(learned(taught), 0, None, 2, 5))
    assert "From line 2 to line 5 of 7 lines of the history: 3 changes." in html
    assert "+1.0, +2.0 mm, n = 2, not applied" in html
    assert "pick_x200_z200" in html
    live = tag("div", body(learned(taught), 0, None, 5, None))
    assert "to now of 7 lines" in live
    assert "+1.0, +2.0 mm, n = 4<" in live
    same = tag("div", body(learned(taught), 0, "nonsense", 5, 5))
    assert "No square did." in same
    beyond = tag("div", body(learned(taught), 0, None, 99, 1))
    assert "From line 1 to line 1" in beyond


def test_a_page_of_it_is_served(serve, taught):
    answer = serve(taught).open().ask("/corrections?from=0&to=3")
    assert answer.status == 200
    assert "7 lines of the history" in answer.text


def test_a_damaged_file_is_named_and_nothing_else_breaks(serve, taught):
    (taught / "corrections.json").write_text("{")
    served = serve(taught).open()
    page = served.ask("/corrections")
    assert page.status == 500
    assert "is not a correction table" in page.text
    assert served.ask("/").status == 200
