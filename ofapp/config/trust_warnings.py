"""Words of trust that are valid, and that were probably not meant."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.config.bridge import Bridge
from ofapp.config.trust import GUESTS

Warned = tuple[str, str]
"""The port's key, and the warning."""


def trust_warnings(bridge: Bridge) -> Iterator[Warned]:
    """Warnings about the trust of a bridge's ports."""
    for key, port in bridge.ports.items():
        if port.trust not in GUESTS:
            continue
        if key == "LOCAL":
            yield key, f"LOCAL is the switch's own host, which trust {port.trust} takes for a guest"
        if "all" in (port.vlan.trunk or ()):
            yield key, "a guest that is a trunk of all VLANs can send in each: name its VLANs"
        if port.stp.bpdu_guard and not (bridge.stp.enabled and port.stp.enabled):
            yield key, "spanning tree is off here: BPDU guard does not stop a guest's BPDUs"
    yield from _all_guests(bridge)
    yield from _members(bridge)


def _all_guests(bridge: Bridge) -> Iterator[Warned]:
    """Warnings about a pattern for all ports."""
    port = bridge.ports.get("*")
    if port is None or port.trust not in GUESTS:
        return
    if all(other.trust in GUESTS for other in bridge.ports.values()):
        yield "*", "all ports are guests: give the port to routers and servers trust: uplink"
    elif "LOCAL" not in bridge.ports:
        yield "*", "the switch's own port is a guest, too, unless LOCAL has another trust"


def _members(bridge: Bridge) -> Iterator[Warned]:
    """Warnings about members of aggregations that fit a pattern for guests."""
    for name, lag in bridge.lags.items():
        guests = [own for own in lag.members if bridge.port(own, -1).trust in GUESTS]
        if guests and bridge.port(name, -1).trust not in GUESTS:
            what = f"{', '.join(guests)} fit a pattern for guests, which does not hold for members"
            yield name, f"{what} of {name}: set the trust of {name}"
