"""The Transmit machine (802.1AX, 6.4.16), and the answers to markers (6.5.4).

It runs after all other machines have come to rest, so that one step sends at most one LACPDU from a
member, with the final state.  No more than three leave in a second, as up to 802.1AX-2014;
802.1AX-2020 would allow ten.
"""

from dataclasses import replace

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.effects import SendPdu
from ofapp.bridge.lag.lacp.information import Information, State
from ofapp.bridge.lag.lacp.port import AggregationPort, Periodic
from ofapp.bridge.lag.lacp.slow import Marker, encode_lacpdu, encode_marker


def transmit_machine(core: Core, port: AggregationPort) -> None:
    """Send an LACPDU if one is needed and the rate allows it."""
    if port.periodic is Periodic.NO_PERIODIC:  # LACP is off on the link, or both ends are passive
        port.ntt = False
    if not port.ntt or not port.sending.take(core.now):
        return
    port.ntt = False
    port.sent["lacpdu"] += 1
    partner = port.partner
    if port.asks:  # the partner answers wrong information at once (update_NTT, 6.4.9)
        partner = partner._replace(state=partner.state ^ State.TIMEOUT)
    core.effects.append(_lacpdu(core, port, partner))


def last_pdus(core: Core) -> list[SendPdu]:
    """The LACPDUs that were sent last, to be repeated while nothing may change."""
    return [
        _lacpdu(core, port, port.partner)
        for port in core.ports.values()
        if port.periodic is not Periodic.NO_PERIODIC
    ]


def _lacpdu(core: Core, port: AggregationPort, partner: Information) -> SendPdu:
    return SendPdu(port.port_no, encode_lacpdu(core.actor(port), partner, port.address))


def answer_marker(core: Core, port: AggregationPort, marker: Marker) -> None:
    """The Marker Responder (6.5.4.2): answer a marker, and ignore a response."""
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
