"""The whole file: bridges, what holds for all of them, and the controller's own addresses.

`Config.bridge` gives what a switch shall be, by its datapath id or its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, StrictInt, StrictStr, field_validator, model_validator

from ofapp.config import checks
from ofapp.config.base import MAX_PORT_NAME, FaultsError, Flag, Model, Number, Path
from ofapp.config.bridge import Bridge, BridgeSettings
from ofapp.config.cluster import Cluster
from ofapp.deploy.model import DeployConfig

_ID = re.compile(r"[0-9a-f]{16}")
_OCTETS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){7}")
_HEX = re.compile(r"0x[0-9a-f]+")
_NAME = re.compile(r"[^\s/:]+")

TcpPort = Annotated[StrictInt, Field(ge=1, le=65535)]
Host = Annotated[StrictStr, Field(min_length=1, max_length=255)]


def bridge_key(given: str) -> str:
    """A datapath id as 16 hex digits, or a bridge's name; ValueError when it may mean two things.

    Digits alone are an id only when the decimal and the hexadecimal reading are one, or when there
    are sixteen of them.
    """
    text = given.lower()
    if _OCTETS.fullmatch(text):
        text = text.replace(":", "")
    if _HEX.fullmatch(text):
        return _checked_id(f"{int(text, 16):016x}", given)
    if _ID.fullmatch(text):
        return _checked_id(text, given)
    if text.isascii() and text.isdigit():
        if len(text) > 16:
            raise ValueError(f"{given} is too long for a datapath id: write it with 16 hex digits")
        decimal, hexadecimal = f"{int(text):016x}", f"{int(text, 16):016x}"
        if decimal != hexadecimal:
            raise ValueError(
                f"{given} may mean the datapath id {decimal} (decimal) or {hexadecimal}"
                " (hexadecimal): write all 16 hex digits"
            )
        return _checked_id(decimal, given)
    if not _NAME.fullmatch(given) or len(given.encode()) > MAX_PORT_NAME:
        raise ValueError(
            f"{given!r} is neither a datapath id of 16 hex digits nor the name of a bridge,"
            f" of at most {MAX_PORT_NAME} characters"
        )
    return given


def _checked_id(text: str, given: str) -> str:
    if len(text) > 16 or not int(text, 16):
        raise ValueError(f"{given} is no datapath id: 16 hex digits, not all of them 0")
    return text


def canonical_bridges(given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """Return bridges by canonical key (`bridge_key`), and the invalid keys."""
    canonical: dict[str, Any] = {}
    faults: list[tuple[Path, str]] = []
    known: dict[str, Any] = {}
    for key, value in given.items():
        try:
            bridge_id = bridge_key(str(key))
        except ValueError as error:
            faults.append(((key,), str(error)))
            continue
        if bridge_id in known:
            faults.append(((key,), f"is the same bridge as {known[bridge_id]}"))
        canonical.setdefault(bridge_id, value)
        known.setdefault(bridge_id, key)
    return canonical, faults


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
    api: Api = Api()
    channel: Channel = Channel()
    cluster: Cluster | None = Field(
        None,
        description="cluster of controllers for one network; without it the controller runs alone",
    )
    deploy: DeployConfig | None = Field(
        None, description="input of `ofapp deploy`; the controller does not read it"
    )
    watch: Flag = Field(False, description="reload this file whenever it changes")
    forget_after: Annotated[Number, Field(ge=0, le=31_536_000)] = Field(
        86400, description="seconds until a bridge whose switch is away is forgotten, 0 = never"
    )

    _effective: dict[str | None, Bridge] = PrivateAttr(default_factory=dict)
    _ends_marked: bool = PrivateAttr(False)
    _drop_ins: tuple[str, ...] = PrivateAttr(())

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
        if faults:
            raise FaultsError(faults)
        return self

    def keys(self, datapath_id: int, name: str | None) -> list[str]:
        """The entries in `bridges` that are about this bridge; more than one is a mistake."""
        return [key for key in (f"{datapath_id:016x}", name) if key in self.bridges]

    def bridge(self, datapath_id: int, name: str | None = None) -> Bridge:
        """Return the effective settings of a bridge; an entry by id precedes one by name."""
        keys = self.keys(datapath_id, name)
        return self._of(keys[0] if keys else None)

    @property
    def ends_marked(self) -> bool:
        """Whether the file ends with a line `...`, so that one can see that it is complete."""
        return self._ends_marked

    @property
    def drop_ins(self) -> tuple[str, ...]:
        """The drop-ins that were read after the file, in their order."""
        return self._drop_ins

    def came_from(self, ends_marked: bool, drop_ins: tuple[str, ...]) -> None:
        """Note how the file ends, and which drop-ins were read after it."""
        self._ends_marked, self._drop_ins = ends_marked, drop_ins

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about valid settings that may have surprising effects."""
        lines = checks.warnings("defaults", self._of(None))
        for key in self.bridges:
            lines += checks.warnings(f"bridges.{key}", self._of(key))
        return tuple(dict.fromkeys(lines))

    @property
    def names_bridges(self) -> bool:
        """Whether a bridge is given by its name, which is known only once its switch connects."""
        return any(not _ID.fullmatch(key) for key in self.bridges)

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
        for field in section.get("properties", {}).values():
            field.pop("title", None)
    return schema
