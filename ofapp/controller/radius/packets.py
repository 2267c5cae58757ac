"""RADIUS packets: requests with the attributes of RFC 3580, and answers that are signed.

This is the only module that imports pyrad.
Each request has a Message-Authenticator, and an answer without a valid one is refused: otherwise
others could forge an Access-Accept (CVE-2024-3596, BlastRADIUS).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from pyrad.packet import (
    AccessAccept,
    AccessChallenge,
    AccessReject,
    AcctPacket,
    AuthPacket,
    CoANAK,
    CoAPacket,
    CoARequest,
    DisconnectNAK,
    DisconnectRequest,
    PacketError,
)

from ofapp.bridge.effects import AccountSession, AskServer
from ofapp.bridge.mac import is_mac, parse_mac
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.status import SessionFilter
from ofapp.controller.radius.attributes import MOST_CLASSES, Attribute, Values, text

MOST = 4096
"""Octets of a packet (RFC 2865 3)."""
FRAMED_MTU = 1400
"""Octets of EAP that pass in one EAPOL frame; servers make fragments by it (RFC 3579 2.4)."""
_CHUNK = 253
_ETHERNET = 15
_FRAMED, _CALL_CHECK = 2, 10
_ACCOUNTING_RESPONSE = 5
_DIGEST = 16
"""Octets of a Message-Authenticator."""
WINDOW = 300
"""Seconds by which the time of a server's demand may differ (RFC 5176 6.3)."""
_OF_NO_SESSION = (
    *(Attribute.FRAMED_IP_ADDRESS, Attribute.FRAMED_INTERFACE_ID, Attribute.FRAMED_IPV6_PREFIX),
    Attribute.ACCT_MULTI_SESSION_ID,
)
"""Session identification attributes of RFC 5176 3 that are not compared here."""
_NO_HOST = -1
_UNREADABLE = (PacketError, ValueError, IndexError, KeyError, TypeError)

_VERDICTS: Mapping[int, Any] = {
    AccessAccept: "accept",
    AccessReject: "reject",
    AccessChallenge: "challenge",
}


class RefusedError(ValueError):
    """A packet that is no valid answer to its request; `reason` names its counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Request:
    """One Access-Request: `octets` are the same each time that it is sent (RFC 2865 2.5)."""

    def __init__(
        self, question: AskServer, bridge: str, address: int, identifier: int, secret: bytes
    ) -> None:
        """bridge, address: name and MAC address of the bridge.  identifier: 0 to 255."""
        packet = AuthPacket(
            id=identifier, secret=secret, authenticator=secrets.token_bytes(16), dict=None
        )
        packet.add_message_authenticator()
        values: dict[Attribute, list[bytes]] = {
            Attribute.USER_NAME: [question.user],
            Attribute.SERVICE_TYPE: [_number(_FRAMED if question.eap else _CALL_CHECK)],
            Attribute.FRAMED_MTU: [_number(FRAMED_MTU)],
            Attribute.ACCT_SESSION_ID: [question.ident.encode()],
            **_place(question.port, question.port_name, question.mac, bridge, address),
        }
        if question.state:
            values[Attribute.STATE] = [question.state]
        if question.eap:
            values[Attribute.EAP_MESSAGE] = [
                question.eap[at : at + _CHUNK] for at in range(0, len(question.eap), _CHUNK)
            ]
        else:
            values[Attribute.USER_PASSWORD] = [packet.PwCrypt(question.user)]
        self.octets = _written(packet, values)
        self._packet = packet

    def answer(self, octets: bytes) -> Answer:
        """Read the answer of a server.  Raises RefusedError for any other packet."""
        reply = _reply(self._packet, octets)
        verdict = _VERDICTS.get(reply.code)
        if verdict is None:
            raise RefusedError("unknown_code")
        values = _values(reply)
        signatures = _lengths(values, Attribute.MESSAGE_AUTHENTICATOR)
        if not signatures:
            raise RefusedError("unsigned")
        if signatures != [_DIGEST]:
            raise RefusedError("malformed")
        if not self._packet.VerifyReply(reply, octets, enforce_ma=True):
            raise RefusedError("invalid_signature")
        return values.answer(
            verdict,
            eap=values.joined(Attribute.EAP_MESSAGE),
            state=values.joined(Attribute.STATE),
            message=text(values.joined(Attribute.REPLY_MESSAGE)),
            classes=tuple(values.all(Attribute.CLASS))[:MOST_CLASSES],
        )


class Report:
    """One Accounting-Request (RFC 2866 4.1)."""

    def __init__(
        self, session: AccountSession, bridge: str, address: int, identifier: int, secret: bytes
    ) -> None:
        """The same arguments as those of `Request`."""
        packet = AcctPacket(id=identifier, secret=secret, dict=None)
        packet.add_message_authenticator()
        values: dict[Attribute, list[bytes]] = {
            Attribute.ACCT_STATUS_TYPE: [_number(session.status)],
            Attribute.USER_NAME: [session.user],
            Attribute.ACCT_SESSION_ID: [session.ident.encode()],
            Attribute.EVENT_TIMESTAMP: [_number(int(time.time()))],
            Attribute.ACCT_SESSION_TIME: [_number(session.seconds)],
            **_place(session.port, session.port_name, session.mac, bridge, address),
        }
        if session.cause:
            values[Attribute.ACCT_TERMINATE_CAUSE] = [_number(session.cause)]
        if session.classes:
            values[Attribute.CLASS] = [*session.classes]
        self.octets = _written(packet, values)
        self._packet = packet

    def answer(self, octets: bytes) -> bool:
        """Check that a server has taken the report.  Raises RefusedError for any other packet."""
        reply = _reply(self._packet, octets)
        if {*_lengths(_values(reply), Attribute.MESSAGE_AUTHENTICATOR)} - {_DIGEST}:
            raise RefusedError("malformed")
        if reply.code != _ACCOUNTING_RESPONSE:
            raise RefusedError("unknown_code")
        if not self._packet.VerifyReply(reply, octets):
            raise RefusedError("invalid_signature")
        return True


class Demand:
    """A Disconnect-Request or CoA-Request of a server (RFC 5176 3).

    ends: the session is to end.  change: what is to change; without it and `ends` the session is
    to be authorised again.
    sessions: which sessions are meant.  bridge, called: NAS-Identifier, and the bridge's address
    in Called-Station-Id; None without one.
    unsupported: it names sessions by attributes that no session here has, as Framed-IP-Address.
    """

    def __init__(self, octets: bytes, secret: bytes) -> None:
        """Raises RefusedError unless the packet is signed, and not old."""
        try:
            packet = CoAPacket(packet=octets, secret=secret, dict=None)
        except _UNREADABLE:
            raise RefusedError("malformed") from None
        if packet.code not in (DisconnectRequest, CoARequest):
            raise RefusedError("unknown_code")
        whole = octets[: int.from_bytes(octets[2:4], "big")]
        packet.raw_packet = whole
        if len(whole) != len(octets) or not packet.VerifyCoARequest():
            raise RefusedError("invalid_signature")
        values = _values(packet)
        signatures = _lengths(values, Attribute.MESSAGE_AUTHENTICATOR)
        if signatures and (signatures != [_DIGEST] or not packet.verify_message_authenticator()):
            raise RefusedError("invalid_signature")
        stamp = values.number(Attribute.EVENT_TIMESTAMP)
        if stamp is None or abs(time.time() - stamp) > WINDOW:
            raise RefusedError("not_fresh")
        self.ends = packet.code == DisconnectRequest
        change = values.answer("accept")
        self.change = None if self.ends or change == Answer("accept") else change
        self.bridge = values.text(Attribute.NAS_IDENTIFIER)
        self.called = _mac(values.text(Attribute.CALLED_STATION_ID))
        self.sessions = SessionFilter(
            values.text(Attribute.ACCT_SESSION_ID),
            _mac(values.text(Attribute.CALLING_STATION_ID)),
            next(iter(values.all(Attribute.USER_NAME)), None),
            values.number(Attribute.NAS_PORT),
            values.text(Attribute.NAS_PORT_ID),
        )
        self.unsupported = any(values.all(key) for key in _OF_NO_SESSION)
        self._packet = packet

    def reply(self, error: int = 0) -> bytes:
        """The answer: done, or the cause of an error (RFC 5176 3.5)."""
        reply = self._packet.CreateReply()
        reply.add_message_authenticator()
        if error:
            reply.code = DisconnectNAK if self.ends else CoANAK
            reply[int(Attribute.ERROR_CAUSE)] = [_number(error)]
        octets: bytes = reply.ReplyPacket()
        return octets


def _written(packet: Any, values: Mapping[Attribute, list[bytes]]) -> bytes:
    """The octets of a request with these attributes."""
    for key, value in values.items():
        packet[int(key)] = value
    octets: bytes = packet.RequestPacket()
    return octets


def _reply(packet: Any, octets: bytes) -> Any:
    """The answer to a request, not checked yet.  Raises RefusedError."""
    try:
        return packet.CreateReply(packet=octets)
    except _UNREADABLE:
        raise RefusedError("malformed") from None


def _lengths(values: Values, key: Attribute) -> list[int]:
    return [len(value) for value in values.all(key)]


def _place(
    port: int, name: str, mac: int, bridge: str, address: int
) -> dict[Attribute, list[bytes]]:
    """Where a host is, as RFC 3580 3 has it.  bridge, address: name and MAC of the bridge."""
    return {
        Attribute.NAS_IDENTIFIER: [bridge.encode()[:_CHUNK]],
        Attribute.NAS_PORT: [_number(port)],
        Attribute.NAS_PORT_ID: [name.encode()[:_CHUNK]],
        Attribute.NAS_PORT_TYPE: [_number(_ETHERNET)],
        Attribute.CALLED_STATION_ID: [_station(address)],
        Attribute.CALLING_STATION_ID: [_station(mac)],
    }


def _values(packet: Any) -> Values:
    return Values(dict(dict.items(packet)))


def _mac(station: str | None) -> int | None:
    """The address in such an attribute; one that no host has if it cannot be read."""
    if station is None:
        return None
    return parse_mac(station) if is_mac(station) else _NO_HOST


def _number(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "big")


def _station(mac: int) -> bytes:
    """A MAC address as RFC 3580 3.20 and 3.21 have it."""
    return mac.to_bytes(6, "big").hex("-").upper().encode()
