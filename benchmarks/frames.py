"""Block and box detection on real pictures, held against the annotations and against the plain way, in one run.

Usage: python benchmarks/frames.py [--frames DIR] [--colour NAME ...] [--overlays DIR] [--json]

A block counts as found when a detection's centre lies within max(tolerance_px, half the block's smaller side) of its
annotated centre or top-face centre; each detection finds at most one block. Only blocks marked `scored` can be missed.
A detection that finds nothing is a false alarm where the annotation is complete for the colour; one upon a block that
is not scored, or whose colour people could name otherwise, counts neither way. Pictures are looked at one by one,
without a calibration and with the default settings; nothing is told to the detector but the colour.

The plain way is the textbook one: two hue ranges, an opening, and the largest contour (or every contour over 100 px²).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.cameras.protocol import Picture, read_picture
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.protocol import DetectSettings
from vision.overlay import draw_overlay

Pixel = tuple[float, float]
Finder = Callable[[Picture], list[Pixel]]

DEFAULT_FRAMES = Path(__file__).resolve().parent.parent.parent / "shared" / "frames"
UNSURE_AS = {"orange-red": ("red", "orange")}  # colours that the annotator put between two names
PLAIN_HUES = {
    "red": ((0, 10), (170, 180)),
    "orange": ((10, 22),),
    "yellow": ((22, 35),),
    "green": ((40, 85),),
    "blue": ((90, 115),),
    "purple": ((115, 155),),
}
OURS, PLAIN_LARGEST, PLAIN_ALL = "ours", "plain_largest", "plain_all"


@dataclass
class Tally:
    """Counts over pictures, and the errors of what was found."""

    scored: int = 0
    found: int = 0
    false: int = 0
    errors_px: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.scored += other.scored
        self.found += other.found
        self.false += other.false
        self.errors_px += other.errors_px

    def as_dict(self) -> dict[str, Any]:
        errors = self.errors_px
        return {
            "scored": self.scored,
            "found": self.found,
            "missed": self.scored - self.found,
            "false": self.false,
            "found_rate": round(self.found / self.scored, 4) if self.scored else None,
            "median_error_px": round(float(np.median(errors)), 2) if errors else None,
            "p95_error_px": round(float(np.percentile(errors, 95)), 2) if errors else None,
        }


def centres_of(thing: dict[str, Any]) -> list[Pixel]:
    """The annotated centres that a detection may be near."""
    points = [thing["centre_px"], thing.get("top_face_centre_px")]
    return [(float(p[0]), float(p[1])) for p in points if p]


def reach_px(thing: dict[str, Any]) -> float:
    """How far from the centre a detection still finds the thing."""
    x0, y0, x1, y1 = thing["bbox_px"]
    return max(float(thing.get("tolerance_px", 0)), 0.5 * min(x1 - x0, y1 - y0))


def score(detections: Sequence[Pixel], things: Sequence[dict[str, Any]], *, complete: bool) -> Tally:
    """Match detections to annotated things, nearest pairs first."""
    pairs = sorted(
        (min(float(np.hypot(u - a, v - b)) for a, b in centres_of(thing)), i, j)
        for i, (u, v) in enumerate(detections)
        for j, thing in enumerate(things)
    )
    used: set[int] = set()
    met: set[int] = set()
    tally = Tally(scored=sum(bool(thing["counts"]) for thing in things))
    for off_px, i, j in pairs:
        if i in used or j in met or off_px > reach_px(things[j]):
            continue
        used.add(i)
        met.add(j)
        if things[j]["counts"]:
            tally.found += 1
            tally.errors_px.append(off_px)
    tally.false = len(detections) - len(used) if complete else 0
    return tally


def blocks_of(picture: dict[str, Any], colour: str) -> list[dict[str, Any]]:
    """The annotated blocks that have, or may be said to have, a colour."""
    out = []
    for block in picture["blocks"]:
        if block["colour"] == colour:
            out.append({**block, "counts": block["scored"] and not block.get("colour_unsure")})
        elif colour in UNSURE_AS.get(block["colour"], ()):
            out.append({**block, "counts": False})
    return out


def is_complete(picture: dict[str, Any], colour: str) -> bool:
    known = picture["complete_for_colours"]
    return known == "all" or colour in known


def plain_centres(image: Picture, colour: str) -> list[tuple[float, Pixel]]:
    """Contours (area, centre) of two hue ranges with fixed limits: how it is usually done."""
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    mask = np.zeros(hsv.shape[:2], np.uint8)
    for low, high in PLAIN_HUES[colour]:
        mask |= np.asarray(cv2.inRange(hsv, np.array((low, 100, 60)), np.array((high, 255, 255))), np.uint8)
    mask = np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    out = []
    for contour in contours:
        moments = cv2.moments(contour)
        if moments["m00"] > 100:
            centre = (moments["m10"] / moments["m00"], moments["m01"] / moments["m00"])
            out.append((float(moments["m00"]), centre))
    return sorted(out, reverse=True)


def finders_for(colour: str) -> dict[str, Finder]:
    settings = DetectSettings(colour=colour)
    finders: dict[str, Finder] = {
        OURS: lambda image: [block.centre_px for block in find_block(image, None, settings).accepted]
    }
    if colour in PLAIN_HUES:
        finders[PLAIN_LARGEST] = lambda image: [centre for _, centre in plain_centres(image, colour)[:1]]
        finders[PLAIN_ALL] = lambda image: [centre for _, centre in plain_centres(image, colour)]
    return finders


def box_centres(image: Picture) -> list[Pixel]:
    return [box.centre_px for box in find_box(image, None, DetectSettings()).accepted]


def white_boxes_of(picture: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**box, "counts": box["scored"]} for box in picture["boxes"] if box["colour"] == "white"]


def run(frames: Path, colours: Sequence[str], overlays: Path | None) -> dict[str, Any]:
    """Everything that is reported, as plain values."""
    annotations = json.loads((frames / "annotations.json").read_text())
    scenes = [p for p in annotations["pictures"] if p["kind"] == "scene"]
    pictures: list[dict[str, Any]] = []
    totals: dict[str, dict[str, Tally]] = {c: defaultdict(Tally) for c in colours}
    groups: dict[str, dict[str, dict[str, Tally]]] = {c: defaultdict(lambda: defaultdict(Tally)) for c in colours}
    boxes = Tally()
    times_ms: list[float] = []
    for scene in scenes:
        image = read_picture(frames / scene["file"])
        row: dict[str, Any] = {"id": scene["id"], "group": scene["group"], "blocks": {}}
        for colour in colours:
            things, complete = blocks_of(scene, colour), is_complete(scene, colour)
            row["blocks"][colour] = {}
            for way, find in finders_for(colour).items():
                began = time.perf_counter()
                found = find(image)
                if way == OURS:
                    times_ms.append(1000 * (time.perf_counter() - began))
                tally = score(found, things, complete=complete)
                row["blocks"][colour][way] = tally.as_dict()
                totals[colour][way].add(tally)
                groups[colour][scene["group"]][way].add(tally)
        tally = score(box_centres(image), white_boxes_of(scene), complete=scene["complete_for_colours"] == "all")
        row["white_boxes"] = tally.as_dict()
        boxes.add(tally)
        pictures.append(row)
        if overlays is not None:
            save_overlay(image, colours[0], overlays / f"{scene['id']}.jpg")
    return {
        "frames": len(scenes),
        "rule": "centre within max(tolerance_px, half the smaller side) of the annotated centre or top-face centre",
        "totals": {c: {way: tally.as_dict() for way, tally in ways.items()} for c, ways in totals.items()},
        "groups": {
            c: {g: {way: tally.as_dict() for way, tally in ways.items()} for g, ways in by_group.items()}
            for c, by_group in groups.items()
        },
        "white_boxes": boxes.as_dict(),
        "median_ms": round(float(np.median(times_ms)), 2),
        "pictures": pictures,
    }


def save_overlay(image: Picture, colour: str, path: Path) -> None:
    settings = DetectSettings(colour=colour)
    blocks, boxes = find_block(image, None, settings), find_box(image, None, settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = draw_overlay(image, blocks=blocks.accepted, box=boxes.best, dropped=blocks.dropped[:6])
    cv2.imwrite(str(path), drawn)


def table(result: dict[str, Any]) -> Iterable[str]:
    """The result for people."""
    for colour, ways in result["totals"].items():
        yield f"\n{colour} blocks, without calibration; rule: {result['rule']}"
        yield (
            f"  {'picture':<18}{'scored':>7}{'found':>7}{'missed':>8}{'false':>7}{'error px':>10}"
            + 6 * " "
            + "plain: found/false"
        )
        for row in result["pictures"]:
            ours, plain = row["blocks"][colour][OURS], row["blocks"][colour].get(PLAIN_LARGEST)
            if ours["scored"] or ours["false"] or (plain and plain["false"]):
                yield _line(row["id"], ours, plain)
        yield "  by group"
        for group, by_way in result["groups"][colour].items():
            if by_way[OURS]["scored"] or by_way[OURS]["false"]:
                yield _line(group, by_way[OURS], by_way.get(PLAIN_LARGEST))
        yield "  in all"
        for way, tally in ways.items():
            yield _line(way, tally, None)
    yield "\nwhite boxes, without calibration"
    yield _line("in all", result["white_boxes"], None)
    yield f"\n{result['frames']} pictures, {result['median_ms']:.1f} ms a picture and colour (median)"


def _line(name: str, ours: dict[str, Any], plain: dict[str, Any] | None) -> str:
    error = "" if ours["median_error_px"] is None else f"{ours['median_error_px']:.1f}"
    rate = "" if ours["found_rate"] is None else f"{ours['found_rate']:7.0%}"
    beside = "" if plain is None else f"{plain['found']:>11}/{plain['false']}"
    counts = f"{ours['scored']:>7}{ours['found']:>7}{ours['missed']:>8}{ours['false']:>7}"
    return f"  {name:<18}{counts}{error:>10}{rate:>7}{beside}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=Path, default=DEFAULT_FRAMES, help="folder with annotations.json and pictures")
    parser.add_argument("--colour", action="append", choices=sorted(PLAIN_HUES), help="default: red; may be repeated")
    parser.add_argument("--overlays", type=Path, help="write what was found as pictures into this folder")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    if not (args.frames / "annotations.json").is_file():
        print(f"no annotated pictures in {args.frames}; name their folder with --frames DIR", file=sys.stderr)
        return 2
    result = run(args.frames, args.colour or ["red"], args.overlays)
    if args.json:
        print(json.dumps(result))
    else:
        print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
