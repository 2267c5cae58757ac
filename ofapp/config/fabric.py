"""A fabric in the configuration file: several switches that forward as one bridge.

The settings of that bridge stand in `bridges`, under the fabric's name.  Its ports have the names
of their switches in front, as in `s1/eth0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    WithJsonSchema,
)

from ofapp.bridge.fabric.params import MOST_MEMBERS, FabricParams, MemberParams
from ofapp.config.base import (
    MAX_PORT_NAME,
    Model,
    Path,
    PortName,
    PortPattern,
    is_pattern,
    port_number,
)
from ofapp.config.bridge import Bridge
from ofapp.config.bridge_key import ID, bridge_key
from ofapp.config.checks import Fault, named_ports, unknown

_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_.-]{{0,{MAX_PORT_NAME - 1}}}")
NUMBERS = 256
"""How many numbers of fabrics there are."""


def _name(given: Any) -> Any:
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise ValueError(
            f"{given!r} cannot be such a name: a letter, then at most {MAX_PORT_NAME - 1} letters,"
            " digits, '_', '.' or '-'"
        )
    return given


Name = Annotated[str, BeforeValidator(_name)]
"""Name of a fabric, or of a member."""


def _datapath_id(given: Any) -> Any:
    if type(given) not in (str, int):  # YAML takes 00000000000001e5 for a number
        raise ValueError("must be a datapath id of 16 hex digits, in quotes")
    key = bridge_key(str(given))
    if not ID.fullmatch(key):
        raise ValueError(
            f"{given} is the name of a bridge: write its datapath id"
            f" (ovs-vsctl get bridge {given} datapath_id)"
        )
    return key


DatapathId = Annotated[
    str,
    BeforeValidator(_datapath_id),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
]


def _link(pattern: str) -> str:
    if pattern == "LOCAL" or pattern.isdigit():
        raise ValueError(f"{pattern} is no name of a port that can be a link")
    if pattern.strip("*?") == "":
        raise ValueError(f"{pattern} fits every port, so that none would be left for hosts")
    return pattern


class Member(Model):
    """A switch of a fabric."""

    bridge: DatapathId = Field(description="the datapath id of its bridge, 16 hex digits")
    links: tuple[Annotated[PortPattern, AfterValidator(_link)], ...] = Field(
        description="its ports that lead to other members, by name or by pattern as fab*"
    )
    left: StrictBool = Field(
        False,
        description="it is a member no more; the members behind it keep their numbers, and the"
        " bridge keeps the first one's datapath id",
    )


Cable = Annotated[
    tuple[PortName, ...],
    Field(min_length=2, max_length=2),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}),
]


class Fabric(Model):
    """Several switches that forward as one bridge.  Its settings stand in `bridges`, under the
    fabric's name."""

    number: Annotated[StrictInt, Field(ge=0, lt=NUMBERS)] = Field(
        1, description="number in the addresses of its frames; different for each fabric"
    )
    members: dict[Name, Member] = Field(
        description="its switches, by the names that their ports have in front; the first one's"
        " datapath id is the bridge's, and new ones come last"
    )
    cables: tuple[Cable, ...] = Field(
        (), description="pairs of ports, as [s1/eth1, s2/eth1]; other cables are then reported"
    )
    costs: dict[PortName, Annotated[StrictInt, Field(ge=1, le=65535)]] = Field(
        {}, description="costs of links, by one of their ports; 1 for the others"
    )
    mtu: Annotated[StrictInt, Field(ge=1280, le=65000)] = Field(
        1500, description="the largest IP packet of hosts, octets; links need 26 more"
    )
    service_tags: StrictBool = Field(
        False,
        description="carry VLAN tags inside frames, so that 802.1ad ones stay what they are; Open"
        " vSwitch's kernel datapath drops such frames",
    )

    @property
    def datapath_id(self) -> str:
        """The datapath id of its bridge: the first member's, also if that has left."""
        return next((member.bridge for member in self.members.values()), "")

    @property
    def present(self) -> dict[str, Member]:
        """Members that have not left, by name."""
        return {name: member for name, member in self.members.items() if not member.left}

    def params(self, name: str) -> FabricParams:
        """The core's value of the fabric with this name."""
        return FabricParams(
            name,
            self.number,
            tuple(
                MemberParams(member, int(given.bridge, 16), given.links, given.left)
                for member, given in self.members.items()
            ),
            tuple((cable[0], cable[1]) for cable in self.cables),
            dict(self.costs),
            self.mtu,
            self.service_tags,
        )


def faults(
    fabrics: Mapping[str, Fabric], bridges: Mapping[str, Bridge], defaults: Bridge
) -> Iterator[Fault]:
    """Errors of all fabrics; paths within the file.

    bridges: as they are in force, by their keys in the file.  defaults: what all of them have, so
    that it may name ports that a fabric has not.
    """
    inherited = frozenset(port for _, port in _ports(defaults))
    switches: dict[str, str] = {}  # the member that is this switch, by datapath id
    numbers: dict[int, str] = {}
    for name, fabric in fabrics.items():
        path: Path = ("fabrics", name)
        if fabric.number in numbers:
            what = f"{fabric.number} is the number of {numbers[fabric.number]}: give it another"
            yield (*path, "number"), what
        numbers.setdefault(fabric.number, name)
        if len(fabric.present) < 2 or len(fabric.members) > MOST_MEMBERS:
            what = f"must have 2 to {MOST_MEMBERS} members, not {len(fabric.present)}"
            yield (*path, "members"), what
        for member, given in fabric.members.items():
            if given.left and given.bridge != fabric.datapath_id:
                continue
            other = switches.setdefault(given.bridge, f"{name}.{member}")
            if other != f"{name}.{member}":
                what = f"{given.bridge} is the switch of {other} already"
                yield (*path, "members", member, "bridge"), what
            if given.bridge in bridges:
                what = (
                    f"this switch is a member of fabric {name}: the settings of its ports stand in"
                    f" bridges.{name}, as {member}/..."
                )
                yield ("bridges", given.bridge), what
        yield from _cables(path, fabric)
        if name in bridges:
            yield from _bridge(("bridges", name), bridges[name], name, fabric, inherited)
    for key, bridge in bridges.items():
        if key not in fabrics:
            yield from _no_fabric(("bridges", key), bridge)


def bridge_faults(
    fabrics: Mapping[str, Fabric], datapath_id: int, bridge: Bridge, defaults: Bridge
) -> Iterator[Fault]:
    """Errors in settings of a bridge, by its datapath id, if it is a fabric's."""
    inherited = frozenset(port for _, port in _ports(defaults))
    for name, fabric in fabrics.items():
        if fabric.datapath_id == f"{datapath_id:016x}":
            yield from _bridge((), bridge, name, fabric, inherited)


def _cables(path: Path, fabric: Fabric) -> Iterator[Fault]:
    """Errors of ports in `cables` and `costs`."""
    used: set[str] = set()
    for at, cable in enumerate(fabric.cables):
        for end, port in enumerate(cable):
            where = (*path, "cables", at, end)
            yield from ((where, what) for what in _link_port(port, fabric))
            if port in used:
                yield where, f"{port} has a cable already: a port has one"
            used.add(port)
        if cable[0].partition("/")[0] == cable[1].partition("/")[0]:
            yield (*path, "cables", at), "both ends are at one member: a link is between two"
        costs = {fabric.costs[port] for port in cable if port in fabric.costs}
        if len(costs) > 1:
            what = f"the two ends of a cable cannot have different costs: leave {cable[1]} out"
            yield (*path, "costs", cable[1]), what
    for port in fabric.costs:
        yield from (((*path, "costs", port), what) for what in _link_port(port, fabric))


def _link_port(port: str, fabric: Fabric) -> Iterator[str]:
    """Why a port cannot be a link of the fabric."""
    yield from (found := [*_port(port, fabric)])
    member, _, inner = port.partition("/")
    if not found and not _is_link(fabric.members[member], inner):
        yield f"{inner} is not among the links of {member}: add it to members.{member}.links"


def _port(port: str, fabric: Fabric) -> Iterator[str]:
    """Why a name is not that of a port of the fabric."""
    member, slash, inner = port.partition("/")
    if not slash or not inner:
        yield f"{port} is no port of a fabric, which is MEMBER/PORT, as in s1/eth0"
    elif member not in fabric.present:
        yield unknown("member", member, fabric.present)


def _is_link(member: Member, port: str) -> bool:
    return any(fnmatchcase(port, pattern) for pattern in member.links)


def _bridge(
    path: Path, bridge: Bridge, name: str, fabric: Fabric, inherited: frozenset[str]
) -> Iterator[Fault]:
    """Errors in the settings of a fabric's bridge."""
    for member in fabric.members:
        if member in bridge.lags:
            yield (*path, "lags", member), f"{member} is a member of fabric {name}: take another"
    for where, port in _ports(bridge):
        if port in bridge.lags or port == "LOCAL" or port_number(port) is not None:
            continue
        if port in inherited:
            continue
        if is_pattern(port):
            if "/" not in port and port[0] not in "*?[":
                what = f"{port} fits no port of fabric {name}: write */{port} for all its members"
                yield (*path, *where), what
            continue
        found = [*_port(port, fabric)]
        yield from (((*path, *where), what) for what in found)
        member, _, inner = port.partition("/")
        if not found and _is_link(fabric.members[member], inner):
            what = f"{port} is a link of fabric {name}, and no port of its bridge"
            yield (*path, *where), what
    yield from (((*path, *where), what) for where, what in _mirrors(bridge, fabric))
    yield from (((*path, *where), what) for where, what in _states(bridge))
    yield from (((*path, *where), what) for where, what in _suppressed(bridge))


def _states(bridge: Bridge) -> Iterator[Fault]:
    """Rules with states: the answer may enter at another member, which has not seen the opening."""
    for name, rules in bridge.acls.items():
        for number, rule in enumerate(rules):
            if rule.match.state is not None:
                what = "each switch tracks connections by itself, so a fabric has no rules with"
                what += " states: leave out state, or use tcp_established"
                yield ("acls", name, number, "match", "state"), what


def _suppressed(bridge: Bridge) -> Iterator[Fault]:
    """VLANs whose requests the switch would answer: a binding is known to one member alone."""
    for vid, vlan in bridge.vlans.items():
        for name in ("arp_suppress", "nd_suppress"):
            if getattr(vlan, name):
                what = f"only one member knows the binding of a host: leave out {name}"
                yield ("vlans", vid, name), f"{what} in a fabric"


def _mirrors(bridge: Bridge, fabric: Fabric) -> Iterator[Fault]:
    """Mirrors whose port is at another member than what they copy."""

    def elsewhere(source: str, to: str) -> str:
        at = _members(to, bridge, fabric)
        others = [member for member in _members(source, bridge, fabric) if member not in at]
        if not at or not others:
            return ""
        what = f"{source} has frames at {others[0]}, and {to} is a port of {at[0]}"
        return f"{what}: copies do not cross a fabric, so give {others[0]} a separate mirror"

    for name, mirror in bridge.mirrors.items():
        for direction in ("ingress", "egress", "both"):
            sources = getattr(mirror, direction)
            if sources == "all":
                at = (_members(mirror.to, bridge, fabric) or [""])[0]
                what = f"copies do not cross a fabric: name the ports of {at}, not all"
                yield ("mirrors", name, direction), what
                continue
            for source in sources:
                if what := elsewhere(source, mirror.to):
                    yield ("mirrors", name, direction), what
    for key, port in bridge.ports.items():
        for number, rule in enumerate(bridge.acls.get(port.acl or "", ())):
            if rule.mirror is not None and (what := elsewhere(key, rule.mirror)):
                yield ("acls", str(port.acl), number, "mirror"), what


def _members(port: str, bridge: Bridge, fabric: Fabric) -> list[str]:
    """The members that may have ports of a name, a pattern or an aggregation; [] if unknown."""
    if port in bridge.lags:
        members = (member.partition("/")[0] for member in bridge.lags[port].members)
        return [*dict.fromkeys(members)]
    if port == "LOCAL":
        return [name for name in [*fabric.members][:1] if name in fabric.present]
    pattern, slash, _ = port.partition("/")
    if not slash:
        return [*fabric.members] if is_pattern(port) else []
    return [member for member in fabric.members if fnmatchcase(member, pattern)]


def _no_fabric(path: Path, bridge: Bridge) -> Iterator[Fault]:
    for where, port in _ports(bridge):
        if "/" in port and not is_pattern(port):
            what = f"{port} would be a port of a fabric, and this bridge is none"
            yield (*path, *where), what


def _ports(bridge: Bridge) -> Iterator[tuple[Path, str]]:
    """Every reference to a port."""
    yield from named_ports(bridge)
    for name, lag in bridge.lags.items():
        yield from ((("lags", name, "members", at), port) for at, port in enumerate(lag.members))
