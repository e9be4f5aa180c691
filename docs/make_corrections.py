"""Makes the pictures of docs/corrections.md: trials of an uncalibrated arm on the twin, and what is drawn of them.

python docs/make_corrections.py [--trials 70] [--cell DIR]; with --trials 0 of what that cell has learned already.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from runner.cell import open_cell
from runner.cli.main import run
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.store import RunStore

HERE = Path(__file__).parent
DESK = ("twin.profile=uncalibrated", "twin.desk_seed=5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=70)
    parser.add_argument("--cell", type=Path, help="a cell to use; a new one by default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.cell or Path(scratch) / "cell"
        if not folder.exists():
            desk = [arg for setting in DESK for arg in ("--set", setting)]
            assert run(["init", "--cell", str(folder), *desk]) == 0
        for seed in range(1, args.trials + 1):
            cell, switch = open_cell(folder), StopSwitch()
            with build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
                print(seed, run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch).result, flush=True)
        run(["corrections", "propose", "--cell", str(folder)])
        where = ["--cell", str(folder)]
        assert (
            run(["corrections", "show", "--of", "lessons", "--out", str(HERE / "corrections-lessons.png"), *where]) == 0
        )
        assert (
            run(["corrections", "show", "--of", "candidate", "--out", str(HERE / "corrections-map.png"), *where]) == 0
        )


if __name__ == "__main__":
    main()
