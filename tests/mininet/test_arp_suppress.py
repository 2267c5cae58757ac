"""Real hosts: their requests for a bound host are answered, and no other host hears them.

The requests are ARP's, and IPv6's neighbour solicitations.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import pytest

from tests.support.controller import Controller
from tests.support.lab import Host, Lab
from tests.support.waiting import wait_for

DPID = 0x0A0A_C100_0003


@pytest.fixture
def hosts(lab: Lab, start: Callable[..., Controller]) -> list[Host]:
    """Three hosts; the first one has a binding."""
    switch = lab.switch(DPID)
    hosts = [lab.host(switch) for _ in range(3)]
    bound = hosts[0]
    own = {
        "stp": {"enabled": False},
        "vlans": {0: {"arp_suppress": True, "nd_suppress": True}},
        "ports": {bound.plug: {"first_hop": {"arp_inspection": True, "router": False}}},
        "bindings": [
            {"mac": bound.mac, "port": bound.plug, "address": address}
            for address in (bound.ip, bound.ip6)
        ],
    }
    start({"bridges": {f"{DPID:016x}": own}}, switch)
    return hosts


def requests(frames: list[bytes], target: Host) -> list[bytes]:
    """The ARP requests for the address of a host."""
    address = bytes(map(int, target.ip.split(".")))
    return [
        got
        for got in frames
        if got[12:14] == b"\x08\x06" and got[20:22] == b"\0\1" and got[38:42] == address
    ]


def test_a_host_finds_a_bound_host_by_the_answer_of_the_switch(hosts: list[Host]) -> None:
    bound, asker, third = hosts
    with third.wire() as heard:
        assert asker.reaches(bound.ip)
        assert asker.mac not in asker.run("ip", "neigh", "show", bound.ip)
        assert bound.mac in asker.run("ip", "neigh", "show", bound.ip)
        assert not requests(heard.received(), bound)
        assert asker.reaches(third.ip)
        assert requests(heard.received(), third)


def test_duplicate_address_detection_still_finds_the_host(hosts: list[Host]) -> None:
    """A probe floods, and the host defends its address."""
    bound, asker, third = hosts
    target = bytes(map(int, bound.ip.split(".")))
    mac = bytes.fromhex(asker.mac.replace(":", ""))
    head = b"\xff" * 6 + mac + b"\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01"
    probe = (head + mac + bytes(4) + bytes(6) + target).ljust(60, b"\0")
    holder = bytes.fromhex(bound.mac.replace(":", ""))
    with asker.wire() as answers, third.wire() as heard:
        answers.send(probe)
        wait_for(
            lambda: any(got[22:32] == holder + target for got in answers.received()),
            "the answer of the host",
        )
        assert requests(heard.received(), bound)


def solicitations(frames: list[bytes], target: Host) -> list[bytes]:
    """The neighbour solicitations for the IPv6 address of a host."""
    head, address = b"\x86\xdd", ip_address(target.ip6).packed
    found = [got for got in frames if got[12:14] == head and got[20] == 58 and got[54] == 135]
    return [got for got in found if got[62:78] == address]


def test_a_host_finds_a_bound_host_by_the_advertisement_of_the_switch(hosts: list[Host]) -> None:
    bound, asker, third = hosts
    with bound.wire() as asked, third.wire() as heard:
        assert asker.reaches(bound.ip6)
        known = asker.run("ip", "-6", "neigh", "show", bound.ip6)
        assert bound.mac in known
        assert "router" not in known
        probes = [got for got in asked.received() if got[0] & 1]
        assert not solicitations(heard.received(), bound)
        assert not solicitations(probes, bound)
        assert asker.reaches(third.ip6)
        assert solicitations(heard.received(), third)


def test_an_ipv6_address_is_still_found_to_be_a_duplicate(hosts: list[Host]) -> None:
    bound, asker, third = hosts
    with third.wire() as heard:
        asker.run("ip", "addr", "add", f"{bound.ip6}/64", "dev", "eth0")
        wait_for(
            lambda: "dadfailed" in asker.run("ip", "-6", "addr", "show", "dev", "eth0"),
            "the kernel to find the duplicate",
        )
        assert solicitations(heard.received(), bound)


def test_reachability_is_confirmed_by_the_host_itself(hosts: list[Host]) -> None:
    """A probe (RFC 4861 7.3.3) goes to the host; if that is silent, the entry ends."""
    bound, asker, _ = hosts
    assert asker.reaches(bound.ip6)
    with bound.wire() as asked:
        asker.run("ip", "neigh", "change", bound.ip6, "dev", "eth0", "nud", "probe")
        wait_for(lambda: solicitations(asked.received(), bound), "the probe")
    wait_for(lambda: "REACHABLE" in asker.run("ip", "-6", "neigh", "show", bound.ip6), "the answer")
    bound.mute()
    asker.run("ip", "neigh", "change", bound.ip6, "dev", "eth0", "nud", "probe")
    wait_for(lambda: "FAILED" in asker.run("ip", "-6", "neigh", "show", bound.ip6), "its end")
