"""Names that identify the ports of a switch.

OpenFlow has 15 characters of a name: ports whose names in Open vSwitch differ after that have the
same name here.  Settings, entries and requests go by name, so such ports get their number behind
the name (`vhost-user-port#3`).  So do ports whose name can be taken for something else: a decimal
number is always the number of a port, and LOCAL the switch's own port.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ofapp.bridge.event import Event
from ofapp.bridge.ports.events import PORT_AMBIGUOUS, PORT_AMBIGUOUS_CLEARED
from ofapp.bridge.ports.port import LOCAL_PORT, Port

MAX_NAME = 15
"""Octets of a port's name in OpenFlow (1.3.5, 7.2.1), whose 16th ends it."""
_NUMBERED = re.compile(r"(.*)#[0-9]+")


def identified(ports: Iterable[Port]) -> list[Port]:
    """The ports that a switch reports, with names of which each is one port's."""
    ports = list(ports)
    count = Counter(port.name for port in ports)
    return [
        port
        if port.number == LOCAL_PORT or (count[port.name] == 1 and _is_plain(port.name))
        else replace(port, name=f"{port.name}#{port.number}")
        for port in ports
    ]


def reported(port: Port) -> Port:
    """A port of `identified` as its switch reports it."""
    name = port.name.removesuffix(f"#{port.number}")
    return port if name == port.name else replace(port, name=name)


def base_name(name: str) -> str | None:
    """The name without the number behind it; None for a name without such."""
    numbered = _NUMBERED.fullmatch(name) if "#" in name else None
    return None if numbered is None else numbered[1]


def settings_key(port: Port) -> str:
    """The key of a port's settings: its name, which does not depend on other ports, or its number.

    In a fabric settings go by name alone.
    """
    return port.name if base_name(port.name) is None or "/" in port.name else str(port.number)


def called(ports: Iterable[Port], name: str) -> list[Port]:
    """The ports that have this name, and a number behind it."""
    return [port for port in ports if base_name(port.name) == name]


def news(before: Iterable[Port], after: Iterable[Port]) -> Iterator[Event]:
    """Events about names that several ports have; both with names by `identified`."""
    old, new = shared_names(before), shared_names(after)
    for name, numbers in new.items():
        if old.get(name) != numbers:
            which = " and ".join(f"{name}#{number}" for number in numbers)
            text = (
                f"{len(numbers)} ports are called {name}, as OpenFlow has {MAX_NAME} characters of"
                f" a name; they are {which} now. What is set for {name} applies to none of them,"
                " and they are closed if there is such"
            )
            yield PORT_AMBIGUOUS.event(text, data={"name": name, "numbers": numbers})
    for name in old.keys() - new.keys():
        yield PORT_AMBIGUOUS_CLEARED.event(
            f"no two ports are called {name} any more", data={"name": name}
        )


def shared_names(ports: Iterable[Port]) -> Mapping[str, list[int]]:
    """The numbers of ports that have the same name in OpenFlow, by that name."""
    numbers: dict[str, list[int]] = {}
    for port in ports:
        name = base_name(port.name)
        if name is not None:
            numbers.setdefault(name, []).append(port.number)
    return {name: sorted(each) for name, each in numbers.items() if len(each) > 1}


def _is_plain(name: str) -> bool:
    """Whether a name stands for nothing else."""
    return not name.isdecimal() and name != "LOCAL" and base_name(name) is None
