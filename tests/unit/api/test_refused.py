"""A change that is refused leaves the file's settings, the stored ones and the bridge untouched.

Each section is changed in each way: by a request (which the page and the command line send), a
reload, a change of a watched file, SIGHUP, and a push.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.config import ConfigError, load_config
from ofapp.controller.configuration.pushed import Pushed
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, FULL, add_bridge

OTHER = ", ".join(f"p{number}: {{isolated: true}}" for number in range(20))
"""Ports of another bridge, so that a file that lacks the rest does not look truncated."""

TEXT = f"""
watch: true
bridges:
  '{FULL}': {{ports: {{{OTHER}}}}}
  '{DPID}':
    stp: {{enabled: true}}
    lldp: {{enabled: true}}
    lags: {{lag0: {{members: [eth3, eth4], lacp: 'off'}}, lag1: {{members: [eth9], lacp: 'off'}}}}
    vlans: {{10: {{name: office, multicast: {{mcast_query_interval: 60}}}}}}
    acls: {{web: [{{name: rest, match: {{}}, action: allow}}]}}
    ports: {{eth1: {{vlan: 10}}, eth2: {{acl: web}}}}
    static: [{{mac: "52:54:00:00:00:01", vlan: 10, port: eth1}}]
"""

SECONDS = 30.0
"""Most that documents take to be written on a busy machine."""

REQUESTS = {
    "spanning tree": ("/stp", {"max_age": 40, "hello_time": 1, "forward_delay": 4}),
    "spanning tree of a port": ("/stp/ports/eth1", {"priority": 7}),
    "spanning tree of LOCAL": ("/stp/ports/br0", {"admin_edge": True}),
    "snooping": ("/multicast", {"mcast_query_interval": 1, "mcast_query_response_interval": 9}),
    "snooping of a VLAN": ("/multicast/vlans/10", {"mcast_query_response_interval": 70}),
    "snooping of a port": ("/multicast/ports/eth1", {"mcast_router": 7}),
    "LLDP": ("/lldp", {"tx_interval": 0}),
    "LLDP of a port": ("/lldp/ports/eth1", {"link": 3}),
    "LLDP of LOCAL": ("/lldp/ports/br0", {"link": True}),
    "a port's access list": ("/ports/eth1", {"acl": "wep", "isolated": True}),
    "a port's VLAN": ("/ports/eth2", {"vlan": "ofice", "isolated": True}),
    "the VLAN of a static entry": ("/ports/eth1", {"vlan": 20}),
    "a monitor in a VLAN": ("/ports/eth1", {"monitor": True}),
    "an aggregation's member": ("/lags/lag0", {"members": ["eth3", "eth9"], "max_links": 1}),
    "an aggregation's name": ("/lags/lag0", {"members": ["eth3", "br0"]}),
    "an aggregation's links": ("/lags/lag0", {"min_links": 3}),
}

FILES = {
    "spanning tree": "stp: {max_age: 40, hello_time: 1, forward_delay: 4}",
    "spanning tree of a port": "ports: {eth1: {stp: {priority: 7}}}",
    "snooping": "multicast: {mcast_query_interval: 1, mcast_query_response_interval: 9}",
    "snooping of a VLAN": "vlans: {10: {multicast: {mcast_query_response_interval: 170}}}",
    "snooping of a port": "ports: {eth1: {multicast: {mcast_router: 7}}}",
    "LLDP": "lldp: {tx_interval: 0}",
    "LLDP of a port": "ports: {eth1: {lldp: {link: 3}}}",
    "a port's access list": "ports: {eth1: {acl: wep}}",
    "a port's VLAN": "ports: {eth2: {vlan: ofice}}",
    "the VLAN of a static entry": "{ports: {eth1: {vlan: 20}},"
    " static: [{mac: '52:54:00:00:00:01', vlan: 10, port: eth1}]}",
    "a monitor in a VLAN": "ports: {eth1: {monitor: true, vlan: 10}}",
    "an aggregation's member": "lags: {lag0: {members: [eth3]}, lag2: {members: [eth3]}}",
    "an aggregation's name": "lags: {eth1: {members: [eth3]}}",  # known once the switch is there
    "an aggregation's links": "lags: {lag0: {members: [eth3], min_links: 3}}",
}


class Setup:
    """A network whose switch is away, with state on disk."""

    def __init__(self, folder: Path, clients: Clients) -> None:
        self.file = folder / "ofapp.yaml"
        self.file.write_text(TEXT)
        self.folder = folder / "state"
        self.folder.mkdir()
        find = lambda: self.file  # noqa: E731
        config = load_config(self.file)
        state = State(self.folder)
        self.network = Network(config, state, EventLog(), find=find)
        self.client = clients(self.network)
        self.bridge: Bridge = add_bridge(self.network, ports=4)
        answer = self.client.patch(f"/v1/bridges/{DPID}/stp", json={"priority": 4096})
        assert answer.status_code == 200, answer.text
        state.queue.finish(SECONDS)  # no document is written during the test

    def everything(self) -> tuple[object, ...]:
        """The file's settings, those in force and the bridge's, and all that is stored."""
        running = self.network.running
        stored = {path.name: path.read_bytes() for path in self.folder.rglob("*.json")}
        return running.config, running.of(1), self.bridge.params, stored

    def audited(self) -> list[str]:
        """The changes in the audit trail."""
        events = [record.event for record in self.network.events.since(0)]
        kinds = "audit.change", "bridge.configured", ".set"
        return [event.message for event in events if event.kind.endswith(kinds)]


@pytest.fixture
def setup(tmp_path: Path, clients: Clients) -> Setup:
    return Setup(tmp_path, clients)


@pytest.mark.parametrize("section", REQUESTS)
def test_a_request_that_is_refused_changes_nothing(setup: Setup, section: str) -> None:
    path, values = REQUESTS[section]
    before, audited = setup.everything(), setup.audited()
    answer = setup.client.patch(f"/v1/bridges/{DPID}{path}", json=values)
    assert answer.status_code in (409, 422), answer.text
    assert answer.json["errors"], "the field to blame is named"
    assert setup.everything() == before
    assert setup.audited() == audited


def _by_reload(setup: Setup) -> None:
    answer = setup.client.post("/v1/config/reload?force=true")
    assert answer.status_code == 409, answer.text


def _by_signal_or_watch(setup: Setup) -> None:
    setup.network.reload("SIGHUP")


def _by_push(setup: Setup) -> None:
    pushed = Pushed(setup.file.read_bytes(), "pushed.yaml", "root", 0.0, 7)
    with pytest.raises(ConfigError):
        setup.network.reloader.check_pushed(pushed, True)
    with pytest.raises(ConfigError):
        setup.network.apply_pushed(pushed)
    assert setup.network.reloader.pushed is None


@pytest.mark.parametrize("change", [_by_reload, _by_signal_or_watch, _by_push])
@pytest.mark.parametrize("section", FILES)
def test_a_file_that_is_refused_changes_nothing(
    setup: Setup, section: str, change: Callable[[Setup], Any]
) -> None:
    before, audited = setup.everything(), setup.audited()
    bridges = f"{{'{FULL}': {{ports: {{{OTHER}}}}}, '{DPID}': {_braced(FILES[section])}}}"
    setup.file.write_text(f"watch: true\nbridges: {bridges}")
    change(setup)
    assert setup.everything() == before
    assert setup.audited() == audited
    (refused,) = [
        record.event
        for record in setup.network.events.since(0)
        if record.event.kind == "config.refused"
    ]
    assert DPID in refused.message, "the section to blame is named"


def _braced(text: str) -> str:
    return text if text.startswith("{") else f"{{{text}}}"
