"""`trialcell twin shuttle` at the command line."""

from __future__ import annotations

import pytest


def test_shuttle_says_how_near_each_visit_came(trialcell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = trialcell("twin", "shuttle", "--visits", 1, "--json")
    assert told.code == 0
    found = told.object
    assert found["good"] is True
    assert len(found["visits"]) == 1
    assert found["worst_mm"] <= 5.0
    assert found["gains_unchanged"] is True
    assert not list(tmp_path.iterdir()), "it needs no cell and makes none"


@pytest.mark.slow
def test_shuttle_fails_where_a_visit_stayed_away(trialcell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = trialcell("twin", "shuttle", "--visits", 1, "--profile", "field")
    assert told.code == 1
    assert "✗" in told.out
    assert "0 of 1 visits within 5 mm" in told.out


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--gain", 0), "--gain"),
        (("--gain", "nan"), "--gain"),
        (("--visits", 0), "--visits"),
        (("--a", 50, 160, 180), "give metres, not mm"),
        (("--a", "nan", 0.1, 0.2), "finite"),
        (("--a", 0.04, 0.16, 0.18, "--b", 0.04, 0.18, 0.16), "apart"),
        (("--set", "twin.profil=field"), "did you mean"),
    ],
)
def test_shuttle_refuses_in_a_sentence_what_it_cannot_do(trialcell, tmp_path, monkeypatch, args, word):
    monkeypatch.chdir(tmp_path)
    told = trialcell("twin", "shuttle", *args)
    assert told.code == 2
    assert word in told.err
    assert "Traceback" not in told.err
