"""Access lists in the configuration file.

A rule says only what matters: `tcp_dst: 80` is TCP, in IPv4 and IPv6; `ip_src: 10.0.0.0/8` is IPv4.
What OpenFlow also requires (its prerequisites) is added here, and what contradicts
itself is refused here, at the field that contradicts an earlier one.  Rules that no frame can get
to are errors, not warnings: in a list that guards something, they are always a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ofapp.bridge.params.acl import (
    BEGINS,
    IMPLICIT,
    MAX_FLOWS,
    STATES,
    TRACKED,
    hidden,
    list_number,
    passes,
    rule_number,
    stateful,
)
from ofapp.bridge.params.policy import AclMatch, AclRule
from ofapp.config.acl_match import Vids, alternatives, narrowed, size
from ofapp.config.acl_values import (
    ARP,
    ICMP,
    ICMPV6,
    IPV4,
    IPV6,
    TCP,
    UDP,
    ArpOp,
    EthType,
    IcmpName,
    IpNetwork,
    IpProto,
    Ipv4Network,
    MacBits,
    Ports,
    States,
)
from ofapp.config.base import FaultsError, Model, Path, PortName, Rate, VlanRef

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be a name: at most 64 letters, digits, '_', '.', ':' or '-', "
            "beginning with a letter or digit"
        )
    if name == IMPLICIT:
        raise ValueError(f"{name} is what comes after the last rule of a list: take another name")
    return name


AclName = Annotated[StrictStr, AfterValidator(_name)]
Yes = Literal[True]


class AclMatchSettings(Model):
    """Match of a rule: all given fields must match; an empty match covers every frame."""

    eth_src: MacBits | None = Field(None, description="source address, /mask for several")
    eth_dst: MacBits | None = Field(None, description="destination address, /mask for several")
    vlan: VlanRef | None = Field(None, description="VID in the bridge, or name; 0 = untagged")
    vlan_pcp: Annotated[StrictInt, Field(ge=0, le=7)] | None = Field(
        None, description="802.1p priority; frames without a tag have none"
    )
    eth_type: EthType | None = Field(None, description="ipv4, ipv6, arp, ..., or a number")
    ip_proto: IpProto | None = Field(None, description="tcp, udp, icmp, ..., or a number")
    ip_src: IpNetwork | None = Field(None, description="IPv4 or IPv6 address or network")
    ip_dst: IpNetwork | None = Field(None, description="IPv4 or IPv6 address or network")
    ip_dscp: Annotated[StrictInt, Field(ge=0, le=63)] | None = None
    fragment: Yes | None = Field(
        None,
        description="true: packet fragments, whose ports, flags and ICMP type cannot be matched",
    )
    state: States | None = Field(
        None,
        description="state of the connection: new, established, related, invalid; or several",
    )
    tcp_src: Ports | None = Field(None, description='80, "1024-65535", [80, 443]')
    tcp_dst: Ports | None = None
    tcp_established: Yes | None = Field(
        None, description="true: ACK or RST is set, so it is not the opening of a connection"
    )
    udp_src: Ports | None = None
    udp_dst: Ports | None = None
    sctp_src: Ports | None = None
    sctp_dst: Ports | None = None
    arp_op: ArpOp | None = Field(None, description="request, reply, or a number")
    arp_spa: Ipv4Network | None = Field(
        None, description="the sender's IPv4 address in the ARP message"
    )
    arp_tpa: Ipv4Network | None = Field(None, description="the requested IPv4 address (ARP target)")
    arp_sha: MacBits | None = Field(None, description="the sender's MAC address in the ARP message")
    arp_tha: MacBits | None = None
    icmp_type: IcmpName | None = Field(
        None, description="echo-request, ..., of both ICMPs; or a number of one of them"
    )
    icmp_code: Annotated[StrictInt, Field(ge=0, le=255)] | None = None

    @field_validator("*")
    @classmethod
    def _agrees(cls, value: Any, info: ValidationInfo) -> Any:
        """Fields come in the order above, so each is compared with those before it."""
        if value is not None and info.field_name is not None:
            before = {name: given for name, given in info.data.items() if given is not None}
            narrowed({**before, info.field_name: value})
        return value

    def given(self) -> dict[str, Any]:
        """The fields that are given, in the order above."""
        return {name: value for name, value in self if value is not None}

    @property
    def about(self) -> str:
        """The same in a line, for people."""
        fields = self.given().items()
        return " ".join(k if v is True else f"{k}={v}" for k, v in fields) or "any"


class AclSet(Model):
    """Changes of packets that a rule allows."""

    dscp: Annotated[StrictInt, Field(ge=0, le=63)] | None = Field(
        None, description="DSCP of IPv4 and IPv6 packets, 46 for voice; the match must be of IP"
    )
    pcp: Annotated[StrictInt, Field(ge=0, le=7)] | None = Field(
        None, description="802.1p priority in the VLAN tag, 5 for voice; without a tag no effect"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.dscp is None and self.pcp is None:
            raise ValueError("set is empty: give dscp, pcp or both")
        return self


class AclRuleSettings(Model):
    """A rule: the first of a list that matches decides."""

    name: AclName | None = Field(
        None, description="shown with counters; default: the text of its match"
    )
    match: AclMatchSettings = AclMatchSettings()
    action: Literal["allow", "drop"] | None = Field(
        None, description="may be left out with `rate`, `set` or `mirror`, which allow"
    )
    mirror: PortName | None = Field(None, description="a port, by name, that gets a copy")
    set: AclSet | None = Field(None, description="what packets get that pass")
    rate: Rate | None = Field(
        None,
        description="frames a second that pass, of all ports with the list; others are dropped",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.action is None and not (self.rate or self.mirror or self.set):
            raise ValueError("action is missing: allow or drop")
        if self.action == "drop" and self.rate is not None:
            raise ValueError("rate is for frames that pass: leave out rate, or action: drop")
        if self.action == "drop" and self.set is not None:
            raise ValueError("set is for packets that pass: leave out set, or action: drop")
        return self

    def rule(self, vid_of: Vids) -> AclRule:
        """The core's value; KeyError for a VLAN's name that is none."""
        about, matches = self.match.about, alternatives(self.match.given(), vid_of)
        return AclRule(
            self.name or about,
            matches,
            self.action != "drop",
            self.mirror,
            self.rate,
            about,
            None if self.set is None else self.set.dscp,
            None if self.set is None else self.set.pcp,
        )


def _not_empty(rules: tuple[AclRuleSettings, ...]) -> tuple[AclRuleSettings, ...]:
    if not rules:
        raise ValueError("a list without rules drops everything: say so by {action: drop}")
    return rules


Acl = Annotated[
    tuple[AclRuleSettings, ...],
    AfterValidator(_not_empty),
    Field(
        json_schema_extra={"minItems": 1},
        description="rules in order; what none of them matches is dropped, ARP and IPv6's"
        " neighbour discovery included",
    ),
]
"""An access list."""


def acl_params(acls: Mapping[str, Acl], vid_of: Vids) -> dict[str, tuple[AclRule, ...]]:
    """The core's values; FaultsError, with paths from `acls` on, for all that is wrong together."""
    params: dict[str, tuple[AclRule, ...]] = {}
    faults: list[tuple[Path, str]] = []
    for name, settings in acls.items():
        problems = _size_faults(settings)
        if not problems:
            rules, problems = _rules(settings, vid_of)
            params[name] = tuple(rules)
        faults += (((name, *path), what) for path, what in problems)
    faults += _number_faults(params)
    if faults:
        raise FaultsError(faults)
    return params


def acl_warnings(rules: Sequence[AclRule]) -> list[str]:
    """Return warnings about valid rules that may have surprising effects."""
    warnings = []
    if passes(rules, _ipv4_hosts()) and not passes(rules, (AclMatch("eth_type", ARP),)):
        warnings.append("IPv4 passes but no ARP, so hosts do not find each other: allow arp, too")
    neighbours = (AclMatch("eth_type", IPV6), AclMatch("ip_proto", ICMPV6))
    untracked = AclMatch("ct_state", 0, TRACKED)
    solicitation = (*neighbours, AclMatch("icmpv6_type", 135), untracked)
    if passes(rules, (AclMatch("eth_type", IPV6),)) and not passes(rules, solicitation):
        warnings.append(
            "IPv6 passes but no neighbour discovery, so hosts do not find each other: allow "
            "icmp_type neighbor-solicitation and neighbor-advertisement, too"
        )
    return warnings


def state_warnings(lists: Mapping[str, Sequence[AclRule]]) -> Iterator[tuple[str, str]]:
    """Yield (name, warning) of lists whose established connections can never begin.

    lists: the lists that ports of one bridge have.
    """
    tracked = {name: rules for name, rules in lists.items() if stateful(rules)}
    if any(passes(rules, (BEGINS, *kind)) for rules in tracked.values() for kind in _OPENINGS):
        return
    for name, rules in tracked.items():
        if any(passes(rules, (STATES["established"], *kind)) for kind in _OPENINGS):
            what = "connections are allowed, but no list with states lets one begin"
            yield name, f"{what}: give the ports where they begin a list with state: new"


_OPENINGS = (
    *(
        (AclMatch("eth_type", family), AclMatch("ip_proto", proto))
        for family in (IPV4, IPV6)
        for proto in (TCP, UDP)
    ),
    (AclMatch("eth_type", IPV4), AclMatch("ip_proto", ICMP)),
    (AclMatch("eth_type", IPV6), AclMatch("ip_proto", ICMPV6), AclMatch("icmpv6_type", 128)),
)


def _ipv4_hosts() -> tuple[AclMatch, ...]:
    return (AclMatch("eth_type", IPV4),)


def _rules(settings: Acl, vid_of: Vids) -> tuple[list[AclRule], list[tuple[Path, str]]]:
    rules: list[AclRule] = []
    faults: list[tuple[Path, str]] = []
    for position, rule in enumerate(settings):
        try:
            rules.append(rule.rule(vid_of))
            marked = rule.set is not None and rule.set.dscp is not None
            if marked and not all(map(_is_of_ip, rules[-1].matches)):
                what = "is of IP packets: match eth_type: ipv4, eth_type: ipv6 or a field of IP"
                faults.append(((position, "set", "dscp"), what))
        except KeyError:
            what = f"{rule.match.vlan!r} is not the name of a VLAN in `vlans`"
            faults.append(((position, "match", "vlan"), what))
    return rules, faults or _order_faults(rules)


def _is_of_ip(match: tuple[AclMatch, ...]) -> bool:
    return any(each.field == "eth_type" and each.value in (IPV4, IPV6) for each in match)


def _size_faults(settings: Acl) -> list[tuple[Path, str]]:
    sizes = [size(rule.match.given()) for rule in settings]
    if sum(sizes) <= MAX_FLOWS:
        return []
    return [
        (
            (),
            f"takes {sum(sizes)} flows, and {MAX_FLOWS} are the most: rule "
            f"{sizes.index(max(sizes)) + 1} alone takes {max(sizes)}; lists and ranges of ports "
            "multiply each other, so split them or begin and end them at multiples of 2, 4, 8, ...",
        )
    ]


def _order_faults(rules: Sequence[AclRule]) -> list[tuple[Path, str]]:
    faults: list[tuple[Path, str]] = []
    first: dict[str, int] = {}
    unreached = hidden(tuple(rules))
    for position, rule in enumerate(rules):
        if position in unreached:
            by = ", ".join(f"{other + 1} ({rules[other].name})" for other in unreached[position])
            what = f"can never match: rule {by} before it takes all it is for; move or remove it"
            faults.append(((position,), what))
        elif rule.name in first:
            other = first[rule.name] + 1
            faults.append(
                ((position, "name"), f"{rule.name!r} is the name of rule {other} already")
            )
        first.setdefault(rule.name, position)
    return faults


def _number_faults(params: Mapping[str, Sequence[AclRule]]) -> list[tuple[Path, str]]:
    """Numbers are made of names; that two are the same is as good as impossible, but not quite."""
    faults: list[tuple[Path, str]] = []
    lists: dict[int, str] = {}
    numbers: dict[int, tuple[str, str]] = {}
    for name, rules in params.items():
        if (other := lists.setdefault(list_number(name), name)) != name:
            faults.append(((name,), f"has the same number as list {other}: rename one of them"))
        for rule in (*(rule.name for rule in rules), IMPLICIT):
            known = numbers.setdefault(rule_number(name, rule), (name, rule))
            if known != (name, rule):
                what = f"rule {rule!r} has the same number as rule {known[1]!r} of list {known[0]}"
                faults.append(((name,), f"{what}: rename one of them"))
    return faults
