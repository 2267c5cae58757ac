"""Reading what a switch holds, by requests that cost it little time.

Open vSwitch does nothing else while it collects an answer: 100,000 flows at once made a hello 0.4 s
late [measured].  Asked for a part of a table by a match or a masked cookie, it walks through all
flows of the table for each part.  Flows of one whole cookie it finds by an index.
"""

import struct
from collections.abc import Iterator
from typing import Any

from ofapp.openflow.model.cookie import (
    APP,
    APP_MASK,
    EXACT,
    FEATURE_MASK,
    LEARNED_BIT,
    Feature,
    make_cookie,
)
from ofapp.openflow.model.flow import Group, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.tables import PIPELINE
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from ofapp.openflow.wire.requests import bodies, parsed
from ofapp.osken import ofp, parser

OURS = APP << 48
LEARNED = OURS | LEARNED_BIT
KIND_MASK = APP_MASK | LEARNED_BIT
"""Learned addresses or everything else."""

_TABLE_STATS = struct.Struct("!BxxxIQQ")  # table, flows, look-ups, matches

LARGE = (TableId.SOURCE, TableId.DESTINATION)
"""Tables with learned addresses; what else they hold has cookies without serials."""

_INTERNAL = 254
"""Open vSwitch's last table, which has internal flows without a cookie."""

_OF_HOSTS = {Feature.LEARNED, Feature.STICKY, Feature.REMOTE}


def flow_request(channel: Channel, cookie: int, mask: int, table: int = ofp.OFPTT_ALL) -> Any:
    """Request the flows with these cookies."""
    return parser.OFPFlowStatsRequest(
        channel, 0, table, ofp.OFPP_ANY, ofp.OFPG_ANY, cookie, mask, parser.OFPMatch()
    )


def feature_request(channel: Channel, feature: Feature, table: TableId) -> Any:
    """Request the flows of one feature, of any generation."""
    return flow_request(channel, make_cookie(feature), FEATURE_MASK, table)


def feature_flows(channel: Channel, feature: Feature, table: TableId) -> Iterator[FlowStats]:
    """The switch's flows of one feature; RequestError, ValueError where malformed."""
    for body in bodies(channel, feature_request(channel, feature, table)):
        yield from read_flow_stats(body)


def fixed_requests(channel: Channel, thorough: bool) -> list[Any]:
    """Request all flows of ours except learned addresses, and the flows without a cookie.

    A thorough answer includes leases.  A switch has an index of whole cookies, so that the flows
    without a cookie cost the same with many flows.

    thorough: those of other generations and of features that are none, too, for which the switch
    walks through all it has.
    """
    requests = [flow_request(channel, 0, EXACT)]
    if thorough:
        return [*requests, flow_request(channel, OURS, KIND_MASK)]
    for table in PIPELINE:
        if table.id in LARGE:
            features = {rule.feature for rule in table.rules} - _OF_HOSTS
            cookies = map(make_cookie, sorted(features))
            requests += [flow_request(channel, cookie, EXACT, table.id) for cookie in cookies]
        elif table.id != TableId.OWNER:
            requests.append(flow_request(channel, OURS, KIND_MASK, table.id))
    return requests


def is_foreign(flow: FlowStats) -> bool:
    """Whether another program has set a flow: it has no cookie, and is no internal flow of Open
    vSwitch in the last table.
    """
    return not flow.cookie and flow.table != _INTERNAL


def flow_count(channel: Channel) -> int:
    """Count all flows, also foreign ones, in the tables of learned addresses.

    Raises RequestError.
    """
    count = 0
    for body in bodies(channel, parser.OFPTableStatsRequest(channel, 0)):
        whole = len(body) - len(body) % _TABLE_STATS.size
        for table, flows, _, _ in _TABLE_STATS.iter_unpack(body[:whole]):
            count += flows if table in LARGE else 0
    return count


def ask_groups(channel: Channel) -> dict[int, Group]:
    """All groups by number, ours or not.  Raises RequestError."""
    request = parser.OFPGroupDescStatsRequest(channel)
    return {
        entry.group_id: Group(entry.group_id, codec.read_buckets(entry))
        for entry in parsed(channel, request)
    }


def ask_meters(channel: Channel) -> dict[int, Meter]:
    """All meters by number, ours or not.  Raises RequestError."""
    request = parser.OFPMeterConfigStatsRequest(channel)
    return {
        entry.meter_id: Meter(
            entry.meter_id,
            entry.bands[0].rate if entry.bands else 0,
            bool(entry.flags & ofp.OFPMF_KBPS),
        )
        for entry in parsed(channel, request)
    }


def has_meters(channel: Channel) -> bool:
    """Whether the switch has any; RequestError where it does not even know what meters are."""
    features = parsed(channel, parser.OFPMeterFeaturesStatsRequest(channel))
    return bool(features and features[0].max_meter)
