"""Ports by name in what people read.

The protocols know ports by number, and so do the events that they tell.  Whoever passes events on
to people puts the names in here, once for all of them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ofapp.bridge.event import Event
from ofapp.bridge.ports import PortTable

_PORT = re.compile(r"\bport (\d+)(?![\w.])")  # not an identifier as in a BPDU: port 8.001


def naming_ports(event: Event, ports: PortTable) -> Event:
    """The event with `port 3` told as `port eth3 (3)`, and its port's name as `port_name`.

    An event about one port names no other.
    """

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        port = ports.get(number)
        if port is None or event.port not in (None, number):
            return found[0]
        return f"port {port.name} ({number})"

    own = None if event.port is None else ports.get(event.port)
    data = event.data if own is None else {**event.data, "port_name": own.name}
    return replace(event, message=_PORT.sub(name, event.message), data=data)
