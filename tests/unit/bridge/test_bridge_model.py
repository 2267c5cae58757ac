"""Any sequence of events: the FDB, the switch and a plain reading of the rules agree."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb import EntryType
from ofapp.bridge.mac import is_group
from ofapp.bridge.params import BridgeParams, PortParams
from ofapp.bridge.ports import LOCAL_PORT, Port
from ofapp.bridge.sweep import Occasion
from tests.unit.bridge.model import ModelSwitch

PORTS = (1, 2, 3, LOCAL_PORT)
LOCAL_MAC = 0x02_00_00_00_00_99
PARAMS = BridgeParams(fdb_max_learned=6, ports={"p2": PortParams(fdb_max_learned=2)})

ports = st.sampled_from(PORTS)
vids = st.sampled_from((0, 7))
macs = st.sampled_from((0, 1 << 40, LOCAL_MAC, *range(0x020000000001, 0x020000000009)))
hosts = st.integers(0x020000000001, 0x020000000008)


def _port(number: int, up: bool) -> Port:
    name = "br0" if number == LOCAL_PORT else f"p{number}"
    return Port(number, name, LOCAL_MAC if number == LOCAL_PORT else number, up)


class BridgeAndSwitch(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.now = 0.0
        self.sweeps = 0
        self.switch = ModelSwitch()
        self.bridge = Bridge(1, PARAMS)
        self.switch.apply(self.bridge.set_ports([_port(n, True) for n in PORTS], self.now))
        self.seen: dict[tuple[int, int], int] = {}

    @rule(port=ports, vid=vids, mac=macs, after=st.sampled_from((0.0, 0.1, 5.0)))
    def frame(self, port: int, vid: int, mac: int, after: float) -> None:
        """A frame: the switch tells the controller unless it knows the source already."""
        self.now += after
        pinned = (mac, vid) in self.switch.pins or (mac, None) in self.switch.pins
        known = (port, vid, mac) in self.switch.sources
        if port in self.switch.open and mac and not is_group(mac) and not pinned and not known:
            self.switch.apply(self.bridge.learning.learn([(port, vid, mac)], self.now))

    @rule(port=ports, vid=vids, mac=macs)
    def hostile_sighting(self, port: int, vid: int, mac: int) -> None:
        """A packet-in that the pipeline would never send changes nothing for the worse."""
        self.now += 2.0
        self.switch.apply(self.bridge.learning.learn([(port, vid, mac)], self.now))

    @precondition(lambda self: self.switch.sources)
    @rule(data=st.data(), lost=st.booleans())
    def idle(self, data: st.DataObject, lost: bool) -> None:
        """The datapath ages an address out; the notice may be lost."""
        port, vid, mac = data.draw(st.sampled_from(sorted(self.switch.sources)))
        serial = self.switch.sources.pop((port, vid, mac))
        if not lost:
            self.switch.apply(self.bridge.learning.expired(vid, mac, serial))
        else:
            self.routine()

    @rule(vid=vids, mac=hosts, serial=st.integers(0, 5))
    def false_notice(self, vid: int, mac: int, serial: int) -> None:
        """A notice of an earlier life is no reason to forget a host."""
        entry = self.bridge.fdb.get(vid, mac)
        if entry is None or entry.serial != serial:
            assert self.bridge.learning.expired(vid, mac, serial) == []

    @rule(port=ports, up=st.booleans())
    def link(self, port: int, up: bool) -> None:
        self.switch.apply(self.bridge.put_port(_port(port, up), self.now))

    @rule(port=ports)
    def unplug(self, port: int) -> None:
        self.switch.apply(self.bridge.remove_port(port, 2.0))

    @rule(vid=vids, mac=hosts, port=st.sampled_from(("p1", "p3", "absent")))
    def add_static(self, vid: int, mac: int, port: str) -> None:
        self.switch.apply(self.bridge.add_static(vid, mac, port, self.now))

    @rule(vid=vids, mac=hosts)
    def remove_static(self, vid: int, mac: int) -> None:
        if (vid, mac) in self.bridge.pinned.static:
            self.switch.apply(self.bridge.remove_static(vid, mac))

    @rule(
        port=st.none() | ports,
        vid=st.none() | vids,
        mac=st.none() | hosts,
    )
    def flush(self, port: int | None, vid: int | None, mac: int | None) -> None:
        self.switch.apply(self.bridge.flush(port, vid, mac))
        for its_vid, its_mac, entry in self.bridge.fdb:
            assert entry.type is EntryType.STATIC or not (
                port in (None, entry.port) and vid in (None, its_vid) and mac in (None, its_mac)
            )

    @rule()
    def routine(self) -> None:
        self._bring_in_line(Occasion.ROUTINE)

    @rule(vid=vids, mac=hosts, port=ports, serial=st.integers(1000, 1005))
    def stray_flows(self, vid: int, mac: int, port: int, serial: int) -> None:
        """Flows that nobody knows go with the next sweep."""
        if (port, vid, mac) not in self.switch.sources:
            self.switch.sources[port, vid, mac] = serial
        self.routine()

    @rule(vid=vids, mac=hosts, port=ports, serial=st.integers(1000, 1005))
    def stray_destination(self, vid: int, mac: int, port: int, serial: int) -> None:
        """A destination half with a foreign serial is put right or removed."""
        if (mac, vid) not in self.switch.pins:
            self.switch.destinations[vid, mac] = port, serial
            self.routine()

    @rule()
    def lost_destinations(self) -> None:
        self.switch.destinations.clear()
        self.routine()

    @rule()
    def controller_restarts(self) -> None:
        """Nothing is forgotten: the flows tell what was known."""
        before = {
            (vid, mac): entry.port
            for vid, mac, entry in self.bridge.fdb
            if entry.type is EntryType.LEARNED
        }
        old = self.bridge
        self.bridge = Bridge(1, PARAMS)
        for (vid, mac), name in old.pinned.static.items():
            self.bridge.add_static(vid, mac, name, self.now)
        self.bridge.set_ports(old.ports, self.now)
        self._bring_in_line(Occasion.CONNECTED)
        assert before == {
            (vid, mac): entry.port
            for vid, mac, entry in self.bridge.fdb
            if entry.type is EntryType.LEARNED
        }

    @rule()
    def switch_restarts(self) -> None:
        """Everything is installed again."""
        learned = self.bridge.fdb.learned
        self.switch = ModelSwitch()
        self._bring_in_line(Occasion.RESTARTED)
        assert self.bridge.fdb.learned == learned

    def _bring_in_line(self, occasion: Occasion) -> None:
        self.sweeps += 1
        self.now += 10.0
        self.switch.bring_in_line(self.bridge, self.sweeps, occasion, self.now)

    @invariant()
    def switch_holds_what_the_fdb_says(self) -> None:
        learned = {
            (entry.port, vid, mac): entry.serial
            for vid, mac, entry in self.bridge.fdb
            if entry.type is EntryType.LEARNED
        }
        assert self.switch.sources == learned
        assert self.switch.destinations == {
            (vid, mac): (port, serial) for (port, vid, mac), serial in learned.items()
        }

    @invariant()
    def counts_are_right_and_caps_hold(self) -> None:
        ports = [port for port, _vid, _mac in self.switch.sources]
        assert self.bridge.fdb.learned == len(ports) <= 6
        assert self.bridge.fdb.learned_by_port == {port: ports.count(port) for port in set(ports)}
        assert ports.count(2) <= 2

    @invariant()
    def ports_are_right(self) -> None:
        up = {port.number for port in self.bridge.ports if port.up}
        assert self.switch.open == self.switch.flood == up
        assert {port for port, _vid, _mac in self.switch.sources} <= up

    @invariant()
    def pins_are_right(self) -> None:
        expected: dict[tuple[int, int | None], int | None] = {}
        for (vid, mac), name in self.bridge.pinned.static.items():
            port = self.bridge.ports.named(name)
            expected[mac, vid] = port.number if port else None
        if self.bridge.ports.get(LOCAL_PORT):
            expected[LOCAL_MAC, None] = LOCAL_PORT
        assert self.switch.pins == expected

    @invariant()
    def nobody_impossible_is_learned(self) -> None:
        for _port_number, vid, mac in self.switch.sources:
            assert mac
            assert not is_group(mac)
            assert (mac, vid) not in self.switch.pins
            assert (mac, None) not in self.switch.pins


BridgeAndSwitch.TestCase.settings = settings(
    max_examples=400, stateful_step_count=50, deadline=None
)
TestBridgeAndSwitch = BridgeAndSwitch.TestCase
