"""A port joins a VLAN, or leaves one, as `bridge vlan add` and `del` do it.

What comes of it must be something the file can say, since that is how it is shown: so of a port's
VLANs one at most leaves without a tag, and that is where its untagged frames belong.
"""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, PortVlans, spoken
from ofapp.config.port import PortVlan


def joined(vlans: PortVlans, vid: int, pvid: bool, untagged: bool) -> PortVlans:
    """With a VLAN more.  A port for hosts becomes a trunk, its VLAN the native one.

    pvid: untagged frames belong there from now on; the VLAN where they did stays, tagged.
    InputError when the VLAN shall leave untagged that untagged frames do not belong to.
    """
    if untagged and not pvid:
        why = "a VLAN leaves without a tag only where untagged frames belong to it: give pvid too"
        raise InputError("untagged", why)
    if vlans.vids is None:
        vlans = PortVlans(frozenset())
    own = PortVlans(vlans.vids | {vid} if vlans.vids else frozenset({vid}), vlans.untagged)
    if pvid:
        return replace(own, pvid=vid, untagged=frozenset({vid} if untagged else ()))
    if vid == vlans.pvid:
        return replace(own, untagged=vlans.untagged - {vid})
    return replace(own, pvid=vlans.pvid)


def left(vlans: PortVlans, vid: int) -> PortVlans:
    """Without a VLAN; InputError when it is the last, or the port is transparent."""
    if vlans.vids is None:
        why = "the port is transparent, and in every VLAN: give it those that it shall be in"
        raise InputError("vlan", why)
    if vid not in vlans.vids:
        raise InputError("vlan", f"the port is not in VLAN {vid}")
    vids = vlans.vids - {vid}
    if not vids:
        why = f"VLAN {vid} is the port's last: shut it down, or make it transparent, instead"
        raise InputError("vlan", why)
    pvid = NO_VLAN if vid == vlans.pvid else vlans.pvid
    return PortVlans(vids, vlans.untagged - {vid}, pvid)


def said(vlans: PortVlans) -> PortVlan:
    """As the file says it."""
    if vlans.vids is None:
        return PortVlan()
    if not vlans.tagged:
        return PortVlan(access=vlans.pvid)
    values = {"trunk": "all" if vlans.vids == ALL_VIDS else spoken(vlans.vids)}
    if vlans.pvid == NO_VLAN:
        return PortVlan.model_validate(values)
    native = {"native": vlans.pvid, "native_tagged": vlans.pvid not in vlans.untagged}
    return PortVlan.model_validate(values | native)
