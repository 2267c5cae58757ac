"""The flows of each thing a bridge has: what the tables have for it, put together and checked.

A port, an address that does not move, a learned address and a multicast entry each have a function
here.  No flow leaves this package otherwise, so that each flow is one of the declared rules.

A controller has a thousand switches, and what they hold is mostly the same: flows of equal ports
are made once, and are the same objects for all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.effects import HoldDown, PutStatic
from ofapp.bridge.effects.content import BoundHost, DesiredLag
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.flow import Action, Flow, Output, in_port
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.trap import Trap, TrapPort
from ofapp.openflow.model.traps import LACP, PROBE, TRAPS, lacp_places, probe_places
from ofapp.openflow.pipeline import answer, destination, guard, multicast, source
from ofapp.openflow.pipeline import lag as lags
from ofapp.openflow.pipeline.entries import Key
from ofapp.openflow.pipeline.fabric import crossing, forwarding
from ofapp.openflow.pipeline.meters import to_controller
from ofapp.openflow.pipeline.table import Ingress
from ofapp.openflow.pipeline.tables import PIPELINE, check


def base_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    """The flows that depend on parameters and present ports alone, innermost first.

    metered: the switch has meters.
    """
    for table in reversed(PIPELINE):
        yield from _checked(table.flows(desired, metered))


def port_flows(port: DesiredPort, metered: bool) -> tuple[Flow, ...]:
    """An up port's flows, the innermost table first."""
    return tuple(_checked(_port_flows(port, metered)))


@lru_cache(1 << 13)
def trap_flow(trap: Trap, place: TrapPort, metered: bool) -> Flow:
    """The flow that sends a port's frames of one kind to the controller."""
    rule = trap.rule
    assert rule is not None
    return _check(
        Flow(
            rule.table,
            rule.priority,
            (in_port(place.port), *rule.match, *place.match),
            trap.feature,
            (to_controller(place.port, trap, metered),),
            place.goto,
            serial=place.serial,
            hard_timeout=place.seconds,
        )
    )


def lag_flows(lag: DesiredLag, metered: bool) -> Iterator[Flow]:
    """The flows of an aggregation that belong to no port."""
    yield from _checked(lags.lag_flows(lag))
    yield from (trap_flow(LACP, place, metered) for place in lacp_places(lag))


def fabric_flows(fabric: DesiredFabric, metered: bool) -> tuple[Flow, ...]:
    """The flows of a fabric that belong to no port and no version.

    The one by which frames enter is the last.
    """
    used = Content({}, frozenset(), fabric.content.use)
    return _fabric_flows(replace(fabric, content=used, shared={}), metered)


@lru_cache(1 << 10)
def _fabric_flows(fabric: DesiredFabric, metered: bool) -> tuple[Flow, ...]:
    """Made once: each change of plan asks for them three times."""
    probes = (trap_flow(PROBE, place, metered) for place in probe_places(fabric))
    return (*probes, *_checked(forwarding.fabric_flows(fabric)))


def version_flows(version: forwarding.Version) -> Iterator[Flow]:
    """The flows of a version of a fabric's plan in a member."""
    return (version_flow(kind, to, version.number) for kind, to in version.flows())


def version_flow(kind: forwarding.Unicast | forwarding.Tree, to: int, version: int) -> Flow:
    """One of these flows.  to: the outer destination that it matches."""
    return _check(kind.flow(to, version))


def shared_flows(lag: int, members: Iterable[int]) -> Iterator[Flow]:
    """The flows that keep frames out of an aggregation that has ports at other members, too."""
    return _checked(crossing.shared_flows(lag, members))


def remote_flow(vid: int, mac: int, member: int, ageing_time: int) -> Flow:
    """The flow for a host at another member of a fabric; 0: it never ages."""
    return _check(crossing.remote_flow(vid, mac, member, ageing_time))


def hold_flow(hold: HoldDown) -> Flow:
    """The flow that holds an address down."""
    return _check(source.hold_flow(hold))


def entry_flow(key: Key, group: int) -> Flow:
    """The flow that leads a multicast entry's frames to its OpenFlow group."""
    return _check(multicast.entry_flow(key, group))


def static_flows(policies: PortPolicies, static: PutStatic) -> Iterator[Flow]:
    """A static or local address's flows; without a port there is nowhere to send to.

    A locked port admits the address in every state of the port.
    """
    return _checked(_static_flows(policies, static))


@lru_cache(1 << 14)
def bound_flows(host: BoundHost) -> tuple[Flow, ...]:
    """The flows that let a host use its addresses; none for a host without any."""
    return tuple(_checked(guard.bound_flows(host)))


def known_flows(policies: PortPolicies, host: BoundHost) -> Iterator[Flow]:
    """The flows that know a host as the target of ARP requests."""
    return _checked(answer.answer_flows(policies, host))


def learned_flows(
    port: int,
    vid: int,
    mac: int,
    serial: int,
    ageing_time: int | None,
    out: tuple[Action, ...] = (),
) -> tuple[Flow, Flow]:
    """A learned address: destination half, source half.

    ageing_time: seconds, 0 for never, None for a sticky address; out: what sends a frame there.

    In that order on the wire: a source half alone would end the host's packet-ins, and so the
    chance to put the destination half right.
    """
    to = out or (Output(port),)
    sticky = ageing_time is None
    return (
        _check(destination.learned_destination(vid, mac, serial, sticky, to)),
        _check(source.learned_source(port, vid, mac, serial, ageing_time)),
    )


def _port_flows(port: DesiredPort, metered: bool) -> Iterator[Flow]:
    for trap in TRAPS:
        place = trap.of_port and trap.of_port(port)
        if place and trap.rule is not None:
            yield trap_flow(trap, place, metered)
    if port.state in (None, PortState.DISCARDING):
        return
    onward = TableId.SOURCE.value
    for table in reversed(PIPELINE):
        if table.passes is None:
            yield from table.port_flows(Ingress(port, metered, onward))
        elif table.passes(port, metered):
            yield from table.port_flows(Ingress(port, metered, onward))
            onward = table.id


def _static_flows(policies: PortPolicies, static: PutStatic) -> Iterator[Flow]:
    if static.port is not None:
        yield from destination.static_destinations(policies, static, static.port)
        if policies.policy(static.port).locked:
            yield source.pass_flow(static, static.port)
    yield source.static_source(static)


def _checked(flows: Iterable[Flow]) -> Iterator[Flow]:
    return map(_check, flows)


def _check(flow: Flow) -> Flow:
    check(flow)
    return flow
