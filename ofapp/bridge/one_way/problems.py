"""Problems of one-way links."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ofapp.bridge.event import ERROR, WARNING, PortNumber, Text
from ofapp.bridge.problem import Problem, ProblemKind

_ADVICE = "Replace the cable or the transceivers between the two ports."

HELD = ProblemKind(
    "one_way.held",
    ERROR,
    "A port is closed: its link passes frames in one direction alone.",
    _ADVICE,
    "The neighbour hears the port again, the link goes down, or the port is freed by the command.",
    "ofapp lldp free {bridge} {port_name}",
)
SUSPECTED = ProblemKind(
    "one_way.suspected",
    WARNING,
    "A neighbour does not hear a port, which stays open.",
    _ADVICE + " `one_way: hold` at both ends has such a port closed.",
    "The neighbour hears the port, or is gone.",
    "ofapp lldp links {bridge}",
)


@dataclass(frozen=True, slots=True)
class OneWayLink:
    """A port whose link is one-way.

    name: the port's.  neighbour: the port at the other end, in words.  far: its datapath id and
    port; None if it has not proven to be of this controller or its cluster.
    held: the port is closed.  found: this end has found it; else the other end has, and this one
    hears nothing.
    """

    name: str
    neighbour: str
    far: tuple[int, int] | None
    held: bool
    found: bool = True


def in_words(port: int, link: OneWayLink) -> Text:
    """The link in words, with both its ports."""
    if not link.found:
        return PortNumber(port), f" is closed: it does not hear {link.neighbour}"
    if link.held:
        return PortNumber(port), f" is closed: {link.neighbour} does not hear it"
    doubt = "" if link.far else ", as it says itself without authentication"
    return PortNumber(port), f": {link.neighbour} does not hear it{doubt}"


def problems(links: Iterable[tuple[int, OneWayLink]]) -> Iterator[Problem]:
    """Links that are one-way, by the number of the port."""
    for port, link in links:
        kind = HELD if link.held else SUSPECTED
        data = {"port_name": link.name, "neighbour": link.neighbour}
        yield kind.at(in_words(port, link), port, data=data)
