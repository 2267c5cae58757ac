"""Answers of RADIUS servers, the rights that they give a host, and grants.

VLANs are those of RFC 3580 3.31 (Tunnel-Private-Group-ID) and RFC 4675 2.1 and 2.3 (Egress-VLANID,
Egress-VLAN-Name), an access list is named by Filter-Id (RFC 2865 5.11), and rates are
WISPr-Bandwidth-Max-Up and -Down.  Rights that cannot be given here are an error: with others than
the server means a host would reach too much or too little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.vlan import NO_VLAN, PortVlans

LEAST_RATE, MOST_RATE = 64, 100_000_000
"""Limits of a rate in kbit/s, those of the parameters `rate_in` and `rate_out`."""


UNCLEAR = -1
"""A number of the server that does not have 32 bits, or differs from another one."""


class Egress(NamedTuple):
    """One more VLAN of a port.  vlan: VID or name."""

    tagged: bool
    vlan: str


class Rights(NamedTuple):
    """What an authorised host has.

    vid: VLAN of untagged frames, None for the port's own; tagged, untagged: further VLANs.
    acl: access list for the host's frames, empty for the port's own.
    rate_in, rate_out: most kbit/s that may come in and leave by the port; None for the port's own.
    """

    vid: int | None = None
    tagged: tuple[int, ...] = ()
    untagged: tuple[int, ...] = ()
    acl: str = ""
    rate_in: int | None = None
    rate_out: int | None = None

    def vlans(self, own: PortVlans) -> PortVlans | None:
        """The VLANs of a port with one host; None: its own.  own: those that are configured."""
        if self.vid is None and not self.tagged and not self.untagged:
            return None
        native = self.vid or (self.untagged[0] if self.untagged else own.pvid)
        members = {native, *self.tagged, *self.untagged} - {NO_VLAN}
        untagged = members - {*self.tagged}
        return PortVlans(frozenset(members), frozenset(untagged), native, bool(self.tagged))

    def as_data(self) -> dict[str, object]:
        """The rights as JSON-serialisable data."""
        vlans = {"vlan": self.vid, "tagged": [*self.tagged], "untagged": [*self.untagged]}
        rates = {"rate_in": self.rate_in, "rate_out": self.rate_out}
        return {**vlans, "acl": self.acl or None, **rates}

    def in_words(self) -> str:
        """The rights as they follow a sentence."""
        words = [
            "" if self.vid is None else f" in VLAN {self.vid}",
            f", VLANs {_list(self.untagged)} untagged" if self.untagged else "",
            f", VLANs {_list(self.tagged)} tagged" if self.tagged else "",
            f", with access list {self.acl}" if self.acl else "",
            "" if self.rate_in is None else f", with rate_in {self.rate_in} kbit/s",
            "" if self.rate_out is None else f", with rate_out {self.rate_out} kbit/s",
        ]
        return "".join(words)


NO_RIGHTS = Rights()

METHODS = ("dot1x", "mab")
"""Methods of authentication; other grants are fallbacks."""


class Grant(NamedTuple):
    """Why and how a host is authorised.

    method: dot1x, mab, or the fallback: guest, auth_fail, critical.
    """

    method: str
    rights: Rights = NO_RIGHTS

    @property
    def by_server(self) -> bool:
        """Whether a server gave it, and it is no fallback."""
        return self.method in METHODS


NO_ANSWER = "no server answers"
"""Why a host waits that no server has refused."""
LOGGED_OFF = "the host has logged off"
OTHER_USER = "another user is authenticated"
MOVED = "the host is on another port now"
IDLE = "it has sent nothing for the ageing time"
TIMED_OUT = "its Session-Timeout has passed"
CLEARED = "an operator has cleared it"
"""Reasons of an end that have consequences; to accounting all others are a lost carrier."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server to one question; silent: there is none.

    eap: the EAP message for the host; state: what the next question must have (RFC 2865 5.24).
    message: Reply-Message, or why no server could be asked; vlan: VID or name, empty for none.
    timeout: Session-Timeout in seconds, None without one, or `UNCLEAR`.
    again: Termination-Action is to authenticate again, not to end the session (RFC 2865 5.29).
    classes: for accounting.
    egress: further VLANs; filters: each Filter-Id.
    up, down: bits per second from the host and to it, None without such a rate; or `UNCLEAR`.
    """

    verdict: Literal["accept", "reject", "challenge", "silent"]
    eap: bytes = b""
    state: bytes = b""
    message: str = ""
    vlan: str = ""
    timeout: int | None = None
    again: bool = False
    classes: tuple[bytes, ...] = ()
    egress: tuple[Egress, ...] = ()
    filters: tuple[str, ...] = ()
    up: int | None = None
    down: int | None = None

    def rights(
        self, own: PortVlans, each_host: bool, params: BridgeParams, before: Rights = NO_RIGHTS
    ) -> Rights:
        """The rights that it gives, with those of `before` where it says nothing.

        own: the port's VLANs, as configured; each_host: the port has `host_mode: multi_auth`.
        Raises InputError, whose field is the attribute.
        """
        if self.timeout == UNCLEAR:
            raise _unclear("Session-Timeout")
        if each_host and self.egress:
            raise InputError("Egress-VLANID", "with multi_auth a host has one VLAN")
        rates = {"WISPr-Bandwidth-Max-Up": self.up, "WISPr-Bandwidth-Max-Down": self.down}
        for name, rate in rates.items():
            if each_host and rate is not None:
                raise InputError(name, "with multi_auth no host sets a rate of the port")
            if rate == UNCLEAR:
                raise _unclear(name)
        if each_host and self.vlan and own.transparent:
            raise InputError("VLAN", "with multi_auth hosts have VLANs only where the port has")
        names = {name: vid for vid, name in params.vlan_names.items()}
        found = before
        if self.vlan:
            found = found._replace(vid=_vid(self.vlan, names))
        if self.egress:
            tagged, untagged = (
                tuple(sorted({_vid(vlan, names) for its, vlan in self.egress if its is wanted}))
                for wanted in (True, False)
            )
            if both := {*tagged} & {*untagged}:
                raise InputError("Egress-VLANID", f"VLAN {min(both)} is tagged and untagged")
            if found.vid is None and len(untagged) > 1:
                raise InputError("Egress-VLANID", "several VLANs are untagged, and none is native")
            found = found._replace(tagged=tagged, untagged=untagged)
        if self.filters:
            found = found._replace(acl=self._list(params))
        if self.up is not None:
            found = found._replace(rate_in=_kbits(self.up))
        if self.down is not None:
            found = found._replace(rate_out=_kbits(self.down))
        return found

    def _list(self, params: BridgeParams) -> str:
        if len(self.filters) > 1:
            raise InputError("Filter-Id", "the server names several access lists")
        (name,) = self.filters
        if name not in params.policies.acls:
            raise InputError("Filter-Id", f"access list {name!r} of the server does not exist here")
        return name


def _vid(vlan: str, names: Mapping[str, int]) -> int:
    vid = names.get(vlan)
    if vid is None and vlan.isascii() and vlan.isdigit() and len(vlan) <= 4:
        vid = int(vlan)
    if vid is None or not 1 <= vid <= 4094:
        raise InputError("VLAN", f"VLAN {vlan!r} of the server does not exist here")
    return vid


def _unclear(name: str) -> InputError:
    return InputError(name, f"the server sends several values of {name}, or no number")


def _kbits(rate: int) -> int:
    return min(max(rate // 1000, LEAST_RATE), MOST_RATE)


def _list(vids: tuple[int, ...]) -> str:
    return ", ".join(map(str, vids))
