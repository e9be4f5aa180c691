"""Every command in README and docs does what the page says, page by page, in a cell that has been used once.

Pages are sequences: a later command may rest on an earlier one, so a page is one test.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import cv2
import pytest

from runner.config import Config
from runner.twin.setup import build_twin

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands_of(page: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("trialcell")]


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    """A folder with pictures such as the pages name, and a URDF."""
    folder = tmp_path_factory.mktemp("photos")
    twin = build_twin(Config(), seed=4)
    for name in ("photo.jpg", "photos/1.jpg", "photos/2.jpg"):
        (folder / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / name), twin.camera.read().image_bgr)
    twin.close()
    shutil.copy(ROOT / "tests" / "golden" / "urdf" / "arm.urdf", folder)
    return folder


LONG = {  # rendered sets, whole scans, many trials
    *("agent.md", "arms.md", "batch.md", "calibrate.md", "fill.md", "index.md", "judge-measured.md"),
    *("judge-quality.md", "corrections.md", "faults.md", "kinematics.md", "motion.md", "night.md", "reach-table.md"),
    *("rehearsal.md", "report.md", "review.md", "run-a-trial.md", "run-log.md", "serve-twin.md"),
}
WITH_COMMANDS = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])
    for page in PAGES
    if commands_of(page)
]


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_on_the_page_works(page, trialcell, cell_copy, photos, claude_server, tmp_path, monkeypatch):
    """Whoever asks Claude is answered by a server on this machine."""
    shutil.copytree(photos, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert cell_copy == tmp_path / "cell"
    if page.name in {
        "corrections.md",
        "night.md",
        "run-log.md",
        "index.md",
        "report.md",
        "review.md",
    }:  # they read what a trial left
        assert trialcell("run", "--seed", "1").code == 0
    if page.name == "agent.md":
        claude_server.always = claude_server.reply("I have looked, and propose nothing.")
    for line in commands_of(page):
        told = trialcell(*shlex.split(line)[1:])
        assert told.code == 0, f"{line}\n{told.out}\n{told.err}"
        assert told.out, line


def test_pages_name_only_files_that_are_there():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} names {target}"
