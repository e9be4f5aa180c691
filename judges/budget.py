"""What a run may spend on judging: calls and dollars, looked at before every call; and what a verdict has cost.

A call whose price is not known counts as a call only. One whose answer was lost counts as what it could have cost at
most, because it may be billed.
"""

from __future__ import annotations

import threading

from runs.schema.verdict import Verdict


class Budget:
    """Counts calls and dollars against their limits. Safe from several threads."""

    def __init__(self, *, limit_usd: float, limit_calls: int) -> None:
        self.limit_usd, self.limit_calls = limit_usd, limit_calls
        self._usd, self._calls = 0.0, 0
        self._turn = threading.Lock()

    @property
    def spent_usd(self) -> float:
        """Dollars so far, lost answers at their most."""
        return self._usd

    @property
    def calls(self) -> int:
        """Calls so far."""
        return self._calls

    def take(self, most_usd: float | None) -> str | None:
        """Count one more call that may cost so much at most. None if it fits, else why not; then nothing is counted."""
        with self._turn:
            if self._calls >= self.limit_calls:
                return f"{self._calls} calls are made, as many as this run may"
            if most_usd is not None and self._usd + most_usd > self.limit_usd:
                return (
                    f"${self._usd:.4f} are spent and this call may cost ${most_usd:.4f}; this run may spend "
                    f"${self.limit_usd:g}"
                )
            self._calls += 1
            self._usd += most_usd or 0.0
            return None

    def settle(self, most_usd: float | None, cost_usd: float | None) -> None:
        """A call that was taken for `most_usd` has cost `cost_usd`; None: nobody knows, so the most stands."""
        if most_usd is None or cost_usd is None:
            return
        with self._turn:
            self._usd += cost_usd - most_usd


def spent_on(*verdicts: Verdict) -> float | None:
    """What verdicts have cost, with all that they were made from; None where it is not known of one request.

    Who sends nothing costs nothing.
    """
    total = 0.0
    for verdict in verdicts:
        inner = (*verdict.members, *verdict.alongside)
        parts = [spent_on(each) for each in inner]
        parts += [verdict.audit.cost_usd] if verdict.audit.attempts else []
        for part in parts:
            if part is None:
                return None
            total += part
    return total
