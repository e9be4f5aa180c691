"""One process a cell: the second is told who has it, the dead keep nothing."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from runs.errors import CellBusy, StorageUnwritable
from runs.lock import HOLDER_FILE, CellLock

HOLDS_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from runs.lock import CellLock
with CellLock(Path(sys.argv[1]), command="trialcell run --seed 7"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_has_the_cell(tmp_path, child):
    process = child(HOLDS_UNTIL_KILLED, str(tmp_path))
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(CellBusy) as caught, CellLock(tmp_path):
        pass
    assert caught.value.pid == process.pid
    assert caught.value.host == socket.gethostname()
    assert caught.value.command == "trialcell run --seed 7"
    assert f"in use by process {process.pid} on" in caught.value.message
    assert caught.value.family == "busy"


def test_a_holder_that_was_killed_keeps_nothing(tmp_path, child):
    process = child(HOLDS_UNTIL_KILLED, str(tmp_path))
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    assert (tmp_path / HOLDER_FILE).exists()  # its note is still there and decides nothing
    with CellLock(tmp_path, command="mine"):
        assert str(os.getpid()) in (tmp_path / HOLDER_FILE).read_text()


def test_a_second_lock_in_the_same_process_is_refused_too(tmp_path):
    with CellLock(tmp_path), pytest.raises(CellBusy), CellLock(tmp_path):
        pass


def test_a_refused_lock_takes_nothing_from_the_holder(tmp_path):
    with CellLock(tmp_path):
        for _ in range(2):
            with pytest.raises(CellBusy), CellLock(tmp_path):
                pass
        assert (tmp_path / HOLDER_FILE).exists()


def test_a_cell_let_go_is_free_again_from_any_thread(tmp_path):
    lock = CellLock(tmp_path)
    lock.__enter__()
    thread = threading.Thread(target=lock.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert not (tmp_path / HOLDER_FILE).exists()
    with CellLock(tmp_path):
        pass


def test_an_error_inside_lets_the_cell_go(tmp_path):
    with pytest.raises(RuntimeError), CellLock(tmp_path):
        raise RuntimeError
    with CellLock(tmp_path):
        pass


def test_a_holder_whose_note_is_damaged_is_another_process(tmp_path):
    with CellLock(tmp_path):
        (tmp_path / HOLDER_FILE).write_text("{")
        with pytest.raises(CellBusy, match="in use by another process"), CellLock(tmp_path):
            pass


def test_the_cells_folder_is_made_on_first_use(tmp_path):
    with CellLock(tmp_path / "new" / "cell"):
        assert (tmp_path / "new" / "cell").is_dir()


def test_a_cell_that_can_not_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnwritable), CellLock(tmp_path / "file" / "cell"):
        pass
