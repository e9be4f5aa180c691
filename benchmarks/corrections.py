"""How near the tip comes with corrections: none, the field's rule, the robust rule that must prove itself.

Three parts, each with all the ways side by side: (1) fits of synthetic lessons, with wild readings; (2) whole batches
of an invented arm whose tip is measured honestly, or by somebody who lies; (3) with --twin, lessons of real trials on
the twin, each one's error with the lessons of the others. Part 2 uses the program's own files, proofs and promotions;
only arm and measurement are invented, and say so here. Prints tables; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import cos, erf, hypot, radians, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from runs.corrections.file import CorrectionFile, model_in_use
from runs.corrections.model import NO_MODEL, CorrectionModel
from runs.corrections.proof import Outcome, Pair, ProofSettings
from runs.corrections.rule import RuleSettings, model_of
from runs.corrections.table import BelongsTo, CorrectionTable, Lesson, Way
from runs.corrections.unattended import arms, end_block
from runs.statistics import exact_rate

HERE = BelongsTo(calibration_hash="invented", table_hash="invented")
RULES = {"field": RuleSettings(rule="field"), "robust": RuleSettings()}
BLOCK = 40
JAWS_MM = 8.0  # the tip may be so far off before a pick begins to fail


@dataclass(frozen=True)
class InventedArm:
    """Misses by shift, yaw and scale, and by a ripple over the table that none of these explains; mm."""

    shift_mm: tuple[float, float]
    yaw_deg: float
    scale: float
    ripple_mm: float
    phase: float

    @classmethod
    def of(cls, seed: int, *, size: float = 1.0, ripple_mm: float = 1.2) -> InventedArm:
        rng = np.random.default_rng([seed, 7])
        x, z = rng.normal(0, 8.0 * size, 2)
        return cls((x, z), rng.normal(0, 2.0 * size), rng.normal(0, 0.01 * size), ripple_mm, rng.uniform(0, 6))

    def missed_mm(self, at: tuple[float, float]) -> tuple[float, float]:
        x, z = at[0] * 1000, at[1] * 1000 - 200
        turn = radians(self.yaw_deg)
        ripple = self.ripple_mm * sin(x / 25 + self.phase), self.ripple_mm * cos(z / 25 + self.phase)
        return (
            self.shift_mm[0] - turn * z + self.scale * x + ripple[0],
            self.shift_mm[1] + turn * x + self.scale * z + ripple[1],
        )


def somewhere(rng: np.random.Generator) -> tuple[float, float]:
    r, angle = rng.uniform(0.15, 0.30), rng.uniform(0.1, 1.3)
    return float(r * cos(angle)), float(r * sin(angle))


def left_mm(model: CorrectionModel, arm: InventedArm, n: int = 150) -> list[float]:
    """How far the tip is off with a model at places that taught it nothing."""
    rng, off = np.random.default_rng(99), []
    for _ in range(n):
        at = somewhere(rng)
        target, _ = model.apply("pick", at, Way())
        dx, dz = arm.missed_mm(at)
        off.append(hypot(dx + (target[0] - at[0]) * 1000, dz + (target[1] - at[1]) * 1000))
    return off


def fits(seeds: int) -> list[dict[str, Any]]:
    """Part 1."""
    rows = []
    for wild in (0.0, 0.2):
        for n in (5, 20, 100, 400):
            off: dict[str, list[float]] = {"none": [], "field": [], "robust": []}
            for seed in range(seeds):
                arm, rng, table = (
                    InventedArm.of(seed),
                    np.random.default_rng([seed, n]),
                    CorrectionTable(belongs_to=HERE),
                )
                lessons = []
                for k in range(n):
                    at = somewhere(rng)
                    seen = np.add(arm.missed_mm(at), rng.normal(0, 1.0, 2))
                    if rng.random() < wild:
                        seen = rng.uniform(-28, 28, 2)
                    lessons.append(Lesson.of("pick", at, (float(seen[0]), float(seen[1])), run_id=f"r{k:05}", at=""))
                table = table.learned(*lessons)
                off["none"] += left_mm(NO_MODEL, arm)
                for name, rule in RULES.items():
                    off[name] += left_mm(model_of(table, rule), arm)
            for name, values in off.items():
                worst = sorted(values)[int(0.95 * len(values))]
                rows.append(
                    {"wild": wild, "lessons": n, "rule": name, "median_mm": statistics.median(values), "p95_mm": worst}
                )
    return rows


Liar = Callable[[int, np.random.Generator, tuple[float, float]], tuple[float, float]]


def honest(number: int, rng: np.random.Generator, true: tuple[float, float]) -> tuple[float, float]:
    return true


def aside(number: int, rng: np.random.Generator, true: tuple[float, float]) -> tuple[float, float]:
    """Everything is measured 14 mm to the right, as by a camera that was bumped and not calibrated again."""
    return true[0] + 14.0, true[1]


def drifting(number: int, rng: np.random.Generator, true: tuple[float, float]) -> tuple[float, float]:
    """Farther and farther to the right, 1 mm in 20 trials."""
    return true[0] + min(25.0, number / 20), true[1]


def wild(number: int, rng: np.random.Generator, true: tuple[float, float]) -> tuple[float, float]:
    """Two readings of five are anywhere."""
    if rng.random() < 0.4:
        return float(rng.uniform(-28, 28)), float(rng.uniform(-28, 28))
    return true


def turned(number: int, rng: np.random.Generator, true: tuple[float, float]) -> tuple[float, float]:
    """An enemy: the opposite of what is so, and half as much again."""
    return -1.5 * true[0], -1.5 * true[1]


LIARS: dict[str, Liar] = {one.__name__: one for one in (honest, aside, drifting, wild, turned)}


@dataclass
class Batch:
    """What a batch came to. `first_try` and `tip_mm` are the truth, trial by trial."""

    first_try: list[bool] = field(default_factory=list)
    tip_mm: list[float] = field(default_factory=list)
    promoted: int = 0
    refused: int = 0
    proposed: int = 0


def batch(
    folder: Path, arm: InventedArm, rule: str, liar: Liar, trials: int, seed: int, proof: ProofSettings | None = None
) -> Batch:
    """A batch left alone. The same seed gives the same starts and the same luck, whatever the rule."""
    file, done, settings = CorrectionFile(folder), Batch(), proof or ProofSettings()
    starts, luck, noise = (np.random.default_rng([seed, k]) for k in (1, 2, 3))
    tries = 0
    pairs: list[Pair] = []
    for block in range(0, trials, BLOCK):
        state = file.load(HERE)
        use_rule = RULES["robust" if rule == "none" else rule]
        models = {use: model_in_use(state, use_rule, use) for use in ("live", "candidate")}  # type: ignore[arg-type]
        lessons, outcomes = [], {"live": [], "candidate": []}
        order = arms(tries, min(BLOCK, trials - block))
        for number in range(block, min(block + BLOCK, trials)):
            use = order[number - block]
            at = somewhere(starts)
            model, chances = NO_MODEL if rule == "none" else models[use], luck.random(2)
            missed: tuple[float, float] | None = None
            for attempt in (0, 1):
                target, correction = model.apply("pick", at, Way(), missed_mm=missed)
                dx, dz = arm.missed_mm(at)
                true = dx + (target[0] - at[0]) * 1000, dz + (target[1] - at[1]) * 1000
                off = hypot(*true)
                good = bool(chances[attempt] < 0.998 * 0.5 * (1 + erf((JAWS_MM - off) / sqrt(2))))
                seen = liar(number, noise, true)
                measured = seen[0] + float(noise.normal(0, 0.8)), seen[1] + float(noise.normal(0, 0.8))
                if attempt == 0:
                    done.first_try.append(good)
                    done.tip_mm.append(off)
                    outcomes[use].append(Outcome(run_id=f"r{number:05}", succeeded=good, tip_mm=hypot(*measured)))
                if good or hypot(*measured) > 30.0:
                    break
                missed = measured
            if good and hypot(*measured) <= 30.0:
                lesson = Lesson.of("pick", at, measured, run_id=f"r{number:05}", at="", applied=correction)
                lessons.append(lesson)
        if rule == "none":
            continue
        file.merge(HERE, lessons, source="block", by="batch")
        if rule == "field":
            continue
        both = zip(outcomes["candidate"], outcomes["live"], strict=False)
        pairs += [Pair(start=a.run_id, with_it=a, without=b) for a, b in both]
        end = end_block(file, HERE, pairs, rule=use_rule, proof=settings, by="batch")
        tries = end.tries
        if end.promoted is not None or end.proposed is not None:
            pairs = []
        done.promoted += end.promoted is not None
        done.proposed += end.proposed is not None
        done.refused += end.proof is not None and end.promoted is None and end.proof.word in ("worse", "unpromising")
    return done


def batches(seeds: Sequence[int], trials: int, liars: Sequence[str]) -> list[dict[str, Any]]:
    """Part 2. An arm that is off teaches what corrections gain; one that is nearly right what lies can spoil."""
    rows = []
    for name in liars:
        for rule in ("none", "field", "robust"):
            runs = []
            for seed in seeds:
                arm = InventedArm.of(seed, size=1.0 if name == "honest" else 0.25)
                with tempfile.TemporaryDirectory() as scratch:
                    runs.append(batch(Path(scratch), arm, rule, LIARS[name], trials, seed))
                print(f"{name} {rule} seed {seed}", file=sys.stderr)
            part = min(200, trials // 2)
            firsts, lasts = ([sum(b.first_try[a:b_]) for b in runs] for a, b_ in ((0, part), (trials - part, trials)))
            whole = exact_rate(sum(sum(b.first_try) for b in runs), trials * len(runs))
            rows.append(
                {
                    "measured": name,
                    "rule": rule,
                    "trials": trials * len(runs),
                    "success": whole.rate,
                    "low": whole.low,
                    "high": whole.high,
                    "first": sum(firsts) / part / len(runs),
                    "last": sum(lasts) / part / len(runs),
                    "tip_last_mm": statistics.median([mm for b in runs for mm in b.tip_mm[-part:]]),
                    "promoted": sum(b.promoted for b in runs),
                    "proposed": sum(b.proposed for b in runs),
                    "refused": sum(b.refused for b in runs),
                }
            )
    return rows


def twin(cell: Path, profile: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Part 3: lessons of trials on the twin; each trial's tip error with a model of all other squares' lessons."""
    from runner.cell import open_cell  # noqa: PLC0415 - only this part needs the twin
    from runner.learning import belongs_here  # noqa: PLC0415
    from runner.rig import Request, build_rig  # noqa: PLC0415
    from runner.trial.sequence import run_trial  # noqa: PLC0415
    from runner.trial.stop import StopSwitch  # noqa: PLC0415
    from runs.store import RunStore  # noqa: PLC0415

    for seed in seeds:
        opened, switch = open_cell(cell, [f"twin.profile={profile}", "trial.corrections=false"]), StopSwitch()
        with build_rig(opened, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
            log = run_trial(rig.bench, RunStore(opened.runs_dir), switch=switch)
        print(f"{profile} seed {seed} {log.result}", file=sys.stderr)
    belongs = belongs_here(open_cell(cell, [f"twin.profile={profile}"]))
    lessons = CorrectionFile(cell).load(belongs).table.lessons
    off: dict[str, list[float]] = {"none": [], "field": [], "robust": []}
    for one in lessons:
        others = CorrectionTable(belongs_to=belongs).learned(*[lesson for lesson in lessons if lesson is not one])
        models = {"none": NO_MODEL, **{name: model_of(others, rule) for name, rule in RULES.items()}}
        for name, model in models.items():
            target, _ = model.apply("pick", one.xz_m, one.way)
            dx, dz = one.uncorrected_mm
            off[name].append(hypot(dx + (target[0] - one.xz_m[0]) * 1000, dz + (target[1] - one.xz_m[1]) * 1000))
    return [
        {
            "profile": profile,
            "rule": name,
            "lessons": len(values),
            "median_mm": statistics.median(values) if values else None,
            "p95_mm": sorted(values)[int(0.95 * len(values))] if values else None,
        }
        for name, values in off.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="so many invented arms")
    parser.add_argument("--trials", type=int, default=1000, help="trials a batch")
    parser.add_argument("--liar", action="append", choices=list(LIARS), help="only these; all by default")
    parser.add_argument("--twin", metavar="SEEDS", help="part 3 with these seeds, for example 1-40")
    parser.add_argument("--profile", default="field", help="of the twin")
    parser.add_argument("--cell", type=Path, help="a cell to use for part 3; a new one by default")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {"fits": fits(args.seeds), "batches": batches(range(args.seeds), args.trials, args.liar or list(LIARS))}
    if args.twin:
        first, _, last = args.twin.partition("-")
        with tempfile.TemporaryDirectory() as scratch:
            cell = args.cell or Path(scratch) / "cell"
            found["twin"] = twin(cell, args.profile, range(int(first), int(last or first) + 1))
    if args.json:
        print(json.dumps(found))
        return
    for name, rows in found.items():
        print(f"\n{name}")
        print("  ".join(f"{key:>11}" for key in rows[0]))
        for row in rows:
            print(
                "  ".join(f"{value:>11.3f}" if isinstance(value, float) else f"{value!s:>11}" for value in row.values())
            )


if __name__ == "__main__":
    main()
