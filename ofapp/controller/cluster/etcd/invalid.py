"""Invalid keys below the cluster's prefix: ignored and reported.

Every user with rights in etcd can put anything there, and so can another version of ofapp.  The
reader of each kind of key ignores invalid ones; this module reports them until they are gone.
Watched keys are checked at once, all others regularly (`LOOK`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from ofapp.bridge.event import Event
from ofapp.controller.cluster.etcd.etcd import Record, WatchResponse
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import SECRET_OCTETS
from ofapp.controller.member_events import CLUSTER_INVALID, CLUSTER_INVALID_CLEARED
from ofapp.controller.state.documents import DOCUMENTS

LOOK = 10.0
"""Seconds between checks of all keys."""

MOST = 1000
"""Invalid keys that are remembered."""

MAX_EVENTS = 20
"""Invalid keys that are reported as events; the metric counts all that are remembered."""

NO_LEASE = "it has no lease, so no member has put it there"
UNKNOWN = "this version of ofapp has no such key"

_DPID = "[0-9a-f]{16}"
_MEMBER = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_BRIDGE, _COMMON = (
    "|".join(
        each.stem or each.name
        for each in DOCUMENTS
        if each.per_bridge is per_bridge and not each.local
    )
    for per_bridge in (True, False)
)
_DOCUMENT = rf"state/(?:bridges/{_DPID}/(?:{_BRIDGE})|common/(?:{_COMMON}))\.json[a-z.]*"
_LASTING = rf"{_DOCUMENT}|drained/{_MEMBER}|secret|configuration/current"
_KEY = re.compile(
    rf"owners/{_DPID}|members/{_MEMBER}|running/{_MEMBER}|bases/{_DPID}"
    rf"|(?:wanted|unheard)/{_DPID}/{_MEMBER}|configuration/offered|history"
    rf"|(?:copied/)?(?:{_LASTING})"
)

Emit = Callable[[int | None, Event], None]


class InvalidKeys:
    """Invalid keys of one cluster, as one member finds them."""

    def __init__(self, keys: Keys, emit: Emit) -> None:
        self._keys = keys
        self._emit = emit
        self._why: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._why)

    def all(self) -> list[tuple[str, str]]:
        """Each invalid key, and why."""
        return sorted(self._why.items())

    def judge(self, prefix: str, changes: WatchResponse) -> None:
        """Report keys below a prefix that became invalid, and those that no longer are."""
        if changes.whole:
            self._clear_but({change.key for change in changes.changes}, prefix)
        for change in changes.changes:
            self._judge(change.key, change.record)

    def judge_all(self, there: Iterable[str]) -> None:
        """Check the names of all keys; their values are checked when they are read."""
        keys = set(there)
        self._clear_but(keys, self._keys.root)
        for key in keys:
            if key not in self._why and (why := self._wrong_name(key)):
                self._note(key, why)

    # Inside

    def _judge(self, key: str, record: Record | None) -> None:
        why = "" if record is None else self._wrong_name(key) or self._wrong_value(record)
        if why:
            self._note(key, why)
        else:
            self._clear(key)

    def _note(self, key: str, why: str) -> None:
        if key not in self._why and len(self._why) >= MOST:
            return
        new = key not in self._why
        self._why[key] = why
        if new and len(self._why) <= MAX_EVENTS:
            message = f"{key!r} in etcd is set aside: {why}; correct it, or delete it"
            data = {"key": key, "why": why}
            self._emit(None, CLUSTER_INVALID.event(message, data=data))

    def _clear(self, key: str) -> None:
        if self._why.pop(key, None) is not None:
            message = f"{key!r} in etcd is no longer set aside"
            self._emit(None, CLUSTER_INVALID_CLEARED.event(message, data={"key": key}))

    def _clear_but(self, there: set[str], prefix: str) -> None:
        for key in [key for key in self._why if key.startswith(prefix) and key not in there]:
            self._clear(key)

    def _wrong_name(self, key: str) -> str:
        return "" if _KEY.fullmatch(key.removeprefix(self._keys.root)) else UNKNOWN

    def _wrong_value(self, record: Record) -> str:
        folder = record.key.removeprefix(self._keys.root).partition("/")[0]
        if folder in ("owners", "members", "running", "wanted", "unheard") and not record.lease:
            return NO_LEASE
        names = _FIELDS.get(folder)
        if names is not None and not _has(record.value, names):
            return f"it is not JSON with {', '.join(names)}"
        if folder == "secret" and len(record.value) != SECRET_OCTETS:
            return f"it has not {SECRET_OCTETS} octets"
        return ""


_FIELDS = {
    "owners": ("member", "since", "reason"),
    "members": ("address", "since"),
    "running": ("revision", "error", "differs", "offered", "wrong"),
    "configuration": ("file", "by", "at", "data"),
    "history": ("number", "mark"),
}


def _has(value: bytes, names: Iterable[str]) -> bool:
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and all(name in fields for name in names)
