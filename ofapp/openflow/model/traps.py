"""The kinds of frames that a switch sends to the controller: one declaration each, in `TRAPS`.

What follows from a declaration: the flow that sends the frames and its rule in the table
(`pipeline`), the feature in its cookie, the meter that limits them, the lane that they wait in
(`wire.inbox`), the counters of `packet_ins`, the kinds in the API's `held_back`, and the events
`*.limited`.  The frames arrive at `Bridge.hear`, with the name of their kind.
"""

from collections.abc import Callable, Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import DesiredFabric
from ofapp.bridge.fabric.address import PROBE_DESTINATION, PROBE_TYPE
from ofapp.bridge.first_hop.binding import GuardedPort
from ofapp.bridge.port_access.port import Admission
from ofapp.openflow.model.flow import (
    EAPOL_TYPE,
    NEAREST_BRIDGE,
    SLOW_PROTOCOLS,
    TO_BRIDGES,
    TO_HOST,
    Match,
    register,
)
from ofapp.openflow.model.rule import Register, Rule, TableId
from ofapp.openflow.model.trap import Lane, MeterKind, Trap, TrapPort, TrapRule

TRAP_HELLOS = 2
"""Hello times without a controller until BPDUs pass.  A neighbour's patience lasts three
(802.1D-2004 17.21.23); three seconds after that its auto-edge may open the port that it blocked
(17.25), unless it hears itself through this bridge before.  The switch may let a flow outlive its
time by a second, and a neighbour speaks every two: three would be too many [measured]."""

TRAP_RENEWAL = 0.5
"""Hello times between renewals of the flows that trap BPDUs: a quarter of their lifetime."""


def trap_seconds(hello_time: float) -> int:
    """Return for how long BPDUs go to the controller without renewal, by the hello time."""
    return round(TRAP_HELLOS * hello_time)


def _where_trees_run(port: DesiredPort) -> TrapPort | None:
    seconds = trap_seconds(port.hello_time)
    return TrapPort(port.number, seconds=seconds) if seconds else None


def lacp_places(lag: DesiredLag) -> Iterator[TrapPort]:
    """The members of an aggregation whose LACPDUs are for the controller."""
    return (TrapPort(member, lag.number) for member in lag.lacp)


SIGHTING = Trap(
    name="sighting",
    feature=0x03,
    meter=0,
    octets=64,
    lane=Lane.BULK,
    of_port=lambda port: TrapPort(port.number),
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
OWN = Trap(
    name="own",
    feature=0x23,
    meter=17,
    rate=10,
    octets=64,
    lane=Lane.PROMPT,
    event="",
)
"""Frames with the bridge's own address as the source, by the flow of table `own`.  The rate is that
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
    event="lldp",
    what="LLDPDUs",
    remedy="See what sends them.",
)


def controlled(port: DesiredPort) -> Admission | None:
    """The hosts that a port with access control admits; None for any other port."""
    wanted: Admission | None = port.wanted("port_access")
    return wanted


EAPOL = Trap(
    name="eapol",
    feature=0x26,
    meter=20,
    rate=50,  # certificates are many fragments
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.ADMISSION,
        "eapol",
        986,
        "EAPOL on a port with access control: to the controller alone, in every port state. "
        "Elsewhere it is a frame to 01:80:c2:00:00:03, or an ordinary one.",
        (EAPOL_TYPE,),
    ),
    of_port=lambda port: TrapPort(port.number) if controlled(port) else None,
    event="eapol",
    what="EAPOL frames",
    remedy="See which host sends them.",
)
FIRST_FRAME = Trap(
    name="first_frame",
    feature=0x27,
    meter=21,
    rate=10,
    octets=64,
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.ACCESS,
        "first-frame",
        10,
        "A frame of a host that is not admitted: a few of them a second to the controller, their "
        "heads alone; drop.",
    ),
    of_port=lambda port: TrapPort(port.number) if controlled(port) else None,
    event="",
)
"""Frames of hosts that are not admitted; what the meter holds back is dropped all the same, and
counted by the flow."""


def _where_loops_are_found(port: DesiredPort) -> TrapPort | None:
    destination = port.wanted("loop_protect")
    return destination and TrapPort(port.number, match=(Match("eth_dst", destination),))


LOOP = Trap(
    name="loop_protect",
    feature=0x25,
    meter=24,
    rate=50,  # a port sends one a second in each VLAN
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.ADMISSION,
        "loop",
        935,
        "A frame of this bridge's loop protection that comes back: to the controller alone, in "
        "every port state. Frames of other bridges are ordinary group frames.",
        fields=frozenset({"eth_dst"}),
    ),
    of_port=_where_loops_are_found,
    event="loop_protect",
    what="returned frames of loop protection",
    remedy="Find the loop behind the port: `ofapp loop-protect show BRIDGE`.",
)
SNOOPED = Trap(
    name="snooped",
    feature=0x07,
    meter=2,
    rate=500,
    rule=TrapRule(
        TableId.SNOOP, "snoop", 100, "The whole frame to the controller, and nowhere else."
    ),
    of_port=lambda port: TrapPort(port.number) if port.snoops else None,
    event="snoop",
    what="IGMP, MLD and router messages",
    remedy="See which host sends them.",
)


def guarded(port: DesiredPort) -> GuardedPort | None:
    """Checks of first-hop security at a port."""
    wanted: GuardedPort | None = port.wanted("first_hop")
    return wanted


def _where_snooped(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    return TrapPort(port.number, goto=TableId.AWAY) if guard and guard.snooped else None


def _where_nd_is_inspected(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    return TrapPort(port.number, goto=TableId.AWAY) if guard and guard.nd else None


def _where_servers_are(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    watched = guard and guard.watched and guard.dhcp_server
    return TrapPort(port.number, goto=TableId.AWAY) if watched else None


def _where_routers_are(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    watched = guard and guard.watched and guard.router
    return TrapPort(port.number, goto=TableId.CHECKED) if watched else None


def _where_claims_are_trusted(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    return TrapPort(port.number, goto=TableId.AWAY) if guard and guard.trusted else None


def _where_hosts_answer(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    if guard is None or not guard.prober:
        return None
    return TrapPort(port.number, match=(Match("eth_dst", guard.prober),))


def _where_checked(port: DesiredPort) -> TrapPort | None:
    guard = guarded(port)
    if guard is None or not guard.refuses:
        return None
    return TrapPort(port.number, goto=TableId.CHECKED if guard.report_only else None)


def _held(
    name: str,
    feature: int,
    meter: int,
    rate: int,
    *,
    about: str,
    of_port: Callable[[DesiredPort], TrapPort | None],
    what: str,
) -> Trap:
    """Frames that the controller forwards: see `ForwardFrame`."""
    held = "To the controller, which forwards it; the table `away` drops it while there is one."
    return Trap(
        name=name,
        feature=feature,
        meter=meter,
        rate=rate,
        lane=Lane.PROMPT,
        rule=TrapRule(
            TableId.TRAPS,
            name.replace("_", "-"),
            100,
            f"{about} {held}",
            (register(Register.TRAP, feature),),
            goto=(TableId.AWAY,),
        ),
        of_port=of_port,
        event=name,
        what=what,
        fate="were too fast for the controller and dropped",
        remedy="See which host sends them.",
    )


DHCP = _held(
    *("dhcp", 0x17, 9, 50),
    about="A message of a DHCP client, from a port that has bindings.",
    of_port=_where_snooped,
    what="messages of DHCP clients",
)
DHCP_SERVER = _held(
    *("dhcp_server", 0x18, 10, 5_000),
    about="A message of a DHCP server, from a port where one may be.",
    of_port=_where_servers_are,
    what="messages of DHCP servers",
)
ND = _held(
    *("nd", 0x19, 11, 50),
    about="A host asks for routers, or whether an IPv6 address is free (also its own).",
    of_port=_where_nd_is_inspected,
    what="claims of IPv6 addresses and router solicitations",
)
ND_TRUSTED = _held(
    *("nd_trusted", 0x24, 18, 1_000),
    about="Duplicate address detection or an announcement of an IPv6 address, from a port whose "
    "hosts are trusted.",
    of_port=_where_claims_are_trusted,
    what="claims of IPv6 addresses by trusted hosts",
)
ROUTER = Trap(
    name="router",
    feature=0x1A,
    meter=12,
    rate=50,
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.TRAPS,
        "router",
        100,
        "A router advertisement, from a port where a router may be: a copy to the controller.",
        (register(Register.TRAP, 0x1A),),
        goto=(TableId.CHECKED,),
    ),
    of_port=_where_routers_are,
    event="router",
    what="router advertisements",
    remedy="See which host sends them.",
)
ANSWER = Trap(
    name="answer",
    feature=0x1B,
    meter=13,
    rate=50,
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.CHECKED,
        "answer",
        110,
        "A host answers the controller, which asked by an address of the bridge whether it still "
        "uses an address: to the controller alone.",
        fields=frozenset({"eth_dst"}),
    ),
    of_port=_where_hosts_answer,
    event="answer",
    what="answers of hosts to the controller",
    remedy="See which host sends them.",
)
REFUSED = Trap(
    name="refused",
    feature=0x1C,
    meter=14,
    rate=10,
    octets=128,
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.REFUSED,
        "refused",
        100,
        "A few of these frames a second to the controller, their heads alone; then drop. On a "
        "port that only reports they are forwarded.",
        goto=(None, TableId.CHECKED),
        drops=True,
    ),
    of_port=_where_checked,
    event="",
)
"""A sample of what first-hop security refuses; what the meter holds back is dropped all the same,
and counted by the flow."""


def probe_places(fabric: DesiredFabric) -> Iterator[TrapPort]:
    """The link ports, whose probes are for the controller."""
    return map(TrapPort, fabric.links)


PROBE = Trap(
    name="probe",
    feature=0x20,
    meter=15,
    rate=100,
    rule=TrapRule(
        TableId.ADMISSION,
        "probe",
        983,
        "A probe of a link between members of a fabric: to the controller alone.",
        (Match("eth_dst", PROBE_DESTINATION), Match("eth_type", PROBE_TYPE)),
    ),
    event="",
)
"""Probes by which the controller proves the links of a fabric."""
REMOTE = Trap(
    name="remote",
    feature=0x21,
    meter=16,
    rate=500,
    octets=64,
    lane=Lane.PROMPT,
    rule=TrapRule(
        TableId.UNKNOWN,
        "remote",
        100,
        "To a host that this switch has no flow for: a copy of its head to the controller, which "
        "adds the flow if the host is at another member. The frame floods.",
        (TO_HOST,),
        goto=(TableId.FLOOD,),
    ),
    of_port=lambda port: (
        TrapPort(port.number, goto=TableId.FLOOD) if port.wanted("fabric") else None
    ),
    event="",
)
"""Heads of frames to unknown hosts, on an edge port of a fabric's member.  They are not in bulk:
of what is, the controller reads no more than IP addresses need."""

TRAPS = (
    SIGHTING,
    ADDRESS,
    OWN,
    BPDU,
    LACP,
    LLDP,
    EAPOL,
    FIRST_FRAME,
    LOOP,
    SNOOPED,
    DHCP,
    DHCP_SERVER,
    ND,
    ND_TRUSTED,
    ROUTER,
    ANSWER,
    REFUSED,
    PROBE,
    REMOTE,
)
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

RATE_IN = MeterKind(
    name="rate_in",
    meter=25,
    event="rate_in",
    what="frames",
    fate="were above the port's rate and dropped",
    remedy="Nothing, if the limit is meant; `rate_in` sets it.",
)
"""All that enters by a port, in kbit/s; frames for the controller alone are not limited by it."""

RATE_OUT = MeterKind(
    name="rate_out",
    meter=26,
    event="rate_out",
    what="frames",
    fate="were above the port's rate on the way out and dropped",
    remedy="Nothing, if the limit is meant; `rate_out` sets it.",
)
"""All that leaves by a port, in kbit/s, but what the controller itself sends, as BPDUs."""

STORM = (BROADCAST, MULTICAST, UNKNOWN_UNICAST)
"""What storm control limits."""

LIMITED = (*(trap for trap in TRAPS if trap.event), *STORM, RATE_IN, RATE_OUT)
"""All that has a meter on each port: it is counted and reported when it drops."""


def trap_rules(table: TableId) -> Iterator[Rule]:
    """The rules of the traps in a table."""
    for trap in TRAPS:
        if trap.rule is not None and trap.rule.table == table:
            fields = {"in_port", *trap.rule.fields, *(match.field for match in trap.rule.match)}
            yield Rule(
                trap.rule.name,
                trap.rule.priority,
                frozenset(fields),
                trap.feature,
                trap.rule.about,
                trap.rule.goto,
                frozenset({"controller"}),
                drops=trap.rule.drops,
            )
