"""An aggregation with ports at two members of a fabric, and Open vSwitch's own bond beyond it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support import frames
from tests.support.waiting import wait_for
from tests.vswitchd.ring import Neighbour, Ring

BOND = {1: 5, 2: 5}
"""The port of each member that is in the aggregation."""
SERVER = frames.host(50)


class Partner(Neighbour):
    """A bridge with a bond of two ports, cabled to a port each of s1 and s2."""

    def __init__(self, ring: Ring, name: str = "nb") -> None:
        super().__init__(ring, name, BOND)
        for member, number in BOND.items():
            bridge = ring.members[member - 1]
            bridge.add_port(number, f"bond{member}")
            socket = f"options:pstream=punix:{self._socket(member)}"
            self._switch.vsctl("set", "Interface", f"bond{member}", socket)
        self._switch.vsctl(
            *("add-br", name, "--", "set", "Bridge", name, "datapath_type=dummy"),
            *("fail_mode=standalone", "other_config:hwaddr=aa:55:aa:55:00:99"),
        )
        self._switch.vsctl(
            *("add-port", name, "there", "--", "set", "Interface", "there", "type=dummy"),
            f"options:tx_pcap={self._there}",
        )

    def _socket(self, member: int) -> str:
        return f"{self._switch.dir}/bond{member}.sock"

    def bond(self, lacp: str) -> None:
        """Begin."""
        interfaces = [
            f"-- set Interface n{member} type=dummy options:stream=unix:{self._socket(member)}"
            for member in BOND
        ]
        self._switch.vsctl(
            *("add-bond", self.name, "bond0", "n1", "n2", f"lacp={lacp}", "bond_mode=balance-tcp"),
            *("--", "set", "Port", "bond0", "other_config:lacp-time=fast"),
            *" ".join(interfaces).split(),
        )

    def bonded(self) -> set[int]:
        """The members whose cables it uses."""
        shown = self._switch.appctl("bond/show", "bond0")
        return {member for member in BOND if f"member n{member}: enabled" in shown}

    def partners(self) -> set[str]:
        """The system ids that it hears."""
        return {*re.findall(r"partner sys_id: (\S+)", self._switch.appctl("lacp/show", "bond0"))}

    def destroy(self) -> None:
        """Remove it."""
        self._switch.vsctl("--if-exists", "del-br", self.name)


@pytest.fixture
def partner(ring: Ring) -> Iterator[Partner]:
    made = Partner(ring)
    yield made
    made.destroy()


def aggregated(ring: Ring, lacp: str) -> None:
    """Configure the aggregation."""
    members = [f"s{member}/bond{member}" for member in BOND]
    ring.configure(bridges={"pod": {"lags": {"bond": {"members": members, "lacp": lacp}}}})


def lag(ring: Ring) -> Any:
    """The aggregation as the API tells it."""
    return ring.controller.get(f"/v1/bridges/{ring.dpid}/lags/bond")


def use(ring: Ring, partner: Partner, members: set[int]) -> None:
    """Wait until both ends use the cables of these members."""
    wanted = {f"s{member}/bond{member}" for member in members}

    def used() -> bool:
        ours = {each["name"] for each in lag(ring)["members"] if each["distributing"]}
        return ours == wanted and partner.bonded() == members

    wait_for(used, f"both ends to use {members}", tick=ring.switch.in_pace(), seconds=40)


def arrivals(ring: Ring, partner: Partner, member: int, frame: bytes) -> int:
    """How often a frame that a host of a member sends arrives at the partner's host."""
    partner.heard()
    ring.send(member, 1, frame)
    return partner.heard().count(frame)


def by(ring: Ring, member: int, frame: bytes) -> set[int]:
    """The members by whose cable a frame leaves that a host of a member sends."""
    sent = ring.send(member, 1, frame)
    assert {*sent.values()} <= {1}, sent
    return {at for at, number in BOND.items() if (at, number) in sent}


def alone(ring: Ring, member: int, mac: str) -> set[int]:
    """The same for a frame to one host that goes nowhere else; nothing while it floods."""
    sent = ring.send(member, 1, frames.ethernet(mac, frames.host(60 + member)))
    ways = {at for at, number in BOND.items() if (at, number) in sent}
    return ways if len(sent) == 1 else set()


def says_and_hears_nothing(ring: Ring, partner: Partner, number: int) -> None:
    """Frames that the partner sends reach every member, once, and never come back."""
    for host in range(number, number + 6):  # by both cables
        frame = frames.arp_request(frames.host(host))
        partner.heard()
        for bridge in ring.members:
            bridge.forget_sent()
        partner.say(frame)
        ring.settle()
        reached = {
            (at, edge): bridge.sent(edge).count(frame)
            for at, bridge in enumerate(ring.members, 1)
            for edge in (1, 2)
        }
        assert set(reached.values()) == {1}, reached
        assert partner.heard().count(frame) == 0


def once_from_each(ring: Ring, partner: Partner) -> None:
    """A broadcast from each member reaches the partner once, by the member's own cable if any.

    Just after a change it may be lost; it is never doubled.
    """
    usable = partner.bonded()
    for member in (1, 2, 3):
        frame = frames.arp_request(frames.host(60 + member))

        def arrives(member: int = member, frame: bytes = frame) -> bool:
            count = arrivals(ring, partner, member, frame)
            assert count <= 1, member
            return count == 1

        wait_for(arrives, "the frame", tick=ring.switch.in_pace(), seconds=2)
        assert arrives()
        ways = by(ring, member, frame)
        assert ways == {member} if member in usable else len(ways) == 1


def test_two_members_share_an_aggregation(ring: Ring, partner: Partner) -> None:
    partner.bond("active")
    aggregated(ring, "active")
    use(ring, partner, {1, 2})
    assert len(partner.partners()) == 1
    once_from_each(ring, partner)
    says_and_hears_nothing(ring, partner, 100)
    entries = {e["mac"]: e["port"]["name"] for e in ring.fdb()}
    assert {entries[frames.host(host)] for host in range(100, 106)} == {"bond"}
    assert not ring.controller.events("fdb.held")
    reached_by(ring, 100, {1: {1}, 2: {2}, 3: {1}})

    partner.fail(1)
    use(ring, partner, {2})
    reached_by(ring, 100, {1: {2}, 2: {2}, 3: {2}})
    once_from_each(ring, partner)
    says_and_hears_nothing(ring, partner, 110)

    partner.fail(1, up=True)
    use(ring, partner, {1, 2})
    reached_by(ring, 100, {1: {1}, 2: {2}, 3: {1}})
    once_from_each(ring, partner)
    says_and_hears_nothing(ring, partner, 120)
    entries = {e["mac"]: e["port"]["name"] for e in ring.fdb()}
    assert {entries[frames.host(host)] for host in range(120, 126)} == {"bond"}


def reached_by(ring: Ring, host: int, ways: dict[int, set[int]]) -> None:
    """Wait until frames of each member to a known host leave by the cables of these members."""
    tick = ring.switch.in_pace()

    def reached() -> bool:
        return {member: alone(ring, member, frames.host(host)) for member in ways} == ways

    wait_for(reached, f"{ways}", tick=tick)


def test_a_static_aggregation_of_two_members(ring: Ring) -> None:
    """Without an independent partner: Open vSwitch's bonds need LACP to use several members."""
    for member, number in BOND.items():
        ring.members[member - 1].add_port(number, f"bond{member}")
    aggregated(ring, "off")
    broadcasts = {at: frames.arp_request(frames.host(60 + at)) for at in (1, 2, 3)}

    def arrives(ways: dict[int, int]) -> bool:
        """Once at the other edge ports, and by the aggregation at one member."""
        sent = {at: ring.send(at, 1, broadcasts[at]) for at in ways}
        lags = {
            at: {m: n for (m, port), n in each.items() if port == 5} for at, each in sent.items()
        }
        for each in sent.values():
            assert {*each.values()} == {1}, each
        assert all(sum(each.values()) <= 1 for each in lags.values()), lags
        return lags == {at: {way: 1} for at, way in ways.items()}

    wait = ring.switch.in_pace()
    wait_for(lambda: arrives({1: 1, 2: 2, 3: 1}), "one copy", tick=wait)
    for member in BOND:
        for host in range(200, 204):
            frame = frames.arp_request(frames.host(host))
            sent = ring.send(member, 5, frame)
            assert sent == {(at, edge): 1 for at in (1, 2, 3) for edge in (1, 2)}, sent
    entries = {e["mac"]: e["port"]["name"] for e in ring.fdb()}
    assert {entries[frames.host(host)] for host in range(200, 204)} == {"bond"}
    reached_by(ring, 200, {1: {1}, 2: {2}, 3: {1}})
    ring.members[0].link(5, up=False)
    wait_for(lambda: arrives({1: 2, 2: 2, 3: 2}), "the other", tick=wait)
    reached_by(ring, 200, {1: {2}, 2: {2}, 3: {2}})
    ring.members[0].link(5, up=True)
    wait_for(lambda: arrives({1: 1, 2: 2, 3: 1}), "both again", tick=wait)
    reached_by(ring, 200, {1: {1}, 2: {2}, 3: {1}})


def test_a_member_that_is_off_and_comes_back(ring: Ring, partner: Partner) -> None:
    """Its cables lose their carrier, and the controller its connection."""
    partner.bond("active")
    aggregated(ring, "active")
    use(ring, partner, {1, 2})
    says_and_hears_nothing(ring, partner, 100)
    once_from_each(ring, partner)
    off = ring.members[0]
    off.disconnect()
    ring.switch.ofctl("del-flows", off.name)
    ring.switch.ofctl("del-groups", off.name)
    for link in (3, 4):
        ring.fail(1, link)
    partner.fail(1)
    use(ring, partner, {2})
    tick = ring.switch.in_pace()

    def reaches(member: int, times: int) -> bool:
        frame = frames.arp_request(frames.host(60 + member))
        count = arrivals(ring, partner, member, frame)
        assert count <= 1
        return count == times

    for member in (2, 3):
        wait_for(lambda m=member: reaches(m, 1), "the partner", tick=tick)  # type: ignore[misc]
    reached_by(ring, 100, {2: {2}, 3: {2}})
    for link in (3, 4):
        ring.fail(1, link, up=True)
    partner.fail(1, up=True)
    off.set_controller(ring.controller.target)

    def back() -> bool:
        assert reaches(2, 1)
        reaches(3, 1)
        reaches(1, 1)
        return partner.bonded() == {1, 2} and len(carrying(ring)) == 3

    wait_for(back, "all to be as before", tick=tick, seconds=60)
    use(ring, partner, {1, 2})
    ring.wait()
    once_from_each(ring, partner)
    says_and_hears_nothing(ring, partner, 120)


def test_a_member_that_is_cut_off_tells_the_partner(ring: Ring, partner: Partner) -> None:
    """Its cable is up, but what comes by it would reach no other member."""
    partner.bond("active")
    aggregated(ring, "active")
    use(ring, partner, {1, 2})
    says_and_hears_nothing(ring, partner, 100)
    for link in (3, 4):
        ring.fail(1, link)
    began = time.monotonic()
    use(ring, partner, {2})
    print(f"the partner uses the other cable after {(time.monotonic() - began) * 1000:.0f} ms")
    reached_by(ring, 100, {2: {2}, 3: {2}})
    (cut_off,) = [each for each in lag(ring)["members"] if each["name"] == "s1/bond1"]
    assert "does not reach most members" in cut_off["reason"]
    for link in (3, 4):
        ring.fail(1, link, up=True)
    use(ring, partner, {1, 2})
    once_from_each(ring, partner)
    says_and_hears_nothing(ring, partner, 120)


def test_a_stream_during_changes_has_nothing_twice(ring: Ring, partner: Partner) -> None:
    """Broadcasts from each member and frames to one host, while cables fail and come back."""
    partner.bond("active")
    aggregated(ring, "active")
    use(ring, partner, {1, 2})
    says_and_hears_nothing(ring, partner, 100)
    reached_by(ring, 100, {1: {1}, 2: {2}, 3: {1}})
    for member, up in ((1, False), (1, True), (2, False), (2, True)):
        lost = streamed(ring, partner, lambda m=member, u=up: partner.fail(m, up=u))  # type: ignore[misc]
        print(f"cable of s{member} {'back' if up else 'fails'}: lost {lost}")
        use(ring, partner, {1, 2} if up else {3 - member})


def streamed(ring: Ring, partner: Partner, change: Callable[[], None]) -> dict[str, str]:
    """Send for three seconds, with a change meanwhile; what was lost, and for how long."""
    tick, switch = ring.switch.in_pace(), ring.switch
    ports = {at: bridge.port_name(1) for at, bridge in enumerate(ring.members, 1)}
    sent: dict[bytes, tuple[str, float]] = {}
    partner.heard()
    began = time.monotonic()
    arrived: Counter[bytes] = Counter()

    def send() -> None:
        for at, name in ports.items():
            payload = len(sent).to_bytes(4, "big")
            for kind, to in (("broadcast", frames.BROADCAST), ("unicast", frames.host(100))):
                frame = frames.ethernet(to, frames.host(60 + at), payload)
                sent[frame] = f"{kind} from s{at}", time.monotonic() - began
                switch.appctl("netdev-dummy/receive", name, frame.hex())

    changed = False
    while (now := time.monotonic() - began) < 3:
        if now > 0.5 and not changed:
            change()
            changed = True
        tick()
        send()

    def drained() -> bool:
        """On a busy machine the change may take longer than the stream, which goes on then."""
        send()
        tick()
        arrived.update(partner.heard())
        return all(arrived[frame] for frame in [*sent][-12:-6])

    wait_for(drained, "frames of the stream to arrive", tick=tick)
    arrived.update(partner.heard())
    twice = [sent[frame] for frame in sent if arrived[frame] > 1]
    assert not twice, twice
    lost: dict[str, list[float]] = {}
    for frame, (kind, at_time) in sent.items():
        if not arrived[frame]:
            lost.setdefault(kind, []).append(at_time)
    of = len(sent) // 6
    return {
        kind: f"{len(times)} of {of} in {(times[-1] - times[0]) * 1000:.0f} ms"
        for kind, times in sorted(lost.items())
    }


def carrying(ring: Ring) -> list[Any]:
    """The links that carry frames."""
    return [link for link in ring.status["links"] if link["state"] == "carries"]
