"""The site itself, proven with what there was before the cluster: two controllers that do not know
of each other, of which one has a lease in the switch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.cluster.site import Newcomer, Site, alone, streams
from tests.cluster.writers import Write, by_nobodys_leave
from tests.support.waiting import wait_for

LEASE = 4.0


@pytest.fixture(scope="module")
def pair() -> Iterator[Site]:
    with closing(alone(2)) as site:
        yield site


def but_the_lease(writes: list[Write]) -> list[Write]:
    """Writes without those of the lease, which all but the owner are refused."""
    return [one for one in writes if "table:200" not in one.said]


def by_others(writes: list[Write], owner: str) -> list[Write]:
    """What others than the owner wrote, but for the lease that they are refused."""
    return [one for one in but_the_lease(writes) if one.peer != owner]


def await_owner(pair: Site) -> None:
    """Wait until a controller has the switch, and the switch all that it should hold."""
    (switch,) = pair.switches
    wait_for(lambda: any(pair.in_line(one, switch) for one in pair.members), "an owner", seconds=60)


def test_the_log_shows_who_wrote(pair: Site) -> None:
    (switch,) = pair.switches
    await_owner(pair)
    begun = switch.log.size()
    switch.write()
    (written,) = but_the_lease(by_nobodys_leave(switch.log.read(begun)[0]))
    assert written.peer.startswith("unix")


def test_what_the_switch_takes_is_from_one_at_a_time(pair: Site) -> None:
    (switch,) = pair.switches
    first, second = pair.members
    await_owner(pair)
    if not pair.in_line(first, switch):
        first, second = second, first
    wait_for(switch.forwards, "the hosts to meet", seconds=30)
    with ExitStack() as stack:
        talk = [stack.enter_context(stream) for stream in streams(pair)]
        begun = switch.log.size()
        for stream in talk:
            stream.more(100)
        first.kill9()
        with Newcomer(switch, 1) as newcomer:
            assert newcomer.learned(30) < LEASE + 4
        writes, _ = switch.log.read(begun)
        assert {one.peer for one in writes} <= {first.target, second.target}
        assert any(one.peer == second.target for one in writes)
        took = next(one.time for one in writes if one.peer == second.target)
        assert not by_others([one for one in writes if one.time > took], second.target)
        assert [stream.lost() for stream in talk] == [0, 0]
