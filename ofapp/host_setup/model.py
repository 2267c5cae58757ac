"""Deployment settings of a host: section `deploy:` of the configuration file, or options.

Imports nothing that touches a host, as the configuration file's model includes it.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ofapp.bridge.mac import format_mac, is_group, parse_mac
from ofapp.common.api_address import API_URL

IFNAMSIZ = 15  # bytes of an interface's name
LOCAL_CONTROLLER = "tcp:127.0.0.1:6653"
DEFAULT_API = API_URL

_TARGET = re.compile(
    r"(?P<kind>tcp|ssl):(\[(?P<six>[^\]]+)\]|(?P<four>[^:\[\]]+))(:(?P<port>\d+))?"
)


def _interface(name: str) -> str:
    """The name as the kernel takes it (dev_valid_name)."""
    if len(name.encode()) > IFNAMSIZ:
        raise ValueError(f"{name!r} is too long: an interface's name has at most {IFNAMSIZ} bytes")
    if not name or name in {".", ".."} or re.search(r"[\s/:]", name):
        raise ValueError(f"{name!r} is not a name for an interface")
    return name


def _mac(text: str) -> str:
    mac = parse_mac(text)
    if not mac or is_group(mac):
        raise ValueError(f"{text} is not the address of one host")
    return format_mac(mac)


def _target(text: str) -> str:
    if text.startswith("unix:") and len(text) > len("unix:"):
        return text
    parsed = _TARGET.fullmatch(text)
    try:
        if parsed is None:
            raise ValueError
        ipaddress.ip_address(parsed["six"] or parsed["four"])
    except ValueError:
        raise ValueError(
            f"{text!r} is not a controller: write tcp:ADDRESS:PORT, ssl:ADDRESS:PORT with an IP"
            " address (IPv6 in brackets), or unix:PATH"
        ) from None
    return text


InterfaceName = Annotated[str, AfterValidator(_interface)]
HostMac = Annotated[str, AfterValidator(_mac)]
Target = Annotated[str, AfterValidator(_target)]
PortType = Literal["tap", "internal", "vhost-user", "afxdp", "dpdk"]

_USERSPACE_TYPES = {"vhost-user", "afxdp", "dpdk"}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DeployPort(_Model):
    """A port that is not an uplink NIC of the kernel."""

    name: InterfaceName
    type: PortType
    path: str | None = Field(
        None, description="vhost-user: the socket that the virtual machine serves"
    )
    devargs: str | None = Field(None, description="dpdk: the device, as in options:dpdk-devargs")
    options: dict[str, str] = Field({}, description="more options of Open vSwitch's interface")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for field, owner in (("path", "vhost-user"), ("devargs", "dpdk")):
            if (getattr(self, field) is not None) != (self.type == owner):
                must = "needs" if self.type == owner else "has no"
                raise ValueError(f"port {self.name}: type {self.type} {must} {field}")
        return self


def _ports(value: object) -> object:
    """Ports may be written as on the command line."""
    if isinstance(value, list | tuple):
        return tuple(parse_port(port) if isinstance(port, str) else port for port in value)
    return value


def parse_port(text: str) -> DeployPort:
    """NAME:TYPE, and for vhost-user and dpdk NAME:TYPE:PATH or DEVICE."""
    name, _, rest = text.partition(":")
    type_, _, argument = rest.partition(":")
    values = {"name": name, "type": type_}
    if argument:
        values["devargs" if type_ == "dpdk" else "path"] = argument
    return DeployPort.model_validate(values)


class DeployConfig(_Model):
    """One bridge and what is plugged into it."""

    bridge: InterfaceName = "br0"
    datapath: Literal["system", "netdev"] = Field(
        "system", description="the kernel's datapath, or the one in ovs-vswitchd"
    )
    nics: tuple[InterfaceName, ...] = Field(
        (), description="uplinks; their addresses, routes and MTU move to the bridge"
    )
    bond: Literal["lacp", "static"] | None = Field(
        None,
        description="the uplinks are one port of the bridge: an aggregation, which is written into"
        " the controller's file",
    )
    ports: Annotated[tuple[DeployPort, ...], BeforeValidator(_ports)] = ()
    controllers: tuple[Target, ...] = Field((LOCAL_CONTROLLER,), min_length=1)
    in_band: bool = Field(
        False, description="the controller is reached through the bridge that it controls"
    )
    api: str = Field(
        DEFAULT_API,
        description="the controller's REST API; the usual one is asked over its socket",
    )
    rate_limit: int | None = Field(
        None, ge=100, description="packets a second to the controller; none: no limit"
    )
    burst_limit: int | None = Field(None, ge=25)
    datapath_id: str | None = Field(
        None, pattern="^[0-9a-f]{16}$", description="none: from the first uplink's MAC address"
    )
    mac: HostMac | None = Field(None, description="none: the first uplink's")
    mtu: int | None = Field(None, ge=68, le=65535, description="none: the first uplink's")
    stp_guard: bool = Field(
        True,
        description="with several uplinks, go on only when the controller runs spanning tree:"
        " a loop over two uplinks locks out as well",
    )
    settle_within: float = Field(
        45, gt=0, le=600, description="seconds that the gateway may take to answer via the bridge"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [self.bridge, *self.nics, *(port.name for port in self.ports)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} is named more than once")
        for port in self.ports:
            if port.type in _USERSPACE_TYPES and self.datapath != "netdev":
                raise ValueError(
                    f"port {port.name}: type {port.type} needs the userspace datapath:"
                    " datapath netdev"
                )
        if self.bond is not None and len(self.nics) < 2:
            raise ValueError("a bond is made of two uplinks at least, and nics has not as many")
        if self.burst_limit is not None and self.rate_limit is None:
            raise ValueError("burst_limit needs rate_limit")
        if self.datapath_id is not None and not int(self.datapath_id, 16):
            raise ValueError("datapath_id cannot be zero")
        return self

    @property
    def uplinks(self) -> tuple[str, ...]:
        """Interfaces of the kernel that the bridge takes over, the addressed one first if any."""
        return (*self.nics, *(port.name for port in self.ports if port.type == "afxdp"))

    @property
    def can_loop(self) -> bool:
        """Whether the bridge has several ports to the outside: a bond is one."""
        return len(self.uplinks) - (len(self.nics) - 1 if self.bond else 0) > 1

    @property
    def uses_dpdk(self) -> bool:
        """Whether Open vSwitch must have DPDK."""
        return any(port.type in {"dpdk", "vhost-user"} for port in self.ports)


def endpoint(target: str) -> tuple[str, int] | None:
    """Address and TCP port of a controller; None for a Unix socket."""
    parsed = _TARGET.fullmatch(target)
    if parsed is None:
        return None
    return parsed["six"] or parsed["four"], int(parsed["port"] or 6653)
