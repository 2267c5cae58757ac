"""Memory of cables: links between two bridges of this controller, so that a lost one is noticed.

A cable is known as soon as a link is proven (`controller.topology`).  It is forgotten when it is
replaced, that is when an end is linked to another port, and on request.  A cable whose switch is
disconnected is not missing: the switch is the problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.problem import Problem
from ofapp.controller.problems.kinds import CABLE
from ofapp.controller.topology import Surroundings, topology

MOST = 10_000
"""Most cables that are remembered; further ones are not."""


class Socket(NamedTuple):
    """One end of a cable: a port of a switch, by its name, as numbers change."""

    datapath_id: int
    port: str


class Cable(NamedTuple):
    """Two sockets, the lower one first."""

    a: Socket
    b: Socket


class Cables:
    """All known cables."""

    def __init__(self) -> None:
        self._known: dict[Cable, None] = {}
        self._present: set[Cable] = set()

    def __iter__(self) -> Iterator[Cable]:
        return iter(self._known)

    def remember(self, cables: Iterable[Cable]) -> None:
        """Take cables that were stored."""
        self._known |= dict.fromkeys(cables)

    def forget(self, socket: Socket) -> bool:
        """Forget the missing cables of a socket, which were removed for good; whether any was."""
        gone = [cable for cable in self._known if socket in cable and cable not in self._present]
        for cable in gone:
            del self._known[cable]
        return bool(gone)

    def observe(self, bridges: Mapping[int, Surroundings]) -> bool:
        """Learn the present cables, and forget those that they replace; whether there is a change.

        bridges: those of this controller, by datapath id.
        """
        self._present = _present(bridges)
        new = self._present - self._known.keys()
        if not new:
            return False
        sockets = {socket for cable in new for socket in cable}
        replaced = [cable for cable in self._known if not sockets.isdisjoint(cable)]
        for cable in replaced:
            if cable not in self._present:
                del self._known[cable]
        for cable in sorted(new)[: max(0, MOST - len(self._known))]:
            self._known[cable] = None
        return True

    def problems(
        self, names: Mapping[int, str], down: Mapping[Socket, str]
    ) -> Iterator[tuple[int, Problem]]:
        """Cables that are missing, with the lower end's datapath id.

        names: names of connected bridges, by datapath id.
        down: why a port has no cable now, by socket; ports that are up are not in it.
        """
        for cable in self._known:
            there = cable in self._present and down.keys().isdisjoint(cable)
            if there or not all(end.datapath_id in names for end in cable):
                continue
            ends = [f"{names[end.datapath_id]}/{end.port}" for end in cable]
            reasons = [
                f"{name} {down[end]}" for name, end in zip(ends, cable, strict=True) if end in down
            ]
            why = " and ".join(reasons) or "both ports are up, and do not see each other"
            text = f"the cable from {ends[0]} to {ends[1]} is missing: {why}"
            data = {
                "port_name": cable.a.port,
                "ends": [[f"{end.datapath_id:016x}", end.port] for end in cable],
            }
            yield cable.a.datapath_id, CABLE.at(text, subject="-".join(ends), data=data)


def _present(bridges: Mapping[int, Surroundings]) -> set[Cable]:
    def socket(datapath_id: int, port: int) -> Socket:
        return Socket(datapath_id, bridges[datapath_id].names.get(port, str(port)))

    found: set[Cable] = set()
    for link in topology(bridges.values()).links:
        for one, other in link.members or ((link.a.port, link.b.port),):
            a = socket(link.a.datapath_id, one)
            b = socket(link.b.datapath_id, other)
            found.add(Cable(*sorted((a, b))))
    return found
