"""Any sequence of events: the FDB, the switch and a plain reading of the rules agree."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import EntryType
from ofapp.bridge.mac import is_group
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies, PortPolicy, VlanPolicy
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.switch.audit.sweep import Occasion
from tests.unit.openflow.address_switch import AddressSwitch

PORTS = (1, 2, 3, LOCAL_PORT)
_PLAIN = PortPolicy()
LOCAL_MAC = 0x02_00_00_00_00_99
GUARD = MoveLimit(moves=2, window=10.0, hold=20.0)


def _params(
    p1: PortPolicy = _PLAIN, p2: PortPolicy = _PLAIN, p3: PortPolicy = _PLAIN, limit: int = 2
) -> BridgeParams:
    """The second port and VLAN 7 have limits; the VLAN drops what is beyond."""
    ports = {"p1": PortParams(policy=p1), "p2": PortParams(limit, policy=p2)}
    policies = Policies(vlans={7: VlanPolicy(limit + 1, "drop")}, mac_move=GUARD)
    return BridgeParams(
        fdb_max_learned=6, ports=ports | {"p3": PortParams(policy=p3)}, policies=policies
    )


PARAMS = (
    _params(),
    _params(p3=PortPolicy(sticky=True)),
    _params(PortPolicy(sticky=True), PortPolicy(over_limit="drop", sticky=True)),
    _params(PortPolicy(learning=False), PortPolicy(over_limit="drop"), limit=1),
    _params(PortPolicy(locked=True), p3=PortPolicy(sticky=True)),
)

SWEEP = 10.0
"""Seconds that pass before a sweep."""

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
        self.bridge = Bridge(1, PARAMS[0])
        self.switch = AddressSwitch(self.bridge)
        self.switch.apply(self.bridge.set_ports([_port(n, True) for n in PORTS], self.now))
        self.moves: dict[tuple[int, int], tuple[float, list[float]]] = {}

    @rule(port=ports, vid=vids, mac=macs, after=st.sampled_from((0.0, 0.1, 5.0)))
    def frame(self, port: int, vid: int, mac: int, after: float) -> None:
        """A frame: the switch tells the controller unless it knows the source already."""
        self.now += after
        pinned = (mac, vid) in self.switch.pins or (mac, None) in self.switch.pins
        known = (port, vid, mac) in self.switch.sources or (vid, mac) in self.switch.held
        may = port in self.switch.open and self.bridge.learning.learns(port)
        if may and mac and not is_group(mac) and not pinned and not known:
            self._sighted(port, vid, mac)

    @rule(port=ports, vid=vids, mac=macs)
    def hostile_sighting(self, port: int, vid: int, mac: int) -> None:
        """A packet-in that the pipeline would never send changes nothing for the worse."""
        self.now += 2.0
        self._sighted(port, vid, mac)

    @rule(one=ports, other=ports, vid=vids, mac=hosts)
    def flap(self, one: int, other: int, vid: int, mac: int) -> None:
        """An address moves as often as it may, and once more."""
        for port in (one, other, one, other):
            self.now += 0.1
            self._sighted(port, vid, mac)

    def _sighted(self, port: int, vid: int, mac: int) -> None:
        """A known address moves, unless it is sticky or has moved too often of late."""
        entry, address = self.bridge.fdb.get(vid, mac), (vid, mac)
        before = None if entry is None else (entry.port, entry.type, entry.installed)
        was_held = address in self.bridge.learning.move_guard.held
        self.switch.apply(self.bridge.learning.learn([(port, vid, mac)], self.now))
        is_held = address in self.bridge.learning.move_guard.held
        now = self.bridge.fdb.get(vid, mac)
        if entry is None or before is None or now is not entry:
            self.moves.pop(address, None)
            return
        life, moves = self.moves.get(address, (before[2], []))
        lately = [at for at in moves if at > self.now - GUARD.window and life == before[2]]
        if is_held and not was_held and before[1] is EntryType.LEARNED:
            assert len(lately) == GUARD.moves
            self.moves.pop(address)
        elif is_held or before[1] is EntryType.STICKY:
            assert entry.port == before[0]
        elif entry.port != before[0]:
            assert len(lately) < GUARD.moves
            self.moves[address] = entry.installed, [*lately, self.now]

    @rule(after=st.sampled_from((1.0, 25.0)))
    def time_passes(self, after: float) -> None:
        """Who is held down is let go in time, and not before."""
        self.now += after
        held = self.bridge.learning.move_guard.held.copy()
        self.switch.apply(self.bridge.tick(self.now))
        left = {address for address, hold in held.items() if hold.since + GUARD.hold > self.now}
        assert set(self.bridge.learning.move_guard.held) == left
        due = self.bridge.next_wakeup()
        assert due == min((held[a].since + GUARD.hold for a in left), default=None)

    @precondition(lambda self: self.bridge.learning.move_guard.held)
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        """By hand."""
        guard = self.bridge.learning.move_guard
        self.switch.apply(guard.let_go(data.draw(st.sampled_from(sorted(guard.held)))))

    @rule(params=st.sampled_from(PARAMS))
    def administer(self, params: BridgeParams) -> None:
        """Other limits, other policies."""
        self.now += 0.5
        self.switch.apply(self.bridge.set_params(params, self.now))

    @precondition(lambda self: {key[1:] for key in self.switch.sources} - self.switch.sticky)
    @rule(data=st.data(), lost=st.booleans())
    def idle(self, data: st.DataObject, lost: bool) -> None:
        """The datapath ages an address out, not a sticky one; the notice may be lost."""
        ageing = [key for key in self.switch.sources if key[1:] not in self.switch.sticky]
        port, vid, mac = data.draw(st.sampled_from(sorted(ageing)))
        serial = self.switch.age(port, vid, mac)
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
        if (vid, mac) in self.bridge.static_entries.ports:
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
        """Unknown flows go with the next sweep."""
        if (port, vid, mac) not in self.switch.sources:
            self.switch.add_source(port, vid, mac, serial)
        self.routine()

    @rule(vid=vids, mac=hosts, port=ports, serial=st.integers(1000, 1005))
    def stray_destination(self, vid: int, mac: int, port: int, serial: int) -> None:
        """A destination half with a foreign serial is put right or removed."""
        if (mac, vid) not in self.switch.pins:
            self.switch.add_destination(port, vid, mac, serial)
            self.routine()

    @rule()
    def lost_destinations(self) -> None:
        self.switch.lose_destinations()
        self.routine()

    @rule()
    def controller_restarts(self) -> None:
        """Nothing is forgotten: the flows tell what was known."""
        before = self._learned_on_open_ports()
        full = self._is_over_a_limit()
        old = self.bridge
        self.bridge = Bridge(1, old.params)
        for (vid, mac), name in old.static_entries.ports.items():
            self.bridge.add_static(vid, mac, name, self.now)
        self.bridge.set_ports(old.ports, self.now)
        self._bring_in_line(Occasion.CONNECTED)
        self.moves.clear()
        after = self._learned_on_open_ports()
        assert after == before or (full and after.items() <= before.items())

    @rule()
    def switch_restarts(self) -> None:
        """Everything is installed again, but what has aged meanwhile."""
        bridge, since = self.bridge, self.now + SWEEP - self.bridge.params.ageing_time
        aged = [
            (vid, mac)
            for vid, mac, entry in bridge.fdb
            if entry.was_learned and not entry.lasts and entry.updated <= since
            if bridge.addresses.forwards(entry.port)
        ]
        left = bridge.fdb.learned - len(aged)
        self.switch = AddressSwitch(bridge)
        self._bring_in_line(Occasion.RESTARTED)
        assert bridge.fdb.learned == left

    def _learned_on_open_ports(self) -> dict[tuple[int, int], tuple[int, EntryType]]:
        """(port, type) by address; what is sticky on a port that is down is in no switch."""
        return {
            (vid, mac): (entry.port, entry.type)
            for vid, mac, entry in self.bridge.fdb
            if entry.was_learned and entry.port in self.switch.open
        }

    def _is_over_a_limit(self) -> bool:
        limits, fdb = self.bridge.learning.limits, self.bridge.fdb
        counts = [(limit, fdb.learned_by_port.get(port, 0)) for port, limit in limits.ports.items()]
        counts += [(limit, fdb.learned_in(vid)) for vid, limit in limits.vlans.items()]
        return any(count > limit.most for limit, count in counts)

    def _bring_in_line(self, occasion: Occasion) -> None:
        self.sweeps += 1
        self.now += SWEEP
        self.switch.bring_in_line(self.bridge, self.sweeps, occasion, self.now)

    @invariant()
    def switch_holds_what_the_fdb_says(self) -> None:
        learned = {
            (entry.port, vid, mac): entry.serial
            for vid, mac, entry in self.bridge.fdb
            if entry.was_learned and entry.port in self.switch.open
        }
        assert self.switch.sources == learned
        assert self.switch.destinations == {
            (vid, mac): (port, serial) for (port, vid, mac), serial in learned.items()
        }

    @invariant()
    def counts_are_right_and_caps_hold(self) -> None:
        fdb = self.bridge.fdb
        learned = [(entry.port, vid) for vid, _mac, entry in fdb if entry.was_learned]
        ports, in_vlan = [port for port, _vid in learned], [vid for _port, vid in learned].count(7)
        assert fdb.learned == len(ports) <= 6
        assert fdb.learned_by_port == {port: ports.count(port) for port in set(ports)}
        assert ports.count(2) <= 2
        assert fdb.learned_in(7) == in_vlan <= 3

    @invariant()
    def gates_are_closed_where_there_is_no_room(self) -> None:
        params, fdb = self.bridge.params, self.bridge.fdb
        expected: set[tuple[int | None, int | None]] = set()
        limit = params.policies.vlans[7].fdb_max_learned
        assert limit is not None
        if fdb.learned_in(7) >= limit and self.switch.open:
            expected.add((None, 7))
        own = params.ports["p2"]
        assert own.fdb_max_learned is not None
        full = fdb.learned_by_port.get(2, 0) >= own.fdb_max_learned
        if own.policy.drops_over_limit and 2 in self.switch.open and full:
            expected.add((2, None))
        assert self.switch.gates == expected

    @invariant()
    def sticky_entries_are_those_of_sticky_ports(self) -> None:
        for _vid, _mac, entry in self.bridge.fdb:
            if entry.was_learned:
                assert entry.is_sticky is (entry.port in self.bridge.learning.sticky)
                assert self.bridge.learning.learns(entry.port)
                assert self.bridge.ports.get(entry.port)
        for port, vid, mac in self.switch.sources:
            assert ((vid, mac) in self.switch.sticky) is (port in self.bridge.learning.sticky)

    @invariant()
    def who_is_held_is_known(self) -> None:
        assert self.switch.held == set(self.bridge.learning.move_guard.held)
        for (vid, mac), held in self.bridge.learning.move_guard.held.items():
            entry = self.bridge.fdb.get(vid, mac)
            assert entry is not None
            assert entry.was_learned
            assert entry.port == held.port

    @invariant()
    def ports_are_right(self) -> None:
        up = {port.number for port in self.bridge.ports if port.up}
        assert self.switch.open == self.switch.flood == up
        assert {port for port, _vid, _mac in self.switch.sources} <= up

    @invariant()
    def pins_are_right(self) -> None:
        expected: dict[tuple[int, int | None], int | None] = {}
        for (vid, mac), name in self.bridge.static_entries.ports.items():
            port = self.bridge.ports.named(name)
            expected[mac, vid] = port.number if port and port.up else None
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


BridgeAndSwitch.TestCase.settings = settings(max_examples=150, stateful_step_count=50)
TestBridgeAndSwitch = BridgeAndSwitch.TestCase
