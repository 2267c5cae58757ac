"""The kinds of frames that a switch sends to the controller: one declaration each, in `TRAPS`.

What follows from a declaration: the flow that sends the frames and its rule in the table
(`pipeline`), the feature in its cookie, the meter that limits them, the lane that they wait in
(`wire.inbox`), the counters of `packet_ins`, the kinds in the API's `held_back`, and the events
`*.limited`.  The frames arrive at `Bridge.hear`, with the name of their kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.openflow.model.flow import NEAREST_BRIDGE, SLOW_PROTOCOLS, TO_BRIDGES, Match
from ofapp.openflow.model.rule import Rule, TableId

WHOLE_FRAME = 0xFFFF  # OFPCML_NO_BUFFER

TRAP_HELLOS = 2
"""Hello times without a controller until BPDUs pass.  A neighbour's patience lasts three
(802.1D-2004 17.21.23); three seconds after that its auto-edge may open the port that it blocked
(17.25), unless it hears itself through this bridge before.  The switch may let a flow outlive its
time by a second, and a neighbour speaks every two: three would be too many [measured]."""

TRAP_RENEWAL = 0.5
"""Hello times between renewals of the flows that trap BPDUs: a quarter of their lifetime."""


class Lane(Enum):
    """How urgent frames are, see `wire.inbox`.

    FRAMES: only echoes overtake them.  PROMPT: in the order of the stream.
    BULK: behind all else, and no more of them are read than `wire.ip_sampling` allows.
    """

    FRAMES = 1
    PROMPT = 2
    BULK = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A port of the switch where a trap has a flow.

    serial: in the flow's cookie; seconds: until the flow ends unless it is renewed, 0 for never.
    """

    port: int
    serial: int = 0
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class TrapRule:
    """The rule of a trap's flows, which match `in_port` and `match` and lead nowhere else."""

    table: TableId
    name: str
    priority: int
    about: str
    match: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeterKind:
    """Frames that a meter of each port limits.

    name: in the API and in metrics.
    meter: the upper half of the numbers of its meters, which are in switches: it never changes.
    event: `<event>.limited` is emitted when frames are held back; "" for no event.
    what, fate: the frames and what happened to them, in words; remedy: what to do about it.
    """

    name: str
    meter: int
    event: str
    what: str = ""
    fate: str = "were too fast for the controller and held back"
    remedy: str = "`ofapp port show BRIDGE -s --watch 2` shows the port's rate."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trap(MeterKind):
    """One kind of frames for the controller.

    feature: in the cookies of its flows, which are in switches: it never changes.
    rate: frames a second that a meter lets through; None for the port's `packet_in_rate`.
    octets: how much of a frame is sent.
    lane: see `Lane`.
    rule: of its flows; None where a table's builder makes these.
    of_port: where the flow is that a port of the bridge has while it is up.
    of_bridge: where flows are that do not come and go with ports of the bridge, but by effects
    (`SetTrap`): on ports of the switch, such as members of aggregations.
    """

    feature: int
    rate: int | None = None
    octets: int = WHOLE_FRAME
    lane: Lane = Lane.FRAMES
    rule: TrapRule | None = None
    of_port: Callable[[DesiredPort], Place | None] | None = None
    of_bridge: Callable[[Desired], Iterable[Place]] | None = None


def trap_seconds(hello_time: float) -> int:
    """How long BPDUs go to the controller unless that is renewed, by the tree's hello time."""
    return round(TRAP_HELLOS * hello_time)


def _where_trees_run(port: DesiredPort) -> Place | None:
    seconds = trap_seconds(port.hello_time)
    return Place(port.number, seconds=seconds) if seconds else None


def lacp_places(lag: DesiredLag) -> Iterator[Place]:
    """The members of an aggregation whose LACPDUs are for the controller."""
    return (Place(member, lag.number) for member in lag.lacp)


SIGHTING = Trap(
    name="sighting",
    feature=0x03,
    meter=0,
    octets=64,
    lane=Lane.BULK,
    of_port=lambda port: Place(port.number),
    event="packet_in",
    what="sightings of unknown sources",
)
"""Heads of frames from unknown sources; the flows are those of `source` and `admission`."""
ADDRESS = Trap(
    name="address",
    feature=0x14,
    meter=8,
    rate=10,
    octets=96,  # to the target of a neighbour solicitation (RFC 4861 4.3), with two tags
    lane=Lane.BULK,
    event="",
)
"""ARP and neighbour solicitations of known hosts, by the flows of `destination`.  The rate is that
of all ports of a bridge together."""
BPDU = Trap(
    name="bpdu",
    feature=0x06,
    meter=1,
    rate=100,  # a neighbour sends one in two seconds
    rule=TrapRule(
        TableId.ADMISSION,
        "bpdu",
        930,
        "A BPDU on a port where spanning tree runs: to the controller alone, in every port state. "
        "The controller renews the flow; when it is gone, the flow goes too, and the next rule "
        "lets the neighbours' spanning trees see each other through this bridge.",
        (TO_BRIDGES,),
    ),
    of_port=_where_trees_run,
    event="bpdu",
    what="BPDUs",
    remedy="See what sends them: a loop, or an attack.",
)
LACP = Trap(
    name="lacp",
    feature=0x11,
    meter=6,
    rate=50,  # a partner sends one
    rule=TrapRule(
        TableId.ADMISSION,
        "lacpdu",
        985,
        "LACP or a marker from a member of an aggregation: to the controller alone. Without one "
        "it goes nowhere: such frames are never forwarded (802.1AX-2020 6.2.7.1).",
        SLOW_PROTOCOLS,
    ),
    of_bridge=lambda desired: (place for lag in desired.lags for place in lacp_places(lag)),
    event="lacp",
    what="LACPDUs and markers",
    remedy="See what sends them.",
)
LLDP = Trap(
    name="lldp",
    feature=0x13,
    meter=7,
    rate=20,  # a neighbour sends one in 30 seconds
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.ADMISSION,
        "lldp",
        984,
        "LLDP where it runs: to the controller alone, in every port state, and by the very port "
        "of the switch, so before a member's frames become those of its aggregation. Without LLDP "
        "the rule for the rest of 01:80:c2:00:00:0x below drops it.",
        NEAREST_BRIDGE,
    ),
    of_bridge=lambda desired: map(Place, desired.lldp),
    event="lldp",
    what="LLDPDUs",
    remedy="See what sends them.",
)
SNOOPED = Trap(
    name="snooped",
    feature=0x07,
    meter=2,
    rate=500,
    rule=TrapRule(
        TableId.SNOOP, "snoop", 100, "The whole frame to the controller, and nowhere else."
    ),
    of_port=lambda port: Place(port.number) if port.snoops else None,
    event="snoop",
    what="IGMP, MLD and router messages",
    remedy="See which host sends them.",
)

TRAPS = (SIGHTING, ADDRESS, BPDU, LACP, LLDP, SNOOPED)
"""Each kind of frame that comes to the controller."""

_DROPPED = "were above the port's limit and dropped"
_STORM = "Limit what the host sends, or raise the port's storm limit (`storm`)."


def _storm(name: str, meter: int, what: str) -> MeterKind:
    return MeterKind(
        name=name, meter=meter, event=f"storm.{name}", what=what, fate=_DROPPED, remedy=_STORM
    )


BROADCAST = _storm("broadcast", 3, "broadcasts")
MULTICAST = _storm("multicast", 4, "multicast frames")
UNKNOWN_UNICAST = _storm("unknown_unicast", 5, "frames to unknown hosts")

LIMITED = (*(trap for trap in TRAPS if trap.event), BROADCAST, MULTICAST, UNKNOWN_UNICAST)
"""All that has a meter on each port: it is counted and reported when it drops."""

OF_PORTS = (*(trap for trap in TRAPS if trap.of_port), BROADCAST, MULTICAST, UNKNOWN_UNICAST)
"""Of these, what comes and goes with the ports of the bridge."""


def trap_rules(table: TableId) -> Iterator[Rule]:
    """The rules of the traps in a table."""
    for trap in TRAPS:
        if trap.rule is not None and trap.rule.table == table:
            fields = {"in_port", *(match.field for match in trap.rule.match)}
            yield Rule(
                trap.rule.name,
                trap.rule.priority,
                frozenset(fields),
                trap.feature,
                trap.rule.about,
                actions=frozenset({"controller"}),
            )
