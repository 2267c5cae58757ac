"""Captured exchanges of real clients and servers give the leases that these had."""

from pathlib import Path

import pytest

from ofapp.bridge.first_hop.dhcp.verdict import Leased
from tests.unit.bridge.first_hop.dhcp.snooped import GUEST, HOST, bound, snooping

CAPTURES = Path(__file__).with_name("captures.txt")


def captures() -> dict[str, list[tuple[str, bytes]]]:
    """The frames by capture, each with its sender."""
    all_of_them: dict[str, list[tuple[str, bytes]]] = {}
    for line in CAPTURES.read_text().splitlines():
        if line.startswith("# "):
            frames = all_of_them.setdefault(line[2:], [])
        else:
            sender, octets = line.split()
            frames.append((sender, bytes.fromhex(octets)))
    return all_of_them


LEASES = {
    "udhcpc 1.35, dnsmasq 2.90": {("10.0.0.59", 120)},
    "dhclient 4.4, Kea 2.2": {("10.0.0.50", 7200)},
    "dhcpcd 9.4, dnsmasq 2.90": {("10.0.0.59", 120)},
    "dhclient -6 -N -P, Kea 2.2": {("2001:db8::50", 7200), ("2001:db8:8::/56", 7200)},
    "dhclient -6, dnsmasq 2.90": {("2001:db8::50", 120)},
}


@pytest.mark.parametrize("name", LEASES)
def test_a_captured_exchange_gives_its_leases(name: str) -> None:
    dhcp = snooping()
    granted, ended = set(), set()
    for sender, frame in captures()[name]:
        if sender == "client":
            verdict = dhcp.from_client(GUEST, frame, 0.0)
        else:
            verdict = dhcp.from_server(frame, 0.0)
        assert verdict.frame == frame
        for fact in verdict.facts:
            assert (fact.port, fact.vid, fact.mac) == (GUEST.number, 0, HOST)
            if isinstance(fact, Leased):
                granted.add((fact.address, fact.lifetime))
            else:
                ended.add(fact.address)
    assert granted == {(bound(address), float(seconds)) for address, seconds in LEASES[name]}
    if "-6" in name:  # it ends with a Release
        assert ended == {address for address, _ in granted}
    assert not dhcp.counters
