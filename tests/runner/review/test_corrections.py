"""The corrections' page: what a table says now, and what its history changed between two moments."""

from __future__ import annotations

import pytest

from runner.review.corrections import body, learned, state_after
from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo
from runs.report.markup import tag


@pytest.fixture
def taught(tmp_path):
    """A cell whose table got four lessons in one square and one in another."""
    file = CorrectionFile(tmp_path)
    belongs = BelongsTo(calibration_hash="a" * 64, table_hash="b" * 64, profile="field")
    for n, (xz, off) in enumerate([((0.1, 0.2), (1.0, 2.0))] * 4 + [((0.2, 0.2), (5.0, 0.0))]):
        before = file.load(belongs)
        after, change = before.learn("pick", xz, off, run_id=f"run_000{n}_20260701_000000", at="2026-07-01T00:00:00Z")
        file.save(before, after, change, run_id=f"run_000{n}_20260701_000000")
    return tmp_path


def test_history_played_again_is_the_table(taught):
    found = learned(taught)
    (key,) = found.belongs_to
    assert state_after(found.history[key], 5) == found.now[key]
    assert state_after(found.history[key], 2) == {"pick_x100_z200": (1.0, 2.0, 2)}


def test_what_changed_between_two_moments_is_told(taught):
    html = tag("div", body(learned(taught), 0, None, 2, 5))
    assert "From line 2 to now of 5 lines of its history: 3 lessons." in html
    assert "+1.0, +2.0 mm, n = 2" in html
    assert "applied from now on" in html
    assert "pick_x200_z200" in html
    same = tag("div", body(learned(taught), 0, "nonsense", 5, 5))
    assert "Nothing did." in same
    beyond = tag("div", body(learned(taught), 0, None, 99, 1))
    assert "From line 1 to line 1" in beyond


def test_a_page_of_it_is_served(serve, taught):
    answer = serve(taught).open().ask("/corrections?from=0&to=3")
    assert answer.status == 200
    assert "5 lines of its history" in answer.text


def test_a_damaged_file_is_named_and_nothing_else_breaks(serve, taught):
    (taught / "corrections.json").write_text("{")
    served = serve(taught).open()
    page = served.ask("/corrections")
    assert page.status == 500
    assert "is not a correction table" in page.text
    assert served.ask("/").status == 200
