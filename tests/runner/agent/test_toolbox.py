"""One definition of each tool, and none that may do what only a person may."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import runner.agent
from runner.agent.models import In
from runner.agent.tool import tools_hash
from runner.agent.toolbox import READING, TOOLS

WANTED = (
    *("look", "detect", "where_is", "lookup", "why_not", "rehearse", "pick", "place", "retreat", "judge", "history"),
    *("corrections", "holes", "note"),
)
FORBIDDEN = (
    *(".clear(", "write_atomic", "append_line", "CorrectionFile(", ".promote(", ".learn(", ".propose(", ".roll_back("),
    *("record_proof", "rulings.rule", "import rule\n", "take_back", "Ruling(", "StageJudged(", "Verdict(", "latch.set"),
)


def test_the_tools_are_these():
    assert tuple(TOOLS) == WANTED
    assert set(READING) == {"detect", "lookup", "why_not", "history", "corrections", "holes"}
    assert not any(tool.moves for tool in READING.values())


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_schemas_are_closed_and_every_tool_says_what_it_does(tool):
    assert len(tool.about) > 20
    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    json.dumps([tool.input_schema, tool.output_schema])


def test_only_named_places_and_words_go_in_never_joint_angles_to_go_to():
    """`ref_joints` of a lookup moves nothing; no tool that moves takes any figure at all."""
    for tool in TOOLS.values():
        if tool.moves:
            assert set(tool.arguments.model_fields) <= {"aside"}, tool.name
        assert issubclass(tool.arguments, In)


def test_no_line_of_the_package_writes_what_only_a_person_may():
    folder = Path(inspect.getfile(runner.agent)).parent
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("FinalVerdict(", "")
        found = [word for word in FORBIDDEN if word in text]
        if path.name == "cell_view.py":
            found = [word for word in found if word != "CorrectionFile("]  # to load them
        assert not found, f"{path.name}: {found}"


def test_another_definition_has_another_hash():
    fewer = {name: tool for name, tool in TOOLS.items() if name != "note"}
    assert tools_hash(TOOLS) != tools_hash(fewer)
