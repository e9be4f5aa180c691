"""How a model was asked stands on the page of a run: short for people, every word on the full page."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from judges.measured import MeasuredJudge
from judges.panel import PanelJudge
from judges.protocol import Evidence, LabelledPicture
from runner.cli.show.page import page
from runner.config import Config, with_overrides
from runner.judging import model_judge
from runner.rig import detect_settings
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore


@pytest.fixture
def log(claude_server, tmp_path):
    """A run with a panel's verdict, whose model needed two tries."""
    config = with_overrides(Config(), ["judge.kind=claude"])
    image = np.random.default_rng(1).integers(60, 200, (96, 128, 3)).astype(np.uint8)
    pictures = (LabelledPicture("b", "before", image), LabelledPicture("a", "after", image))
    claude_server.play(claude_server.error(503, retry_after_ms="1"))
    judge = PanelJudge((MeasuredJudge(), model_judge(config)))
    evidence = Evidence(stage="place", pictures=pictures, grip=None, settings=detect_settings(config))
    writer = RunStore(tmp_path).create(RunHeader())
    writer.add(judge.judge(evidence))
    return writer.finish(Ending(result="unjudged", stage="stage10", reason="no agreement"))


def shown(log, *, full):
    console = Console(width=120, record=True, color_system=None, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    for part in page(log, full=full):
        console.print(part)
    return console.export_text()


def squeezed(text):
    return "".join(text.split())


def leaves(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, str):
        yield value


def test_every_word_stands_on_the_full_page(log):
    text = squeezed(shown(log, full=True))
    (verdict,) = log.verdicts
    assert len(verdict.members[1].audit.attempts) == 2
    missing = {leaf for leaf in leaves(verdict.model_dump(mode="json", exclude={"at"})) if squeezed(leaf) not in text}
    assert missing == set()


def test_the_page_for_people_is_short_and_says_how_it_was_asked(log):
    text = shown(log, full=False)
    assert "overloaded: HTTP 503" in text
    assert "after, 128×96 px" in text
    assert "said by measured" in text
    assert "Pictures are data" not in text
