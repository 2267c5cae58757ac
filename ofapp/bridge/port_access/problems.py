"""Problems of port access control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ofapp.bridge.event import ERROR, WARNING
from ofapp.bridge.mac import format_mac
from ofapp.bridge.params.params import BridgeParams as AllParams
from ofapp.bridge.port_access.answer import NO_ANSWER
from ofapp.bridge.port_access.port import ControlledPort, Limit
from ofapp.bridge.port_access.servers import MOST_QUESTIONS
from ofapp.bridge.port_access.session import Phase, Session
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem, ProblemKind

NO_SERVER = ProblemKind(
    "port_access.silent",
    ERROR,
    "No RADIUS server answers: hosts on controlled ports are not authorised.",
    "Set `servers` and `secret_file`:"
    " `ofapp auth set BRIDGE --servers ADDRESS --secret-file FILE`; if they are set, see whether"
    " the servers run, know this controller, have the same secret, and sign their answers"
    " (Message-Authenticator).",
    "A server answers.",
    "ofapp auth show {bridge}",
)
REFUSED = ProblemKind(
    "port_access.refused",
    WARNING,
    "A host on a controlled port is not authorised, and its frames are dropped.",
    "See the reason, and the log of the RADIUS server.",
    "The quiet period of the host is over.",
    "ofapp auth clear {bridge} {port}",
)
FULL = ProblemKind(
    "port_access.full",
    WARNING,
    "A controlled port has as many hosts as it may; the frames of further hosts are dropped.",
    "See what is behind the port, or raise `max_hosts`, or set `host_mode`.",
    "There is room for a host.",
    "ofapp auth show {bridge}",
)
OPEN = ProblemKind(
    "port_access.open",
    WARNING,
    "An aggregation or the bridge's own port fits a pattern for controlled ports, and stays open.",
    "No host plugs in there. Write `port_access: {authentication: off}` for that name below"
    " `ports` if it is to be open; if a member is a port of hosts, take it out of the aggregation.",
    "The name has a section below `ports`, or fits no such pattern.",
    "ofapp config show",
)
BUSY = ProblemKind(
    "port_access.busy",
    WARNING,
    "A controlled port asks RADIUS servers about more hosts at a time than it may; they wait.",
    "See what is behind the port, and how fast the servers answer. Other ports do not wait.",
    "No host has waited for five minutes.",
    "ofapp auth show {bridge} --statistics",
)


def problems(ports: Iterable[ControlledPort], servers: str, silent: str) -> Iterator[Problem]:
    """silent: why the last question to a server has no answer; empty if it has."""
    ports = [*ports]
    if ports and not servers:
        yield NO_SERVER.at("no RADIUS server is set (`servers`)")
    elif silent:
        yield NO_SERVER.at(silent)
    for port in ports:
        for session in port.sessions.values():
            if session.phase is Phase.HELD and session.why != NO_ANSWER:
                data = {"mac": format_mac(session.mac), "reply_message": session.message}
                text = f"port {port.port.name}: {reason(session)}"
                yield REFUSED.at(text, port.port.number, format_mac(session.mac), data)
        name = port.port.name
        if Limit.HOSTS in port.limited:
            text = f"port {name} has {len(port.sessions)} hosts, as many as it may"
            yield FULL.at(text, port.port.number)
        if Limit.QUESTIONS in port.limited:
            text = f"port {name} had {MOST_QUESTIONS} open questions to RADIUS servers, the most"
            yield BUSY.at(f"{text} that it may; {len(port.waiting)} hosts wait", port.port.number)


def stays_open(params: AllParams, local: Port | None) -> Iterator[Problem]:
    """What cannot be controlled, but fits a pattern for controlled ports.

    local: the bridge's own port.
    """
    places = [(name, f"aggregation {name}", lag.members) for name, lag in params.lags.items()]
    if local is not None and LOCAL_PORT not in params.numbered:
        places.insert(0, (local.name, f"{local.name} (LOCAL)", ()))
    for name, what, members in places:
        fitting = [each for each in (name, *members) if _wanted(params, each)]
        if name in params.ports or not fitting:
            continue
        which = "" if name in fitting else f" (members {', '.join(fitting)})"
        wanted = f"fits a pattern with authentication {_wanted(params, fitting[0])}"
        yield OPEN.at(f"{what}{which} {wanted}, and stays open", None, name, {"port_name": name})


def _wanted(params: AllParams, name: str) -> str:
    """The authentication of a port by its name; empty for none."""
    wanted = params.port(name, -1).port_access
    return wanted.authentication if wanted.methods else ""


def reason(session: Session) -> str:
    """Why a host is not authorised, with each Reply-Message of the server."""
    refusals = [
        f"RADIUS refused {shown_name(session, method, user)}" + (f": '{said}'" if said else "")
        for method, user, said in session.refused
    ]
    return "; ".join(refusals) or f"{named(session)} is not authorised: {session.why}"


def named(session: Session) -> str:
    """The host by its user's name, or its MAC address."""
    return shown_name(session, session.method, session.user)


def shown_name(session: Session, method: str, user: bytes) -> str:
    """The name that a method of authentication gives a host: that of its user, or its address."""
    return format_mac(session.mac) if method == "mab" or not user else shown(user)


def shown(user: bytes) -> str:
    """A user's name as text; what cannot be printed is escaped."""
    text = user.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
