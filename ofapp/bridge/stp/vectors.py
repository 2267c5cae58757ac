"""Identifiers, priority vectors and times that bridges compare (802.1D-2004, 17.5 to 17.7, 9.2).

The order is the standard's, lower is better, so a vector is a tuple and "better" is ``<``.  The one
rule that is not an order, that a designated port may always replace its earlier information (17.6),
is `supersedes`.
"""

from typing import NamedTuple

ADDRESS_MASK = 0xFFFF_FFFF_FFFF
PORT_NUMBER_MASK = 0x0FFF


def bridge_identifier(priority: int, address: int) -> int:
    """The 64-bit bridge identifier: priority (a multiple of 4096) above the address (9.2.5)."""
    return priority << 48 | address


def port_identifier(priority: int, number: int) -> int:
    """The 16-bit port identifier: priority (a multiple of 16) above the 12-bit number (9.2.7)."""
    return priority << 8 | number


def format_bridge_id(bridge_id: int) -> str:
    """``8000.02:00:00:00:00:01``: the spelling of brctl and mstpctl, with colons."""
    address = f"{bridge_id & ADDRESS_MASK:012x}"
    octets = ":".join(address[i : i + 2] for i in range(0, 12, 2))
    return f"{bridge_id >> 48:04x}.{octets}"


def format_port_id(port_id: int) -> str:
    """``8.001``: priority nibble and port number, both hexadecimal, as mstpctl prints it."""
    return f"{port_id >> 12:x}.{port_id & PORT_NUMBER_MASK:03x}"


class PriorityVector(NamedTuple):
    """17.5 without its last component, the receiving port; 17.6 compares it left to right."""

    root: int
    cost: int
    bridge: int
    port: int


class Times(NamedTuple):
    """The timer values a BPDU carries, in seconds (17.19.22)."""

    message_age: float
    max_age: float
    forward_delay: float
    hello_time: float


NO_VECTOR = PriorityVector(0, 0, 0, 0)
NO_TIMES = Times(0.0, 0.0, 0.0, 0.0)

# Table 17-1: times that a bridge may use. A root's times outside are brought inside, so that no
# BPDU makes this bridge forward without a delay.
HELLO_TIME_RANGE = (1.0, 10.0)  # 802.1D-1998's, of roots that are that old
MAX_AGE_RANGE = (6.0, 40.0)
FORWARD_DELAY_RANGE = (4.0, 30.0)


def _clamp(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def within_table(times: Times) -> Times:
    """`times` brought inside table 17-1 (17.21.13 asks it of the hello time only)."""
    return Times(
        times.message_age,
        _clamp(times.max_age, MAX_AGE_RANGE),
        _clamp(times.forward_delay, FORWARD_DELAY_RANGE),
        _clamp(times.hello_time, HELLO_TIME_RANGE),
    )


def same_sender(message: PriorityVector, known: PriorityVector) -> bool:
    """Whether both are from one designated port. Priorities may change, so they do not count."""
    return (message.bridge ^ known.bridge) & ADDRESS_MASK == 0 and (
        message.port ^ known.port
    ) & PORT_NUMBER_MASK == 0


def supersedes(message: PriorityVector, known: PriorityVector) -> bool:
    """17.6: whether a designated port's message replaces the information of a port."""
    return message < known or same_sender(message, known)
