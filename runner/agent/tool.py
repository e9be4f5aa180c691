"""What a tool is: its name, what it does in words, what goes in, what comes out, and what it needs.

Agent, script and MCP server all get their tools from here. Nothing in it knows a model or a protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.agent.models import In, Out
from runs.files import sha256_hex

Needs = Literal["cell", "sitting", "either"]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One tool. `needs` says what `act` is given: the cell to read in, or a sitting at the arm.

    `either` takes a sitting where there is one. `moves`: the arm may move by it.
    """

    name: str
    about: str
    arguments: type[In]
    answer: type[Out]
    needs: Needs
    moves: bool
    act: Callable[[Any, Any], Result]

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of what goes in."""
        return _plain_schema(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of what comes out."""
        return _plain_schema(self.answer)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What came of a tool: its answer, and pictures that go with it (JPEG by their label)."""

    answer: Out
    pictures: Mapping[str, bytes] = field(default_factory=dict)


def _plain_schema(model: type[In] | type[Out]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    return schema


def tools_hash(tools: Mapping[str, Tool]) -> str:
    """What tells these definitions from others."""
    told = [[tool.name, tool.about, tool.input_schema, tool.output_schema] for tool in tools.values()]
    return sha256_hex(json.dumps(told, sort_keys=True).encode())
