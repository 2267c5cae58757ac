"""The configuration that all members do as: offered to all, then one revision for all, in etcd.

`offered` is what somebody wants to push.  Each member tries it dry and says in its record what is
wrong with it; one of an earlier version of ofapp may not know an option.  Only when all that are
there have agreed does it become `current`, in one transaction, from which on it holds: members
hear of it by their watch, and take it whole.  One that was away takes it when it is back.  One that
cannot goes on with what it has, says so as an event, and its record says so to all.
"""

from __future__ import annotations

import base64
import json
import logging
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.config import Config, ConfigError
from ofapp.controller.cluster.etcd import (
    Change,
    Changes,
    Delete,
    Etcd,
    EtcdError,
    Put,
    Record,
    modified,
)
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.pushed import Member, Outcome, Pushed, PushError
from ofapp.controller.state.keeper import Tell

LOG = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds to wait for the members' answers."""

REPEAT = 1.0
"""Seconds between looks whether this member's record is as it should be."""

MOST = 1 << 20
"""Octets in etcd."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A member's record.  offered: the revision of the last offer that it has tried; wrong: what
    is wrong with that."""

    member: Member
    offered: int = 0
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Takes:
    """What the rest of this controller does with a configuration.

    take: do as it says, ConfigError; check: try it dry, ConfigError; filed: what the machine's own
    file says, None where there is none; lease: this member's, 0 for none.
    """

    take: Callable[[Pushed], object]
    check: Callable[[Pushed, bool], object]
    filed: Callable[[], Config | None]
    lease: Callable[[], int]


class SharedConfiguration:
    """`controller.pushed.Sharing`.  own: this member's name; current: etcd's.  EtcdError."""

    def __init__(self, etcd: Etcd, keys: Keys, own: str, tell: Tell) -> None:
        self._etcd = etcd
        self._keys = keys
        self._tell = tell
        self._said = _Said(Member(own, None))
        self._published: tuple[_Said, int] | None = None
        self._others: dict[str, _Said] = {}
        self._takes: Takes | None = None
        self.current = _pushed(etcd.get(keys.current))
        self.taken: Pushed | None = None
        """What this member began with."""

    def begin(self) -> Config | None:
        """What this member is to begin with; None: as its machine's file says."""
        if self.current is None:
            return None
        try:
            config = self.current.config()
        except ConfigError as error:
            self._cannot(self.current, error)
            return None
        self.taken = self.current
        self._say(revision=self.current.revision, error="")
        return config

    def start(self, takes: Takes) -> None:
        """Hear of what is pushed from now on."""
        self._takes = takes
        self._compare()
        self._etcd.watch(self._keys.configuration, self._heed)
        self._etcd.watch(self._keys.running, self._hear)
        hub.keep(lambda _error: None, self._repeat)  # which has been logged

    def members(self) -> tuple[Member, ...]:
        """See `Sharing`."""
        return tuple(said.member for _, said in sorted(self._others.items()))

    def push(self, pushed: Pushed, dry_run: bool, force: bool) -> Outcome:
        """See `Sharing`."""
        assert self._takes is not None
        self._takes.check(pushed, force)
        value = _value(pushed)
        if len(value) > MOST:
            raise PushError(f"it has {len(value)} octets, and {MOST} at most fit into etcd")
        before = self.current
        try:
            offer = self._etcd.put(self._keys.offered, value)
            self._ask_all(offer, force)
            if dry_run:
                self._etcd.delete(self._keys.offered)
                return Outcome(None, self.members())
            was = modified(self._keys.current, 0 if before is None else before.revision)
            put = Put(self._keys.current, value)
            done = self._etcd.transact([was], [put, Delete(self._keys.offered)])
        except EtcdError as error:
            raise PushError(f"it is not known to all: {error}") from None
        if not done.done:
            raise PushError("somebody else has pushed one at the same time: look at that first")
        self._wait(lambda said: bool(said.member.error) or said.member.revision == done.revision)
        return Outcome(done.revision, self.members())

    # Inside

    def _ask_all(self, offer: int, force: bool) -> None:
        """Wait until all have tried it; PushError."""
        self._wait(lambda said: said.offered >= offer)
        faults = [
            f"member {name} cannot: {said.wrong}" if said.offered >= offer else f"{name} is silent"
            for name, said in sorted(self._others.items())
            if said.offered < offer or said.wrong
        ]
        if faults and not force:
            self._etcd.delete(self._keys.offered)
            raise PushError("; ".join(faults))

    def _wait(self, done: Callable[[_Said], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._said.member.name in self._others and all(map(done, self._others.values())):
                return
            hub.sleep(0.01)

    def _heed(self, changes: Changes) -> None:
        for change in changes.changes:
            if change.record is None:
                continue
            pushed = _pushed(change.record)
            if pushed is None:
                LOG.error("%s in etcd is no configuration", change.key)
            elif change.key == self._keys.offered:
                self._try(pushed)
            elif self.current is None or pushed.revision > self.current.revision:
                self._take(pushed)

    def _try(self, offered: Pushed) -> None:
        assert self._takes is not None
        wrong = ""
        try:
            self._takes.check(replace(offered, revision=0), True)
        except ConfigError as error:
            wrong = str(error)
        self._said = replace(self._said, offered=offered.revision, wrong=wrong)
        self._publish()

    def _take(self, pushed: Pushed) -> None:
        assert self._takes is not None
        self.current = pushed
        try:
            self._takes.take(pushed)
        except ConfigError as error:
            self._cannot(pushed, error)
        else:
            self._say(revision=pushed.revision, error="")
        self._compare()

    def _cannot(self, pushed: Pushed, error: ConfigError) -> None:
        before = self._said.member.revision
        goes_on = "its machine's file" if before is None else f"revision {before}"
        message = (
            f"this member goes on with {goes_on}: it cannot do as revision {pushed.revision} says,"
            f" which all others are to do: {error}"
        )
        data = {"revision": pushed.revision, "errors": [str(fault) for fault in error.faults]}
        self._tell(None, Event("config.behind", message, Severity.ERROR, data=data))
        self._say(error=str(error))

    def _compare(self) -> None:
        """Say when the machine's own file says something else than what holds."""
        assert self._takes is not None
        filed, current = self._takes.filed(), self.current
        holds = current is not None and not self._said.member.error
        differs = False
        if holds and filed is not None and current is not None:
            differs = filed != current.config()
        if differs and not self._said.member.differs and current is not None:
            message = (
                f"the file of this machine says something else than revision {current.revision}, "
                f"which {current.by} pushed and which holds: push that file, or remove it"
            )
            data = {"revision": current.revision}
            self._tell(None, Event("config.differs", message, Severity.WARNING, data=data))
        self._say(differs=differs)

    def _say(self, **values: Any) -> None:
        self._said = replace(self._said, member=self._said.member._replace(**values))
        self._publish()

    def _repeat(self) -> None:
        """There may be another lease, or the last word was not heard."""
        while True:
            hub.sleep(REPEAT)
            self._publish()

    def _publish(self) -> None:
        lease = 0 if self._takes is None else self._takes.lease()
        if not lease or self._published == (self._said, lease):
            return
        member, said = self._said.member, self._said
        about = {**member._asdict(), "offered": said.offered, "wrong": said.wrong}
        try:
            key = self._keys.running + member.name
            self._etcd.put(key, json.dumps(about).encode(), lease)
            self._published = said, lease
        except EtcdError as error:
            LOG.info("what this member does as is not known to others: %s", error)

    def _hear(self, changes: Changes) -> None:
        if changes.whole:
            self._others.clear()
        for change in changes.changes:
            self._hear_one(change)

    def _hear_one(self, change: Change) -> None:
        name = change.key.removeprefix(self._keys.running)
        self._others.pop(name, None)
        if change.record is None:
            return
        try:
            said = json.loads(change.record.value)
            revision = None if said["revision"] is None else int(said["revision"])
            member = Member(name, revision, str(said["error"]), bool(said["differs"]))
            self._others[name] = _Said(member, int(said["offered"]), str(said["wrong"]))
        except (ValueError, TypeError, KeyError) as error:
            LOG.warning("what member %s says in etcd is not understood: %r", name, error)


def _value(pushed: Pushed) -> bytes:
    about = {
        "file": pushed.file,
        "by": pushed.by,
        "at": pushed.at,
        "data": base64.b64encode(zlib.compress(pushed.data)).decode(),
    }
    return json.dumps(about).encode()


def _pushed(record: Record | None) -> Pushed | None:
    """None where there is none, or what there is is none."""
    if record is None:
        return None
    try:
        about = json.loads(record.value)
        data = zlib.decompress(base64.b64decode(about["data"]))
        at, revision = float(about["at"]), record.modified
        return Pushed(data, str(about["file"]), str(about["by"]), at, revision)
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        LOG.error("%s in etcd is no configuration: %r", record.key, error)
        return None
