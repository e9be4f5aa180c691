"""The measuring judge on labelled scenes with near misses, beside the plain way, in one run.

Usage: python benchmarks/judge_measured.py [--set DIR | --scenes N --seed S --workers W] [--frames DIR] [--json]

With `--set` a set that `trialcell judge make-set` has made; else one is rendered into a temporary folder. False success
is a yes on a scene whose label is no, out of all such scenes, with its exact 95 % interval. Unsure counts every scene
without yes or no, the hidden ones included.

The plain way is the usual one: the largest red contour of two fixed hue ranges; placed if its centroid lies in the
box's bounding rectangle, picked if it is no longer within 30 px of where it was. It is handed our box, which is more
than it could find by itself, and it never says unsure.

Real pairs of pictures (`pairs` of annotations.json in `--frames`) are other tasks, seen by other cameras: there, a
judge of red blocks and white boxes has nothing to say yes to. Both stages are asked of each pair, with no gripper
reading and with one made up that says held (pick) or empty (place).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from judges.labelled import LabelledItem, OpenSet, evidence_of, read_set
from judges.measured import MeasuredJudge
from judges.protocol import Evidence, LabelledPicture
from runner.calibrate.first_use import calibrate_twin
from runner.calibrate.judge_set.make import make_set
from runner.config import Config
from runner.kinematics.gripper import gripper_of
from runner.rig import detect_settings
from runner.table.postures import arm_of
from runner.trial.grip import judge_reading
from runs.schema.motion import GripReading
from runs.schema.verdict import JudgedStage
from runs.statistics import exact_rate
from vision.calibration.file import load_view
from vision.calibration.view import View
from vision.cameras.protocol import Picture, read_picture
from vision.detect.box import find_box

DEFAULT_FRAMES = Path(__file__).resolve().parent.parent.parent / "shared" / "frames"
PLAIN_HUES = ((0, 10), (170, 180))
PLAIN_STAYED_PX = 30.0
OURS, PLAIN, PIXELS = "ours", "plain", "ours_without_calibration"
NOT_TO_BE_TOLD = {"hidden", "two_blocks"}  # kinds that no one could tell from these pictures
WORDS = ("yes", "no", "unsure")
HELD = GripReading(value=55.0, opening_mm=30.0, holding=True, reason="the jaws hold something 30.0 mm wide")
EMPTY = GripReading(value=100.0, opening_mm=60.0, holding=False, reason="the jaws are 60.0 mm apart")


def plain_word(evidence: Evidence) -> str:
    """Centroid in the bounding box, or centroid gone."""
    before, after = evidence.last("before"), evidence.last("after")
    assert after is not None
    now = _largest_red(after.image_bgr)
    if evidence.stage == "pick":
        was = None if before is None else _largest_red(before.image_bgr)
        stayed = now is not None and was is not None and float(np.hypot(*np.subtract(now, was))) < PLAIN_STAYED_PX
        return "no" if stayed else "yes"
    box = find_box(after.image_bgr, evidence.view, evidence.settings).best
    if now is None or box is None:
        return "no"
    u, v, w, h = cv2.boundingRect(np.asarray(box.corners_px, dtype=np.float32))
    return "yes" if u <= now[0] <= u + w and v <= now[1] <= v + h else "no"


def _largest_red(image: Picture) -> tuple[float, float] | None:
    hsv = cv2.cvtColor(image[:, 150:], cv2.COLOR_BGR2HSV)  # the mug at the picture's edge is red too
    mask = np.zeros(hsv.shape[:2], np.uint8)
    for low, high in PLAIN_HUES:
        mask |= np.asarray(cv2.inRange(hsv, np.array((low, 100, 60)), np.array((high, 255, 255))), np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    contour = max(contours, key=cv2.contourArea, default=None)
    if contour is None or (moments := cv2.moments(contour))["m00"] < 100:
        return None
    return moments["m10"] / moments["m00"] + 150, moments["m01"] / moments["m00"]


def judged(opened: OpenSet, config: Config, tell: bool) -> list[tuple[LabelledItem, dict[str, str], float]]:
    """Every item with the word of each way, and our seconds."""
    judge, settings = MeasuredJudge(), detect_settings(config)
    view: View | None = load_view(opened.folder / opened.content.calibration) if opened.content.calibration else None
    out = []
    for number, item in enumerate(opened.content.items, 1):
        evidence = evidence_of(opened, item, settings, view)
        bare = Evidence(evidence.stage, evidence.pictures, evidence.grip, settings, None)
        verdict, in_pixels = judge.judge(evidence), judge.judge(bare)
        words = {OURS: str(verdict.verdict), PLAIN: plain_word(evidence), PIXELS: str(in_pixels.verdict)}
        out.append((item, words, verdict.audit.seconds or 0.0))
        if tell and number % 200 == 0:
            print(f"{number} of {len(opened.content.items)} judged", file=sys.stderr)
    return out


def figures(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Of (label, word) pairs: the four counts and their rates."""
    failures = [word for label, word in pairs if label == "no"]
    successes = [word for label, word in pairs if label == "yes"]
    unsure = sum(word == "unsure" for _, word in pairs)
    out: dict[str, Any] = {"scenes": len(pairs), "failures": len(failures)}
    for name, count, n in (
        ("false_success", failures.count("yes"), len(failures)),
        ("false_failure", successes.count("no"), len(successes)),
        ("unsure", unsure, len(pairs)),
    ):
        rate = exact_rate(count, n)
        share = None if rate.rate is None else round(rate.rate, 5)
        out[name] = {"count": count, "of": n, "rate": share, "low": round(rate.low, 5), "high": round(rate.high, 5)}
    return out


def by_kind(rows: Sequence[tuple[LabelledItem, dict[str, str], float]], way: str) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for item, words, _ in rows:
        counts[item.stage, item.kind, item.label][words[way]] += 1
    return [
        {"stage": s, "kind": k, "label": label, "scenes": sum(c.values()), **{word: c[word] for word in WORDS}}
        for (s, k, label), c in sorted(counts.items(), key=lambda pair: (pair[0][0], pair[0][2] == "no", pair[0][1]))
    ]


def real_pairs(frames: Path, config: Config) -> list[dict[str, Any]]:
    """The words on pairs of real pictures, which show other tasks."""
    if not (frames / "annotations.json").exists():
        return []
    out = []
    judge, settings = MeasuredJudge(), detect_settings(config)
    for pair in json.loads((frames / "annotations.json").read_text())["pairs"]:
        pictures = tuple(LabelledPicture(role, role, read_picture(frames / pair[role])) for role in ("before", "after"))
        cases: tuple[tuple[JudgedStage, GripReading | None], ...] = (
            ("pick", None),
            ("pick", HELD),
            ("place", None),
            ("place", EMPTY),
        )
        for stage, grip in cases:
            verdict = judge.judge(Evidence(stage, pictures, grip, settings, None))
            said = "none" if grip is None else "held" if grip.holding else "empty"
            out.append(
                {"pair": pair["id"], "stage": stage, "grip": said, "word": verdict.verdict, "reason": verdict.reason}
            )
    return out


def report(opened: OpenSet, config: Config, frames: Path, *, tell: bool) -> dict[str, Any]:
    """Everything that is reported, as plain values."""
    rows = judged(opened, config, tell)
    seconds = [s for _, _, s in rows]
    ways: dict[str, Any] = {}
    for way in (OURS, PLAIN, PIXELS):
        pairs = [(item, words[way]) for item, words, _ in rows]
        told = [(item.label, word) for item, word in pairs]
        ways[way] = {
            "all": figures(told),
            "to_be_told": figures([(i.label, w) for i, w in pairs if i.kind not in NOT_TO_BE_TOLD]),
            **{s: figures([(i.label, w) for i, w in pairs if i.stage == s]) for s in ("place", "pick")},
            "kinds": by_kind(rows, way),
        }
    wrong = [
        {"id": item.id, "label": item.label, "word": words[OURS], "note": item.note}
        for item, words, _ in rows
        if words[OURS] != "unsure" and words[OURS] != item.label
    ]
    return {
        "set": opened.content.made_by,
        "content_hash": opened.content_hash,
        "ways": ways,
        "wrong": wrong,
        "median_s": round(float(np.median(seconds)), 3),
        "real_pairs": real_pairs(frames, config),
    }


def table(result: dict[str, Any]) -> Iterable[str]:
    """The result for people."""
    yield f"{result['set']}; {result['median_s'] * 1000:.0f} ms a verdict (median)"
    for way, of_way in result["ways"].items():
        yield f"\n{way}"
        for part in ("all", "to_be_told", "place", "pick"):
            f = of_way[part]
            if not f["scenes"]:
                continue
            rates = "   ".join(
                f"{name.replace('_', ' ')} {f[name]['count']}/{f[name]['of']}"
                + ("" if f[name]["rate"] is None else f" = {f[name]['rate']:.2%} (up to {f[name]['high']:.2%})")
                for name in ("false_success", "false_failure", "unsure")
            )
            yield f"  {part:<11}{f['scenes']:>6} scenes   {rates}"
        if way == PLAIN:
            continue
        yield f"  {'stage':<7}{'kind':<17}{'label':<7}{'scenes':>7}{'yes':>6}{'no':>6}{'unsure':>8}"
        for k in of_way["kinds"]:
            counts = f"{k['scenes']:>7}{k['yes']:>6}{k['no']:>6}{k['unsure']:>8}"
            yield f"  {k['stage']:<7}{k['kind']:<17}{k['label']:<7}{counts}"
    for row in result["wrong"]:
        yield f"wrong: {row['id']}: {row['word']} where {row['label']} is right; {row['note']}"
    words = Counter(row["word"] for row in result["real_pairs"])
    if words:
        yield "\nreal pairs of other tasks: " + ", ".join(f"{words[w]} {w}" for w in WORDS)
    else:
        yield "\nreal pairs: skipped, the folder is not there"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", type=Path, help="a set that has been made; else one is rendered")
    parser.add_argument("--scenes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--frames", type=Path, default=DEFAULT_FRAMES)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    config = Config()
    tell = partial(print, file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        if args.set is not None:
            opened = read_set(args.set)
        else:
            calibration = Path(scratch) / "calibration"
            calibrate_twin(config, calibration, lambda _: None)
            read = partial(
                judge_reading, gripper=gripper_of(arm_of(config)[0]), settings=config.gripper, block=config.block
            )
            opened = make_set(
                Path(scratch) / "set",
                config,
                calibration,
                scenes=args.scenes,
                seed=args.seed,
                read=read,
                workers=args.workers,
                progress=tell,
            )
        result = report(opened, config, args.frames, tell=True)
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
