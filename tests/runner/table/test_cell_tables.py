"""The tables of a cell folder: made when missing, kept when there."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config import Config
from runner.table.cell_tables import open_tables
from runner.table.errors import BadTableFile, WrongTable


def test_a_second_opening_makes_nothing_and_finds_the_same(cell_folder: Path, config: Config) -> None:
    said: list[str] = []
    before = {p: p.stat().st_mtime_ns for p in cell_folder.rglob("*") if p.is_file()}
    first, second = (open_tables(cell_folder, config, lambda share, what: said.append(what)) for _ in range(2))
    assert said == []
    assert first.reach.content_hash == second.reach.content_hash
    assert first.approach_pick.sha256 == second.approach_pick.sha256
    assert {p: p.stat().st_mtime_ns for p in cell_folder.rglob("*") if p.is_file()} == before


def test_a_missing_grid_is_made_again_with_progress_that_only_rises(
    cell_folder: Path, config: Config, tmp_path: Path
) -> None:
    (tmp_path / "reach.parquet").hardlink_to(cell_folder / "reach.parquet")
    shares: list[float] = []
    made = open_tables(tmp_path, config, lambda share, what: shares.append(share))
    assert shares == sorted(shares)
    assert (tmp_path / "approach" / "pick.json").exists()
    assert made.approach_pick.content.phase == "approach_pick"


def test_tables_of_another_tool_are_refused_and_left_alone(cell_folder: Path, config: Config) -> None:
    other = config.model_copy(update={"arm": config.arm.model_copy(update={"tcp_mm": (0.0, 0.0, 95.0)})})
    before = (cell_folder / "approach" / "pick.json").read_bytes()
    with pytest.raises(WrongTable):
        open_tables(cell_folder, other)
    assert (cell_folder / "approach" / "pick.json").read_bytes() == before


def test_a_table_that_is_cut_off_is_refused_not_remade(cell_folder: Path, config: Config, tmp_path: Path) -> None:
    (tmp_path / "approach").mkdir()
    for name in ("approach/pick.json", "approach/place.json"):
        (tmp_path / name).write_bytes((cell_folder / name).read_bytes())
    (tmp_path / "reach.parquet").write_bytes((cell_folder / "reach.parquet").read_bytes()[:5000])
    with pytest.raises(BadTableFile):
        open_tables(tmp_path, config)
    assert (tmp_path / "reach.parquet").stat().st_size == 5000
