"""Reading the groups and meters of a switch."""

from __future__ import annotations

from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.model.flow import Group, Meter
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.requests import parsed


def ask_groups(channel: Channel) -> dict[int, Group]:
    """All groups by number, ours or not; RequestError."""
    request = parser.OFPGroupDescStatsRequest(channel)
    return {
        entry.group_id: Group(entry.group_id, codec.read_buckets(entry))
        for entry in parsed(channel, request)
    }


def ask_meters(channel: Channel) -> dict[int, Meter]:
    """All meters by number, ours or not; RequestError."""
    request = parser.OFPMeterConfigStatsRequest(channel)
    return {
        entry.meter_id: Meter(entry.meter_id, entry.bands[0].rate if entry.bands else 0)
        for entry in parsed(channel, request)
    }


def has_meters(channel: Channel) -> bool:
    """Whether the switch has any; RequestError where it does not even know what meters are."""
    features = parsed(channel, parser.OFPMeterFeaturesStatsRequest(channel))
    return bool(features and features[0].max_meter)
