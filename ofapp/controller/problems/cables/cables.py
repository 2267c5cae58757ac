"""Memory of cables: links between two bridges of this controller, so that a lost one is noticed.

A cable is known as soon as a link is proven (`controller.topology`).  It is forgotten when it is
replaced, that is when an end is linked to another port, and on request.  A cable whose switch is
disconnected is not missing: the switch is the problem.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.problem import Problem
from ofapp.controller.problems.kinds import CABLE, SILENT
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

    def leave(self, bridges: Container[int]) -> None:
        """Leave the cables of bridges that this controller does not have any more."""
        for cable in [cable for cable in self._known if cable.a.datapath_id in bridges]:
            del self._known[cable]

    def forget(self, socket: Socket, down: Container[Socket]) -> set[Cable]:
        """Forget the missing cables of a socket, which were removed for good; gives them.

        down: sockets that have no cable now.
        """
        gone = {
            cable
            for cable in self._known
            if socket in cable and (cable not in self._present or any(end in down for end in cable))
        }
        for cable in gone:
            del self._known[cable]
            self._present.discard(cable)
        return gone

    def observe(
        self, bridges: Mapping[int, Surroundings], no_carrier: Container[Socket]
    ) -> set[Cable]:
        """Learn the present cables, and forget those that they replace; gives what has changed.

        bridges: those of this controller, by datapath id.  no_carrier: sockets without carrier, of
        which a protocol may still know the former neighbour.
        """
        linked = _present(bridges)
        self._present = {cable for cable in linked if not any(end in no_carrier for end in cable)}
        sockets = {socket for cable in self._present for socket in cable}
        before = {*self._known}
        for cable in before - self._present:
            if not sockets.isdisjoint(cable):
                del self._known[cable]
        new = sorted(self._present - before)
        self._known |= dict.fromkeys(new[: max(0, MOST - len(self._known))])
        return before.symmetric_difference(self._known)

    def problems(
        self, names: Mapping[int, str], down: Mapping[Socket, str], shut: Container[Socket]
    ) -> Iterator[tuple[int, Problem]]:
        """Cables that are missing or silent, with the lower end's datapath id.

        names: names of connected bridges, by datapath id.
        down: why a port has no cable now, by socket; ports that are up are not in it.
        shut: sockets of ports that are shut down on purpose.
        """
        for cable in self._known:
            lost = [end for end in cable if end in down]
            connected = all(end.datapath_id in names for end in cable)
            if (cable in self._present and not lost) or not connected:
                continue
            if any(end in shut for end in cable):
                continue
            title = [f"{names[end.datapath_id]}/{end.port}" for end in cable]
            between = f"the cable from {title[0]} to {title[1]}"
            data = {
                "port_name": cable.a.port,
                "ends": [[f"{end.datapath_id:016x}", end.port] for end in cable],
            }
            subject = "-".join(f"{end.datapath_id:016x}/{end.port}" for end in cable)
            if lost:
                reasons = (f"{names[end.datapath_id]}/{end.port} {down[end]}" for end in lost)
                text = f"{between} is missing: {' and '.join(reasons)}"
                yield cable.a.datapath_id, CABLE.at(text, subject=subject, data=data)
            else:
                text = f"{between} carries nothing: both ports are up, and do not see each other"
                yield cable.a.datapath_id, SILENT.at(text, subject=subject, data=data)


def _present(bridges: Mapping[int, Surroundings]) -> set[Cable]:
    def socket(datapath_id: int, port: int) -> Socket:
        return Socket(datapath_id, bridges[datapath_id].names.get(port, str(port)))

    found: set[Cable] = set()
    for link in topology(bridges.values()).links:
        if link.source == "stp" and not all(end is not None and end.bridge for end in link.tree):
            continue  # one end alone says so, and any host can send such BPDUs
        for one, other in link.members or ((link.a.port, link.b.port),):
            a = socket(link.a.datapath_id, one)
            b = socket(link.b.datapath_id, other)
            found.add(Cable(*sorted((a, b))))
    return found
