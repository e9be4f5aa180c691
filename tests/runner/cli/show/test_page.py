"""The page of a run shows everything a log holds, and a log can't drive the terminal."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from runner.cli.show.page import page
from runs.figures import Figures, clean, name_of, unit_of
from runs.migrate import load_log
from runs.schema.motion import HealthRecord
from runs.schema.run import Note, RunLog


def shown(log, *, width=110, **options):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for renderable in page(log, **options):
        console.print(renderable)
    return console.file.getvalue()


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, f"{path}.{index}")
    else:
        yield path, value


def squeezed(text):
    return "".join(text.split())


def missing(raw, text):
    """Leaves of a raw log that are words or figures and don't stand in the text, whatever the line breaks."""
    text = squeezed(text)
    return {
        path: value
        for path, value in leaves(raw)
        if isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and squeezed(str(value)) not in text
        and not path.startswith((".schema_version", ".migrated_from"))
    }


@pytest.mark.parametrize("name", ["v0", "v1"])
@pytest.mark.parametrize("width", [100, 120])
def test_every_word_and_figure_of_a_log_stands_on_the_full_page(golden, name, width):
    path = golden / f"{name}.json"
    text = shown(load_log(path), width=width, full=True)
    assert missing(json.loads(path.read_text(encoding="utf-8")), text) == {}


def test_every_word_and_figure_of_the_fields_run_stands_on_the_full_page(field_log):
    raw = json.loads(field_log.read_text(encoding="utf-8"))
    assert missing(raw, shown(load_log(field_log), full=True)) == {}


def rounded_forms(value):
    """How a figure may stand on the page for people: in its own unit or in thousandths, with 0 to 4 decimals."""
    for scaled in (value, value * 1000):
        for decimals in range(5):
            yield f"{scaled:.{decimals}f}".replace("-", "−")
        yield f"{scaled:.5g}".replace("-", "−")


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_every_figure_stands_rounded_on_the_page_for_people(golden, name):
    path = golden / f"{name}.json"
    text = shown(load_log(path))
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw.pop("schema_version", None)
    numbers = {p: v for p, v in leaves(raw) if isinstance(v, int | float) and not isinstance(v, bool)}
    assert {p: v for p, v in numbers.items() if not any(form in text for form in rounded_forms(v))} == {}


@pytest.mark.parametrize("name", ["v0", "v1"])
@pytest.mark.parametrize("width", [100, 110, 120])
def test_no_line_is_longer_than_the_terminal_and_nothing_is_cut(golden, name, width):
    text = shown(load_log(golden / f"{name}.json"), width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…\n" not in text.replace(" ", "")


def test_moves_show_the_difference_and_the_worst_joint(golden):
    text = shown(load_log(golden / "v0.json"))
    assert "worst 1.72° (j1)" in text or "worst" in text
    assert "retried" in text


def test_the_lookup_goes_from_what_was_asked_to_what_was_read_back(golden):
    text = shown(load_log(golden / "v1.json"))
    block = text[text.index("\nLookups") : text.index("\nMoves")]
    order = ["asked for", "refined", "from", "row", "commanded", "read back"]
    assert [block.index(f"  {word} ") for word in order] == sorted(block.index(f"  {word} ") for word in order)
    assert "(217.5, 182.5) mm, corrected to (219.5, 186.5) mm" in block


def test_an_empty_log_is_a_page_too():
    log = RunLog(
        run_id="run_0001_20260101_000000",
        started_at="2026-01-01T00:00:00Z",
        dry_run=True,
        frames_dir="runs/run_0001_20260101_000000",
        constants={},
        result=None,
        ended_at=None,
    )
    text = shown(log, state="running")
    assert text.startswith("run_0001_20260101_000000   running")
    assert "nothing was judged" in text
    assert "dry run: nothing moved" in text


def test_what_a_log_says_is_neither_markup_nor_a_command_to_the_terminal(golden):
    evil = "[bold red]ha[/] \x1b[2J\x07 done"
    log = load_log(golden / "v1.json").model_copy(update={"notes": (Note(at="t", stage=None, text=evil),)})
    text = shown(log)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold red]ha[/] �[2J� done" in text


@pytest.mark.parametrize(
    ("value", "key", "people", "full"),
    [
        (0.21638682556152344, "ee_y_m", "216.4 mm", "0.21638682556152344 m"),
        (0.0001572, "x_residual_m", "0.16 mm", "0.0001572 m"),
        (-2.7379570007324063, "dx_mm", "−2.7 mm", "-2.7379570007324063 mm"),
        (14.659999999999998, "max_dj_deg", "14.66°", "14.659999999999998°"),
        (2.0, "sleep_sec", "2.0 s", "2.0 s"),
        (-0.0001, "dz_mm", "0.00 mm", "-0.0001 mm"),
        (20, "SPEED", "20", "20"),
        (None, "value", "—", "—"),
    ],
)
def test_figures_carry_the_unit_of_their_key(value, key, people, full):
    assert Figures().of(value, key) == people
    assert Figures(full=True).of(value, key) == full


def test_names_are_for_people():
    assert name_of("path_clearance_mm") == "path clearance"
    assert name_of("n_captures") == "captures"
    assert unit_of("post_actual") == ("°", 2)
    assert clean("a\x00b") == "a�b"


@pytest.mark.parametrize("full", [False, True])
def test_how_the_arm_was_stands_on_the_page(golden, full):
    asked = HealthRecord(
        stage="stage1", powered=True, error_code=0, servos_enabled=True, temperatures_c=(35.0, 41.0, 36.5),
        voltages_v=(12.1, 11.9, 12.0), reboot_count=7, firmware="7.2", at="2026-07-03T13:23:11.000Z",
    )  # fmt: skip
    log = load_log(golden / "v1.json").model_copy(update={"health": (asked,)})
    text = shown(log, full=full)
    assert "The arm's condition" in text
    if full:
        assert missing({"health": [asked.model_dump(mode="json")]}, text) == {}
    else:
        assert "servos at (35, 41, 36) °C" in " ".join(text.split())
