"""Reconciling a switch with its bridge, on connection and periodically.

The switch is asked for all it has of ours, and what differs is put right.  It is never wiped, so
a controller that restarts costs no frame, and what is deleted by hand comes back.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.fabric import DesiredFabric
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import PortState
from ofapp.common import hub
from ofapp.common.portions import Portions
from ofapp.openflow.model.cookie import GENERATION, Feature, parse_cookie, serial_ports
from ofapp.openflow.model.flow import Group, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.admission import TAKEOVER
from ofapp.openflow.pipeline.chain import ports_of
from ofapp.openflow.pipeline.entries import GroupNumbers, Key
from ofapp.openflow.switch.audit.comparison import (
    flow_changes,
    put_groups_and_meters,
    subjects,
    superfluous,
)
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.counters.drops import Counters
from ofapp.openflow.switch.port_status import arrive
from ofapp.openflow.switch.program import difference, program
from ofapp.openflow.switch.queue.delivery import State
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.messages.flow_stats import (
    FlowStats,
    read_entry,
    read_flow_stats,
    read_half,
)
from ofapp.openflow.wire.messages.oxm import read_address_match
from ofapp.openflow.wire.messages.portdesc import ask_ports
from ofapp.openflow.wire.questions import (
    ask_groups,
    ask_meters,
    fixed_requests,
    has_meters,
    is_foreign,
)
from ofapp.openflow.wire.requests import RequestError, bodies

LOG = logging.getLogger(__name__)

AGAIN = (0.02, 0.1, 0.5, 2.0)
"""Seconds until a switch whose bridge has changed meanwhile is compared again."""
MOST_LATE = 512
"""Changes while a switch is compared with its bridge, beyond which it is compared again: they
are sorted out in one go."""


class OvertakenError(RequestError):
    """A switch's answer is outdated already."""


def prepare(switch: ConnectedSwitch) -> None:
    """Ask a switch for what must be known first, such as meters."""
    switch.installed.forget()
    try:
        switch.installed.metered = has_meters(switch.channel)
    except RequestError as error:
        LOG.info("bridge %s has no meters: %s", switch.bridge.name, error)
        switch.installed.metered = False


class Reconciler:
    """Keeps one switch in sync with its bridge, but for learned addresses (see `sweeper`).

    counters: gets what the flows have counted.
    """

    def __init__(self, switch: ConnectedSwitch, counters: Counters) -> None:
        self._channel = switch.channel
        self._bridge = switch.bridge
        self._installed = switch.installed
        self._queue = switch.queue
        self._apply = switch.apply
        self._counters = counters

    def reconcile(self, adopt_static: bool) -> bool:
        """Ask for all but the learned addresses, and put right what differs.

        adopt_static: take the bridge's static entries, which no other place has, from the switch.
        Gives whether the switch had anything of ours before; effects may be sent then
        (`DeliveryQueue.open`).  RequestError, ValueError.

        It is asked once more when other changes were sent meanwhile, or wait for its barrier
        reply: to take what it had then for what it has would leave ports open for good whose
        closing was under way, and open others too early.
        """
        for pause in AGAIN:
            try:
                return self._reconcile(adopt_static)
            except OvertakenError:
                hub.sleep(pause)
        return self._reconcile(adopt_static)

    def _reconcile(self, adopt_static: bool) -> bool:
        """`reconcile`, once.  Raises OvertakenError."""
        first = self._queue.state is State.CLOSED
        believed = self._bridge.stp.states() if first else None
        ask_ports(self._channel, self._take_ports)
        before = self._installed.program.copy()
        requests = fixed_requests(self._channel, thorough=first)
        answers = bodies(self._channel, *requests)
        every = [flow for body in answers for flow in read_flow_stats(body)]
        self._installed.foreign = sum(is_foreign(flow) for flow in every)
        flows = [flow for flow in every if flow.cookie and flow.table != TableId.OWNER]
        empty = all((flow.table, flow.priority) == TAKEOVER for flow in flows)
        groups = ask_groups(self._channel)
        meters = ask_meters(self._channel) if self._installed.metered else {}
        self._apply(self._counters.take_flows(flows))
        waits = self._queue.waits or self._queue.ahead
        changed = waits or self._installed.program != before
        if changed and not first:
            raise OvertakenError("the bridge changes faster than its switch can be compared")
        if believed is not None and not self._bridge.stp.settled_on(
            believed, port_states(flows, believed)
        ):
            LOG.info("bridge %s: spanning tree starts again", self._bridge.name)
            for effects in self._bridge.restart_stp(empty, time.monotonic):
                self._apply(effects)
                self._rest()
        if adopt_static:
            adopt_static_entries(self._bridge, flows, self._apply)
        if first:
            entries = dict(filter(None, map(read_entry, flows)))
            self._installed.entries = GroupNumbers(entries)
            adopt_groups(self._bridge, entries, ports_of(groups), self._apply)
            adopt_held(self._bridge, flows, self._apply)
        self._bridge.ports.complete = True
        with self._queue.held():
            changes = self._send(flows, groups, meters)
        if not first:
            self._bridge.addresses.count("mended", changes)
        return not empty

    def _send(
        self, flows: list[FlowStats], groups: Mapping[int, Group], meters: Mapping[int, Meter]
    ) -> int:
        """Send what differs from the flows, groups and meters that there are: what is superfluous
        last, once no flow points there.  Gives how many flows.  Raises OvertakenError.

        The comparison takes a while, in portions.  What is sent to the switch meanwhile is newer
        than what is found, and stays.
        """
        installed, before = self._installed, self._installed.program.copy()
        kept = installed.kept
        portions = Portions(self._rest)
        desired = self._bridge.desired_as_of_now()(portions)
        installed.removed = 0
        numbers = installed.entries.of_all(desired.entries)
        wanted = program(desired, installed.metered, numbers, portions)
        puts = put_groups_and_meters(wanted, groups, meters, portions)
        fabric: DesiredFabric | None = desired.protocols.get("fabric")
        changes = flow_changes(wanted.all_flows(), flows, portions, fabric)
        changes |= superfluous(wanted, groups, meters)
        late = difference(before, installed.program)
        if len(late) > MOST_LATE:
            raise OvertakenError(
                "the bridge changes faster than it can be compared with its switch"
            )
        for key in subjects(late):
            puts.pop(key, None)
            changes.pop(key, None)
        wanted.take_in(before, installed.program, late)
        fragments = installed.read_fragments(desired.port_policies.checked)
        self._channel.send(b"".join([fragments, *puts.values(), *changes.values()]))
        installed.holds(wanted)
        if fabric is not None and installed.kept == kept:
            installed.kept = fabric.content.kept
        return len(changes)

    def _take_ports(self, ports: list[Port]) -> None:
        arrive(self._bridge, ports, self._apply, self._rest)

    def _rest(self) -> bool:
        self._channel.turn()
        return not self._channel.dead


Apply = Callable[[list[Effect]], None]
"""Carries effects out."""


def adopt_static_entries(bridge: SwitchBridge, flows: Iterable[FlowStats], apply: Apply) -> None:
    """Take the bridge's static entries, which no other place has, from the switch's flows."""
    for flow in flows:
        cookie, half = parse_cookie(flow.cookie), read_half(flow)
        if cookie is None or cookie.feature != Feature.STATIC or half is None:
            continue
        port = bridge.ports.get(half.port)
        if flow.table == TableId.DESTINATION and port is not None:
            now = time.monotonic()
            apply(bridge.add_static(half.vid, half.destination, port.name, now))


def adopt_held(bridge: SwitchBridge, flows: Iterable[FlowStats], apply: Apply) -> None:
    """Keep the addresses that a switch holds down so for the rest of their time."""
    now = time.monotonic()
    for flow in flows:
        cookie = parse_cookie(flow.cookie)
        if cookie is None or (cookie.feature, cookie.generation) != (Feature.HELD, GENERATION):
            continue
        ports, about = serial_ports(cookie.serial), read_address_match(flow.match)
        if about is not None and None not in map(bridge.ports.get, ports):
            apply(bridge.addresses.adopt_held(about.vid, about.source, ports, flow.age, now))


def adopt_groups(
    bridge: SwitchBridge,
    entries: Mapping[Key, int],
    ports: Mapping[int, frozenset[int]],
    apply: Apply,
) -> None:
    """Take the multicast entries from before this controller started from the switch.

    entries: the OpenFlow group of each; ports: those of each group.
    """
    groups, unregistered = [], []
    for key, number in entries.items():
        there = ports.get(number, frozenset())
        if key.group is not None:
            groups.append(SetGroup(key.vid, key.group, key.source, there))
        elif key.family is not None:
            unregistered.append(SetUnregistered(key.vid, key.family, there))
    apply(bridge.multicast.restore_entries(groups, unregistered, time.monotonic()))


def port_states(flows: Iterable[FlowStats], ports: Iterable[int]) -> dict[int, PortState]:
    """The port states that the ports' flows implement."""
    states = dict.fromkeys(ports, PortState.DISCARDING)
    for flow in flows:
        cookie = parse_cookie(flow.cookie)
        if cookie is None or (flow.table, flow.priority) != (TableId.ADMISSION, 100):
            continue
        port = int.from_bytes(flow.match[4:8], "big")
        if port in states and len(flow.match) == 8:
            forwards = cookie.feature == Feature.PORT
            states[port] = PortState.FORWARDING if forwards else PortState.LEARNING
    return states
