"""What only the switch knows when a controller starts: port states, static and group entries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.cookie import GENERATION, Feature, parse_cookie, serial_ports
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.entries import Key
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_half
from ofapp.openflow.wire.messages.oxm import read_address_match

Apply = Callable[[list[Effect]], None]
"""Carries effects out."""


def adopt_static_entries(bridge: Bridge, flows: Iterable[FlowStats], apply: Apply) -> None:
    """Take the bridge's static entries, which no other place has, from the switch's flows."""
    for flow in flows:
        cookie, half = parse_cookie(flow.cookie), read_half(flow)
        if cookie is None or cookie.feature != Feature.STATIC or half is None:
            continue
        port = bridge.ports.get(half.port)
        if flow.table == TableId.DESTINATION and port is not None:
            now = time.monotonic()
            apply(bridge.add_static(half.vid, half.destination, port.name, now))


def adopt_held(bridge: Bridge, flows: Iterable[FlowStats], apply: Apply) -> None:
    """Keep the addresses that a switch holds down so for the rest of their time."""
    now = time.monotonic()
    for flow in flows:
        cookie = parse_cookie(flow.cookie)
        if cookie is None or (cookie.feature, cookie.generation) != (Feature.HELD, GENERATION):
            continue
        ports, about = serial_ports(cookie.serial), read_address_match(flow.match)
        if about is not None and None not in map(bridge.ports.get, ports):
            apply(bridge.addresses.adopt_held(about.vid, about.source, ports, flow.age, now))


def adopt_groups(
    bridge: Bridge,
    entries: Mapping[Key, int],
    ports: Mapping[int, frozenset[int]],
    apply: Apply,
) -> None:
    """Take the multicast entries from before this controller started from the switch.

    entries: the OpenFlow group of each; ports: those of each group.
    """
    groups, unregistered = [], []
    for key, number in entries.items():
        there = ports.get(number, frozenset())
        if key.group is not None:
            groups.append(SetGroup(key.vid, key.group, key.source, there))
        elif key.family is not None:
            unregistered.append(SetUnregistered(key.vid, key.family, there))
    apply(bridge.restore_multicast(groups, unregistered, time.monotonic()))


def port_states(flows: Iterable[FlowStats], ports: Iterable[int]) -> dict[int, PortState]:
    """The port states that the ports' flows implement."""
    states = dict.fromkeys(ports, PortState.DISCARDING)
    for flow in flows:
        cookie = parse_cookie(flow.cookie)
        if cookie is None or (flow.table, flow.priority) != (TableId.ADMISSION, 100):
            continue
        port = int.from_bytes(flow.match[4:8], "big")
        if port in states and len(flow.match) == 8:
            forwards = cookie.feature == Feature.PORT
            states[port] = PortState.FORWARDING if forwards else PortState.LEARNING
    return states
