"""Every option of a port, and those of a bridge, on ports of a fabric at different members."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from ofapp.bridge.lldp.tlv import Type, tlv
from tests.support import dhcp_frames as dhcp
from tests.support import frames
from tests.support import multicast_frames as mc
from tests.support.accepting import Accepting
from tests.support.acl_oracle import Frame
from tests.support.controller import Controller
from tests.support.multicast_entries import QUICK
from tests.support.ovs import LOCAL, VSwitchd
from tests.support.waiting import wait_for
from tests.unit.bridge.lldp.lab import pdu
from tests.vswitchd.ring import NO_EDGES, SPEED, Ring, everywhere

End = tuple[int, int]
_numbers = itertools.count(1000, 20)


class Bed:
    """A fabric, and hosts with addresses that no other test has."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.first = 0

    def host(self, number: int) -> str:
        """The address of a host of this test."""
        return frames.host(self.first + number)

    def mac(self, number: int) -> int:
        """The same as a number."""
        return int(self.host(number).replace(":", ""), 16)

    def bindings(self) -> list[Any]:
        """All bindings."""
        found = self.ring.controller.get(f"/v1/bridges/{self.ring.dpid}/bindings")
        return list(found["entries"])

    def set(self, ports: dict[End, Any] | None = None, **bridge: Any) -> None:
        """Configure ports and the bridge."""
        ring = self.ring
        named = {ring.name(*end): given for end, given in (ports or {}).items()}
        defaults = bridge.pop("defaults", {"stp": {"enabled": False}})
        ring.configure(defaults=defaults, bridges={"pod": {"ports": named, **bridge}})

    def send(self, end: End, frame: bytes) -> dict[End, int]:
        """See `Ring.send`."""
        return self.ring.send(*end, frame)

    def come(self, end: End, frame: bytes, to: dict[End, int]) -> None:
        """Wait until a frame leaves by these ports, and by no others."""
        last: list[object] = []

        def comes() -> bool:
            last[:] = [self.send(end, frame)]
            return last == [to]

        try:
            wait_for(comes, f"{to}", tick=self.ring.switch.in_pace(), seconds=5)
        except AssertionError as error:
            raise AssertionError(f"{error}: {last}") from None

    def deliver(self, end: End, frame: bytes) -> dict[End, list[bytes]]:
        """Let a frame arrive; what leaves by which ports, in any form."""
        for bridge in self.ring.members:
            bridge.forget_sent()
        self.ring.members[end[0] - 1].inject(end[1], frame)
        self.ring.settle()
        left = {
            (at, port): bridge.sent(port)
            for at, bridge in enumerate(self.ring.members, 1)
            for port in bridge.ports
            if port not in NO_EDGES
        }
        return {at: sent for at, sent in left.items() if sent}

    def learn(self, number: int, end: End, vlan: int | None = None) -> None:
        """Have a host known."""
        frame = frames.ethernet(frames.BROADCAST, self.host(number), vlan=vlan)

        def known() -> bool:
            self.ring.members[end[0] - 1].inject(end[1], frame)
            return self.where(number) is not None

        wait_for(known, f"host {number}", tick=self.ring.switch.in_pace())

    def where(self, number: int) -> str | None:
        """The port where a host is known."""
        known = (entry for entry in self.ring.fdb() if entry["mac"] == self.host(number))
        return next((str(entry["port"]["name"]) for entry in known), None)

    def unicast(self, to: int, by: int, vlan: int | None = None) -> bytes:
        """A frame between two hosts."""
        return frames.ethernet(self.host(to), self.host(by), vlan=vlan)

    def broadcast(self, by: int, vlan: int | None = None) -> bytes:
        """A frame to all."""
        return frames.ethernet(frames.BROADCAST, self.host(by), vlan=vlan)

    def event(self, kind: str) -> Any:
        """Wait for an event."""
        return wait_for(
            lambda: self.ring.controller.events(kind), kind, tick=self.ring.switch.in_pace()
        )[-1]


@pytest.fixture(scope="module")
def ring(vswitchd: VSwitchd) -> Iterator[Ring]:
    with closing(Controller(speed=SPEED)) as controller:
        made = Ring(vswitchd, controller)
        controller.start()
        made.connect()
        yield made
        for bridge in made.members:
            bridge.destroy()


@pytest.fixture
def bed(ring: Ring) -> Iterator[Bed]:
    made = Bed(ring)
    made.first = next(_numbers)
    yield made
    made.set()
    ring.controller.flush(ring.members[0])


ONE, THREE = (1, 1), (3, 1)
"""Ports at two members."""
OTHER = "239.7.7.7"


def test_vlans(bed: Bed) -> None:
    """Access, trunk, native with and without a tag, and a transparent port at another member."""
    bed.set(
        {
            (1, 1): {"vlan": 10},
            (1, 2): {"vlan": 20},
            (2, 1): {"vlan": {"trunk": [10, 20]}},
            (3, 1): {"vlan": {"trunk": [20], "native": 10}},
            (3, 2): {"vlan": {"trunk": [20], "native": 10, "native_tagged": True}},
        }
    )
    bare, tagged = bed.broadcast(1), bed.broadcast(1, vlan=10)
    wanted = {(2, 1): [tagged], (2, 2): [tagged], (3, 1): [bare], (3, 2): [tagged]}

    def as_vlans_say() -> bool:
        left = bed.deliver((1, 1), bare)
        return {at: [f.ljust(64, b"\0")[:60] for f in sent] for at, sent in left.items()} == {
            at: [f[:60] for f in sent] for at, sent in wanted.items()
        }

    wait_for(as_vlans_say, "VLAN 10", tick=bed.ring.switch.in_pace())
    left = bed.deliver((2, 1), bed.broadcast(2, vlan=20))
    assert {*left} == {(1, 2), (2, 2), (3, 1), (3, 2)}
    assert left[1, 2][0][12:14] != b"\x81\x00"
    bed.learn(3, (3, 1))  # its native VLAN
    wait_for(
        lambda: {*bed.deliver((1, 1), bed.unicast(3, 1))} == {(3, 1)},
        "the host in VLAN 10",
        tick=bed.ring.switch.in_pace(),
    )
    assert bed.deliver((1, 2), bed.unicast(3, 4)).keys() >= {(2, 1)}  # not known in VLAN 20


def test_a_host_in_two_vlans_is_two(bed: Bed) -> None:
    bed.set({(1, 1): {"vlan": {"trunk": [10, 20]}}, (2, 1): {"vlan": 10}, (3, 1): {"vlan": 20}})
    bed.learn(1, (2, 1))
    bed.learn(1, (3, 1))
    tick = bed.ring.switch.in_pace()
    for vid, to in ((10, (2, 1)), (20, (3, 1))):
        bed.ring.members[to[0] - 1].inject(1, bed.broadcast(1))
        frame = bed.unicast(1, 2, vlan=vid)
        wait_for(lambda f=frame, to=to: {*bed.deliver((1, 1), f)} == {to}, "it", tick=tick)  # type: ignore[misc]


def test_isolated(bed: Bed) -> None:
    bed.set({ONE: {"isolated": True}, THREE: {"isolated": True}})
    bed.learn(1, ONE)
    bed.learn(2, THREE)
    bed.learn(3, (2, 1))
    bed.come(ONE, bed.unicast(2, 1), {})
    bed.come(ONE, bed.broadcast(1), {end: 1 for end in everywhere(ONE) if end != THREE})
    bed.come(ONE, bed.unicast(3, 1), {(2, 1): 1})
    bed.come((2, 1), bed.unicast(1, 3), {ONE: 1})


def test_authentication(bed: Bed) -> None:
    """A host is authorised at one member, moves to another one, and is forgotten at all."""
    good, bad, doors = 1, 2, (ONE, THREE)
    with Accepting(refused={bed.host(bad): "no"}) as server:
        access = {"authentication": "mab", "host_mode": "multi_auth", "quiet_period": 3600}
        section = {
            "enabled": True,
            "servers": f"127.0.0.1:{server.port}",
            "secret_file": server.secret_file,
        }
        bed.set({end: {"port_access": access} for end in doors}, port_access=section)

        def authorised() -> dict[str, str]:
            """The port of each host that is authorised, by MAC address."""
            path = f"/v1/bridges/{bed.ring.dpid}/port-access"
            hosts = bed.ring.controller.get(path)["hosts"]
            return {host["mac"]: host["port"] for host in hosts if host["authorised"]}

        def says(number: int, end: End, to: dict[End, int]) -> bool:
            return bed.send(end, bed.broadcast(number)) == to

        tick = bed.ring.switch.in_pace()
        wait_for(lambda: says(good, ONE, everywhere(ONE)), "the host to be admitted", tick=tick)
        bed.learn(3, (2, 1))
        assert not says(bad, THREE, everywhere(THREE))
        bed.event("port_access.refused")
        assert bed.send(THREE, bed.broadcast(bad)) == {}
        assert bed.send(ONE, bed.broadcast(bad)) == {}
        assert authorised() == {bed.host(good): bed.ring.name(*ONE)}

        wait_for(lambda: says(good, THREE, everywhere(THREE)), "it at its new port", tick=tick)
        assert authorised() == {bed.host(good): bed.ring.name(*THREE)}
        wait_for(
            lambda: bed.send((2, 1), bed.unicast(good, 3)) == {THREE: 1},
            "frames for it to its new port",
            tick=tick,
        )
        path = f"/v1/bridges/{bed.ring.dpid}/port-access/clear"
        assert bed.ring.controller.api("POST", path, {"mac": bed.host(good)}).status == 204
        wait_for(
            lambda: bed.send((2, 1), bed.unicast(good, 3)) == everywhere((2, 1)),
            "frames for it to flood",
            tick=tick,
        )
        assert authorised() == {}


def test_priorities(bed: Bed) -> None:
    """What enters at one member has its PCP and DSCP in a trunk of another, also by a tree."""
    bed.set(
        {
            ONE: {"vlan": 10, "qos_trust": "none", "priority": 3},
            (1, 2): {"vlan": {"trunk": [10]}},
            (2, 1): {"vlan": 10, "acl": "voice"},
            THREE: {"vlan": {"trunk": [10]}},
        },
        acls={"voice": [{"match": {"udp_dst": 53}, "set": {"pcp": 5, "dscp": 46}}]},
    )
    bed.learn(9, THREE, vlan=10)
    addresses = "10.0.0.1", "10.0.0.2"
    for to in (frames.BROADCAST, bed.host(9)):
        for end, tag, wanted in (
            (ONE, {}, (3, 24)),
            ((1, 2), {"vid": 10, "pcp": 6}, (6, 10)),
            ((2, 1), {}, (5, 46)),
        ):
            packet = Frame(bed.host(1), to, 0x0800, ip=addresses, proto=17, dscp=10, ports=(9, 53))
            data = replace(packet, **tag).data()  # type: ignore[arg-type]

            def leaves(end: End = end, data: bytes = data, wanted: frames.Marks = wanted) -> bool:
                return [frames.marks(each) for each in bed.deliver(end, data).get(THREE, ())] == [
                    wanted
                ]

            wait_for(leaves, f"{wanted} from {end}", tick=bed.ring.switch.in_pace())


def test_a_rate_of_what_leaves(bed: Bed) -> None:
    """The member that has the port keeps it, for frames of all members together."""
    bed.set({THREE: {"rate_out": 1000}})
    for number, end in enumerate((ONE, (2, 1), (3, 2), THREE), 1):
        bed.learn(number, end)
    large = [frames.ethernet(bed.host(4), bed.host(by), payload=bytes(1236)) for by in (1, 2, 3)]
    for end, frame in zip((ONE, (2, 1), (3, 2)), large, strict=True):
        bed.come(end, frame, {THREE: 1})
    bed.ring.switch.warp(2)
    for bridge in bed.ring.members:
        bridge.forget_sent()
    for end, frame in zip((ONE, (2, 1), (3, 2)), large, strict=True):
        bed.ring.members[end[0] - 1].inject(end[1], *[frame] * 10)
    bed.ring.settle()
    left = [frame for frame in bed.ring.members[2].sent(1) if frame in large]
    assert abs(len(left) - 20) <= 1, "a fifth of a second of the rate, in frames of 10 kbit"


def test_communities(bed: Bed) -> None:
    """Port ONE and port (2, 1) of another member are in one community, THREE in another."""
    bed.set({ONE: {"community": 5}, (2, 1): {"community": 5}, THREE: {"community": 6}})
    bed.learn(1, ONE)
    bed.learn(2, (2, 1))
    bed.learn(3, THREE)
    bed.come(ONE, bed.unicast(2, 1), {(2, 1): 1})
    bed.come(ONE, bed.unicast(3, 1), {})
    bed.come(THREE, bed.unicast(1, 3), {})
    bed.come(ONE, bed.broadcast(1), {end: 1 for end in everywhere(ONE) if end != THREE})
    others = {end: 1 for end in everywhere(THREE) if end not in (ONE, (2, 1))}
    bed.come(THREE, bed.broadcast(3), others)
    bed.set({ONE: {"isolated": True}, THREE: {"community": 6}})
    bed.come(THREE, bed.unicast(1, 3), {})
    bed.come(ONE, bed.unicast(3, 1), {})


def test_learning(bed: Bed) -> None:
    bed.set({ONE: {"learning": False}})
    bed.learn(2, THREE)
    bed.come(ONE, bed.unicast(2, 1), {THREE: 1})
    assert bed.where(1) is None
    bed.come(THREE, bed.unicast(1, 2), everywhere(THREE))


@pytest.mark.parametrize(
    ("option", "to"),
    [("flood", "unknown"), ("mcast_flood", "group"), ("bcast_flood", "all")],
)
def test_flood_controls(bed: Bed, option: str, to: str) -> None:
    bed.set({THREE: {option: False}}, multicast={"mcast_snooping": False})
    kinds = {"unknown": bed.host(9), "group": "01:00:5e:00:00:fb", "all": frames.BROADCAST}
    for kind, address in kinds.items():
        frame = frames.ethernet(address, bed.host(1))
        wanted = everywhere(ONE)
        if kind == to:
            del wanted[THREE]
        bed.come(ONE, frame, wanted)
    bed.learn(2, THREE)
    bed.come(ONE, bed.unicast(2, 1), {THREE: 1})


def test_hairpin(bed: Bed) -> None:
    bed.set({THREE: {"hairpin": True}})
    bed.come(THREE, bed.broadcast(1), everywhere(ONE) | {ONE: 1})
    for number in (1, 2):
        bed.learn(number, THREE)
    bed.come(THREE, bed.unicast(2, 1), {THREE: 1})
    bed.come(ONE, bed.broadcast(3), everywhere(ONE))


def test_locked_and_static(bed: Bed) -> None:
    """An entry at one member holds at all: elsewhere the address is not learned."""
    static = [{"mac": bed.host(1), "port": bed.ring.name(*THREE)}]
    bed.set({THREE: {"locked": True}}, static=static)
    bed.learn(2, ONE)
    bed.come(THREE, bed.broadcast(3), {})
    bed.come(THREE, bed.broadcast(1), everywhere(THREE))
    bed.come(ONE, bed.unicast(1, 2), {THREE: 1})
    bed.come(THREE, bed.unicast(2, 1), {ONE: 1})
    for _ in range(3):
        bed.send((2, 1), bed.broadcast(1))
    assert bed.where(1) == bed.ring.name(*THREE)
    bed.come(ONE, bed.unicast(1, 2), {THREE: 1})


def test_a_static_entry_by_the_api_moves_between_members(bed: Bed) -> None:
    ring = bed.ring
    bed.learn(2, ONE)
    path = f"/v1/bridges/{ring.dpid}/fdb/0/{bed.host(1)}"
    for end in (THREE, (2, 2), (1, 2)):
        reply = ring.controller.api("PUT", path, {"port": ring.name(*end)})
        assert reply.status in (200, 201), reply
        bed.come(ONE, bed.unicast(1, 2), {end: 1})
    assert ring.controller.api("DELETE", path).status in (200, 204)
    bed.come(ONE, bed.unicast(1, 2), everywhere(ONE))


def test_sticky(bed: Bed) -> None:
    """What sticks at one member is held down at another."""
    bed.set({ONE: {"sticky": True}})
    bed.learn(1, ONE)
    bed.learn(2, (2, 1))
    bed.send(THREE, bed.broadcast(1))
    assert bed.event("fdb.held")["data"]["reason"] == "sticky"
    bed.come(THREE, bed.broadcast(1), {})
    bed.come((2, 1), bed.unicast(1, 2), {ONE: 1})
    bed.come(ONE, bed.unicast(2, 1), {(2, 1): 1})
    assert bed.where(1) == bed.ring.name(*ONE)


def test_a_host_that_moves_too_often_is_held_at_all_members(bed: Bed) -> None:
    bed.set(mac_move={"moves": 1, "window": 60, "hold": 60})
    before = len(bed.ring.controller.events("fdb.held"))
    bed.learn(1, ONE)
    places = itertools.cycle((THREE, ONE))

    def held() -> bool:
        bed.send(next(places), bed.broadcast(1))
        return len(bed.ring.controller.events("fdb.held")) > before

    wait_for(held, "it to be held", tick=bed.ring.switch.in_pace())
    home = bed.where(1)
    other = next(end for end in (ONE, THREE) if bed.ring.name(*end) != home)
    bed.come(other, bed.broadcast(1), {})
    path = f"/v1/bridges/{bed.ring.dpid}/fdb/0/{bed.host(1)}/hold"
    bed.ring.controller.api("DELETE", path)


def test_limits_of_a_port_and_of_a_vlan(bed: Bed) -> None:
    """That of a VLAN counts the hosts at all members."""
    bed.set(
        {
            ONE: {"fdb_max_learned": 1, "over_limit": "drop"},
            (1, 2): {"vlan": 30},
            (2, 2): {"vlan": 30},
            (3, 2): {"vlan": 30},
        },
        vlans={30: {"fdb_max_learned": 2, "over_limit": "drop"}},
    )
    bed.learn(1, ONE)
    bed.come(ONE, bed.broadcast(2), {})
    assert bed.where(2) is None
    bed.learn(4, (1, 2))
    bed.learn(5, (2, 2))
    bed.come((3, 2), bed.broadcast(6), {})
    bed.ring.controller.flush(bed.ring.members[0], vlan=30)
    bed.learn(6, (3, 2))


def test_monitor_and_shutdown(bed: Bed) -> None:
    bed.set({THREE: {"monitor": True}, (2, 1): {"shutdown": True}})
    wanted = {end: 1 for end in everywhere(ONE) if end not in (THREE, (2, 1))}
    bed.come(ONE, bed.broadcast(1), wanted)
    for end in (THREE, (2, 1)):
        bed.come(end, bed.broadcast(2), {})
    assert bed.where(2) is None


def test_access_lists(bed: Bed) -> None:
    rules = [{"match": {"eth_dst": bed.host(2)}, "action": "drop"}, {"action": "allow"}]
    bed.set({ONE: {"acl": "a"}, (2, 1): {"acl": "a"}}, acls={"a": rules})
    bed.learn(2, THREE)
    bed.learn(1, ONE)
    bed.come(ONE, bed.unicast(2, 1), {})
    bed.come((2, 1), bed.unicast(2, 3), {})
    bed.come((1, 2), bed.unicast(2, 4), {THREE: 1})
    bed.come(THREE, bed.unicast(1, 2), {ONE: 1})


@pytest.mark.parametrize(
    ("option", "to", "rate"),
    [("broadcast", "all", 10), ("multicast", "group", 5), ("unknown_unicast", "unknown", 20)],
)
def test_storm_control(bed: Bed, option: str, to: str, rate: int) -> None:
    bed.set({ONE: {"storm": {option: rate}}}, multicast={"mcast_snooping": False})
    bed.learn(1, ONE)
    bed.learn(2, (1, 2))
    kinds = {"unknown": bed.host(9), "group": "01:00:5e:00:00:fb", "all": frames.BROADCAST}
    frame = frames.ethernet(kinds[to], bed.host(1))
    bed.ring.switch.warp(2)
    for bridge in bed.ring.members:
        bridge.forget_sent()
    bed.ring.members[0].inject(1, *[frame] * (rate * 3))
    bed.ring.settle()
    for end in everywhere(ONE):
        assert bed.ring.members[end[0] - 1].sent(end[1]).count(frame) == rate, end
    bed.come((1, 2), frames.ethernet(kinds[to], bed.host(2)), everywhere((1, 2)))
    bed.ring.switch.warp(2)


def test_mirrors_at_one_member(bed: Bed) -> None:
    """What comes from another member and leaves here is copied, too."""
    ring = bed.ring
    mirrors = {"spy": {"to": ring.name(1, 2), "both": [ring.name(*ONE)]}}
    bed.set(mirrors=mirrors)
    bed.learn(1, ONE)
    bed.learn(2, THREE)
    bed.come(THREE, bed.unicast(1, 2), {ONE: 1, (1, 2): 1})
    bed.come(ONE, bed.unicast(2, 1), {THREE: 1, (1, 2): 1})


def test_mirrors_between_members_are_refused(bed: Bed) -> None:
    """Also at run time."""
    ring = bed.ring
    path = f"/v1/bridges/{ring.dpid}/settings"
    mirror = {"to": ring.name(1, 2), "both": [ring.name(*THREE)]}
    reply = ring.controller.api("PATCH", path, {"settings": {"mirrors": {"spy": mirror}}})
    assert reply.status == 409, reply
    assert "copies do not cross a fabric" in str(reply.body)
    mirror["both"] = [ring.name(*ONE)]
    assert (
        ring.controller.api("PATCH", path, {"settings": {"mirrors": {"spy": mirror}}}).status == 200
    )
    bed.learn(2, THREE)
    bed.come(ONE, bed.unicast(2, 1), {THREE: 1, (1, 2): 1})
    assert ring.controller.api("PATCH", path, {"settings": {"mirrors": None}}).status == 200


def test_an_aggregation_of_two_members_has_the_options_of_a_port(bed: Bed) -> None:
    """A VLAN, isolation, and an access list."""
    ring = bed.ring
    members = [ring.name(1, 2), ring.name(2, 2)]
    rules = [{"match": {"eth_dst": bed.host(9)}, "action": "drop"}, {"action": "allow"}]
    bond = {"vlan": 10, "isolated": True, "acl": "a"}
    ports = {"bond": bond, ring.name(*ONE): {"vlan": {"trunk": [10]}}}
    ports |= {ring.name(3, 1): {"vlan": 10}, ring.name(3, 2): {"vlan": 10, "isolated": True}}
    ring.configure(
        bridges={
            "pod": {
                "lags": {"bond": {"members": members, "lacp": "off"}},
                "ports": ports,
                "acls": {"a": rules},
            }
        }
    )
    frame, tagged = bed.broadcast(1), bed.broadcast(2, vlan=10)
    tick = ring.switch.in_pace()
    for member in (1, 2):  # to the trunk, the transparent port, and the one that is not isolated
        wait_for(
            lambda m=member: {*bed.deliver((m, 2), frame)} == {ONE, (2, 1), (3, 1)},  # type: ignore[misc]
            "VLAN 10",
            tick=tick,
        )
        assert {*bed.deliver((member, 2), bed.unicast(9, 1))} == set()
    left = bed.deliver(ONE, tagged)
    assert [len(left.pop((3, port))) for port in (1, 2)] == [1, 1]
    assert {*left} == {(1, 2), (2, 1)}
    bed.come((3, 1), bed.unicast(1, 2), {(1, 2): 1})
    bed.come((3, 2), bed.unicast(1, 2), {})


def test_guests_and_dhcp_across_members(bed: Bed) -> None:
    """The guest is at one member, its DHCP server at another; a third has another guest."""
    bed.set({ONE: {"trust": "guest"}, (2, 1): {"trust": "guest"}})
    mac = bed.mac(1)
    packet = dhcp.ethernet(
        mac,
        bed.mac(2),
        0x0800,
        dhcp.ipv4("10.0.0.9", "10.0.0.1", dhcp.udp("10.0.0.9", "10.0.0.1", (9, 9), b"data")),
    )
    bed.learn(2, THREE)
    tick = bed.ring.switch.in_pace()
    wait_for(lambda: not bed.deliver(ONE, packet), "the guard", tick=tick)

    def passes(end: End, frame: bytes, to: End) -> bool:
        return frame in bed.deliver(end, frame).get(to, [])

    wait_for(lambda: passes(ONE, dhcp.request(mac, "10.0.0.9"), THREE), "the request", tick=tick)
    rogue = dhcp.ack(mac, "10.0.0.66")
    assert not bed.deliver((2, 1), rogue)
    wait_for(lambda: passes(THREE, dhcp.ack(mac, "10.0.0.9"), ONE), "the answer", tick=tick)
    wait_for(lambda: passes(ONE, packet, THREE), "the guest's frames", tick=tick)
    assert not bed.deliver((2, 1), packet)
    (bound,) = bed.bindings()
    assert (bound["port"]["name"], bound["address"]) == (bed.ring.name(*ONE), "10.0.0.9")


def test_bindings_of_the_file(bed: Bed) -> None:
    mac = bed.mac(1)
    binding = {"mac": bed.host(1), "port": bed.ring.name(*THREE), "address": "10.0.0.7"}
    bed.set({THREE: {"first_hop": {"arp_inspection": True}}}, bindings=[binding])
    good, bad = (dhcp.Arp(mac, sender, "10.0.0.1") for sender in ("10.0.0.7", "10.0.0.8"))
    tick = bed.ring.switch.in_pace()
    wait_for(lambda: not bed.deliver(THREE, frames_of(bad)), "the guard", tick=tick)
    wait_for(lambda: len(bed.deliver(THREE, frames_of(good))) == 5, "the address", tick=tick)


def frames_of(arp: dhcp.Arp) -> bytes:
    """The request as a frame."""
    return arp.frame()


def test_neighbour_discovery_is_inspected(bed: Bed) -> None:
    mac = bed.mac(1)
    binding = {"mac": bed.host(1), "port": bed.ring.name(*THREE), "address": "2001:db8::7"}
    bed.set({THREE: {"first_hop": {"nd_inspection": True}}}, bindings=[binding])
    good, bad = (dhcp.advertisement(mac, f"2001:db8::{at}").frame for at in (7, 8))
    tick = bed.ring.switch.in_pace()
    wait_for(lambda: not bed.deliver(THREE, bad), "the guard", tick=tick)
    wait_for(lambda: len(bed.deliver(THREE, good)) == 5, "the address", tick=tick)


def test_servers_and_routers_of_other_ports_are_refused(bed: Bed) -> None:
    """At one member no DHCP server, at another no router; the third may have both."""
    bed.set(
        {
            ONE: {"first_hop": {"dhcp_server": False}},
            THREE: {"first_hop": {"router": False}},
        }
    )
    mac = bed.mac(1)
    offer = dhcp.offer(mac, "10.0.0.66")
    router = dhcp.router_advertisement(mac, dhcp.prefix_option("2001:db8::", 64)).frame
    tick = bed.ring.switch.in_pace()
    for frame, refused, passed in ((offer, ONE, THREE), (router, THREE, ONE)):
        wait_for(lambda f=frame, at=refused: not bed.deliver(at, f), "the guard", tick=tick)  # type: ignore[misc]
        for end in (passed, (2, 1)):
            wait_for(lambda f=frame, at=end: len(bed.deliver(at, f)) == 5, "it", tick=tick)  # type: ignore[misc]


def test_bindings_of_a_port_are_limited(bed: Bed) -> None:
    """By requests of two guests at one member, which a server at another answers."""
    guard = {"source_guard": "mac", "max_bindings": 1}
    bed.set({ONE: {"first_hop": guard}})
    first, second = bed.mac(1), bed.mac(2)
    tick = bed.ring.switch.in_pace()

    def bound(mac: int, address: str) -> list[str]:
        bed.deliver(ONE, dhcp.request(mac, address))
        bed.deliver(THREE, dhcp.ack(mac, address))
        return [each["address"] for each in bed.bindings()]

    wait_for(lambda: bound(first, "10.0.0.9") == ["10.0.0.9"], "the first binding", tick=tick)
    for _ in range(3):
        assert bound(second, "10.0.0.10") == ["10.0.0.9"]
    assert len(bed.deliver(ONE, bed.broadcast(1))) == 5
    assert bed.deliver(ONE, bed.broadcast(2)) == {}


def test_lldp(bed: Bed) -> None:
    """Neighbours are heard at each member, and links of the fabric are none of them."""
    bed.set({(2, 1): {"lldp": {"enabled": False}}}, lldp={"enabled": True, "tx_interval": 1})
    ring, tick = bed.ring, bed.ring.switch.in_pace()
    frame = pdu(tlv(Type.SYSTEM_NAME, b"guest"))

    def neighbours(end: End) -> list[Any]:
        ports = ring.controller.get(f"/v1/bridges/{ring.dpid}/lldp")["ports"]
        assert not any("to" in port["name"] for port in ports)
        named = {port["name"]: port["neighbours"] for port in ports}
        return [each["system_name"] for each in named.get(ring.name(*end), [])]

    def heard() -> bool:
        assert not bed.deliver(THREE, frame).get((1, 1), [])
        return neighbours(THREE) == ["guest"]

    wait_for(heard, "the neighbour", tick=tick)
    assert frame not in [each for sent in bed.deliver((2, 1), frame).values() for each in sent]
    assert neighbours((2, 1)) == []
    sent: set[End] = set()

    def speaks() -> bool:
        for at, bridge in enumerate(ring.members, 1):
            for port in (1, 2):
                if any(each[12:14] == b"\x88\xcc" for each in bridge.sent(port)):
                    sent.add((at, port))
        return len(sent) == 5

    wait_for(speaks, "LLDP on all ports but one", tick=tick, seconds=40)
    assert (2, 1) not in sent


class TestMulticast:
    """A querier at s2, and members of groups at s1 and s3."""

    def start(self, bed: Bed, ports: dict[End, Any] | None = None, **bridge: Any) -> None:
        bed.set(multicast={"mcast_snooping": False})  # what tests before have joined is over
        bed.set(ports, multicast=QUICK, **bridge)
        bed.ring.members[1].inject(1, mc.query(250))
        unregistered = mc.stream(7, OTHER)
        wait_for(
            lambda: (2, 1) in bed.send((3, 2), unregistered),
            "the querier to be known",
            tick=bed.ring.switch.in_pace(),
        )

    def test_streams_go_to_members_and_the_querier(self, bed: Bed) -> None:
        group = "239.1.1.1"
        self.start(bed)
        bed.come((3, 2), mc.stream(7, OTHER), {(2, 1): 1})
        join = mc.join(1, group)
        wait_for(
            lambda: {*bed.deliver(ONE, join)} == {(2, 1)},
            "the report to reach the querier alone",
            tick=bed.ring.switch.in_pace(),
        )
        bed.come((3, 2), mc.stream(7, group), {ONE: 1, (2, 1): 1})
        bed.deliver(THREE, mc.join(3, group))
        stream = mc.stream(7, group)
        bed.come((3, 2), stream, {ONE: 1, THREE: 1, (2, 1): 1})
        bed.come((1, 2), stream, {ONE: 1, THREE: 1, (2, 1): 1})
        query = mc.query(250)
        wait_for(
            lambda: {*bed.deliver((2, 1), query)} >= {*everywhere((2, 1))},
            "the query to reach all ports",
            tick=bed.ring.switch.in_pace(),
        )
        bed.deliver(THREE, mc.leave(3, group))
        bed.deliver((2, 1), mc.query(250, group=group))
        bed.deliver(ONE, join)
        bed.come((3, 2), stream, {ONE: 1, (2, 1): 1})

    def test_options_of_ports(self, bed: Bed) -> None:
        """A permanent router, a group's limit, and a port that gets what has no members."""
        group = "239.1.1.2"
        limited = {"multicast": {"mcast_max_groups": 1}}
        router = {"multicast": {"mcast_router": 2}}
        unregistered = {"multicast": {"mcast_flood_unregistered": True}}
        fast = {"multicast": {"mcast_fast_leave": True}}
        ports = {ONE: limited, (1, 2): router, THREE: unregistered, (2, 2): fast}
        self.start(bed, ports)
        bed.come((3, 2), mc.stream(7, OTHER), {(1, 2): 1, (2, 1): 1, THREE: 1})
        bed.deliver(ONE, mc.join(1, group))
        bed.deliver(ONE, mc.join(1, OTHER))
        bed.deliver((2, 2), mc.join(2, group))
        wanted = {ONE: 1, (1, 2): 1, (2, 1): 1, (2, 2): 1}
        bed.come((3, 2), mc.stream(7, group), wanted)
        bed.come((3, 2), mc.stream(7, OTHER), {(1, 2): 1, (2, 1): 1, THREE: 1})
        bed.deliver((2, 2), mc.leave(2, group))
        del wanted[2, 2]
        bed.come((3, 2), mc.stream(7, group), wanted)

    def test_a_permanent_entry_at_another_member(self, bed: Bed) -> None:
        group = "239.1.1.3"
        mdb = [{"group": group, "port": bed.ring.name(2, 2)}]
        self.start(bed, mdb=mdb)
        bed.come((3, 2), mc.stream(7, group), {(2, 1): 1, (2, 2): 1})


SUPERIOR = "00:00:00:00:00:01"


@pytest.mark.parametrize("guard", ["bpdu_guard", "root_guard", "bpdu_filter"])
def test_guards_of_spanning_tree(bed: Bed, guard: str) -> None:
    stp = {"admin_edge": True}
    ports = {end: {"stp": stp} for end in [*everywhere(ONE), ONE]}
    ports[THREE] = {"stp": {**stp, guard: True}}
    bed.set(ports, defaults={"stp": {"enabled": True}})
    bed.come(ONE, bed.broadcast(1), everywhere(ONE))
    rest = {end: 1 for end in everywhere(ONE) if end != THREE}
    tick = bed.ring.switch.in_pace()
    for _ in range(3):
        bed.ring.members[2].inject(1, frames.bpdu(SUPERIOR))
        tick()
    if guard == "bpdu_filter":
        bed.come(ONE, bed.broadcast(1), everywhere(ONE))
        return

    def closed() -> bool:
        bed.ring.members[2].inject(1, frames.bpdu(SUPERIOR))
        return bed.send(ONE, bed.broadcast(1)) == rest

    wait_for(closed, "the port to close", tick=tick)
    assert bed.send(THREE, bed.broadcast(2)) == {}


def test_patterns_and_other_members_own_ports(bed: Bed) -> None:
    """`*/...` fits ports of all members; the host of s2 is behind its LOCAL port."""
    ring = bed.ring
    local = f"s2/{ring.members[1].name}"
    ring.configure(
        bridges={"pod": {"ports": {"*/br?p1": {"isolated": True}, local: {"isolated": True}}}}
    )
    bed.come(ONE, bed.broadcast(1), {(1, 2): 1, (2, 2): 1, (3, 2): 1})
    own = bed.host(9)
    bed.learn(9, (2, LOCAL))
    tick = ring.switch.in_pace()

    def reached(end: End) -> int:
        frame = frames.ethernet(own, bed.host(2))
        bed.send(end, frame)
        return ring.members[1].sent(LOCAL).count(frame)

    wait_for(lambda: reached((1, 2)) == 1, "the host of s2", tick=tick)
    assert reached(ONE) == 0
