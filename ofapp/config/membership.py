"""Adding a port to a VLAN and removing it, as `bridge vlan add` and `del` do.

The result must have a form in the file, as it is shown in that form.  So at most one VLAN of a port
is sent untagged, and untagged frames belong to the same one.
"""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, PortVlans, spoken
from ofapp.config.port import PortVlan


def with_vlan(vlans: PortVlans, vid: int, pvid: bool, untagged: bool) -> PortVlans:
    """Add a VLAN.  An access port becomes a trunk, with its VLAN as the native one.

    pvid: untagged frames belong to this VLAN from now on; the former one stays, tagged.
    InputError if the VLAN is to be sent untagged, but is not the one of untagged frames.
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


def without_vlan(vlans: PortVlans, vid: int) -> PortVlans:
    """Remove a VLAN; InputError if it is the last, or if the port is transparent."""
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


def vlan_section(vlans: PortVlans) -> PortVlan:
    """The `vlan` section of a port with these VLANs."""
    if vlans.vids is None:
        return PortVlan()
    if not vlans.tagged:
        return PortVlan(access=vlans.pvid)
    values = {"trunk": "all" if vlans.vids == ALL_VIDS else spoken(vlans.vids)}
    if vlans.pvid == NO_VLAN:
        return PortVlan.model_validate(values)
    native = {"native": vlans.pvid, "native_tagged": vlans.pvid not in vlans.untagged}
    return PortVlan.model_validate(values | native)
