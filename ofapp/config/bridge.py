"""A bridge in the configuration file, alone and together with `defaults`.

`Bridge` is both: the file's section, and its `effective` form.  There the defaults are filled in,
and each named port has the values of the patterns that fit it.  The effective form is in force; a
change at run time is made to a copy of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictStr,
    WithJsonSchema,
    model_validator,
)

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.params import policy
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.names import base_name
from ofapp.config.acl import Acl, AclName, acl_params
from ofapp.config.base import (
    Flag,
    HostMac,
    Model,
    PortKey,
    PortName,
    Text,
    VidKey,
    VlanName,
    VlanRef,
    is_pattern,
    port_number,
)
from ofapp.config.derived import core_values, fields_of, section_values, sections_of
from ofapp.config.lag import Lag, LagName
from ofapp.config.layers import beyond, merged
from ofapp.config.multicast import MdbEntry, MulticastBridge, MulticastSettings, MulticastVlan
from ofapp.config.port import PortSection
from ofapp.config.stp import StpBridge
from ofapp.config.trust import with_preset


class Static(Model):
    """An address that neither moves nor ages."""

    mac: HostMac
    vlan: VlanRef = Field(0, description="VID or name, 0 = untagged")
    port: PortName = Field(description="the port's name")


def _bound_address(text: str) -> str:
    return str(BoundAddress.parse(text))


class Binding(Model):
    """An address that a host may use where its port checks that."""

    mac: HostMac
    vlan: VlanRef = Field(0, description="VID or name, 0 = untagged")
    port: PortName = Field(description="the port's name")
    address: Annotated[StrictStr, AfterValidator(_bound_address)] = Field(
        description="an IPv4 or IPv6 address, or a prefix that is routed to the host"
    )
    shared: Flag = Field(
        False, description="other hosts share the address, as with VRRP; each has its binding"
    )


Entry = Static | MdbEntry | Binding
"""Entries that users add to a bridge, in the file and at run time."""


class _Named(Model):
    name: VlanName | None = Field(None, description="Name by which ports may refer to it.")
    description: Text = Field("", description="Free text.")


class Vlan(fields_of(policy.VlanPolicy), _Named):  # type: ignore[misc]
    """A VLAN, by its VID; 0 is what is untagged on transparent ports."""

    multicast: MulticastVlan = Field(
        MulticastVlan(), description="Snooping parameters that differ from the bridge's."
    )

    def policy(self) -> policy.VlanPolicy:
        """The core's value."""
        return policy.VlanPolicy(**core_values(self, policy.VlanPolicy))


def _ports_or_all(value: Any) -> Any:
    if isinstance(value, str):
        return value if value == "all" else [part.strip() for part in value.split(",")]
    return value


Sources = Annotated[
    Literal["all"] | tuple[PortName, ...],
    BeforeValidator(_ports_or_all),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["all", "eth0", "eth0,eth1"]},
                {"type": "array", "items": {"type": "string"}},
            ]
        }
    ),
]


class Mirror(Model):
    """Copies of frames for a port that listens (SPAN); that port takes no other part."""

    to: PortName = Field(description="the name of the port that listens")
    ingress: Sources = Field(
        (), description="ports whose frames are copied as they come in, or all"
    )
    egress: Sources = Field((), description="ports whose frames are copied as they go out, or all")
    both: Sources = Field((), description="ports for which both holds, or all")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.ingress or self.egress or self.both):
            raise ValueError("no port to copy from: give ingress, egress or both")
        return self

    def params(self) -> policy.Mirror:
        """The core's value."""
        return policy.Mirror(self.to, self.sources("ingress"), self.sources("egress"))

    def sources(self, direction: Literal["ingress", "egress"]) -> frozenset[str] | None:
        """The ports that are copied from on this direction; None for all."""
        ports = getattr(self, direction)
        if "all" in (ports, self.both):
            return None
        return frozenset(ports) | frozenset(self.both)


class MacMove(fields_of(policy.MoveLimit), Model):  # type: ignore[misc]
    """An address that moves more often than `moves` times in `window` s is held for `hold` s."""


class BridgeSettings(sections_of(BridgeParams), fields_of(BridgeParams), Model):  # type: ignore[misc]
    """Settings of a bridge, or `defaults` of all bridges."""

    stp: StpBridge = StpBridge()
    multicast: MulticastSettings = MulticastSettings()
    mac_move: MacMove = Field(MacMove(), description="hold-down of addresses that move too often")
    vlans: dict[VidKey, Vlan] = Field({}, description="by VID")
    acls: dict[AclName, Acl] = Field({}, description="access lists, by name")
    ports: dict[PortKey, PortSection] = Field(
        {},
        description="by name, by number, LOCAL, or by a pattern as vnet*;"
        " a named port also has the settings of matching patterns; its own settings take"
        " precedence",
    )


class Bridge(BridgeSettings):
    """One bridge; what is not given is as in `defaults`."""

    description: Text = Field("", description="free text")
    lags: dict[LagName, Lag] = Field(
        {}, description="aggregations, by name; each is one port of the bridge"
    )
    mirrors: dict[VlanName, Mirror] = Field({}, description="by name")
    static: tuple[Static, ...] = Field((), description="addresses that neither move nor age")
    mdb: tuple[MdbEntry, ...] = Field((), description="permanent multicast groups of ports")
    bindings: tuple[Binding, ...] = Field(
        (),
        description="addresses that hosts may use, beside those that they get by DHCP and the like",
    )

    @classmethod
    def effective(cls, defaults: BridgeSettings, settings: Bridge) -> Bridge:
        """`own` on top of `defaults`, the values of patterns and of `trust` in every port."""
        both = merged(_given(defaults), _given(settings))
        ports: dict[str, Any] = both.get("ports", {})
        both["ports"] = {key: with_preset(_layered(key, ports)) for key in ports}
        return cls.model_validate(both)

    def port(self, name: str, number: int) -> PortSection:
        """The section of the port of this name and number, by the rules of `BridgeParams.port`."""
        by_number = "LOCAL" if port_number("LOCAL") == number else str(number)
        settings = self.ports.get(name) or self.ports.get(by_number)
        if settings is not None:
            return settings
        if base_name(name) in self.ports:
            return PortSection.model_validate({"shutdown": True})
        fitting = [key for key in self.ports if is_pattern(key) and fnmatchcase(name, key)]
        return self.ports[max(fitting, key=len)] if fitting else PortSection()

    def values(self) -> dict[str, Any]:
        """What differs from ofapp's own defaults, in JSON's types; of a VLAN's snooping all that is
        given, as it differs from its bridge's."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        for vid, vlan in self.vlans.items():
            if snooping := vlan.multicast.model_dump(mode="json", exclude_unset=True):
                values["vlans"][str(vid)]["multicast"] = snooping
        return values

    def shown(self) -> dict[str, Any]:
        """An effective bridge as the file would say it, in JSON's types, at its shortest."""
        values = self.values()
        given: dict[str, Any] = {}  # the shorter patterns, which lie below, come first
        for key in sorted(self.ports, key=lambda key: (not is_pattern(key), len(key))):
            port, below = self.ports[key], _underneath(key, given)
            base = PortSection.model_validate(with_preset({**below, "trust": port.trust}))
            given[key] = beyond(port.model_dump(mode="json"), base.model_dump(mode="json"))
            if port.trust != below.get("trust", "none"):
                given[key] = {"trust": port.trust, **given[key]}
        for key in self.ports:
            values["ports"][key] = given[key]
        return values

    def entries(self) -> Iterator[tuple[str, int, Entry]]:
        """The entries of all kinds, each with the name of its list and its place there."""
        for name in ("static", "mdb", "bindings"):
            for at, entry in enumerate(getattr(self, name)):
                yield name, at, entry

    def vlan(self, vid: int) -> Vlan:
        """The section of a VLAN."""
        return self.vlans.get(vid) or Vlan()

    def vid(self, ref: int | str) -> int:
        """The VID of a VLAN that is given by VID or by name.  Raises KeyError."""
        if isinstance(ref, int):
            return ref
        return {vlan.name: vid for vid, vlan in self.vlans.items()}[ref]

    def snooping(self) -> MulticastBridge:
        """Multicast snooping with that of its VLANs."""
        values = {
            vid: vlan.multicast
            for vid, vlan in self.vlans.items()
            if vlan.multicast.model_fields_set
        }
        # All of it has been checked where it stands, which takes most of what this would take.
        return MulticastBridge.model_construct(**self.multicast.model_dump(), vlans=values)

    def with_snooping(self, snooping: MulticastBridge) -> Self:
        """A copy with other settings of snooping, also of its VLANs."""
        values = {name: getattr(snooping, name) for name in MulticastSettings.model_fields}
        vlans = {
            vid: self.vlan(vid).model_copy(update={"multicast": snooping.vlan(vid)})
            for vid in self.vlans.keys() | snooping.vlans.keys()
        }
        return self.model_copy(update={"multicast": MulticastSettings(**values), "vlans": vlans})

    def params(self) -> BridgeParams:
        """The core's value of an effective bridge; KeyError for a VLAN's name that is none."""
        ports = {key: port.params(self.vid) for key, port in self.ports.items()}
        snooping = self.snooping()
        return BridgeParams(
            **core_values(self, BridgeParams),
            stp=self.stp.params(),
            multicast=snooping.params(),
            **section_values(self, BridgeParams),
            ports={key: port for key, port in ports.items() if port_number(key) is None},
            multicast_vlans=snooping.vlan_params(),
            numbered={
                n: port for key, port in ports.items() if (n := port_number(key)) is not None
            },
            policies=self._policies(),
            vlans=frozenset(self.vlans),
            vlan_names={vid: vlan.name for vid, vlan in self.vlans.items() if vlan.name},
            lags={name: lag.params() for name, lag in self.lags.items()},
        )

    def _policies(self) -> policy.Policies:
        limits = {vid: vlan.policy() for vid, vlan in self.vlans.items()}
        return policy.Policies(
            vlans={vid: limit for vid, limit in limits.items() if limit != policy.VlanPolicy()},
            mirrors=tuple(mirror.params() for mirror in self.mirrors.values()),
            acls=acl_params(self.acls, self.vid),
            mac_move=policy.MoveLimit(**core_values(self.mac_move, policy.MoveLimit)),
        )


def _given(model: Model) -> dict[str, Any]:
    return model.model_dump(exclude_unset=True)


def _layered(key: str, ports: Mapping[str, Any]) -> dict[str, Any]:
    """A port's own values on top of those of the patterns that fit it, the longest uppermost.

    The name of a port given by number is not known here: only `*` fits it.
    """
    return merged(_underneath(key, ports), ports[key])


def _underneath(key: str, ports: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a port has from matching patterns."""
    patterns = [known for known in ports if is_pattern(known) and known != key]
    name = "" if port_number(key) is not None else key
    values: dict[str, Any] = {}
    for pattern in sorted(patterns, key=len):
        if fnmatchcase(name, pattern) and not (is_pattern(key) and len(pattern) >= len(key)):
            values = merged(values, ports[pattern])
    return values
