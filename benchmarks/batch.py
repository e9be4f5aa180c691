"""Twin batches: trials an hour with one worker and with two, and what pictures and resets cost.

The same plan each time, in fresh copies of one cell, one after the other in this run: ratios count, not hours. Compared
by wall time and by processor time, in virtual seconds of the arm for each; on a machine that others use too, the
processor's seconds are the ones to go by. The run logs of all numbers of workers must be alike but for the clock on the
wall and names made of times (`runs.likeness`), pictures' hashes included, and so must what the corrections learned.
Results in the twin only. Prints a table; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runs.corrections.file import CorrectionFile
from runs.likeness import differing
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
CLI = "from runner.cli.main import main; main()"


def trialcell(*args: object) -> tuple[dict[str, object], float, float]:
    """The command's answer, wall seconds, processor seconds of it and its workers."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CLI, *map(str, args), "--json"], env=env, capture_output=True, text=True, check=False
    )
    wall_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), wall_s, cpu_s


def unlike(one: Path, other: Path) -> list[str]:
    """What differs between the runs and the corrections of two cells; nothing where all is alike."""
    stores = [RunStore(cell / "runs") for cell in (one, other)]
    logs = [[store.open(entry.run_id).log for entry in store.list()] for store in stores]
    if len(logs[0]) != len(logs[1]):
        return [f"{len(logs[0])} and {len(logs[1])} runs"]
    found = {name for a, b in zip(*logs, strict=True) for name in differing(a, b)}
    taught = [
        [lesson.tip_minus_block_mm for state in CorrectionFile(cell).all_states() for lesson in state.table.lessons]
        for cell in (one, other)
    ]
    return sorted(found) + (["lessons"] if taught[0] != taught[1] else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--profile", choices=["perfect", "field"], default="field")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    ways = {f"{n} worker{'s' if n > 1 else ''}": (n, []) for n in args.workers}
    ways["teleport instead of resets"] = (1, ["--set", "batch.reset=teleport"])
    ways["one picture a look instead of three"] = (1, ["--set", "camera.captures=1"])
    ways["keeping telling pictures only"] = (1, ["--set", "batch.keep_pictures=telling"])
    rows: list[dict[str, object]] = []
    same: list[Path] = []
    with tempfile.TemporaryDirectory() as scratch:
        ready = Path(scratch) / "ready"
        trialcell("run", "--cell", ready, "--seed", 1)
        shutil.rmtree(ready / "runs")
        (ready / "corrections.json").unlink(missing_ok=True)
        for name, (n, settings) in ways.items():
            cell = Path(scratch) / name.replace(" ", "_")
            shutil.copytree(ready, cell)
            told, wall_s, cpu_s = trialcell(
                *("batch", "run", args.trials, "--workers", n, "--profile", args.profile, "--cell", cell, *settings)
            )
            size_mb = sum(path.stat().st_size for path in cell.glob("runs/**/*") if path.is_file()) / 1e6
            rows.append(
                {
                    "way": name,
                    "trials": told["finished"],
                    "completed": told["completed"],
                    "resets": told["resets"],
                    "wall_s": wall_s,
                    "cpu_s": cpu_s,
                    "arm_s": told["arm_s"],
                    "times_real": told["arm_s"] / wall_s,
                    "times_real_a_core": told["arm_s"] / cpu_s,
                    "mb_a_trial": size_mb / args.trials,
                }
            )
            if not settings:
                same.append(cell)
            print(f"{name}: {wall_s:.0f} s", file=sys.stderr)
        differs = sorted({name for cell in same[1:] for name in unlike(same[0], cell)})
    answer: dict[str, object] = {"ways": rows, "same_results": not differs, "differs": differs}
    if len(args.workers) > 1:
        answer["speedup"] = float(str(rows[0]["wall_s"])) / float(str(rows[1]["wall_s"]))
        answer["cores_used"] = [float(str(row["cpu_s"])) / float(str(row["wall_s"])) for row in rows[:2]]
    if args.json:
        print(json.dumps(answer))
        return
    print(f"{'way':46}{'wall':>8}{'processor':>11}{'real time ×':>13}{'a core ×':>10}{'MB a trial':>12}")
    for row in rows:
        print(
            f"{row['way']:46}{row['wall_s']:>6.0f} s{row['cpu_s']:>9.0f} s{row['times_real']:>13.1f}"
            f"{row['times_real_a_core']:>10.1f}{row['mb_a_trial']:>12.2f}"
        )
    alike = "alike" if not differs else f"NOT alike: {', '.join(differs)}"
    print(f"run logs and lessons with every number of workers: {alike}; speed-up {answer.get('speedup', 1):.2f}")


if __name__ == "__main__":
    main()
