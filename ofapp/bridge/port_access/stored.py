"""The stored form of the hosts that are authorised."""

from __future__ import annotations

from typing import Any

from ofapp.bridge.mac import format_mac, parse_mac
from ofapp.bridge.port_access.answer import Grant, Rights
from ofapp.bridge.port_access.params import PortParams
from ofapp.bridge.port_access.session import Phase, Session

MARGIN = 4096
"""Numbers that are left out after a restart: the last ones that were used may not be stored."""


def row(port: str, session: Session, at: float) -> dict[str, Any]:
    """One host.  at: the present, in the protocol's time.

    A host that is authenticated again just now is authenticated again by the next process: a grant
    without an end would outlive its Session-Timeout.
    """
    grant, waits = session.grant, session.phase is Phase.AUTHORISED
    assert grant is not None
    return {
        "port": port,
        "mac": format_mac(session.mac),
        "ident": session.ident,
        "user": session.account.hex(),
        "method": grant.method,
        "vid": grant.rights.vid,
        "tagged": grant.rights.tagged,
        "untagged": grant.rights.untagged,
        "acl": grant.rights.acl,
        "rate_in": grant.rights.rate_in,
        "rate_out": grant.rights.rate_out,
        "left": 0.0 if not waits else None if session.due is None else session.due - at,
        "ends": None if session.ends is None else session.ends - at,
        "for": at - session.since,
        "message": session.message,
        "classes": [each.hex() for each in session.classes],
        "accounted": session.accounted,
    }


def restored(data: Any) -> tuple[int, dict[str, list[Session]], list[str]]:
    """The number of the last question, and hosts by the name of their port.

    Also why hosts are not restored.  Raises ValueError if the whole is damaged.
    """
    if not isinstance(data, dict) or not isinstance(rows := data.get("hosts"), list):
        raise ValueError("it has no hosts")  # noqa: TRY004 (any damage is a ValueError)
    passed = float(data["passed"])
    hosts: dict[str, list[Session]] = {}
    faults: list[str] = []
    for each in rows:
        try:
            port, session = str(each["port"]), _session(each, passed)
        except (KeyError, TypeError, ValueError) as error:
            faults.append(f"a host is damaged: {error!r}")
            continue
        hosts.setdefault(port, []).append(session)
    number = data.get("number")
    return (number if isinstance(number, int) else 0) + MARGIN, hosts, faults


def _rights(row: Any) -> Rights:
    """The rights of a host; version 0.3.0 stored no more than the VLAN."""
    numbers = (row.get(key) for key in ("vid", "rate_in", "rate_out"))
    vid, *rates = (None if number is None else int(number) for number in numbers)
    tagged, untagged = (tuple(map(int, row.get(key, ()))) for key in ("tagged", "untagged"))
    return Rights(vid, tagged, untagged, str(row.get("acl", "")), *rates)


def _session(row: Any, passed: float) -> Session:
    """One host, with the time that is left: 0 if it has passed."""
    left, ends = row["left"], row.get("ends")
    if not row.get("again", True):  # version 0.3.0: it ends then
        left, ends = None, left
    due, end = (None if each is None else max(float(each) - passed, 0.0) for each in (left, ends))
    user = bytes.fromhex(row["user"])
    grant = Grant(str(row["method"]), _rights(row))
    return Session(
        parse_mac(row["mac"]),
        str(row["ident"]),
        PortParams(),
        -(float(row["for"]) + passed),
        Phase.AUTHORISED,
        grant.method if grant.by_server else "",
        grant,
        user,
        user,
        due,
        end,
        message=str(row["message"]),
        classes=tuple(map(bytes.fromhex, row["classes"])),
        accounted=bool(row["accounted"]),
    )
