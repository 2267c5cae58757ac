"""ofapp mdb and ofapp multicast."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ofapp.cli import client as cli_client
from tests.unit.api import live
from tests.unit.api.network import DPID
from tests.unit.cli.conftest import Run, Said


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """Of a server of `mcast_network`, for tests that change nothing."""
    with live.served("mcast") as served:
        yield served


@pytest.fixture
def url() -> Iterator[str]:
    """Of one for a test that changes things."""
    with live.served("mcast") as served:
        yield served


def cells(said: Said) -> list[list[str]]:
    """The rows, without their times."""
    assert (said.status, said.err) == (0, "")
    return [line.split() for line in said.lines[1:]]


def test_a_table_for_a_terminal(live_ofapp: Run) -> None:
    said = live_ofapp("mdb", "show", "br0")
    assert said.lines[0].split() == ["GROUP", "SOURCES", "VLAN", "PORT", "TYPE", "LEFT"]
    rows = cells(said)
    assert [row[:-1] for row in rows] == [
        ["239.1.1.1", "all", "-", "eth1", "temp"],
        ["239.1.1.2", "not", "10.9.0.1", "-", "eth2", "temp"],
        ["239.1.1.3", "10.9.0.1", "-", "eth2", "temp"],
        ["239.1.1.1", "all", "7", "eth2", "temp"],
        ["239.7.7.7", "all", "7", "eth1", "permanent"],
    ]
    assert rows[0][-1].startswith("4m")
    assert rows[2][-1].startswith("4m")  # its source's
    assert rows[-1][-1] == "-"
    assert max(map(len, said.lines)) <= 80


def test_all_bridges_and_details(live_ofapp: Run) -> None:
    said = live_ofapp("mdb", "show", "-d")
    assert said.lines[0].split()[-2:] == ["HOSTS", "BRIDGE"]
    assert cells(said)[0][-2:] == ["-", "br0"]
    assert cells(said)[1][-2:] == ["02:00:00:00:00:07", "br0"]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--group", "239.1.1.1"], 2),
        (["--vlan", "7"], 2),
        (["--port", "eth2"], 3),
        (["--type", "permanent"], 1),
        (["--vlan", "7", "--port", "eth3"], 0),
    ],
)
def test_filters(live_ofapp: Run, options: list[str], count: int) -> None:
    assert len(cells(live_ofapp("mdb", "show", DPID, *options))) == count


def test_pages_are_followed(live_ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_client, "PAGE", 2)
    assert len(cells(live_ofapp("mdb", "show"))) == 5


def test_json_is_as_bridge_prints_it(live_ofapp: Run) -> None:
    """Keys and their order are those of iproute2 6.1 on a Linux bridge with such members."""
    (answer,) = json.loads(live_ofapp("mdb", "show", "br0", "-j").out)
    assert list(answer) == ["mdb", "router"]
    assert answer["router"] == {}
    assert answer["mdb"][0] == {
        "index": 0,
        "dev": "br0",
        "port": "eth1",
        "grp": "239.1.1.1",
        "state": "temp",
        "flags": [],
    }
    assert list(answer["mdb"][1]) == ["index", "dev", "port", "grp", "src", "state", "flags"]
    assert [(entry["grp"], entry.get("src"), entry["flags"]) for entry in answer["mdb"]] == [
        ("239.1.1.1", None, []),
        ("239.1.1.2", "10.9.0.1", ["blocked"]),
        ("239.1.1.2", None, []),
        ("239.1.1.3", "10.9.0.1", []),
        ("239.1.1.3", None, []),
        ("239.1.1.1", None, []),
        ("239.7.7.7", None, []),
    ]
    assert [entry.get("vid") for entry in answer["mdb"]] == [None] * 5 + [7, 7]


def test_json_with_details_and_times(live_ofapp: Run) -> None:
    (answer,) = json.loads(live_ofapp("mdb", "show", "br0", "-j", "-d", "-s").out)
    source, group = answer["mdb"][3:5]
    assert source == {
        "index": 0,
        "dev": "br0",
        "port": "eth2",
        "grp": "239.1.1.3",
        "src": "10.9.0.1",
        "state": "temp",
        "filter_mode": "include",
        "protocol": "kernel",
        "flags": [],
        "timer": "   0.00",
    }
    assert list(group) == [
        "index", "dev", "port", "grp", "state", "filter_mode", "source_list", "protocol", "flags",
        "timer",
    ]  # fmt: skip
    (listed,) = group["source_list"]
    assert listed["address"] == "10.9.0.1"
    assert 200 < float(listed["timer"]) < 250
    everybody = answer["mdb"][0]
    assert (everybody["filter_mode"], len(everybody["timer"])) == ("exclude", 7)
    assert 200 < float(everybody["timer"]) < 250
    permanent = answer["mdb"][-1]
    assert (permanent["state"], permanent["protocol"]) == ("permanent", "static")
    assert list(permanent)[-2:] == ["vid", "timer"]
    (router,) = answer["router"]["br0"]
    assert (list(router), router["port"], router["type"]) == (
        ["port", "timer", "type"],
        "eth3",
        "temp",
    )
    (answer,) = json.loads(live_ofapp("mdb", "show", "br0", "-j", "-d").out)
    assert answer["router"] == {"br0": [{"port": "eth3"}]}


def test_a_permanent_router_port(own_ofapp: Run, url: str) -> None:
    import httpx

    path = f"{url}/v1/bridges/{DPID}/multicast/ports/eth1"
    assert httpx.patch(path, json={"mcast_router": 2}).is_success
    (answer,) = json.loads(own_ofapp("mdb", "show", "br0", "-j", "-d", "-s").out)
    routers = {router["port"]: router for router in answer["router"]["br0"]}
    assert routers["eth1"] == {"port": "eth1", "timer": "   0.00", "type": "permanent"}
    assert cells(own_ofapp("multicast", "show", "br0"))[1][-2:] == ["eth1", "(permanent)"]


def test_add_and_del(own_ofapp: Run) -> None:
    add = ["br0", "ff05::7", "--port", "eth2", "--vlan", "5", "--source", "2001:db8::1"]
    assert own_ofapp("mdb", "add", *add) == Said(0, "", "")
    by_zebra = "--port", "2", "--proto", "zebra"
    assert own_ofapp("mdb", "add", "br0", "239.9.9.9", *by_zebra) == Said(0, "", "")
    answer = json.loads(own_ofapp("mdb", "show", "br0", "--group", "239.9.9.9", "-d", "-j").out)
    assert [entry["protocol"] for entry in answer[0]["mdb"]] == ["zebra"]
    said = own_ofapp("mdb", "show", "br0", "--type", "permanent")
    assert cells(said) == [
        ["239.9.9.9", "all", "-", "eth2", "permanent", "-"],
        ["ff05::7", "2001:db8::1", "5", "eth2", "permanent", "-"],
        ["239.7.7.7", "all", "7", "eth1", "permanent", "-"],
    ]
    assert own_ofapp("mdb", "del", *add) == Said(0, "", "")
    assert own_ofapp("mdb", "del", "br0", "239.9.9.9", "--port", "eth2") == Said(0, "", "")
    assert len(cells(own_ofapp("mdb", "show", "br0", "--type", "permanent"))) == 1


def test_the_bridge_itself_joins_and_leaves(own_ofapp: Run) -> None:
    """As the kernel's test has it: `bridge mdb add dev br0 port br0 grp 225.1.2.3`, and del."""
    for group in ("225.1.2.3", "ff02::42"):
        for options, type_ in (["--temp"], "temp"), ([], "permanent"):
            assert own_ofapp("mdb", "add", "br0", group, "--port", "br0", *options).status == 0
            ((name, _, _, port, kind, _),) = cells(
                own_ofapp("mdb", "show", "br0", "--group", group)
            )
            assert (name, port, kind) == (group, "br0", type_)
            assert own_ofapp("mdb", "del", "br0", group, "--port", "br0").status == 0
            assert cells(own_ofapp("mdb", "show", "br0", "--group", group)) == []


def test_a_mac_address_is_permanent_or_nothing(own_ofapp: Run) -> None:
    """As the kernel's test has it, with its own group, on the bridge itself and on a port."""
    group = "01:00:01:c0:ff:ee"
    for port in ("br0", "eth2"):
        said = own_ofapp("mdb", "add", "br0", group, "--port", port, "--temp")
        assert (said.status, said.err.splitlines()) == (
            1,
            [f"ofapp: {group} is a MAC address: its entries are permanent"],
        )
        assert own_ofapp("mdb", "add", "br0", group, "--port", port) == Said(0, "", "")
        row = [group, "all", "-", port, "permanent", "-"]
        assert cells(own_ofapp("mdb", "show", "br0", "--group", group)) == [row]
        answer = json.loads(own_ofapp("mdb", "show", "br0", "--group", group, "-j").out)
        assert [(entry["grp"], entry["state"]) for entry in answer[0]["mdb"]] == [
            (group, "permanent")
        ]
        assert own_ofapp("mdb", "del", "br0", group, "--port", port) == Said(0, "", "")
        assert cells(own_ofapp("mdb", "show", "br0", "--group", group)) == []


def test_all_but_some_sources(own_ofapp: Run) -> None:
    add = ["br0", "239.9.9.9", "--port", "eth2", "--exclude", "10.0.0.7", "--exclude", "10.0.0.8"]
    assert own_ofapp("mdb", "add", *add).status == 0
    (row,) = cells(own_ofapp("mdb", "show", "br0", "--group", "239.9.9.9"))
    assert row == ["239.9.9.9", "not", "10.0.0.7,10.0.0.8", "-", "eth2", "permanent", "-"]


def test_flush(own_ofapp: Run) -> None:
    assert own_ofapp("mdb", "flush", "br0", "--vlan", "7").out == "1 entries forgotten\n"
    assert json.loads(own_ofapp("mdb", "flush", "br0", "-j").out) == {"flushed": 3}
    assert [row[0] for row in cells(own_ofapp("mdb", "show", "br0"))] == ["239.7.7.7"]
    said = own_ofapp("mdb", "flush", "br0", "--type", "permanent")
    assert said.out == "1 entries forgotten\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "br9"], "there is no bridge br9"),
        (["show", "br0", "--group", "10.0.0.1"], "10.0.0.1 is not a multicast group"),
        (["show", "br0", "--port", "eth9"], "has no port 'eth9'"),
        (["add", "br0", "239.1.1.1", "--port", "eth9"], "has no port 'eth9'"),
        (["add", "br0", "224.0.0.5", "--port", "eth1"], "224.0.0.5 is not a multicast group"),
        (["add", "br0", "a/b", "--port", "eth1"], ""),
        (
            ["add", "br0", "239.1.1.1", "--port", "eth1", "--source", "fe80::1"],
            "fe80::1 cannot be a source of 239.1.1.1",
        ),
        (["del", "br0", "239.1.9.1", "--port", "eth1"], "is no entry of port eth1"),
        (
            ["del", "br0", "239.1.1.1", "--port", "eth1", "--type", "permanent"],
            "239.1.1.1 in VLAN 0 is no permanent entry of port eth1",
        ),
        (["flush", "br0", "--port", "eth9"], "has no port 'eth9'"),
    ],
)
def test_a_refusal_is_one_line(live_ofapp: Run, arguments: list[str], reason: str) -> None:
    said = live_ofapp("mdb", *arguments)
    assert (said.status, said.out) == (1, "")
    (line,) = said.err.splitlines()
    assert line.startswith("ofapp: ")
    assert reason in line


def test_multicast_show(live_ofapp: Run) -> None:
    said = live_ofapp("multicast", "show")
    rows = cells(said)
    assert rows[0][:8] == ["br0", "-", "ipv4", "3", "restrict", "10.0.0.5", "at", "eth3,"]
    assert rows[0][-2] == "eth3"
    assert rows[1] == ["br0", "-", "ipv6", "0", "flood", "none", "-"]
    assert rows[2] == ["br0", "7", "ipv4", "2", "flood", "none", "-"]
    assert rows[4] == ["br0", "10", "ipv4", "0", "restrict", "self", "0.0.0.0", "-"]
    assert rows[-1] == ["br1", "-", "-", "-", "flood", "off", "-"]


def test_multicast_set(own_ofapp: Run) -> None:
    assert own_ofapp("multicast", "set", "br0", "mcast_query_interval=5").status == 1
    both = ["mcast_query_interval=5", "mcast_query_response_interval=2"]
    refused = own_ofapp("multicast", "set", "br0", *both, "vlans=[{vlan: 7, strict: true}]")
    assert (refused.status, refused.out) == (1, "")
    for values in (both, both[::-1]):
        assert own_ofapp("multicast", "set", "br0", *values) == Said(0, "", "")
    assert own_ofapp("multicast", "set", "br0", "mcast_querier=true", "--vlan", "7").status == 0
    assert own_ofapp("multicast", "set", "br0", "mcast_router=2", "--port", "eth1").status == 0
    (answer,) = json.loads(own_ofapp("multicast", "show", "br0", "-j").out)
    assert answer["parameters"]["mcast_query_response_interval"] == 2
    assert answer["parameters"]["vlans"]["7"] == {"mcast_querier": True}
    assert {port["name"]: port["parameters"]["mcast_router"] for port in answer["ports"]}[
        "eth1"
    ] == 2


def test_a_vlan_of_a_port_is_a_router_port_or_not(own_ofapp: Run) -> None:
    def said() -> object:
        (answer,) = json.loads(own_ofapp("multicast", "show", "br0", "-j").out)
        return {port["name"]: port["parameters"]["vlans"] for port in answer["ports"]}["eth1"]

    command = "multicast", "set", "br0", "--port", "eth1", "--vlan", "7"
    assert own_ofapp(*command, "--mcast-router=2") == Said(0, "", "")
    assert said() == {"7": {"mcast_router": 2}}
    assert own_ofapp(*command, "mcast_router=null") == Said(0, "", "")
    assert said() == {"7": {"mcast_router": None}}
    assert "mcast_fast_leave" in own_ofapp(*command, "mcast_fast_leave=true").err


def test_multicast_is_set_by_options(url: str, own_ofapp: Run) -> None:
    """All that the core declares is an option, and distinguished from one that is not given."""
    said = own_ofapp(
        "multicast", "set", "br0", "--mcast-max-groups=5", "--mcast-fast-leave", "--port", "eth1"
    )
    assert said == Said(0, "", "")
    said = own_ofapp(
        "multicast", "set", "br0", "--mcast-query-interval", "60", "mcast_querier=true"
    )
    assert said == Said(0, "", "")
    (answer,) = json.loads(own_ofapp("multicast", "show", "br0", "-j").out)
    (port,) = (port["parameters"] for port in answer["ports"] if port["name"] == "eth1")
    assert port == {
        "mcast_router": 1,
        "mcast_fast_leave": True,
        "mcast_max_groups": 5,
        "mcast_flood_unregistered": False,
        "vlans": {},
    }
    assert (
        answer["parameters"]["mcast_query_interval"],
        answer["parameters"]["mcast_querier"],
    ) == (
        60,
        True,
    )
    refused = own_ofapp("multicast", "set", "br0", "--mcast-max-groups=-1", "--port", "eth1")
    assert refused.status == 1
    assert "mcast_max_groups: must be a whole number from 0 to 16777216, not -1" in refused.err
    assert own_ofapp("multicast", "set", "br0").status == 2
    assert own_ofapp("multicast", "set", "br0", "--strict", "strict=true").status == 2


def test_multicast_show_json(live_ofapp: Run) -> None:
    (answer,) = json.loads(live_ofapp("multicast", "show", "br0", "-j").out)
    assert (answer["bridge"], answer["enabled"]) == ("br0", True)
