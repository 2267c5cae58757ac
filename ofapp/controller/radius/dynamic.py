"""Demands of servers: sessions are to end, to change or to be authorised again (RFC 5176).

Each bridge is a NAS.  A demand is for the bridges that have the sender as a server and the secret
that signs it; with NAS-Identifier for the bridge of that name.  It applies to all their sessions
that have all session identification attributes in it (RFC 5176 3), or to none.
"""

from __future__ import annotations

import contextlib
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.port_access.status import NO_SESSION_FILTER
from ofapp.common import hub
from ofapp.controller.radius.client import SecretError, places, read_secret
from ofapp.controller.radius.packets import MOST, Demand, RefusedError

LOOKS = 2.0
"""Seconds between two looks at which ports the bridges listen on."""
ANSWERED = 1024
"""Demands whose answers are kept: a server repeats a demand until it is answered."""
UNSUPPORTED, MISSING, OTHER_NAS, INVALID, NOT_FOUND = 401, 402, 403, 407, 503
"""Error-Cause (RFC 5176 3.5): an attribute is not supported, or missing; NAS-Identifier is of no
bridge here; a value is invalid; there is no such session."""

_REFUSALS = {
    UNSUPPORTED: "unsupported",
    MISSING: "not_named",
    OTHER_NAS: "other_bridge",
    INVALID: "not_possible",
    NOT_FOUND: "not_found",
}
"""Counters of the demands that are refused, by Error-Cause."""

Act = Callable[[Bridge, str, int, Demand], object]
"""Ends, changes or authorises a session again: the bridge, the port's name, the MAC address.

Raises InputError for a session that has ended.
"""


class Demands:
    """Listens on the `dynamic_port` of all bridges.

    counters: demands that were done, and packets that were refused, by name.
    """

    def __init__(self, bridges: Mapping[int, Bridge], act: Act) -> None:
        self.counters: Counter[str] = Counter()
        self._bridges = bridges
        self._act = act
        self._sockets: dict[int, tuple[socket.socket, object]] = {}
        self._answered: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    def run(self) -> None:
        """Listen where the parameters say, for ever."""
        while True:
            self._listen()
            hub.sleep(LOOKS)

    def close(self) -> None:
        """Stop listening."""
        for port in [*self._sockets]:
            self._close(port)

    def _listen(self) -> None:
        wanted = {
            params.dynamic_port
            for bridge in self._bridges.values()
            if (params := bridge.params.port_access) is not None and params.dynamic_port is not None
        }
        for port in self._sockets.keys() - wanted:
            self._close(port)
        for port in wanted - self._sockets.keys():
            try:
                opened = _listening(port)
            except OSError:
                self.counters["not_listening"] += 1
                continue
            self._sockets[port] = opened, hub.spawn(self._read, port, opened)

    def _close(self, port: int) -> None:
        opened, reader = self._sockets.pop(port)
        hub.kill(reader)
        opened.close()

    def _read(self, port: int, opened: socket.socket) -> None:
        while True:
            octets, sender = opened.recvfrom(MOST + 1)
            host = str(sender[0]).removeprefix("::ffff:")
            reply = self._reply(port, host, octets)
            if reply is not None:
                with contextlib.suppress(OSError):
                    opened.sendto(reply, sender)

    def _reply(self, port: int, host: str, octets: bytes) -> bytes | None:
        """The answer to a packet; None for one that no server of a bridge has signed."""
        key = host, octets
        if key in self._answered:
            self.counters["repeated"] += 1
            return self._answered[key]
        reason, reply = "unknown_client", None
        clients = [*self._clients(port, host)]
        for secret in dict.fromkeys(secret for _, secret in clients):
            try:
                demand = Demand(octets, secret)
            except RefusedError as error:
                reason = error.reason
                continue
            bridges = [bridge for bridge, its in clients if its == secret]
            reason, reply = "", self.carry_out(demand, bridges)
            self._answered[key] = reply
            if len(self._answered) > ANSWERED:
                self._answered.popitem(last=False)
            break
        if reason:
            self.counters[reason] += 1
        return reply

    def carry_out(self, demand: Demand, bridges: Iterable[Bridge]) -> bytes:
        """Carry out a demand on the sessions of these bridges; returns the answer.

        A change is for hosts that a server has authorised.  A host that uses the address of one on
        another port does not prevent it.
        """
        error, found = self._find(demand, bridges)
        if error:
            self.counters[_REFUSALS[error]] += 1
            return demand.reply(error)
        for bridge, name, mac in found:
            with contextlib.suppress(InputError):  # the session has ended meanwhile
                self._act(bridge, name, mac, demand)
        again = "reauthenticated" if demand.change is None else "changed"
        self.counters["disconnected" if demand.ends else again] += 1
        return demand.reply()

    def _find(
        self, demand: Demand, bridges: Iterable[Bridge]
    ) -> tuple[int, list[tuple[Bridge, str, int]]]:
        """The Error-Cause, 0 for none, and the hosts: bridge, name of the port, MAC address."""
        if demand.unsupported:
            return UNSUPPORTED, []
        if demand.sessions == NO_SESSION_FILTER:
            return MISSING, []
        named = [bridge for bridge in bridges if demand.bridge in (None, bridge.name)]
        if not named:
            return OTHER_NAS, []
        change = demand.change
        found = [
            (bridge, name, mac)
            for bridge in named
            if demand.called in (None, bridge.address)
            for name, mac in bridge.port_access.matching(demand.sessions, change is not None)
        ]
        try:
            for bridge, name, mac in found:
                if change is not None:
                    bridge.port_access.changed_rights(name, mac, change)
        except InputError:
            return INVALID, []
        return 0 if found else NOT_FOUND, found

    def _clients(self, port: int, host: str) -> Iterator[tuple[Bridge, bytes]]:
        """The bridges that listen on this port and have this server, with their secrets."""
        for bridge in [*self._bridges.values()]:
            params = bridge.params.port_access
            if params is None or params.dynamic_port != port:
                continue
            if host in {place.host for place in places(params.servers)}:
                with contextlib.suppress(SecretError):
                    yield bridge, read_secret(params.secret_file)


def _listening(port: int) -> socket.socket:
    """A socket for IPv6 and IPv4; for IPv4 alone where the kernel has no IPv6.  Raises OSError."""
    try:
        opened = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    except OSError:  # the kernel was started with ipv6.disable=1
        opened, address = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), "0.0.0.0"
    else:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        address = "::"
    try:
        opened.bind((address, port))
    except OSError:
        opened.close()
        raise
    return opened
