"""Parameters of port access control.

Each parameter is declared here and nowhere else, see `bridge.parameter`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.parameter import Form, refusals
from ofapp.bridge.params.patterns import IPV4, IPV6

_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_SERVER = rf"({IPV4}{_PORT}|\[{IPV6}\]{_PORT})"
_SERVERS = f"^({_SERVER}(,{_SERVER}){{0,3}}|)$"
_FILE = r"^(/[A-Za-z0-9._/-]{1,250}|)$"
_VID = Interval(ge=1, le=4094)
_Period = Interval(ge=0, le=86400)


SERVERS = Form(
    "up to 4 IPv4 addresses, or IPv6 addresses in brackets, each with or without :PORT,"
    " with commas between them",
    lambda text: re.fullmatch(_SERVERS, text) is not None,
    _SERVERS,
)
FILE = Form(
    "the absolute path of a file, of letters, digits and . _ - /",
    lambda text: re.fullmatch(_FILE, text) is not None,
    _FILE,
)


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge.  Raises InputError, which names the parameter that is refused."""

    servers: Annotated[
        str,
        SERVERS,
        Doc(
            "RADIUS servers, the preferred first, as 10.0.0.1,10.0.0.2:1645; port 1812 by default."
        ),
    ] = ""
    secret_file: Annotated[
        str,
        FILE,
        Doc("File with the secret that is shared with the servers, in its first line."),
    ] = ""
    server_timeout: Annotated[
        int, Interval(ge=1, le=30), Unit("s"), Doc("Seconds to wait for an answer of a server.")
    ] = 3
    server_tries: Annotated[
        int, Interval(ge=1, le=10), Doc("Times that a request is sent to a server.")
    ] = 2
    dead_time: Annotated[
        int,
        Interval(ge=0, le=3600),
        Unit("s"),
        Doc("Seconds for which a server that has not answered is asked after all others."),
    ] = 60

    accounting: Annotated[
        bool,
        Doc("Report the start and end of each session to the servers, at their port plus one."),
    ] = False
    interim_period: Annotated[
        int,
        _Period,
        Unit("s"),
        Doc("Seconds between further reports of a session; 0: none."),
    ] = 0
    dynamic_port: Annotated[
        int | None,
        Interval(ge=1024, le=65535),
        Doc(
            "UDP port for Disconnect and Change-of-Authorization of the servers, usually 3799;"
            " without it none are taken."
        ),
    ] = None

    def __post_init__(self) -> None:
        for parameter, value in refusals(self):
            raise InputError(parameter.name, str(parameter.refusal(value)))


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port where the bridge runs access control."""

    authentication: Annotated[
        Literal["off", "dot1x", "mab", "dot1x_mab", "mab_dot1x"],
        Doc(
            "How hosts here are authenticated: by 802.1X, by their MAC address (mab), or by the"
            " second if the first has failed. off: the port is open."
        ),
    ] = "off"
    host_mode: Annotated[
        Literal["single", "multi", "multi_auth"],
        Doc(
            "single: one host; multi: the first host that is authorised opens the port for all;"
            " multi_auth: each host is authenticated."
        ),
    ] = "single"
    max_hosts: Annotated[
        int,
        Interval(ge=1, le=256),
        Doc("Most hosts of a port with multi_auth, those that are not authorised among them."),
    ] = 16
    reauth_period: Annotated[
        int,
        _Period,
        Unit("s"),
        Doc(
            "Seconds until a host is authenticated again; 0: never. Session-Timeout of the server"
            " is preferred."
        ),
    ] = 3600
    quiet_period: Annotated[
        int,
        Interval(ge=1, le=65535),
        Unit("s"),
        Doc("Seconds for which a host that was refused is not authenticated again."),
    ] = 60
    tx_period: Annotated[
        int,
        Interval(ge=1, le=300),
        Unit("s"),
        Doc("Seconds after which an EAP request that was not answered is sent again."),
    ] = 5
    max_requests: Annotated[
        int,
        Interval(ge=1, le=10),
        Doc("Times that an EAP request is sent to a host."),
    ] = 3
    guest_vlan: Annotated[
        int | None, _VID, Doc("VLAN of the port for a host that does not speak 802.1X.")
    ] = None
    auth_fail_vlan: Annotated[
        int | None, _VID, Doc("VLAN of the port for a host that the server has refused.")
    ] = None
    critical_vlan: Annotated[
        int | None, _VID, Doc("VLAN of the port for a host while no server answers.")
    ] = None

    @property
    def grace(self) -> float:
        """Seconds within which a host whose session has ended may come back as it was.

        A host that a server refuses by mistake tries again after the quiet period.
        """
        return 2.0 * self.quiet_period

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of authentication, in their order."""
        return () if self.authentication == "off" else tuple(self.authentication.split("_"))
