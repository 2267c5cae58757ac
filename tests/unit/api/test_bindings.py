"""Bindings and first-hop security over the API, and by the commands."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ofapp.api.resources.bridge.bindings import Binding, BindingPage, RefusedList
from ofapp.api.resources.bridge.first_hop import FirstHopStatus
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding as CoreBinding
from ofapp.bridge.first_hop.binding import Origin, Refused
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.config import Config
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.entry_kinds import BindingEntry, UserEntry
from ofapp.controller.state.store import State
from tests.unit.api import live
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, add_bridge, empty_network, mac
from tests.unit.cli.conftest import Run, ofapp  # noqa: F401

PATH = f"/v1/bridges/{DPID}/bindings"


@pytest.fixture
def network() -> Network:
    """Guests eth1 and eth2, which are in VLANs 0 and 7."""
    guests = {"eth1": {"trust": "guest"}, "eth2": {"trust": "guest", "vlan": 7}}
    made = empty_network(bridges={DPID: {"ports": guests}})
    add_bridge(made)
    return made


def body(address: str, port: str = "eth1", vlan: int = 0, host: int = 1) -> dict[str, Any]:
    return {"port": port, "vlan": vlan, "mac": mac(host), "address": address}


def put(client: Any, *bodies: dict[str, Any]) -> None:
    for each in bodies:
        assert client.post(PATH, json=each).status_code == 201


def listed(client: Any, query: str = "") -> list[str]:
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == 200, answer.json
    return [one.address for one in BindingPage.model_validate(answer.json).entries]


ALL = (
    body("10.0.0.9"),
    body("10.0.0.10"),
    body("2001:db8:7::/56"),
    body("fe80::1"),
    body("10.0.0.9", "eth2", 7, 2),
)


def test_one_is_added_and_removed(client: Any, network: Network) -> None:
    added = client.post(PATH, json=body("10.0.0.9"))
    assert (added.status_code, Binding.model_validate(added.json).origin) == (201, Origin.API)
    assert client.post(PATH, json=body("10.0.0.9")).status_code == 200
    (own,) = network.bridges[1].first_hop.bindings()
    assert (own.port, own.vid, own.mac) == ("eth1", 0, parse_mac(mac(1)))
    assert client.delete(f"{PATH}/0/10.0.0.9").status_code == 204
    assert client.delete(f"{PATH}/0/10.0.0.9").status_code == 404
    assert listed(client) == []


def shared(port: str, host: int, address: str = "10.0.0.9", vlan: int = 0) -> dict[str, Any]:
    return body(address, port, vlan, host) | {"shared": True}


def sharers(client: Any) -> list[tuple[str, str]]:
    entries = client.get(PATH).json["entries"]
    assert all(one["shared"] for one in entries)
    return [(one["port"]["name"], one["mac"]) for one in entries]


def test_hosts_share_an_address_and_lose_it_one_by_one(client: Any, network: Network) -> None:
    put(client, shared("eth1", 1))
    assert client.post(PATH, json=shared("eth3", 2)).status_code == 200
    assert client.post(PATH, json=shared("eth1", 3)).status_code == 200
    both = client.post(PATH, json=body("10.0.0.9", "eth3", host=4))
    assert (both.status_code, "shared" in both.json["detail"]) == (409, True)
    assert sharers(client) == [("eth1", mac(1)), ("eth1", mac(3)), ("eth3", mac(2))]
    assert client.delete(f"{PATH}/0/10.0.0.9?mac={mac(9)}").status_code == 404
    assert client.delete(f"{PATH}/0/10.0.0.9?mac={mac(3)}").status_code == 204
    assert client.delete(f"{PATH}/0/10.0.0.9?port=eth3").status_code == 204
    assert sharers(client) == [("eth1", mac(1))]
    put_again = client.post(PATH, json=shared("eth3", 2))
    assert put_again.status_code == 200
    assert client.delete(f"{PATH}/0/10.0.0.9").status_code == 204
    assert len(network.bridges[1].first_hop) == 0


def test_pages_have_each_host_of_a_shared_address_once(client: Any) -> None:
    for host in range(1, 8):
        client.post(PATH, json=shared("eth1", host))
    found, cursor = list[str](), ""
    while True:
        page = client.get(f"{PATH}?limit=2{cursor}").json
        found += [one["mac"] for one in page["entries"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == [mac(host) for host in range(1, 8)]


def test_a_prefix_is_removed_by_its_path(client: Any) -> None:
    put(client, *ALL)
    assert client.delete(f"{PATH}/0/2001:db8:7::/56").status_code == 204
    assert client.delete(f"{PATH}/0/2001:db8:7::%2F56").status_code == 404
    assert listed(client, "vlan=0") == ["10.0.0.9", "10.0.0.10", "fe80::1"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["10.0.0.9", "10.0.0.10", "2001:db8:7::/56", "fe80::1", "10.0.0.9"]),
        ("vlan=7", ["10.0.0.9"]),
        ("port=eth2", ["10.0.0.9"]),
        ("port=2", ["10.0.0.9"]),
        ("port=eth3", []),
        (f"mac={mac(2)}", ["10.0.0.9"]),
        (f"mac={mac(1)}&vlan=7", []),
        ("address=10.0.0.9", ["10.0.0.9", "10.0.0.9"]),
        ("address=2001:db8:7::5", ["2001:db8:7::/56"]),
        ("address=10.0.0.11", []),
        ("origin=dhcp", []),
        ("origin=api&vlan=7", ["10.0.0.9"]),
    ],
)
def test_filters(client: Any, query: str, expected: list[str]) -> None:
    put(client, *ALL)
    assert listed(client, query) == expected


def test_pages_have_each_binding_once(client: Any) -> None:
    put(client, *ALL)
    found, cursor = list[str](), ""
    while True:
        page = client.get(f"{PATH}?limit=2{cursor}").json
        found += [one["address"] for one in page["entries"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == listed(client)


@pytest.mark.parametrize(
    ("wrong", "status", "field"),
    [
        (body("10.0.0.9", "eth9"), 409, "port"),
        (body("10.0.0.9", vlan=7, port="eth2") | {"vlan": 8}, 409, "vlan"),
        (body("10.0.0.9") | {"mac": "01:00:5e:00:00:01"}, 422, "mac"),
        (body("224.0.0.1"), 422, "address"),
        (body("10.0.0.9/24"), 422, "address"),
        (body("here"), 422, "address"),
        (body("10.0.0.9") | {"vlan": "0"}, 422, "vlan"),
        (body("10.0.0.9", host=3), 409, "address"),
    ],
)
def test_mistakes_name_the_field(client: Any, wrong: Any, status: int, field: str) -> None:
    put(client, body("10.0.0.9"))
    answer = client.post(PATH, json=wrong)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (status, field)
    assert listed(client) == ["10.0.0.9"]


def test_a_port_that_is_gone_shows_its_bindings(client: Any, network: Network) -> None:
    put(client, body("10.0.0.9"))
    bridge = network.bridges[1]
    network.dispatcher.apply(bridge, bridge.remove_port(1, time.monotonic()))
    (entry,) = client.get(f"{PATH}?port=eth1").json["entries"]
    assert entry["port"] == {"number": None, "name": "eth1"}
    assert client.get(f"{PATH}?port=eth9").status_code == 404


def test_the_audit_trail_has_both_hosts(client: Any, network: Network) -> None:
    put(client, body("10.0.0.9"))
    client.delete(f"{PATH}/0/10.0.0.9")
    said = [
        own.event.message for own in network.events.since(0) if own.event.kind == "audit.change"
    ]
    host = f"{mac(1)} on port eth1"
    assert f"binding of 10.0.0.9 in VLAN 0: none -> {host}" in said[0]
    assert f"binding of 10.0.0.9 in VLAN 0: {host} -> none" in said[1]


def test_what_was_refused_is_listed_and_forgotten(
    client: Any, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, body("10.0.0.9"))
    first_hop, now = network.bridges[1].first_hop, time.monotonic()
    address = BoundAddress.parse("10.0.0.9")
    (owner,) = first_hop.bindings_of(0, address)
    claim = Refused(
        "eth2", 0, parse_mac(mac(2)), "arp", address.octets, owner, 3, now - 60, now, False
    )
    monkeypatch.setattr(type(first_hop), "refused", lambda _: [claim])
    (one,) = RefusedList.model_validate(client.get(f"{PATH}/refused").json).refused
    assert (one.claim, one.address, one.samples) == ("arp", "10.0.0.9", 3)
    assert one.contradicts is not None
    assert (one.contradicts.mac, one.contradicts.port.name) == (mac(1), "eth1")
    assert one.first < one.last
    assert client.delete(f"{PATH}/refused").status_code == 204


def test_each_port_tells_its_trust_and_what_is_checked(client: Any) -> None:
    put(client, *ALL)
    status = FirstHopStatus.model_validate(client.get(f"/v1/bridges/{DPID}/first-hop").json)
    assert status.bindings["api"] == 5
    guest, _, other, _ = status.ports
    assert (guest.port.name, guest.trust, guest.parameters.source_guard) == ("eth1", "guest", "ip")
    assert (other.trust, other.parameters.source_guard) == ("none", "off")


def test_parameters_are_set_while_it_runs(client: Any, network: Network) -> None:
    path, bridge = f"/v1/bridges/{DPID}/first-hop", network.bridges[1]
    assert client.patch(path, json={"when_away": "hold"}).status_code == 200
    assert bridge.params.first_hop.when_away == "hold"
    assert client.patch(f"{path}/ports/eth1", json={"arp_inspection": False}).status_code == 200
    assert not bridge.params.port("eth1").first_hop.arp_inspection
    assert client.patch(path, json={"when_away": "sometimes"}).status_code == 422
    assert client.patch(f"{path}/ports/eth1", json={"max_bindings": 0}).status_code == 422
    kinds = [own.event.kind for own in network.events.since(0)]
    assert "first_hop.set" in kinds
    assert "first_hop.port.set" in kinds


def test_trust_is_set_while_it_runs(client: Any, network: Network) -> None:
    path, bridge = f"/v1/bridges/{DPID}/ports/eth3", network.bridges[1]
    answer = client.patch(path, json={"trust": "guest"})
    assert answer.json["trust"] == "guest"
    assert answer.json["settings"]["stp"]["bpdu_guard"]
    assert bridge.params.port("eth3").first_hop == bridge.params.port("eth1").first_hop
    client.patch(f"/v1/bridges/{DPID}/first-hop/ports/eth3", json={"router": True})
    client.patch(path, json={"trust": "learn"})
    assert bridge.params.port("eth3").first_hop.router
    (*_, last) = [own.event for own in network.events.since(0) if own.event.kind == "port.set"]
    assert last.data["trust"] == "learn"
    assert last.data["stp"]["bpdu_guard"] is False  # type: ignore[index]


FILED = {"mac": mac(1), "port": "eth1", "address": "10.0.0.1"}


def configuration(**bridge: Any) -> dict[str, Any]:
    """A file with one bridge, without spanning tree: ports open as they come up."""
    return {"defaults": {"stp": {"enabled": False}}, "bridges": {DPID: bridge}}


class TestStored:
    """Bindings of users: those of the file follow the file, and the others stay."""

    def begin(self, tmp_path: Path, *bindings: Any) -> Network:
        config = Config.model_validate(configuration(bindings=bindings))
        network = Network(config, State(tmp_path), EventLog())
        bridge = network.lifetime.back(1)
        add_ports(network)
        assert bridge is network.bridges[1]
        return network

    def test_those_of_the_api_outlive_the_process(self, tmp_path: Path, clients: Clients) -> None:
        client = clients(self.begin(tmp_path, FILED))
        put(client, body("10.0.0.9"), body("2001:db8:7::/56"))
        assert client.delete(f"{PATH}/0/2001:db8:7::/56").status_code == 204
        client = clients(self.begin(tmp_path, FILED))
        entries = client.get(PATH).json["entries"]
        assert [(one["address"], one["origin"]) for one in entries] == [
            *(("10.0.0.1", "file"), ("10.0.0.9", "api")),
        ]

    def test_shared_ones_are_stored_and_follow_the_file(
        self, tmp_path: Path, clients: Clients
    ) -> None:
        ours, other = FILED | {"shared": True}, FILED | {"mac": mac(2), "shared": True}
        client = clients(self.begin(tmp_path, ours, other))
        client.post(PATH, json=shared("eth2", 3, "10.0.0.1"))
        assert client.delete(f"{PATH}/0/10.0.0.1?mac={mac(2)}").status_code == 204
        file = tmp_path / "ofapp.yaml"
        network = self.begin(tmp_path, ours, other)
        network.reloader.find = lambda: file
        client = clients(network)
        assert {one for _, one in sharers(client)} == {mac(1), mac(2), mac(3)}
        file.write_text(json.dumps(configuration(bindings=[other])))
        assert client.post("/v1/config/reload?force=true").status_code == 200
        assert {one for _, one in sharers(client)} == {mac(2), mac(3)}

    def test_one_of_the_file_that_contradicts_them_counts(
        self, tmp_path: Path, clients: Clients
    ) -> None:
        put(clients(self.begin(tmp_path)), body("10.0.0.1", host=2), body("10.0.0.9"))
        client = clients(self.begin(tmp_path, FILED))
        assert [(one["address"], one["mac"]) for one in client.get(PATH).json["entries"]] == [
            *(("10.0.0.1", mac(1)), ("10.0.0.9", mac(1))),
        ]

    def test_those_of_the_file_follow_it(self, tmp_path: Path, clients: Clients) -> None:
        file = tmp_path / "ofapp.yaml"

        def write(*bindings: Any) -> None:
            file.write_text(json.dumps(configuration(bindings=bindings)))

        network = self.begin(tmp_path, FILED, FILED | {"address": "10.0.0.2", "mac": mac(2)})
        network.reloader.find = lambda: file
        client = clients(network)
        put(client, body("10.0.0.9"))
        # Two hosts exchange their addresses.
        write(FILED | {"address": "10.0.0.2"}, FILED | {"mac": mac(2)})
        planned = client.post("/v1/config/reload?dry_run=true").json["bridges"][0]["changes"]
        assert len(planned) == 1
        assert client.post("/v1/config/reload").status_code == 200
        entries = client.get(PATH).json["entries"]
        assert [(one["address"], one["mac"]) for one in entries] == [
            ("10.0.0.1", mac(2)),
            ("10.0.0.2", mac(1)),
            ("10.0.0.9", mac(1)),
        ]
        write()
        client.post("/v1/config/reload?force=true")
        assert listed(client) == ["10.0.0.9"]

    def test_one_that_contradicts_the_apis_is_skipped_and_reported(
        self, tmp_path: Path, clients: Clients
    ) -> None:
        network = self.begin(tmp_path)
        client, file = clients(network), tmp_path / "ofapp.yaml"
        put(client, body("10.0.0.1", host=2))
        network.reloader.find = lambda: file
        file.write_text(json.dumps(configuration(bindings=[FILED])))
        client.post("/v1/config/reload")
        (event,) = [o.event for o in network.events.since(0) if o.event.kind == "config.skipped"]
        assert "10.0.0.1 in VLAN 0 is bound to" in event.message
        assert client.get(PATH).json["entries"][0]["mac"] == mac(2)

    def test_a_dry_run_lists_the_hosts_that_would_be_cut_off(
        self, tmp_path: Path, clients: Clients
    ) -> None:
        network, file = self.begin(tmp_path), tmp_path / "ofapp.yaml"
        network.reloader.find = lambda: file
        client, bridge = clients(network), network.bridges[1]
        put(client, body("10.0.0.2", host=2))
        for number in (1, 2, 3):
            network.changes.fdb.teach(bridge, 1, 0, parse_mac(mac(number)))

        def cut_off(trust: str, query: str = "?dry_run=true") -> list[Any]:
            ports = {"eth*": {"trust": trust}}
            file.write_text(json.dumps(configuration(ports=ports, bindings=[FILED])))
            (changed,) = client.post(f"/v1/config/reload{query}").json["bridges"]
            return list(changed["cut_off"])

        assert cut_off("guest") == [{"port": "eth1", "vlan": 0, "mac": mac(3)}]
        assert cut_off("learn") == []
        assert cut_off("guest", "") == []


def add_ports(network: Network) -> None:
    ports = [Port(number, f"eth{number}", number, True) for number in (1, 2, 3)]
    bridge = network.bridges[1]
    effects = bridge.set_ports([*ports, Port(LOCAL_PORT, "br0", 0x02FF, True)], time.monotonic())
    network.dispatcher.apply(bridge, effects)


@pytest.fixture
def url() -> Iterator[str]:
    """Of a server of `first_hop_network`."""
    with live.served("first-hop") as served:
        yield served


def test_the_commands(url: str, ofapp: Run) -> None:  # noqa: F811
    def run(*arguments: str) -> list[str]:
        result = ofapp(*arguments, "--api", url)
        assert (result.status, result.err) == (0, "")
        return result.lines

    header, *rows = run("binding", "show")
    assert header.split() == ["BRIDGE", "PORT", "VLAN", "MAC", "ADDRESS", "ORIGIN", "LEFT"]
    assert [row.split()[4] for row in rows] == ["10.0.0.1", "10.0.0.2"]
    run("binding", "add", "br0", mac(9), "2001:db8:7::/56", "--port", "eth1")
    (found,) = json.loads(run("binding", "show", "br0", "--address", "2001:db8:7::1", "-j")[0])
    assert (found["mac"], found["bridge"]) == (mac(9), "br0")
    run("binding", "remove", "br0", "2001:db8:7::/56")
    assert len(run("binding", "show", "br0")) == 3
    assert len(run("binding", "refused")) == 1
    assert run("binding", "refused", "--clear") == ["forgotten"]
    for host in (7, 8):
        run("binding", "add", "br0", mac(host), "10.0.0.70", "--port", "eth1", "--shared")
    shown = [row.split() for row in run("binding", "show", "br0", "--address", "10.0.0.70")[1:]]
    assert [row[3:7] for row in shown] == [
        [mac(host), "10.0.0.70", "api", "shared"] for host in (7, 8)
    ]
    run("binding", "remove", "br0", "10.0.0.70", "--mac", mac(7))
    assert len(run("binding", "show", "br0", "--address", "10.0.0.70")) == 2
    wrong = ofapp("binding", "add", "br0", mac(9), "10.0.0.1", "--port", "eth1", "--api", url)
    assert wrong.status == 1
    assert "remove that first" in wrong.err


def test_the_commands_for_settings(url: str, ofapp: Run) -> None:  # noqa: F811
    def run(*arguments: str) -> list[str]:
        result = ofapp(*arguments, "--api", url)
        assert (result.status, result.err) == (0, "")
        return result.lines

    trust = {line.split()[1]: line.split()[-1] for line in run("port", "show")[1:]}
    assert (trust["eth1"], trust["eth3"]) == ("guest", "none")
    run("port", "set", "br0", "eth3", "--trust", "guest")
    run("first-hop", "set-port", "br0", "eth3", "--source-guard", "mac")
    run("first-hop", "set", "br0", "--when-away", "hold")
    (own,) = json.loads(run("first-hop", "show", "-j")[0])
    assert own["parameters"]["when_away"] == "hold"
    rows = {line.split()[1]: line.split()[2:4] for line in run("first-hop", "show", "br0")[1:]}
    assert rows["eth3"] == ["guest", "mac"]
    shown = "\n".join(run("config", "show"))
    assert "trust: guest" in shown
    assert "source_guard: mac" in shown


def test_one_change_stores_what_all_entries_together_would_be(tmp_path: Path) -> None:
    filed = {"port": "eth1", "mac": mac(1), "address": "10.0.0.1"}
    guests = {"eth1": {"trust": "guest"}, "eth2": {"trust": "guest"}}
    config = {"bridges": {DPID: {"ports": guests, "bindings": [filed]}}}
    network = Network(Config.model_validate(config), State(tmp_path), EventLog())
    bridge, changes = add_bridge(network), network.changes.bindings
    (entry,) = BindingEntry.filed(network.running.filed(1))
    entry.put(bridge, True, time.monotonic())

    def stored() -> set[UserEntry]:
        entries = State(tmp_path).entries.load(1)
        assert entries is not None
        return set(entries.entries)

    def add(port: str, host: int, address: str) -> None:
        place = port, 0, parse_mac(mac(host)), BoundAddress.parse(address)
        changes.add(bridge, CoreBinding(*place, Origin.API)).wait()

    second = BindingEntry(0, mac(2), "eth2", "2001:db8:7::/56")
    add("eth1", 3, "10.0.0.3")
    add("eth2", 2, second.address)
    third = BindingEntry(0, mac(3), "eth1", "10.0.0.3")
    assert stored() == {second, third}
    changes.remove(bridge, 0, BoundAddress.parse(third.address)).wait()
    assert stored() == {second}
    changes.remove(bridge, 0, BoundAddress.parse(entry.address)).wait()
    add("eth2", 1, entry.address)
    assert stored() == {second, BindingEntry(0, mac(1), "eth2", entry.address)}
    changes.remove(bridge, 0, BoundAddress.parse(entry.address)).wait()
    add("eth1", 1, entry.address)
    assert stored() == {second}, "the file has the other one"
