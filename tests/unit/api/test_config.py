"""The configuration over the API: what runs, and reading the file again."""

from __future__ import annotations

import base64
import gzip
import time
from pathlib import Path
from typing import Any

import pytest

from ofapp.api.resources.config import ConfigStatus, Reloaded
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import BridgeNamed
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.ports.port import Port
from ofapp.common import hub
from ofapp.config import Config, load_config
from ofapp.controller.configuration.changes.settings import STP
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from tests.unit.api.clients import Clients
from tests.unit.api.network import STATIC, add_bridge

TEXT = """
bridges:
  1:
    ageing_time: 60
    ports: {eth1: {vlan: 10}}
    static: [{mac: "52:54:00:00:00:01", port: eth2}]
    mdb: [{group: 239.1.1.1, port: eth3}]
"""


class Setup:
    """A network without switches, of a file that can be changed."""

    def __init__(self, file: Path, clients: Clients) -> None:
        self.file = file
        file.write_text(TEXT)
        config, events = load_config(file), EventLog()
        self.network = Network(config, State(None), events, find=lambda: self.file)
        self.client = clients(self.network)
        self.bridge = add_bridge(self.network)
        self.reload("bridges: {}", "?force=true")
        self.reload(TEXT)

    def reload(self, text: str, query: str = "") -> Any:
        self.file.write_text(text)
        return self.client.post(f"/v1/config/reload{query}")

    def status(self) -> Any:
        return self.client.get("/v1/config").json


@pytest.fixture
def setup(tmp_path: Path, clients: Clients) -> Setup:
    return Setup(tmp_path / "ofapp.yaml", clients)


def test_what_runs_is_shown_as_the_file_would_say_it(setup: Setup) -> None:
    answer = ConfigStatus.model_validate(setup.status())
    (bridge,) = answer.bridges
    assert (answer.file, answer.watch, answer.warnings) == (str(setup.file), False, [])
    assert (bridge.name, bridge.entries, bridge.since) == ("br0", ["0000000000000001"], [])
    assert bridge.config == {
        "ageing_time": 60,
        "ports": {"eth1": {"vlan": 10}},
        "static": [{"mac": "52:54:00:00:00:01", "port": "eth2"}],
        "mdb": [{"group": "239.1.1.1", "port": "eth3"}],
    }


def test_an_entry_on_a_port_that_the_file_cannot_name_is_left_out(setup: Setup) -> None:
    bridge = setup.bridge
    bridge.put_port(Port(77, "a port", 77, up=True), time.monotonic())
    setup.network.changes.fdb.add_static(bridge, 0, parse_mac(STATIC), "a port")
    assert setup.status()["bridges"][0]["run_time_entries"] == []


def test_what_was_set_at_run_time_stays_where_the_file_is_as_before(setup: Setup) -> None:
    network, bridge = setup.network, setup.bridge
    network.changes.settings.change(bridge, STP, {"priority": 4096, "max_age": 19.0})
    network.changes.fdb.add_static(bridge, 0, parse_mac(STATIC), "eth3")
    since = ["stp.priority: default -> 4096", "stp.max_age: default -> 19.0"]
    status = setup.status()["bridges"][0]
    assert status["since"] == since
    assert status["run_time_entries"] == [f"static: + {{mac: {STATIC}, port: eth3}}"]
    assert status["config"]["static"] == [
        {"mac": "52:54:00:00:00:01", "port": "eth2"},
        {"mac": STATIC, "port": "eth3"},
    ]
    (changed,) = Reloaded.model_validate(setup.reload(TEXT.replace("60", "90")).json).bridges
    assert (changed.changes, changed.dropped) == (["ageing_time: 60 -> 90"], [])
    assert changed.sent is None  # no switch
    assert bridge.params.stp is not None
    assert (bridge.params.ageing_time, bridge.params.stp.priority) == (90, 4096)
    assert setup.status()["bridges"][0]["since"] == since
    file = f"{TEXT}    stp: {{priority: 8192}}\n"
    planned = setup.reload(file, "?dry_run=true").json["bridges"]
    (changed,) = Reloaded.model_validate(setup.reload(file).json).bridges
    assert "stp.priority: 4096 -> 8192" in changed.changes
    assert changed.dropped == planned[0]["dropped"] == ["stp.priority: 4096 -> 8192"]
    assert (bridge.params.stp.priority, bridge.params.stp.max_age) == (8192, 19)
    assert setup.status()["bridges"][0]["since"] == since[1:]
    (changed,) = Reloaded.model_validate(setup.reload(file, "?reset=true").json).bridges
    assert changed.dropped == ["stp.max_age: 19.0 -> default"]
    assert setup.status()["bridges"][0]["since"] == []
    assert bridge.static_entries.ports == {
        (0, 0x525400000001): "eth2",
        (0, parse_mac(STATIC)): "eth3",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "multicast: {mcast_querier: true}",
            "multicast: {mcast_querier: true}, vlans: {7: {multicast: {mcast_querier: false}}}",
        ),
        (
            "ports: {eth*: {isolated: true}}",
            "ports: {eth*: {isolated: true}, eth2: {isolated: false}}",
        ),
    ],
)
def test_a_value_that_is_the_default_where_something_else_holds_is_a_change(
    setup: Setup, before: str, after: str
) -> None:
    """A VLAN that differs from its bridge, a port that differs from its pattern."""
    for text in (before, after):
        setup.reload(f"bridges: {{1: {{{text}}}}}", "?force=true")
    settings = setup.network.running.filed(1)
    assert setup.bridge.params == settings.params()
    shown = setup.status()["bridges"][0]["config"]
    again = Config.model_validate({"bridges": {"1": shown}}).bridge(1)
    assert again.params() == settings.params()


def test_entries_follow_the_file_but_not_those_that_the_api_has_moved(setup: Setup) -> None:
    bridge, own = setup.bridge, 0x525400000001
    assert (bridge.static_entries.ports, len(bridge.multicast.permanent.all())) == (
        {(0, own): "eth2"},
        1,
    )
    setup.reload("bridges: {1: {}}")
    assert (bridge.static_entries.ports, bridge.multicast.permanent.all()) == ({}, [])
    setup.reload(TEXT)
    setup.network.changes.fdb.add_static(bridge, 0, own, "eth3")
    setup.reload("bridges: {1: {}}")
    assert bridge.static_entries.ports == {(0, own): "eth3"}


def test_a_dry_run_changes_nothing(setup: Setup) -> None:
    before = setup.status()
    answer = setup.reload(TEXT.replace("60", "90"), "?dry_run=true").json
    assert (answer["dry_run"], answer["bridges"][0]["changes"]) == (True, ["ageing_time: 60 -> 90"])
    assert setup.status() == before
    assert setup.bridge.params.ageing_time == 60


def plan(setup: Setup, text: str) -> Any:
    data = base64.b64encode(gzip.compress(text.encode())).decode()
    return setup.client.post("/v1/config/plan", json={"file": "other.yaml", "data": data})


def test_a_file_is_compared_with_what_runs_wherever_it_is(setup: Setup) -> None:
    before = setup.status()
    answer = plan(setup, TEXT.replace("60", "90")).json
    assert (answer["dry_run"], answer["file"]) == (True, "other.yaml")
    assert answer["bridges"][0]["changes"] == ["ageing_time: 60 -> 90"]
    assert "6 of the 6 settings" in plan(setup, "").json["warnings"][0]
    refused = plan(setup, "defaults: {colour: red}")
    assert (refused.status_code, refused.json["errors"][0]["field"]) == (409, "defaults.colour")
    assert "other.yaml:1:12: defaults.colour" in refused.json["detail"]
    assert setup.status() == before
    assert setup.bridge.params.ageing_time == 60


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_a_file_with_mistakes_is_refused_whole(setup: Setup, query: str) -> None:
    before, events = setup.status(), setup.network.events.last
    reply = setup.reload("defaults: {colour: red,\n ageing_time: -1}", query)
    assert reply.status_code == 409
    assert [error["field"] for error in reply.json["errors"]] == [
        "defaults.colour",
        "defaults.ageing_time",
    ]
    assert f"{setup.file}:2:15: defaults.ageing_time: must be" in reply.json["detail"]
    assert setup.status() == before
    kinds = [record.event.kind for record in setup.network.events.since(events)]
    assert kinds == ([] if query else ["config.refused"])


def test_a_file_that_has_lost_most_of_what_it_said_is_refused_unless_it_is_meant(
    setup: Setup,
) -> None:
    answer = setup.reload("")
    assert answer.status_code == 409
    assert "6 of the 6 settings that the file had are not there any more" in answer.json["detail"]
    assert setup.bridge.params.ageing_time == 60
    refused = setup.network.events.since(0)[-1].event
    assert refused.kind == "config.refused"
    assert "ofapp config reload --force" in refused.message
    planned = setup.reload("", "?dry_run=true").json
    assert "6 of the 6 settings" in planned["warnings"][0]
    assert "ageing_time: 60 -> default" in planned["bridges"][0]["changes"]
    assert setup.bridge.params.ageing_time == 60
    assert setup.reload("", "?force=true").status_code == 200
    assert setup.bridge.params.ageing_time == 300


def test_the_same_again_is_no_change(setup: Setup) -> None:
    answer = setup.reload(TEXT + "\n# a comment").json
    assert (answer["bridges"], answer["message"]) == ([], "nothing has changed")


def test_without_a_file_there_are_the_defaults(client: Any) -> None:
    assert client.get("/v1/config").json["file"] is None
    answer = client.post("/v1/config/reload?force=true").json["bridges"]
    assert [set(bridge["changes"]) for bridge in answer] == [
        {"stp.enabled: false -> default"},
        {"stp.enabled: false -> default", "fdb_max_learned: 1 -> default"},
    ]


def named(network: Network, bridge: Bridge) -> None:
    network.dispatcher.handle(bridge, BridgeNamed())
    hub.sleep(0)


def test_a_bridge_is_what_its_new_name_says(setup: Setup) -> None:
    setup.reload("bridges: {br0: {ageing_time: 70}, br7: {ageing_time: 77}}")
    network, bridge = setup.network, setup.bridge
    named(network, bridge)
    assert bridge.params.ageing_time == 70
    network.changes.settings.change(bridge, STP, {"priority": 4096})
    local = bridge.ports.named("br0")
    assert local is not None
    bridge.ports.put(type(local)(local.number, "br7", local.mac, True))
    named(network, bridge)
    assert bridge.params.ageing_time == 77
    assert network.running.of(bridge.datapath_id).stp.priority == 4096
    setup.reload("bridges: {br7: {ageing_time: 78}, 1: {ageing_time: 79}}")
    assert bridge.params.ageing_time == 79
    assert network.events.counts["config.ambiguous"] == 1
