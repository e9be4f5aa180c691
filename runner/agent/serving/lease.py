"""A lease of the arm: to whom, until when. Each call of its holder renews it, up to a longest time."""

from __future__ import annotations

import secrets
from hmac import compare_digest

from runner.agent.limits import Clock


class Lease:
    """One holder's. Seconds are of `now_s`."""

    def __init__(self, client: str, *, seconds: float, most_s: float, now_s: Clock) -> None:
        self.client, self.key = client, secrets.token_urlsafe(12)
        self._seconds, self._now_s = min(seconds, most_s), now_s
        self._last_s = now_s() + most_s
        self._until_s = now_s() + self._seconds

    @property
    def left_s(self) -> float:
        """Seconds until it runs out, 0 at least."""
        return max(0.0, min(self._until_s, self._last_s) - self._now_s())

    @property
    def over(self) -> bool:
        """Whether it has run out."""
        return self.left_s <= 0

    def renew(self) -> float:
        """From now on as long as at first, but not beyond the longest; the seconds that it then has."""
        self._until_s = self._now_s() + self._seconds
        return self.left_s

    def fits(self, key: str) -> bool:
        """Whether that is its key."""
        return compare_digest(self.key.encode(), key.encode("utf-8", "replace"))
