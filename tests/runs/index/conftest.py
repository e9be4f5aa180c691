"""Folders of synthetic runs, made by the generator that ships under benchmarks/."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made_once(generator, tmp_path_factory) -> Path:
    cell = tmp_path_factory.mktemp("made") / "bench"
    generator.make_runs(cell / "runs", 120)
    return cell


@pytest.fixture
def made(made_once, tmp_path) -> Path:
    """A cell with 120 runs, to do with as you like."""
    return Path(shutil.copytree(made_once, tmp_path / "bench"))
