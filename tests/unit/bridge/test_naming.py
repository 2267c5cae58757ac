"""Ports by name in events."""

from __future__ import annotations

import pytest

from ofapp.bridge.event import Event
from ofapp.bridge.naming import naming_ports
from ofapp.bridge.ports import Port, PortTable


@pytest.fixture
def ports() -> PortTable:
    """eth1 is port 1, eth80 port 80; a port called 1 has number 5."""
    table = PortTable()
    for number, name in ((1, "eth1"), (80, "eth80"), (5, "1")):
        table.put(Port(number, name, number, True))
    return table


@pytest.mark.parametrize(
    ("port", "message", "told"),
    [
        (1, "port 1: designated -> root", "port eth1 (1): designated -> root"),
        (80, "port 80 > RST port 80.001", "port eth80 (80) > RST port 80.001"),
        (
            80,
            "port 80 < RST bridge 8000 port 8.050",
            "port eth80 (80) < RST bridge 8000 port 8.050",
        ),
        (None, "new root, through port 1", "new root, through port eth1 (1)"),
        (5, "port 1 was added", "port 1 was added"),
        (7, "port 7: gone", "port 7: gone"),
        (1, "port eth1 is up", "port eth1 is up"),
    ],
)
def test_messages(ports: PortTable, port: int | None, message: str, told: str) -> None:
    assert naming_ports(Event("stp.x", message, port=port), ports).message == told


def test_the_name_is_in_the_data(ports: PortTable) -> None:
    event = naming_ports(Event("stp.x", "m", port=1, data={"a": 2}), ports)
    assert event.data == {"a": 2, "port_name": "eth1"}
    assert naming_ports(Event("stp.x", "m", port=7), ports).data == {}
    assert naming_ports(Event("stp.x", "m"), ports).data == {}
