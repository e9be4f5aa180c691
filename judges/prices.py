"""What a judgement costs, by the dated price list beside this module. What is not in it has no price, not price 0.

Each cost says which list it was reckoned with.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any

from runs.schema.base import Record

_DATED = re.compile(r"-\d{8}$")
MILLION = 1_000_000
MOST_TOKENS = 10**9  # of one request; a count beyond that is none


class Price(Record):
    """USD per million tokens; a prompt of more than `long_over_tokens` costs the long prices altogether."""

    input: float
    output: float
    long_over_tokens: int | None = None
    long_input: float | None = None
    long_output: float | None = None


class Shares(Record):
    """What cached tokens cost, and everything in a batch, as shares of the list price."""

    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    batch: float


class Prices(Record):
    """A dated list."""

    version: str
    source: str
    models: dict[str, Price]
    shares: Shares

    def of(self, model: str) -> Price | None:
        """The row of a model, also by its dated name; None where it has none."""
        return self.models.get(model) or self.models.get(_DATED.sub("", model))

    def cost_usd(self, model: str, usage: Mapping[str, Any], *, batch: bool = False) -> float | None:
        """What this usage costs; None without a price, without the counts, or with counts that can't be.

        Args:
            usage: as the service gives it: `input_tokens` (the part that is not cached), `output_tokens`,
                `cache_creation_input_tokens`, `cache_read_input_tokens`.
        """
        price = self.of(model)
        fresh, out = count(usage, "input_tokens"), count(usage, "output_tokens")
        if price is None or fresh is None or out is None:
            return None
        read = count(usage, "cache_read_input_tokens") or 0
        written = count(usage, "cache_creation_input_tokens") or 0
        parts = usage.get("cache_creation")
        hour = (count(parts, "ephemeral_1h_input_tokens") or 0) if isinstance(parts, Mapping) else 0
        per_in, per_out = _rates(price, fresh + read + written)
        shares = self.shares
        weighed = (
            fresh + read * shares.cache_read + (written - hour) * shares.cache_write_5m + hour * shares.cache_write_1h
        )
        cost_usd = (weighed * per_in + out * per_out) / MILLION * (shares.batch if batch else 1.0)
        return cost_usd if isfinite(cost_usd) and cost_usd >= 0 else None

    def most_usd(self, model: str, input_tokens: int, max_tokens: int, *, batch: bool = False) -> float | None:
        """The most that a call can cost: all of `max_tokens` written."""
        usage = {"input_tokens": input_tokens, "output_tokens": max_tokens}
        return self.cost_usd(model, usage, batch=batch)


@cache
def load_prices() -> Prices:
    """The list that comes with the program."""
    return Prices.model_validate(tomllib.loads((files("judges") / "prices.toml").read_text(encoding="utf-8")))


def count(usage: Mapping[str, Any], key: str) -> int | None:
    """A count of tokens as a server gives it; None where it gives none that can be."""
    value = usage.get(key)
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if fits else None


def _rates(price: Price, prompt_tokens: int) -> tuple[float, float]:
    if price.long_over_tokens is not None and prompt_tokens > price.long_over_tokens:
        return price.long_input or price.input, price.long_output or price.output
    return price.input, price.output
