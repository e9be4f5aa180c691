"""Folders of synthetic runs, made by the generator that ships under benchmarks/."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_runs", ROOT / "benchmarks" / "make_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def made_once(generator, tmp_path_factory) -> Path:
    cell = tmp_path_factory.mktemp("made") / "bench"
    generator.make_runs(cell / "runs", 120)
    return cell


@pytest.fixture
def made(made_once, tmp_path) -> Path:
    """A cell with 120 runs, to do with as you like."""
    return Path(shutil.copytree(made_once, tmp_path / "bench"))
