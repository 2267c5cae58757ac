"""Fabrics for Prometheus: several switches that form one bridge."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import Metrics, Source, families
from ofapp.bridge.fabric.status import (
    FabricStatus,
    LinkState,
    LinkStatus,
    MemberStatus,
    link_states,
)

# fmt: off
_FABRIC: Metrics[FabricStatus] = (
    ("ofapp_fabric_members", "Members by the configuration.",
     lambda fabric: len(fabric.members)),
    ("ofapp_fabric_settled",
     "1 = all connected members use the newest plan, and no link is being proven.", "settled"),
    ("ofapp_fabric_paused", "1 = the protocols of its bridge are paused.",
     lambda fabric: bool(fabric.paused)),
    ("ofapp_fabric_links{state}", "Links between members by state.",
     lambda fabric: {state.name.lower(): number for state, number in link_states(fabric).items()}),
    ("ofapp_fabric_events_total{what}", "What has happened in the fabric.", "counters"),
)

_MEMBER: Metrics[MemberStatus] = (
    ("ofapp_fabric_member_connected", "1 = the member's switch is connected.", "connected"),
    ("ofapp_fabric_member_ready", "1 = it is connected and holds the plan that its frames use.",
     "ready"),
    ("ofapp_fabric_member_refuses", "1 = its switch refuses flows of the fabric.", "refuses"),
    ("ofapp_fabric_member_versions", "Versions of the plan that it holds.",
     lambda member: len(member.versions)),
    ("ofapp_fabric_member_hosts", "Hosts that were learned at its ports.", "hosts"),
    ("ofapp_fabric_member_conversations", "Hosts of other members that it may have flows for.",
     "conversations"),
)

_LINK: Metrics[LinkStatus] = (
    ("ofapp_fabric_link_carries", "1 = the link carries frames.",
     lambda link: link.state is LinkState.CARRIES),
    ("ofapp_fabric_link_failures_total", "How often it has stopped carrying frames.", "failures"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; the counters of a link's ports are in the API's answer alone."""
    now = time.monotonic()
    known = [fabric.status(now) for _, fabric in sorted(source.network.fabrics.items())]
    yield from families(_FABRIC, ["fabric"], (([fabric.name], fabric) for fabric in known))
    members = (([fabric.name, one.name], one) for fabric in known for one in fabric.members)
    yield from families(_MEMBER, ["fabric", "member"], members)
    links = (
        ([fabric.name, link.one, link.other or ""], link)
        for fabric in known
        for link in fabric.links
    )
    yield from families(_LINK, ["fabric", "one", "other"], links)
