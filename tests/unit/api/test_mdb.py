"""Multicast entries: what is listed, permanent entries."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.resources.bridge.mdb.models import MdbEntry, MdbPage
from ofapp.api.resources.bridge.mdb.routes import decode_cursor, encode_cursor, rows
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, mcast_network
from tests.unit.bridge.changes import changed
from tests.unit.bridge.multicast.lan import V6, ip

MDB = f"/v1/bridges/{DPID}/mdb"

Line = tuple[int, str, str, str | None]


@pytest.fixture
def network() -> Network:
    """See `mcast_network`."""
    return mcast_network()


def page(client: Any, **query: Any) -> MdbPage:
    answer = client.get(MDB, query_string=query)
    assert answer.status_code == 200, answer.text
    return MdbPage.model_validate(answer.json)


def lines(listed: MdbPage) -> list[Line]:
    return [(entry.vlan, entry.group, entry.port.name, entry.source) for entry in listed.entries]


ALL: list[Line] = [
    (0, "239.1.1.1", "eth1", None),
    (0, "239.1.1.2", "eth2", None),
    (0, "239.1.1.3", "eth2", None),
    (7, "239.1.1.1", "eth2", None),
    (7, "239.7.7.7", "eth1", None),
]


def test_entries_are_in_the_order_of_vlan_and_group(client: Any) -> None:
    assert lines(page(client)) == ALL


def test_a_group_from_everybody(client: Any) -> None:
    entry = page(client).entries[0]
    assert (entry.type, entry.filter_mode, entry.sources, entry.hosts) == (
        "temp",
        "exclude",
        [],
        [],
    )
    assert entry.port.number == 1
    assert entry.timer is not None
    assert 245 < entry.timer < 250


def test_a_group_without_one_source_and_who_wants_it(client: Any) -> None:
    entry = page(client).entries[1]
    assert entry.filter_mode == "exclude"
    assert entry.timer is not None
    assert [source.model_dump() for source in entry.sources] == [
        {"address": "10.9.0.1", "timer": 0.0, "blocked": True}
    ]
    assert entry.hosts == ["02:00:00:00:00:07"]


def test_a_group_from_one_source_only_has_the_time_of_its_source(client: Any) -> None:
    entry = page(client).entries[2]
    assert (entry.filter_mode, entry.timer) == ("include", None)
    (source,) = entry.sources
    assert (source.address, source.blocked) == ("10.9.0.1", False)
    assert 245 < source.timer < 250


def test_a_permanent_entry_has_no_time(client: Any) -> None:
    assert page(client).entries[-1].model_dump() == {
        "vlan": 7,
        "group": "239.7.7.7",
        "source": None,
        "port": {"number": 1, "name": "eth1"},
        "type": "permanent",
        "filter_mode": "exclude",
        "proto": "static",
        "timer": None,
        "sources": [],
        "hosts": [],
    }


def test_a_bridge_that_does_not_snoop_has_its_permanent_entries(
    client: Any, network: Network
) -> None:
    network.changes.mdb.add_permanent(
        network.bridges[0xFF], PermanentEntry(0, ip("239.1.1.1"), "eth1")
    )
    answer = client.get(f"/v1/bridges/{FULL}/mdb")
    assert [entry.type for entry in MdbPage.model_validate(answer.json).entries] == ["permanent"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"vlan": 7}, ALL[3:]),
        ({"vlan": 8}, []),
        ({"group": "239.1.1.1"}, [ALL[0], ALL[3]]),
        ({"group": "ff05::1"}, []),
        ({"port": "eth1"}, [ALL[0], ALL[4]]),
        ({"port": "2"}, ALL[1:4]),
        ({"port": "LOCAL"}, []),
        ({"type": "permanent"}, [ALL[4]]),
        ({"type": "temp", "port": "eth1"}, [ALL[0]]),
        ({"group": "239.1.1.1", "vlan": 7, "port": "eth2"}, [ALL[3]]),
    ],
    ids=str,
)
def test_filters(client: Any, query: dict[str, Any], expected: list[Line]) -> None:
    assert lines(page(client, **query)) == expected


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({"port": "eth9"}, 404, "port"),
        ({"group": "10.0.0.1"}, 422, "group"),
        ({"group": "ff02::1%eth0"}, 422, "group"),
        ({"vlan": "4095"}, 422, "vlan"),
        ({"cursor": "x"}, 422, "cursor"),
        ({"limit": "0"}, 422, "limit"),
        ({"mac": "x"}, 422, "mac"),
    ],
)
def test_what_cannot_be_asked(client: Any, query: dict[str, str], status: int, field: str) -> None:
    answer = client.get(MDB, query_string=query)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (status, field)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_pages_make_the_whole(client: Any, network: Network, bridge: Bridge, size: int) -> None:
    """Sources, address families and ports that are away have their place, too."""
    network.dispatcher.apply(bridge, bridge.hear("snooped", [(2, V6.join())], time.monotonic()))
    for source in (None, ip("10.0.0.9")):
        bridge.multicast.add_permanent(PermanentEntry(0, ip("239.1.1.1"), "away", source), 0.0)
    found, cursor = [], None
    while True:
        listed = page(client, limit=size, **({} if cursor is None else {"cursor": cursor}))
        assert len(listed.entries) <= size
        found += listed.entries
        cursor = listed.next
        if cursor is None:
            break
    assert [(e.vlan, e.group, e.port.name, e.source) for e in found] == [
        (0, "239.1.1.1", "away", None),
        (0, "239.1.1.1", "away", "10.0.0.9"),
        *ALL[:3],
        (0, "ff05::1:1", "eth2", None),
        *ALL[3:],
    ]
    assert found[0].port.number is None


def test_an_entry_that_goes_while_it_is_read_takes_no_other_along(
    client: Any, bridge: Bridge
) -> None:
    first = page(client, limit=2)
    bridge.remove_port(2, time.monotonic())  # takes three entries, the last one told, too
    assert lines(page(client, cursor=first.next)) == [ALL[4]]


def test_a_cursor_is_its_key(bridge: Bridge, network: Network) -> None:
    bridge.multicast.add_permanent(
        PermanentEntry(4094, ip("ff05::7"), "é" * 64, ip("fe80::1")), 0.0
    )
    for row in rows(bridge, network.multicast_snapshot(bridge)):
        assert decode_cursor(encode_cursor(row)) == row.key


# Permanent entries


def test_put_forwards_and_says_whether_it_is_new(client: Any, bridge: Bridge) -> None:
    answer = client.put(f"{MDB}/0/239.9.9.9/eth2")
    assert answer.status_code == 201
    entry = MdbEntry.model_validate(answer.json)
    assert (entry.group, entry.port.name, entry.type) == ("239.9.9.9", "eth2", "permanent")
    assert client.put(f"{MDB}/0/239.9.9.9/2").status_code == 200
    (wanted,) = (
        e
        for e in bridge.multicast.desired(bridge.params) or ()
        if getattr(e, "group", 0) == ip("239.9.9.9")
    )
    assert wanted.ports == {2, 3}  # and the router port
    assert client.delete(f"{MDB}/0/239.9.9.9/eth2").status_code == 204
    assert lines(page(client)) == ALL


def test_put_of_a_source_is_an_entry_of_its_own(client: Any) -> None:
    path = f"{MDB}/7/FF05:0::1/LOCAL"
    assert client.put(f"{path}?source=2001:db8::1").json["source"] == "2001:db8::1"
    assert client.put(path).status_code == 201
    assert lines(page(client, group="ff05::1")) == [
        (7, "ff05::1", "br0", None),
        (7, "ff05::1", "br0", "2001:db8::1"),
    ]
    (entry, _) = page(client, group="ff05::1").entries
    assert entry.port.number == LOCAL_PORT
    assert client.delete(path).status_code == 204
    assert lines(page(client, group="ff05::1")) == [(7, "ff05::1", "br0", "2001:db8::1")]


def test_put_of_all_but_some_sources(client: Any) -> None:
    path = f"{MDB}/0/239.9.9.9/eth2"
    assert client.put(f"{path}?exclude=10.0.0.7,10.0.0.8").status_code == 201
    assert client.put(f"{path}?exclude=10.0.0.9").status_code == 200  # in its place
    (entry,) = page(client, group="239.9.9.9").entries
    assert (entry.type, entry.filter_mode, entry.timer) == ("permanent", "exclude", None)
    assert [source.model_dump() for source in entry.sources] == [
        {"address": "10.0.0.9", "timer": 0.0, "blocked": True}
    ]
    assert client.delete(path).status_code == 204


def test_a_temporary_entry_by_hand_ages_as_others_do(client: Any) -> None:
    path = f"{MDB}/5/239.9.9.9/LOCAL"
    answer = client.put(f"{path}?type=temp")
    assert answer.status_code == 201
    entry = MdbEntry.model_validate(answer.json)
    assert (entry.type, entry.port.name, entry.vlan) == ("temp", "br0", 5)
    assert entry.timer is not None
    assert 240 < entry.timer <= 260
    assert client.put(f"{path}?type=temp&exclude=10.0.0.7").status_code == 200
    assert client.delete(f"{path}?type=temp").status_code == 204
    assert lines(page(client)) == ALL


@pytest.mark.parametrize("query", ["source=10.0.0.7", "exclude=10.0.0.7"])
def test_a_member_has_sources_where_its_version_has_them(
    client: Any, network: Network, query: str
) -> None:
    bridge = network.bridges[1]
    assert bridge.params.multicast is not None
    vlan = replace(bridge.params.multicast.vlan, mcast_igmp_version=2)
    old = replace(bridge.params.multicast, vlan=vlan)
    bridge.set_params(
        changed(bridge, multicast=old, multicast_vlans=bridge.params.multicast_vlans),
        time.monotonic(),
    )
    path = f"{MDB}/0/239.9.9.9/eth1?{query}"
    answer = client.put(f"{path}&type=temp")
    (error,) = answer.json["errors"]
    assert (answer.status_code, error["field"]) == (409, query.partition("=")[0])
    assert "mcast_igmp_version" in str(error)
    assert lines(page(client)) == ALL
    assert client.put(f"{path}&type=permanent").status_code == 201
    assert client.delete(path.replace("exclude=10.0.0.7", "")).status_code == 204


def test_it_is_answered_when_the_switch_has_carried_it_out(client: Any, network: Network) -> None:
    sent, answered = [], []
    network.datapaths[1] = SimpleNamespace(
        apply=sent.append, carried_out=lambda _patience: answered.append(len(sent)) or True
    )
    for kind in ("temp", "permanent"):
        assert client.put(f"{MDB}/0/239.9.9.9/eth1?type={kind}").status_code == 201
    assert answered == [1, 2]


@pytest.mark.parametrize(
    ("given", "shown"), [("zebra", "zebra"), ("186", "bgp"), ("200", "200"), ("4", "static")]
)
def test_who_has_set_an_entry(client: Any, given: str, shown: str) -> None:
    path = f"{MDB}/0/239.9.9.9/eth1"
    assert MdbEntry.model_validate(client.put(path).json).proto == "static"
    answer = client.put(f"{path}?proto={given}")  # in its place
    assert (answer.status_code, MdbEntry.model_validate(answer.json).proto) == (200, shown)
    (entry,) = page(client, group="239.9.9.9").entries
    assert entry.proto == shown
    assert page(client).entries[0].proto == "kernel"
    assert client.delete(path).status_code == 204


@pytest.mark.parametrize(("query", "status"), [("kernel", 422), ("3", 422), ("bgp&type=temp", 409)])
def test_who_cannot_have_set_an_entry(client: Any, query: str, status: int) -> None:
    answer = client.put(f"{MDB}/0/239.9.9.9/eth1?proto={query}")
    (error,) = answer.json["errors"]
    assert (answer.status_code, error["field"]) == (status, "proto")
    assert lines(page(client)) == ALL


def test_a_mac_address_is_a_group_for_what_is_not_ip(client: Any) -> None:
    path = f"{MDB}/7/01:00:01:C0:FF:EE/eth2"
    answer = client.put(path)
    assert answer.status_code == 201
    entry = MdbEntry.model_validate(answer.json)
    assert (entry.group, entry.type, entry.sources) == ("01:00:01:c0:ff:ee", "permanent", [])
    assert client.put(path).status_code == 200
    listed = lines(page(client, vlan=7))
    assert listed == [*ALL[3:], (7, "01:00:01:c0:ff:ee", "eth2", None)]
    first = page(client, limit=5)
    assert lines(page(client, cursor=first.next)) == listed[2:]
    status = client.get(f"/v1/bridges/{DPID}/multicast").json["vlans"]
    counts = {vlan["vlan"]: (vlan["mac_groups"], vlan["ipv6"]["groups"]) for vlan in status}
    assert counts == {0: (0, 0), 7: (1, 0), 10: (0, 0)}
    (metric,) = [one for one in client.get("/metrics").text.splitlines() if '"mac"' in one]
    assert metric.startswith("ofapp_mcast_groups{")
    assert metric.endswith('family="mac",vlan="7"} 1.0')
    assert client.delete(path).status_code == 204
    assert lines(page(client)) == ALL


def test_a_temporary_entry_needs_snooping(client: Any) -> None:
    answer = client.put(f"/v1/bridges/{FULL}/mdb/0/239.9.9.9/eth1?type=temp")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, "type")


def test_a_reported_entry_is_deleted_until_it_is_reported_again(client: Any) -> None:
    assert client.delete(f"{MDB}/0/239.1.1.1/eth1").status_code == 204
    assert lines(page(client)) == ALL[1:]
    assert client.delete(f"{MDB}/0/239.1.1.3/eth2?source=10.9.0.1").status_code == 204
    assert lines(page(client)) == [ALL[1], *ALL[3:]]
    assert client.delete(f"{MDB}/0/239.1.1.1/eth1").status_code == 404


@pytest.mark.parametrize(
    ("query", "gone"),
    [
        ({}, ALL[:4]),
        ({"vlan": 7}, [ALL[3]]),
        ({"group": "239.1.1.1"}, [ALL[0], ALL[3]]),
        ({"port": "eth2"}, ALL[1:4]),
        ({"type": "permanent"}, [ALL[4]]),
        ({"type": "permanent", "port": "eth2"}, []),
        ({"type": "permanent", "vlan": 7, "group": "239.7.7.7", "port": "1"}, [ALL[4]]),
    ],
    ids=str,
)
def test_flush(client: Any, query: dict[str, Any], gone: list[Line]) -> None:
    answer = client.delete(MDB, query_string=query)
    assert (answer.status_code, answer.json) == (200, {"flushed": len(gone)})
    assert lines(page(client)) == [line for line in ALL if line not in gone]


def test_flush_of_a_port_that_is_not_there(client: Any, bridge: Bridge) -> None:
    assert client.delete(f"{MDB}?port=eth9").status_code == 404
    bridge.remove_port(1, time.monotonic())
    assert client.delete(f"{MDB}?port=eth1").json == {"flushed": 0}
    assert client.delete(f"{MDB}?port=eth1&type=permanent").json == {"flushed": 1}


def test_the_entry_of_a_port_that_is_away_is_seen_and_removed(client: Any, bridge: Bridge) -> None:
    bridge.remove_port(1, time.monotonic())
    (entry,) = page(client, port="eth1").entries
    assert (entry.port.number, entry.port.name, entry.type) == (None, "eth1", "permanent")
    assert client.delete(f"{MDB}/7/239.7.7.7/eth1").status_code == 204
    assert client.get(f"{MDB}?port=eth1").status_code == 404


@pytest.mark.parametrize(
    ("method", "below", "status", "field"),
    [
        ("put", "0/239.9.9.9/eth9", 404, "port"),
        ("put", "0/239.9.9.9/eth1?source=fe80::1", 409, "source"),
        ("put", "0/239.9.9.9/eth1?source=239.1.1.1", 422, "source"),
        ("put", "0/239.9.9.9/eth1?source=me", 422, "source"),
        ("put", "0/239.9.9.9/eth1?from=10.0.0.1", 422, "from"),
        ("put", "0/224.0.0.251/eth1", 422, "group"),
        ("put", "0/ff02::1/eth1", 422, "group"),
        ("put", "0/ff01::7/eth1", 422, "group"),
        ("put", "4095/239.9.9.9/eth1", 422, "vlan"),
        ("delete", "0/239.9.9.9/eth1", 404, "group"),
        ("delete", "0/239.1.1.1/eth1?type=permanent", 404, "group"),
        ("delete", "7/239.7.7.7/eth1?type=temp", 404, "group"),
        ("put", "0/239.9.9.9/eth1?exclude=10.0.0.1,me", 422, "exclude"),
        ("put", "0/239.9.9.9/eth1?exclude=10.0.0.1,fe80::1", 409, "exclude"),
        ("put", "0/239.9.9.9/eth1?exclude=10.0.0.1&source=10.0.0.2", 409, "exclude"),
        ("put", "0/239.9.9.9/eth1?source=fe80::1&type=temp", 409, "source"),
        ("put", "0/239.9.9.9/eth1?type=forever", 422, "type"),
        ("delete", "7/239.7.7.7/eth1?source=10.0.0.1", 404, "group"),
        ("delete", "7/239.7.7.7/eth9", 404, "group"),
        ("put", "0/ff:ff:ff:ff:ff:ff/eth1", 422, "group"),
        ("put", "0/02:00:00:00:00:01/eth1", 422, "group"),
        ("put", "0/01:80:c2:00:00:0e/eth1", 422, "group"),
        ("put", "0/01:00:01:c0:ff:ee/eth1?source=10.0.0.1", 409, "source"),
        ("put", "0/01:00:01:c0:ff:ee/eth1?exclude=10.0.0.1", 409, "exclude"),
        ("put", "0/01:00:01:c0:ff:ee/eth1?type=temp", 409, "type"),
    ],
)
def test_what_cannot_be_set_or_removed_is_named(
    client: Any, method: str, below: str, status: int, field: str
) -> None:
    answer = getattr(client, method)(f"{MDB}/{below}")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (status, field)
    assert lines(page(client)) == ALL


@pytest.mark.parametrize(
    ("method", "below"),
    [("get", ""), ("put", "/0/239.1.1.1/eth1"), ("delete", "/0/239.1.1.1/eth1")],
)
def test_an_unknown_bridge_is_not_found(client: Any, method: str, below: str) -> None:
    answer = getattr(client, method)(f"/v1/bridges/00000000000000aa/mdb{below}")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")
