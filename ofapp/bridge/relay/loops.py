"""Loops that the bridge's own frames show: they come back, or reach another of its open ports."""

from collections.abc import Iterable, Iterator, Mapping, Set

from ofapp.bridge.event import PortNumber
from ofapp.bridge.fdb.problems import LOOP
from ofapp.bridge.problem import Problem


def problems(
    own: Iterable[int],
    returned: Iterable[tuple[int, int]],
    forwarding: Set[int],
    logical: Mapping[int, int],
) -> Iterator[Problem]:
    """Loops that are suspected.

    own: ports that keep receiving frames with the bridge's own address as the source.
    returned: ports by which LLDP frames left and came back, as (sent, heard).
    forwarding: ports of the bridge that forward; logical: those of its members of aggregations.
    """
    for port in own:
        again = PortNumber(port), " keeps receiving frames with the bridge's own address"
        yield LOOP.at(again, port, "address", {"ports": [port]})
    for two in sorted({(min(pair), max(pair)) for pair in returned}):
        one, other = (logical.get(port, port) for port in two)
        same = two[0] == two[1]
        if {one, other} - forwarding or (one == other and not same):
            continue
        both = (PortNumber(one), " and ", PortNumber(other), " receive each other's LLDP frames")
        text = (PortNumber(one), " receives its own LLDP frames") if same else both
        yield LOOP.at(text, two[0], f"lldp {two[1]}", {"ports": [*two]})
