"""Reasons for which the controller refuses frames of hosts, in words, by name of their counter."""

from collections.abc import Mapping

_MALFORMED = "the message is malformed"
_OF_SERVER = "no DHCP server or relay agent may be there"

REASONS: Mapping[str, str] = {
    "conflicts": "another host has the address",
    "dhcp_address": "the message gives back an address that no host can have",
    "dhcp_chaddr": "the client address in the message is not the source of the frame",
    "dhcp_clients_limit": "the port, the VLAN or the bridge has no room for a further client",
    "dhcp_from_server": _OF_SERVER,
    "dhcp_giaddr": _OF_SERVER,
    "dhcp_release_of_others": "the message gives back an address that the host has no lease of",
    "dhcp_request_of_other_port": "another port or client uses the same transaction id",
    "dhcp_source_not_bound": "the message comes from an address that is not bound to the host",
    "dhcpv6_from_server": _OF_SERVER,
    "dhcpv6_source": "the message does not come from the address of a host",
    "host_elsewhere": "the MAC address is in use on another port",
    "nd_claims_limit": "the port claims too many addresses at the same time",
    "nd_link_layer": "the message has another MAC address than its frame",
    "nd_off_link": "no router announces the prefix of the address in the VLAN",
    "nd_trusted_claim": "a host behind a trusted port has just claimed the address",
    "source": "the source of the message is not bound to the host",
    **dict.fromkeys(
        (
            *("dhcp_hardware", "dhcp_options", "dhcp_truncated"),
            *("dhcpv6_duid", "dhcpv6_options", "dhcpv6_truncated"),
            *("nd_address", "nd_checksum", "nd_code", "nd_hop_limit", "nd_options", "nd_truncated"),
            *("ip_truncated", "udp_truncated"),
        ),
        _MALFORMED,
    ),
    "ip_fragment": "the message is in fragments",
}

REMEDIES: Mapping[str, str] = {
    "dhcp_clients_limit": "raise max_bindings, or end programs that ask as several clients",
    "dhcp_source_not_bound": "release the old address in the guest, and ask for a lease again",
    "nd_claims_limit": "wait a second, or add bindings: ofapp binding add",
    "nd_off_link": "see that the router's port has `trust: uplink` or `router: true`, and that the"
    " router announces the prefix in the guest's VLAN",
}
"""What a user can do where more is known than for other claims."""


def words(reason: str) -> str:
    """Return a reason in words; a counter without words is named."""
    return REASONS.get(reason, f"see the counter {reason}")
