"""What may stand in the configuration file: names, ranges and defaults.

The models validate; `Config.bridge_params` hands the core plain values.  Names are those of
`ip link set type bridge` where it has one.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ofapp.bridge.mac import format_mac, is_group, parse_mac
from ofapp.bridge.params import MAX_AGEING_TIME, BridgeParams, PortParams
from ofapp.config.multicast import MdbEntry, MulticastBridge, MulticastPort
from ofapp.config.stp import StpBridge, StpPort


def _host_mac(text: str) -> str:
    mac = parse_mac(text)
    if not mac or is_group(mac):
        raise ValueError(f"{text} is not the address of one host")
    return format_mac(mac)


HostMac = Annotated[str, AfterValidator(_host_mac)]
DatapathId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Vid = Annotated[int, Field(ge=0, le=4094)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Port(_Model):
    """A port, by its name."""

    fdb_max_learned: int | None = Field(None, ge=0, description="most entries learned here")
    stp: StpPort = StpPort()
    multicast: MulticastPort = MulticastPort()

    def params(self) -> PortParams:
        """The core's value."""
        return PortParams(self.fdb_max_learned, self.stp.params(), self.multicast.params())


class Static(_Model):
    """An address that neither moves nor ages."""

    mac: HostMac
    vlan: Vid = 0
    port: str = Field(min_length=1, description="the port's name")


class BridgeSettings(_Model):
    """What a bridge is told."""

    ageing_time: int = Field(
        300, ge=0, le=MAX_AGEING_TIME, description="seconds, 0 = entries never age"
    )
    fdb_max_learned: int = Field(100_000, ge=0, description="most learned entries of a bridge")
    packet_in_rate: int = Field(
        1_000, ge=1, description="frames of unknown sources told to the controller, a second a port"
    )
    stp: StpBridge = StpBridge()
    multicast: MulticastBridge = MulticastBridge()


class Bridge(BridgeSettings):
    """One bridge; what is not given is as in `defaults`."""

    ports: dict[str, Port] = {}
    static: tuple[Static, ...] = ()
    mdb: tuple[MdbEntry, ...] = ()


class Config(_Model):
    """The whole file."""

    defaults: BridgeSettings = BridgeSettings()
    bridges: dict[DatapathId, Bridge] = {}

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        """Each bridge's own values must go with the defaults it takes over."""
        try:
            self.defaults.multicast.check()
        except ValueError as error:
            raise ValueError(f"defaults.multicast: {error}") from error
        for name in self.bridges:
            try:
                self._settings(name).multicast.check()
            except ValueError as error:
                raise ValueError(f"bridges.{name}, with the defaults: {error}") from error
        return self

    def bridge_params(self, datapath_id: int) -> BridgeParams:
        """What the core is told of the bridge with this datapath id."""
        name = f"{datapath_id:016x}"
        settings = self._settings(name)
        own = self.bridges.get(name, Bridge())
        return BridgeParams(
            settings.ageing_time,
            settings.fdb_max_learned,
            settings.packet_in_rate,
            settings.stp.params(),
            settings.multicast.params(),
            {port: model.params() for port, model in own.ports.items()},
            settings.multicast.vlan_params(),
        )

    def stp(self, datapath_id: int) -> StpBridge:
        """Spanning tree of the bridge as a whole, on or off."""
        return self._settings(f"{datapath_id:016x}").stp

    def multicast(self, datapath_id: int) -> MulticastBridge:
        """Multicast snooping of the bridge as a whole, on or off."""
        return self._settings(f"{datapath_id:016x}").multicast

    def mdb(self, datapath_id: int) -> tuple[MdbEntry, ...]:
        """The permanent multicast entries that the file gives the bridge."""
        own = self.bridges.get(f"{datapath_id:016x}")
        return own.mdb if own else ()

    def static(self, datapath_id: int) -> tuple[Static, ...]:
        """The static entries that the file gives the bridge."""
        own = self.bridges.get(f"{datapath_id:016x}")
        return own.static if own else ()

    def _settings(self, name: str) -> BridgeSettings:
        own = self.bridges.get(name)
        if own is None:
            return self.defaults
        given = own.model_dump(exclude={"ports", "static", "mdb"}, exclude_unset=True)
        base = self.defaults.model_dump(exclude_unset=True)
        return BridgeSettings.model_validate(_merged(base, given))


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over`'s values on top of `base`'s, section by section."""
    both = dict(base)
    for key, value in over.items():
        inner = base.get(key)
        both[key] = (
            _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
        )
    return both
