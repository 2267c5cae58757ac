"""The parts of a bridge and its queries: nothing here changes anything.

Other packages use these, or `answers`, `addresses` and `stp`, and never the other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ofapp.bridge import stp
from ofapp.bridge.commons import Commons
from ofapp.bridge.desired import Asked, Desired, DesiredPort
from ofapp.bridge.effects import PutStatic
from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.fdb.ip_addresses import IpAddresses
from ofapp.bridge.fdb.learned_addresses import LearnedAddresses
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.fdb.rates import Rates
from ofapp.bridge.fdb.static_entries import StaticEntries
from ofapp.bridge.lag.aggregations import Aggregations
from ofapp.bridge.lldp import Agents, AgentStatus
from ofapp.bridge.mac import MAC_MASK
from ofapp.bridge.multicast import Snapshot
from ofapp.bridge.multicast.on_bridge import BridgeSnooping
from ofapp.bridge.multicast.permanent_entries import PermanentEntries
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.flooding import Flooding
from ofapp.bridge.ports.policies import PortPolicies
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortTable
from ofapp.bridge.ports.relay import Relay
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.control import StpControl
from ofapp.bridge.stp.on_bridge import BridgeSpanningTree
from ofapp.common.portions import AT_ONCE, Portions


class BridgeQueries:
    """The parts of the bridge on one datapath, and its answers.

    lags: its aggregations, whose members are no ports of the bridge.
    port_policies: which port may reach which, by the parameters and the present ports.
    stp: its spanning tree; snooping: its multicast snooping, None where it is off.  Both begin
    with the first port, when the bridge's address is known.
    addresses: its learned addresses, for the code that programs its switch.
    ip_addresses: the last IP addresses of its hosts.
    rates: how many sightings a second its ports may send.
    lldp: the agents of the switch's ports, none where it is off.
    former_name: its name, while another bridge uses that name.
    """

    def __init__(
        self, datapath_id: int, params: BridgeParams, commons: Commons | None = None
    ) -> None:
        """commons: shared with the other bridges of the same controller."""
        commons = commons or Commons()
        self.datapath_id = datapath_id
        self.params = params
        self.lags = Aggregations(params.lags, datapath_id & MAC_MASK)
        self.ports = PortTable(commons.room)
        self.port_policies = PortPolicies(params, self.ports)
        self.fdb = Fdb()
        self.ip_addresses = IpAddresses(self.fdb)
        self.learning = Learning(self.fdb, params)
        self.addresses = LearnedAddresses(self.learning)
        self.relay = Relay(self.learning)
        self.static_entries = StaticEntries(self.learning, self.ports)
        self.flooding = Flooding()
        self.stp = StpControl(self.relay, commons.trees)
        self.snooping: BridgeSnooping | None = None
        self.permanent_entries = PermanentEntries()
        self.rates = Rates()
        self.lldp = Agents(commons.agents)
        self.former_name: str | None = None

    @property
    def name(self) -> str:
        """The bridge's name as the switch's host knows it, that of its LOCAL port; else its id."""
        local = self.ports.get(LOCAL_PORT)
        if local is None or self.former_name is not None:
            return f"{self.datapath_id:016x}"
        return local.name

    @property
    def address(self) -> int:
        """The bridge's own address."""
        local = self.ports.get(LOCAL_PORT)
        return local.mac if local else self.datapath_id

    @property
    def spanning_tree(self) -> BridgeSpanningTree | None:
        """The spanning tree that runs."""
        return self.stp.running

    # Ports and what its switch should hold

    def not_among(self, ports: Iterable[Port]) -> list[int]:
        """The numbers of the ports that are not in such a list.

        A number with another name is another port: switches renumber ports when they restart.
        """
        names = {port.number: port.name for port in ports}
        there = self.lags.physical(self.ports)
        return [old.number for old in there if names.get(old.number) != old.name]

    def port_at(self, number: int) -> Port | None:
        """The port that has a number: one of the bridge's own, or a member of an aggregation."""
        return self.ports.get(number) or self.lags.member(number)

    def desired(self, params: BridgeParams | None = None) -> Desired:
        """The desired state; params: as if these were set, without the reactions of protocols."""
        return Asked(self, params).whole()

    def desired_as_of_now(
        self, params: BridgeParams | None = None
    ) -> Callable[[Portions], Desired]:
        """The same, computed later: see `Asked.as_of_now`."""
        return Asked(self, params).as_of_now()

    def desired_port(self, number: int, state: PortState | None = None) -> DesiredPort:
        """The part of one port, in its own state or in this one."""
        return Asked(self).port(number, state or self.relay.states.get(number))

    def active_ports(self) -> list[int]:
        """The numbers of those that are up and take part."""
        return list(self.relay.states)

    def trapping(self) -> Iterator[tuple[int, float]]:
        """The ports whose BPDUs go to the spanning tree, and its hello time in seconds."""
        return Asked(self).trapping()

    def static_on(self, port: int) -> list[PutStatic]:
        """The only addresses that may send on a locked port; none for other ports."""
        return self.static_entries.on(port) if self.port_policies.policy(port).locked else []

    def sighting_rate(self, port: int) -> int:
        """Frames of unknown sources a second that a port may send to the controller now."""
        return self.rates.of(port, self.params.packet_in_rate)

    @property
    def has_raised_rates(self) -> bool:
        """Whether some port has more than its guaranteed rate."""
        return bool(self.rates.raised)

    # Protocols

    def traps(self, port: int) -> bool:
        """Whether BPDUs that arrive on the port go to the spanning tree."""
        return self.spanning_tree is not None and self.spanning_tree.traps(port)

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        return self.spanning_tree is None or self.spanning_tree.is_edge(port)

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        running = [self.spanning_tree, self.snooping]
        due = [protocol.next_wakeup() for protocol in running if protocol is not None]
        due += [part.next_wakeup() for part in (self.learning, self.lags, self.lldp)]
        return min((instant for instant in due if instant is not None), default=None)

    def stp_status(self, now: float, ports: Iterable[int] | None = None) -> stp.BridgeStatus | None:
        """The state of the spanning tree, and of those of `ports` that are in it, or of all; None
        for a bridge that runs none."""
        tree = self.spanning_tree
        if tree is None:
            return None
        return tree.status(now, ports and [port for port in ports if port in tree.ports])

    def stp_guarded(self) -> dict[int, tuple[stp.Guard, ...]]:
        """The ports that guards of spanning tree hold, and which; none for a bridge without it."""
        return {} if self.spanning_tree is None else self.spanning_tree.guarded()

    def stp_around(self) -> stp.Around | None:
        """The neighbours of the spanning tree by port; None for a bridge without one."""
        return None if self.spanning_tree is None else self.spanning_tree.around()

    def dump_stp(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The spanning tree as JSON-serialisable data; None for a bridge that runs none."""
        return None if self.spanning_tree is None else self.spanning_tree.dump(portions)

    def lldp_status(self, now: float) -> tuple[AgentStatus, ...]:
        """The state of LLDP on each port of the switch where it runs."""
        return self.lldp.status(now)

    @property
    def snoops(self) -> bool:
        """Whether multicast is snooped."""
        return self.snooping is not None

    def multicast_snapshot(self, now: float) -> Snapshot | None:
        """The state of multicast snooping; None for a bridge that does not snoop."""
        return None if self.snooping is None else self.snooping.snapshot(now)
