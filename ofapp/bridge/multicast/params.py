"""What a user may set, under the Linux bridge's names, times in seconds.

Two defaults differ from Linux's: `mcast_igmp_version` 3 and `mcast_mld_version` 2, because
versions 2 and 1 keep no source lists, and then a source-specific join gets every source.
Frozen and checked on construction, so the engine never meets a bad value.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ofapp.bridge.multicast.address import ANY4, is_host, is_link_local6, parse

MAX_QUERY_INTERVAL = 31744.0  # the greatest a QQIC can say


class ParamError(ValueError):
    """A parameter out of its range; `field` names it."""

    def __init__(self, name: str, wanted: str, value: object) -> None:
        super().__init__(f"{name}: must be {wanted}, not {value!r}")
        self.field = name


def _number(owner: object, name: str, low: float, high: float) -> None:
    value = getattr(owner, name)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not low <= value <= high:  # nor NaN
        raise ParamError(name, f"a number from {low:g} to {high:g}", value)


def _integer(owner: object, name: str, low: int, high: int) -> None:
    value = getattr(owner, name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParamError(name, f"a whole number from {low} to {high}", value)


def _flag(owner: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(owner, name), bool):
            raise ParamError(name, "true or false", getattr(owner, name))


@dataclass(frozen=True, slots=True)
class PortParams:
    """One port's.

    mcast_router: 0 never a router port, 1 as learned, 2 always.
    mcast_fast_leave: drop a group when the last known host leaves it, without asking.
    mcast_max_groups: most groups the port may hold, 0 for no limit of its own.
    mcast_flood_unregistered: the port gets groups nobody joined (RFC 4541 2.1.2(3)).
    """

    mcast_router: int = 1
    mcast_fast_leave: bool = False
    mcast_max_groups: int = 0
    mcast_flood_unregistered: bool = False

    def __post_init__(self) -> None:
        _integer(self, "mcast_router", 0, 2)
        _integer(self, "mcast_max_groups", 0, 1 << 24)
        _flag(self, "mcast_fast_leave", "mcast_flood_unregistered")


@dataclass(frozen=True, slots=True)
class VlanParams:
    """One VLAN's; the bridge's hold where a VLAN has none.

    mcast_querier_address4 / 6: source of our queries, text. 0.0.0.0 makes every other querier
    win and other switches not see a router here (RFC 4541 2.1.1(1)b), as Linux's default does; an
    empty address6 is the link-local address made from the bridge's Ethernet address.
    mcast_flood_unregistered: groups nobody joined flood, not only to router ports.
    mcast_report_suppression: routers get one IGMPv1/v2 or MLDv1 report a group and query.
    """

    mcast_snooping: bool = True
    mcast_querier: bool = False
    mcast_igmp_version: int = 3
    mcast_mld_version: int = 2
    mcast_last_member_count: int = 2
    mcast_last_member_interval: float = 1.0
    mcast_membership_interval: float = 260.0
    mcast_querier_interval: float = 255.0
    mcast_query_interval: float = 125.0
    mcast_query_response_interval: float = 10.0
    mcast_startup_query_count: int = 2
    mcast_startup_query_interval: float = 31.25
    mcast_querier_address4: str = "0.0.0.0"
    mcast_querier_address6: str = ""
    mcast_flood_unregistered: bool = False
    mcast_report_suppression: bool = False

    def __post_init__(self) -> None:
        _flag(
            self,
            "mcast_snooping",
            "mcast_querier",
            "mcast_flood_unregistered",
            "mcast_report_suppression",
        )
        _integer(self, "mcast_igmp_version", 2, 3)
        _integer(self, "mcast_mld_version", 1, 2)
        _integer(self, "mcast_last_member_count", 1, 7)
        _integer(self, "mcast_startup_query_count", 1, 255)
        _number(self, "mcast_last_member_interval", 0.1, 3174.4)
        _number(self, "mcast_query_interval", 1.0, MAX_QUERY_INTERVAL)
        _number(self, "mcast_query_response_interval", 0.1, 3174.4)
        _number(self, "mcast_startup_query_interval", 1.0, MAX_QUERY_INTERVAL)
        _number(self, "mcast_membership_interval", 1.0, 1e6)
        _number(self, "mcast_querier_interval", 1.0, 1e6)
        if self.mcast_query_response_interval >= self.mcast_query_interval:
            raise ParamError(
                "mcast_query_response_interval",
                "less than mcast_query_interval (RFC 3376 8.3)",
                self.mcast_query_response_interval,
            )
        self._check_address("mcast_querier_address4", self.mcast_querier_address4, 4)
        if self.mcast_querier_address6:
            self._check_address("mcast_querier_address6", self.mcast_querier_address6, 16)

    @staticmethod
    def _check_address(name: str, value: str, size: int) -> None:
        wanted = "an IPv4 host address or 0.0.0.0" if size == 4 else "a link-local IPv6 address"
        try:
            octets = parse(value)
        except ValueError:
            raise ParamError(name, wanted, value) from None
        if len(octets) != size or not (
            (octets == ANY4 or is_host(octets)) if size == 4 else is_link_local6(octets)
        ):
            raise ParamError(name, wanted, value)

    @property
    def last_member_time(self) -> float:
        """Seconds from a leave to the end of the stream (RFC 3376 8.10)."""
        return self.mcast_last_member_count * self.mcast_last_member_interval


@dataclass(frozen=True, slots=True)
class Params:
    """The bridge's.

    mcast_snooping: off, nothing is snooped on any VLAN and all multicast floods.
    mcast_hash_max: most datapath entries, (*,G) and (S,G), of all ports together.
    mcast_max_sources: most sources one port may list for one group.
    mcast_eht_hosts_limit: most hosts tracked on one port.
    strict: drop what the RFCs say to drop though deployed hosts send it (see `decode`).
    vlan: for VLANs without their own.
    """

    mcast_snooping: bool = True
    mcast_hash_max: int = 4096
    mcast_max_sources: int = 32
    mcast_eht_hosts_limit: int = 512
    strict: bool = False
    vlan: VlanParams = field(default_factory=VlanParams)

    def __post_init__(self) -> None:
        _flag(self, "mcast_snooping", "strict")
        _integer(self, "mcast_hash_max", 1, 1 << 24)
        _integer(self, "mcast_max_sources", 1, 88)  # what one IPv6 query can ask about
        _integer(self, "mcast_eht_hosts_limit", 1, 1 << 20)
        if not isinstance(self.vlan, VlanParams):
            raise ParamError("vlan", "VlanParams", self.vlan)
