"""Attacks on the first hop by a guest, on a guarded LAN and at the same time on an open one.

On the open LAN the attack has to arrive: so the test can fail.  On the guarded one no frame of it
does, and the victim's neighbours, routes and addresses stay.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.firsthop.attacks import ATTACKS, REPRESENTATIVE, Attack, attacker, victim
from tests.support.dhcp_frames import advertisement, dad
from tests.support.firsthop import clients
from tests.support.firsthop.bed import Bed, Capture, Lan
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import GATEWAY, GATEWAY6, dnsmasq
from tests.support.lab import frame
from tests.support.waiting import wait_for

RARP = 0x8035  # a guest may send it, and no attack does
CRAFTED = Path(__file__).with_name("crafted.py")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """Two guests with leases on each LAN: the victim and the attacker."""
    with Bed({"trust": "guest"}, {"trust": "uplink"}) as bed:
        for lan in bed.lans:
            bed.keep(dnsmasq(lan.gateway))
            for guest in lan.guests:
                bed.keep(clients.UDHCPC.start(guest))
        for lan in bed.lans:
            for guest in lan.guests:
                guest.wait_address(4)
                guest.wait_address(6)
                wait_for(guest.link_local, "a link-local address")
            assert attacker(lan).reaches(victim(lan).address(4) or "")
        yield bed


def view(lan: Lan) -> dict[str, object]:
    """What the victim believes of its LAN."""
    guest = victim(lan)
    for address in (GATEWAY, GATEWAY6):
        assert guest.reaches(address), f"{guest.namespace} does not reach {address}"
    neighbours = {address: guest.neighbour(address) for address in (GATEWAY, GATEWAY6)}
    return {
        "addresses": {*guest.addresses()},
        "routers": guest.routers(),
        "neighbours": neighbours,
    }


def stayed_away(capture: Capture, lan: Lan) -> list[str]:
    """What came of the attacker's lies on the LAN, after all it has sent before has arrived."""
    source, target = attacker(lan), victim(lan)
    if lan is lan.bed.guarded:  # on the open one it has claimed its own address for another host
        assert source.reaches(target.address(4) or ""), "the attacker is cut off"
    mark = frame("ff:ff:ff:ff:ff:ff", source.mac, os.urandom(8), ethertype=RARP)
    with source.wire() as wire:
        wire.send(mark)
    for host in (target, lan.gateway):
        wait_for(
            lambda host=host: any(got.startswith(mark) for got in capture.received(host)),
            f"the last frame of {source.namespace} at {host.namespace}",
        )
    return capture.arrived(capture.lies(source, source.addresses()), target, lan.gateway)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            attack,
            id=str(attack),
            marks=[] if attack.name in REPRESENTATIVE else [pytest.mark.thorough],
        )
        for attack in ATTACKS
    ],
)
def test_an_attack_by_a_tool(bed: Bed, attack: Attack) -> None:
    before = view(bed.guarded)
    with Capture(*(host for lan in bed.lans for host in (*lan.guests, lan.gateway))) as capture:
        with ExitStack() as stack:
            for lan in bed.lans:
                stack.enter_context(Daemon(attacker(lan), *attack.command(lan)))

            def arrived() -> list[str]:
                for lan in bed.lans if attack.provoke else ():
                    attack.provoke(lan)  # type: ignore[misc]
                lies = capture.lies(attacker(bed.open), attacker(bed.open).addresses())
                return capture.arrived(lies, victim(bed.open), bed.open.gateway)

            wait_for(arrived, "the attack to arrive where nothing is refused", seconds=15)
            wait_for(
                lambda: capture.lies(attacker(bed.guarded), attacker(bed.guarded).addresses()),
                "the attack on the guarded LAN",
            )
        assert stayed_away(capture, bed.guarded) == []
    if attack.outcome:
        attack.outcome(bed.guarded)
    assert view(bed.guarded) == before
    if attack.claims:
        wait_reported(bed, attack.claims)


def wait_reported(bed: Bed, claims: tuple[str, ...]) -> None:
    """Wait until one of the claims is reported as refused, on the attacker's port."""
    port = attacker(bed.guarded).plug
    wait_for(
        lambda: [
            event
            for event in bed.controller.events("bindings.refused")
            if event["data"]["port_name"] == port and event["data"]["claim"] in claims
        ],
        f"one of {claims} to be reported as refused on {port}",
    )


@pytest.fixture(scope="module")
def crafted(bed: Bed) -> dict[str, dict[str, list[bytes]]]:
    """By the LAN's name and the frame's: frames by scapy, each a lie of the LAN's attacker."""
    return {lan.name: _crafted(lan) for lan in bed.lans}


def _crafted(lan: Lan) -> dict[str, list[bytes]]:
    source, target, gateway = attacker(lan), victim(lan), lan.gateway
    names = {
        "mac": source.mac,
        "ip": source.address(4),
        "ll": source.link_local(),
        "victim_mac": target.mac,
        "victim_ip": target.address(4),
        "victim_ip6": target.address(6),
        "victim_ll": target.link_local(),
        "gateway_mac": gateway.mac,
        "gateway_ip": GATEWAY,
        "gateway_ip6": GATEWAY6,
        "gateway_ll": gateway.link_local(),
    }
    said = subprocess.run(
        ["/usr/bin/python3", CRAFTED, json.dumps(names)], capture_output=True, check=True, text=True
    )
    return {
        name: [bytes.fromhex(one) for one in each] for name, each in json.loads(said.stdout).items()
    }


def test_crafted_frames(
    bed: Bed,
    crafted: dict[str, dict[str, list[bytes]]],
    figure: Callable[[str], None],
) -> None:
    """All are sent twice, then what has come is compared with what was sent."""
    before = view(bed.guarded)
    came: dict[str, set[str]] = {lan.name: set() for lan in bed.lans}
    for name in crafted["g"]:
        with Capture(*(host for lan in bed.lans for host in (*lan.guests, lan.gateway))) as capture:
            for lan in bed.lans:
                with attacker(lan).wire() as wire:
                    for each in crafted[lan.name][name]:
                        wire.send(each)
            for lan in bed.lans:
                if stayed_away(capture, lan):
                    came[lan.name].add(name)
    figure(f"crafted frames: {len(crafted['g'])} kinds, {len(came['o'])} arrive unguarded")
    # No port takes a second tag in the place of the first one's VLAN.
    arrives = {name for name in crafted["o"] if not name.endswith("-vlan0-twice")}
    assert came["o"] >= arrives, sorted(arrives - came["o"])
    assert sorted(came["g"]) == []
    assert view(bed.guarded) == before


def test_a_host_that_configures_an_address_again_keeps_it(bed: Bed) -> None:
    """Others claim it until its owner has detected no duplicate, and so answers for it.

    That takes longer than the controller waits for the answer of an owner.  Without another
    address of the network the host depends on this one.
    """
    target, source = victim(bed.guarded), attacker(bed.guarded)
    address, words = "fd00:211::88", ("fd00:211::88/64", "dev", "eth0")
    claimant = int(source.mac.replace(":", ""), 16)
    claims = advertisement(claimant, address).frame, dad(claimant, address).frame

    def bound() -> list[str]:
        return [one["mac"] for one in bed.bindings() if one["address"] == address]

    def claim() -> None:
        for each in claims:
            wire.send(each)

    target.run("ip", "addr", "add", *words)
    wait_for(lambda: address in target.addresses(), "the address")
    wait_for(lambda: bound() == [target.mac], "its binding")
    target.run("ip", "addr", "del", *words)
    target.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.dad_transmits=4")
    try:
        with source.wire() as wire:
            target.run("ip", "addr", "add", *words)
            wait_for(lambda: address in target.addresses(), "no duplicate", tick=claim)
        assert bound() == [target.mac]
        assert target.reaches(GATEWAY6, source=address)
    finally:
        target.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.dad_transmits=1")
        target.run("ip", "addr", "del", *words)
