"""What a judgement costs: by a dated list, and unknown where the list does not know."""

from __future__ import annotations

import pytest

from judges.prices import load_prices


def test_one_judgement_costs_what_the_list_says():
    """Four pictures of 1280 × 720 px and 1,500 tokens of text in, 600 out: reference values from the facts."""
    prices = load_prices()
    usage = {"input_tokens": 4 * 1196 + 1500, "output_tokens": 600}
    for model, usd in (("claude-haiku-5-5", 0.0009), ("claude-sonnet-5-5", 0.019), ("claude-opus-5-5", 0.037)):
        assert prices.cost_usd(model, usage) == pytest.approx(usd, rel=0.05)
        assert prices.cost_usd(model, usage, batch=True) == pytest.approx(usd / 2, rel=0.05)
        assert prices.most_usd(model, 6284, 600) == prices.cost_usd(model, usage)


def test_a_dated_name_has_the_price_of_its_model():
    prices = load_prices()
    assert prices.of("claude-haiku-5-5-20261007") == prices.of("claude-haiku-5-5")
    assert prices.of("claude-haiku-5-5-turbo") is None


def test_what_is_not_known_is_not_free():
    prices = load_prices()
    assert prices.cost_usd("qwen-vl", {"input_tokens": 1, "output_tokens": 1}) is None
    for usage in (
        {},
        {"input_tokens": 5},
        {"input_tokens": None, "output_tokens": 5},
        {"input_tokens": -1, "output_tokens": 1},
    ):
        assert prices.cost_usd("claude-haiku-5-5", usage) is None


def test_cached_and_long_prompts_have_their_own_prices():
    prices = load_prices()
    fresh = prices.cost_usd("claude-sonnet-5-5", {"input_tokens": 1000, "output_tokens": 0})
    read = prices.cost_usd(
        "claude-sonnet-5-5", {"input_tokens": 0, "cache_read_input_tokens": 1000, "output_tokens": 0}
    )
    written = prices.cost_usd(
        "claude-sonnet-5-5", {"input_tokens": 0, "cache_creation_input_tokens": 1000, "output_tokens": 0}
    )
    assert read < fresh < written
    long = prices.cost_usd("claude-haiku-5-5", {"input_tokens": 200_000, "output_tokens": 0})
    assert long == pytest.approx(0.2 * 0.50)
