"""Knowledge of a controller about its own bridges' trees, beyond the BPDUs.

RSTP counts to infinity: when a root is demoted or lost, other ports still hold its old information.
The bridges pass it round with growing cost until its age ends it, as fast as the hold count allows;
meanwhile the network is down.  Elmeleegy, Cox and Ng describe it ("On count-to-infinity
induced forwarding loops in Ethernet networks", INFOCOM 2006) and end it with a sequence number in
BPDUs.  One controller's bridges need none: before a bridge accepts a path to the root, it checks
whether the bridges along that path still have it.

The only consequence is that a port is not made root port, as if it had a restricted role (17.13.3):
it stays blocked for as long as its neighbour repeats the old information.  So no port opens that
the standard would keep closed, with any neighbour.  A path that leads through a bridge of another
controller is accepted as in the standard.

News of a better root and of the end of an old one take more BPDUs than the hold count allows at
once, and each waits for a second.  The hold count (17.13.12) protects bridges that receive slowly;
ours do not, and without counting to infinity the number of their BPDUs is limited.  So on a
point-to-point link between two of them the hold count is replenished ten times as fast.
"""

from collections.abc import Mapping
from typing import Protocol

from ofapp.bridge.stp.bpdu import MAX_SERIAL
from ofapp.bridge.stp.port import TreePort
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PriorityVector

_STRIDE = 0x9E3779
"""`MAX_SERIAL` over the golden ratio: multiples of it lie as far from each other as possible."""


MOST_FORMER = 4096
"""Former addresses that are remembered, the latest; all bridges of a controller are fewer."""


class Tree(Protocol):
    """The variables of a bridge's tree that are used here (17.18)."""

    address: int
    bridge_id: int
    root_priority: PriorityVector
    root_port: TreePort | None

    @property
    def ports(self) -> Mapping[int, TreePort]:
        """Its ports."""


class OwnTrees:
    """The trees that one controller runs, by the addresses of their bridges.

    One whose switch is disconnected has left: its state is not known, so it counts as another
    controller's until it is back.  So do two with the same address.

    life: differs for each run of the controller, whose BPDUs answer none of an earlier run.
    """

    def __init__(self, life: int = 0) -> None:
        self._trees: dict[int, list[Tree]] = {}
        self._former: dict[int, None] = {}
        self._begun = life
        self._spoken = 0

    def first_serial(self) -> int:
        """The first serial of a port's BPDUs: far from those of any other."""
        self._begun += 1
        return self._begun * _STRIDE % MAX_SERIAL

    def next_number(self) -> int:
        """A new number for a BPDU to be sent, unique over all trees."""
        self._spoken += 1
        return self._spoken

    def join(self, tree: Tree) -> None:
        """Add a tree that runs; adding it twice does no harm."""
        self.leave(tree)
        self._former.pop(tree.address, None)
        self._trees.setdefault(tree.address, []).append(tree)

    def leave(self, tree: Tree) -> None:
        """Remove a tree that has stopped, or whose switch is disconnected."""
        others = [other for other in self._trees.pop(tree.address, ()) if other is not tree]
        if others:
            self._trees[tree.address] = others

    def replace(self, address: int) -> None:
        """Note that a bridge has got another address: no bridge has its former one any more."""
        if address in self._trees:
            return  # another one has it now
        self._former[address] = None
        if len(self._former) > MOST_FORMER:
            del self._former[next(iter(self._former))]

    def is_former(self, address: int) -> bool:
        """Whether a bridge of this controller had this address before it got another one."""
        return address in self._former

    def find(self, bridge_id: int) -> Tree | None:
        """The one tree of a bridge, by its identifier with any priority."""
        trees = self._trees.get(bridge_id & ADDRESS_MASK, ())
        return trees[0] if len(trees) == 1 else None

    def believe(self, asking: Tree, port: TreePort) -> bool:
        """Whether a root received on a port of `asking` may still be valid.  It is not when

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
