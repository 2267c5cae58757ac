"""Documents that ofapp 0.2 has stored are restored completely; a new document takes one line.

`release_0_2` has the state directory and etcd's documents of a controller of release 0.2: bridge 1
with a static and a multicast entry, an isolated port, another ageing time, ports that learn,
an aggregation with LACP, and a token.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.bridge import queries
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import StateChanged
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.common import hub
from ofapp.config import load_config
from ofapp.controller.cluster.etcd.etcd import Put, absent
from ofapp.controller.cluster.etcd.guard import GuardedEtcd
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state import documents
from ofapp.controller.state.document import Document
from ofapp.controller.state.store import State
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

RELEASE = Path(__file__).parent / "release_0_2"
KEYS = Keys("default")


class Controller:
    """One that continues from what is stored."""

    def __init__(self, state: State, events: EventLog, extra: tuple[Port, ...] = ()) -> None:
        self.state = state
        self.events = events
        config = load_config(RELEASE / "ofapp.yaml")
        self.network = Network(config, state, events)
        self.bridge = self.network.lifetime.back(1)
        # The LOCAL port has another address now: the bridge and its aggregation keep theirs.
        ports = [Port(LOCAL_PORT, "br1", 0x02000000FF01, True), *extra]
        for number, name in ((1, "eth0"), (2, "eth1"), (3, "m1")):
            ports.append(Port(number, name, 0x020000000100 + number, True, 1000))
        self.network.dispatcher.apply(self.bridge, self.bridge.set_ports(ports, 0.0))

    def check_bridge(self) -> None:
        """Everything that was set or learned with 0.2 is in force."""
        own = self.network.running.of(1)
        assert (own.ageing_time, own.port("eth0", 1).isolated) == (77, True)
        static = {(0, 0x02000000000A): "eth0", (0, 0x02000000000F): "eth1"}
        assert queries.static_entries(self.bridge) == static
        group = PermanentEntry.parse(0, "ff05::7", "eth0", "fe80::1", (), "zebra")
        assert [*queries.permanent_entries(self.bridge)] == [group]
        status = self.network.stp_status(self.bridge, (1, 2))
        assert status is not None
        assert status.bridge_id & 0xFFFFFFFFFFFF == 0x020000000001
        assert [port.state.value for port in status.ports] == ["learning", "learning"]
        (lag,) = self.network.lag_status(self.bridge)
        assert lag.system == 0x020000000001
        assert [member.state for member in lag.members] == ["defaulted"]

    def check_token(self, secret: str) -> None:
        """The token is valid."""
        token = self.network.access.tokens.find(secret)
        assert token is not None
        assert token.name == "grafana"

    @property
    def kinds(self) -> set[str]:
        return {record.event.kind for record in self.events.since(0)}


def test_a_state_directory_of_0_2(tmp_path: Path) -> None:
    shutil.copytree(RELEASE / "state", tmp_path / "state")
    events = EventLog()
    controller = Controller(State(tmp_path / "state", events.emit), events)
    controller.check_bridge()
    controller.check_token((RELEASE / "token").read_text().strip())
    accepted = controller.state.accepted.load()
    assert accepted is not None
    assert len(accepted.settings) == 3
    assert "config.restored" in controller.kinds
    assert "state.damaged" not in controller.kinds
    controller.state.finish(5)


def test_documents_of_0_2_in_etcd() -> None:
    stored = json.loads((RELEASE / "etcd.json").read_text())
    etcd, events = FakeEtcd(), EventLog()
    client = etcd.client()
    for key, value in stored["documents"].items():
        client.put(key, base64.b64decode(value))
    term = client.transact([absent(KEYS.owner(1))], [Put(KEYS.owner(1), b"")]).revision
    guarded = GuardedEtcd(etcd.client(), KEYS, events.emit)
    state = SharedState(None, events.emit, guarded, KEYS)
    assert state.take_over(1, term, stored["mark"])
    taps = tuple(Port(at, f"tap{at}", 0x020000000100 + at, True, 1000) for at in range(10, 60))
    controller = Controller(state, events, taps)
    controller.check_bridge()
    controller.check_token(stored["token"])
    guarded.invalid.judge_all(etcd.records)
    assert len(guarded.invalid) == 0
    assert controller.kinds & {"state.damaged", "state.lost"} == set()
    controller.state.finish(5)


@pytest.mark.parametrize("stem", ["bridge", "lacp", "bindings"])
@pytest.mark.parametrize("content", ["[1]", "{}", '{"version": 9}', "7", '{"mark": 1}', "[" * 9999])
def test_protocol_state_that_is_none_is_reported(tmp_path: Path, stem: str, content: str) -> None:
    shutil.copytree(RELEASE / "state", tmp_path / "state")
    (tmp_path / "state" / f"{stem}-0000000000000001.json").write_text(content)
    events = EventLog()
    controller = Controller(State(tmp_path / "state", events.emit), events)
    (report,) = [each.event for each in events.since(0) if each.event.kind == "state.damaged"]
    assert f"{stem}-0000000000000001.json" in report.message
    controller.state.finish(5)


def test_declarations_fit_together() -> None:
    stems = [each.stem or each.name for each in documents.DOCUMENTS]
    assert len({*stems}) == len(stems)
    assert all(re.fullmatch("[a-z]+", stem) for stem in stems), "as the keys in etcd"
    assert sum(each.marked for each in documents.DOCUMENTS) == 1, "a switch has one mark"
    assert all(each.synced for each in documents.DOCUMENTS if each.setting)


class Beacons:
    """A protocol's state: it is stored, restored and forgotten by its declaration alone."""

    def __init__(self) -> None:
        self.by_bridge: dict[int, Any] = {}

    def dump(self, bridge: Bridge, _portions: object) -> Any:
        return self.by_bridge[bridge.datapath_id]

    def restore(self, bridge: Bridge, data: Any) -> list[str]:
        if not isinstance(data, list):
            raise ValueError("no list")  # noqa: TRY004
        self.by_bridge[bridge.datapath_id] = data
        return []


class TestANewDocument:
    @pytest.fixture
    def beacons(self, monkeypatch: pytest.MonkeyPatch) -> Beacons:
        made = Beacons()
        new = Document("beacons", dump=made.dump, restore=made.restore)
        monkeypatch.setattr(documents, "DOCUMENTS", (*documents.DOCUMENTS, new))
        return made

    def begin(self, state: State) -> tuple[Network, Bridge]:
        network = Network(load_config(RELEASE / "ofapp.yaml"), state, EventLog())
        return network, network.lifetime.back(1)

    def change(self, network: Network, bridge: Bridge, state: State) -> None:
        """Change it, and wait until it is stored."""
        loop = hub.spawn(network.writers["beacons"].run)
        network.dispatcher.apply(bridge, [StateChanged("beacons")])
        store = state.snapshots["beacons"]
        wait_for(lambda: store.load(1) or store.bridges, "the beacons", sleep=hub.sleep)
        state.finish(5)
        hub.kill(loop)

    def test_is_a_file_that_the_next_process_restores_and_forgets(
        self, tmp_path: Path, beacons: Beacons
    ) -> None:
        state = State(tmp_path)
        network, bridge = self.begin(state)
        beacons.by_bridge[1] = ["a"]
        self.change(network, bridge, state)
        beacons.by_bridge.clear()
        assert (tmp_path / "beacons-0000000000000001.json").exists()

        state = State(tmp_path)
        network, bridge = self.begin(state)
        assert beacons.by_bridge == {1: ["a"]}
        network.lifetime.forget(bridge)
        state.finish(5)
        assert not [*tmp_path.glob("beacons-*.json")]

    def test_that_is_damaged_is_set_aside(self, tmp_path: Path, beacons: Beacons) -> None:
        state = State(tmp_path)
        state.snapshots["beacons"].save(1, {"no": "list"})
        state.finish(5)
        self.begin(State(tmp_path))
        assert beacons.by_bridge == {}
        assert (tmp_path / "beacons-0000000000000001.json.damaged-1").exists()

    def test_is_shared_in_a_cluster(self, beacons: Beacons) -> None:
        etcd = FakeEtcd()
        client = etcd.client()

        def member() -> SharedState:
            client.delete(KEYS.owner(1))
            claim = client.transact([absent(KEYS.owner(1))], [Put(KEYS.owner(1), b"")])
            state = SharedState(None, EventLog().emit, etcd.client(), KEYS)
            state.take_over(1, claim.revision, None)
            return state

        state = member()
        network, bridge = self.begin(state)
        beacons.by_bridge[1] = ["a"]
        self.change(network, bridge, state)
        beacons.by_bridge.clear()
        assert KEYS.of("beacons-0000000000000001.json") in etcd.records
        self.begin(member())
        assert beacons.by_bridge == {1: ["a"]}
