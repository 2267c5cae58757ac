"""A session with snmpd, the master agent: registers bridges and answers requests.

Each bridge has an SNMP context of its name. A single bridge is also in the default context. Any
error ends the session, and another one begins.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ofapp.snmp import pdu
from ofapp.snmp.cache import Answers, Get
from ofapp.snmp.mibs import OWN_SUBTREES, SUBTREES, objects_of
from ofapp.snmp.objects import Objects
from ofapp.snmp.pdu import Error, Header, PduError, Request, Type, VarBind
from ofapp.snmp.values import END_OF_VIEW, NO_OBJECT

LOG = logging.getLogger(__name__)

MASTER = Path("/var/agentx/master")
"""Where Debian's snmpd listens with `master agentx`."""
TIMEOUT = 20
"""Seconds that the master may wait for an answer: a large forwarding database is read by then."""
LOOK = 10.0
"""Seconds between looks at which bridges there are."""
RETRY = 5.0
"""Seconds until another session is tried."""
MOST_BINDS = 1000
"""Most objects of one answer to GetBulk."""


class SessionError(Exception):
    """The session has ended: the master has gone, or does not want it."""


class Subagent:
    """get: asks the controller; it may raise what `failures` names when there is no answer."""

    def __init__(self, get: Get, failures: type[Exception], master: Path = MASTER) -> None:
        self._get = get
        self._failures = failures
        self._master = master

    def run(self) -> None:
        """For ever."""
        while True:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.connect(str(self._master))
                    AgentXSession(connection, self._get, self._failures).run()
            except (OSError, SessionError, PduError) as error:
                LOG.warning("no session with snmpd at %s: %s", self._master, error)
            time.sleep(RETRY)


class AgentXSession:
    """One connection."""

    def __init__(self, connection: socket.socket, get: Get, failures: type[Exception]) -> None:
        self._connection = connection
        self._get = get
        self._failures = failures
        self._session = self._packet = 0
        self._contexts: dict[bytes, Objects] = {}
        self._paths: dict[bytes, str] = {}

    def run(self) -> None:
        """Until it ends.  Raises SessionError, PduError and OSError."""
        self._connection.settimeout(TIMEOUT)
        header = self._ask(pdu.open_session("ofapp", TIMEOUT, self._next()))
        self._session = header.session
        LOG.info("snmpd has taken us in")
        while True:
            self._follow_bridges()
            due = time.monotonic() + LOOK
            while (left := due - time.monotonic()) > 0:
                self._connection.settimeout(left)
                try:
                    first = self._connection.recv(1)
                except TimeoutError:
                    break
                self._connection.settimeout(TIMEOUT)
                self._answer(*self._read(first))

    def _follow_bridges(self) -> None:
        """Register those that are new, and unregister those that are gone."""
        try:
            known = self._get("/v1/bridges", {})["bridges"]
        except self._failures as error:
            LOG.warning("%s", error)
            return
        paths = {
            bridge["name"].encode(): f"/v1/bridges/{bridge['datapath_id']}" for bridge in known
        }
        if len(paths) == 1:
            paths[b""] = next(iter(paths.values()))
        for context in [*self._paths]:
            if paths.get(context) != self._paths[context]:
                self._register(Type.UNREGISTER, context)
                del self._paths[context], self._contexts[context]
        for context, path in paths.items():
            if context not in self._paths:
                self._contexts[context] = objects_of(Answers(path, self._get), bool(context))
                self._paths[context] = path
                self._register(Type.REGISTER, context)

    def _register(self, type_: Type, context: bytes) -> None:
        for subtree in OWN_SUBTREES if context else SUBTREES:
            ids = self._session, 0, self._next()
            self._ask(pdu.register(type_, subtree, context, ids))

    # What goes to and fro

    def _next(self) -> int:
        self._packet += 1
        return self._packet

    def _ask(self, packet: bytes) -> Header:
        """Say something, and answer what is asked until the answer to it comes.

        Raises SessionError.
        """
        self._connection.sendall(packet)
        while True:
            header, payload = self._read()
            if header.type == Type.RESPONSE and header.packet == self._packet:
                error = pdu.read_response(header, payload)
                if error:
                    raise SessionError(f"snmpd refuses: {_word(error)}")
                return header
            self._answer(header, payload)

    def _read(self, begun: bytes = b"") -> tuple[Header, bytes]:
        if not begun and not (begun := self._connection.recv(1)):
            raise SessionError("snmpd has gone")
        header = pdu.read_header(begun + self._receive(pdu.HEADER - 1))
        return header, self._receive(header.length)

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._connection.recv(count - len(data))
            if not more:
                raise SessionError("snmpd has gone")
            data += more
        return data

    def _answer(self, header: Header, payload: bytes) -> None:
        if header.type == Type.CLOSE:
            raise SessionError("snmpd has closed it")
        if header.type in (Type.RESPONSE, Type.CLEANUP_SET):
            return
        if header.type == Type.TEST_SET:
            said = pdu.response(header, error=Error.NOT_WRITABLE, index=1)
        elif header.type in (Type.GET, Type.GET_NEXT, Type.GET_BULK):
            said = self._look_up(header, pdu.read_request(header, payload))
        else:
            said = pdu.response(header)
        self._connection.sendall(said)

    def _look_up(self, header: Header, request: Request) -> bytes:
        objects = self._contexts.get(request.context)
        if objects is None:
            return pdu.response(header, error=Error.UNSUPPORTED_CONTEXT)
        try:
            binds = _HOW[header.type](objects, request)
        except self._failures as error:
            LOG.warning("%s", error)
            return pdu.response(header, error=Error.PROCESSING)
        return pdu.response(header, binds)


def _get(objects: Objects, request: Request) -> list[VarBind]:
    return [VarBind(one.start, objects.get(one.start) or NO_OBJECT) for one in request.ranges]


def _get_next(objects: Objects, request: Request) -> list[VarBind]:
    return [_following(objects, one) for one in request.ranges]


def _get_bulk(objects: Objects, request: Request) -> list[VarBind]:
    """RFC 2741 7.2.3.3: some once, and the others again and again."""
    singles, repeated = request.ranges[: request.singles], request.ranges[request.singles :]
    binds = [_following(objects, one) for one in singles]
    for _ in range(request.repeats):
        if len(binds) + len(repeated) > MOST_BINDS:
            break
        row = [_following(objects, one) for one in repeated]
        binds += row
        repeated = [
            pdu.Range(bind.name, False, one.end) for bind, one in zip(row, repeated, strict=True)
        ]
        if all(bind.value == END_OF_VIEW for bind in row):
            break
    return binds


def _following(objects: Objects, one: pdu.Range) -> VarBind:
    following = objects.next(one.start, one.include, one.end)
    return VarBind(one.start, END_OF_VIEW) if following is None else VarBind(*following)


_HOW: Mapping[int, Callable[[Objects, Request], list[VarBind]]] = {
    Type.GET: _get,
    Type.GET_NEXT: _get_next,
    Type.GET_BULK: _get_bulk,
}


def _word(error: int) -> str:
    with suppress(ValueError):
        return Error(error).name.lower().replace("_", " ")
    return f"error {error}"
