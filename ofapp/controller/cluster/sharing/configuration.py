"""The configuration of all members: offered to all, then one revision for all, in etcd.

`offered` is a configuration to be pushed, one at a time.  Each member checks it and writes into its
record what is wrong with it; an earlier version of ofapp may not know an option.  Only when all
present members have accepted this offer does it become `current`, in one transaction.  From then on
it is in force: members get it by their watch, and apply it as a whole.  One that was off applies
it when it is back.  One that cannot keeps its configuration, and reports it as an event and in its
record.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.config import Config, ConfigError
from ofapp.controller.cluster.etcd.etcd import (
    Change,
    Delete,
    Etcd,
    EtcdError,
    Put,
    Record,
    UnreachableError,
    WatchResponse,
    modified,
)
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.etcd.values import moment
from ofapp.controller.configuration.pushed import (
    MemberReport,
    Outcome,
    Pushed,
    PushError,
    UncertainError,
)
from ofapp.controller.member_events import CONFIG_BEHIND, CONFIG_DIFFERS
from ofapp.controller.state.document import loads
from ofapp.controller.state.saving import Emit

LOG = rate_limited(__name__)

PATIENCE = 5.0
"""Seconds to wait for the members' answers."""

REPEAT = 1.0
"""Seconds between checks of this member's record."""

BUSY = "another configuration was pushed or tried at the same time: look at that first"

MOST = 1 << 20
"""Octets of a configuration in etcd."""


@dataclass(frozen=True, slots=True)
class _Status:
    """A member's record.

    offered: the revision of the last offer that it has checked; wrong: the faults of that.
    """

    member: MemberReport
    offered: int = 0
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class LocalConfiguration:
    """Operations of the rest of this controller on a configuration.

    apply: ConfigError; check: dry run, ConfigError; filed: the configuration of the local
    file, None without one; lease: lease of this member, 0 for none.
    """

    apply: Callable[[Pushed], object]
    check: Callable[[Pushed, bool], object]
    filed: Callable[[], Config | None]
    lease: Callable[[], int]


class SharedConfiguration:
    """`controller.pushed.Sharing`.  own: this member's name; current: in etcd.  EtcdError."""

    def __init__(self, etcd: Etcd, keys: Keys, own: str, emit: Emit) -> None:
        self._etcd = etcd
        self._keys = keys
        self._emit = emit
        self._status = _Status(MemberReport(own, None))
        self._published: tuple[_Status, int] | None = None
        self._others: dict[str, _Status] = {}
        self._local: LocalConfiguration | None = None
        self._pushing = self._offered = False
        self.current = _pushed(etcd.get(keys.current))
        self.taken: Pushed | None = None
        """The configuration with which this member started."""

    def begin(self) -> Config | None:
        """The configuration to start with; None: that of the local file."""
        if self.current is None:
            return None
        try:
            config = self.current.config()
        except ConfigError as error:
            self._report_failure(self.current, error)
            return None
        self.taken = self.current
        self._update(revision=self.current.revision, error="")
        return config

    def start(self, local: LocalConfiguration) -> None:
        """Watch pushed configurations from now on."""
        self._local = local
        self._compare()
        self._etcd.watch(self._keys.configuration, self._apply_changes)
        self._etcd.watch(self._keys.running, self._read_statuses)
        hub.keep(lambda _error: None, self._repeat)  # the error has been logged

    @property
    def own(self) -> str:
        """See `Sharing`."""
        return self._status.member.name

    def members(self) -> tuple[MemberReport, ...]:
        """See `Sharing`."""
        return tuple(status.member for _, status in sorted(self._others.items()))

    def push(self, pushed: Pushed, dry_run: bool, force: bool) -> Outcome:
        """See `Sharing`."""
        assert self._local is not None
        self._local.check(pushed, force)
        value = value_of(pushed)
        if len(value) > MOST:
            raise PushError(f"it has {len(value)} octets, and {MOST} at most fit into etcd")
        if self._pushing:
            raise PushError(BUSY)
        self._pushing = True
        try:
            revision = self._push(value, dry_run, force)
        finally:
            self._pushing = False
        if revision is not None:
            self._wait(lambda its: bool(its.member.error) or its.member.revision == revision)
        return Outcome(revision, self.members())

    # Inside

    def _push(self, value: bytes, dry_run: bool, force: bool) -> int | None:
        """Push, and return the revision, None for a dry run.

        Raises PushError and UncertainError.
        """
        done, uncertain, before = None, False, 0
        try:
            before = self._replaced()
            offer = self._offer(value)
            self._await_verdicts(offer, force)
            if not dry_run:
                was = modified(self._keys.current, before), modified(self._keys.offered, offer)
                then = Put(self._keys.current, value), Delete(self._keys.offered)
                done = self._etcd.transact(was, then)
        except UnreachableError as error:
            uncertain = error.maybe
            if not uncertain:
                raise PushError(f"it was not pushed: {error}") from None
        except EtcdError as error:
            raise PushError(f"it was not pushed: {error}") from None
        finally:
            if done is None or not done.done:
                self._withdraw()
        if uncertain:
            return self._find_out(value, before)
        if done is not None and not done.done:
            raise PushError(BUSY)
        return None if done is None else done.revision

    def _replaced(self) -> int:
        """The revision that a push replaces.  Raises EtcdError.

        It is the one this member knows, unless that was deleted or is not valid in etcd.
        """
        there = self._etcd.get(self._keys.current)
        if self.current is not None and _pushed(there) is not None:
            return self.current.revision
        return 0 if there is None or _pushed(there) is not None else there.modified

    def _offer(self, value: bytes) -> int:
        """Offer it to all members; returns the offer's revision.  EtcdError, PushError.

        There is one offer at a time, under the lease of the member that makes it: the members'
        records refer to that one, and it ends with that member.
        """
        lease = self._lease()
        if not lease:
            raise PushError("this member has no lease of etcd at the moment: try again")
        there = self._etcd.get(self._keys.offered)
        if there is not None and there.lease not in (0, lease):
            raise PushError(BUSY)
        was = modified(self._keys.offered, 0 if there is None else there.modified)
        self._offered = True
        done = self._etcd.transact([was], [Put(self._keys.offered, value, lease)])
        if not done.done:
            raise PushError(BUSY)
        return done.revision

    def _withdraw(self) -> None:
        """Delete this member's offer; `_repeat` tries again if that fails."""
        try:
            there = self._etcd.get(self._keys.offered)
            if there is not None and there.lease == self._lease():
                was = modified(self._keys.offered, there.modified)
                self._etcd.transact([was], [Delete(self._keys.offered)])
            self._offered = False
        except EtcdError as error:
            LOG.info("the offered configuration is not withdrawn yet: %s", error)

    def _find_out(self, value: bytes, before: int) -> int:
        """The revision, if it was pushed although etcd did not answer.

        Raises PushError and UncertainError.

        Once the offer is deleted, a late transaction cannot succeed.
        """
        if self._offered:
            raise UncertainError("etcd did not answer")
        try:
            there = self._etcd.get(self._keys.current)
        except EtcdError as error:
            raise UncertainError(str(error)) from None
        if there is None or there.value != value or there.modified == before:
            raise PushError("etcd did not answer in time: try again")
        return there.modified

    def _await_verdicts(self, offer: int, force: bool) -> None:
        """Wait until all present members have checked it.  Raises EtcdError and PushError."""
        names = {
            record.key.removeprefix(folder)
            for folder in (self._keys.members, self._keys.running)
            for record in self._etcd.range(folder).records
            if record.lease  # without a lease it is not a member's
        }

        def tried(name: str) -> bool:
            return name in self._others and self._others[name].offered == offer

        self._wait_until(lambda: all(map(tried, names)))
        verdicts = {
            name: self._others[name].wrong if tried(name) else None for name in sorted(names)
        }
        faults = [
            f"{name} is silent" if wrong is None else f"member {name} cannot: {wrong}"
            for name, wrong in verdicts.items()
            if wrong != ""
        ]
        if faults and not force:
            raise PushError("; ".join(faults))

    def _wait(self, done: Callable[[_Status], bool]) -> None:
        name = self._status.member.name
        self._wait_until(lambda: name in self._others and all(map(done, self._others.values())))

    def _wait_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not done() and time.monotonic() < end:
            hub.sleep(0.01)

    def _lease(self) -> int:
        return 0 if self._local is None else self._local.lease()

    def _apply_changes(self, changes: WatchResponse) -> None:
        if changes.anew:
            self._status = replace(self._status, offered=0)
        for change in changes.changes:
            if change.record is None:
                continue
            pushed = _pushed(change.record)
            if pushed is None:
                LOG.error("%s in etcd is not a configuration", change.key)
            elif change.key == self._keys.offered:
                self._check_offer(pushed)
            elif changes.anew or self.current is None or pushed.revision > self.current.revision:
                self._apply(pushed)

    def _check_offer(self, offered: Pushed) -> None:
        assert self._local is not None
        wrong = ""
        try:
            self._local.check(replace(offered, revision=0), True)
        except ConfigError as error:
            wrong = str(error)
        self._status = replace(self._status, offered=offered.revision, wrong=wrong)
        self._publish()

    def _apply(self, pushed: Pushed) -> None:
        assert self._local is not None
        self.current = pushed
        try:
            self._local.apply(pushed)
        except ConfigError as error:
            self._report_failure(pushed, error)
        else:
            self._update(revision=pushed.revision, error="")
        self._compare()

    def _report_failure(self, pushed: Pushed, error: ConfigError) -> None:
        before = self._status.member.revision
        keeps = "its local file" if before is None else f"revision {before}"
        message = (
            f"this member keeps {keeps}: it cannot apply revision {pushed.revision},"
            f" which is in force for all members: {error}"
        )
        data = {"revision": pushed.revision, "errors": [str(fault) for fault in error.faults]}
        self._emit(None, CONFIG_BEHIND.event(message, data=data))
        self._update(error=str(error))

    def _compare(self) -> None:
        """Report when the local file differs from the configuration in force."""
        assert self._local is not None
        filed, current = self._local.filed(), self.current
        in_force = current is not None and not self._status.member.error
        differs = False
        if in_force and filed is not None and current is not None:
            differs = filed != current.config()
        if differs and not self._status.member.differs and current is not None:
            message = (
                f"the local file differs from revision {current.revision}, "
                f"which {current.by} pushed and which is in force: push that file, or remove it"
            )
            data = {"revision": current.revision}
            self._emit(None, CONFIG_DIFFERS.event(message, data=data))
        self._update(differs=differs)

    def _update(self, **values: Any) -> None:
        self._status = replace(self._status, member=self._status.member._replace(**values))
        self._publish()

    def _repeat(self) -> None:
        """Publish again: there may be another lease, or the last attempt failed."""
        while True:
            hub.sleep(REPEAT)
            self._publish()
            if self._offered and not self._pushing:
                self._withdraw()

    def _publish(self) -> None:
        lease = self._lease()
        if not lease or self._published == (self._status, lease):
            return
        member, status = self._status.member, self._status
        about = {**member._asdict(), "offered": status.offered, "wrong": status.wrong}
        try:
            key = self._keys.running + member.name
            self._etcd.put(key, json.dumps(about).encode(), lease)
            self._published = status, lease
        except EtcdError as error:
            LOG.info("this member's configuration status was not published: %s", error)

    def _read_statuses(self, changes: WatchResponse) -> None:
        if changes.whole:
            self._others.clear()
        for change in changes.changes:
            self._read_status(change)

    def _read_status(self, change: Change) -> None:
        name = change.key.removeprefix(self._keys.running)
        self._others.pop(name, None)
        if change.record is None:
            return
        try:
            status = loads(change.record.value)
            revision = None if status["revision"] is None else int(status["revision"])
            member = MemberReport(name, revision, str(status["error"]), bool(status["differs"]))
            self._others[name] = _Status(member, int(status["offered"]), str(status["wrong"]))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            LOG.warning("the record of member %s in etcd is not valid: %r", name, error)


def value_of(pushed: Pushed) -> bytes:
    about = {
        "file": pushed.file,
        "by": pushed.by,
        "at": pushed.at,
        "data": base64.b64encode(zlib.compress(pushed.data)).decode(),
    }
    return json.dumps(about).encode()


def _pushed(record: Record | None) -> Pushed | None:
    """The configuration in a record; None without a valid one."""
    if record is None:
        return None
    try:
        about = loads(record.value)
        data = zlib.decompress(base64.b64decode(about["data"]))
        at, revision = moment(about["at"]), record.modified
        return Pushed(data, str(about["file"]), str(about["by"]), at, revision)
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        LOG.error("%s in etcd is not a configuration: %r", record.key, error)
        return None
