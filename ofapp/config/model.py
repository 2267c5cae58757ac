"""The whole file: bridges, what holds for all of them, and the controller's own addresses.

`Config.bridge` gives what a switch shall be, by its datapath id or its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, StrictInt, StrictStr, field_validator, model_validator

from ofapp.bridge.fabric.params import FabricParams
from ofapp.config import checks, fabric
from ofapp.config.base import FaultsError, Flag, Model, Number
from ofapp.config.bridge import Bridge, BridgeSettings
from ofapp.config.bridge_key import ID, canonical_bridges
from ofapp.config.cluster import Cluster
from ofapp.config.notify import Notify
from ofapp.host_setup.model import DeployConfig

TcpPort = Annotated[StrictInt, Field(ge=1, le=65535)]
Host = Annotated[StrictStr, Field(min_length=1, max_length=255)]


@dataclass(frozen=True, slots=True)
class Source:
    """The octets of a file; configurations are compared by their values alone."""

    data: bytes = field(default=b"", compare=False)


class ApiTls(Model):
    """Files for the REST API over TLS; relative to this file, and read again when they change."""

    key: StrictStr = Field(description="private key, PEM, without a password")
    cert: StrictStr = Field(description="certificate, PEM, with the chain that leads to it")
    client_ca: StrictStr | None = Field(
        None, description="CA that must have signed client certificates, PEM"
    )


class Api(Model):
    """Address and access rules of the REST API; a change needs a restart."""

    host: Host | None = Field(
        None, description="address, default 127.0.0.1; others need `tls` (or --insecure)"
    )
    port: TcpPort | None = Field(None, description="default 8080")
    tls: ApiTls | None = None
    socket: StrictStr | None = Field(
        None, description="UNIX socket for the command line, default /run/ofapp/api.sock"
    )
    operators: StrictStr | None = Field(
        None, description="group whose members are operators over the UNIX socket"
    )
    auth: Literal["auto", "required"] | None = Field(
        None,
        description="whether a token is required on loopback: from the first token on (auto), or"
        " always (required)",
    )


class Tls(Model):
    """Files for the OpenFlow channel over TLS; relative to this file."""

    key: StrictStr = Field(description="our private key, PEM, without a password")
    cert: StrictStr = Field(description="our certificate, PEM")
    ca: StrictStr | None = Field(
        None, description="CA that must have signed the switches' certificates, PEM"
    )


class Channel(Model):
    """Address and TLS of the OpenFlow port; a change needs a restart."""

    host: Host | None = Field(
        None, description="address, default 127.0.0.1; 0.0.0.0 or :: for other machines"
    )
    port: TcpPort | None = Field(None, description="default 6653")
    tls: Tls | None = None


class Config(Model):
    """The configuration of ofapp."""

    defaults: BridgeSettings = Field(
        BridgeSettings(), description="defaults of all bridges, listed here or not"
    )
    bridges: dict[str, Bridge] = Field(
        {}, description="by datapath id, 16 hex digits, or by name: that of the LOCAL port"
    )
    fabrics: dict[fabric.Name, fabric.Fabric] = Field(
        {}, description="several switches that forward as one bridge, by the name of that bridge"
    )
    api: Api = Api()
    channel: Channel = Channel()
    cluster: Cluster | None = Field(
        None,
        description="cluster of controllers for one network; without it the controller runs alone",
    )
    deploy: DeployConfig | None = Field(
        None, description="input of `ofapp deploy`; the controller does not read it"
    )
    notify: Notify | None = Field(
        None, description="webhook for problems that begin or end; without it nothing is sent"
    )
    watch: Flag = Field(False, description="reload this file whenever it changes")
    forget_after: Annotated[Number, Field(ge=0, le=31_536_000)] = Field(
        86400,
        description="seconds until a bridge whose switch is disconnected is forgotten, 0 = never",
    )

    _effective: dict[str | None, Bridge] = PrivateAttr(default_factory=dict)
    _ends_marked: bool = PrivateAttr(False)
    _drop_ins: tuple[str, ...] = PrivateAttr(())
    _source: Source = PrivateAttr(Source())

    @field_validator("bridges", mode="before")
    @classmethod
    def _canonical_keys(cls, bridges: Any) -> Any:
        if not isinstance(bridges, dict):
            return bridges
        canonical, faults = canonical_bridges(bridges)
        if faults:
            raise FaultsError(faults)
        return canonical

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = [(("defaults", *path), what) for path, what in checks.faults(self._of(None))]
        reported = {(path[1:], what) for path, what in faults}
        for key in self.bridges:
            bridge = self._of(key)
            for path, what in (*checks.faults(bridge), *checks.local_members(key, bridge)):
                if (path, what) not in reported:
                    faults.append((("bridges", key, *path), what))
        bridges = {key: self._of(key) for key in self.bridges}
        faults += fabric.faults(self.fabrics, bridges, self._of(None))
        if faults:
            raise FaultsError(faults)
        return self

    def keys(self, datapath_id: int, name: str | None) -> list[str]:
        """The entries in `bridges` that are about this bridge; more than one is a mistake.

        A fabric's is not about a switch that happens to have its name.
        """
        if role := self.role(datapath_id):
            return [role] if role in self.fabrics and role in self.bridges else []
        own = (f"{datapath_id:016x}", name)
        return [key for key in own if key in self.bridges and key not in self.fabrics]

    def role(self, datapath_id: int) -> str:
        """The fabric whose bridge this is, or the place of a switch in one, as in `pod/s2`; empty
        for others."""
        own = f"{datapath_id:016x}"
        for name, known in self.fabrics.items():
            if known.datapath_id == own:
                return name
            for member, given in known.present.items():
                if given.bridge == own:
                    return f"{name}/{member}"
        return ""

    def bridge(self, datapath_id: int, name: str | None = None) -> Bridge:
        """Return the effective settings of a bridge; an entry by id precedes one by name."""
        keys = self.keys(datapath_id, name)
        return self._of(keys[0] if keys else None)

    def fabric_faults(self, datapath_id: int, bridge: Bridge) -> tuple[checks.Fault, ...]:
        """Errors in settings of a bridge if it is a fabric's; paths within the bridge."""
        return tuple(fabric.bridge_faults(self.fabrics, datapath_id, bridge, self._of(None)))

    @property
    def ends_marked(self) -> bool:
        """Whether the file ends with a line `...`, so that one can see that it is complete."""
        return self._ends_marked

    @property
    def drop_ins(self) -> tuple[str, ...]:
        """The drop-ins that were read after the file, in their order."""
        return self._drop_ins

    @property
    def source(self) -> bytes:
        """The file that was read, with its drop-ins as one document; empty without a file."""
        return self._source.data

    def came_from(self, ends_marked: bool, drop_ins: tuple[str, ...], source: bytes) -> None:
        """Note how the file ends, which drop-ins were read after it, and the whole document."""
        self._ends_marked, self._drop_ins = ends_marked, drop_ins
        self._source = Source(source)

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about valid settings that may have surprising effects."""
        lines = checks.warnings("defaults", self._of(None))
        for key in self.bridges:
            lines += checks.warnings(f"bridges.{key}", self._of(key))
        return tuple(dict.fromkeys(lines))

    @property
    def names_bridges(self) -> bool:
        """Whether a bridge is given by its name, which is known only once its switch connects."""
        return any(not ID.fullmatch(key) and key not in self.fabrics for key in self.bridges)

    def fabric_params(self) -> tuple[FabricParams, ...]:
        """Return the core's values of all fabrics."""
        return tuple(given.params(name) for name, given in self.fabrics.items())

    def _of(self, key: str | None) -> Bridge:
        if key not in self._effective:
            settings = Bridge() if key is None else self.bridges[key]
            self._effective[key] = Bridge.effective(self.defaults, settings)
        return self._effective[key]


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the file, for editors; keys are text, also numbers."""
    schema = Config.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "ofapp.yaml"
    for section in (schema, *schema.get("$defs", {}).values()):
        for own in section.get("properties", {}).values():
            own.pop("title", None)
    return schema
