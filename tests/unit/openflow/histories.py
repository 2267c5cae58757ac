"""Random histories of a bridge on one switch: changes of ports, links, parameters and addresses."""

from collections.abc import Callable
from dataclasses import fields, replace
from random import Random
from types import SimpleNamespace
from typing import Any

from ofapp.bridge import lldp, multicast, stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import NOTICES, AskServer, Effect, LookAgain
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.first_hop import params as first_hop
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.loop_protect.params import BridgeParams as LoopParams
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.params.acl import STATES
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import (
    AclRule,
    Mirror,
    MoveLimit,
    Policies,
    PortPolicy,
    Storm,
    VlanPolicy,
)
from ofapp.bridge.port_access.answer import Answer, Egress
from ofapp.bridge.port_access.params import BridgeParams as PortAccessBridge
from ofapp.bridge.port_access.params import PortParams as PortAccessPort
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import TRANSPARENT, access, trunk
from ofapp.openflow.switch.queue.delivery import Batch, DeliveryQueue, State
from tests.support import multicast_frames
from tests.unit.openflow.shell import Shell
from tests.vswitchd.stp.neighbour import DESIGNATED, PROPOSAL, rst

PORTS = range(1, 9)
MEMBERS = (6, 7, 8)
"""Ports that may be members of the aggregation."""
LAG = "bond"
VIDS = (10, 20, 30)
VLANS = (
    TRANSPARENT,
    access(10),
    access(20),
    trunk(),
    trunk(frozenset({10, 30}), 20),
    trunk(frozenset({10, 20}), 10, native_tagged=True),
)
POLICIES = (
    PortPolicy(),
    PortPolicy(isolated=True),
    PortPolicy(community=3),
    PortPolicy(rate_in=1000, qos_trust="none", priority=5),
    PortPolicy(rate_out=1000, qos_trust="dscp", priority=3),
    PortPolicy(rate_out=2000, hairpin=True, qos_trust="pcp"),
    PortPolicy(storm=Storm(unknown_unicast=50)),
    PortPolicy(storm=Storm(10, 20, 30)),
    PortPolicy(locked=True),
    PortPolicy(sticky=True),
    PortPolicy(learning=False),
    PortPolicy(hairpin=True),
    PortPolicy(mcast_flood=False),
    PortPolicy(bcast_flood=False, flood=False),
    PortPolicy(over_limit="drop"),
    PortPolicy(shutdown=True),
    PortPolicy(monitor=True),
    PortPolicy(acl="web"),
    PortPolicy(acl="states"),
)
GUARDS = (
    first_hop.PortParams(),
    first_hop.PortParams(source_guard="mac"),
    first_hop.PortParams("ip", True, True, False, False),
    first_hop.PortParams(router=False),
    first_hop.PortParams(ethertypes="ip"),
    first_hop.PortParams("ip", ethertypes="ip,0x88b5"),
)
TREES = (
    stp.PortParams(),
    stp.PortParams(admin_edge=True),
    stp.PortParams(enabled=False),
    stp.PortParams(auto_edge=False),
    stp.PortParams(bpdu_filter=True),
)
LAGS: tuple[dict[str, LagParams], ...] = (
    {},
    {LAG: LagParams(("p6", "p7"), lacp="off")},
    {LAG: LagParams(("p6", "p7", "p8"), lacp="off", hash="layer2")},
    {LAG: LagParams(("p7", "p8"), lacp="off", min_links=2)},
    {LAG: LagParams(("p6", "p7"), fallback=True)},
    {LAG: LagParams(("p6", "p8"))},
)
CONTROLLED = (
    PortAccessPort(),
    PortAccessPort("mab"),
    PortAccessPort("mab", "multi"),
    PortAccessPort("mab", "multi_auth", 3, auth_fail_vlan=30),
    PortAccessPort("dot1x_mab", "multi_auth", 3, tx_period=1, critical_vlan=30),
)
ANSWERS = (
    Answer("accept"),
    Answer("accept", vlan="20"),
    Answer("accept", timeout=5),
    Answer("accept", egress=(Egress(True, "30"),), filters=("web",), up=5_000_000),
    Answer("accept", down=7_000_000),
    Answer("accept", up=100_000, down=200_000),
    Answer("accept", vlan="20", filters=("states",)),
    Answer("reject"),
    Answer("silent"),
)
GROUPS = ("239.1.1.1", "239.1.1.2", "ff0e::1")
MACS = range(0x020000000001, 0x02000000000A)
_LIMITS = {
    0: VlanPolicy(2, "drop", arp_suppress=True, nd_suppress=True),
    10: VlanPolicy(1, "drop", True, True),
}
LISTS = {
    "web": (AclRule("limited", rate=5), AclRule("copied", mirror="p5", allow=False)),
    "states": (AclRule("known", ((STATES["established"],), (STATES["related"],)), mirror="p5"),),
}


class History:
    """One bridge, its switch, and what has been done, for the message of a failure."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.done: list[str] = []
        self.now = 100.0
        self.lags = random.random() < 1 / 3
        self.vlans = random.random() < 1 / 2
        flow: Any = SimpleNamespace(is_open=True)
        tree = stp.BridgeParams() if random.random() < 0.7 else None
        snooping = multicast.Params() if random.random() < 0.5 else None
        policies = random.choice((Policies(acls=LISTS), Policies(vlans=_LIMITS, acls=LISTS)))
        params = BridgeParams(
            stp=tree, multicast=snooping, policies=policies, port_access=PortAccessBridge()
        )
        self.bridge = Bridge(1, params)
        self.shell = Shell(self.bridge, metered=random.random() < 0.7)
        self.queue = DeliveryQueue(self.bridge, flow)
        there = [number for number in PORTS if random.random() < 0.8]
        ports = [_port(number, random.random() < 0.8) for number in (LOCAL_PORT, *there)]
        self.bridge.set_ports(ports, self.now)
        self.shell.program()
        self.queue.open()
        self.apply(self.bridge.go_on(self.now))
        self.settle()

    # Effects

    def apply(self, effects: list[Effect]) -> None:
        kept = [each for each in effects if type(each) not in NOTICES and each != LookAgain()]
        self._deliver(self.queue.put(kept))

    def _deliver(self, batch: Batch | None) -> None:
        if batch is not None:
            self.shell.send(batch.effects, ahead=self.queue.waits)

    def confirm(self) -> None:
        """The switch answers one barrier, if it is asked."""
        self._deliver(self.queue.done(State.BARRIER))

    def settle(self) -> None:
        """The switch answers all barriers, and holds what the bridge wants then."""
        while self.queue.waits:
            self.confirm()
        self.shell.compare()

    # Changes

    def step(self) -> None:
        """One change; the switch may answer at once, or later."""
        name, change = self.random.choice(self._changes())
        self.done.append(name)
        try:
            self.apply(change())
        except InputError as error:
            self.done[-1] += f" ({error})"
        if self.random.random() < 0.7:
            self.settle()

    def _changes(self) -> list[tuple[str, Callable[[], list[Effect]]]]:
        changes = {
            self.link: 3,
            self.plug: 2,
            self.learn: 3,
            self.port_params: 4,
            self.bridge_params: 3,
            self.lag_params: 3 * self.lags,
            self.bpdus: 5,
            self.hold: 2,
            self.tick: 4,
            self.static: 2,
            self.bind: 2,
            self.access: 4,
            self.groups: 3,
            self.permanent: 1,
            self.flush: 1,
            self.load: 1,
            self.no_carrier: 1,
        }
        return [(each.__name__, each) for each, weight in changes.items() for _ in range(weight)]

    def _choose(self) -> int:
        return self.random.choice(PORTS)

    def _name(self) -> str:
        return self.random.choice([f"p{number}" for number in PORTS] + [LAG] * self.lags)

    def link(self) -> list[Effect]:
        """A link comes up or goes down."""
        there = self.bridge.lags.physical(self.bridge.ports)
        port = self.random.choice([*there])
        self.done[-1] += f" {port.name} {not port.up}"
        return self.bridge.put_port(replace(port, up=not port.up), self.now)

    def no_carrier(self) -> list[Effect]:
        """All links go down, or come up, at a time."""
        up = self.random.random() < 0.7
        ports = [replace(port, up=up) for port in self.bridge.lags.physical(self.bridge.ports)]
        return self.bridge.put_ports(ports, self.now)

    def plug(self) -> list[Effect]:
        """A port is removed or added, sometimes by another name."""
        number = self._choose()
        self.done[-1] += f" {number}"
        if self.bridge.port_at(number) is not None:
            return self.bridge.remove_port(number, self.now)
        return self.bridge.put_port(_port(number, self.random.random() < 0.8), self.now)

    def learn(self) -> list[Effect]:
        vids = (0, *VIDS)
        numbers = [port.number for port in self.bridge.ports]
        samples = [
            tuple(map(self.random.choice, (numbers, vids, MACS)))
            for _ in range(self.random.choice((1, 4, 20)))
        ]
        self.done[-1] += f" {len(samples)}"
        return self.bridge.learning.learn(samples, self.now)

    def port_params(self) -> list[Effect]:
        before, name = self.bridge.params, self._name()
        old = before.port(name)
        new = self.random.choice(
            (
                replace(old, vlans=self.random.choice(VLANS) if self.vlans else TRANSPARENT),
                replace(old, policy=self.random.choice(POLICIES)),
                replace(old, policy=self.random.choice(POLICIES), fdb_max_learned=1),
                replace(old, first_hop=self.random.choice(GUARDS)),
                replace(old, port_access=self.random.choice(CONTROLLED)),
                replace(old, port_access=self.random.choice(CONTROLLED)),
                replace(old, stp=self.random.choice(TREES)),
                PortParams(),
            )
        )
        self.done[-1] += f" {name} {_differing(new, PortParams())}"
        return self.set(replace(before, ports={**before.ports, name: new}))

    def bridge_params(self) -> list[Effect]:
        before, random = self.bridge.params, self.random
        mirror = Mirror("p5", *random.choice((({"p1"}, {"p2"}), (None, frozenset()))))
        policies = random.choice(
            (
                Policies(acls=LISTS),
                Policies(acls=LISTS, vlans=_LIMITS),
                Policies(acls=LISTS, mirrors=(mirror,)),
                Policies(acls=LISTS, mac_move=MoveLimit(1, 10.0, 20.0)),
            )
        )
        new = random.choice(
            (
                replace(before, policies=policies),
                replace(before, policies=policies),
                replace(before, stp=None if before.stp else stp.BridgeParams(hello_time=1)),
                replace(before, multicast=None if before.multicast else multicast.Params()),
                replace(before, lldp=None if before.lldp else lldp.BridgeParams()),
                replace(before, port_access=None if before.port_access else PortAccessBridge()),
                replace(before, loop_protect=None if before.loop_protect else LoopParams()),
                replace(before, vlans=frozenset({10, 30} if self.vlans else ())),
                replace(before, packet_in_rate=random.choice((100, 1000))),
            )
        )
        self.done[-1] += f" {_differing(new, before)}"
        return self.set(new)

    def hold(self) -> list[Effect]:
        """A protocol other than spanning tree holds a port, or frees it."""
        relay, number, holder = self.bridge.relay, self._choose(), self.random.choice("ab")
        change = relay.hold if self.random.random() < 0.5 else relay.free
        self.done[-1] += f" {change.__name__} {number} {holder}"
        return self.bridge.carry_out(change(number, holder), self.now)

    def lag_params(self) -> list[Effect]:
        lags = self.random.choice(LAGS)
        self.done[-1] += f" {lags}"
        return self.set(replace(self.bridge.params, lags=lags))

    def set(self, params: BridgeParams) -> list[Effect]:
        return self.bridge.set_params(params, self.now)

    def bpdus(self) -> list[Effect]:
        """Neighbours say which root they know."""
        flags = self.random.choice((DESIGNATED, DESIGNATED | PROPOSAL, DESIGNATED | PROPOSAL))
        frames = [
            (port, rst(flags, root=0x1000 * self.random.randrange(4), number=port))
            for port in self.random.sample([*PORTS], self.random.choice((1, 1, 2)))
        ]
        self.done[-1] += f" {[port for port, _ in frames]}"
        return self.bridge.hear("bpdu", frames, self.now)

    def tick(self) -> list[Effect]:
        """Time passes."""
        end = self.now + self.random.choice((0.1, 1.0, 4.0, 35.0))
        self.done[-1] += f" {end - self.now:.1f} s"
        while (due := self.bridge.next_wakeup()) is not None and due <= end:
            self.now = max(self.now + 1e-6, due)
            self.apply(self.bridge.tick(self.now))
        self.now = end
        return []

    def static(self) -> list[Effect]:
        entries = self.bridge.static_entries
        if entries.ports and self.random.random() < 0.5:
            return self.bridge.remove_static(*self.random.choice([*entries.ports]))
        vid, mac = self.random.choice((0, 10)), self.random.choice(MACS)
        return self.bridge.add_static(vid, mac, self._name(), self.now)

    def bind(self) -> list[Effect]:
        known = [*self.bridge.first_hop.bindings()]
        if known and self.random.random() < 0.4:
            binding = self.random.choice(known)
            return self.bridge.first_hop.remove(binding.vid, binding.address, self.now)
        number = self.random.randrange(1, 9)  # from 6 on they are shared
        address = BoundAddress.parse(f"10.0.0.{number}")
        where = self._name(), self.random.choice((0, 10)), self.random.choice(MACS)
        return self.bridge.first_hop.add(*where, address, Origin.API, self.now, number > 5)

    def access(self) -> list[Effect]:
        """A host that is not admitted sends, and the server answers, or an operator clears it."""
        controlled = [port.port for port in self.bridge.port_access.status(self.now)]
        if not controlled:
            before, name = self.bridge.params, f"p{self._choose()}"
            new = replace(before.port(name), port_access=self.random.choice(CONTROLLED[1:]))
            ports = {**before.ports, name: new}
            return self.set(replace(before, ports=ports, port_access=PortAccessBridge()))
        number = self.bridge.ports.numbers[self.random.choice(controlled)]
        mac = self.random.choice(MACS)
        if self.random.random() < 0.2:
            effects = self.bridge.port_access.clear(None, None, self.now)
            return self.bridge.carry_out(effects, self.now)
        hosts = [each for each in self.bridge.port_access.hosts(self.now) if each.granted]
        if hosts and self.random.random() < 0.3:
            host, answer = self.random.choice(hosts), self.random.choice(ANSWERS)
            self.done[-1] += f" {host.port} is changed to {answer}"
            effects = self.bridge.port_access.change(host.port, host.mac, answer, self.now)
            return self.bridge.carry_out(effects, self.now)
        head = b"\xff" * 6 + mac.to_bytes(6, "big") + b"\x08\x00"
        effects = self.bridge.hear("first_frame", [(number, head)], self.now)
        for asked in [each for each in effects if isinstance(each, AskServer)]:
            answer = self.random.choice(ANSWERS)
            self.done[-1] += f" {number} {answer.verdict} {answer.vlan}"
            more = self.bridge.port_access.answer(asked.number, answer, self.now)
            effects += self.bridge.carry_out(more, self.now)
        return effects

    def groups(self) -> list[Effect]:
        """Hosts join and leave groups; there is a querier."""
        group, port = self.random.choice(GROUPS), self._choose()
        family, vlan = 6 if ":" in group else 4, self.random.choice((None, 10))
        frame = self.random.choice(
            (
                multicast_frames.query(port, family=family, vlan=vlan),
                multicast_frames.join(port, group, vlan=vlan),
                multicast_frames.join(port, group, vlan=vlan),
                multicast_frames.leave(port, group, vlan=vlan),
            )
        )
        return self.bridge.hear("snooped", [(port, frame)], self.now)

    def permanent(self) -> list[Effect]:
        group = self.random.choice((*GROUPS, "01:00:01:00:00:01"))
        entry = PermanentEntry.parse(self.random.choice((0, 10)), group, self._name(), None, ())
        if self.random.random() < 0.5:
            return self.bridge.multicast.add_permanent(entry, self.now)
        return self.bridge.multicast.remove_permanent(entry, self.now)

    def flush(self) -> list[Effect]:
        return self.bridge.flush(self.random.choice((None, *PORTS)))

    def load(self) -> list[Effect]:
        """Many new hosts: rates of ports change."""
        self.now += 0.25
        seen = dict.fromkeys(self.random.sample([*PORTS], 3), 1000)
        return self.bridge.follow_load(Load(0.25, seen, seen, 0), None, self.now)


def _port(number: int, up: bool) -> Port:
    name = "br0" if number == LOCAL_PORT else f"p{number}"
    return Port(number, name, 0x02_00_00_00_01_00 | number & 0xFF, up, 1000)


def _differing(params: Any, other: Any) -> str:
    """The parameters that differ from others."""
    names = [each.name for each in fields(params) if not each.name.startswith("_")]
    values = {name: getattr(params, name) for name in names}
    return str({name: value for name, value in values.items() if value != getattr(other, name)})


def check(seed: int, changes: int) -> None:
    """One history; an error tells its seed and what was done last."""
    history = History(seed)
    try:
        for _ in range(changes):
            history.step()
        history.settle()
    except Exception as error:
        done = "\n".join(history.done[-8:])
        text = f"history {seed}, after {len(history.done)} changes: {error}\n{done}"
        raise AssertionError(text) from error
