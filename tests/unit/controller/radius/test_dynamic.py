"""Demands of servers over real sockets: who is heard, also on a machine without IPv6."""

from __future__ import annotations

import errno
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.common import hub
from ofapp.controller.radius.dynamic import Demands
from ofapp.controller.radius.packets import Demand
from tests.support.ports import free_port
from tests.support.waiting import wait_for
from tests.unit.bridge.port_access.controlled import ALICE, BOB, CLOSED, Site, params
from tests.unit.controller.radius.test_packets import SECRET, attribute, attributes, demand

_real = socket.socket
STATION = attribute(31, b"02-00-00-00-00-0A")
"""Calling-Station-Id of Alice's host."""


def _without_ipv6(family: int, *about: Any) -> socket.socket:
    if family == socket.AF_INET6:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
    return _real(family, *about)


def say(octets: bytes, port: int, source: str = "127.0.0.1") -> int | None:
    """The code of the answer to a packet; None without answer."""
    with _real(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((source, 0))
        server.settimeout(0.2)
        server.sendto(octets, ("127.0.0.1", port))
        try:
            return server.recv(4096)[0]
        except TimeoutError:
            return None


def answering(*sites: Site) -> Demands:
    """The demands of servers to these sites' bridges."""

    def act(bridge: Bridge, name: str, mac: int, demand: Demand) -> None:
        site = next(each for each in sites if each.bridge is bridge)
        hosts = bridge.port_access
        if demand.change is not None:
            effects = hosts.change(name, mac, demand.change, site.now)
        else:
            effects = (hosts.clear if demand.ends else hosts.reauthenticate)(name, mac, site.now)
        site.done(bridge.carry_out(effects, site.now))

    return Demands({number: site.bridge for number, site in enumerate(sites)}, act)


def vlan(vid: bytes) -> bytes:
    """The attributes of a VLAN (RFC 3580 3.31)."""
    return attribute(64, b"\0\0\0\x0d") + attribute(65, b"\0\0\0\6") + attribute(81, vid)


def errors(octets: bytes) -> tuple[int, int]:
    """The code of an answer, and its Error-Cause; 0 without one."""
    cause = attributes(octets).get(101, bytes(4))
    return octets[0], int.from_bytes(cause, "big")


def test_a_demand_with_rights_changes_them_and_others_are_refused() -> None:
    access = AccessParams("127.0.0.1", dynamic_port=3799)
    site = Site(replace(params(vlan=10), port_access=access))
    site.login()

    demands = answering(site)

    def answered(*values: bytes) -> bytes:
        octets = demand(43, STATION, *values)
        return demands.carry_out(Demand(octets, SECRET), [site.bridge])

    reply = answered(vlan(b"30"))
    assert reply[0] == 44
    site.wait(1.0)
    assert site.bridge.desired_port(1).vlans.pvid == 30
    assert errors(answered(attribute(11, b"absent"))) == (45, 407)
    assert dict(demands.counters) == {"changed": 1, "not_possible": 1}


def test_a_host_with_the_address_of_another_does_not_prevent_a_change() -> None:
    """It sends an EAPOL-Start on a port before that of the host, and is not authorised."""
    access = AccessParams("127.0.0.1", dynamic_port=3799)
    site = Site(replace(params(vlan=10), port_access=access))
    site.hear(ALICE, eapol.START, number=1)
    site.login(number=2)

    demands = answering(site)
    octets = demand(43, STATION, vlan(b"30"))
    assert demands.carry_out(Demand(octets, SECRET), [site.bridge])[0] == 44
    site.wait(1.0)
    assert site.bridge.desired_port(2).vlans.pvid == 30
    assert site.bridge.desired_port(1).vlans.pvid == 10
    site.bridge.port_access.clear("eth2", ALICE, site.now)
    assert errors(demands.carry_out(Demand(octets, SECRET), [site.bridge])) == (45, 503)


def test_a_change_of_several_hosts_is_for_all_of_them_or_for_none() -> None:
    """The second port has `multi_auth`, where a host has no further VLANs."""
    of = params(vlan=10)
    each = replace(of.ports["eth?"].port_access, host_mode="multi_auth")
    ports = {"eth2": replace(of.ports["eth?"], port_access=each), **of.ports}
    site = Site(replace(of, ports=ports))
    site.login(ALICE, 1)
    site.login(BOB, 2)
    demands, user = answering(site), attribute(1, b"alice")

    def answered(*values: bytes) -> tuple[int, int]:
        octets = demand(43, user, *values)
        return errors(demands.carry_out(Demand(octets, SECRET), [site.bridge]))

    further = attribute(56, bytes.fromhex("3100001e"))
    assert answered(further) == (45, 407)
    site.wait(1.0)
    assert 30 not in (site.bridge.desired_port(1).vlans.vids or ())
    assert answered(vlan(b"30")) == (44, 0)
    site.wait(1.0)
    hosts = {host.mac: host.rights.vid for host in site.bridge.port_access.hosts(site.now)}
    assert hosts == {ALICE: 30, BOB: 30}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((attribute(1, b"alice"),), (41, 0)),
        ((attribute(31, b"02-00-00-00-00-0A"), attribute(1, b"bob")), (42, 503)),
        ((attribute(31, b"02-00-00-00-00-0A"), attribute(5, bytes([0, 0, 0, 1]))), (41, 0)),
        ((attribute(5, bytes([0, 0, 0, 2])),), (42, 503)),
        ((attribute(31, b"02-00-00-00-00-0A"), attribute(5, bytes([1]))), (42, 503)),
        ((attribute(87, b"eth1"),), (41, 0)),
        ((attribute(1, b"alice"), attribute(87, b"eth2")), (42, 503)),
        ((attribute(1, b"alice"), attribute(31, b"unknown")), (42, 503)),
        ((attribute(1, b"alice"), attribute(30, b"02-00-00-00-00-01")), (41, 0)),
        ((attribute(1, b"alice"), attribute(30, b"02-00-00-00-00-99")), (42, 503)),
        ((attribute(1, b"alice"), attribute(8, bytes([10, 0, 0, 1]))), (42, 401)),
        ((attribute(32, b"br1"),), (42, 402)),
        ((attribute(1, b"alice"), attribute(32, b"br1")), (41, 0)),
        ((attribute(1, b"alice"), attribute(32, b"br2")), (42, 403)),
    ],
)
def test_a_session_has_to_fit_all_that_a_demand_says_of_it(
    values: tuple[bytes, ...], expected: tuple[int, int]
) -> None:
    site = Site(params())
    site.login()
    demands = answering(site)
    octets = demand(40, *values)
    assert errors(demands.carry_out(Demand(octets, SECRET), [site.bridge])) == expected
    assert (site.admits() == CLOSED) is (expected[0] == 41)


def test_a_demand_reaches_the_bridges_alone_whose_secret_signs_it(tmp_path: Path) -> None:
    sites, port = list[Site](), free_port()
    for secret in (SECRET, b"another"):
        file = tmp_path / secret.decode()
        file.write_bytes(secret)
        access = AccessParams("127.0.0.1", str(file), dynamic_port=port)
        sites.append(Site(replace(params(), port_access=access)))
        sites[-1].login()
    demands = answering(*sites)
    running = hub.spawn(demands.run)
    octets = demand(40, STATION, secret=b"another")
    try:
        wait_for(lambda: say(octets, port) == 41, "the end of the session", sleep=hub.sleep)
    finally:
        hub.kill(running)
        demands.close()
    assert [site.admits() == CLOSED for site in sites] == [False, True]


@pytest.mark.parametrize("made", [_real, _without_ipv6], ids=["IPv6", "no IPv6"])
def test_a_demand_ends_a_session_once_and_only_servers_are_heard(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, port, ended = tmp_path / "secret", free_port(), list[int]()
    secret.write_bytes(SECRET)
    monkeypatch.setattr(socket, "socket", made)
    access = AccessParams("127.0.0.1", str(secret), dynamic_port=port)
    site = Site(replace(params(), port_access=access))
    site.login()

    def act(bridge: Bridge, name: str, mac: int, demand: Demand) -> None:
        ended.append(mac)
        bridge.port_access.clear(name, mac, site.now)

    demands = Demands({site.bridge.datapath_id: site.bridge}, act)
    running = hub.spawn(demands.run)
    octets = demand(40, STATION)
    try:
        wait_for(lambda: say(octets, port) == 41, "the end of the session", sleep=hub.sleep)
        assert say(octets, port, "127.0.0.9") is None
        assert demands.counters["unknown_client"] == 1
        site.login()
        assert say(octets, port) == 41
        assert ended == [ALICE], "a repeated demand is answered, and not carried out again"
    finally:
        hub.kill(running)
        demands.close()
