"""The Transmit machine (802.1AX, 6.4.16), and the answers to markers (6.5.4).

It runs after all other machines have come to rest, so that one step sends at most one LACPDU from a
member, and that one tells the truth.  No more than three leave in a second, as up to 802.1AX-2014;
802.1AX-2020 would allow ten.
"""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.lacp.core import Core
from ofapp.bridge.lacp.effects import SendPdu
from ofapp.bridge.lacp.port import AggregationPort, Periodic
from ofapp.bridge.lacp.slow import Marker, encode_lacpdu, encode_marker


def transmit_machine(core: Core, port: AggregationPort) -> None:
    """Say what is to be said, as soon as it may be."""
    if port.periodic is Periodic.NO_PERIODIC:  # nobody speaks here, or nobody may
        port.ntt = False
    if not port.ntt or not port.sending.take(core.now):
        return
    port.ntt = False
    port.sent["lacpdu"] += 1
    frame = encode_lacpdu(core.actor(port), port.partner, port.address)
    core.effects.append(SendPdu(port.port_no, frame))


def answer_marker(core: Core, port: AggregationPort, marker: Marker) -> None:
    """The Marker Responder (6.5.4.2): give a marker back, and do nothing about a response."""
    if marker.response:
        port.received["marker_response"] += 1
        return
    port.received["marker"] += 1
    if not port.enabled or not port.markers.take(core.now):
        port.drops["marker-rate" if port.enabled else "link-down"] += 1
        return
    port.sent["marker_response"] += 1
    frame = encode_marker(replace(marker, response=True), port.address)
    core.effects.append(SendPdu(port.port_no, frame))
