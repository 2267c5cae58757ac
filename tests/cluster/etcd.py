"""Three nodes of Debian's etcd in their own namespace."""

from __future__ import annotations

import base64
import contextlib
import itertools
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tests.support import logs
from tests.support.etcd_nodes import EtcdNodes
from tests.support.lab import _in_namespace

T = TypeVar("T")

QUOTA = 16 << 20
"""Octets until it is full."""

_VALUE = base64.b64encode(bytes(1 << 20)).decode()


class Etcd:
    """space: where it runs; host: its address there."""

    def __init__(self, space: str, host: str) -> None:
        self.space = space
        quota = "--quota-backend-bytes", str(QUOTA)
        self._nodes = self._there(lambda: EtcdNodes(3, quota, host))
        logs.watch(self)

    @property
    def endpoints(self) -> str:
        """The endpoints for members."""
        return ",".join(self._nodes.endpoints)

    def value(self, key: str) -> bytes | None:
        """What a key holds, as any node that runs tells; None: there is no such key."""
        wanted = {"key": base64.b64encode(key.encode()).decode()}
        found = self._ask("kv/range", wanted).get("kvs")
        return base64.b64decode(found[0]["value"]) if isinstance(found, list) else None

    def fill(self) -> None:
        """Put useless keys until it takes no more: alarm NOSPACE."""
        with contextlib.suppress(urllib.error.HTTPError):
            for number in itertools.count():
                key = base64.b64encode(b"/filling/%d" % number).decode()
                self._ask("kv/put", {"key": key, "value": _VALUE})

    def make_room(self) -> None:
        """What its documentation says: delete, compact, defragment, disarm."""
        first, end = (base64.b64encode(key).decode() for key in (b"/filling/", b"/filling0"))
        self._ask("kv/deleterange", {"key": first, "range_end": end})
        self.compact()
        for node in self._nodes.nodes:
            self._there(lambda own=node: own.post("maintenance/defragment"))
        for alarm in self._ask("maintenance/alarm", {}).get("alarms", ()):
            self._ask("maintenance/alarm", {"action": "DEACTIVATE", **alarm})

    def compact(self) -> None:
        """Forget all that was, up to now."""
        at = self._ask("kv/range", {"key": "YQ=="})["header"]["revision"]
        self._ask("kv/compaction", {"revision": at, "physical": True})

    def kill_leader(self) -> None:
        """kill -9 of the node that leads."""
        self._there(self._nodes.leader).kill()

    def kill(self) -> None:
        """kill -9 of all nodes."""
        for node in self._nodes.nodes:
            node.kill()

    def kill_majority(self) -> None:
        """kill -9 of all nodes but one."""
        for node in self._nodes.nodes[1:]:
            node.kill()

    def wipe(self) -> None:
        """Kill it, and start it with nothing."""
        self._there(self._nodes.wipe)

    def snapshot(self) -> Path:
        """Save one."""
        return self._there(self._nodes.snapshot)

    def restore(self, snapshot: Path) -> None:
        """Kill it, and start it from a snapshot."""
        self._there(lambda: self._nodes.restore(snapshot))

    def put(self, key: str, value: bytes) -> None:
        """As an administrator does by hand."""
        self._ask(
            "kv/put",
            {
                name: base64.b64encode(each).decode()
                for name, each in (("key", key.encode()), ("value", value))
            },
        )

    def delete(self, key: str) -> None:
        """The same."""
        self._ask("kv/deleterange", {"key": base64.b64encode(key.encode()).decode()})

    def start(self, wait: bool = True) -> None:
        """Start the nodes that do not run, and wait until there is a leader."""
        for node in self._nodes.nodes:
            if node.process is None:
                self._there(node.start)
        if wait:
            self._there(self._nodes.leader)

    def close(self) -> None:
        """End it, and remove what it has written."""
        logs.unwatch(self)
        self._nodes.close()

    def logs(self) -> Iterator[tuple[str, str]]:
        """See `tests.support.logs`."""
        for path in sorted(self._nodes.folder.glob("*.log")):
            lines = path.read_text(errors="replace").splitlines()
            yield f"etcd's log, {path.name}", "\n".join(lines[-10:])

    def _ask(self, path: str, body: object) -> dict[str, Any]:
        """Any node that runs."""
        node = next(node for node in self._nodes.nodes if node.process)
        return self._there(lambda: node.post(path, body))

    def _there(self, call: Callable[[], T]) -> T:
        return _in_namespace(self.space, call)
