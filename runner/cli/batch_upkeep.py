"""A batch's upkeep in words, for `trialcell batch status`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from runs.batch_upkeep import Upkeep


def upkeep_told(upkeep: Upkeep) -> tuple[dict[str, Any], list[Text]]:
    """For JSON and for people."""
    lines: list[Text] = []
    resets = upkeep.resets_done + upkeep.resets_failed
    if resets:
        told = f"the arm put the block to its start {upkeep.resets_done} of {resets} times; "
        lines.append(Text(told + _calls(upkeep), style="dim"))
    elif upkeep.calls:
        lines.append(Text(_calls(upkeep), style="dim"))
    spent = [f"{upkeep.clock_h:.1f} h of the arm's clock"]
    spent += [f"{upkeep.rested_h:.1f} h of it at rest"] if upkeep.rested_h >= 0.05 else []
    spent += [f"{upkeep.waited_h:.1f} h waiting for a person"] if upkeep.waited_h >= 0.05 else []
    if upkeep.mb_per_trial is not None:
        spent.append(f"{upkeep.mb_per_trial:.2f} MB a trial, {upkeep.trials_mb + upkeep.resets_mb:.0f} MB in all")
        lines.append(Text(", ".join(spent), style="dim"))
    if upkeep.faults:
        names = ", ".join(f"{name} {n}" for name, n in sorted(upkeep.faults.items(), key=lambda f: (-f[1], f[0])))
        lines.append(Text(f"faults that had begun in trials: {names}", style="dim"))
    return {"upkeep": asdict(upkeep)}, lines


def _calls(upkeep: Upkeep) -> str:
    if upkeep.hours_between_calls is None:
        return "nobody was called"
    times = "once" if upkeep.calls == 1 else f"{upkeep.calls} times"
    return f"a person was called {times}, every {upkeep.hours_between_calls:.1f} h"
