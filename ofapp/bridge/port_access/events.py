"""Events of port access control."""

from __future__ import annotations

from ofapp.bridge.event import INFO, SET, WARNING, EventKind

PORT_ACCESS_SET = EventKind("port_access.set", INFO, SET, fields="...")
PORT_ACCESS_PORT_SET = EventKind("port_access.port.set", INFO, SET, fields="...")
AUTHORISED = EventKind(
    "port_access.authorised",
    INFO,
    "A host was authorised on a controlled port.",
    fields="mac user method vlan tagged untagged acl rate_in rate_out",
)
REFUSED = EventKind(
    "port_access.refused",
    WARNING,
    "A host on a controlled port was not authorised.",
    "`ofapp auth show` has the reason; `ofapp auth clear` lets the host try again at once.",
    "mac user method why reply_message",
)
ENDED = EventKind(
    "port_access.ended",
    INFO,
    "A host is not authorised any more, or not as this user.",
    fields="mac user method why",
)
FULL = EventKind(
    "port_access.full",
    WARNING,
    "A controlled port has as many hosts as it may; further hosts are refused.",
    "See what is behind that port, or raise `max_hosts`, or set `host_mode`.",
    "limit mac",
)
FULL_CLEARED = EventKind(
    "port_access.full.cleared",
    INFO,
    "There is room for hosts on a controlled port again.",
    fields="refused",
)
BUSY = EventKind(
    "port_access.busy",
    WARNING,
    "A controlled port has as many open questions to RADIUS servers as it may; further hosts wait.",
    "See what is behind that port; `ofapp auth show --statistics` counts the hosts that wait.",
    "limit mac",
)
BUSY_CLEARED = EventKind(
    "port_access.busy.cleared",
    INFO,
    "No host of a controlled port waits for its question to RADIUS servers any more.",
    fields="waited",
)
STARTS = EventKind(
    "port_access.starts",
    WARNING,
    "Hosts on a controlled port begin authentication too often; some attempts are dropped.",
    "See what is behind that port; `ofapp auth show --statistics` counts them (`start_too_early`).",
    "mac",
)
STARTS_CLEARED = EventKind(
    "port_access.starts.cleared",
    INFO,
    "No host on a controlled port has begun authentication too often for five minutes.",
    fields="dropped",
)
SILENT = EventKind(
    "port_access.silent",
    WARNING,
    "No RADIUS server answers: hosts that are authorised stay so, others must wait.",
    "See whether the servers run, know this controller, and have the same secret.",
    "servers",
)
SILENT_CLEARED = EventKind(
    "port_access.silent.cleared", INFO, "A RADIUS server answers again.", fields="servers"
)
