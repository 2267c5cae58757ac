"""The etcd in memory does what a real one does: the same tests on both, by the one interface."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import (
    Delete,
    Etcd,
    LostError,
    Put,
    WatchResponse,
    absent,
    created,
    modified,
)
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

_numbers = itertools.count()


class Site(NamedTuple):
    """A client, keys that no other test uses, and how to let time pass and forget the history."""

    etcd: Etcd
    prefix: str
    pass_time: Callable[[float], object]
    compact: Callable[[], object]

    def key(self, name: str) -> str:
        return self.prefix + name


@pytest.fixture(params=["fake", "real"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    prefix = f"/test-{os.getpid()}-{next(_numbers)}/"
    if request.param == "fake":
        fake = FakeEtcd()
        yield Site(fake.client(), prefix, fake.advance, fake.compact)
        return
    nodes = request.getfixturevalue("real_etcd")
    gateway = Gateway(Access(nodes.endpoints))

    def compact() -> None:
        at = gateway.put(prefix + "compacted", b"")
        nodes.nodes[0].post("kv/compaction", {"revision": str(at), "physical": True})

    yield Site(gateway, prefix, hub.sleep, compact)
    gateway.close()


def _tell_into(changes: list[WatchResponse]) -> Callable[[WatchResponse], None]:
    return changes.append


def _wait(condition: Callable[[], object], what: str) -> None:
    wait_for(condition, what, sleep=hub.sleep)


def test_what_is_put_is_found_with_the_revisions_of_its_making_and_its_last_change(
    site: Site,
) -> None:
    etcd, key = site.etcd, site.key("a")
    assert etcd.get(key) is None
    first = etcd.put(key, b"one \0\xff")
    second = etcd.put(key, b"two")
    found = etcd.get(key)
    assert found is not None
    assert (found.key, found.value, found.lease) == (key, b"two", 0)
    assert (found.created, found.modified) == (first, second)
    assert second > first


def test_one_that_was_deleted_and_made_again_is_another(site: Site) -> None:
    etcd, key = site.etcd, site.key("a")
    first = etcd.put(key, b"1")
    assert etcd.delete(key) > first
    assert etcd.get(key) is None
    assert etcd.delete(key) >= first  # of what is not there nothing is said
    again = etcd.put(key, b"1")
    found = etcd.get(key)
    assert found is not None
    assert found.created == again > first


def test_a_range_is_all_that_begins_so_and_no_neighbour(site: Site) -> None:
    etcd = site.etcd
    for number in range(150):  # more than a page
        etcd.put(site.key(f"d/{number:03}"), b"%d" % number)
    etcd.put(site.key("d"), b"")
    etcd.put(site.key("d0"), b"")
    found, revision, _ = etcd.range(site.key("d/"))
    assert [record.value for record in found] == [b"%d" % number for number in range(150)]
    assert revision > found[-1].modified
    assert etcd.range(site.key("none")).records == ()


def test_a_transaction_is_done_whole_or_not_at_all(site: Site) -> None:
    etcd, claim, other = site.etcd, site.key("claim"), site.key("other")
    first = etcd.transact([absent(claim)], [Put(claim, b"mine"), Put(other, b"too")])
    assert first.done
    found = etcd.get(claim)
    assert found is not None
    assert found.created == found.modified == first.revision
    assert [record.created for record in etcd.range(site.prefix).records] == [first.revision] * 2

    second = etcd.transact([absent(claim)], [Put(claim, b"yours"), Delete(other)])
    assert not second.done
    assert second.records == (found,)
    assert etcd.get(claim) == found
    assert etcd.get(other) is not None


def test_a_claim_that_was_given_up_and_made_anew_is_no_more_the_same(site: Site) -> None:
    etcd, claim, kept = site.etcd, site.key("claim"), site.key("kept")
    mine = etcd.transact([absent(claim)], [Put(claim, b"mine")]).revision
    etcd.put(claim, b"still mine")
    assert etcd.transact([created(claim, mine)], [Put(kept, b"1")]).done
    assert not etcd.transact([modified(claim, mine)], [Put(kept, b"2")]).done
    etcd.delete(claim)
    refused = etcd.transact([created(claim, mine)], [Put(kept, b"2")])
    assert not refused.done
    assert refused.records == ()
    etcd.transact([absent(claim)], [Put(claim, b"another's")])
    assert not etcd.transact([created(claim, mine)], [Put(kept, b"2")]).done
    found = etcd.get(kept)
    assert found is not None
    assert found.value == b"1"


def test_what_hangs_on_a_lease_goes_with_it(site: Site) -> None:
    etcd = site.etcd
    lease = etcd.grant(1)
    assert lease.seconds >= 1
    etcd.put(site.key("leased"), b"", lease.number)
    etcd.put(site.key("kept"), b"")
    found = etcd.get(site.key("leased"))
    assert found is not None
    assert found.lease == lease.number
    assert etcd.renew(lease.number) == lease.seconds
    assert 0 <= etcd.remaining(lease.number) <= lease.seconds
    etcd.revoke(lease.number)
    assert [record.key for record in etcd.range(site.prefix).records] == [site.key("kept")]
    with pytest.raises(LostError):
        etcd.renew(lease.number)
    with pytest.raises(LostError):
        etcd.remaining(lease.number)
    with pytest.raises(LostError):
        etcd.put(site.key("late"), b"", lease.number)
    with pytest.raises(LostError):
        etcd.transact([], [Put(site.key("late"), b"", lease.number)])
    etcd.revoke(lease.number)  # of one that is not there nothing is said
    assert etcd.get(site.key("late")) is None


def test_a_lease_that_nobody_renews_ends(site: Site) -> None:
    etcd = site.etcd
    lease = etcd.grant(1)
    etcd.put(site.key("leased"), b"", lease.number)
    batches: list[WatchResponse] = []
    etcd.watch(site.prefix, _tell_into(batches))
    _wait(lambda: batches, "the present keys")
    site.pass_time(lease.seconds)
    _wait(lambda: len(batches) > 1, "the end of a lease")
    assert [(change.key, change.record) for change in batches[1].changes] == [
        (site.key("leased"), None)
    ]
    with pytest.raises(LostError):
        etcd.renew(lease.number)


def test_a_watch_begins_with_all_there_is_and_goes_on_with_each_change(site: Site) -> None:
    etcd = site.etcd
    etcd.put(site.key("a"), b"1")
    batches: list[WatchResponse] = []
    watch = etcd.watch(site.prefix, _tell_into(batches))
    _wait(lambda: batches, "the present keys")
    assert batches[0].whole
    assert [change.key for change in batches[0].changes] == [site.key("a")]
    etcd.transact([], [Put(site.key("b"), b"2"), Delete(site.key("a"))])
    at = etcd.put(site.key("c"), b"3")
    etcd.put(site.prefix[:-1] + "0", b"a neighbour's")
    _wait(lambda: batches[-1].revision >= at, "both changes")
    assert not any(changes.whole for changes in batches[1:])
    changes = [change for batch in batches[1:] for change in batch.changes]
    assert {(each.key, each.record is None) for each in changes[:2]} == {
        (site.key("a"), True),
        (site.key("b"), False),
    }
    assert changes[2].record == etcd.get(site.key("c"))
    assert changes[0].revision == changes[1].revision == changes[2].revision - 1
    watch.cancel()
    later: list[WatchResponse] = []
    etcd.watch(site.prefix, _tell_into(later))
    last = etcd.put(site.key("d"), b"")
    _wait(lambda: later and later[-1].revision >= last, "what another watch hears")
    assert batches[-1].revision == at


def test_a_watch_from_a_revision_tells_what_came_after_it(site: Site) -> None:
    etcd = site.etcd
    etcd.put(site.key("a"), b"1")
    since = etcd.put(site.key("a"), b"2")
    etcd.put(site.key("a"), b"3")
    batches: list[WatchResponse] = []
    etcd.watch(site.prefix, _tell_into(batches), since)
    _wait(lambda: batches, "what came after it")
    assert not batches[0].whole
    assert [change.record.value for change in batches[0].changes if change.record] == [b"3"]


def test_a_watch_from_before_what_etcd_remembers_begins_anew(site: Site) -> None:
    etcd = site.etcd
    since = etcd.put(site.key("a"), b"1")
    etcd.put(site.key("b"), b"2")
    etcd.delete(site.key("a"))
    site.compact()
    batches: list[WatchResponse] = []
    etcd.watch(site.prefix + "b", _tell_into(batches), since)
    _wait(lambda: batches, "the present keys")
    assert batches[0].whole
    assert [change.key for change in batches[0].changes] == [site.key("b")]


def test_its_nodes_say_how_they_are(site: Site) -> None:
    (node,) = site.etcd.nodes()
    assert node.error == ""
    assert node.leader
    assert node.has_leader
    assert node.version
    assert node.alarms == ()
