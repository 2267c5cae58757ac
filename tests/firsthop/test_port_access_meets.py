"""Controlled ports beside other features of ports, on a real switch with FreeRADIUS.

Hosts are authenticated by their MAC addresses: what one that the server accepts may do, and reach,
is compared with one that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.firsthop.test_port_access import Site
from tests.support import multicast_frames as mcframes
from tests.support.firsthop.bed import Guest
from tests.support.firsthop.clients import UDHCPC
from tests.support.firsthop.servers import dnsmasq
from tests.support.lab import BROADCAST, Host, Wire, frame
from tests.support.waiting import wait_for

ACCEPTED = (2, 4, 6, 8, 10)
"""Numbers of the hosts that the server accepts; a host has the port eth of its number."""
IN, OUT = "tap1", "tap2"
"""Ports with copies of what comes in by eth2 and eth3, and of what leaves by gw."""


def user(number: int) -> str:
    """A host in the server's file of users."""
    mac = f"020a000000{number:02x}"
    return f'{mac} Cleartext-Password := "{mac}"\n'


class Meeting(Site):
    """Mirrors, isolated ports, snooping, an aggregation and guarded ports beside access control."""

    users = "".join(map(user, ACCEPTED))

    def meet(self, settings: dict[str, Any]) -> None:
        plain = settings["ports"]["eth*"]
        settings["ports"] |= {
            **{f"eth{number}": plain | {"isolated": True} for number in (4, 5, 6)},
            **{f"eth{number}": plain | {"trust": "guest"} for number in (10, 11)},
        }
        settings["mirrors"] = {
            "in": {"to": IN, "ingress": ["eth2", "eth3"]},
            "out": {"to": OUT, "egress": ["gw"]},
        }
        settings["lags"] = {"bond": {"members": ["eth20", "eth21"]}}
        settings["multicast"] = {"mcast_querier": True}

    def decided(self, number: int, phase: str) -> Host:
        """A host that the server has decided about; phase: of its session then."""
        host = self.host(number)
        with host.wire() as wire:
            wait_for(
                lambda: (self.known(host) or {}).get("phase") == phase,
                f"eth{number} to be {phase}",
                seconds=20,
                tick=lambda: wire.send(frame(BROADCAST, host.mac)),
            )
        return host

    def accepted(self, number: int) -> Host:
        """A host that is authorised."""
        return self.decided(number, "authorised")

    def refused(self, number: int) -> Host:
        """A host that the server has refused."""
        return self.decided(number, "held")


@pytest.fixture(scope="module")
def site() -> Iterator[Meeting]:
    with ExitStack() as stack:
        yield Meeting(stack, authentication="mab", host_mode="multi_auth", quiet_period=3)


class Listeners:
    """What hosts hear of frames that are sent while it is open.  heard: payloads, by host."""

    def __init__(self, stack: ExitStack, *hosts: Host) -> None:
        self._wires = {host.plug: stack.enter_context(host.wire()) for host in hosts}
        self._stack = stack
        self.heard: dict[str, list[bytes]] = {plug: [] for plug in self._wires}

    def say(self, host: Host, payload: bytes, arrives: str, to: str = BROADCAST) -> None:
        """A host sends a frame until a host hears it; arrives: plug of that host."""
        wire: Wire = self._stack.enter_context(host.wire())
        said = frame(to, host.mac, payload)

        def came() -> bool:
            wire.send(said)
            self.hear()
            return any(payload in each for each in self.heard[arrives])

        wait_for(came, f"{payload!r} at {arrives}")

    def hear(self) -> None:
        """Take in what has come."""
        for plug, wire in self._wires.items():
            self.heard[plug] += wire.received()

    def have(self, payload: bytes) -> set[str]:
        """The plugs of the hosts that have heard a frame."""
        self.hear()
        return {plug for plug, got in self.heard.items() if any(payload in each for each in got)}


def test_a_mirror_shows_what_a_refused_host_sends_as_received_and_never_as_forwarded(
    site: Meeting,
) -> None:
    """A copy of what comes in is of all that comes in: it shows why a host is not authorised."""
    taps = [site.host(30, IN), site.host(31, OUT)]
    good, bad = site.accepted(2), site.refused(3)
    with ExitStack() as stack:
        listeners = Listeners(stack, site.up, *taps)
        listeners.say(bad, b"from-refused", IN)
        listeners.say(good, b"from-accepted", OUT)
        assert listeners.have(b"from-accepted") == {site.up.plug, IN, OUT}
        assert listeners.have(b"from-refused") == {IN}


def test_a_refused_host_reaches_no_isolated_neighbour_and_nobody_else(site: Meeting) -> None:
    good, bad, other = site.accepted(4), site.refused(5), site.accepted(6)
    with ExitStack() as stack:
        listeners = Listeners(stack, site.up, good, bad, other)
        wire = stack.enter_context(bad.wire())
        for to in (BROADCAST, good.mac, site.up.mac):
            wire.send(frame(to, bad.mac, b"from-isolated-refused"))
        listeners.say(good, b"from-isolated-accepted", site.up.plug)
        assert listeners.have(b"from-isolated-accepted") == {site.up.plug}
        assert listeners.have(b"from-isolated-refused") == set()


def test_reports_of_a_refused_host_are_not_counted(site: Meeting) -> None:
    good, bad = site.accepted(8), site.refused(9)
    path = f"/v1/bridges/{site.switch.bridge.dpid16}/mdb"

    def joined() -> set[tuple[str, str]]:
        entries = site.controller.get(path)["entries"]
        return {(each["group"], each["port"]["name"]) for each in entries}

    def join(host: Host, group: str) -> bytes:
        said = mcframes.join(host.number, group)
        return said[:6] + bytes.fromhex(host.mac.replace(":", "")) + said[12:]

    with good.wire() as one, bad.wire() as other:
        other.send(join(bad, "239.1.1.9"))

        def has_joined() -> bool:
            other.send(join(bad, "239.1.1.8"))
            one.send(join(good, "239.1.1.8"))
            return ("239.1.1.8", good.plug) in joined()

        wait_for(has_joined, "the entry of the host that is authorised")
    assert bad.plug not in {port for _, port in joined()}
    assert "239.1.1.9" not in {group for group, _ in joined()}


def bound(site: Meeting) -> list[tuple[str, str]]:
    """The hosts with bindings: MAC address and port."""
    path = f"/v1/bridges/{site.switch.bridge.dpid16}/bindings"
    entries = site.controller.get(path)["entries"]
    return [(each["mac"], each["port"]["name"]) for each in entries]


def guest(site: Meeting, number: int) -> Guest:
    """A host on a guarded port that has no address."""
    plain = site.switch.host(number, f"eth{number}", addressed=False)
    site.switch.add_port(plain.plug, number)
    return Guest(plain.namespace, plain.plug, plain.number)


def test_a_host_is_bound_after_it_is_authorised_and_no_longer_than_that(site: Meeting) -> None:
    good, bad = guest(site, 10), guest(site, 11)
    with dnsmasq(site.up, "--dhcp-option=3"), UDHCPC.start(bad) as asks, UDHCPC.start(good):
        lease = good.wait_lease(4)
        wait_for(lambda: good.reaches(site.up.ip, seconds=1), "the host to be admitted")
        asks.wait_logged("discover", seconds=10)
        assert set(bound(site)) == {(good.mac, good.plug)}
        # An interruption of which the host does not know: it asks no DHCP server again.
        site.controller.api("POST", f"{site.path}/clear", {"mac": good.mac})
        wait_for(lambda: good.reaches(site.up.ip, seconds=1), "the host to be admitted again")
        assert good.address(4) == lease
        assert set(bound(site)) == {(good.mac, good.plug)}
        site.radius.set_users(Meeting.users.replace(user(good.number), ""))
        station = f'Calling-Station-Id = "{good.mac}"'
        assert "Disconnect-ACK" in site.radius.demand("disconnect", station)
        wait_for(lambda: not bound(site), "the binding to end", seconds=20)
    assert not good.reaches(site.up.ip, seconds=1)


@pytest.mark.parametrize(
    ("port", "why"),
    [
        ("bond", "is an aggregation, and so a link to a switch or server"),
        ("eth20", "is a member of bond"),
    ],
)
def test_ports_of_an_aggregation_are_refused_with_the_reason(
    site: Meeting, port: str, why: str
) -> None:
    for number, name in ((20, "eth20"), (21, "eth21")):
        if number not in [each["number"] for each in ports(site)]:
            site.host(number, name)
    wait_for(lambda: "bond" in [each["name"] for each in ports(site)], "the aggregation")
    reply = site.controller.api("PATCH", f"{site.path}/ports/{port}", {"authentication": "dot1x"})
    assert reply.status in (404, 409, 422)
    assert why in reply.body["detail"]

    def messages() -> list[str]:
        problems = site.controller.get("/v1/problems")["problems"]
        return [each["message"] for each in problems if each["kind"] == "port_access.open"]

    wait_for(messages, "the problem that it stays open, by its pattern")
    assert "aggregation bond (members eth20, eth21) fits a pattern" in messages()[0]


def ports(site: Meeting) -> list[dict[str, Any]]:
    """The ports of the bridge."""
    answer = site.controller.get(f"/v1/bridges/{site.switch.bridge.dpid16}/ports")
    return list(answer["ports"])
