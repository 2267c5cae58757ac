"""Pages of a database that changes between them."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ofapp.bridge.mac import format_mac
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, FULL, OWN, add_bridge, empty_network, learn

FDB = f"/v1/bridges/{DPID}/fdb"

hosts = st.tuples(st.integers(0, 2), st.integers(1, 40))  # (vid, number)


def address(number: int) -> str:
    return format_mac(0x5254_0000_0000 + number * 0x1_0001)


@settings(max_examples=25)
@given(
    st.sets(hosts),
    st.integers(1, 7),
    st.lists(st.tuples(st.booleans(), st.sets(hosts, max_size=5)), max_size=20),
)
def test_whatever_stays_is_reported_once_and_in_order(
    clients: Clients,
    present: set[tuple[int, int]],
    limit: int,
    changes: list[tuple[bool, set[tuple[int, int]]]],
) -> None:
    network = empty_network()
    bridge = add_bridge(network)
    client = clients(network)

    def change(add: bool, some: set[tuple[int, int]]) -> None:
        for vid, number in some:
            mac = int(address(number).replace(":", ""), 16)
            if add:
                learn(network, bridge, (1, vid, address(number)))
            else:
                network.changes.fdb.flush(bridge, None, vid, mac)

    change(True, present)
    stayed, ever = set(present), set(present)
    listed: list[tuple[int, str]] = []
    query: dict[str, Any] = {"limit": limit}
    for page_number in count():
        page = client.get(FDB, query_string=query).json
        assert len(page["entries"]) <= limit
        listed += [(e["vlan"], e["mac"]) for e in page["entries"] if e["type"] == "learned"]
        if page["next"] is None:
            break
        assert len(page["entries"]) == limit
        query["cursor"] = page["next"]
        if page_number < len(changes):
            add, some = changes[page_number]
            change(add, some)
            if add:
                ever |= some
            else:
                stayed -= some
    assert listed == sorted(set(listed))
    assert {(vid, address(number)) for vid, number in stayed} <= set(listed)
    assert set(listed) <= {(vid, address(number)) for vid, number in ever}


@pytest.mark.parametrize("vids", [1, 3])
@pytest.mark.parametrize("order", [sorted, list, lambda some: sorted(some, reverse=True)])
def test_a_big_database_in_small_pages(clients: Clients, vids: int, order: Any) -> None:
    network = empty_network()
    bridge = add_bridge(network)
    rng = random.Random(vids)
    macs = order({rng.getrandbits(46) & ~(1 << 40) for _ in range(6000)} - {0})
    learn(network, bridge, *((1 + i % 3, i % vids, format_mac(mac)) for i, mac in enumerate(macs)))
    client = clients(network)
    listed, cursor = [], None
    while True:
        page = client.get(FDB, query_string={"limit": 97} | ({"cursor": cursor} if cursor else {}))
        listed += [(entry["vlan"], entry["mac"]) for entry in page.json["entries"]]
        cursor = page.json["next"]
        if cursor is None:
            break
    expected = sorted((i % vids, format_mac(mac)) for i, mac in enumerate(macs))
    assert listed == [(None, OWN), *expected]


def test_a_page_that_ends_where_the_database_does_is_the_last(clients: Clients) -> None:
    network = empty_network()
    bridge = add_bridge(network)
    learn(network, bridge, (1, 0, address(1)), (1, 0, address(2)))
    client = clients(network)
    assert client.get(f"{FDB}?limit=3").json["next"] is None
    assert client.get(f"{FDB}?limit=2").json["next"] is not None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_pages_across_bridges(clients: Clients, limit: int) -> None:
    network = empty_network()
    for datapath_id in (1, 5, 0xFF):
        bridge = add_bridge(network, datapath_id)
        learn(network, bridge, *((1, 0, address(number)) for number in (1, 2, 3)))
    client = clients(network)
    listed, cursor = [], None
    while True:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/fdb", query_string=query).json
        assert len(page["entries"]) <= limit
        listed += [(entry["datapath_id"], entry["mac"]) for entry in page["entries"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(listed) == 12
    assert listed == sorted(set(listed))
    assert {dpid for dpid, _ in listed} == {DPID, "0000000000000005", FULL}
