"""Declaration of a table: its number, the kinds of flow that it may hold, and their builders.

A new table is one module with a `Table`, and one entry in `tables.PIPELINE`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Ingress:
    """A port whose frames enter, as one table sees it.

    metered: the switch has meters.
    onward: the next table that the port's frames pass.
    """

    port: DesiredPort
    metered: bool
    onward: int


def _no_flows(_desired: Desired, _metered: bool) -> Iterable[Flow]:
    return ()


def _no_port_flows(_ingress: Ingress) -> Iterable[Flow]:
    return ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table; a miss is always a declared rule of priority 0.

    id: in switches, so it never changes.
    flows: builds the flows of all ports together, for a switch with meters or without.  They follow
    from parameters and present ports, not from states of ports.
    port_flows: builds those of a port that is learning or forwarding.
    passes: whether a port's frames pass the table on their way to the source table, for a switch
    with meters or without; None for a table that is not on that way.
    """

    id: int
    name: str
    about: str
    rules: tuple[Rule, ...]
    flows: Callable[[Desired, bool], Iterable[Flow]] = _no_flows
    port_flows: Callable[[Ingress], Iterable[Flow]] = _no_port_flows
    passes: Callable[[DesiredPort, bool], bool] | None = None
