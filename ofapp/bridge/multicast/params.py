"""Parameters of multicast snooping, with the Linux bridge's names, times in seconds.

Two defaults differ from Linux's: `mcast_igmp_version` 3 and `mcast_mld_version` 2, because
versions 2 and 1 keep no source lists, and then a source-specific join gets every source.
Frozen and checked on construction, so the engine never gets a bad value; each is declared only
here, see `bridge.parameter`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge.packet.address import ANY4, is_host, is_link_local6, parse
from ofapp.bridge.params.parameter import Form, refusals
from ofapp.bridge.params.patterns import HOST4, ipv6_pattern

MAX_QUERY_INTERVAL = 31744.0  # the greatest value of a QQIC


class ParamError(ValueError):
    """A parameter with a bad value; `field` names it."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}")
        self.field = name


def _check(params: object) -> None:
    for parameter, value in refusals(params):
        raise ParamError(parameter.name, str(parameter.refusal(value)))


def _is_querier4(text: str) -> bool:
    octets = _octets(text)
    return len(octets) == 4 and (octets == ANY4 or is_host(octets))


def _is_querier6(text: str) -> bool:
    octets = _octets(text)
    return not text or (len(octets) == 16 and is_link_local6(octets))


def _octets(text: str) -> bytes:
    try:
        return parse(text)
    except ValueError:
        return b""


_Snooping = Annotated[bool, Doc("Restrict multicast to its members; false: all of it floods.")]
_LINK_LOCAL6 = ipv6_pattern("[fF][eE][89abAB][0-9a-fA-F]")


@dataclass(frozen=True, slots=True)
class PortVlanParams:
    """Parameters of a port in one VLAN."""

    mcast_router: Annotated[
        int | None,
        Interval(ge=0, le=2),
        Doc("As the port's, which it replaces in this VLAN; null: the port's applies."),
    ] = None

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port.

    mcast_flood_unregistered: RFC 4541 2.1.2(3); vlans: values of single VLANs, by VID.
    hosts_only: reports alone come in here, as first-hop security allows no router (`router`).
    """

    mcast_router: Annotated[
        int,
        Interval(ge=0, le=2),
        Doc("0: never a router port; 1: one while a router is heard; 2: always one."),
    ] = 1
    mcast_fast_leave: Annotated[
        bool, Doc("Drop a group when the last known host leaves it, without a query.")
    ] = False
    mcast_max_groups: Annotated[
        int, Interval(ge=0, le=1 << 24), Doc("Most groups on the port; 0: no separate limit.")
    ] = 0
    mcast_flood_unregistered: Annotated[
        bool, Doc("Forward unregistered multicast groups to this port.")
    ] = False
    vlans: Mapping[int, PortVlanParams] = field(default_factory=dict)
    hosts_only: bool = False

    def __post_init__(self) -> None:
        _check(self)

    def router(self, vid: int) -> int:
        """`mcast_router` that applies in a VLAN; no router is heard where only hosts may be."""
        vlan = self.vlans.get(vid)
        said = self.mcast_router if vlan is None or vlan.mcast_router is None else vlan.mcast_router
        return 0 if self.hosts_only and said == 1 else said


@dataclass(frozen=True, slots=True)
class VlanParams:
    """Parameters of a VLAN; the bridge's apply where a VLAN has none.

    mcast_querier_address4: 0.0.0.0 makes every other querier win and other switches not see a
    router here (RFC 4541 2.1.1(1)b), as Linux's default does.
    """

    mcast_snooping: _Snooping = True
    mcast_querier: Annotated[bool, Doc("Send queries, unless another querier does.")] = False
    mcast_igmp_version: Annotated[
        int, Interval(ge=2, le=3), Doc("Version of our IGMP queries: 2 or 3.")
    ] = 3
    mcast_mld_version: Annotated[
        int, Interval(ge=1, le=2), Doc("Version of our MLD queries: 1 or 2.")
    ] = 2
    mcast_last_member_count: Annotated[
        int, Interval(ge=1, le=7), Doc("How many queries follow a leave.")
    ] = 2
    mcast_last_member_interval: Annotated[
        float, Interval(ge=0.1, le=3174.4), Unit("s"), Doc("Seconds between those queries.")
    ] = 1.0
    mcast_membership_interval: Annotated[
        float,
        Interval(ge=1, le=1e6),
        Unit("s"),
        Doc("Seconds until a reported membership expires."),
    ] = 260.0
    mcast_querier_interval: Annotated[
        float,
        Interval(ge=1, le=1e6),
        Unit("s"),
        Doc("Seconds until another querier that is not heard any more counts as gone."),
    ] = 255.0
    mcast_query_interval: Annotated[
        float,
        Interval(ge=1, le=MAX_QUERY_INTERVAL),
        Unit("s"),
        Doc("Seconds between our general queries."),
    ] = 125.0
    mcast_query_response_interval: Annotated[
        float,
        Interval(ge=0.1, le=3174.4),
        Unit("s"),
        Doc(
            "Seconds that hosts have to answer; less than mcast_query_interval by RFC 3376, and at"
            " most as long."
        ),
    ] = 10.0
    mcast_startup_query_count: Annotated[
        int, Interval(ge=1, le=255), Doc("How many general queries are sent at the start.")
    ] = 2
    mcast_startup_query_interval: Annotated[
        float,
        Interval(ge=1, le=MAX_QUERY_INTERVAL),
        Unit("s"),
        Doc("Seconds between those queries."),
    ] = 31.25
    mcast_querier_address4: Annotated[
        str,
        Form("an IPv4 host address or 0.0.0.0", _is_querier4, f"^(0[.]0[.]0[.]0|{HOST4})$"),
        Doc(
            "Source of our IGMP queries; 0.0.0.0 leaves every election to others, and switches"
            " that follow RFC 4541 to the letter then keep reports from this bridge."
        ),
    ] = "0.0.0.0"
    mcast_querier_address6: Annotated[
        str,
        Form("a link-local IPv6 address", _is_querier6, f"^({_LINK_LOCAL6})?$"),
        Doc(
            "Source of our MLD queries, a link-local address; by default the one of the bridge's"
            " Ethernet address."
        ),
    ] = ""
    mcast_flood_unregistered: Annotated[
        bool, Doc("Groups without members flood, and do not go to router ports only.")
    ] = False
    mcast_report_suppression: Annotated[
        bool, Doc("Routers get one IGMPv1/v2 or MLDv1 report for each group and query.")
    ] = False

    def __post_init__(self) -> None:
        _check(self)
        if self.mcast_query_response_interval > self.mcast_query_interval:
            raise ParamError(
                "mcast_query_response_interval",
                "must be less than mcast_query_interval (RFC 3376 8.3), or equal as in Linux,"
                f" not {self.mcast_query_response_interval!r}",
            )

    @property
    def last_member_time(self) -> float:
        """Seconds from a leave until the stream ends (RFC 3376 8.10)."""
        return self.mcast_last_member_count * self.mcast_last_member_interval


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of the bridge.

    mcast_snooping: off, nothing is snooped on any VLAN; vlan: for VLANs without their own.
    """

    mcast_snooping: _Snooping = True
    mcast_hash_max: Annotated[
        int,
        Interval(ge=1, le=1 << 24),
        Doc("Most entries in the datapath, (*,G) and (S,G), of all ports together."),
    ] = 4096
    mcast_max_sources: Annotated[
        int,
        Interval(ge=1, le=88),  # most sources in one IPv6 query
        Doc("Most sources that a port may list for a group."),
    ] = 32
    mcast_eht_hosts_limit: Annotated[
        int, Interval(ge=1, le=1 << 20), Doc("Most hosts that are tracked on a port.")
    ] = 512
    strict: Annotated[
        bool, Doc("Drop messages as the RFCs demand, even where deployed hosts send them.")
    ] = False
    vlan: VlanParams = field(default_factory=VlanParams)

    def __post_init__(self) -> None:
        _check(self)
        if not isinstance(self.vlan, VlanParams):
            raise ParamError("vlan", f"must be VlanParams, not {self.vlan!r}")
