"""Who is in the cluster: each member's record in etcd, which lives as long as its lease.

`register` is called by whoever has this member's lease, each time there is a new one.  Everything
else is heard of by a watch: so `candidates` is answered without asking anybody, and is the same at
every member but for what is under way.

A drained member has a record of its own that no lease ends: it stays drained when it is started
anew, and can be drained while it is away.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ofapp.bridge.event import Event, Severity
from ofapp.controller.cluster.etcd import Changes, Etcd, Put, Record, absent
from ofapp.controller.cluster.placement import Candidate
from ofapp.controller.cluster.signing import new_secret

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""Of a member: what a host's name may be, so that a certificate can name it."""

GONE_KNOWN = 3600.0
"""Seconds for which a member that has gone is still shown."""

Tell = Callable[[int | None, Event], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One of the cluster.

    address: http: or https: URL where other members ask it.
    lease: etcd's number; since: when it came, seconds since the epoch.
    gone: when its lease ended or was given up, by `time.monotonic`; None while it is there.
    """

    name: str
    address: str
    lease: int
    since: float
    version: str = ""
    drained: bool = False
    gone: float | None = None

    @property
    def state(self) -> Literal["ready", "drained", "gone"]:
        """In one word."""
        if self.gone is not None:
            return "gone"
        return "drained" if self.drained else "ready"


class Members:
    """Of one cluster.  own: this member; prefix: the cluster's part of etcd, with a slash."""

    def __init__(self, etcd: Etcd, prefix: str, own: str, tell: Tell) -> None:
        self.own = own
        self._address = ""
        self._registered: tuple[int, str] | None = None
        self._etcd = etcd
        self._prefix = prefix
        self._tell = tell
        self._members: dict[str, Member] = {}
        self._drained: set[str] = set()
        self._changed: list[Callable[[], None]] = []
        self._secret: bytes | None = None

    def start(self) -> None:
        """Hear of members from now on."""
        self._etcd.watch(f"{self._prefix}members/", self._heed_members)
        self._etcd.watch(f"{self._prefix}drained/", self._heed_drained)

    def on_change(self, heed: Callable[[], None]) -> None:
        """Call this when `candidates` may have changed."""
        self._changed.append(heed)

    def register(self, lease: int, version: str) -> None:
        """Be there for as long as this lease lives; EtcdError."""
        self._registered = lease, version
        record = {"address": self._address, "since": time.time(), "version": version}
        value = json.dumps(record, separators=(",", ":")).encode()
        self._etcd.put(f"{self._prefix}members/{self.own}", value, lease)

    def announce(self, address: str) -> None:
        """Where others ask this member from now on; EtcdError, and the next lease tells it."""
        self._address = address
        if self._registered is not None:
            self.register(*self._registered)

    def candidates(self) -> tuple[Candidate, ...]:
        """Who may look after switches."""
        return tuple(Candidate(one.name, one.drained) for one in self.all() if one.gone is None)

    def all(self) -> list[Member]:
        """Those that are there, and those that were until an hour ago, by name."""
        now = time.monotonic()
        for name, one in list(self._members.items()):
            if one.gone is not None and now - one.gone > GONE_KNOWN:
                del self._members[name]
        return [
            replace(one, drained=name in self._drained)
            for name, one in sorted(self._members.items())
        ]

    def get(self, name: str) -> Member | None:
        """The member of that name; None when there is none, or none any more."""
        found = self._members.get(name)
        return None if found is None or found.gone is not None else found

    def others(self) -> list[Member]:
        """Those that are there, but for this one."""
        return [one for one in self.all() if one.gone is None and one.name != self.own]

    def drain(self, name: str) -> None:
        """Have a member give up its switches, and take no others; EtcdError."""
        self._etcd.put(f"{self._prefix}drained/{name}", b"{}")

    def undrain(self, name: str) -> None:
        """Have it take its share again; EtcdError."""
        self._etcd.delete(f"{self._prefix}drained/{name}")

    def is_drained(self, name: str) -> bool:
        """Whether somebody has drained a member, be it there or not."""
        return name in self._drained

    def secret(self) -> bytes:
        """What members sign with; made by the first that asks for it.  EtcdError."""
        if self._secret is None:
            key = f"{self._prefix}secret"
            made = new_secret()
            outcome = self._etcd.transact([absent(key)], [Put(key, made)])
            self._secret = made if outcome.done else outcome.records[0].value
        return self._secret

    # Inside

    def _heed_members(self, changes: Changes) -> None:
        there = {_name(change.key) for change in changes.changes if change.record is not None}
        if changes.whole:
            for name in set(self._members) - there:
                self._lost(name)
        for change in changes.changes:
            if change.record is None:
                self._lost(_name(change.key))
            else:
                self._found(change.record)
        self._say()

    def _heed_drained(self, changes: Changes) -> None:
        before = set(self._drained)
        if changes.whole:
            self._drained.clear()
        for change in changes.changes:
            name = _name(change.key)
            if change.record is None:
                self._drained.discard(name)
            else:
                self._drained.add(name)
        for name in sorted(self._drained - before):
            what = f"member {name} is drained: it gives up its switches"
            self._tell(None, Event("cluster.drained", what, data={"member": name}))
        for name in sorted(before - self._drained):
            what = f"member {name} takes its share again"
            self._tell(None, Event("cluster.drained.cleared", what, data={"member": name}))
        self._say()

    def _found(self, record: Record) -> None:
        name = _name(record.key)
        if not NAME.fullmatch(name):
            return
        try:
            told = json.loads(record.value)
            address, since = str(told["address"]), float(told["since"])
            version = str(told.get("version", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        before = self._members.get(name)
        self._members[name] = Member(name, address, record.lease, since, version)
        if before is None or before.gone is not None:
            what = f"member {name} is there" + (f", at {address}" if address else "")
            severity = Severity.INFO
            self._tell(None, Event("cluster.member", what, severity, data={"member": name}))

    def _lost(self, name: str) -> None:
        before = self._members.get(name)
        if before is None or before.gone is not None:
            return
        self._members[name] = replace(before, gone=time.monotonic())
        what = f"member {name} has gone: its lease has ended, or it has stopped"
        event = Event("cluster.member.gone", what, Severity.WARNING, data={"member": name})
        self._tell(None, event)

    def _say(self) -> None:
        for heed in self._changed:
            heed()


def _name(key: str) -> str:
    return key.rpartition("/")[2]
