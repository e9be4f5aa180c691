"""The published JSON Schema is the one of the models."""

from __future__ import annotations

import json
from pathlib import Path

from runs.published import log_schema

ROOT = Path(__file__).resolve().parents[2]


def test_the_published_schema_is_current():
    published = json.loads((ROOT / "docs" / "run-log.schema.json").read_text(encoding="utf-8"))
    assert published == log_schema(), "run: trialcell runs schema > docs/run-log.schema.json"


def test_the_schema_refuses_unknown_keys_everywhere():
    schema = log_schema()
    objects = [schema, *schema["$defs"].values()]
    assert all(each.get("additionalProperties") is False for each in objects if each["type"] == "object")
