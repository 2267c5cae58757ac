"""Problems of the forwarding database: flapping addresses, loops, and limits that are reached."""

from collections import defaultdict
from collections.abc import Iterator

from ofapp.bridge.event import ERROR, WARNING, PortNumber
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.fdb.move_guard import QUICK, HeldAddress
from ofapp.bridge.mac import format_mac
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.common.words import listed

FLAPPING = ProblemKind(
    "fdb.flapping",
    WARNING,
    "Addresses are held down: they are seen on two ports in turn, or away from their sticky port.",
    "Look for a loop behind the two ports, a duplicate address, or a bond that is not configured.",
    "The hold-down of the last of these addresses ends, by its time or by"
    " `ofapp fdb release BRIDGE MAC`.",
    "ofapp fdb held {bridge}",
)
LOOP = ProblemKind(
    "loop.suspected",
    ERROR,
    "Frames seem to go round: the bridge receives its own frames, or an address moves between two"
    " ports many times a second.",
    "Find the second path: a cable between two sockets, an unmanaged switch, or a bond that is not"
    " configured. `ofapp port set BRIDGE PORT --shutdown` closes a port meanwhile, and spanning"
    " tree closes one by itself.",
    "Ten seconds have passed without such frames, LLDP is not heard any more, or the address is"
    " not held down any more.",
    "ofapp port show {bridge} -s",
)
LIMIT = ProblemKind(
    "fdb.limit",
    WARNING,
    "The limit of learned addresses of the bridge, a port or a VLAN is reached.",
    "Find the host that sends many addresses, or raise `fdb_max_learned`.",
    "A twentieth of the limit is free again.",
    "ofapp fdb show {bridge}",
)
SHOWN = 3
"""Most addresses that a text names."""


def problems(learning: Learning) -> Iterator[Problem]:
    """Pairs of ports between which addresses flap, and limits that are reached."""
    held: defaultdict[tuple[int, int], list[HeldAddress]] = defaultdict(list)
    for address in learning.move_guard.held.values():
        held[address.two].append(address)
    for (one, other), addresses in held.items():
        macs = [format_mac(address.mac) for address in addresses]
        quick = any(address.quick for address in addresses)
        often = f", moved {QUICK} times in less than a second" if quick else ""
        between = (
            f"{listed(macs, SHOWN)} held down between ",
            *(PortNumber(one), " and ", PortNumber(other), often),
        )
        data = {"ports": [one, other], "addresses": len(macs), "macs": macs[:SHOWN]}
        kind = LOOP if quick else FLAPPING
        yield kind.at(between, subject=f"{one}-{other}", data=data)
    for limit in learning.limits.reached():
        refused = sorted(limit.reached)
        text = (
            f"{limit.name} has learned {limit.most} addresses, its limit; {limit.refused} refused",
            *(part for port in refused[:SHOWN] for part in (", ", PortNumber(port))),
        )
        subject = "" if limit.vid is None else f"vlan {limit.vid}"
        data = {"limit": limit.most, "refused": limit.refused, "ports": refused[:SHOWN]}
        port = limit.port if limit.port is not None or len(refused) != 1 else refused[0]
        yield LIMIT.at(text, port, subject, data)
