"""What several members answer is put together to what one would have said, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from ofapp.api.cluster.merging import (
    merge_bridges,
    merge_entries,
    merge_found,
    merge_hosts,
    place,
)
from ofapp.api.pagination import decode_cursor, encode_cursor
from ofapp.api.resources.hosts.search import MOST, Found

ONE, TWO, NOBODYS = (f"{number:016x}" for number in (1, 2, 3))
OWNERS = {ONE: "a", TWO: "b"}
Answer = dict[str, Any]
Merge = Callable[..., Answer]


def merged(merge: Merge, *, query: str = "", **answers: Answer) -> Answer:
    with Flask(__name__).test_request_context(f"/?{query}"):
        return merge(answers, OWNERS.get)


def bridge(datapath_id: str, connected: bool, name: str = "") -> Answer:
    return {"datapath_id": datapath_id, "connected": connected, "name": name}


def entry(datapath_id: str, mac: int, vlan: int | None = 0) -> Answer:
    return {
        "datapath_id": datapath_id,
        "bridge": "br0",
        "mac": f"02:00:00:00:00:{mac:02x}",
        "vlan": vlan,
        "port": {"number": 1, "name": "eth0"},
        "type": "learned",
        "age": 0,
    }


def neighbour(datapath_id: str, port: int, chassis: str, port_id: str | None) -> Answer:
    return {
        "datapath_id": datapath_id,
        "port": {"number": port, "name": f"eth{port}"},
        "member": None,
        "source": "stp",
        "trusted": False,
        "chassis_id": chassis,
        "port_id": port_id,
        "bridge_id": None,
        "lldp": None,
        "seen": None,
    }


def found(**lists: list[Answer]) -> Answer:
    nothing: Answer = {"bridges": [], "ports": [], "neighbours": [], "hosts": [], "more": False}
    return nothing | lists


def test_of_a_bridge_its_owner_is_believed() -> None:
    answer = merged(
        merge_bridges,
        a={"bridges": [bridge(TWO, True, "old"), bridge(ONE, True, "own")]},
        b={"bridges": [bridge(TWO, True, "own"), bridge(ONE, False, "old")]},
    )
    assert answer == {"bridges": [bridge(ONE, True, "own"), bridge(TWO, True, "own")]}


def test_of_a_bridge_that_is_nobodys_who_has_it_connected_is_believed() -> None:
    away, there = (
        {"bridges": [bridge(NOBODYS, connected, str(connected))]} for connected in (False, True)
    )
    for a, b in ((away, there), (there, away)):
        assert merged(merge_bridges, a=a, b=b)["bridges"] == there["bridges"]


def test_pages_of_all_members_read_one_after_another_tell_each_entry_once() -> None:
    """Each member's own page is cut where it has more, and the merged one where the first is."""
    own = {
        "a": [entry(ONE, mac) for mac in range(1, 8)],
        "b": [entry(TWO, mac, vlan) for vlan in (None, 5) for mac in range(1, 4)],
    }
    pages: list[Answer] = []
    cursor: str | None = ""
    while cursor is not None:
        answers = {member: page_of(entries, cursor, 2) for member, entries in own.items()}
        pages.append(merged(merge_entries, query="limit=2", **answers))
        cursor = pages[-1]["next"]
    for page in pages:
        assert 0 < len(page["entries"]) <= 2
    assert [one for page in pages for one in page["entries"]] == own["a"] + own["b"]


def page_of(entries: list[Answer], cursor: str, limit: int) -> Answer:
    """As one member tells it, which knows only these."""
    rest = [one for one in entries if not cursor or place(one) > decode_cursor(cursor)]
    more = len(rest) > limit
    return {
        "entries": rest[:limit],
        "next": encode_cursor(*place(rest[limit - 1])) if more else None,
    }


def test_what_is_found_keeps_its_neighbours() -> None:
    """A merged search without them was no `Found` at all."""
    far = [neighbour(ONE, 2, "02:aa", None), neighbour(ONE, 2, "02:aa", "8.001")]
    answer = merged(
        merge_found,
        a=found(neighbours=far[::-1], bridges=[{"datapath_id": ONE, "bridge": "br0"}]),
        b=found(
            neighbours=[neighbour(ONE, 9, "02:bb", "stale"), neighbour(TWO, 1, "02:cc", "eth7")],
            hosts=[{"mac": "02:00:00:00:00:01", "vlan": 0, "vendor": None}],
        ),
    )
    assert answer["neighbours"] == [*far, neighbour(TWO, 1, "02:cc", "eth7")]
    assert [one["bridge"] for one in answer["bridges"]] == ["br0"]
    assert len(answer["hosts"]) == 1
    assert set(answer) == set(Found.model_fields) - {"silent"}


@pytest.mark.parametrize("more", [False, True])
def test_there_is_more_where_a_member_says_so_or_all_have_too_many(more: bool) -> None:
    def hosts(first: int) -> list[Answer]:
        numbers = range(first, first + MOST // 2 + 1)
        return [{"mac": f"02:00:00:00:{first:02x}:{n:02x}", "vlan": 0} for n in numbers]

    alone = merged(merge_found, a=found(hosts=hosts(1)) | {"more": more}, b=found())
    assert alone["more"] is more
    both = merged(merge_found, a=found(hosts=hosts(1)), b=found(hosts=hosts(2)))
    assert both["more"]
    assert len(both["hosts"]) == MOST


def host(mac: int, datapath_id: str | None, present: bool, first: str, *names: str) -> Answer:
    return {
        "mac": f"02:00:00:00:00:{mac:02x}",
        "datapath_id": datapath_id,
        "present": present,
        "first_seen": first,
        "last_seen": first,
        "names": [{"name": name, "source": "dhcp"} for name in names],
    }


def test_a_host_that_moved_between_members_is_one_with_all_its_names() -> None:
    left, there = host(1, ONE, False, "2026-01", "pc"), host(1, TWO, True, "2026-02", "pc", "x")
    answer = merged(
        merge_hosts,
        a={"hosts": [left], "next": None},
        b={"hosts": [there, host(2, NOBODYS, True, "2026-03")], "next": None},
    )
    one, two = answer["hosts"]
    assert (one["datapath_id"], one["present"], one["first_seen"]) == (TWO, True, "2026-01")
    assert [name["name"] for name in one["names"]] == ["pc", "x"]
    assert (two["mac"][-2:], answer["next"]) == ("02", None)


def test_pages_of_hosts_end_where_the_first_of_them_ends() -> None:
    mine = [host(number, ONE, True, "2026") for number in (1, 3)]
    others = [host(number, TWO, True, "2026") for number in (2, 4)]
    answer = merged(
        merge_hosts,
        query="limit=2",
        a={"hosts": mine, "next": "020000000003"},
        b={"hosts": others, "next": "020000000004"},
    )
    assert [one["mac"][-1] for one in answer["hosts"]] == ["1", "2"]
    assert answer["next"] == "020000000002"
