"""What the tests of pages share: reading a page back as a reader sees it, cells with pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest

from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.store import RunHeader, RunStore

ONLY_OPEN = {"meta", "br", "hr", "img"}


@dataclass
class Read:
    """A page as its reader has it: text, tags with attributes, whether all that opened was closed."""

    text: str = ""
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self._texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.read.tags.append((tag, dict(attrs)))
        if tag not in ONLY_OPEN:
            self.read.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.read.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.read.open.pop() == tag

    def handle_data(self, data):
        if self.read.open[-1:] != ["style"]:
            self._texts.append(data)


@pytest.fixture
def read_page() -> Callable[[str], Read]:
    def read(html: str) -> Read:
        reader = _Reader()
        reader.feed(html)
        reader.close()
        assert reader.read.open == []
        reader.read.text = "\n".join(reader._texts)
        return reader.read

    return read


@pytest.fixture
def judged_cell(tmp_path) -> Callable[..., Path]:
    """A cell with a run for each result, with pictures; texts as given."""

    def make(*results: str, reason: str = "it hangs on the rim") -> Path:
        store = RunStore(tmp_path / "cell" / "runs")
        jpeg = cv2.imencode(".jpg", np.full((72, 128, 3), 90, dtype=np.uint8))[1].tobytes()
        for result in results:
            writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
            writer.stage_started("stage9b_judge_place", started_s=0.0)
            word = {"completed": "yes", "failed": "no"}.get(result)
            writer.picture("detect_1", jpeg)
            capture = writer.picture("place", jpeg)
            audit = JudgeAudit(judge="claude", model=reason)
            writer.add(
                Verdict(stage="place", verdict=word, confidence=0.9 if word else None, reason=reason, audit=audit)
            )
            writer.judgment(
                "place", Judgment(verdict=word, confidence=0.9, reason=reason, model="haiku", image=capture.image)
            )
            writer.stage_ended("stage9b_judge_place", "done", ended_s=5.0)
            writer.finish(Ending(result=result, stage="stage9b_judge_place", reason=reason), duration_s=60.0)
        return tmp_path / "cell"

    return make
