"""The house itself: imports go down the floors, types and style hold, help is instant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
UNTYPED = ("mujoco", "numba", "pymycobot", "serial", "duckdb", "msgspec", "rerun", "ray")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def test_imports_go_down_the_floors_and_in_no_circle():
    done = run(tool("lint-imports"))
    assert done.returncode == 0, done.stdout


def test_types_are_strict():
    done = run(sys.executable, "-m", "mypy")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_style_holds(command):
    done = run(tool("ruff"), *command, ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [noun, "--help"] if noun else ["--help"]
        for noun in ("", "runs", "table", "run", "arm", "ik", "review", "agent", "mcp")
    ],
)
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from runner.cli.main import main\n"
        f"sys.argv = ['trialcell', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numpy', 'cv2', 'mujoco', 'anthropic', 'pyarrow', 'scipy', 'pymycobot', 'duckdb', 'msgspec'}\n"
        "heavy |= {'starlette', 'uvicorn', 'mcp'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_untyped_libraries_are_imported_in_one_module_each():
    homes: dict[str, set[str]] = {name: set() for name in UNTYPED}
    for package in ("runner", "vision", "judges", "runs"):
        for path in (ROOT / package).rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                words = line.split()
                if len(words) > 1 and words[0] in {"import", "from"} and words[1].split(".")[0] in homes:
                    homes[words[1].split(".")[0]].add(str(path.relative_to(ROOT)))
    twins = {str(Path("runner", "twin", name)) for name in ("world.py", "many.py")}  # one state with its contacts; many
    assert homes.pop("mujoco") == twins
    assert all(len(places) <= 1 for places in homes.values()), homes


def test_nothing_imports_a_top_level_tests_package():
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "\nfrom tests" not in text, path
        assert "\nimport tests" not in text, path
    assert not list((ROOT / "tests").rglob("__init__.py"))
