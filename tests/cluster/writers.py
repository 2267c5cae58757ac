"""Who wrote to a switch, as the switch itself has it: from the log of what Open vSwitch received.

Each line bears a time and the controller that the connection leads to.  A message that changes the
switch is a *write* when the switch did not refuse it as a slave's; it does so also without a
member that would hear it, as when frames of a member that was cut off arrive late.  The rightful
writer follows from the role requests that the switch granted: the one it made MASTER last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_LINE = re.compile(
    r"^(?P<time>[0-9T:.-]+)Z\|\d+\|vconn\|DBG\|(?P<peer>\S+): (?P<way>received|sent \([^)]*\)):"
    r" OFP[TSR]+_(?P<kind>\w+)(?: reply)? \(OF1[.]3\) \(xid=(?P<xid>0x[0-9a-f]+)\):(?P<rest>.*)"
)
_CONNECTED = re.compile(r"\|rconn\|INFO\|[^|]*<->(?P<peer>\S+): connected$")
_WRITES = frozenset(
    ("FLOW_MOD", "GROUP_MOD", "METER_MOD", "PORT_MOD", "TABLE_MOD", "PACKET_OUT", "BUNDLE_CONTROL")
)
_ROLE = re.compile(r" role=(?P<role>\w+)(?: generation_id=(?P<generation>\d+))?")
_MASTER = ("master", "primary")


@dataclass(frozen=True, slots=True)
class Write:
    """time: seconds since the epoch; peer: tcp:HOST:PORT of the writer; said: the log's words;
    master: who was it then, as the switch had told; term: its generation_id."""

    time: float
    peer: str
    kind: str
    said: str
    master: str | None
    term: int


@dataclass(frozen=True, slots=True)
class Granted:
    """A role that the switch granted."""

    time: float
    peer: str
    role: str
    term: int


Master = tuple[str | None, int]
"""Whose connection is MASTER, and its term."""


class Log:
    """Of one ovs-vswitchd, whose `vconn` module logs all.

    It grows for hours: each line is read once for who is MASTER, and `size` remembers that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0
        self._master: Master = None, 0
        self._masters: dict[int, Master] = {0: self._master}

    def size(self) -> int:
        """How long it is now: what `read` begins after."""
        self.master()
        self._masters[self._end] = self._master
        return self._end

    def master(self) -> str | None:
        """Whose connection is MASTER now, as the switch has told it last."""
        for end, found in self._lines(self._end):
            self._end = end
            if found is not None:
                self._master = _master(self._master, found)
        return self._master[0]

    def read(self, after: int = 0) -> tuple[list[Write], list[Granted]]:
        """All writes that were taken, and all roles that were given, since what `size` gave."""
        roles: list[Granted] = []
        master = self._masters[after]
        writes: dict[tuple[str, str], list[Write]] = {}
        order: list[Write] = []
        refused: set[int] = set()
        for _, found in self._lines(after):
            if found is None:
                continue
            before, master = master, _master(master, found)
            if found.re is _CONNECTED:
                continue
            peer, kind, key = found["peer"], found["kind"], (found["peer"], found["xid"])
            moment = datetime.fromisoformat(found["time"] + "+00:00").timestamp()
            if found["way"] == "received":
                if kind in _WRITES:
                    one = Write(moment, peer, kind, found["rest"].strip(), *before)
                    writes.setdefault(key, []).append(one)
                    order.append(one)
            elif kind == "ERROR":
                # By OpenFlow's name, or by the one that Open vSwitch has for it since 2.15.
                if re.search("IS_SLAVE|IS_SECONDARY", found["rest"]) and key in writes:
                    refused.update(map(id, writes.pop(key)))
            elif kind == "ROLE_REPLY" and (role := _ROLE.search(found["rest"])):
                roles.append(Granted(moment, peer, role["role"], int(role["generation"] or 0)))
        return [one for one in order if id(one) not in refused], roles

    def _lines(self, after: int) -> Iterator[tuple[int, re.Match[str] | None]]:
        """Where each whole line ends, and what is known of it."""
        at = after
        with self._path.open("rb") as log:
            log.seek(after)
            for line in log:
                if not line.endswith(b"\n"):
                    return
                at += len(line)
                text = line.decode("utf-8", "replace").rstrip()
                yield at, _LINE.match(text) if "|vconn|DBG|" in text else _CONNECTED.search(text)


def _master(before: Master, found: re.Match[str]) -> Master:
    """After what such a line says."""
    peer = found["peer"]
    if found.re is _CONNECTED:  # a new connection has no owner yet
        return (None, before[1]) if before[0] == peer else before
    if found["way"] == "received" or found["kind"] != "ROLE_REPLY":
        return before
    role = _ROLE.search(found["rest"])
    if role is None:
        return before
    term = int(role["generation"] or 0)
    if role["role"] in _MASTER:
        return peer, term
    return (None, term) if before[0] == peer else before


def by_nobodys_leave(writes: list[Write]) -> list[Write]:
    """Writes of who was not MASTER when the switch took them."""
    return [write for write in writes if write.peer != write.master]
