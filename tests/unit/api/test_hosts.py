"""Hosts over the API: each once, with its names, and what a hostile host may say about itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ofapp.api.resources.hosts.hosts import HostPage
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.dhcp.host_names import OF_PORT, HostNames, fqdn
from ofapp.bridge.mac import parse_mac
from ofapp.controller.events import EventLog
from ofapp.controller.hosts import labels as stored_labels
from ofapp.controller.hosts import sightings as module
from ofapp.controller.hosts.labels import Labels
from ofapp.controller.hosts.sightings import INTERVAL, Sightings
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from ofapp.controller.topology import End
from tests.unit.api.network import add_bridge, empty_network, mac

A, B, C = (parse_mac(mac(number)) for number in (1, 2, 3))
FIRST = 1_800_000_000 // INTERVAL * INTERVAL


def learn(network: Network, bridge: Bridge, address: int, port: int, vid: int = 0) -> None:
    network.changes.fdb.teach(bridge, port, vid, address)


@pytest.fixture
def network() -> Network:
    return empty_network()


@pytest.fixture
def bridge(network: Network) -> Bridge:
    return add_bridge(network)


@pytest.fixture
def client(network: Network, bridge: Bridge, clients: Any) -> Any:
    return clients(network)


def hosts(client: Any, query: str = "") -> list[Any]:
    answer = client.get(f"/v1/hosts{query}")
    assert answer.status_code == 200, answer.text
    HostPage.model_validate(answer.json)
    return list(answer.json["hosts"])


def test_a_host_that_several_switches_and_vlans_know_is_one(
    network: Network, bridge: Bridge, client: Any
) -> None:
    other = add_bridge(network, 2, "br1")
    learn(network, other, A, 2)
    learn(network, bridge, A, 1)
    learn(network, bridge, A, 1, 7)
    (host,) = hosts(client)
    assert (host["mac"], host["bridge"], host["port"]["name"]) == (mac(1), "br0", "eth1")
    assert (host["present"], host["vlans"]) == (True, [0, 7])


def test_a_label_wins_over_names_that_the_host_gives(
    network: Network, bridge: Bridge, client: Any
) -> None:
    learn(network, bridge, A, 1)
    bridge.first_hop.host_names.put(1, A, b"ceo-laptop")
    (host,) = hosts(client)
    assert host["names"] == [{"name": "ceo-laptop", "source": "dhcp"}]
    path = f"/v1/hosts/{mac(1)}/label"
    assert client.put(path, json={"label": "Guest, room 7"}).status_code == 204
    (host,) = hosts(client)
    assert [name["name"] for name in host["names"]] == ["Guest, room 7", "ceo-laptop"]
    assert [name["source"] for name in host["names"]] == ["label", "dhcp"]
    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 404
    (host,) = hosts(client)
    assert len(host["names"]) == 1


@pytest.mark.parametrize(
    "label", ["", " ", " a", "a ", "\x1b[31m", "a\nb", "\u202eevil", "x" * 65, "\u00ad"]
)
def test_a_label_that_no_terminal_should_show_is_refused(client: Any, label: str) -> None:
    answer = client.put(f"/v1/hosts/{mac(1)}/label", json={"label": label})
    assert answer.status_code == 422
    error = answer.json["errors"][0]
    assert error["field"] == "label"
    assert "must be 1 to 64 letters, digits and signs, with spaces inside" in str(error)


@pytest.mark.parametrize("label", ["Büro 1", "принтер", "プリンタ", "<b>", "x" * 64])
def test_labels_of_many_languages(client: Any, label: str) -> None:
    assert client.put(f"/v1/hosts/{mac(1)}/label", json={"label": label}).status_code == 204
    (host,) = hosts(client)  # it is listed although it was never seen
    assert (host["names"][0]["name"], host["present"], host["port"]) == (label, False, None)


def test_labels_have_a_limit(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_labels, "MOST", 1)
    assert client.put(f"/v1/hosts/{mac(1)}/label", json={"label": "a"}).status_code == 204
    assert client.put(f"/v1/hosts/{mac(1)}/label", json={"label": "b"}).status_code == 204
    assert client.put(f"/v1/hosts/{mac(2)}/label", json={"label": "c"}).status_code == 409


def test_labels_outlive_a_restart_and_damage_is_reported(tmp_path: Path) -> None:
    events = EventLog()
    state = State(tmp_path, events.emit)
    Labels(state.storage, events.emit).put(A, "Printer", "anna")
    state.finish(5)
    label = Labels(State(tmp_path, events.emit).storage, events.emit).get(A)
    assert label is not None
    assert (label.name, label.by) == ("Printer", "anna")
    for text in ("", "[1]", "{}", '{"version": 1, "labels": {"1": {"name": "\\n"}}}'):
        (tmp_path / "labels.json").write_text(text)
        assert Labels(State(tmp_path, events.emit).storage, events.emit).get(A) is None
    assert events.counts["state.damaged"] == 4


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?q=print", {2}),
        ("?q=laptop", {1}),
        (f"?q={mac(3)[9:]}", {3}),
        ("?port=eth1", {1}),
        ("?vlan=7", {3}),
        ("?present=true", {1, 2, 3}),
        ("?q=nothing", set()),
        (f"?cursor={2 + A - 1:012x}", {3}),
    ],
)
def test_hosts_are_filtered(
    network: Network, bridge: Bridge, client: Any, query: str, found: set[int]
) -> None:
    learn(network, bridge, A, 1)
    learn(network, bridge, B, 2)
    learn(network, bridge, C, 2, 7)
    bridge.first_hop.host_names.put(1, A, b"Laptop-7")
    network.labels.put(B, "Printer", "anna")
    assert {parse_mac(host["mac"]) - A + 1 for host in hosts(client, query)} == found


def test_pages_have_each_host_once(network: Network, bridge: Bridge, client: Any) -> None:
    for number in range(25):
        learn(network, bridge, A + number, 1 + number % 3, number % 2)
    network.labels.put(A + 30, "Away", "anna")
    listed, cursor = [], ""
    while cursor is not None:
        query = f"?limit=4{f'&cursor={cursor}' if cursor else ''}"
        answer = client.get(f"/v1/hosts{query}").json
        assert len(answer["hosts"]) <= 4
        listed += [parse_mac(host["mac"]) - A for host in answer["hosts"]]
        cursor = answer["next"]
    assert listed == [*range(25), 30]


def test_a_host_that_has_left_keeps_its_place_and_times(
    network: Network, bridge: Bridge, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([FIRST, FIRST + 120.0])
    monkeypatch.setattr(network.sightings, "_clock", lambda: next(times))
    learn(network, bridge, A, 1)
    network.sightings.read()
    network.sightings.read()
    network.dispatcher.apply(bridge, bridge.flush())
    (host,) = hosts(client)
    assert (host["present"], host["bridge"], host["port"]["name"]) == (False, "br0", "eth1")
    assert host["first_seen"] < host["last_seen"]
    assert hosts(client, "?present=true") == []


class TestSightings:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST", 100)
        monkeypatch.setattr(module, "ROOM", 20)
        monkeypatch.setattr(module, "PIECE", 10)

    def made(self, network: Network, inner: Callable[[], set[End]] = set) -> Sightings:
        self.now = float(FIRST)
        return Sightings(network.bridges, inner, network.events.emit, lambda: self.now)

    def test_a_port_with_a_thousand_hosts_leaves_those_of_others(
        self, network: Network, bridge: Bridge
    ) -> None:
        sightings = self.made(network)
        for number in range(20):
            learn(network, bridge, A + number, 1)
        sightings.read()
        for round_ in range(20):
            self.now += INTERVAL
            network.dispatcher.apply(bridge, bridge.flush(2))
            for number in range(50):
                learn(network, bridge, A + 1000 * (round_ + 1) + number, 2)
            sightings.read()
            assert len(sightings.hosts) <= 100
            for number in range(20):
                seen = sightings.of(A + number)
                assert seen is not None
                assert (seen.first, seen.last, seen.port) == (FIRST, self.now, 1)
        assert sightings.forgotten == 20 + 20 * 50 - len(sightings.hosts)
        assert sightings.of(A + 20_000) is not None, "the newest stay"
        (event, *_) = [one for one in network.events.since(0) if one.event.kind == "hosts.limit"]
        assert (event.bridge, event.event.port) == (1, 2)

    def test_ports_between_switches_have_no_hosts(self, network: Network, bridge: Bridge) -> None:
        sightings = self.made(network, lambda: {End(1, 2)})
        learn(network, bridge, A, 1)
        learn(network, bridge, B, 2)
        sightings.read()
        assert [*sightings.hosts] == [A]


class TestHostNames:
    @pytest.mark.parametrize("name", [b"laptop-7", b"a", b"x" * 63, b"_sip.host", b"nul\0\0"])
    def test_names_of_hosts_are_noted(self, name: bytes) -> None:
        names = HostNames()
        names.put(1, A, name)
        assert names.of(A) == name.rstrip(b"\0").decode()

    @pytest.mark.parametrize(
        "name", [b"<img>", b"\x1b[2J", b"a b", b"x" * 64, b"-a", "é".encode(), b"a\nb", b"\0"]
    )
    def test_other_names_are_counted(self, name: bytes) -> None:
        names = HostNames()
        names.put(1, A, name)
        assert (names.of(A), names.refused) == (None, 1)

    def test_one_port_cannot_take_the_room_of_others(self) -> None:
        names = HostNames()
        names.put(1, A, b"mine")
        for number in range(20 * OF_PORT):
            names.put(2, B + number, b"evil")
        assert names.of(A) == "mine"
        assert len(names.all()) == OF_PORT + 1

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            (b"\0\x03pc1\0", b"pc1"),
            (b"\0\x03pc1", b"pc1"),
            (b"\0\x03pc1\x03lan\0", b"pc1.lan"),
            (b"\0\xc0\x01", None),
            (b"\0\x09pc", None),
            (b"", None),
            (b"\0", None),
        ],
    )
    def test_the_name_of_option_39(self, value: bytes, name: bytes | None) -> None:
        assert fqdn(value) == name
