"""A laboratory: a network that a student draws and changes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.packet.address import is_snooped, parse
from ofapp.bridge.ports.events import PORT_ADDED
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.queries import port_states
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import OwnTrees, PortState
from ofapp.bridge.stp.status import BridgeStatus
from ofapp.bridge.twin.cable import Cable, SwitchPort, cable
from ofapp.bridge.twin.network import Change
from ofapp.lab.network import BROADCAST, HOSTS, LabNetwork, ipv4, mac_of, plain
from ofapp.lab.settings import Settings

PORTS = 8
"""Ports of a bridge."""

MOST_NODES = 24
"""Most bridges and hosts."""

PORTIONS = 400
"""Most portions of events of one call of `advance`; what is left follows in the next."""

LOG = 200
"""Lines of the log."""


class Laboratory:
    """Bridges s1, s2 ..., hosts h1, h2 ..., and cables.

    network: how they run.  log: what has happened, as (second, text).
    acted: when a student changed something last; changes: changes of port states since then.
    """

    def __init__(self) -> None:
        self.network = LabNetwork()
        self.settings: dict[int, Settings] = {}
        self.unplugged: set[Cable] = set()
        self.log: list[tuple[float, str]] = []
        self.acted = 0.0
        self.changes: list[Change] = []

    # Names

    def number(self, name: str) -> int:
        """The id of a bridge or host.  Raises InputError."""
        number = int(name[1:]) + (HOSTS if name[0] == "h" else 0) if name[1:].isdigit() else 0
        if number not in self.settings and number not in self.hosts:
            raise InputError("name", f"there is no bridge or host {name}")
        return number

    @staticmethod
    def name(number: int) -> str:
        """The name of a bridge or host."""
        return f"h{number - HOSTS}" if number >= HOSTS else f"s{number}"

    def mac(self, host: str) -> int:
        """The MAC address of a host.  Raises InputError."""
        return mac_of(self.number(host))

    @property
    def hosts(self) -> list[int]:
        """The ids of all hosts."""
        return [*self.network.groups]

    # What a student does

    def add_bridge(self, settings: Settings | None = None) -> str:
        """Add a bridge without cables; gives its name.  Raises InputError."""
        settings, number = settings or Settings(), self._free(self.settings, 0)
        bridge = Bridge(number, settings.params, SharedState(OwnTrees()))
        address = 0x0200_0000_0000 + (number << 8)
        ports = [Port(LOCAL_PORT, f"s{number}", address, up=True)]
        ports += [Port(n, f"eth{n}", address + n, False, 1000) for n in range(1, PORTS + 1)]
        self.settings[number] = settings
        now = self.network.now
        effects = bridge.set_ports(ports, now)
        self.network.add(bridge, [*effects, *bridge.go_on(now)])
        return self.name(number)

    def add_host(self, bridge: str, vid: int = 0) -> str:
        """Add a host at a free port of a bridge, in a VLAN; gives its name.  Raises InputError."""
        at = self._free_port(bridge)
        number = self._free(self.network.groups, HOSTS)
        others = self.settings[at.datapath_id].vlans.items()
        vlans = {port: each for port, each in others if port != f"eth{at.port}"}
        self.configure(bridge, "vlans", vlans | ({f"eth{at.port}": vid} if vid else {}))
        self.network.groups[number] = set()
        self._plug(cable(at, SwitchPort(number, 1)))
        return self.name(number)

    def connect(self, a: str, b: str) -> None:
        """Connect two bridges by a cable between free ports.  Raises InputError."""
        if a == b:
            raise InputError("cable", "a cable has its ends at two bridges")
        self._plug(cable(self._free_port(a), self._free_port(b)))

    def aggregate(self, a: str, b: str) -> None:
        """Make one aggregation of all cables between two bridges.  Raises InputError."""
        bridges = {self.number(a), self.number(b)}
        cables = [
            each
            for each in sorted(self.network.cables | self.unplugged)
            if {each.a.datapath_id, each.b.datapath_id} == bridges
        ]
        if len(cables) < 2:
            raise InputError("cable", f"there are no two cables between {a} and {b}")
        for number in bridges:
            ends = [end.port for each in cables for end in each if end.datapath_id == number]
            self.configure(self.name(number), "lacp", tuple(f"eth{port}" for port in ends))

    def cut(self, bridge: str, port: str) -> None:
        """Cut the cable at a port of a bridge.  Raises InputError."""
        found = self._cable(self.network.cables, bridge, port)
        self.act()
        self.unplugged.add(found)
        self.network.disconnect(found)

    def plug(self, bridge: str, port: str) -> None:
        """Plug a cable in again that was cut.  Raises InputError."""
        found = self._cable(self.unplugged, bridge, port)
        self.unplugged.discard(found)
        self._plug(found)

    def remove(self, name: str) -> None:
        """Take a bridge or a host away with its cables.  Raises InputError."""
        number = self.number(name)
        self.act()
        for each in [*self.network.cables]:
            if number in (each.a.datapath_id, each.b.datapath_id):
                self.network.disconnect(each)
        self.unplugged = {each for each in self.unplugged if number not in (each.a[0], each.b[0])}
        if number in self.settings:
            self.network.remove(number)
            del self.settings[number]
        else:
            del self.network.groups[number]

    def configure(self, bridge: str, setting: str, value: Any) -> None:
        """Change a setting of a bridge.  Raises InputError."""
        number = self.number(bridge)
        changed = replace(self.settings[number], **{setting: value})
        try:
            params = changed.params
        except ValueError as error:
            raise InputError(setting, str(error)) from error
        self.act()
        self.settings[number] = changed
        self.network.set_params(number, params)

    def send(self, host: str, to: str) -> None:
        """Send a frame of a host: to a host, to `all`, or to an IPv4 group.  Raises InputError."""
        number = self.number(host)
        if to == "all":
            frame = plain(number, BROADCAST)
        elif to[0] == "h":
            frame = plain(number, self.mac(to))
        else:
            frame = ipv4(number, _group(to))
        self.network.received.clear()
        self.network.send(number, frame)

    def join(self, host: str, group: str) -> None:
        """Let a host become a member of an IPv4 group.  Raises InputError."""
        self.network.join(self.number(host), _group(group))

    def act(self) -> None:
        """Note that a student changes the network now."""
        self.acted = self.network.now
        self.changes.clear()

    # Time

    def advance(self, seconds: float) -> None:
        """Let time pass; less of it if very much happens."""
        run = self.network.run(self.network.now + seconds)
        for portion, _ in enumerate(run):
            self._collect()
            if portion == PORTIONS:
                break
        self._collect()

    def step(self) -> None:
        """Let time pass until a frame leaves or arrives, or something is logged."""
        before = self._moment()
        end = self.network.now + 60
        while (due := self.network.next_event) is not None and due <= end:
            self.advance(max(0.0, due - self.network.now))
            if self._moment() != before:
                return

    def _moment(self) -> tuple[object, ...]:
        return (*self.network.under_way,), self.log[-1:]

    def _collect(self) -> None:
        network = self.network
        self.changes += network.changes
        for at, datapath_id, event in network.events:
            if event.of is PORT_ADDED:
                continue  # all ports of a bridge at once
            bridge = network.bridges.get(datapath_id)
            said = event.worded(bridge.ports.get) if bridge else event
            self.log.append((at, f"{self.name(datapath_id)}: {said.message}"))
        network.changes.clear()
        network.flushed.clear()
        network.events.clear()
        del self.log[:-LOG]

    # What is there

    def port_states(self, name: str) -> dict[str, PortState]:
        """The states of a bridge's ports that are up, by their names."""
        bridge = self.network.bridges[self.number(name)]
        names = {port.number: port.name for port in bridge.ports if port.number != LOCAL_PORT}
        states = port_states(bridge).items()
        return {names[number]: state for number, state in states if number in names}

    def tree(self, number: int) -> BridgeStatus | None:
        """The spanning tree of a bridge, None where it is off."""
        return self.network.bridges[number].stp.status(self.network.now)

    def root(self) -> str | None:
        """The bridge that all bridges with spanning tree take for the root; None: they differ."""
        trees = {number: tree for number in self.settings if (tree := self.tree(number))}
        roots = {tree.root for tree in trees.values()}
        mine = {tree.bridge_id: self.name(number) for number, tree in trees.items()}
        return mine.get(roots.pop()) if len(roots) == 1 else None

    def received(self, host: str, source: str) -> int:
        """How many frames of `source` have come to a host since one was sent last."""
        ends = self.number(host), self.mac(source)
        found = self.network.received.items()
        return sum(times for each, times in found if (each.host, each.source) == ends)

    # Details

    def _free(self, used: Mapping[int, object], start: int) -> int:
        if len(self.settings) + len(self.network.groups) >= MOST_NODES:
            raise InputError("name", f"a laboratory has at most {MOST_NODES} bridges and hosts")
        return next(n for n in range(start + 1, start + MOST_NODES + 1) if n not in used)

    def _free_port(self, bridge: str) -> SwitchPort:
        number = self.number(bridge)
        if number not in self.settings:
            raise InputError("cable", f"{bridge} is no bridge")
        used = {end for each in self.network.cables | self.unplugged for end in each}
        ports = (SwitchPort(number, n) for n in range(1, PORTS + 1))
        free = next((port for port in ports if port not in used), None)
        if free is None:
            raise InputError("cable", f"all {PORTS} ports of {bridge} have a cable")
        return free

    def _plug(self, new: Cable) -> None:
        self.act()
        self.network.connect(new)
        self.network.set_links(new, up=True)

    def _cable(self, among: Set[Cable], bridge: str, port: str) -> Cable:
        ends = ((each, end) for each in among for end in each)
        number = self.number(bridge)
        found = next((each for each, end in ends if end == (number, _port(port))), None)
        if found is None:
            raise InputError("cable", f"there is no such cable at {bridge} {port}")
        return found


def _port(name: str) -> int:
    digits = name.removeprefix("eth")
    return int(digits) if digits.isdigit() else 0


def _group(text: str) -> bytes:
    try:
        group = parse(text)
    except ValueError:
        group = b""
    if len(group) != 4 or not is_snooped(group):
        raise InputError("group", f"{text} is no group that snooping restricts; 239.1.1.1 is one")
    return group
