"""Connections: which may speak for a datapath id, and what is forgotten for others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.effects import NOTICES, InLine
from ofapp.bridge.input_error import InputError
from ofapp.bridge.multicast import parse
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.config import Config
from ofapp.config.multicast import MulticastBridge
from ofapp.controller.bridges import connections, lifetime
from ofapp.controller.configuration.changes.settings import MULTICAST, STP
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.settings import RunTimeSettings
from ofapp.controller.state.store import State
from ofapp.openflow.switch.session import Session


class FakeChannel:
    """A connection as far as `Connections` looks at it."""

    def __init__(self, datapath_id: int) -> None:
        self.id = datapath_id
        self.address = ("192.0.2.1", datapath_id)
        self.dead = self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeSession:
    """A session that does nothing and is alive as set."""

    answers = True

    def __init__(
        self, channel: Any, bridge: Any, emit: Any, _ownership: Any, adopt_static: bool
    ) -> None:
        self.channel, self.bridge, self.adopt_static = channel, bridge, adopt_static
        self.stopped = False

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True

    def apply(self, effects: Any) -> None:
        pass

    reconfigure = apply

    def check_soon(self) -> None:
        pass

    def alive(self, _patience: float) -> bool:
        return self.answers


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "Session", FakeSession)
    monkeypatch.setattr(connections.hub, "spawn", lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(FakeSession, "answers", True)


def make(state: State | None = None) -> Network:
    return Network(Config(), state or State(None), EventLog())


def connect(net: Network, datapath_id: int) -> FakeChannel:
    channel: Any = FakeChannel(datapath_id)
    if net.connections.admit(channel, datapath_id):
        net.connections.connected(channel)
    return channel


def kinds(net: Network) -> list[str]:
    return [record.event.kind for record in net.events.since(0)]


def test_a_second_switch_with_the_same_id_is_refused_and_the_first_stays() -> None:
    net = make()
    first = connect(net, 1)
    second = connect(net, 1)
    assert kinds(net) == ["bridge.connected", "bridge.duplicate"]
    assert net.datapaths[1].channel is first
    assert not first.closed
    net.connections.connected(second)  # type: ignore[arg-type]
    assert second.closed


def test_a_silent_switch_makes_room_for_its_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    net = make()
    first = connect(net, 1)
    monkeypatch.setattr(FakeSession, "answers", False)
    connect(net, 1)
    assert first.closed


def test_a_connection_known_to_be_over_is_in_nobodys_way() -> None:
    net = make()
    first = connect(net, 1)
    first.dead = True
    second = connect(net, 1)
    assert net.datapaths[1].channel is second
    assert kinds(net) == ["bridge.connected", "bridge.disconnected", "bridge.connected"]
    net.connections.disconnected(first)  # type: ignore[arg-type]  # os-ken tells at last
    assert net.datapaths[1].channel is second


def test_a_bridge_outlives_its_connection() -> None:
    net = make()
    channel = connect(net, 1)
    bridge = net.bridges[1]
    net.connections.disconnected(channel)  # type: ignore[arg-type]
    assert net.find("0000000000000001") is bridge
    connect(net, 1)
    assert net.bridges[1] is bridge


def test_invented_datapath_ids_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "MAX_BRIDGES", 2)
    net = make()
    later, away = connect(net, 2), connect(net, 1)
    net.connections.disconnected(away)  # type: ignore[arg-type]
    net.connections.disconnected(later)  # type: ignore[arg-type]
    connect(net, 3)
    assert set(net.bridges) == {2, 3}
    connect(net, 2)
    assert [kind for kind in kinds(net) if kind == "bridge.forgotten"] == ["bridge.forgotten"]
    connect(net, 4)
    assert set(net.bridges) == {2, 3}
    assert kinds(net)[-1] == "bridge.limit"


def test_a_bridge_that_made_room_is_as_it_was_set_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifetime, "MAX_BRIDGES", 1)
    net = make()
    channel = connect(net, 1)
    net.changes.settings.change(net.bridges[1], STP, {"priority": 4096})
    net.changes.settings.change(net.bridges[1], MULTICAST, {"mcast_snooping": False})
    for datapath_id in (2, 1):
        net.connections.disconnected(channel)  # type: ignore[arg-type]
        channel = connect(net, datapath_id)
    bridge = net.bridges[1]
    assert bridge.params.stp is not None
    assert net.running.of(1).stp.priority == bridge.params.stp.priority == 4096
    assert net.running.of(1).snooping() == MulticastBridge(mcast_snooping=False)
    assert bridge.params.multicast is None
    assert net.running.of(2) == net.running.filed(2)


def named(net: Network, datapath_id: int, name: str = "br0") -> FakeChannel:
    """A switch connects that calls its bridge so."""
    channel = connect(net, datapath_id)
    bridge = net.bridges[datapath_id]
    for effect in bridge.put_port(Port(LOCAL_PORT, name, datapath_id, True), 0.0):
        if type(effect) in NOTICES:
            net.dispatcher.handle(bridge, effect)  # type: ignore[arg-type]
    return channel


def names(net: Network) -> dict[int, str]:
    return {datapath_id: bridge.name for datapath_id, bridge in net.bridges.items()}


class TestAway:
    """A bridge that is deleted and made again has another datapath id and the same name."""

    def test_its_name_goes_to_the_bridge_that_has_it_now(self) -> None:
        net = make()
        net.connections.disconnected(named(net, 1))  # type: ignore[arg-type]
        assert names(net) == {1: "br0"}  # no other bridge wants it
        named(net, 2)
        assert names(net) == {1: f"{1:016x}", 2: "br0"}
        assert net.bridges[1].former_name == "br0"
        assert "bridge.name-given-up" in kinds(net)
        connect(net, 1)
        assert names(net) == {1: "br0", 2: "br0"}  # two hosts, each with a br0

    def test_so_too_when_the_new_one_was_there_first(self) -> None:
        net = make()
        first = named(net, 1)
        named(net, 2)
        assert names(net) == {1: "br0", 2: "br0"}
        net.connections.disconnected(first)  # type: ignore[arg-type]
        assert names(net) == {1: f"{1:016x}", 2: "br0"}

    def test_one_that_comes_back_takes_its_name_from_one_that_is_away(self) -> None:
        net = make()
        channels = [named(net, 1), named(net, 2)]
        for channel in reversed(channels):
            net.connections.disconnected(channel)  # type: ignore[arg-type]
        assert names(net) == {1: "br0", 2: f"{2:016x}"}
        connect(net, 2)
        assert names(net) == {1: f"{1:016x}", 2: "br0"}

    def test_it_is_forgotten_with_all_that_was_kept_of_it(self, tmp_path: Path) -> None:
        state = State(tmp_path)
        net = make(state)
        channel = named(net, 1)
        bridge = net.bridges[1]
        bridge.put_port(Port(1, "eth0", 1, True), 0.0)
        net.changes.fdb.add_static(bridge, 0, 0x02000000000A, "eth0")
        state.snapshots["stp"].save(1, {})
        with pytest.raises(InputError, match="is connected: delete the bridge there"):
            net.changes.forget(bridge)
        net.connections.disconnected(channel)  # type: ignore[arg-type]
        net.changes.forget(bridge)
        assert net.bridges == {}
        assert kinds(net)[-1] == "bridge.forgotten"
        again = State(tmp_path)
        assert again.entries.load(1) is None
        assert again.snapshots["stp"].load(1) is None

    def test_in_time_it_is_forgotten_by_itself_but_for_entries(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [1000.0]
        monkeypatch.setattr(lifetime.time, "monotonic", lambda: now[0])
        config = Config.model_validate({"forget_after": 60})
        net = Network(config, State(tmp_path), EventLog())
        gone, back = named(net, 1), named(net, 2, "br1")
        net.bridges[1].put_port(Port(1, "eth0", 1, True), 0.0)
        net.changes.fdb.add_static(net.bridges[1], 0, 0x02000000000A, "eth0")
        for channel in (gone, back):
            net.connections.disconnected(channel)  # type: ignore[arg-type]
        connect(net, 2)
        net.lifetime.forget_overdue(1059.0)
        assert set(net.bridges) == {1, 2}
        net.lifetime.forget_overdue(1060.0)
        assert set(net.bridges) == {2}
        assert State(tmp_path).entries.load(1) is not None
        connect(net, 1)
        assert net.bridges[1].static_entries.ports == {(0, 0x02000000000A): "eth0"}

    def test_with_0_never(self) -> None:
        net = Network(Config.model_validate({"forget_after": 0}), State(None), EventLog())
        net.connections.disconnected(named(net, 1))  # type: ignore[arg-type]
        net.lifetime.forget_overdue(1e9)
        assert set(net.bridges) == {1}

    def test_sooner_when_another_one_has_no_room_for_its_ports(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        net = make()
        many = [Port(number, f"p{number}", number, True) for number in range(1, 60)]
        gone, small = named(net, 1), named(net, 2, "br1")
        monkeypatch.setattr(net.bridges[1].ports._room, "left", 40)
        net.bridges[1].put_ports(many[:50], 0.0)
        for channel in (gone, small):
            net.connections.disconnected(channel)  # type: ignore[arg-type]
        net.lifetime.make_room()
        assert set(net.bridges) == {1, 2}
        named(net, 3, "br2")
        net.bridges[3].put_ports(many, 0.0)
        assert len(net.bridges[3].ports) < len(many)
        net.lifetime.make_room()
        assert set(net.bridges) == {2, 3}
        net.bridges[3].put_ports(many, 1.0)
        assert len(net.bridges[3].ports) > 50
        net.lifetime.make_room()
        assert set(net.bridges) == {2, 3}, "it has nothing to give"


class TestEnd:
    """The end of a session lets others run, and what they do then holds."""

    @staticmethod
    def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
        """Do this while the first session that is stopped ends."""
        due = [do]

        def stop(_session: FakeSession) -> None:
            if due:
                due.pop()()

        monkeypatch.setattr(FakeSession, "stop", stop)

    @staticmethod
    def connections(net: Network) -> list[str]:
        wanted = "connected", "disconnected"
        return [kind for known in kinds(net) if (kind := known.removeprefix("bridge.")) in wanted]

    def test_a_switch_that_another_member_takes_is_forgotten(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        net = make()
        channel = named(net, 1)
        self.meanwhile(monkeypatch, lambda: net.connections.release(1))
        net.connections.disconnected(channel)  # type: ignore[arg-type]
        assert names(net) == {}
        named(net, 2)
        assert names(net) == {2: "br0"}
        assert self.connections(net) == ["connected", "disconnected", "connected"]

    def test_a_switch_that_is_back_is_connected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        net = make()
        channel = named(net, 1)
        self.meanwhile(monkeypatch, lambda: connect(net, 1))
        net.connections.disconnected(channel)  # type: ignore[arg-type]
        assert 1 not in net.disconnected
        assert self.connections(net) == ["connected", "disconnected", "connected"]

    def test_the_first_connection_after_it_is_the_only_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        net = make()
        first = connect(net, 1)
        first.dead = True  # not reported yet
        began: list[FakeChannel] = []
        self.meanwhile(monkeypatch, lambda: began.append(connect(net, 1)))
        late: Any = FakeChannel(1)
        net.connections.connected(late)
        assert net.datapaths[1].channel is began[0]
        assert late.closed
        assert not began[0].closed


class TestState:
    def test_entries_outlive_the_process(self, tmp_path: Path) -> None:
        """Those of the file are the file's to remember."""
        own = {
            "mdb": [{"group": "239.9.9.9", "port": "eth0"}],
            "static": [{"mac": "02:00:00:00:00:0f", "port": "eth0"}],
        }
        config = Config.model_validate({"bridges": {f"{1:016x}": own}})
        net = Network(config, State(tmp_path), EventLog())
        connect(net, 1)
        bridge = net.bridges[1]
        bridge.put_port(Port(1, "eth0", 1, True), 0.0)
        kept = PermanentEntry(7, parse("ff05::7"), "eth0", parse("fe80::1"))
        gone = PermanentEntry(0, parse("239.1.1.1"), "eth0")
        net.changes.mdb.add_permanent(bridge, kept).wait()
        net.changes.mdb.add_permanent(bridge, gone).wait()
        net.changes.mdb.remove_permanent(bridge, gone).wait()
        net.changes.fdb.add_static(bridge, 7, 0x02000000000A, "eth0").wait()
        net.changes.fdb.add_static(bridge, 0, 0x02000000000B, "eth0").wait()
        net.changes.fdb.remove(bridge, 0, 0x02000000000B).wait()
        with pytest.raises(InputError, match="has no port 'eth9'"):
            net.changes.mdb.add_permanent(bridge, kept._replace(port="eth9"))
        net = make(State(tmp_path))
        connect(net, 1)
        assert net.bridges[1].multicast.permanent.all() == [kept]
        assert net.bridges[1].static_entries.ports == {(7, 0x02000000000A): "eth0"}

    def test_what_was_set_outlives_the_process_unless_the_file_has_changed_it(
        self, tmp_path: Path
    ) -> None:
        def begin(ports: dict[str, Any]) -> Network:
            config = Config.model_validate({"bridges": {f"{1:016x}": {"ports": ports}}})
            net = Network(config, State(tmp_path), EventLog())
            connect(net, 1)
            net.bridges[1].put_port(Port(1, "eth0", 1, True), 0.0)
            return net

        def change(net: Network, **values: Any) -> None:
            bridge = net.bridges[1]
            net.changes.settings.change_port(bridge, bridge.ports.named("eth0"), values).wait()

        def policy(net: Network) -> Any:
            return net.bridges[1].port_policies.port(1).policy

        net = begin({})
        own = net.running.of(1).stp.changed({"priority": 4096})
        net.changes.settings.change(net.bridges[1], STP, dict(own)).wait()
        change(net, isolated=True)
        change(net, learning=False)

        net = begin({})
        assert kinds(net)[0] == "config.restored"
        event = net.events.since(0)[0].event
        assert set(event.data["settings"]) == {
            "stp.priority: default -> 4096",
            "ports.eth0.isolated: default -> true",
            "ports.eth0.learning: default -> false",
        }
        assert (policy(net).isolated, policy(net).learning) == (True, False)
        params = net.bridges[1].params.stp
        assert params is not None
        assert params.priority == 4096

        net = begin({"1": {"learning": True, "isolated": False}, "eth0": {"sticky": True}})
        assert policy(net).isolated, "the file says the same of that as before"
        net = begin({"1": {"shutdown": True}})
        change(net, learning=True)
        net = begin({"1": {"learning": False}})
        assert not policy(net).learning, "the file has changed it"
        net.connections.disconnected(net.datapaths[1].channel)
        assert net.reloader.reload(force=True, reset=True).bridges
        assert kinds(begin({"1": {"learning": False}}))[0] == "bridge.connected"

    def test_what_was_set_is_forgotten_with_the_bridge(self, tmp_path: Path) -> None:
        net = make(State(tmp_path))
        channel = connect(net, 1)
        own = net.running.of(1).stp.changed({"priority": 4096})
        net.changes.settings.change(net.bridges[1], STP, dict(own)).wait()
        net.connections.disconnected(channel)  # type: ignore[arg-type]
        for ticket in net.changes.forget(net.bridges[1]):
            ticket.wait()
        net = make(State(tmp_path))
        connect(net, 1)
        assert kinds(net) == ["bridge.connected"]

    def test_settings_that_no_bridge_can_have_are_set_aside(self, tmp_path: Path) -> None:
        events = EventLog()
        state = State(tmp_path, events.emit)
        state.settings.save(1, RunTimeSettings({}, {"ageing_time": "soon"}, {})).wait()
        net = Network(Config(), state, events)
        connect(net, 1)
        assert kinds(net) == ["state.damaged", "bridge.connected"]
        assert net.running.of(1) == net.running.filed(1)

    def test_an_entry_that_leaves_the_file_while_nobody_runs_is_not_the_switchs_to_tell(
        self, tmp_path: Path
    ) -> None:
        own = {"static": [{"mac": "02:00:00:00:00:0f", "port": "eth0"}]}
        config = Config.model_validate({"bridges": {f"{1:016x}": own}})
        net = Network(config, State(tmp_path), EventLog())
        connect(net, 1)
        net.dispatcher.handle(net.bridges[1], InLine())
        net = make(State(tmp_path))
        connect(net, 1)
        connect(net, 2)
        assert not session_of(net, 1).adopt_static
        assert session_of(net, 2).adopt_static

    def test_a_snapshot_that_is_none_lets_the_bridge_begin_anew(self, tmp_path: Path) -> None:
        events = EventLog()
        state = State(tmp_path, events.emit)
        state.snapshots["stp"].save(1, {"names": 7})
        net = Network(Config(), state, events)
        connect(net, 1)
        assert kinds(net) == ["state.damaged", "bridge.connected"]
        assert not [*tmp_path.glob("*.json")]


def session_of(net: Network, datapath_id: int) -> Any:
    return net.datapaths[datapath_id]


def test_the_session_is_the_real_ones_shape() -> None:
    assert {"start", "stop", "apply", "alive"} <= set(dir(Session))


def test_a_switch_that_cannot_be_served_is_let_go_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed: list[str] = []

    def name(_channel: Any) -> str:
        raise ValueError("not expected")

    monkeypatch.setattr(connections, "local_name", name)
    monkeypatch.setattr(
        FakeChannel, "fail", lambda _self, error: failed.append(str(error)), raising=False
    )
    net = make()
    monkeypatch.setattr(net.running, "knows_entry", lambda _datapath_id: False)
    connect(net, 1)
    assert failed == ["not expected"]
    assert kinds(net) == ["service.fault"]


def test_bridges_of_which_the_file_says_the_same_share_what_it_comes_to() -> None:
    config = Config.model_validate({"bridges": {"3": {"ageing_time": 9}}})
    settings = Network(config, State(None), EventLog()).running
    assert settings.params(1) is settings.params(2)
    assert settings.params(3).ageing_time == 9
    settings.set(2, settings.of(2).model_copy(update={"ageing_time": 7}))
    assert (settings.params(1).ageing_time, settings.params(2).ageing_time) == (300, 7)
