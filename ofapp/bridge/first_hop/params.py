"""Parameters of first-hop security.

Each parameter is declared here and nowhere else, see `bridge.params.parameter`.  The word `trust`
of a port (`PortParams.trust`) sets several of them at once, see `PRESETS` in `config.trust`.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval
from typing_extensions import Doc

from ofapp.bridge.first_hop.ethertypes import FORM

MAX_BINDINGS = 65_536
"""Most bindings of one bridge."""
MAX_SHARING = 256
"""Most hosts that share an address."""

_Bindings = Interval(ge=1, le=MAX_BINDINGS)


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge."""

    when_away: Annotated[
        Literal["pass", "hold"],
        Doc(
            "What happens to DHCP and to claims of new IPv6 addresses while no controller is"
            " connected: pass forwards them, so that leases are renewed, and new addresses are"
            " refused until the controller is back; hold drops them. Hosts with bindings are not"
            " affected."
        ),
    ] = "pass"
    relay_options: Annotated[
        Literal["remove", "insert", "keep"],
        Doc(
            "DHCP relay information (option 82) in requests from guarded ports: remove what the"
            " host sent; insert the bridge and port, also for DHCPv6 (RFC 6221, RFC 6939), where"
            " the server must take Relay-forward messages without a link address, as Kea does and"
            " dnsmasq 2.90 does not; or keep it as it is."
        ),
    ] = "remove"
    max_bindings: Annotated[int, _Bindings, Doc("Most dynamic bindings of the bridge.")] = 16_384
    max_vlan_bindings: Annotated[
        int | None,
        _Bindings,
        Doc("Most dynamic bindings in each VLAN; without it no limit per VLAN."),
    ] = None


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port."""

    source_guard: Annotated[
        Literal["off", "mac", "ip"],
        Doc(
            "Frames that may come in here: mac is those whose source MAC address has a binding on"
            " the port; ip is those whose source IP address is bound to that MAC address, too."
        ),
    ] = "off"
    arp_inspection: Annotated[
        bool, Doc("ARP may claim only addresses with a binding on the port.")
    ] = False
    nd_inspection: Annotated[
        bool, Doc("IPv6 neighbour discovery may claim only addresses with a binding on the port.")
    ] = False
    dhcp_server: Annotated[bool, Doc("Messages of DHCP servers may come in here.")] = True
    router: Annotated[
        bool,
        Doc(
            "Messages of routers may come in here: router advertisements and redirects, and those"
            " of multicast routers: IGMP and MLD queries, PIM, multicast router discovery."
        ),
    ] = True
    ethertypes: Annotated[
        str,
        FORM,
        Doc(
            "EtherTypes that hosts may send, behind a VLAN tag if there is one: all; ip for ARP,"
            " RARP, IPv4 and IPv6; or names and numbers, as ip,pppoe,0x88b5. Frames with an LLC"
            " header are llc, and guards of sources and of servers or routers refuse them anyway."
        ),
    ] = "all"
    max_bindings: Annotated[
        int,
        _Bindings,
        Doc("Most dynamic bindings of the port, with DHCP clients that wait for a lease."),
    ] = 64

    @property
    def guards(self) -> bool:
        """Whether something of the hosts on the port is checked, and so bindings are kept."""
        return self.source_guard != "off" or self.arp_inspection or self.nd_inspection

    @property
    def checks(self) -> bool:
        """Whether any frame that comes in by the port is checked."""
        typed = self.ethertypes != "all"
        return self.guards or typed or not (self.dhcp_server and self.router)
