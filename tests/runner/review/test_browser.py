"""The review page in a real browser: ruled on by keyboard, blind, undone, by two at once, live, stopped, accessible.

It takes the system's Chromium and its driver; without them these tests are skipped. After each the console is empty
and nothing but this machine's loopback was asked for anything.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest

from runs.events import utc_text
from runs.latch import StopLatch
from runs.lock import CellLock
from runs.queue import doubtful_step
from runs.rulings import rule
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore
from runs.verdicts import standing_in

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install '.[dev]'")

STEP = "document.getElementById('head').dataset.step"
DIFFERS = "document.querySelector('#said.differ') !== null"
COLOURS_DRAWN = """(() => {
  const scene = document.getElementById('scene');
  const data = scene.getContext('2d').getImageData(0, 0, scene.width, scene.height).data;
  const seen = new Set();
  for (let i = 0; i < data.length; i += 400) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
})()"""
IN_SIGHT = """(() => {
  const box = document.querySelector('#ruling .say').getBoundingClientRect();
  return box.bottom <= innerHeight && box.top >= 0;
})()"""
ENTER = "\ue007"
SIZES = {"laptop": (1280, 720), "tablet": (820, 1180), "tablet lying": (1180, 820)}
PAGES = ("/", "/live", "/runs", "/run", "/corrections")


def system_chromium() -> tuple[str, str] | None:
    browser = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


CHROMIUM = system_chromium()
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the system has no Chromium with its driver (Debian: apt install chromium chromium-driver)"
)


class Page:
    """A browser window on a served cell, with the eyes and hands that a test needs."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver, self.url = driver, url
        self.asked: list[str] = []
        self.console: list[str] = []

    def open(self, path: str = "/", *, who: str | None = None) -> Page:
        self.driver.get(self.url + path)
        self.until("document.documentElement.dataset.ready === 'yes'")
        if who is not None:
            self.js("const who = document.getElementById('who'); who.value = arguments[0];"
                    "who.dispatchEvent(new Event('input'))", who)  # fmt: skip
        return self

    def js(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def text(self, selector: str) -> str:
        return str(self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def until(self, condition: str, *args: Any, timeout_s: float = 30.0) -> Any:
        """The value of an expression of the page's as soon as it is true."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            found = self.js(f"return {condition}", *args)
            if found:
                return found
            time.sleep(0.03)
        raise AssertionError(f"not within {timeout_s} s: {condition}\n{self.text('#say')}\n{self.text('.desk')}")

    def step(self) -> tuple[str, str]:
        """Run and step that is looked at, once its pictures are there."""
        self.until(
            "document.querySelectorAll('.view img').length === 2 && "
            "[...document.querySelectorAll('.view img')].every((one) => one.complete && one.naturalWidth > 0)"
        )
        run_id, stage = self.js("return document.getElementById('head').dataset.step").split()
        return run_id, stage

    def at(self, step: tuple[str, str]) -> None:
        """Wait until that step is looked at."""
        self.until(f"{STEP} === arguments[0]", " ".join(step))

    def after(self, step: tuple[str, str]) -> None:
        """Wait until another step is looked at."""
        self.until(f"{STEP} !== arguments[0]", " ".join(step))

    def answered(self, step: tuple[str, str]) -> bool:
        """Wait until the word on that step was taken; whether the judge's differs, and so is shown."""
        self.until(f"{STEP} !== arguments[0] || {DIFFERS}", " ".join(step))
        return bool(self.js(f"return {DIFFERS}"))

    def gather(self) -> None:
        """What the browser has asked for, and what its console says."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])
        self.console += [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture
def window(tmp_path) -> Iterator[Callable[..., Page]]:
    """Open a browser of its own: `window(served, size=…, dark=…)`. In the end console and requests are looked at."""
    with ExitStack() as stack:
        opened: list[Page] = []

        def make(served: Any, *, size: tuple[int, int] = (1280, 720), dark: bool = False, touch: bool = False) -> Page:
            options = webdriver.ChromeOptions()
            options.binary_location = CHROMIUM[0]
            for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                             "--disable-background-networking", "--disable-component-update", "--no-first-run",
                             "about:blank",
                             f"--user-data-dir={tmp_path / f'profile_{len(opened)}'}"):  # fmt: skip
                options.add_argument(argument)
            options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
            driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMIUM[1]))
            stack.callback(driver.quit)
            screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": touch}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            driver.set_script_timeout(60)
            opened.append(Page(driver, served.url))
            return opened[-1]

        yield make
        for page in opened:
            page.gather()
            assert page.console == []
            asked = [urlsplit(url) for url in page.asked if not url.startswith(("data:", "chrome"))]  # its own pages
            assert [url.geturl() for url in asked if url.hostname != "127.0.0.1"] == []


def given(served: Any, name: str) -> list[dict[str, Any]]:
    return [line for line in served.all_rulings() if line["by"] == name]


def machine_said(served: Any, run_id: str, stage: str) -> str | None:
    log = RunStore(served.cell / "runs").open(run_id).log
    return next(verdict.verdict for verdict in log.verdicts if verdict.stage == stage)


def test_a_step_is_ruled_on_with_one_key_and_taken_back(review, window):
    page = window(review).open(who="Maya Lind")
    first = page.step()
    assert first == review.queue(1.0)[0]
    assert "blind" in page.text("#head .chip.calm")
    word = machine_said(review, *first) or "no"
    page.press({"yes": "y", "no": "n", "unsure": "u"}[word])
    page.after(first)
    (line,) = given(review, "Maya Lind")
    assert (line["run_id"], line["stage"], line["verdict"], line["blind"]) == (*first, word, True)
    page.press("z")
    page.at(first)
    assert [one["takes_back"] for one in given(review, "Maya Lind")] == [False, True]


@pytest.mark.slow
def test_fifty_trials_by_keyboard_in_the_queues_order(review, window):
    wanted = review.queue(1.0)[:50]
    page = window(review).open(who="Maya")
    keys = {"y": "yes", "n": "no", "u": "unsure"}
    said = []
    for number in range(50):
        step = page.step()
        key = "ynuyyn"[number % 6]
        page.press(key)
        said.append((*step, keys[key]))
        differs = page.answered(step)
        assert differs == (machine_said(review, *step) not in (None, keys[key]))
        if differs:
            page.press(ENTER)
        page.after(step)
    assert [one[:2] for one in said] == wanted
    lines = given(review, "Maya")
    assert sorted((one["run_id"], one["stage"], one["verdict"]) for one in lines) == sorted(said)
    assert all(one["blind"] and one["at"].endswith("Z") for one in lines)
    assert "50 done by you" in page.text("#count")


@pytest.mark.slow
def test_blind_shows_the_judges_word_only_after_the_persons(review, window):
    page = window(review).open(who="Maya")
    step = page.step()
    reason = RunStore(review.cell / "runs").open(step[0]).log.verdicts[-1].reason
    assert reason not in page.js("return document.documentElement.outerHTML")
    assert page.js("return document.querySelector('#said')") is None
    page.gather()
    assert not any("/api/said/" in url for url in page.asked)
    machine = machine_said(review, *step)
    other = "n" if machine != "no" else "y"
    page.press("2", other)
    if machine is not None:
        assert page.answered(step)
        assert f"the judge said {machine}" in page.text("#said")
        page.press({"yes": "y", "no": "n", "unsure": "u"}[machine])  # after what was read: kept as not blind
    page.after(step)
    lines = given(review, "Maya")
    assert [line["blind"] for line in lines] == [True, False][: len(lines)]
    assert lines[0]["reason"] in ("still on the table", "on the rim or a wall")
    second = page.step()
    page.press("m")
    page.until("document.querySelector('#said') !== null")
    page.press("y")
    page.after(second)
    assert given(review, "Maya")[-1]["blind"] is False or second < step


@pytest.mark.slow
def test_set_aside_writes_nothing_and_comes_back_at_the_end(review, window):
    page = window(review).open(who="Maya")
    first = page.step()
    page.press("i")
    page.after(first)
    assert page.step() == review.queue(1.0)[1]
    assert given(review, "Maya") == []
    last = page.js("return [...document.querySelectorAll('#list .name')].at(-1).textContent")
    assert last == f"{first[0].split('_')[1]} {first[1]}"


@pytest.mark.slow
def test_pictures_come_nearer_together_and_blink_in_one_place(review, window):
    page = window(review).open(who="Maya")
    page.step()
    page.press("+", "+")
    transforms = page.js("return [...document.querySelectorAll('.layer')].map((one) => one.style.transform)")
    assert transforms[0] == transforms[1]
    assert "scale(2.25)" in transforms[0]
    page.js("document.querySelector('.view .frame').dispatchEvent(new WheelEvent('wheel', {deltaY: -300, clientX: 300,"
            "clientY: 200, bubbles: true, cancelable: true}))")  # fmt: skip
    assert float(page.text(".tools .quiet").split()[0]) > 5
    page.press("0")
    assert page.text(".tools .quiet") == ""
    page.press("b")
    shown = "[...document.querySelectorAll('.view')].filter((one) => getComputedStyle(one).display !== 'none')"
    seen = {page.until(f"{shown}.length === 1 && {shown}[0].className") for _ in range(60) if not time.sleep(0.05)}
    assert seen == {"view before", "view after"}
    page.press("b")
    page.until(f"{shown}.length === 2")
    page.press("o")
    page.until("getComputedStyle(document.querySelector('.layer svg')).display === 'block'")


@pytest.mark.slow
def test_nobody_rules_without_a_name_and_keys_write_in_fields(review, window):
    page = window(review).open()
    step = page.step()
    page.press("y")
    page.until("document.activeElement.id === 'who'")
    assert review.all_rulings() == [line for line in review.all_rulings() if line["by"] == "Ada"]
    page.press(*"yuna", ENTER)
    page.press("r")
    page.until("document.activeElement.id === 'why'")
    page.press(*"yes no", ENTER)
    assert page.step() == step
    page.press("u")
    page.answered(step)
    (line,) = given(review, "yuna")
    assert (line["reason"], line["verdict"]) == ("yes no", "unsure")


@pytest.mark.slow
def test_two_reviewers_at_once_lose_nothing_and_see_each_other(review, window):
    pages = {name: window(review).open(who=name) for name in ("Maya", "Noor")}
    said: dict[str, list[tuple[str, str]]] = {name: [] for name in pages}

    def work(name: str, key: str) -> None:
        page = pages[name]
        for _ in range(12):
            step = page.step()
            page.press(key)
            said[name].append(step)
            if page.answered(step):
                page.press(ENTER)
            page.after(step)

    threads = [threading.Thread(target=work, args=each) for each in (("Maya", "y"), ("Noor", "n"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    for name in pages:
        assert sorted((line["run_id"], line["stage"]) for line in given(review, name)) == sorted(said[name])
        assert len(said[name]) == 12
    seen = "[...document.querySelectorAll('#list :is(.gone, .done) .name')].map((one) => one.textContent)"
    for one, other in (("Maya", "Noor"), ("Noor", "Maya")):
        for run_id, stage in said[one]:
            pages[other].until(f"{seen}.includes(arguments[0])", f"{run_id.split('_')[1]} {stage}")


@pytest.mark.slow
def test_who_looks_at_a_step_that_another_rules_on_is_told(review, window):
    page = window(review).open(who="Maya")
    step = page.step()
    rule(RunStore(review.cell / "runs"), step[0], step[1], "yes", by="Noor", reason="from the terminal")
    page.until("document.querySelector('#head .chip.doubt')?.innerText.includes('another reviewer')")
    page.press("n")
    page.until("document.querySelector('#ruling .last').innerText.includes('Noor said yes meanwhile')")
    lines = [(one["by"], one["verdict"]) for one in review.rulings(step[0]) if one["stage"] == step[1]]
    assert lines[-2:] == [("Noor", "yes"), ("Maya", "no")]
    log = RunStore(review.cell / "runs").open(step[0]).log
    assert doubtful_step(log, *step, standing_in(log, step[1])) is None


@pytest.mark.slow
def test_a_batch_is_watched_and_stopped(review, window, bench):
    page = window(review).open("/live", who="Maya")
    page.until("document.body.innerText.includes('Nothing drives this cell')")
    store = RunStore(bench / "runs")
    with CellLock(bench, command="trialcell batch run night"):
        writer = store.create(RunHeader(started_at=utc_text()))
        writer.stage_started("stage4_pick", started_s=20.0)
        page.until("document.body.innerText.includes('stage4_pick')")
        assert "trialcell batch run night" in page.text("main")
        writer.finish(Ending(result="completed", stage="stage10", reason="in the box"), duration_s=70.0)
        page.until("document.querySelector('td')?.innerText === arguments[0]", writer.run_id)
        page.until("document.body.innerText.includes('success so far')")
        page.js("document.getElementById('stop').click()")
        page.until("!document.getElementById('stopped').hidden")
    stop = StopLatch(bench).read()
    assert (stop.by, stop.why) == ("Maya", "stopped on the review page")
    assert page.js("return document.getElementById('stop').disabled")
    assert "trialcell stop --clear" in page.text("#stopped")
    page.open("/")
    page.until("!document.getElementById('stopped').hidden")
    StopLatch(bench).clear(by="Maya")
    page.until("document.getElementById('stopped').hidden")


@pytest.mark.slow
def test_new_doubt_comes_into_the_queue_by_itself(review, window, bench, generator):
    page = window(review).open(who="Maya")
    page.step()
    before = page.js("return document.querySelectorAll('#list li').length")
    log = generator.make_log(5000, 0)
    (bench / "runs" / log["run_id"]).mkdir()
    (bench / "runs" / log["run_id"] / "run.json").write_text(json.dumps(log))
    page.until("document.querySelectorAll('#list li').length === arguments[0]", before + 2)


@pytest.mark.slow
def test_the_motion_is_drawn_and_plays(review, window):
    run_id = review.queue(1.0)[0][0]
    page = window(review).open(f"/run/0/{run_id}")
    page.until("document.getElementById('replay')?.dataset.ready === 'yes'")
    assert page.js(f"return {COLOURS_DRAWN}") > 4
    before = page.text("#clock")
    page.js("document.getElementById('play').click()")
    page.until("document.getElementById('clock').innerText !== arguments[0]", before)
    page.js("const at = document.getElementById('at'); at.value = 1000; at.dispatchEvent(new Event('input'))")
    whole = page.text("#clock").split()
    assert whole[0] == whole[2]


@pytest.mark.slow
def test_text_of_logs_and_people_runs_nothing(review, window):
    evil = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
    run_id, stage = review.queue(1.0)[0]
    rule(RunStore(review.cell / "runs"), run_id, stage, "no", by=evil, reason=evil)
    path = review.cell / "runs" / run_id / "run.json"
    log = json.loads(path.read_text())
    log["ending"]["reason"] = log["provenance"]["cell_id"] = evil
    log["notes"] = [{"at": log["started_at"], "stage": None, "text": evil}]
    path.write_text(json.dumps(log))
    page = window(review)
    for where in ("/", "/runs", "/live", f"/run/0/{run_id}"):
        page.open(where)
        time.sleep(0.7)
        assert page.js("return window.hacked") is None
    assert "<script>window.hacked" in page.text("main")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_and_passes_axe(review, window, size, dark):
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    run_id = review.queue(1.0)[0][0]
    page = window(review, size=SIZES[size], dark=dark, touch="tablet" in size)
    for path in PAGES:
        page.open(f"/run/0/{run_id}" if path == "/run" else path, who="Maya")
        if path == "/":
            page.step()
            page.press("m")
            page.until("document.querySelector('#said') !== null")
            page.until(IN_SIGHT)
            page.press("m")
        if path == "/run":
            page.until("document.getElementById('replay')?.dataset.ready === 'yes'")
        if path == "/live":
            page.until("document.querySelector('td') !== null")
        assert page.js("return document.scrollingElement.scrollWidth - innerWidth") <= 0, path
        page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
        found = page.driver.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then((found) => done(found.violations"
            ".map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120))}`)))"
        )
        assert found == [], path
