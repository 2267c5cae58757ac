"""First-hop security: frames that the controller forwards, or the switch without a controller.

One flow, which the controller renews, says for all ports of a bridge that it is there.
"""

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import IPV4, IPV6, Flow, Match, SetRegister, bits, register
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import DHCP_SERVER, ND, ND_TRUSTED, trap_rules
from ofapp.openflow.pipeline.claims import CHECK_SOURCE, PASSES
from ofapp.openflow.pipeline.table import Table

PRESENCE = 4
"""Seconds without a controller until frames that it would forward are treated by `when_away`."""

_RULES = (
    rule(
        "present",
        100,
        "",
        Feature.FIRST_HOP,
        "The controller has the frame, and forwards it: drop. The controller renews this flow; "
        "when it is gone, the flow goes too, and the rules below decide (`when_away`).",
        drops=False,
    ),
    rule(
        "server",
        90,
        "reg6",
        Feature.FIRST_HOP,
        "What DHCP servers and trusted hosts send passes.",
        TableId.CHECKED,
    ),
    rule(
        "unspecified4",
        80,
        "eth_type ipv4_src reg5",
        Feature.FIRST_HOP,
        "Where the port's frames pass: those of hosts that have no address yet,",
        TableId.CHECKED,
    ),
    rule(
        "unspecified6",
        80,
        "eth_type ipv6_src reg5",
        Feature.FIRST_HOP,
        "those of IPv6 as well,",
        TableId.CHECKED,
    ),
    rule(
        "bound",
        70,
        "reg5",
        Feature.FIRST_HOP,
        "those with a source that has a binding, where sources are checked,",
        TableId.GUARD,
        "register",
    ),
    rule(
        "unguarded",
        60,
        "reg5",
        Feature.FIRST_HOP,
        "and all, where they are not.",
        TableId.CHECKED,
    ),
    rule(
        "owner",
        50,
        "reg6",
        Feature.FIRST_HOP,
        "On other ports claims of new addresses are dropped: neighbour discovery of hosts passes "
        "as their bindings have it,",
        TableId.GUARD,
        "register",
    ),
    rule("hold", 0, "", Feature.FIRST_HOP, "and all else is dropped."),
)

_TABLE, _FEATURE = TableId.AWAY, Feature.FIRST_HOP
_PASSES = bits(Register.CHECKS, PASSES)

PRESENT = Flow(_TABLE, 100, (), _FEATURE, hard_timeout=PRESENCE, notify_removal=False)
"""The flow that the controller renews."""

_FLOWS = (
    PRESENT,
    *(
        Flow(
            *(_TABLE, 90, (register(Register.TRAP, trap.feature),), _FEATURE),
            goto=TableId.CHECKED,
        )
        for trap in (DHCP_SERVER, ND_TRUSTED)
    ),
    *(
        Flow(_TABLE, 80, (Match("eth_type", kind), source, _PASSES), _FEATURE, (), TableId.CHECKED)
        for kind, source in ((IPV4, Match("ipv4_src", 0)), (IPV6, Match("ipv6_src", 0)))
    ),
    Flow(
        *(_TABLE, 70, (bits(Register.CHECKS, PASSES | CHECK_SOURCE),), _FEATURE),
        (SetRegister(Register.TRAP, 0),),
        TableId.GUARD,
    ),
    Flow(_TABLE, 60, (_PASSES,), _FEATURE, (), TableId.CHECKED),
    Flow(
        *(_TABLE, 50, (register(Register.TRAP, ND.feature),), _FEATURE),
        (SetRegister(Register.TRAP, 0),),
        TableId.GUARD,
    ),
    Flow(_TABLE, 0, (), _FEATURE),
)

TRAPS = Table(
    TableId.TRAPS,
    "traps",
    "Frames that first-hop security brings to the controller: each port has its own meters.",
    tuple(trap_rules(TableId.TRAPS)),
)

AWAY = Table(
    TableId.AWAY,
    "away",
    "Whether there is a controller, to forward what it was sent. Bindings work without one.",
    _RULES,
    flows=lambda desired, _metered: _FLOWS if desired.port_policies.checked else (),
)
