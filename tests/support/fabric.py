"""Graphs of a fabric, and what its members should hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.fabric import FABRIC_PORT, DesiredFabric
from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.fabric.state.projection import FABRIC
from ofapp.bridge.relay.policies import PortPolicies

NUMBER = 9
"""The fabric's number."""


def graph(*cables: tuple[int, int]) -> Graph:
    """The members at the ends of cables, each with its link ports from 1 in their order."""
    ports: Counter[int] = Counter()
    links = []
    for one, other in cables:
        ports[one] += 1
        ports[other] += 1
        links.append(Link(End(one, ports[one]), End(other, ports[other])))
    return Graph(tuple(sorted(ports)), tuple(links))


def large_graph(members: int) -> Graph:
    """A connected graph of members from 0 on, with three links for each; always the same."""
    chance = random.Random(1)
    cables = [(chance.randrange(at), at) for at in range(1, members)]
    while len(cables) < 3 * members:
        one, other = chance.sample(range(members), 2)
        cables.append((one, other))
    return graph(*cables)


def link_ports(graph: Graph, member: int) -> tuple[int, ...]:
    """A member's ports that lead to others."""
    return tuple(hop.port for hop in graph.hops[member])


def policies(edge: Bridge) -> PortPolicies:
    """The policies of a member with the ports of `edge`."""
    return PortPolicies(edge.params, edge.ports, FABRIC_PORT)


def desired_at(edge: Bridge, fabric: DesiredFabric) -> Desired:
    """What a member with the ports of `edge` should hold."""
    desired = edge.desired()
    mark = (("fabric", True),)
    ports = (replace(port, protocols=(*port.protocols, *mark)) for port in desired.ports)
    return replace(
        desired,
        port_policies=policies(edge),
        names={**desired.names, FABRIC_PORT: "to the fabric"},
        ports=(*ports, FABRIC),
        protocols={**desired.protocols, "fabric": fabric},
    )
