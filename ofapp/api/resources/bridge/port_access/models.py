"""Models of /v1/bridges/{dpid}/port-access."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, Input, Mac, PortText
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection

PortAccessBridge = section_model(BridgeSettings, "port_access")
PortAccessPort = section_model(PortSection, "port_access")


class AccessHost(BaseModel):
    """A host of a controlled port."""

    port: str = Field(description="name of the port")
    mac: str
    user: str = Field(description="its identity, which is not verified until it is authorised")
    authorised: bool
    phase: str = Field(description="what is done with it, as `authorised` or `held`")
    method: str = Field(description="dot1x, mab, or the fallback: guest, auth_fail, critical")
    vlan: int | None = Field(description="VID that its authorisation brings; null for none")
    tagged: list[int] = Field(description="VIDs of further VLANs that leave tagged")
    untagged: list[int] = Field(description="VIDs of further VLANs that leave untagged")
    acl: str | None = Field(description="access list by the server; null for that of the port")
    rate_in: int | None = Field(
        description="most kbit/s that may come in, by the server; null for that of the port"
    )
    rate_out: int | None = Field(
        description="most kbit/s that may leave, by the server; null for that of the port"
    )
    since: str
    seconds_left: float | None = Field(
        description="until it is authenticated again, or may be; null for never"
    )
    why: str = Field(description="why it is not authorised; empty if it is")
    reply_message: str = Field(description="Reply-Message of the server")


class AccessPort(BaseModel):
    """A controlled port that is up."""

    port: str = Field(description="name of the port")
    authentication: str
    host_mode: str
    hosts: int
    authorised: int = Field(description="number of hosts that are authorised")
    full: bool = Field(description="a host beyond the limit was refused in the last five minutes")
    waiting: int = Field(
        description="number of hosts whose question to the servers waits, since the port has as"
        " many open questions as it may"
    )
    counters: dict[str, int] = Field(description="what was dropped and decided")


class PortAccessStatus(BaseModel):
    """Port access control of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    parameters: PortAccessBridge  # type: ignore[valid-type]
    servers: dict[str, int] = Field(
        description="requests to RADIUS servers, answers, and packets that were refused"
    )
    demands: dict[str, int] = Field(
        description="Disconnect and Change-of-Authorization of servers to this controller, and"
        " packets that were refused"
    )
    dead: list[str] = Field(description="servers that have not answered lately")
    ports: list[AccessPort]
    hosts: list[AccessHost]


class Selection(Input):
    """Hosts: all, those of a port, or one; an omitted field selects all."""

    port: PortText | None = None
    mac: Mac | None = None
