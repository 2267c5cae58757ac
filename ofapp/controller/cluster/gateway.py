"""etcd itself, over several nodes: `etcd.Etcd` for real.

A call goes to the node that answered last.  Each node gets its share of the call's patience, then
the next is asked.  What may have been carried out is asked again only where that does no harm: a
put that is late would undo a later one.

How long the hub is held up at most, on two busy cores [measured]: 7 ms at 100 puts/s, 29 to 55 ms
where 1,000/s are asked for (900 are done, with half of a core), 8 ms while a node is a black hole,
6 ms while a leader is killed, 19 ms by a put of 1 MB.  2.5 s after a leader was killed all is well.
"""

from __future__ import annotations

import contextlib
import math
import re
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ofapp.common import hub
from ofapp.controller.cluster.etcd import (
    Condition,
    Delete,
    EtcdError,
    Found,
    Heed,
    Lease,
    LostError,
    Node,
    Outcome,
    Put,
    Record,
    UnreachableError,
)
from ofapp.controller.cluster.nodes import (
    CompactedError,
    NodeConnection,
    Request,
    TokenError,
    UnansweredError,
)
from ofapp.controller.cluster.values import (
    b64,
    held,
    key_range,
    put,
    record,
    revision,
    transaction,
)
from ofapp.controller.cluster.watching import GatewayWatch, Source

PATIENCE = 3.0
"""Seconds for a call, over all nodes."""

PAGE = 16
"""Records of a range that are read at a time: others have their turn between pages, and 30 of 1 MB
each would hold them up for 0.4 s."""

STREAM_HEADERS = {"Grpc-Metadata-hasleader": "true"}
"""A node without a leader ends a stream instead of telling nothing any more."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where etcd is and how to speak to it.

    endpoints: HOST:PORT; ca: speak TLS, and etcd's certificate is to be by this authority;
    certificate, key: ofapp's own; user: empty where etcd asks for none.
    """

    endpoints: tuple[str, ...]
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password: str = ""
    patience: float = PATIENCE


class Gateway:
    """OSError when a file of TLS cannot be read."""

    def __init__(self, access: Access) -> None:
        self._access = access
        context = _tls(access)
        self._nodes = [NodeConnection(endpoint, context) for endpoint in access.endpoints]
        self._last = self._nodes[0]
        self._token = ""
        self._watches: list[GatewayWatch] = []

    def get(self, key: str) -> Record | None:
        """See `etcd.Etcd`, also for all that follows."""
        found = self._ask("kv/range", {"key": b64(key)}).get("kvs")
        return record(found[0]) if found else None

    def range(self, prefix: str) -> Found:
        while True:
            with contextlib.suppress(CompactedError):  # between two pages: once more
                return self._range(key_range(prefix))

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
        # One that was granted and never heard of ends by itself.
        answer = self._ask("lease/grant", {"TTL": math.ceil(seconds)})
        return Lease(int(answer["ID"]), float(answer["TTL"]))

    def renew(self, lease: int, patience: float | None = None) -> float:
        answer = self._ask("lease/keepalive", {"ID": str(lease)}, patience)
        seconds = float(answer.get("result", {}).get("TTL", 0))
        if seconds <= 0:
            raise LostError("there is no such lease any more")
        return seconds

    def remaining(self, lease: int, patience: float | None = None) -> float:
        answer = self._ask("lease/timetolive", {"ID": str(lease)}, patience)
        seconds = float(answer.get("TTL", 0))
        if seconds < 0:
            raise LostError("there is no such lease any more")
        return seconds

    def revoke(self, lease: int) -> None:
        with contextlib.suppress(LostError):
            self._ask("lease/revoke", {"ID": str(lease)})

    def watch(self, prefix: str, heed: Heed, since: int | None = None) -> GatewayWatch:
        watch = GatewayWatch(Source(self.range, self._stream), prefix, heed, since)
        self._watches.append(watch)
        return watch

    def nodes(self) -> tuple[Node, ...]:
        found = hub.at_once(self._node, self._nodes, self._access.patience)
        return tuple(
            found.get(node) or Node(node.endpoint, "it does not answer") for node in self._nodes
        )

    def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        for node in self._nodes:
            node.close()

    # Inside

    def _range(self, wanted: dict[str, Any]) -> Found:
        records: list[Record] = []
        body = {**wanted, "limit": PAGE}
        while True:
            found = self._ask("kv/range", body)
            records += map(record, found.get("kvs", ()))
            body.setdefault("revision", revision(found))  # the next page is as it was then
            if not found.get("more"):
                return Found(tuple(records), int(body["revision"]))
            body["key"] = b64(records[-1].key + "\0")

    def _ask(
        self, path: str, body: Any, patience: float | None = None, again: bool = True
    ) -> dict[str, Any]:
        """again: it may be carried out twice."""
        why, maybe = "there is no node", False
        for node, seconds in self._turns(patience):
            try:
                answer = self._as_user(node, path, body, seconds)
            except UnansweredError as error:
                node.shun()
                why, maybe = f"{node.endpoint}: {error}", maybe or error.maybe
                if error.maybe and not again:
                    break
            else:
                self._last = node
                return answer
        raise UnreachableError(f"etcd does not answer ({why})", maybe)

    def _turns(self, patience: float | None) -> Iterator[tuple[NodeConnection, float]]:
        """Whom to ask, and for how many seconds."""
        now = time.monotonic()
        end = now + (self._access.patience if patience is None else patience)
        order = sorted(
            self._nodes, key=lambda node: (node.shunned > now, node is not self._last, node.shunned)
        )
        for at, node in enumerate(order):
            left = end - time.monotonic()
            if left > 0:
                yield node, left / (len(order) - at)

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
            who = {"name": self._access.user, "password": self._access.password}
            self._token = str(node.ask(Request("auth/authenticate", who, seconds))["token"])
        return {"Authorization": self._token}

    @contextlib.contextmanager
    def _stream(self, path: str, body: Any) -> Iterator[Iterator[dict[str, Any]]]:
        for node, seconds in self._turns(None):
            try:
                headers = {**STREAM_HEADERS, **self._headers(node, seconds)}
                answer = node.stream(Request(path, body, seconds, headers))
                messages = answer.__enter__()
            except UnansweredError:
                node.shun()
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
        seconds = self._access.patience / 2
        try:
            status = self._as_user(node, "maintenance/status", {}, seconds)
        except (UnansweredError, EtcdError) as error:
            return Node(node.endpoint, str(error))
        own = status.get("header", {}).get("member_id")
        leader = status.get("leader", "0")
        # To ask for alarms themselves needs more rights than ofapp's user should have.
        told = " ".join(map(str, status.get("errors", ())))
        alarms = {found[1] for found in re.finditer(r"alarm:([A-Z]+)", told)}
        return Node(
            node.endpoint,
            "",
            str(status.get("version", "")),
            leader == own,
            leader != "0",
            int(status.get("dbSize", 0)),
            tuple(sorted(alarms)),
        )


def _tls(access: Access) -> ssl.SSLContext | None:
    if access.ca is None:
        return None
    context = ssl.create_default_context(cafile=str(access.ca))
    if access.certificate is not None:
        context.load_cert_chain(access.certificate, access.key)
    return context
