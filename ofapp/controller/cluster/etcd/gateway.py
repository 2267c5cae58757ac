"""Client of etcd's nodes over HTTP: the implementation of `etcd.Etcd`.

A call goes to the node that answered last.  Each node gets a share of the call's patience, then the
next one is asked.  A request that may have been carried out is repeated only if that does no harm:
a late put would undo a later one.

Longest delay of the hub, on two busy cores [measured]: 7 ms at 100 puts/s, 29 to 55 ms where
1,000/s are requested (900 are done, with half of a core), 8 ms while a node drops all packets, 6 ms
while a leader is killed, 19 ms by a put of 1 MB.  2.5 s after a leader was killed calls succeed.

A watch of etcd that survives the loss of connections and nodes, and never misses a change.

It continues from the last reported revision.  If etcd has compacted that, it starts again with all
existing records, and marks them as such (`whole`).
"""

from __future__ import annotations

import contextlib
import math
import re
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.controller.cluster.etcd.etcd import (
    Change,
    Condition,
    Delete,
    EtcdError,
    Found,
    Handler,
    Lease,
    LostError,
    Node,
    Outcome,
    Put,
    Record,
    UnreachableError,
    WatchResponse,
)
from ofapp.controller.cluster.etcd.nodes import (
    CompactedError,
    NodeConnection,
    Request,
    TokenError,
    UnansweredError,
)
from ofapp.controller.cluster.etcd.values import (
    b64,
    change,
    cluster,
    held,
    key_range,
    put,
    record,
    revision,
    transaction,
)

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
        changes = tuple(Change(record.key, record, record.modified) for record in records)
        self._since = at
        self._deliver(WatchResponse(changes, at, whole=True))
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
                    self._deliver(WatchResponse(tuple(map(change, events)), self._since))

    def _deliver(self, changes: WatchResponse) -> None:
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


PATIENCE = 3.0
"""Seconds for a call, over all nodes."""

SHARE = 0.5
"""Share of the remaining patience for each node but the last: a distant one may answer later."""

PAGE = 16
"""Records of a range that are read at a time: other greenlets run between pages, and 30 of 1 MB
each would delay them for 0.4 s."""

NAMES = 1000
"""Keys that are read at a time, without their values."""

STREAM_HEADERS = {"Grpc-Metadata-hasleader": "true"}
"""A node that loses its leader ends a stream with this header, instead of sending nothing."""


@dataclass(frozen=True, slots=True)
class Access:
    """Addresses and credentials of etcd.

    endpoints: HOST:PORT; ca: use TLS, and etcd's certificate must be signed by this CA;
    certificate, key: of ofapp; user: empty if etcd needs none.
    """

    endpoints: tuple[str, ...]
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password: str = ""
    patience: float = PATIENCE


class Gateway:
    """Client of all nodes of etcd; OSError when a TLS file cannot be read."""

    def __init__(self, access: Access) -> None:
        self._access = access
        context = _tls(access)
        self._nodes = [NodeConnection(endpoint, context) for endpoint in access.endpoints]
        self._last = self._nodes[0]
        self._token = ""
        self._login = hub.Lock()
        self._watches: list[GatewayWatch] = []

    def get(self, key: str) -> Record | None:
        """See `etcd.Etcd`, also for all that follows."""
        entries = self._ask("kv/range", {"key": b64(key)}).get("kvs")
        return record(entries[0]) if entries else None

    def range(self, prefix: str) -> Found:
        while True:
            with contextlib.suppress(CompactedError):  # between two pages: start again
                return self._range(key_range(prefix))

    def keys(self, prefix: str) -> tuple[str, ...]:
        while True:
            with contextlib.suppress(CompactedError):
                wanted = {**key_range(prefix), "keys_only": True}
                return tuple(record.key for record in self._range(wanted, NAMES).records)

    def put(self, key: str, value: bytes, lease: int = 0) -> int:
        return revision(self._ask("kv/put", put(Put(key, value, lease)), again=False))

    def delete(self, key: str) -> int:
        return revision(self._ask("kv/deleterange", {"key": b64(key)}, again=False))

    def transact(self, conditions: Sequence[Condition], then: Sequence[Put | Delete]) -> Outcome:
        body = transaction(tuple(conditions), tuple(then))
        answer = self._ask("kv/txn", body, again=False)
        done = bool(answer.get("succeeded"))
        return Outcome(done, revision(answer), () if done else tuple(held(answer)))

    def grant(self, seconds: float) -> Lease:
        # A lease whose grant is not answered expires by itself.
        answer = self._ask("lease/grant", {"TTL": math.ceil(seconds)})
        return Lease(int(answer["ID"]), float(answer["TTL"]))

    def renew(self, lease: int, patience: float | None = None) -> float:
        answer = self._ask("lease/keepalive", {"ID": str(lease)}, patience)
        seconds = float(answer.get("result", {}).get("TTL", 0))
        if seconds <= 0:
            raise LostError("the lease does not exist any more")
        return seconds

    def remaining(self, lease: int, patience: float | None = None) -> float:
        answer = self._ask("lease/timetolive", {"ID": str(lease)}, patience)
        seconds = float(answer.get("TTL", 0))
        if seconds < 0:
            raise LostError("the lease does not exist any more")
        return seconds

    def revoke(self, lease: int) -> None:
        with contextlib.suppress(LostError):
            self._ask("lease/revoke", {"ID": str(lease)})

    def watch(self, prefix: str, handle: Handler, since: int | None = None) -> GatewayWatch:
        watch = GatewayWatch(Source(self.range, self._stream), prefix, handle, since)
        self._watches.append(watch)
        return watch

    def catch_up(self) -> None:
        self._watches = [watch for watch in self._watches if not watch.ended]
        for watch in self._watches:
            watch.restart()
        end = time.monotonic() + self._access.patience
        if not all(watch.has_read_all(end - time.monotonic()) for watch in self._watches):
            raise UnreachableError("not all watched keys could be read")

    def nodes(self) -> tuple[Node, ...]:
        states = hub.at_once(self._node, self._nodes, self._access.patience)
        return tuple(
            states.get(node) or Node(node.endpoint, "it does not answer") for node in self._nodes
        )

    def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        for node in self._nodes:
            node.close()

    # Inside

    def _range(self, wanted: dict[str, Any], page: int = PAGE) -> Found:
        records: list[Record] = []
        body = {**wanted, "limit": page}
        while True:
            answer = self._ask("kv/range", body)
            records += map(record, answer.get("kvs", ()))
            body.setdefault("revision", revision(answer))  # the next page is of the same revision
            if not answer.get("more"):
                return Found(tuple(records), int(body["revision"]), cluster(answer))
            body["key"] = b64(records[-1].key + "\0")

    def _ask(
        self, path: str, body: Any, patience: float | None = None, again: bool = True
    ) -> dict[str, Any]:
        """Ask the nodes in turn; again: the request may be carried out twice."""
        why, maybe = "there is no node", False
        for node, seconds in self._turns(patience):
            token = self._token
            try:
                answer = self._as_user(node, path, body, seconds)
            except UnansweredError as error:
                node.shun()
                self._doubt(token)
                why, maybe = f"{node.endpoint}: {error}", maybe or error.maybe
                if error.maybe and not again:
                    break
            else:
                self._last = node
                return answer
        raise UnreachableError(f"etcd does not answer ({why})", maybe)

    def _turns(self, patience: float | None) -> Iterator[tuple[NodeConnection, float]]:
        """The nodes to ask, and for how many seconds each."""
        now = time.monotonic()
        end = now + (self._access.patience if patience is None else patience)
        order = sorted(
            self._nodes, key=lambda node: (node.shunned > now, node is not self._last, node.shunned)
        )
        for at, node in enumerate(order):
            left = end - time.monotonic()
            if left > 0:
                yield node, left if at == len(order) - 1 else left * SHARE

    def _as_user(
        self, node: NodeConnection, path: str, body: Any, seconds: float
    ) -> dict[str, Any]:
        try:
            return node.ask(Request(path, body, seconds, self._headers(node, seconds)))
        except TokenError:
            self._token = ""
            return node.ask(Request(path, body, seconds, self._headers(node, seconds)))

    def _headers(self, node: NodeConnection, seconds: float) -> dict[str, str]:
        if not self._access.user:
            return {}
        if not self._token:
            self._authenticate(node, seconds)
        return {"Authorization": self._token}

    def _authenticate(self, node: NodeConnection, seconds: float) -> None:
        """Get a token, one for all waiting greenlets.

        Each costs etcd 0.1 s of CPU, and with ten at a time from each member it did not answer.
        """
        if not self._login.acquire(timeout=seconds):
            raise UnansweredError(f"no token for {seconds:.1f} s", maybe=False)
        try:
            if not self._token:
                who = {"name": self._access.user, "password": self._access.password}
                self._token = str(node.ask(Request("auth/authenticate", who, seconds))["token"])
        finally:
            self._login.release()

    def _doubt(self, token: str) -> None:
        """Request another token next time, if a request with this one was not answered.

        It names the raft index at its creation: a node that was restored from a snapshot, and has
        not reached that index yet, waits for it and neither answers nor refuses [etcd 3.4].
        """
        if self._token == token:
            self._token = ""

    @contextlib.contextmanager
    def _stream(self, path: str, body: Any) -> Iterator[Iterator[dict[str, Any]]]:
        for node, seconds in self._turns(None):
            token = self._token
            try:
                headers = {**STREAM_HEADERS, **self._headers(node, seconds)}
                answer = node.stream(Request(path, body, seconds, headers))
                messages = answer.__enter__()
            except UnansweredError:
                node.shun()
                self._doubt(token)
                continue
            except TokenError:
                self._token = ""
                raise
            with contextlib.ExitStack() as stack:
                stack.push(answer)
                self._last = node
                yield messages
            return
        raise UnreachableError("etcd does not answer")

    def _node(self, node: NodeConnection) -> Node:
        seconds, asked = self._access.patience / 2, time.monotonic()
        try:
            status = self._as_user(node, "maintenance/status", {}, seconds)
        except (UnansweredError, EtcdError) as error:
            return Node(node.endpoint, str(error))
        member_id = status.get("header", {}).get("member_id")
        leader = status.get("leader", "0")
        # Requesting the alarms themselves needs more rights than ofapp's user should have.
        errors = " ".join(map(str, status.get("errors", ())))
        alarms = {match[1] for match in re.finditer(r"alarm:([A-Z]+)", errors)}
        return Node(
            node.endpoint,
            "",
            str(status.get("version", "")),
            leader == member_id,
            leader != "0",
            int(status.get("dbSize", 0)),
            tuple(sorted(alarms)),
            time.monotonic() - asked,
            node.ahead(),
        )


def _tls(access: Access) -> ssl.SSLContext | None:
    if access.ca is None:
        return None
    context = ssl.create_default_context(cafile=str(access.ca))
    if access.certificate is not None:
        context.load_cert_chain(access.certificate, access.key)
    return context
