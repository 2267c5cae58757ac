"""What each member of a fabric forwards, as one value for one graph.

Members use a plan by its version, which every frame carries.  A version's flows never change, so a
frame meets one plan on its whole path, also while members change to another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import replace

from ofapp.bridge.effects.fabric import Branch, NextHops, Part
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.paths import distances, next_hops
from ofapp.bridge.fabric.plans.trees import tree

Plan = Mapping[int, Part]
"""Parts by member."""


def plan(graph: Graph, cut_off: Set[int] = frozenset()) -> Plan:
    """Return the parts of the members that the controller can program.

    cut_off: the other members.  They forward by the versions that they hold, so this plan uses none
    of them as transit.  A member accepts frames for itself of every version: so each of the others
    is reached by its neighbours, and is a leaf of every tree.
    """
    towards: dict[int, dict[int, NextHops]] = defaultdict(dict)
    trees: dict[int, dict[int, Branch]] = defaultdict(dict)
    programmed = graph.without(members=cut_off)
    cost = {member: distances(programmed, member) for member in programmed.members}
    for member in graph.members:
        others = graph.without(members=cut_off - {member}) if member in cut_off else programmed
        for source, hops in next_hops(others, member, cost.get(member)).items():
            towards[source][member] = hops
    for member in programmed.members:
        for at, branch in tree(programmed, member, cost[member]).items():
            trees[at][member] = branch
        for leaf in sorted(cut_off):
            near = [hop for hop in graph.hops[leaf] if hop.member in cost[member]]
            if near:
                at = min(near, key=lambda hop: (hop.cost + cost[member][hop.member], hop)).member
                branch = trees[at][member]
                trees[at][member] = replace(branch, leaves=(*branch.leaves, leaf))
    return {
        member: Part(
            towards[member], trees[member], frozenset(hop.port for hop in graph.hops[member])
        )
        for member in programmed.members
    }
