"""Ports by name in events, as users see them."""

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, PortNumber, Text, following
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortTable
from tests.unit.made_event import made_event


@pytest.fixture
def ports() -> PortTable:
    """eth1 is port 1, eth80 port 80; a port called 1 has number 5."""
    table = PortTable()
    for number, name in ((1, "eth1"), (80, "eth80"), (5, "1")):
        table.put(Port(number, name, number, True))
    return table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ((PortNumber(1), ": designated -> root"), "port eth1 (1): designated -> root"),
        ((PortNumber(80), " > RST port 80.001"), "port eth80 (80) > RST port 80.001"),
        (
            (PortNumber(80), " < RST bridge 8000 port 8.050"),
            "port eth80 (80) < RST bridge 8000 port 8.050",
        ),
        (("new root, through ", PortNumber(1)), "new root, through port eth1 (1)"),
        (("on ", PortNumber(1), ", not ", PortNumber(80)), "on port eth1 (1), not port eth80 (80)"),
        ("port 1 was added", "port 1 was added"),
        ((PortNumber(7), ": gone"), "port 7: gone"),
        ("port eth1 is up", "port eth1 is up"),
    ],
)
def test_messages(ports: PortTable, text: Text, message: str) -> None:
    assert made_event("stp.x", text).worded(ports.get).message == message


def test_what_knows_no_names_speaks_of_numbers() -> None:
    assert made_event("stp.x", (PortNumber(1), ": gone")).message == "port 1: gone"


def test_something_before_a_text(ports: PortTable) -> None:
    for text in ((PortNumber(1), " is full"), "port eth1 (1) is full"):
        event = made_event("x", following("VLAN 7: ", text))
        assert event.worded(ports.get).message == "VLAN 7: port eth1 (1) is full"


def test_the_name_is_in_the_data(ports: PortTable) -> None:
    event = made_event("stp.x", "m", port=1, data={"a": 2}).worded(ports.get)
    assert event.data == {"a": 2, "port_name": "eth1"}
    assert made_event("stp.x", "m", port=7).worded(ports.get).data == {}
    assert made_event("stp.x", "m").worded(ports.get).data == {}


def test_the_bridges_own_port_is_told_from_others_of_its_name() -> None:
    bridge = Bridge(1, BridgeParams())
    bridge.set_ports([Port(LOCAL_PORT, "br0", 5, False)], 0.0)
    effects = bridge.put_port(Port(LOCAL_PORT, "br0", 5, True), 1.0)
    assert "port br0 (LOCAL) is up" in [each.message for each in effects if isinstance(each, Event)]
