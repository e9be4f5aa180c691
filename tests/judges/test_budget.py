"""What verdicts have cost: all of it, or unknown; never a part that passes for the whole."""

from __future__ import annotations

import pytest

from judges.budget import spent_on
from runs.schema.verdict import JudgeAttempt, JudgeAudit, Verdict


def asked(cost_usd):
    attempt = JudgeAttempt(
        attempt=1, gate="passed", detail="", model_requested="m", max_tokens=1, started_at="now", seconds=0.0
    )
    audit = JudgeAudit(judge="claude", cost_usd=cost_usd, attempts=(attempt,))
    return Verdict(stage="place", verdict="no", reason="seen", audit=audit)


MEASURED = Verdict(stage="place", verdict="no", reason="seen", audit=JudgeAudit(judge="measured"))


def of(*members, alongside=()):
    audit = JudgeAudit(judge="panel", cost_usd=123.0)  # what it says of itself counts for nothing
    return Verdict(stage="place", verdict="no", reason="", audit=audit, members=members, alongside=alongside)


@pytest.mark.parametrize(
    ("verdicts", "cost_usd"),
    [
        ((), 0.0),
        ((MEASURED,), 0.0),
        ((asked(0.5), asked(0.25)), 0.75),
        ((of(MEASURED, of(asked(0.5), asked(0.25))), asked(1.0)), 1.75),
        ((of(MEASURED, alongside=(asked(0.5),)),), 0.5),
        ((asked(None),), None),
        ((of(MEASURED, of(asked(0.5), asked(None))), asked(1.0)), None),
    ],
)
def test_the_cost_of_verdicts(verdicts, cost_usd):
    assert spent_on(*verdicts) == cost_usd
