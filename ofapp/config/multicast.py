"""Multicast snooping in the configuration file, under the Linux bridge's names; times in seconds.

A VLAN's own section holds what differs from its bridge, and a bridge's what differs from the
defaults.  So each value is checked where it stands, but values that must go together only once
all of them are known: `MulticastBridge.check`.  The ranges are the core's own, and its refusal is
what the user reads; the bounds given here are for the API's document, and a test holds them
against the core's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from pydantic import (
    BaseModel,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from ofapp.bridge.multicast import (
    ParamError,
    Params,
    PortParams,
    VlanParams,
    parse,
    parse_group,
    text,
)
from ofapp.bridge.permanent_entries import PermanentEntry, check_addresses
from ofapp.config.base import Model, Number, PortName, VlanRef

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = "[0-9a-fA-F]{1,4}"
HOST4 = rf"([1-9]|[1-9][0-9]|1[013-9][0-9]|12[0-689]|2[01][0-9]|22[0-3])([.]{_OCTET}){{3}}"
"""An IPv4 address that a host can have, as a pattern."""
GROUP4 = rf"(22[4-9]|23[0-9])([.]{_OCTET}){{3}}"


def ipv6_pattern(first: str) -> str:
    """An IPv6 address that begins with such a group of digits."""
    whole = f"(:{_HEX}){{7}}"
    short = (f"(:{_HEX}){{{n}}}:(:|(:{_HEX}){{1,{6 - n}}})" for n in range(6))
    return f"{first}({whole}|{'|'.join(short)}|(:{_HEX}){{6}}::)"


def _bounds(minimum: float, maximum: float) -> dict[str, Any]:
    return {"minimum": minimum, "maximum": maximum}


def _flag(default: bool, description: str) -> Any:
    return Field(default, description=description)


def _whole(default: int, minimum: int, maximum: int, description: str) -> Any:
    bounds = _bounds(minimum, maximum)
    return Field(default, description=description, json_schema_extra=bounds)


def _seconds(default: float, minimum: float, maximum: float, description: str) -> Any:
    bounds = _bounds(minimum, maximum)
    return Field(default, description=f"seconds: {description}", json_schema_extra=bounds)


_ALONE = {
    "mcast_query_interval": {"mcast_query_response_interval": 0.1},
    "mcast_query_response_interval": {"mcast_query_interval": 31744.0},
}
"""What a value goes together with in any case, so that it can be checked by itself."""


class Fields(Model):
    """Any of them: each is checked by itself."""

    @field_validator("*")
    @classmethod
    def _check_alone(cls, value: Any, info: ValidationInfo) -> Any:
        name = info.field_name
        assert name is not None
        for core in (PortParams, VlanParams, Params):
            if _belongs(cls, core) and name in _names(core):
                try:
                    core(**{name: value, **_ALONE.get(name, {})})
                except ParamError as error:  # the field is named anyhow
                    raise ValueError(str(error).removeprefix(f"{name}: ")) from None
        return value


class MulticastVlan(Fields):
    """One VLAN's; what is not given is the bridge's."""

    mcast_snooping: StrictBool = _flag(True, "false: all multicast floods")
    mcast_querier: StrictBool = _flag(False, "ask, unless another querier does")
    mcast_igmp_version: StrictInt = _whole(3, 2, 3, "of our queries")
    mcast_mld_version: StrictInt = _whole(2, 1, 2, "of our queries")
    mcast_last_member_count: StrictInt = _whole(2, 1, 7, "queries after a leave")
    mcast_last_member_interval: Number = _seconds(1.0, 0.1, 3174.4, "between those queries")
    mcast_membership_interval: Number = _seconds(260.0, 1, 1e6, "a report is good for")
    mcast_querier_interval: Number = _seconds(255.0, 1, 1e6, "until another querier is gone")
    mcast_query_interval: Number = _seconds(125.0, 1, 31744, "between our general queries")
    mcast_query_response_interval: Number = _seconds(
        10.0, 0.1, 3174.4, "hosts have to answer; less than mcast_query_interval"
    )
    mcast_startup_query_count: StrictInt = _whole(2, 1, 255, "general queries to begin with")
    mcast_startup_query_interval: Number = _seconds(31.25, 1, 31744, "between those queries")
    mcast_querier_address4: StrictStr = Field(
        "0.0.0.0",
        description="source of our IGMP queries; 0.0.0.0 leaves every election to others, and "
        "switches that follow RFC 4541 to the letter then keep reports from this bridge",
        json_schema_extra={"pattern": f"^(0[.]0[.]0[.]0|{HOST4})$"},
    )
    mcast_querier_address6: StrictStr = Field(
        "",
        description="source of our MLD queries, a link-local address; "
        "without it the one that the bridge's Ethernet address makes",
        json_schema_extra={"pattern": f"^({ipv6_pattern('[fF][eE][89abAB][0-9a-fA-F]')})?$"},
    )
    mcast_flood_unregistered: StrictBool = _flag(
        False, "groups that nobody joined flood, and not only to router ports"
    )
    mcast_report_suppression: StrictBool = _flag(
        False, "routers get one IGMPv1/v2 or MLDv1 report a group and query"
    )


class MulticastSettings(MulticastVlan):
    """Multicast snooping of a bridge, and what holds for VLANs without values of their own."""

    mcast_hash_max: StrictInt = _whole(4096, 1, 1 << 24, "most entries of all ports together")
    mcast_max_sources: StrictInt = _whole(32, 1, 88, "most sources a port may list for a group")
    mcast_eht_hosts_limit: StrictInt = _whole(512, 1, 1 << 20, "most hosts tracked on a port")
    strict: StrictBool = _flag(
        False, "drop what the RFCs say to drop though deployed hosts send it"
    )

    def params(self) -> Params | None:
        """The core's value; None when snooping is off."""
        return self._params() if self.mcast_snooping else None

    def _params(self) -> Params:
        values = _core_values(self, Params) | {"mcast_snooping": True}
        vlan = _core_values(self, VlanParams) | {"mcast_snooping": True}
        return Params(**values, vlan=VlanParams(**vlan))


class MulticastBridge(MulticastSettings):
    """The same with the VLANs, as the API takes it; in the file they are in `vlans`."""

    vlans: dict[int, MulticastVlan] = Field({}, description="by VID, 0 = untagged")

    @field_serializer("vlans")
    def _given(self, vlans: dict[int, MulticastVlan]) -> dict[int, dict[str, Any]]:
        return {vid: vlan.model_dump(exclude_unset=True) for vid, vlan in vlans.items()}

    @field_validator("vlans")
    @classmethod
    def _check_vids(cls, vlans: dict[int, MulticastVlan]) -> dict[int, MulticastVlan]:
        for vid in vlans:
            if not 0 <= vid <= 4094:
                raise ValueError(f"{vid} is not a VID: 0 (untagged) to 4094")
        return vlans

    def vlan(self, vid: int) -> MulticastVlan:
        """What a VLAN has of its own."""
        return self.vlans.get(vid) or MulticastVlan()

    def check(self) -> None:
        """Make the core's values, on or off; ParamError."""
        self._params()
        self.vlan_params()

    def vlan_params(self) -> dict[int, VlanParams]:
        """The core's values of the VLANs that have their own."""
        own = _core_values(self, VlanParams) | {"mcast_snooping": True}
        found = {}
        for vid, vlan in self.vlans.items():
            try:
                found[vid] = VlanParams(**own | vlan.model_dump(exclude_unset=True))
            except ParamError as error:
                raise _in_vlan(vid, error) from None
        return found

    def changed(self, values: Mapping[str, Any]) -> Self:
        """With `values`, of the right types, in the place of its own; ParamError."""
        new = self.model_copy(update=values)
        new.check()
        return new


class MulticastPort(Fields):
    """Multicast snooping of a port."""

    mcast_router: StrictInt = _whole(1, 0, 2, "0 = never a router port, 1 = as heard, 2 = always")
    mcast_fast_leave: StrictBool = _flag(
        False, "drop a group when the last known host leaves it, without asking"
    )
    mcast_max_groups: StrictInt = _whole(0, 0, 1 << 24, "most groups here, 0 = no limit of its own")
    mcast_flood_unregistered: StrictBool = _flag(False, "gets groups that nobody joined")

    def params(self) -> PortParams:
        """The core's value."""
        return PortParams(**self.model_dump())

    def changed(self, values: Mapping[str, Any]) -> Self:
        """With `values`, of the right types, in the place of its own; ParamError."""
        new = self.model_copy(update=values)
        new.params()
        return new


class MdbEntry(Model):
    """A group, from one source or from all, that a port gets for good."""

    group: StrictStr = Field(
        description="an IPv4 or IPv6 multicast address, or a MAC address for what is not IP"
    )
    port: PortName = Field(description="the port's name")
    vlan: VlanRef = Field(0, description="VID or name, 0 = untagged")
    source: StrictStr | None = Field(None, description="only from here; without it from all")
    exclude: tuple[StrictStr, ...] = Field((), description="from all but these")

    @field_validator("group")
    @classmethod
    def _group(cls, address: str) -> str:
        return text(parse_group(address))

    @field_validator("source")
    @classmethod
    def _address(cls, address: str | None) -> str | None:
        return None if address is None else text(parse(address))

    @field_validator("exclude")
    @classmethod
    def _addresses(cls, exclude: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text(parse(address)) for address in exclude)

    @model_validator(mode="after")
    def _check(self) -> Self:
        entry = PermanentEntry.parse(0, self.group, self.port, self.source, self.exclude)
        check_addresses(entry.group, entry.source, entry.exclude)
        return self


def _names(core: type[Any]) -> set[str]:
    return {field.name for field in fields(core)}


def _core_values(model: BaseModel, core: type[Any]) -> dict[str, Any]:
    return {name: getattr(model, name) for name in _names(core) - {"vlan"}}


def _belongs(model: type[Fields], core: type[Any]) -> bool:
    return _names(core) - {"vlan"} <= set(model.model_fields)


def _in_vlan(vid: int, error: ParamError) -> ParamError:
    error.field = f"vlans.{vid}.{error.field}"
    error.args = (f"vlans.{vid}.{error}",)
    return error
