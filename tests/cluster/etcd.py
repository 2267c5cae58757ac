"""Three nodes of Debian's etcd in a namespace of their own."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import TypeVar

from tests.support import logs
from tests.support.etcd_nodes import EtcdNodes
from tests.support.lab import _in_namespace

T = TypeVar("T")


class Etcd:
    """space: where it runs; host: its address there."""

    def __init__(self, space: str, host: str) -> None:
        self._space = space
        self._nodes = self._there(lambda: EtcdNodes(3, host=host))
        logs.watch(self)

    @property
    def endpoints(self) -> str:
        """What members are told."""
        return ",".join(self._nodes.endpoints)

    def value(self, key: str) -> bytes | None:
        """What a key holds, as any node that runs tells; None: there is no such key."""
        wanted = {"key": base64.b64encode(key.encode()).decode()}
        node = next(node for node in self._nodes.nodes if node.process)
        found = self._there(lambda: node.post("kv/range", wanted)).get("kvs")
        return base64.b64decode(found[0]["value"]) if isinstance(found, list) else None

    def kill_leader(self) -> None:
        """kill -9 of the node that leads."""
        self._there(self._nodes.leader).kill()

    def kill(self) -> None:
        """kill -9 of all nodes."""
        for node in self._nodes.nodes:
            node.kill()

    def start(self) -> None:
        """Start the nodes that do not run, and wait until there is a leader."""
        for node in self._nodes.nodes:
            if node.process is None:
                self._there(node.start)
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

    def _there(self, call: Callable[[], T]) -> T:
        return _in_namespace(self._space, call)
