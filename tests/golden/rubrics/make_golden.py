"""Writes the golden prompts: run it after a rubric has been changed on purpose, and read the difference.

python tests/golden/rubrics/make_golden.py
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEST = HERE.parents[1] / "judges" / "test_rubric.py"


def main() -> None:
    spec = importlib.util.spec_from_file_location("test_rubric", TEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for stage in module.STAGES:
        for language in module.LANGUAGES:
            path = HERE / f"{stage}.{language}.txt"
            path.write_text(module.as_file(stage, language), encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
