"""What a controller knows of its own bridges' trees, and BPDUs do not say.

RSTP counts to infinity: when a root is demoted or lost, other ports still hold what was true of it,
and the bridges hand that round with growing cost until its age ends it, as fast as the hold count
lets them; meanwhile the network starves.  Elmeleegy, Cox and Ng describe it ("On count-to-infinity
induced forwarding loops in Ethernet networks", INFOCOM 2006) and end it with a sequence number in
BPDUs.  One controller's bridges need none: before a bridge believes in a path to the root, it looks
whether the bridges along that path still do.

All that follows from disbelief is that a port is not made root port, as if it had a restricted
role (17.13.3): it stays blocked for as long as its neighbour repeats the old news.  So nothing
opens that the standard would keep closed, whoever the neighbour is; and where the path leads
through somebody else's bridge, it is believed as the standard believes it.

News of a better root and of the end of an old one take more BPDUs than the hold count allows at
once, and each waits for a second.  The hold count (17.13.12) spares bridges that are slow to hear;
ours are not, and without counting to infinity there is an end to what they say.  So on a
point-to-point link between two of them it is filled up ten times as fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ofapp.bridge.stp.bpdu import MAX_SERIAL
from ofapp.bridge.stp.port import TreePort
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PriorityVector

_STRIDE = 0x9E3779
"""The golden ratio's part of `MAX_SERIAL`: multiples of it lie as far from each other as can be."""


class Tree(Protocol):
    """What is looked at of a bridge's tree (17.18)."""

    address: int
    bridge_id: int
    root_priority: PriorityVector
    root_port: TreePort | None

    @property
    def ports(self) -> Mapping[int, TreePort]:
        """Its ports."""


class OwnTrees:
    """The trees that one controller runs, by the addresses of their bridges.

    One whose switch is away has left: nobody knows what becomes of it, so it counts as somebody
    else's until it is back.  So do two with the same address.

    life: another one for each run of the controller, whose BPDUs answer none of an earlier one.
    """

    def __init__(self, life: int = 0) -> None:
        self._trees: dict[int, list[Tree]] = {}
        self._begun = life
        self._spoken = 0

    def first_serial(self) -> int:
        """From which a port is to number its BPDUs: far from those of any other."""
        self._begun += 1
        return self._begun * _STRIDE % MAX_SERIAL

    def next_number(self) -> int:
        """Of a BPDU that is spoken: another one each time, whatever tree speaks."""
        self._spoken += 1
        return self._spoken

    def join(self, tree: Tree) -> None:
        """It runs; more than once does no harm."""
        self.leave(tree)
        self._trees.setdefault(tree.address, []).append(tree)

    def leave(self, tree: Tree) -> None:
        """It has stopped, or its switch is away."""
        others = [other for other in self._trees.pop(tree.address, ()) if other is not tree]
        if others:
            self._trees[tree.address] = others

    def find(self, bridge_id: int) -> Tree | None:
        """The one tree of a bridge, whatever priority its identifier was told with."""
        found = self._trees.get(bridge_id & ADDRESS_MASK, ())
        return found[0] if len(found) == 1 else None

    def believe(self, asking: Tree, port: TreePort) -> bool:
        """May what a port of `asking` was told of a root still be true?  It is not when

        - the root is one of ours, and has another identifier by now or no link any more;
        - a bridge of ours along the path has lost that root, or the path comes back to itself.
        """
        claimed, _, sender, _ = port.port_priority
        root = asking if _same(claimed, asking.address) else self.find(claimed)
        if root is not None and (root.bridge_id != claimed or not _has_link(root)):
            return False
        passed = {asking.address}
        while sender & ADDRESS_MASK not in passed:
            bridge = self.find(sender)
            if bridge is None:
                return True
            if bridge.root_priority.root != claimed:
                return bridge.root_priority.root < claimed  # better news are on their way
            if bridge.root_port is None:
                return True
            passed.add(bridge.address)
            sender = bridge.root_port.port_priority.bridge
        return False


def _same(bridge_id: int, address: int) -> bool:
    return bridge_id & ADDRESS_MASK == address


def _has_link(tree: Tree) -> bool:
    return any(port.enabled for port in tree.ports.values())
