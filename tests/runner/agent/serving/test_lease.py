"""Leases run out by the clock that they are told, not by ours."""

from __future__ import annotations

from runner.agent.serving.lease import Lease


class Ticks:
    s = 0.0

    def __call__(self):
        return self.s


def test_a_lease_runs_out_unless_it_is_renewed_and_at_the_latest_after_the_longest():
    now = Ticks()
    lease = Lease("a client", seconds=10, most_s=25, now_s=now)
    now.s = 9.5
    assert not lease.over
    assert lease.renew() == 10
    now.s = 19
    assert lease.renew() == 6, "no longer than the longest"
    now.s = 24.9
    assert not lease.over
    now.s = 25
    assert lease.over
    assert lease.renew() == 0


def test_only_its_own_key_fits():
    now = Ticks()
    one, other = (Lease("a", seconds=1, most_s=1, now_s=now) for _ in range(2))
    assert one.fits(one.key)
    assert not one.fits(other.key)
    assert not one.fits("")
    assert not one.fits("\ud800")
