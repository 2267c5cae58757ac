"""Who wrote to a switch, as the switch itself has it: from the log of what Open vSwitch received.

Each line bears a time and the controller that the connection leads to.  A message that changes the
switch is a *write* when the switch did not refuse it as a slave's; it does so also where nobody is
there any more to hear it, as when what a member had sent before it was cut off arrives late.  Whose
turn it is follows from the role requests that it granted: whoever it made MASTER last.
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
_SLAVE = ("slave", "secondary")


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
    """A role that the switch gave somebody."""

    time: float
    peer: str
    role: str
    term: int


class Log:
    """Of one ovs-vswitchd, whose `vconn` module logs all."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def size(self) -> int:
        """How long it is now: what `read` begins after."""
        return self._path.stat().st_size

    def master(self) -> str | None:
        """Whose connection is MASTER now, as the switch has told it last."""
        return self._read(0)[2]

    def read(self, after: int = 0) -> tuple[list[Write], list[Granted]]:
        """All writes that were taken, and all roles that were given, since."""
        writes, roles, _ = self._read(after)
        return writes, roles

    def _read(self, after: int) -> tuple[list[Write], list[Granted], str | None]:
        roles: list[Granted] = []
        master: tuple[str | None, int] = (None, 0)
        writes: dict[tuple[str, str], list[Write]] = {}
        order: list[Write] = []
        refused: set[int] = set()
        for at, found in self._lines():
            if found.re is _CONNECTED:
                if master[0] == found["peer"]:
                    master = (None, master[1])  # a new connection is nobody's yet
                continue
            peer, kind, key = found["peer"], found["kind"], (found["peer"], found["xid"])
            if found["way"] == "received":
                if kind in _WRITES and at >= after:
                    moment = datetime.fromisoformat(found["time"] + "+00:00").timestamp()
                    one = Write(moment, peer, kind, found["rest"].strip(), *master)
                    writes.setdefault(key, []).append(one)
                    order.append(one)
            elif kind == "ERROR":
                # By OpenFlow's name, or by the one that Open vSwitch has for it since 2.15.
                if re.search("IS_SLAVE|IS_SECONDARY", found["rest"]) and key in writes:
                    refused.update(map(id, writes.pop(key)))
            elif kind == "ROLE_REPLY" and (role := _ROLE.search(found["rest"])):
                moment = datetime.fromisoformat(found["time"] + "+00:00").timestamp()
                term = int(role["generation"] or 0)
                if role["role"] in _MASTER:
                    master = (peer, term)
                elif master[0] == peer:
                    master = (None, term)
                if at >= after:
                    roles.append(Granted(moment, peer, role["role"], term))
        return [one for one in order if id(one) not in refused], roles, master[0]

    def _lines(self) -> Iterator[tuple[int, re.Match[str]]]:
        at = 0
        with self._path.open("rb") as log:
            for line in log:
                text = line.decode("utf-8", "replace").rstrip()
                if "|vconn|DBG|" in text:
                    found = _LINE.match(text)
                else:
                    found = _CONNECTED.search(text)
                if found:
                    yield at, found
                at += len(line)


def by_nobodys_leave(writes: list[Write]) -> list[Write]:
    """Writes of who was not MASTER when the switch took them."""
    return [write for write in writes if write.peer != write.master]
