"""Parameters of LLDP, named as in IEEE 802.1AB-2016 where it has a name.

Each parameter is declared here and nowhere else, see `bridge.parameter`.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Literal

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.parameter import Form, refusals
from ofapp.bridge.params.patterns import IPV4, IPV6


def _is_address(text: str) -> bool:
    try:
        return not text or ("%" not in text and bool(ip_address(text).packed))
    except ValueError:
        return False


_ADDRESS = f"^({IPV4}|{IPV6}|)$"


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge.  Raises InputError, which names the parameter that is refused."""

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
            "Management address of the switch that is sent to neighbours; without it its MAC"
            " address is sent."
        ),
    ] = ""

    def __post_init__(self) -> None:
        for parameter, value in refusals(self):
            raise InputError(parameter.name, str(parameter.refusal(value)))


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port where the bridge runs LLDP; an aggregation's hold for its members."""

    enabled: Annotated[bool, Doc("Send and receive LLDP here, where the bridge runs it.")] = True
    link: Annotated[
        bool,
        Doc(
            "Another switch of yours is behind the port: what it says of itself is trusted for the"
            " map."
        ),
    ] = False
    one_way: Annotated[
        Literal["off", "warn", "hold"],
        Doc(
            "What to do where a neighbour of this controller or its cluster does not hear this"
            " port: nothing, warn, or close the port, which opens when it is heard again. It is"
            " closed only if the port at the other end has `hold`, too. Use `hold` on ports that"
            " lead to switches of yours, not on ports with hosts."
        ),
    ] = "warn"
