"""Make the screens of docs/review.md: `python docs/make_review_screens.py`. Takes Chromium and its driver, two minutes.

Six trials run on the twin (or those of a cell are taken), then the page is served on loopback and looked at by a
browser, as a reviewer would.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from selenium import webdriver

from runner.cli.main import run
from runner.review.server import ReviewServer
from runs.corrections.file import CorrectionFile
from runs.corrections.history import PersonsWord
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo, Lesson

HERE = Path(__file__).resolve().parent
SEEDS = (2, 4, 5, 7, 11, 12)


def browser(size: tuple[int, int], *, dark: bool = False) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "about:blank"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    return driver


def keep(driver: Any, name: str, folder: Path) -> None:
    """A screen as WebP, small."""
    image = cv2.imdecode(np.frombuffer(driver.get_screenshot_as_png(), dtype=np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    path = folder / f"review-{name}.webp"
    path.write_bytes(cv2.imencode(".webp", image, [cv2.IMWRITE_WEBP_QUALITY, 72])[1].tobytes())
    print(path, path.stat().st_size)


def learned(cell: Path) -> None:
    """Corrections as a bent camera would teach them, so that there is something to see."""
    file = CorrectionFile(cell)
    belongs = BelongsTo(calibration_hash="0" * 64, table_hash="0" * 64, profile="field")
    rng = np.random.default_rng(3)
    for number in range(70):
        x, z = (float(each) for each in (rng.uniform(0.06, 0.24), rng.uniform(0.12, 0.26)))
        off = (-1.0 - 18 * x + float(rng.normal(0, 0.8)), 3.0 - 14 * z + float(rng.normal(0, 0.8)))
        run_id, at = f"run_{number:04d}_20260701_000000", f"2026-07-01T00:{number // 60:02d}:{number % 60:02d}.000Z"
        file.learn(belongs, Lesson.of("pick", (x, z), off, run_id=run_id, at=at))
        if number == 40:
            file.propose(belongs, RuleSettings(), by="trialcell corrections propose")
            file.promote(belongs, PersonsWord(by="Maya", reason="the tip is measured closer with it"), by="Maya")
    file.propose(belongs, RuleSettings(), by="trialcell corrections propose")


def word(driver: Any, script: str, *args: Any) -> Any:
    return driver.execute_script(script, *args)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--cell", type=Path, help="a cell that has runs already, instead of running trials")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cell = Path(scratch) / "bench"
        if args.cell is not None:
            shutil.copytree(args.cell, cell)
        for seed in SEEDS if args.cell is None else ():
            run(["run", "--cell", str(cell), "--seed", str(seed), "--profile", "field", "--json"])
        learned(cell)
        server = ReviewServer([cell], port=0, share=1.0, version="docs")
        ready = threading.Event()
        threading.Thread(target=server.run, args=(ready.set,), daemon=True).start()
        ready.wait(20)
        look(server.address.url, sorted(path.name for path in (cell / "runs").glob("run_*")), args.out)
        server.stop()


def look(url: str, names: list[str], out: Path) -> None:
    light = browser((1280, 720))
    light.get(url)
    time.sleep(4)
    word(light, "const w = document.getElementById('who'); w.value = 'Maya'; w.dispatchEvent(new Event('input'))")
    keep(light, "queue", out)
    press = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"
    word(light, press.replace("document.dispatch", "document.body.dispatch"), "n")
    time.sleep(2)
    keep(light, "after-a-word", out)
    light.get(f"{url}corrections")
    time.sleep(1)
    keep(light, "corrections", out)
    light.quit()
    dark = browser((1180, 820), dark=True)
    dark.get(f"{url}run/0/{names[3]}")
    time.sleep(3)
    word(dark, "const at = document.getElementById('at'); at.value = 480; at.dispatchEvent(new Event('input'));"
               "document.getElementById('motion').scrollIntoView()")  # fmt: skip
    time.sleep(1)
    keep(dark, "motion", out)
    dark.quit()


if __name__ == "__main__":
    main()
