"""Opening: an index is taken only for the very table, cell and limits that it was made from, else made anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cell import open_cell
from runner.config import Config
from runner.table import opening
from runner.table.errors import BadTableFile, NoTableYet, WrongTable
from runner.table.format import write_table
from runner.table.known import known_table
from runner.table.merge import merge
from runner.table.opening import OpenTable, open_table, remember_settings
from runner.table.query import Query
from runner.table.rows import ReachTable, make_table
from runner.table.stamp import index_file, note_file, read_note

ASK = Query((0.15, 0.15), (0.0, 0.3), 0.1)


@pytest.fixture
def path(tmp_path: Path, small_table: ReachTable) -> Path:
    path = tmp_path / "reach.parquet"
    write_table(path, small_table)
    return path


def half_of(table: ReachTable) -> ReachTable:
    batch = table.batches[0].model_copy(update={"rows": 1000})
    return make_table(table.columns[:3, ::2].T, table.joints_deg[:, ::2].T, table.cell, [batch])


def test_the_second_opening_maps_what_the_first_one_made(path: Path, config: Config, small_table: ReachTable) -> None:
    first = open_table(path, config)
    assert (first.made, first.saved, first.content_hash) == (True, True, small_table.content_hash)
    second = open_table(path, config)
    assert (second.made, second.content_hash) == (False, small_table.content_hash)
    assert second.lookup().find(ASK, count=True) == first.lookup().find(ASK, count=True)


def test_a_replaced_table_gets_an_index_of_its_own(path: Path, config: Config, small_table: ReachTable) -> None:
    open_table(path, config)
    write_table(path, half_of(small_table))
    opened = open_table(path, config)
    assert opened.made
    assert len(opened.lookup()) == 1000


def test_the_same_bytes_under_another_stamp_are_known_again(path: Path, config: Config, tmp_path: Path) -> None:
    open_table(path, config)
    shutil.copytree(tmp_path, tmp_path / "moved", ignore=shutil.ignore_patterns("moved"))
    moved = tmp_path / "moved" / path.name
    before = read_note(moved)
    assert not open_table(moved, config).made
    after = read_note(moved)
    assert before is not None
    assert after is not None
    assert after.stamp != before.stamp
    assert after.sha256 == before.sha256


def test_bytes_changed_in_place_are_noticed_whatever_the_time_says(
    path: Path, config: Config, small_table: ReachTable, tmp_path: Path
) -> None:
    open_table(path, config)
    stat = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(BadTableFile):
        open_table(path, config)


@pytest.mark.parametrize("change", [{"j1_safe_max_deg": 50.0}, {"limit_margin_deg": 9.0}])
def test_other_limits_make_another_index(path: Path, config: Config, change: dict[str, float]) -> None:
    open_table(path, config)
    other = config.model_copy(update={"arm": config.arm.model_copy(update=change)})
    opened = open_table(path, other)
    assert opened.made
    assert opened.lookup().counts(ASK)["j1_safe_max"] < len(opened.lookup())
    assert open_table(path, config).made


def test_another_cells_table_is_refused_with_an_index_or_without(path: Path, config: Config) -> None:
    other = config.model_copy(update={"arm": config.arm.model_copy(update={"tool_roll_deg": 1.0})})
    for _ in range(2):
        with pytest.raises(WrongTable, match="tool roll deg"):
            open_table(path, other)
        open_table(path, config)


@pytest.mark.parametrize("which", [index_file, note_file])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"cut"])
def test_a_lost_or_broken_index_or_note_is_made_again(path: Path, config: Config, which, content) -> None:  # type: ignore[no-untyped-def]
    open_table(path, config)
    if content is None:
        which(path).unlink()
    else:
        which(path).write_bytes(content)
    assert open_table(path, config).made
    assert not open_table(path, config).made


def test_an_index_of_another_table_is_not_taken(
    path: Path, config: Config, small_table: ReachTable, tmp_path: Path
) -> None:
    open_table(path, config)
    foreign = tmp_path / "other" / "reach.parquet"
    write_table(foreign, half_of(small_table))
    open_table(foreign, config)
    shutil.copy(index_file(foreign), index_file(path))
    assert open_table(path, config).made


def test_where_nothing_can_be_saved_it_is_made_in_memory(
    path: Path, config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opening, "index_file", lambda p: tmp_path / "no" / "such" / "folder.index")
    for _ in range(2):
        opened = open_table(path, config)
        assert (opened.made, opened.saved) == (True, False)
        assert opened.lookup().find(ASK).ok


def test_no_table_is_said(tmp_path: Path, config: Config) -> None:
    with pytest.raises(NoTableYet):
        open_table(tmp_path / "reach.parquet", config)


def test_a_merge_makes_the_old_index_stale(path: Path, config: Config, small_table: ReachTable, tmp_path: Path) -> None:
    write_table(path, half_of(small_table))
    open_table(path, config)
    write_table(path, merge(half_of(small_table), [small_table]).table)
    opened = open_table(path, config)
    assert opened.made
    assert len(opened.lookup()) == 2000


OPEN = """
import sys
from pathlib import Path
from runner.config import Config
from runner.table.opening import open_table
from runner.table.query import Query
opened = open_table(Path(sys.argv[1]), Config())
print(opened.content_hash, opened.lookup(compiled=False).find(Query((0.15, 0.15), (0.0, 0.3), 0.1)).selected_idx)
"""


def test_two_processes_make_the_index_at_once_and_both_answer(
    path: Path, config: Config, small_table: ReachTable
) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[0].split() for process in both]
    row = open_table(path, config).lookup().find(ASK).selected_idx
    assert told == [[small_table.content_hash, str(row)]] * 2


@pytest.fixture
def remembered(tmp_path: Path, small_table: ReachTable) -> tuple[Path, Path, OpenTable]:
    cell = open_cell(tmp_path / "cell")
    write_table(cell.table_file, small_table)
    opened = open_table(cell.table_file, cell.config)
    settings = cell.folder / "cell.toml"
    assert known_table(cell.table_file, settings) is None
    remember_settings(cell.table_file, opened, cell.config)
    return cell.table_file, settings, opened


def test_settings_that_were_noted_needn_t_be_read_again(remembered: tuple[Path, Path, OpenTable]) -> None:
    table, settings, opened = remembered
    known = known_table(table, settings)
    assert known is not None
    assert known.settings.place_band_y_m == (0.07, 0.1)
    assert known.lookup.find(ASK, count=True) == opened.lookup().find(ASK, count=True)


def test_a_change_of_settings_table_or_index_ends_that(
    remembered: tuple[Path, Path, OpenTable], small_table: ReachTable
) -> None:
    table, settings, _ = remembered
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text + "\n# a word\n", encoding="utf-8")
    assert known_table(table, settings) is None
    settings.write_text(text, encoding="utf-8")
    assert known_table(table, settings) is not None
    index = index_file(table).read_bytes()
    index_file(table).write_bytes(index[:-1])
    assert known_table(table, settings) is None
    index_file(table).write_bytes(index)
    write_table(table, half_of(small_table))
    assert known_table(table, settings) is None


def test_settings_laid_over_the_file_are_not_taken_for_the_files(remembered: tuple[Path, Path, OpenTable]) -> None:
    table, settings, _ = remembered
    plain = open_cell(settings.parent).config
    open_table(table, plain.model_copy(update={"arm": plain.arm.model_copy(update={"j1_safe_max_deg": 40.0})}))
    assert known_table(table, settings) is None
