"""Keys, values and conditions in etcd's JSON: octets in base64, 64-bit numbers as text."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from ofapp.controller.cluster.etcd.etcd import Aspect, Change, Condition, Delete, Put, Record

LATEST = 253_370_764_800
"""Seconds since the epoch: the end of the year 9998; dates have four-digit years."""


def moment(given: Any) -> float:
    """Seconds since the epoch, until the year 9999.  Raises ValueError and TypeError."""
    seconds = float(given)
    if not 0 <= seconds < LATEST:
        raise ValueError(f"{given!r} is no time")
    return seconds


def b64(text: str | bytes) -> str:
    """Encode octets, or text as UTF-8, in base64."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def unbase64(given: Any) -> bytes:
    """Decode base64; empty where it is none."""
    try:
        return base64.b64decode(given, validate=True)
    except (ValueError, TypeError):
        return b""


def key_range(prefix: str) -> dict[str, str]:
    """Range of all keys with a prefix: up to the first key that is greater than all of them."""
    first = prefix.encode()
    trimmed = first.rstrip(b"\xff")
    end = trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\0"
    return {"key": b64(first or b"\0"), "range_end": b64(end)}


def revision(answer: dict[str, Any]) -> int:
    """etcd's revision in an answer."""
    return int(answer.get("header", {}).get("revision", 0))


def cluster(answer: dict[str, Any]) -> str:
    """etcd's cluster ID in an answer."""
    return str(answer.get("header", {}).get("cluster_id", ""))


def record(entry: dict[str, Any]) -> Record:
    """Decode `mvccpb.KeyValue`."""
    return Record(
        base64.b64decode(entry["key"]).decode(errors="replace"),
        base64.b64decode(entry.get("value", "")),
        int(entry.get("create_revision", 0)),
        int(entry.get("mod_revision", 0)),
        int(entry.get("lease", 0)),
    )


def change(event: dict[str, Any]) -> Change:
    """Decode `mvccpb.Event`."""
    entry = record(event["kv"])
    gone = event.get("type") == "DELETE"
    return Change(entry.key, None if gone else entry, entry.modified)


def put(operation: Put) -> dict[str, Any]:
    """Encode `PutRequest`."""
    return {
        "key": b64(operation.key),
        "value": b64(operation.value),
        "lease": str(operation.lease),
    }


def transaction(conditions: tuple[Condition, ...], then: tuple[Put | Delete, ...]) -> Any:
    """Encode `TxnRequest`, which reads the conditions' keys if a condition fails."""
    return {
        "compare": [
            {
                "key": b64(key),
                "result": "EQUAL",
                "target": aspect.value,
                "create_revision" if aspect is Aspect.CREATED else "mod_revision": str(wanted),
            }
            for key, aspect, wanted in conditions
        ],
        "success": [
            {"request_put": put(each)}
            if isinstance(each, Put)
            else {"request_delete_range": {"key": b64(each.key)}}
            for each in then
        ],
        "failure": [
            {"request_range": {"key": b64(key)}}
            for key in dict.fromkeys(condition.key for condition in conditions)
        ],
    }


def held(answer: dict[str, Any]) -> Iterator[Record]:
    """Decode the records in a `TxnResponse`."""
    for response in answer.get("responses", ()):
        yield from map(record, response.get("response_range", {}).get("kvs", ()))
