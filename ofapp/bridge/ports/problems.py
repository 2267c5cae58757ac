"""Problems of ports: names that are not unique, half duplex, and ports that others closed."""

from collections.abc import Iterable, Iterator

from ofapp.bridge.event import ERROR, WARNING, PortNumber
from ofapp.bridge.ports.names import MAX_NAME, shared_names
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem, ProblemKind

AMBIGUOUS = ProblemKind(
    "port.ambiguous",
    WARNING,
    "Several ports of a switch have the same name, as OpenFlow has 15 characters of a name.",
    "Give the ports names that differ in their first 15 characters, or use their numbers.",
    "No two ports have this name.",
    "ofapp port show {bridge}",
)
HALF_DUPLEX = ProblemKind(
    "port.half-duplex",
    WARNING,
    "A port runs at half duplex: it cannot send and receive at the same time.",
    "Mostly one end negotiates and the other one is fixed: let both negotiate. See"
    " `ethtool` on the switch's host.",
    "The switch reports full duplex, or the link is down.",
    "ofapp port show {bridge}",
    5.0,
)


CLOSED = ProblemKind(
    "port.closed-in-switch",
    ERROR,
    "A program other than ofapp has closed a port in the switch: its frames are dropped there.",
    "See which program did so; the command, typed on the switch's host, opens the port.",
    "The port configuration of the switch does not close the port.",
    "ovs-ofctl -O OpenFlow13 mod-port {bridge} {port} {direction}",
)


def problems(ports: Iterable[Port]) -> Iterator[Problem]:
    """ports: those of the switch."""
    ports = list(ports)
    for name, numbers in shared_names(ports).items():
        which = " and ".join(f"{name}#{number}" for number in numbers)
        text = (
            f"{len(numbers)} ports are called {name}, as OpenFlow has {MAX_NAME} characters of a"
            f" name; they are {which}, and settings of {name} apply to none of them"
        )
        yield AMBIGUOUS.at(text, subject=name, data={"name": name, "numbers": numbers})
    for port in ports:
        for direction in port.closed:
            shut = PortNumber(port.number), f" is closed in the switch (no-{direction})"
            data = {"direction": direction, "port_name": port.name}
            yield CLOSED.at(shut, port.number, direction, data)
        if port.up and not port.full_duplex:
            slow = PortNumber(port.number), " runs at half duplex, as the switch reports"
            yield HALF_DUPLEX.at(slow, port.number, data={"speed_mbps": port.speed_mbps})
