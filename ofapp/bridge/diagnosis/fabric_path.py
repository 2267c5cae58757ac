"""Find where frames enter a fabric, and the host that they are for, by what a person writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.queries import fdb_tables, hosts_of_ip

Field = Literal["from", "to", "vlan"]
Host = tuple[int, int]
"""VID and MAC address."""


class PathError(Exception):
    """The texts name no path.  field: the wrong one; status: 404 if it is not known, 409 if
    it is not clear what is meant."""

    def __init__(self, field: Field, what: str, status: int = 404) -> None:
        super().__init__(what)
        self.field = field
        self.status = status


@dataclass(frozen=True, slots=True)
class Meeting:
    """Frames of VLAN `vid` that enter the fabric at a port of a member, for address `mac`."""

    member: int
    port: str
    vid: int
    mac: int


def find_path(
    params: FabricParams, bridge: Bridge, start: str, to: str, vid: int | None
) -> Meeting:
    """Find both ends.  Raises PathError.

    start: name of a port, or the MAC or IP address of a host; to: MAC or IP address of a host.  An
    unknown MAC address is allowed as `to`: frames to it are flooded.
    vid: None for the VLAN where `to` is known, otherwise the one where `start` is known.
    """
    senders = _hosts(bridge, start)
    hosts = _hosts(bridge, to)
    mac = _mac(to)
    if mac is None and not hosts:
        raise PathError("to", f"{to} is neither a MAC address nor an IP address of a known host")
    chosen = vid if vid is not None else _vid(hosts, senders)
    matching = [known for known_vid, known in hosts if known_vid == chosen]
    if not matching and mac is None:
        raise PathError("to", f"{to} is not known in VLAN {chosen}")
    port = _port(bridge, start, chosen, senders)
    return Meeting(_member(params, port), port, chosen, matching[0] if mac is None else mac)


def _vid(hosts: list[Host], senders: list[Host]) -> int:
    """The only VLAN where both are known, otherwise the only one of the host, or the sender."""
    there, here = ({vid for vid, _ in known} for known in (hosts, senders))
    for vids in (there & here, there or here):
        if len(vids) == 1:
            return min(vids)
    if not there and not here:
        return 0
    listed = ", ".join(map(str, sorted(there & here or there or here)))
    raise PathError("vlan", f"the host is known in VLANs {listed}: give one of them", 409)


def _port(bridge: Bridge, start: str, vid: int, senders: list[Host]) -> str:
    """The name of the port where the frames come from."""
    if bridge.ports.named(start) is not None:
        return start
    for known_vid, mac in senders:
        if known_vid == vid:
            entry = fdb_tables(bridge)[vid][mac]
            if (port := bridge.ports.get(entry.port)) is not None:
                return port.name
    if senders:
        raise PathError("from", f"{start} is not known in VLAN {vid}")
    raise PathError("from", f"{start} is neither a port of {bridge.name} nor a known host")


def _member(params: FabricParams, port: str) -> int:
    """The member that has a port; aggregations have names without a member's."""
    if port == params.name:  # LOCAL of the first one
        return 1
    name, slash, _ = port.partition("/")
    for number, member in enumerate(params.members, 1):
        if slash and member.name == name:
            return number
    what = f"{port} is an aggregation, which may have ports at several members: give one of them"
    raise PathError("from", what, 409)


def _hosts(bridge: Bridge, text: str) -> list[Host]:
    """The known hosts with a MAC or IP address, by VID."""
    if (mac := _mac(text)) is not None:
        return sorted(_with_mac(bridge, mac))
    try:
        return sorted(hosts_of_ip(bridge, ip_address(text).packed))
    except ValueError:
        return []


def _with_mac(bridge: Bridge, mac: int) -> Iterator[Host]:
    for vid, table in fdb_tables(bridge).items():
        if mac in table:
            yield vid, mac


def _mac(text: str) -> int | None:
    try:
        return parse_mac(text)
    except ValueError:
        return None
