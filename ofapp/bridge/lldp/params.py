"""What can be set of LLDP, in the words of IEEE 802.1AB-2016 where it has one.

Each parameter is declared here and nowhere else, see `bridge.parameter`.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge.input_error import InputError
from ofapp.bridge.parameter import Form, refusals
from ofapp.bridge.patterns import IPV4, IPV6


def _is_address(text: str) -> bool:
    try:
        return not text or ("%" not in text and bool(ip_address(text).packed))
    except ValueError:
        return False


_ADDRESS = f"^({IPV4}|{IPV6}|)$"


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """A bridge's.  Raises InputError, which names the parameter, when a value is refused."""

    tx_interval: Annotated[
        int,
        Interval(ge=1, le=3600),
        Unit("s"),
        Doc("Seconds between two frames of a port; neighbours remember four times as long."),
    ] = 30
    management_address: Annotated[
        str,
        Form("an IPv4 or IPv6 address", _is_address, _ADDRESS),
        Doc(
            "The address by which the switch is managed, which neighbours are told; without it they"
            " are told its MAC address."
        ),
    ] = ""

    def __post_init__(self) -> None:
        for parameter, value in refusals(self):
            raise InputError(parameter.name, str(parameter.refusal(value)))


@dataclass(frozen=True, slots=True)
class PortParams:
    """A port's, where LLDP runs on the bridge; an aggregation's are those of its members."""

    enabled: Annotated[bool, Doc("Send and hear LLDP here, where the bridge runs it.")] = True
    link: Annotated[
        bool,
        Doc(
            "Another switch of yours is behind the port: what it says of itself is believed for"
            " the map."
        ),
    ] = False
