"""Folders of synthetic runs, made by the generator that ships under benchmarks/."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runs.index.scan import row_and_stamp


@pytest.fixture(scope="session")
def made_once(generator, tmp_path_factory) -> Path:
    cell = tmp_path_factory.mktemp("made") / "bench"
    generator.make_runs(cell / "runs", 120)
    return cell


@pytest.fixture
def made(made_once, tmp_path) -> Path:
    """A cell with 120 runs, to do with as you like."""
    return Path(shutil.copytree(made_once, tmp_path / "bench"))


@pytest.fixture
def row_at() -> Callable[[Path], dict[str, Any]]:
    """The row of one run's folder."""

    def made_of(folder: Path) -> dict[str, Any]:
        fd = os.open(folder.parent, os.O_RDONLY)
        try:
            return row_and_stamp(folder.parent, folder.name, fd)[0]
        finally:
            os.close(fd)

    return made_of
