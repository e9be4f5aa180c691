"""The word of a person that the jaws are empty: it counts for runs begun before it, and only for those."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runs.emptied import EMPTIED_FILE, emptied_since, note_emptied
from runs.errors import StorageUnwritable
from runs.store import run_name


def test_it_counts_for_what_began_before(tmp_path):
    now = datetime.now(UTC)
    before, after = run_name(1, now - timedelta(minutes=1)), run_name(2, now + timedelta(minutes=1))
    assert not emptied_since(tmp_path, before)
    note_emptied(tmp_path)
    assert emptied_since(tmp_path, before)
    assert not emptied_since(tmp_path, after)


@pytest.mark.parametrize("text", ["", "{", '{"at": "yesterday"}', '{"at": "2030-01-01T00:00:00Z", "by": "x"}'])
def test_what_can_t_be_read_is_nobodys_word(tmp_path, text):
    (tmp_path / EMPTIED_FILE).write_text(text)
    assert not emptied_since(tmp_path, run_name(1, datetime.now(UTC)))


def test_a_folder_that_can_t_be_written_is_told(tmp_path):
    (tmp_path / "cell").write_text("")
    with pytest.raises(StorageUnwritable):
        note_emptied(tmp_path / "cell")
