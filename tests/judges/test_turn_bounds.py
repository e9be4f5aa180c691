"""What a turn may cost at most is known before it is asked."""

from __future__ import annotations

import pytest

from judges.turns import Conversation


@pytest.mark.parametrize("text", ["block", "積み木", "🤖" * 3, "\ud800"])
def test_no_text_has_more_tokens_than_the_bound_says(text):
    said = Conversation(text, ({"name": text, text: 1},), ({"role": "user", "content": text},))
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    assert said.most_tokens() >= 4 * n_bytes  # a token holds a byte at least
