"""Does a batch know enough to end before its plan? Asked after every round, by intervals that allow for it.

Such an interval holds the truth at all looks together as often as it says, so ending at the first good moment makes it
no less true. It decides nothing but that.
"""

from __future__ import annotations

from runs.batch_state import BatchState
from runs.sequential import paired_difference_so_far, rate_so_far


def why_enough(state: BatchState) -> str | None:
    """What is known, where that is what the plan was to find out; else None."""
    plan = state.plan
    if plan.stop_after_s is not None and state.clock_s >= plan.stop_after_s:
        return f"{plan.stop_after_s / 3600.0:g} h of the arm's clock are over"
    if plan.stop_decided:
        found = paired_difference_so_far(*state.pairs())
        if found.n and (found.low > 0.0 or found.high < 0.0):
            better = "B" if found.low > 0.0 else "A"
            return f"{better} is better: B − A is {found.low:+.3f} … {found.high:+.3f} over {found.n} pairs"
    if plan.stop_within is not None:
        success = state.success()
        rate = rate_so_far(success.successes, success.n)
        if success.n and (rate.high - rate.low) / 2.0 <= plan.stop_within:
            return f"the success rate is {rate.low:.3f} … {rate.high:.3f} after {success.n} trials"
    return None
