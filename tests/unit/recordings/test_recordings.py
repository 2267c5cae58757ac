"""Recordings of real neighbours: what ofapp decided beside them, it decides today.

Each was made by `OFAPP_RECORD=FOLDER` and a test of another tier:

- `linux-lacp`: tests/guest/inside_lags.py, Linux's bonding with 802.3ad, fast, on the kernel's
  datapath; a cable is pulled and plugged in twice.
- `ovs-rstp`: tests/interop/test_stp_peers.py, two bridges of ofapp and one of Open vSwitch with
  RSTP, which is the root; cables are cut and plugged in, and the root dies and returns.
- `dhcp-clients`: tests/firsthop/test_clients.py, udhcpc, dhclient, dhcpcd and systemd-networkd
  behind guarded ports, with dnsmasq; they get their leases and renew them.

Compared are frames that are sent or forwarded, states of ports, members of aggregations and the
kinds of events: what a neighbour or a user notices.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from ofapp.recording import replay

HERE = Path(__file__).parent
COMPARED = ("SendFrame", "ForwardFrame", "SetPortState", "DesiredLag", "BoundHost", "Event")
RECORDINGS = sorted(path.name.partition(".")[0] for path in HERE.glob("*.jsonl.gz"))


def lines(name: str) -> list[str]:
    return gzip.decompress((HERE / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()


def effects(name: str) -> Counter[str]:
    """How often each type of effect is in a recording."""
    found: Counter[str] = Counter()
    for line in map(json.loads, lines(name)):
        listed = line.get("effects")
        for effect in listed if isinstance(listed, list) else []:
            if isinstance(effect, dict):
                found[effect["$"].rpartition(".")[2]] += 1
    return found


@pytest.mark.parametrize("name", RECORDINGS)
def test_it_decides_as_recorded(name: str) -> None:
    count, difference, _ = replay(lines(name), COMPARED)
    assert count > 100
    assert difference is None, difference


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("linux-lacp", {"SendFrame": 100, "DesiredLag": 10, "Event": 20}),
        ("dhcp-clients", {"ForwardFrame": 30, "BoundHost": 10, "SendFrame": 20}),
        ("ovs-rstp", {"SendFrame": 50, "SetPortState": 10, "Event": 20}),
    ],
)
def test_the_neighbour_was_there(name: str, least: dict[str, int]) -> None:
    found = effects(name)
    assert all(found[kind] >= number for kind, number in least.items()), found


def test_all_recordings_are_described() -> None:
    assert __doc__ is not None
    assert all(f"`{name}`" in __doc__ for name in RECORDINGS)
