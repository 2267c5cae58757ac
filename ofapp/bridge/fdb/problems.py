"""Problems of the forwarding database: flapping addresses and limits that are reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ofapp.bridge.event import WARNING, PortNumber
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.fdb.move_guard import HeldAddress
from ofapp.bridge.mac import format_mac
from ofapp.bridge.problem import Problem, ProblemKind

FLAPPING = ProblemKind(
    "fdb.flapping",
    WARNING,
    "Addresses are held down: they are seen on two ports in turn, or away from their sticky port.",
    "Look for a loop behind the two ports, a duplicate address, or a bond that is not configured.",
    "The hold-down of the last of these addresses ends, by its time or by `ofapp fdb release`.",
    "ofapp fdb held {bridge}",
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
        more = f" and {len(macs) - SHOWN} more" if len(macs) > SHOWN else ""
        between = (
            f"{', '.join(macs[:SHOWN])}{more} held down between ",
            *(PortNumber(one), " and ", PortNumber(other)),
        )
        data = {"ports": [one, other], "addresses": len(macs), "macs": macs[:SHOWN]}
        yield FLAPPING.at(between, subject=f"{one}-{other}", data=data)
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
