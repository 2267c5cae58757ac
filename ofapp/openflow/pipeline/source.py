"""Source addresses: learning, and the sources that are not allowed.

The ordinary port has one flow here, the miss.  Everything else is there only where it is needed:
a port that is locked, a port or a VLAN that has learned all it may, an address that is held down.
"""

from collections.abc import Iterator

from ofapp.bridge.effects import HoldDown, PutStatic
from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.cookie import Feature, ports_serial
from ofapp.openflow.model.flow import Flow, Match, in_port, vlan
from ofapp.openflow.model.rule import TableId, rule
from ofapp.openflow.model.traps import SIGHTING
from ofapp.openflow.pipeline.meters import to_controller
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "holding",
        400,
        "in_port",
        SIGHTING.feature,
        "A port in state learning, with its VLAN known: a copy to the controller; drop.",
        actions="controller",
    ),
    rule(
        "locked-static",
        360,
        "in_port vlan_vid eth_src",
        Feature.STATIC,
        "A static address on the locked port that it belongs to: pass.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "locked-local",
        360,
        "in_port eth_src",
        Feature.LOCAL,
        "The bridge's own address, should LOCAL be locked.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "locked",
        350,
        "in_port",
        Feature.GUARD,
        "Any other source address on a locked port: drop.",
    ),
    rule(
        "local",
        300,
        "eth_src",
        Feature.LOCAL,
        "The bridge's own address, wherever it is claimed: not learned.",
        goto=TableId.OWN,
    ),
    rule(
        "static",
        250,
        "vlan_vid eth_src",
        Feature.STATIC,
        "A static address, wherever it is seen: not learned.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "learned",
        200,
        "in_port vlan_vid eth_src",
        Feature.LEARNED,
        "A known address on the port it is known on. Its idle timeout is the ageing time, or "
        "up to a tenth more, so that not all who fell silent together expire together; "
        "on any other port the address misses and is learned again.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "sticky",
        200,
        "in_port vlan_vid eth_src",
        Feature.STICKY,
        "The same for an address that does not age: of a sticky port, or extern_learn.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "other-member",
        195,
        "in_port",
        SIGHTING.feature,
        "From another member of a fabric, which has checked the address: pass.",
        goto=TableId.DESTINATION,
    ),
    rule(
        "held",
        190,
        "vlan_vid eth_src",
        Feature.HELD,
        "An address that is held down, since it flaps or is sticky, anywhere but on its port: "
        "drop. The controller ends it, or the flow's hard timeout.",
    ),
    rule(
        "full-vlan",
        120,
        "in_port vlan_vid",
        SIGHTING.feature,
        "A VLAN that has reached its address limit and drops unknown sources: drop, "
        "with a copy to the controller, as an address may have been freed "
        "meanwhile.",
        actions="controller",
        drops=True,
    ),
    rule(
        "full",
        110,
        "in_port",
        SIGHTING.feature,
        "The same for a port.",
        actions="controller",
        drops=True,
    ),
    rule(
        "miss",
        100,
        "in_port",
        SIGHTING.feature,
        "An unknown address: a truncated copy to the controller, metered by port, and on. "
        "Without the copy where nothing is to be learned.",
        goto=TableId.DESTINATION,
        actions="controller",
    ),
)

_TABLE = TableId.SOURCE


def source_flows(ingress: Ingress) -> Iterator[Flow]:
    """The flows for the sources of a port's frames."""
    port, metered = ingress.port, ingress.metered
    here = (in_port(port.number),)
    copy = (to_controller(port.number, SIGHTING, metered),) if port.learns else ()
    if port.state is PortState.LEARNING:
        yield Flow(_TABLE, 400, here, SIGHTING.feature, copy)
        return
    if port.number == FABRIC_PORT:
        yield Flow(_TABLE, 195, here, SIGHTING.feature, (), TableId.DESTINATION)
        return
    if port.full:
        yield gate_flow(port.number, None, metered)
    for vid in port.full_vlans:
        yield gate_flow(port.number, vid, metered)
    if port.policy.locked:
        yield Flow(_TABLE, 350, here, Feature.GUARD)
    yield Flow(_TABLE, 100, here, SIGHTING.feature, copy, TableId.DESTINATION)


def pass_flow(static: PutStatic, port: int) -> Flow:
    """The flow that admits a static address, or the bridge's own, on its locked port."""
    match = (in_port(port), *static_vlan(static), Match("eth_src", static.mac))
    return Flow(_TABLE, 360, match, static_feature(static), (), TableId.DESTINATION)


def static_source(static: PutStatic) -> Flow:
    """The flow that keeps a static address, or the bridge's own, from being learned."""
    match = (*static_vlan(static), Match("eth_src", static.mac))
    priority, goto = (300, TableId.OWN) if static.vid is None else (250, TableId.DESTINATION)
    return Flow(_TABLE, priority, match, static_feature(static), (), goto)


def static_feature(static: PutStatic) -> Feature:
    """The feature in the cookies of an address that does not move."""
    return Feature.LOCAL if static.vid is None else Feature.STATIC


def static_vlan(static: PutStatic) -> tuple[Match, ...]:
    """The match on such an address's VLAN; the bridge's own address is in all VLANs."""
    return () if static.vid is None else (vlan(static.vid),)


def gate_flow(port: int, vid: int | None, metered: bool) -> Flow:
    """The flow of a port, or of a VLAN on it, that has learned all it may; metered by port."""
    copy = to_controller(port, SIGHTING, metered)
    if vid is None:
        return Flow(_TABLE, 110, (in_port(port),), SIGHTING.feature, (copy,))
    return Flow(_TABLE, 120, (in_port(port), vlan(vid)), SIGHTING.feature, (copy,))


def hold_flow(hold: HoldDown) -> Flow:
    """The flow that drops an address's frames, except those that its source half admits."""
    match = (vlan(hold.vid), Match("eth_src", hold.mac))
    serial = ports_serial(hold.port, hold.elsewhere)
    return Flow(_TABLE, 190, match, Feature.HELD, serial=serial, hard_timeout=hold.seconds)


def learned_source(port: int, vid: int, mac: int, serial: int, ageing_time: int | None) -> Flow:
    """The source half of a learned address (see `flows.learned_flows`)."""
    return Flow(
        _TABLE,
        200,
        (in_port(port), vlan(vid), Match("eth_src", mac)),
        Feature.STICKY if ageing_time is None else Feature.LEARNED,
        (),
        TableId.DESTINATION,
        serial,
        ageing_time or 0,
        notify_removal=ageing_time is not None,
    )


SOURCE = Table(
    TableId.SOURCE,
    "source",
    "Source addresses: frames from known ones pass; frames from unknown ones "
    "pass, too, with a copy to the controller.",
    _RULES,
    port_flows=source_flows,
    passes=lambda _port, _metered: True,
)
