"""A watch of etcd that survives the loss of connections and nodes, and never misses a change.

It continues from the last reported revision.  If etcd has compacted that, it starts again with all
existing records, and marks them as such (`whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ofapp.common import hub
from ofapp.common.rate_limited import rate_limited
from ofapp.controller.cluster.etcd.etcd import Change, Changes, EtcdError, Found, Handler
from ofapp.controller.cluster.etcd.nodes import CompactedError, UnansweredError
from ofapp.controller.cluster.etcd.values import change, key_range, revision

LOG = rate_limited(__name__)

RETRY = 0.3
"""Seconds until a failed watch is tried again."""

Stream = AbstractContextManager[Iterator[dict[str, Any]]]


class _RestartError(Exception):
    """The watch has to start again."""


class Source(NamedTuple):
    """Functions of a client that a watch uses."""

    found: Callable[[str], Found]
    stream: Callable[[str, dict[str, Any]], Stream]


class GatewayWatch:
    """A watch of a prefix.  since: last known revision; None to start with all records."""

    def __init__(self, source: Source, prefix: str, handle: Handler, since: int | None) -> None:
        self._source = source
        self._prefix = prefix
        self._handle = handle
        self._since = since
        self._ended = False
        self._delivering = False
        self._anew = False
        self._found_all = hub.Event()
        self._greenlet = hub.spawn(self._run)

    @property
    def ended(self) -> bool:
        """Whether it was cancelled."""
        return self._ended

    def cancel(self) -> None:
        """Stop calling the handler; a running call is completed."""
        self._ended = True
        if not self._delivering:
            hub.kill(self._greenlet)

    def restart(self) -> None:
        """Read all records and open a new stream: the old one may be dead, or late."""
        self._found_all.clear()
        if self._delivering:  # a handler is not stopped half way
            self._anew = True
        else:
            hub.kill(self._greenlet)
            self._since = None
            self._greenlet = hub.spawn(self._run)

    def has_read_all(self, patience: float) -> bool:
        """Wait until all records of the last start have been reported."""
        return self._found_all.wait(patience)

    def _run(self) -> None:
        while not self._ended:
            try:
                if self._since is None:
                    self._report_all()
                self._listen()
            except (CompactedError, _RestartError):
                self._since = None
            except (EtcdError, UnansweredError) as error:
                LOG.info("watching %s of etcd: %s; trying again", self._prefix, error)
                hub.sleep(RETRY)
            except Exception:
                LOG.exception(
                    "a defect of ofapp: a change in etcd was not handled; reading all again"
                )
                self._since = None
                hub.sleep(RETRY)

    def _report_all(self) -> None:
        records, at, _ = self._source.found(self._prefix)
        found = tuple(Change(record.key, record, record.modified) for record in records)
        self._since = at
        self._deliver(Changes(found, at, whole=True))
        self._found_all.set()

    def _listen(self) -> None:
        assert self._since is not None
        wanted = {**key_range(self._prefix), "start_revision": self._since + 1}
        with self._source.stream("watch", {"create_request": wanted}) as messages:
            for message in messages:
                if self._ended:
                    return
                result = message.get("result", {})
                if result.get("compact_revision"):
                    raise CompactedError("the revision of the watch has been compacted")
                if result.get("canceled"):
                    raise UnansweredError(str(result.get("cancel_reason", "ended")), maybe=False)
                if events := result.get("events"):
                    self._since = revision(result)
                    self._deliver(Changes(tuple(map(change, events)), self._since))

    def _deliver(self, changes: Changes) -> None:
        if self._ended:
            return
        self._delivering = True
        try:
            self._handle(changes)
        finally:
            self._delivering = False
        if self._anew:
            self._anew = False
            raise _RestartError
