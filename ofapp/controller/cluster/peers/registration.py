"""This member's record in etcd, which shows the others that it is present; one process has it.

Two processes with one member's name would take each other's switches, and when one ended, both
would count as gone.  So a record is only put if there is none, or one of this process, or of the
process before it: that one had the same state directory, which is locked while it runs.  Its lease
is revoked at once, so a restarted member need not wait for it.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from ofapp.controller.cluster.etcd.etcd import Etcd, EtcdError, Put, Record, modified
from ofapp.controller.member_events import CLUSTER_DUPLICATE, CLUSTER_DUPLICATE_CLEARED
from ofapp.controller.state.document import loads
from ofapp.controller.state.saving import Emit


class DuplicateError(EtcdError):
    """Another process runs under this member's name."""


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """Contents of a record besides the time.

    incarnation: the process; place: the machine and the state directory, empty where unknown.
    certificate: of the process, DER in base64.
    """

    address: str
    version: str
    incarnation: str
    place: str
    certificate: str = ""


class Registration:
    """Registration of one member.  key: of its record."""

    def __init__(self, etcd: Etcd, key: str, emit: Emit) -> None:
        self._etcd = etcd
        self._key = key
        self._name = key.rpartition("/")[2]
        self._emit = emit
        self._had = False
        self.duplicate = ""
        """Where another process runs under this name, in words; empty for none."""

    def put(self, own: MemberRecord, lease: int) -> None:
        """Register for as long as this lease lives; DuplicateError, EtcdError."""
        value = json.dumps({"since": time.time(), **asdict(own)}, separators=(",", ":")).encode()
        put, there = Put(self._key, value, lease), None
        while True:
            known = 0 if there is None else there.modified
            outcome = self._etcd.transact([modified(self._key, known)], [put])
            if outcome.done:
                break
            there = outcome.records[0] if outcome.records else None
            if there is not None:
                self._check(own, there)
        self._had = True
        if there is not None and there.lease not in (0, lease):
            self._etcd.revoke(there.lease)
        self._note("")

    # Inside

    def _check(self, own: MemberRecord, there: Record) -> None:
        """Raise DuplicateError if a record is of another process that may run."""
        try:
            fields = loads(there.value)
            incarnation, place = str(fields["incarnation"]), str(fields.get("place", ""))
            address = str(fields["address"])
        except (ValueError, TypeError, KeyError, AttributeError):
            incarnation = place = address = ""
        before = not self._had and own.place and place == own.place
        if not there.lease or incarnation == own.incarnation or before:
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
