"""A page holds everything, opens offline, and takes no text for markup."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.report.pictures import pictures_of, size_of
from runs.report.report import batch_report, run_report
from runs.schema.run import Ending
from runs.schema.verdict import Judgment
from runs.store import RunHeader, RunStore, open_any, open_folder

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">"\'&<b>\x1b[31m</style></title>'


def figures_of(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from figures_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from figures_of(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def texts_of(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, str):
        yield value


def batch_of(cell, **more):
    with ManyRuns([cell]) as many:
        many.refresh()
        return batch_report(many, Selection(), version="1", title="Trials", **more)[0]


def assert_complete(path: Path, read_page) -> None:
    page = read_page(run_report(open_any(str(path), RunStore(path.parent)), version="1"))
    words = set(re.split(r"[\s,]+", page.text))
    raw = json.loads(path.read_text(encoding="utf-8"))
    missing = [value for value in figures_of(raw) if repr(value) not in words and repr(float(value)) not in words]
    assert not missing
    together = " ".join(page.text.split())
    assert not [text for text in texts_of(raw) if " ".join(text.split()) not in together]


def test_every_figure_of_the_field_log_is_on_its_page(field_log, read_page):
    assert_complete(field_log, read_page)


@pytest.mark.parametrize("name", ["v0.json", "v1.json"])
def test_every_figure_of_a_golden_log_is_on_its_page(golden, name, read_page):
    assert_complete(golden / name, read_page)


def assert_harmless(html, read_page) -> None:
    page = read_page(html)
    allowed = {
        "html", "head", "meta", "title", "style", "body", "main", "header", "section", "nav", "a", "div", "span", "p",
        "b", "small", "h1", "h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "ol", "li",
        "figure",
        "figcaption", "img", "svg", "rect", "circle", "polygon", "polyline", "text", "details", "summary", "blockquote",
        "br", "i", "footer",
    }  # fmt: skip
    assert {name for name, _ in page.tags} <= allowed
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src", "data:").startswith("data:image/jpeg;base64,") or "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert "default-src 'none'" in next(a["content"] for a in page.named("meta") if "http-equiv" in a)
    assert "\x1b" not in html


def test_text_from_a_log_is_never_markup(judged_cell, read_page):
    cell = judged_cell("failed", "completed", "unjudged", reason=EVIL)
    folder = RunStore(cell / "runs").find("1").folder
    (folder / "rulings.jsonl").write_text(
        json.dumps({"stage": "place", "verdict": "no", "by": EVIL, "at": EVIL, "reason": EVIL, "blind": False}) + "\n"
    )
    html = run_report(open_folder(folder), version="1")
    assert_harmless(html, read_page)
    assert "<script>alert(1)</script>" in read_page(html).text
    batch = batch_of(cell)
    assert_harmless(batch, read_page)


def test_a_page_asks_nobody_for_anything(judged_cell):
    html = batch_of(judged_cell("failed", "completed"))
    outside = re.findall(r"(?:https?:)?//[^\s\"')<]+", html)
    assert not outside, outside


def test_a_batch_says_its_rate_and_what_failed(judged_cell, read_page):
    text = " ".join(read_page(batch_of(judged_cell(*["completed"] * 7, "failed", "refused"))).text.split())
    assert "87.5%" in text
    assert "7 of 8, 47.3% to 99.7%" in text
    assert "refused" in text
    assert "it hangs on the rim" in text


def test_a_broken_run_is_named_and_stops_nothing(judged_cell, read_page):
    cell = judged_cell("completed", "failed", "completed")
    broken = RunStore(cell / "runs").find("2").folder
    (broken / "run.json").write_text("{")
    text = read_page(batch_of(cell)).text
    assert "Can't be read" in text
    assert broken.name in text


def test_links_lead_somewhere(judged_cell, read_page):
    page = read_page(batch_of(judged_cell("completed", "failed", "failed")))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    linked = {attributes["href"].lstrip("#") for attributes in page.named("a")}
    assert linked - set(ids) <= {"times"}  # a cell whose logs say no times has no such section


def test_pictures_are_in_the_page_small_enough(judged_cell, read_page):
    cell = judged_cell("completed")
    folder = RunStore(cell / "runs").find("1").folder
    big = np.random.default_rng(1).integers(0, 255, (1440, 2560, 3), dtype=np.uint8)
    (folder / f"{folder.name}_place.jpg").write_bytes(cv2.imencode(".jpg", big)[1].tobytes())
    page = read_page(run_report(open_folder(folder), version="1"))
    assert len(page.named("img")) >= 2
    assert max(len(image["src"]) for image in page.named("img")) < 1_500_000


@pytest.mark.parametrize("labels", [("detect",), ("detect_1", "detect_2", "detect_3")])
def test_a_batch_shows_before_and_after_however_many_pictures_a_look_takes(tmp_path, labels, read_page):
    writer = RunStore(tmp_path / "runs").create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    jpeg = cv2.imencode(".jpg", np.full((72, 128, 3), 90, dtype=np.uint8))[1].tobytes()
    for label in (*labels, "detect_j0_minus", "pick"):
        writer.picture(label, jpeg)
    writer.judgment("pick", Judgment(verdict="no", confidence=0.9, reason="slipped", model="measured"))
    writer.finish(Ending(result="failed", stage="stage6", reason="slipped"))
    page = read_page(batch_of(tmp_path))
    assert "before the pick" in page.text
    assert "after the pick: no" in page.text


@pytest.mark.parametrize("harm", ["gone", "text", "cut", "bomb", "huge"])
def test_a_picture_that_can_not_be_shown_becomes_a_sentence(judged_cell, harm, monkeypatch):
    folder = RunStore(judged_cell("completed") / "runs").find("1").folder
    path = folder / f"{folder.name}_place.jpg"
    if harm == "gone":
        path.unlink()
    elif harm == "text":
        path.write_text("no picture")
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:20])
    elif harm == "bomb":
        header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0"
        path.write_bytes(header + bytes(100))
    else:
        monkeypatch.setattr("runs.report.pictures.MOST_BYTES", 10)
    shown = {each.label: each for each in pictures_of(open_folder(folder).log, folder, wide_px=400)}
    assert shown["place"].data_uri is None
    assert shown["place"].problem


def test_the_size_of_a_picture_is_read_from_its_header():
    image = np.zeros((37, 53, 3), dtype=np.uint8)
    for ending in (".jpg", ".png"):
        assert size_of(cv2.imencode(ending, image)[1].tobytes()) == (53, 37)
    assert size_of(b"GIF89a") is None
    assert size_of(b"") is None


def test_a_run_that_is_not_over_has_a_page(tmp_path, golden, read_page):
    from runs.store import RunHeader

    writer = RunStore(tmp_path / "runs").create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    assert "running" in read_page(run_report(open_folder(writer.folder), version="1")).text
    writer.close()
    folder = tmp_path / "runs" / "run_0042_20260811_091512"
    folder.mkdir()
    shutil.copy(golden / "v1.json", folder / "run.json")
    assert "Ada" in read_page(run_report(open_folder(folder), version="1")).text
