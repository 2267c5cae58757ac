"""Events of the hosts that are remembered."""

from __future__ import annotations

from ofapp.bridge.event import WARNING, EventKind

HOSTS_LIMIT = EventKind(
    "hosts.limit",
    WARNING,
    "So many hosts are remembered that the ports with most of them lose their oldest ones.",
    "See which hosts are on the port: `ofapp host show`. A limit of learned addresses keeps new"
    " ones away.",
    "hosts",
)
