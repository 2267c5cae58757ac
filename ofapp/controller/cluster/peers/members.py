"""Members of the cluster: each has a record in etcd, which lives as long as its lease.

The keeper of this member's lease calls `register` each time there is a new one.  Everything else is
learned by a watch: so `candidates` needs no request, and is the same at every member except for
changes that are under way.

A drained member has a separate record without a lease: it stays drained when it is restarted, and
can be drained while it is disconnected.

Two processes with one member's name would take each other's switches, and when one ended, both
would count as gone.  So a record is only put if there is none, or one of this process, or of the
process before it: that one had the same state directory, which is locked while it runs.  Its lease
is revoked at once, so a restarted member need not wait for it.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Literal

from ofapp.bridge.event import Severity
from ofapp.common import hub
from ofapp.controller.cluster.election.placement import Candidate
from ofapp.controller.cluster.etcd.etcd import Etcd, EtcdError, Put, Record, WatchResponse, modified
from ofapp.controller.cluster.etcd.values import b64, moment, unbase64
from ofapp.controller.cluster.peers.identity import Identity, fingerprint
from ofapp.controller.member_events import (
    CLUSTER_DRAINED,
    CLUSTER_DRAINED_CLEARED,
    CLUSTER_DUPLICATE,
    CLUSTER_DUPLICATE_CLEARED,
    CLUSTER_MEMBER,
    CLUSTER_MEMBER_GONE,
)
from ofapp.controller.state.document import loads
from ofapp.controller.state.saving import Emit


class DuplicateError(EtcdError):
    """Another process runs under this member's name."""


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """Contents of a record besides the time.

    incarnation: the process; place: the machine and the state directory, empty where unknown.
    certificate: certificate of the process, DER in base64.
    """

    address: str
    version: str
    incarnation: str
    place: str
    certificate: str = ""


class Registration:
    """Registration of one member.  key: key of its record."""

    def __init__(self, etcd: Etcd, key: str, emit: Emit) -> None:
        self._etcd = etcd
        self._key = key
        self._name = key.rpartition("/")[2]
        self._emit = emit
        self._had = False
        self.duplicate = ""
        """Where another process runs under this name, in words; empty for none."""

    def put(self, record: MemberRecord, lease: int) -> None:
        """Register for as long as this lease lives.  Raises DuplicateError and EtcdError."""
        value = json.dumps({"since": time.time(), **asdict(record)}, separators=(",", ":")).encode()
        put, there = Put(self._key, value, lease), None
        while True:
            known = 0 if there is None else there.modified
            outcome = self._etcd.transact([modified(self._key, known)], [put])
            if outcome.done:
                break
            there = outcome.records[0] if outcome.records else None
            if there is not None:
                self._check(record, there)
        self._had = True
        if there is not None and there.lease not in (0, lease):
            self._etcd.revoke(there.lease)
        self._note("")

    # Inside

    def _check(self, mine: MemberRecord, there: Record) -> None:
        """Raise DuplicateError if a record is of another process that may run."""
        try:
            fields = loads(there.value)
            incarnation, place = str(fields["incarnation"]), str(fields.get("place", ""))
            address = str(fields["address"])
        except (ValueError, TypeError, KeyError, AttributeError):
            incarnation = place = address = ""
        before = not self._had and mine.place and place == mine.place
        if not there.lease or incarnation == mine.incarnation or before:
            return
        self._note(f"at {address}" if address else "elsewhere")
        raise DuplicateError(f"another process goes by the name {self._name}, {self.duplicate}")

    def _note(self, duplicate: str) -> None:
        before, self.duplicate = self.duplicate, duplicate
        data = {"member": self._name}
        if duplicate and not before:
            message = (
                f"another process goes by the name {self._name}, {duplicate}: this one takes no"
                " switch until that has ended; start one of them with another --member"
            )
            self._emit(None, CLUSTER_DUPLICATE.event(message, data=data))
        elif before and not duplicate:
            message = f"this process alone goes by the name {self._name} again"
            self._emit(None, CLUSTER_DUPLICATE_CLEARED.event(message, data=data))


NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""Name of a member: at most 63 characters, as a host's name."""

SECRET_OCTETS = 32

AWAITED = 3.0
"""Seconds for members to register again in another history of etcd: until then no member claims
switches that may fall to them."""

GONE_KNOWN = 3600.0
"""Seconds for which a member that has gone is still shown."""

State = Literal["ready", "drained", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """One member of the cluster.

    address: http: or https: URL for requests of other members.
    lease: its ID in etcd; since: when it joined, seconds since the epoch.
    gone: when its lease ended or was given up, by `time.monotonic`; None while it is present.
    certificate: certificate of its process, DER; empty before version 0.3.
    awaited: it was present before etcd was wiped or restored, and has not registered again yet.
    """

    name: str
    address: str
    lease: int
    since: float
    version: str = ""
    certificate: bytes = b""
    drained: bool = False
    gone: float | None = None
    awaited: bool = False

    @property
    def state(self) -> State:
        """The member's state in one word."""
        if self.gone is not None:
            return "gone"
        if self.awaited:
            return "unknown"
        return "drained" if self.drained else "ready"


class Members:
    """The members of one cluster.

    own: this member; identity: identity of its process; prefix: prefix of the cluster's keys, with
    a slash.
    place: see `registration.MemberRecord`.
    """

    def __init__(self, etcd: Etcd, prefix: str, own: str, emit: Emit, place: str = "") -> None:
        self.own = own
        self.registration = Registration(etcd, f"{prefix}members/{own}", emit)
        self._place = place
        self.identity = Identity(own)
        self._address = ""
        self._registered: tuple[int, str] | None = None
        self._etcd = etcd
        self._prefix = prefix
        self._emit = emit
        self._members: dict[str, ClusterMember] = {}
        self._drained: set[str] = set()
        self._changed: list[Callable[[], None]] = []
        self._secret: bytes | None = None
        self._awaited: set[str] = set()

    def start(self) -> None:
        """Watch members from now on."""
        self._etcd.watch(f"{self._prefix}members/", self._handle_members)
        self._etcd.watch(f"{self._prefix}drained/", self._handle_drained)
        self._etcd.watch(f"{self._prefix}secret", self._handle_secret)

    def forget(self) -> None:
        """Wait for all members to register again, as etcd has another history."""
        self._awaited = {one.name for one in self._members.values() if one.gone is None}

    def on_change(self, handle: Callable[[], None]) -> None:
        """Call this when `candidates` may have changed."""
        self._changed.append(handle)

    def register(self, lease: int, version: str) -> None:
        """Register this member for as long as this lease lives.  Raises EtcdError."""
        self._registered = lease, version
        certificate = self.identity.certificate
        incarnation = fingerprint(certificate)[:16]
        record = MemberRecord(self._address, version, incarnation, self._place, b64(certificate))
        self.registration.put(record, lease)

    def announce(self, address: str) -> None:
        """Publish the address for requests of others; on EtcdError, it goes with the next lease."""
        self._address = address
        if self._registered is not None:
            self.register(*self._registered)

    def candidates(self) -> tuple[Candidate, ...]:
        """Members that may own switches."""
        return tuple(
            Candidate(one.name, one.drained)
            for one in self.all()
            if one.gone is None and not one.awaited
        )

    def all(self) -> list[ClusterMember]:
        """Present members, and those that left within the last hour, by name."""
        now = time.monotonic()
        for name, one in list(self._members.items()):
            if one.gone is not None and now - one.gone > GONE_KNOWN:
                del self._members[name]
        return [
            replace(one, drained=name in self._drained, awaited=name in self._awaited)
            for name, one in sorted(self._members.items())
        ]

    def get(self, name: str) -> ClusterMember | None:
        """The present member of that name; None if there is none."""
        member = self._members.get(name)
        return None if member is None or member.gone is not None else member

    @property
    def awaited(self) -> bool:
        """Whether members have yet to register again in another history of etcd."""
        return bool(self._awaited)

    def others(self) -> list[ClusterMember]:
        """Present members except this one."""
        return [one for one in self.all() if one.gone is None and one.name != self.own]

    def drain(self, name: str) -> None:
        """Have a member give up its switches, and claim no others.  Raises EtcdError."""
        self._etcd.put(f"{self._prefix}drained/{name}", b"{}")

    def undrain(self, name: str) -> None:
        """Have a member claim its share of switches again.  Raises EtcdError."""
        self._etcd.delete(f"{self._prefix}drained/{name}")

    def is_drained(self, name: str) -> bool:
        """Whether a member is drained, present or not."""
        return name in self._drained

    def secret(self) -> bytes:
        """Return the secret that all members share for LLDP; made at the first use.  EtcdError."""
        known = 0
        while self._secret is None:
            made = secrets.token_bytes(SECRET_OCTETS)
            known = self._put_secret(made, known)
        return self._secret

    # Inside

    def _put_secret(self, secret: bytes, known: int) -> int:
        """Store a secret, unless there is a valid one; known: the revision of an invalid one.

        Returns the revision of the one in etcd.  EtcdError.
        """
        key = f"{self._prefix}secret"
        outcome = self._etcd.transact([modified(key, known)], [Put(key, secret)])
        if outcome.done:
            self._secret = secret
            return outcome.revision
        there = outcome.records[0] if outcome.records else None
        if there is not None and len(there.value) == SECRET_OCTETS:
            self._secret = there.value
        return 0 if there is None else there.modified

    def _handle_secret(self, changes: WatchResponse) -> None:
        """Take over a new secret; restore the known one if it was deleted or made invalid."""
        for _, record, revision in changes.changes:
            if record is not None and len(record.value) == SECRET_OCTETS:
                self._secret = record.value
            elif self._secret is not None:
                hub.spawn(self._restore_secret, self._secret, 0 if record is None else revision)

    def _restore_secret(self, secret: bytes, known: int) -> None:
        with contextlib.suppress(EtcdError):
            self._put_secret(secret, known)

    def _handle_members(self, changes: WatchResponse) -> None:
        there = {_name(change.key) for change in changes.changes if change.record is not None}
        if changes.anew:
            self._secret = None
            self._awaited -= there
            hub.spawn_after(AWAITED, self._await_no_more)
        elif changes.whole:
            for name in set(self._members) - there:
                self._lost(name)
        for change in changes.changes:
            if change.record is None:
                self._lost(_name(change.key))
            else:
                self._found(change.record)
        registered = 0 if self._registered is None else self._registered[0]
        if any(
            _name(change.key) == self.own
            and (change.record is None or change.record.lease != registered)
            for change in changes.changes
        ):
            hub.spawn(self._register_again, registered)
        self._notify()

    def _register_again(self, lease: int) -> None:
        """Restore a record that was deleted or replaced, although its lease may live."""
        if self._registered is not None and self._registered[0] == lease:
            with contextlib.suppress(EtcdError):
                self.register(*self._registered)

    def _handle_drained(self, changes: WatchResponse) -> None:
        before = set(self._drained)
        if changes.whole:
            self._drained.clear()
        for change in changes.changes:
            name = _name(change.key)
            if change.record is None:
                self._drained.discard(name)
            elif NAME.fullmatch(name):
                self._drained.add(name)
        for name in sorted(self._drained - before):
            what = f"member {name} is drained: it gives up its switches"
            self._emit(None, CLUSTER_DRAINED.event(what, data={"member": name}))
        for name in sorted(before - self._drained):
            what = f"member {name} takes its share again"
            self._emit(None, CLUSTER_DRAINED_CLEARED.event(what, data={"member": name}))
        self._notify()

    def _found(self, record: Record) -> None:
        name = _name(record.key)
        if not NAME.fullmatch(name) or not record.lease:
            return
        self._awaited.discard(name)
        try:
            fields = loads(record.value)
            address, since = str(fields["address"]), moment(fields["since"])
            version = str(fields.get("version", ""))
            certificate = unbase64(fields.get("certificate"))
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        before = self._members.get(name)
        self._members[name] = ClusterMember(
            name, address, record.lease, since, version, certificate
        )
        if before is None or before.gone is not None:
            what = f"member {name} is there" + (f", at {address}" if address else "")
            severity = Severity.INFO
            self._emit(None, CLUSTER_MEMBER.event(what, data={"member": name}, severity=severity))

    def _lost(self, name: str) -> None:
        before = self._members.get(name)
        if before is None or before.gone is not None:
            return
        self._members[name] = replace(before, gone=time.monotonic())
        what = f"member {name} has gone: its lease has ended, or it has stopped"
        event = CLUSTER_MEMBER_GONE.event(what, data={"member": name})
        self._emit(None, event)

    def _await_no_more(self) -> None:
        awaited, self._awaited = self._awaited, set()
        for name in sorted(awaited):
            self._lost(name)
        self._notify()

    def _notify(self) -> None:
        for handle in self._changed:
            handle()


def _name(key: str) -> str:
    return key.rpartition("/")[2]
