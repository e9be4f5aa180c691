"""Answers kept in a cell: whole, in order, to be carried on with, and what was sent beside them."""

from __future__ import annotations

import hashlib

import pytest

from judges.kept import ANSWERS_FILE, judging_named, new_judging
from runs.errors import AppendedUnreadable, StorageUnwritable
from runs.schema.verdict import JudgeAudit, Verdict


def verdict(word):
    return Verdict(stage="place", verdict=word, reason="as seen", audit=JudgeAudit(judge="claude"))


def test_answers_come_back_in_order_with_their_time(tmp_path):
    judging = new_judging(tmp_path)
    assert judging.folder.parent == tmp_path / "judgings"
    for word in ("yes", "no"):
        judging.add("a step", verdict(word))
    assert [kept.verdict.verdict for kept in judging.answers()] == ["yes", "no"]
    assert all(kept.at == kept.verdict.at for kept in judging.answers())


def test_two_askings_at_one_moment_have_a_folder_each(tmp_path):
    folders = {new_judging(tmp_path).folder for _ in range(5)}
    assert len(folders) == 5


def test_an_asking_is_carried_on_with_what_has_a_word(tmp_path):
    first = judging_named(tmp_path, "calibrate_1")
    first.add("a", verdict(None), key="k")
    first.add("a", verdict("no"), key="k")
    first.add("a", verdict("yes"), repeat=1, key="k")
    first.add("b", verdict(None), key="k")
    first.add("c", verdict("yes"), key="another judge")
    found = judging_named(tmp_path, "calibrate_1").answered("k")
    assert {place: one.verdict for place, one in found.items()} == {("a", 0): "no", ("a", 1): "yes"}


def test_a_torn_line_is_forgotten_and_a_damaged_one_is_told(tmp_path):
    judging = judging_named(tmp_path, "x")
    judging.add("a", verdict("no"))
    with (judging.folder / ANSWERS_FILE).open("ab") as file:
        file.write(b'{"id": "b", ')
    assert len(judging.answers()) == 1
    judging.add("b", verdict("yes"))
    assert [kept.id for kept in judging.answers()] == ["a", "b"]
    judging.path.write_bytes(b"{}\n" + judging.path.read_bytes())
    with pytest.raises(AppendedUnreadable, match="line 1"):
        judging.answers()


def test_pictures_are_kept_once_and_found_from_the_cell(tmp_path):
    judging = new_judging(tmp_path)
    where = {judging.keep("place_sent_1", b"jpeg", 4, 3) for _ in range(2)}
    (image,) = where
    assert (tmp_path / image).read_bytes() == b"jpeg"
    assert hashlib.sha256(b"jpeg").hexdigest()[:12] in image


def test_a_folder_that_cant_be_made_is_told(tmp_path):
    (tmp_path / "judgings").write_text("in the way")
    for make in (new_judging, lambda cell: judging_named(cell, "x")):
        with pytest.raises(StorageUnwritable):
            make(tmp_path)
