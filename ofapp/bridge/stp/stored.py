"""The tree that is stored for the next process.

Either the whole tree is stored, when the switch has carried out all of it and nothing changes any
more, or only the neighbours of its ports, before anything changes. So after a crash during a change
no outdated or premature tree is restored; such a bridge starts a new tree, with its edges open.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ofapp.bridge.effects import Effect, StateChanged
from ofapp.bridge.stp import PortParams, SpanningTree, dump
from ofapp.bridge.stp.dumped import whole
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import BridgeParams
from ofapp.bridge.stp.relayed import RelayedTree
from ofapp.bridge.stp.vectors import ADDRESS_MASK


class Revision(NamedTuple):
    """The revision of a tree; two are equal while nothing has changed.

    tree: another object for a new tree.
    """

    tree: SpanningTree
    number: int


class Stored:
    """What is stored of a tree.  settled: the whole tree is stored."""

    def __init__(self, relayed: RelayedTree) -> None:
        self.settled = True
        self._relayed = relayed
        self._tree = relayed.tree
        self._outdated = False  # the stored tree, and no notice was given
        self._revision, self._cabling = self._tree.revision, self._tree.cabling

    def follow(self) -> None:
        """Note whether the stored tree must be updated before anything else happens."""
        if self._revision == self._tree.revision:
            return
        self._revision = self._tree.revision
        if self.settled or self._cabling != self._tree.cabling:
            self._outdated = True
            self.settled, self._cabling = False, self._tree.cabling

    def noted(self, effects: list[Effect], address: int | None) -> list[Effect]:
        """The effects, after the notice that the stored tree is no longer valid, if it is not.

        A thousand ports that come up together change it a thousand times, and it is stored once.
        """
        if not self._outdated:
            return effects
        self._outdated = False
        return [invalid_but(self._relayed.neighbours(), address), *effects]

    def unwritten(self) -> Revision | None:
        """The revision of the tree that is not stored yet; None when there is none."""
        return None if self.settled else Revision(self._tree, self._tree.revision)

    def written(self, revision: Revision) -> None:
        """Note that the tree is stored in that revision."""
        if revision.tree is self._tree:
            self.settled = True


def invalid_but(behind: Mapping[str, int], address: int | None) -> StateChanged:
    """The stored tree is no longer valid, except for this.

    behind: the address of the bridge behind a port, by the port's name; 0 where there is none.
    address: that of this bridge; None for one that has had no spanning tree.
    """
    return StateChanged("stp", {"behind": dict(behind), "address": address})


def read_neighbours(data: Mapping[str, Any]) -> tuple[dict[str, int], int | None]:
    """Read what `invalid_but` has stored; older releases wrote no address.  Raises ValueError."""
    try:
        behind = {name: whole(name, each, ADDRESS_MASK) for name, each in data["behind"].items()}
    except AttributeError as error:
        raise ValueError("not the neighbours by port") from error
    address = data.get("address")
    return behind, None if address is None else whole("address", address, ADDRESS_MASK)


class Revived(NamedTuple):
    """A restored tree.  at: its time when it was stored.  names: names of its ports by number."""

    tree: SpanningTree
    at: float
    names: dict[int, str]
    address: int


def read_tree(
    data: Any, params: BridgeParams, trees: OwnTrees, port: Callable[[str], PortParams]
) -> Revived:
    """Read a dumped tree.  port: parameters of a port by its name.  Raises ValueError."""
    try:
        address = whole("address", data["tree"]["address"], ADDRESS_MASK)
        names = {int(number): str(name) for number, name in data["names"]}
        if {*names} != {port["port_no"] for port in data["tree"]["ports"]}:
            raise ValueError("its ports and their names are not the same")
        tree, at = dump.revive(params, data["tree"], trees, lambda number: port(names[number]))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a dump of a bridge's spanning tree: {error!r}") from error
    return Revived(tree, at, names, address)
