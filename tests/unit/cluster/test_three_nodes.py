"""Three nodes of etcd, of which some are gone: what is stored is kept, and changes are reported."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import EtcdError, Put, WatchResponse, absent
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.state import RunTimeEntries, StaticEntry, saving
from tests.support import etcd_nodes
from tests.support.etcd_nodes import EtcdNodes
from tests.support.waiting import wait_for

KEYS = Keys("test")
ASKED = [
    RunTimeEntries((StaticEntry(at, "02:00:00:00:00:0a", "eth0"),), requested=True)
    for at in range(4)
]


class Member:
    """A member that owns a switch, and watches."""

    def __init__(self, nodes: EtcdNodes) -> None:
        self.etcd = Gateway(Access(nodes.endpoints, patience=2.0))
        self.events: list[Event] = []
        self.state = SharedState(
            None, lambda _bridge, event: self.events.append(event), self.etcd, KEYS
        )
        claim = self.etcd.transact([absent(KEYS.owner(1))], [Put(KEYS.owner(1), b"")])
        self.state.take_over(1, claim.revision, None)
        self.heard = 0
        self.etcd.watch("/told/", self._hear)

    def _hear(self, changes: WatchResponse) -> None:
        self.heard = max([self.heard, *(change.revision for change in changes.changes)])

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def put(self) -> int:
        """As soon as it can be."""
        revision = 0

        def tried() -> bool:
            nonlocal revision
            try:
                revision = self.etcd.put("/told/a", b"")
            except EtcdError:
                return False
            return True

        wait_for(tried, "a put", seconds=30, sleep=hub.sleep)
        return revision

    def saves_and_hears(self, kept: RunTimeEntries) -> None:
        """What is set is saved, now or soon, and what is put is heard of."""
        at = self.put()
        wait_for(lambda: self.heard >= at, "a change", seconds=30, sleep=hub.sleep)
        ticket = self.state.entries.save(1, kept)
        wait_for(
            lambda: not self.state.storage.pending("entries-0000000000000001.json"),
            "what was set to be saved",
            seconds=30,
            sleep=hub.sleep,
        )
        del ticket
        found = self.etcd.get(KEYS.of("entries-0000000000000001.json"))
        assert found is not None
        assert f'"vlan": {kept.entries[0].vlan},'.encode() in found.value


@pytest.fixture
def nodes() -> Iterator[EtcdNodes]:
    if why := etcd_nodes.missing():
        pytest.skip(why)
    nodes = EtcdNodes(3)
    yield nodes
    nodes.close()


@pytest.fixture
def member(nodes: EtcdNodes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    monkeypatch.setattr(saving, "RETRY", 0.2)
    member = Member(nodes)
    yield member
    member.etcd.close()


def test_the_leader_is_killed(nodes: EtcdNodes, member: Member) -> None:
    member.saves_and_hears(ASKED[0])
    nodes.leader().kill()
    member.saves_and_hears(ASKED[1])


@pytest.mark.thorough
def test_each_node_in_turn_stands_still(nodes: EtcdNodes, member: Member) -> None:
    """Its connections stay, and nothing comes of them: the same as one that is cut off."""
    for at, node in enumerate(nodes.nodes):
        node.signal(signal.SIGSTOP)
        member.saves_and_hears(ASKED[at])
        node.signal(signal.SIGCONT)
        wait_for(node.answers, "the node", seconds=30)


@pytest.mark.thorough
def test_a_node_that_has_lost_the_others_tells_so_and_is_left(
    nodes: EtcdNodes, member: Member
) -> None:
    """It answers, but knows of nothing new."""
    lonely = Gateway(Access(nodes.endpoints[:1], patience=1.0))
    heard: list[WatchResponse] = []
    lonely.watch("/told/", heard.append)
    wait_for(lambda: heard, "the present keys", sleep=hub.sleep)
    for node in nodes.nodes[1:]:
        node.signal(signal.SIGSTOP)
    wait_for(lambda: not lonely.nodes()[0].has_leader, "no leader", seconds=30, sleep=hub.sleep)
    with pytest.raises(EtcdError):
        lonely.put("/told/b", b"")
    for node in nodes.nodes[1:]:
        node.signal(signal.SIGCONT)
    at = member.put()
    wait_for(lambda: heard[-1].revision >= at, "a change", seconds=30, sleep=hub.sleep)
    lonely.close()


@pytest.mark.thorough
def test_all_of_etcd_is_gone_and_back(nodes: EtcdNodes, member: Member) -> None:
    member.saves_and_hears(ASKED[0])
    for node in nodes.nodes:
        node.kill()
    member.state.entries.save(1, ASKED[1])
    member.state.snapshots["stp"].save(1, {"tree": 1})
    wait_for(lambda: "state.unsaved" in member.kinds, "the event", sleep=hub.sleep)
    for node in nodes.nodes:
        node.start()
    wait_for(lambda: "state.saved" in member.kinds, "what is saved", seconds=60, sleep=hub.sleep)
    assert member.kinds == ["state.unsaved", "state.saved"]
    found = member.etcd.get(KEYS.of("entries-0000000000000001.json"))
    assert found is not None
    assert b'"vlan": 1,' in found.value
    member.saves_and_hears(ASKED[2])
