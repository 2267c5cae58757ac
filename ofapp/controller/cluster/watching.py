"""A watch of etcd that outlives every connection and every node, and never misses a change.

It goes on from the revision that it has told; where etcd does not know that any more it begins anew
with all there is, and says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ofapp.common import hub
from ofapp.controller.cluster.etcd import Change, Changes, EtcdError, Found, Heed
from ofapp.controller.cluster.nodes import CompactedError, UnansweredError
from ofapp.controller.cluster.values import change, key_range, revision

LOG = logging.getLogger(__name__)

RETRY = 0.3
"""Seconds until a watch that has failed is tried again."""

Stream = AbstractContextManager[Iterator[dict[str, Any]]]


class Source(NamedTuple):
    """What a client lends a watch."""

    found: Callable[[str], Found]
    stream: Callable[[str, dict[str, Any]], Stream]


class GatewayWatch:
    """since: None to begin with all there is."""

    def __init__(self, source: Source, prefix: str, heed: Heed, since: int | None) -> None:
        self._source = source
        self._prefix = prefix
        self._heed = heed
        self._since = since
        self._ended = False
        self._greenlet = hub.spawn(self._run)

    def cancel(self) -> None:
        """Tell no more."""
        self._ended = True
        if hub.current() is not self._greenlet:
            hub.kill(self._greenlet)

    def _run(self) -> None:
        while not self._ended:
            try:
                if self._since is None:
                    self._tell_all()
                self._listen()
            except CompactedError:
                self._since = None
            except (EtcdError, UnansweredError) as error:
                LOG.info("watching %s of etcd: %s; trying again", self._prefix, error)
                hub.sleep(RETRY)
            except Exception:
                LOG.exception("a defect of ofapp: what has changed in etcd was not heeded")
                hub.sleep(RETRY)

    def _tell_all(self) -> None:
        records, at = self._source.found(self._prefix)
        told = tuple(Change(record.key, record, record.modified) for record in records)
        self._since = at
        self._tell(Changes(told, at, whole=True))

    def _listen(self) -> None:
        assert self._since is not None
        wanted = {**key_range(self._prefix), "start_revision": self._since + 1}
        with self._source.stream("watch", {"create_request": wanted}) as messages:
            for message in messages:
                if self._ended:
                    return
                result = message.get("result", {})
                if result.get("compact_revision"):
                    raise CompactedError("what was watched from is compacted")
                if result.get("canceled"):
                    raise UnansweredError(str(result.get("cancel_reason", "ended")), maybe=False)
                if events := result.get("events"):
                    self._since = revision(result)
                    self._tell(Changes(tuple(map(change, events)), self._since))

    def _tell(self, changes: Changes) -> None:
        if not self._ended:
            self._heed(changes)
