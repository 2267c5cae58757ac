"""Notices: effects that do not concern the switch, for the manager of all bridges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The state of a protocol has changed, and is to be stored.

    document: the name of its stored document (`controller.state.documents`).
    valid: what of the stored state is still valid, as JSON-serialisable data; it is stored before
    anything else of the same list is carried out, and the rest is invalid from then on.  None: the
    stored state may be used until it is replaced.
    """

    document: str
    valid: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AskServer:
    """Ask a RADIUS server whether a host is admitted; `PortAccess.answer` takes the answer.

    number: number of the question.  port, port_name: where the host, `mac`, is.
    user: its identity.  ident: the session's name in accounting.
    eap: its EAP message; empty: it is authenticated by its MAC address.
    state: what the server's last answer has asked for (RFC 2865 5.24).
    """

    number: int
    port: int
    port_name: str
    mac: int
    user: bytes
    ident: str
    eap: bytes
    state: bytes


@dataclass(frozen=True, slots=True)
class AccountSession:
    """Report a session to a RADIUS server (RFC 2866); nothing waits for it.

    status: Acct-Status-Type, 1 for start, 2 for stop, 3 for interim.  seconds: since its start.
    cause: Acct-Terminate-Cause of a stop.  classes: what the server has given it (RFC 2865 5.25).
    """

    status: int
    port: int
    port_name: str
    mac: int
    user: bytes
    ident: str
    seconds: int
    cause: int
    classes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class OneWay:
    """A neighbour that does not hear a port.

    name: the neighbour's port and system, in words.
    far: its datapath id and port, if it has proven to be of this controller or its cluster.
    holds: both ends are set to close the port.
    declines: the neighbour has proven that its end is not.
    """

    name: str
    far: tuple[int, int] | None
    holds: bool
    declines: bool = False


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """What LLDP has found out of the link of a port of the switch; for `OneWayLinks.check`.

    finding: None: the link is not one-way, or not checked any more.  reason: why, in words.
    proven: without a finding: by an authenticated frame or a change of parameters.
    """

    port: int
    finding: OneWay | None
    reason: str = ""
    proven: bool = True


@dataclass(frozen=True, slots=True)
class FarEnd:
    """The port at the other end of a one-way link is to close or open, too.

    far: its datapath id and port; near: those of the end that has found it.  closes: else it opens.
    """

    far: tuple[int, int]
    near: tuple[int, int]
    closes: bool


@dataclass(frozen=True, slots=True)
class SpokenFor:
    """The spanning tree runs again after its switch was disconnected."""


@dataclass(frozen=True, slots=True)
class BridgeNamed:
    """The LOCAL port, whose name is the bridge's, is new or has another name."""


@dataclass(frozen=True, slots=True)
class PortRenamed:
    """A port has another name, and so have the entries that are fixed to it."""

    port: int


@dataclass(frozen=True, slots=True)
class InLine:
    """The switch has the desired flows, and the state that only the switch had is read."""
