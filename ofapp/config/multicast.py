"""Multicast snooping in the configuration file, under the Linux bridge's names; times in seconds.

A VLAN's own section holds what differs from its bridge, and a bridge's what differs from the
defaults.  So each value is checked where it stands, but values that must go together only once
all of them are known: `MulticastBridge.check`.  The parameters are the core's own.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, StrictStr, field_serializer, field_validator, model_validator

from ofapp.bridge.multicast import (
    ParamError,
    Params,
    PortParams,
    PortVlanParams,
    VlanParams,
    parse,
    parse_group,
    text,
)
from ofapp.bridge.multicast.permanent_entries import (
    STATIC,
    PermanentEntry,
    check_addresses,
    protocol,
)
from ofapp.config.base import Model, PortName, VidKey, VlanRef
from ofapp.config.derived import core_values, fields_of


class MulticastVlan(fields_of(VlanParams), Model):  # type: ignore[misc]
    """One VLAN's; what is not given is the bridge's."""


class MulticastSettings(fields_of(Params), MulticastVlan):  # type: ignore[misc]
    """Multicast snooping of a bridge, and the defaults of its VLANs."""

    def params(self) -> Params | None:
        """The core's value; None when snooping is off."""
        return self._params() if self.mcast_snooping else None

    def _params(self) -> Params:
        values = core_values(self, Params) | {"mcast_snooping": True}
        vlan = core_values(self, VlanParams) | {"mcast_snooping": True}
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
        """The values of a VLAN that differ from its bridge's."""
        return self.vlans.get(vid) or MulticastVlan()

    def check(self) -> None:
        """Make the core's values, on or off.  Raises ParamError."""
        self._params()
        self.vlan_params()

    def vlan_params(self) -> dict[int, VlanParams]:
        """The core's values of the VLANs that have their own."""
        defaults = core_values(self, VlanParams) | {"mcast_snooping": True}
        params = {}
        for vid, vlan in self.vlans.items():
            try:
                params[vid] = VlanParams(**defaults | vlan.model_dump(exclude_unset=True))
            except ParamError as error:
                raise _in_vlan(vid, error) from None
        return params


class MulticastPortVlan(fields_of(PortVlanParams), Model):  # type: ignore[misc]
    """Multicast snooping of a port in one VLAN."""

    def params(self) -> PortVlanParams:
        """The core's value."""
        return PortVlanParams(**core_values(self, PortVlanParams))


class MulticastPort(fields_of(PortParams), Model):  # type: ignore[misc]
    """Multicast snooping of a port."""

    vlans: dict[VidKey, MulticastPortVlan] = Field(
        {}, description="settings of VLANs that differ from the port's, by VID, 0 = untagged"
    )

    def params(self) -> PortParams:
        """The core's value."""
        vlans = {vid: vlan.params() for vid, vlan in self.vlans.items()}
        return PortParams(**core_values(self, PortParams), vlans=vlans)

    def check(self) -> None:
        """Make the core's value.  Raises ParamError."""
        self.params()


class MdbEntry(Model):
    """A group, from one source or from all, that a port gets for good."""

    group: StrictStr = Field(
        description="an IPv4 or IPv6 multicast address, or a MAC address for what is not IP"
    )
    port: PortName = Field(description="the port's name")
    vlan: VlanRef = Field(0, description="VID or name, 0 = untagged")
    source: StrictStr | None = Field(None, description="only from this source; default: from all")
    exclude: tuple[StrictStr, ...] = Field((), description="from all but these")
    proto: StrictStr = Field(STATIC, description="who has set it, as iproute2 names it")

    @field_validator("proto")
    @classmethod
    def _proto(cls, given: str) -> str:
        return protocol(given)

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


def _in_vlan(vid: int, error: ParamError) -> ParamError:
    error.field = f"vlans.{vid}.{error.field}"
    error.args = (f"vlans.{vid}.{error}",)
    return error
