"""Access lists in the file: short to write; an error names its place and the remedy."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from ofapp.bridge.params.acl import MAX_FLOWS, STATES
from ofapp.bridge.params.policy import AclMatch, AclRule
from ofapp.config.acl import (
    AclMatchSettings,
    AclRuleSettings,
    acl_params,
    acl_warnings,
    state_warnings,
)
from ofapp.config.base import FaultsError

VLANS = {"lab": 7}


def rules(text: str) -> tuple[AclRule, ...]:
    """Of one list, written as in the file."""
    models = tuple(map(AclRuleSettings.model_validate, yaml.safe_load(text)))
    return acl_params({"a": models}, vid_of)["a"]


def vid_of(ref: int | str) -> int:
    return ref if isinstance(ref, int) else VLANS[ref]


def matches(text: str) -> list[list[str]]:
    """What one match comes to, each alternative as `field=value/mask`."""
    (rule,) = rules(f"[{{match: {text}, action: allow}}]")
    return [[_text(match) for match in alternative] for alternative in rule.matches]


def _text(match: AclMatch) -> str:
    return f"{match.field}={match.value:#x}" + ("" if match.mask is None else f"/{match.mask:#x}")


V4, V6 = "eth_type=0x800", "eth_type=0x86dd"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{}", [[]]),
        ("{eth_type: arp}", [["eth_type=0x806"]]),
        ("{eth_type: 0x88cc}", [["eth_type=0x88cc"]]),
        ("{eth_type: llc}", [["eth_type=0x5ff"]]),
        ("{vlan: 0}", [["vlan_vid=0x0/0xfff"]]),
        ("{vlan: lab}", [["vlan_vid=0x7/0xfff"]]),
        ("{vlan_pcp: 5}", [["vlan_vid=0x1000/0x1000", "vlan_pcp=0x5"]]),
        ("{vlan: lab, vlan_pcp: 0}", [["vlan_vid=0x1007", "vlan_pcp=0x0"]]),
        ('{eth_src: "2-0-0-0-0-1"}', [["eth_src=0x20000000001"]]),
        (
            '{eth_dst: "01:00:5e:00:00:00/ff:ff:ff:80:00:00"}',
            [["eth_dst=0x1005e000000/0xffffff800000"]],
        ),
        ("{ip_src: 10.0.0.1, state: new}", [[V4, "ipv4_src=0xa000001", "ct_state=0x21/0x37"]]),
        (
            "{eth_type: ipv6, state: [related, established]}",
            [[V6, "ct_state=0x22/0x37"], [V6, "ct_state=0x24/0x34"]],
        ),
        ("{eth_type: ipv4, state: invalid}", [[V4, "ct_state=0x30/0x30"]]),
        ("{ip_src: 10.0.0.0/8}", [[V4, "ipv4_src=0xa000000/0xff000000"]]),
        ("{ip_dst: 10.0.0.1/32}", [[V4, "ipv4_dst=0xa000001"]]),
        ('{ip_dst: "fe80::/10"}', [[V6, f"ipv6_dst={0xFE80 << 112:#x}/{0xFFC0 << 112:#x}"]]),
        ("{ip_dscp: 46}", [[V4, "ip_dscp=0x2e"], [V6, "ip_dscp=0x2e"]]),
        ("{ip_proto: igmp}", [[V4, "ip_proto=0x2"]]),
        ("{ip_proto: 50}", [[V4, "ip_proto=0x32"], [V6, "ip_proto=0x32"]]),
        (
            "{tcp_dst: 80}",
            [[V4, "ip_proto=0x6", "tcp_dst=0x50"], [V6, "ip_proto=0x6", "tcp_dst=0x50"]],
        ),
        (
            "{udp_src: 67, eth_type: ipv4}",
            [[V4, "ip_proto=0x11", "udp_src=0x43"]],
        ),
        (
            "{ip_src: 10.0.0.1, tcp_dst: [80, 82-83]}",
            [
                [V4, "ip_proto=0x6", "ipv4_src=0xa000001", "tcp_dst=0x50"],
                [V4, "ip_proto=0x6", "ipv4_src=0xa000001", "tcp_dst=0x52/0xfffe"],
            ],
        ),
        (
            "{icmp_type: echo-request}",
            [
                [V4, "ip_proto=0x1", "icmpv4_type=0x8"],
                [V6, "ip_proto=0x3a", "icmpv6_type=0x80"],
            ],
        ),
        ("{icmp_type: neighbor-solicitation}", [[V6, "ip_proto=0x3a", "icmpv6_type=0x87"]]),
        ("{icmp_type: 8, ip_proto: icmp}", [[V4, "ip_proto=0x1", "icmpv4_type=0x8"]]),
        (
            "{icmp_type: destination-unreachable, icmp_code: 4, eth_type: ipv4}",
            [[V4, "ip_proto=0x1", "icmpv4_type=0x3", "icmpv4_code=0x4"]],
        ),
        (
            "{arp_op: request, arp_spa: 10.0.0.0/24}",
            [["eth_type=0x806", "arp_op=0x1", "arp_spa=0xa000000/0xffffff00"]],
        ),
        (
            "{tcp_established: true, ip_dst: 10.0.0.1}",
            [
                [
                    V4,
                    "ip_proto=0x6",
                    "ipv4_dst=0xa000001",
                    f"tcp_flags={flag:#x}/{flag:#x}",
                    "ip_frag=0x0/0x1",
                ]
                for flag in (0x10, 0x04)
            ],
        ),
        ("{fragment: true, ip_dst: 10.0.0.1}", [[V4, "ipv4_dst=0xa000001", "ip_frag=0x1/0x1"]]),
    ],
)
def test_what_is_written_means_no_more_and_no_less(written: str, meant: list[list[str]]) -> None:
    assert matches(written) == meant


@pytest.mark.parametrize("zero", ["udp_dst: 0-53", "udp_dst: 0-65535", "icmp_type: echo-reply"])
def test_what_would_match_zero_matches_no_fragments(zero: str) -> None:
    """A switch takes the ports and ICMP types of fragments for 0."""
    low, *others = matches(f"{{{zero}, eth_type: ipv4}}")
    assert low[-1] == "ip_frag=0x0/0x1"
    assert not any("ip_frag" in field for other in others for field in other)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (80, "80"),
        ("443, 80", "80,443"),
        ([8000, "1-3", "3-9"], "1-9,8000"),
        (["1", 2, 3], "1-3"),
    ],
)
def test_ports_are_numbers_ranges_and_lists(written: Any, canonical: str) -> None:
    assert AclMatchSettings.model_validate({"tcp_dst": written}).tcp_dst == canonical


@pytest.mark.parametrize(
    ("written", "place", "reason"),
    [
        ("{ip_proto: tcp, udp_src: 67}", "udp_src", "udp_src is of udp, but ip_proto: tcp is of"),
        ("{ip_src: 10.0.0.1, ip_dst: 'fe80::1'}", "ip_dst", "but ip_src: 10.0.0.1 is of ipv4"),
        ("{ip_src: 10.0.0.1, eth_type: ipv6}", "ip_src", "eth_type: ipv6"),
        ("{eth_type: ipv6, ip_proto: icmp}", "ip_proto", "eth_type: ipv6"),
        (
            "{eth_type: arp, tcp_dst: 80}",
            "tcp_dst",
            "eth_type: arp is of arp, and no frame is both",
        ),
        ("{tcp_src: 1, udp_dst: 1}", "udp_dst", "tcp_src: 1 is of tcp"),
        ("{icmp_type: 8}", "icmp_type", "say which by ip_proto: icmp or icmpv6"),
        ("{icmp_type: packet-too-big, eth_type: ipv4}", "icmp_type", "eth_type: ipv4"),
        ("{state: open}", "state", "'open' is not a state of a connection: new, established"),
        ("{state: []}", "state", "not a state"),
        ("{eth_type: arp, state: new}", "state", "eth_type: arp is of arp"),
        (
            "{state: new, icmp_type: neighbor-solicitation}",
            "icmp_type",
            "belongs to no connection: leave out state",
        ),
        ("{state: new, ip_proto: icmpv6, icmp_type: 134}", "icmp_type", "leave out state"),
        ("{icmp_code: 4}", "icmp_code", "means nothing without icmp_type"),
        ("{fragment: true, tcp_dst: 80}", "tcp_dst", "leave out fragment or tcp_dst"),
        ("{fragment: false}", "fragment", "True"),
        ("{tcp_dst: 65536}", "tcp_dst", "not a port, 0 to 65535"),
        ("{tcp_dst: -1}", "tcp_dst", "not a port, 0 to 65535"),
        ("{tcp_dst: 90-80}", "tcp_dst", "or a range such as 1024-65535"),
        ("{tcp_dst: http}", "tcp_dst", "not a port"),
        ("{tcp_dst: []}", "tcp_dst", "no port is given"),
        ("{tcp_dst: true}", "tcp_dst", "not a port"),
        ("{ip_src: 10.0.0.1/8}", "ip_src", "write 10.0.0.0/8"),
        ("{ip_src: 10.0.0.256}", "ip_src", "does not appear to be an IPv4 or IPv6 network"),
        ("{ip_src: 10}", "ip_src", "not an IP address or network"),
        ("{arp_spa: 'fe80::1'}", "arp_spa", "ARP is for IPv4 alone"),
        ("{eth_src: 52:54:00:12:34:56}", "eth_src", "put it in quotes"),
        ("{eth_src: '02:00:00:00:00:01/ff:00:00:00:00:00'}", "eth_src", "02:00:00:00:00:00/..."),
        ("{eth_src: '02:00'}", "eth_src", "not a MAC address"),
        ("{eth_type: ipx}", "eth_type", "ipv4, ipv6, arp"),
        ("{eth_type: 70000}", "eth_type", "1536 to 65535"),
        ("{ip_proto: 256}", "ip_proto", "0 to 255"),
        ("{ip_dscp: 64}", "ip_dscp", "63"),
        ("{vlan: 4095}", "vlan", "VID"),
        ("{vlan_pcp: 8}", "vlan_pcp", "7"),
        ("{dl_dst: 1}", "dl_dst", "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(written: str, place: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        rules(f"[{{match: {written}, action: drop}}]")
    (fault,) = refused.value.errors()
    assert fault["loc"] == ("match", place)
    assert reason in fault["msg"]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("{match: {eth_type: arp}}", "action is missing: allow or drop"),
        ("{rate: 5, action: drop}", "rate is for frames that pass"),
        ("{match: {eth_type: ipv4}, set: {dscp: 46}, action: drop}", "set is for packets that"),
        ("{set: {dscp: 64}}", "less than or equal to 63"),
        ("{set: {}}", "give dscp, pcp or both"),
        ("{set: {pcp: 8}}", "less than or equal to 7"),
        ("{action: permit}", "'allow' or 'drop'"),
        ("{action: drop, name: implicit-drop}", "take another name"),
        ("{action: drop, name: 'a b'}", "cannot be a name"),
        ("{rate: 0}", "greater than or equal to 1"),
        ("{mirror: 'tap*'}", "one port's name"),
    ],
)
def test_a_rule_says_what_becomes_of_its_frames(written: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        rules(f"[{written}]")


def test_rate_and_mirror_allow_unless_reported_otherwise() -> None:
    rated, copied, stolen = rules(
        """
        - {match: {tcp_dst: 1}, rate: 50}
        - {match: {tcp_dst: 2}, mirror: ids}
        - {match: {tcp_dst: 3}, mirror: ids, action: drop}
        """
    )
    assert [rule.allow for rule in (rated, copied, stolen)] == [True, True, False]
    assert (rated.rate, rated.mirror, stolen.mirror) == (50, None, "ids")


def test_rules_are_called_by_their_names_or_by_what_they_match() -> None:
    named, plain, whatever = rules(
        """
        - {name: no-rogue-dhcp, match: {udp_src: 67}, action: drop}
        - {match: {tcp_established: true, vlan: lab}, action: allow}
        - {action: drop}
        """
    )
    assert (named.name, named.about) == ("no-rogue-dhcp", "udp_src=67")
    assert (plain.name, whatever.name) == ("vlan=lab tcp_established", "any")


def faults(text: str) -> dict[tuple[str | int, ...], str]:
    models = {
        name: tuple(map(AclRuleSettings.model_validate, own))
        for name, own in yaml.safe_load(text).items()
    }
    with pytest.raises(FaultsError) as refused:
        acl_params(models, vid_of)
    return dict(refused.value.faults)  # type: ignore[arg-type]


def test_all_faults_of_all_lists_are_reported_at_once() -> None:
    problems = faults(
        """
        one:
        - {name: web, match: {ip_proto: tcp}, action: allow}
        - {match: {tcp_dst: 80, vlan: 7}, action: drop}
        - {name: web, match: {ip_proto: udp}, action: drop}
        two:
        - {match: {vlan: nowhere}, action: drop}
        three:
        - {action: drop}
        - {match: {eth_type: arp}, action: allow}
        """
    )
    assert problems == {
        (
            "one",
            1,
        ): "can never match: rule 1 (web) before it takes all it is for; move or remove it",
        ("one", 2, "name"): "'web' is the name of rule 1 already",
        ("two", 0, "match", "vlan"): "'nowhere' is not the name of a VLAN in `vlans`",
        (
            "three",
            1,
        ): "can never match: rule 1 (any) before it takes all it is for; move or remove it",
    }


def test_a_rule_is_hidden_by_several_together_but_not_by_a_part() -> None:
    both = "{match: {eth_type: ipv4}, action: drop}, {match: {eth_type: ipv6}, action: drop}"
    problems = faults(f"a: [{both}, {{match: {{tcp_dst: 80}}, action: allow}}]")
    assert problems[("a", 2)].startswith(
        "can never match: rule 1 (eth_type=ipv4), 2 (eth_type=ipv6)"
    )
    partly = "{match: {ip_src: 10.0.0.0/8}, action: drop}, {match: {tcp_dst: 80}, action: allow}"
    assert len(rules(f"[{partly}]")) == 2


def test_a_list_that_would_be_too_large_is_refused_before_it_is_made() -> None:
    problems = faults(
        "a: [{match: {tcp_src: 1-65534, tcp_dst: 1-65534, eth_type: ipv4}, action: drop},"
        " {match: {udp_src: 1-65534, udp_dst: 1-65534}, action: drop}]"
    )
    assert f"takes 2700 flows, and {MAX_FLOWS} are the most: rule 2 alone" in problems[("a",)]


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("[{match: {tcp_dst: 80}, action: allow}]", ["no ARP", "no neighbour discovery"]),
        ("[{match: {ip_src: 10.0.0.1}, action: allow}]", ["no ARP"]),
        (
            "[{match: {eth_type: arp}, action: allow}, {match: {ip_src: 10.0.0.1}, action: allow}]",
            [],
        ),
        ("[{match: {eth_type: ipv6}, action: allow}]", []),
        (
            "[{match: {state: established}, action: allow}]",
            ["no ARP", "no neighbour discovery"],  # which belongs to no connection
        ),
        ("[{match: {udp_src: 67}, action: drop}, {action: allow}]", []),
        ("[{action: drop}]", []),
    ],
)
def test_a_list_that_cuts_hosts_off_by_mistake_is_warned_of(
    written: str, missing: list[str]
) -> None:
    warnings = acl_warnings(rules(written))
    assert len(warnings) == len(missing)
    assert all(what in warning for what, warning in zip(missing, warnings, strict=True))


NEIGHBOURS = "{match: {eth_type: arp}, action: allow}, {match: {ip_proto: igmp}, action: drop}"


@pytest.mark.parametrize(
    ("inner", "warned"),
    [
        (f"[{NEIGHBOURS}, {{match: {{state: [new, established]}}, action: allow}}]", False),
        (f"[{NEIGHBOURS}, {{match: {{tcp_dst: 80}}, action: allow}}]", True),  # not tracked
        (f"[{NEIGHBOURS}, {{match: {{state: new}}, action: drop}}]", True),
        (f"[{NEIGHBOURS}, {{match: {{state: new, tcp_dst: 80}}, action: allow}}]", False),
    ],
)
def test_connections_that_can_never_begin_are_warned_of(inner: str, warned: bool) -> None:
    outer = rules(f"[{NEIGHBOURS}, {{match: {{state: established}}, action: allow}}]")
    warnings = [*state_warnings({"lan": rules(inner), "wan": outer})]
    assert [name for name, _ in warnings] == (["wan"] if warned else [])


def test_a_frame_is_in_one_state() -> None:
    """No two states fit any bits that the switch sets, and one fits each tracked frame."""
    for bits in range(0x40):
        fitting = [name for name, m in STATES.items() if bits & (m.mask or 0) == m.value]
        usual = bits & 0x20 and (bits & 0x17) in (0x01, 0x02, 0x04, 0x05, 0x06, 0x10)
        assert len(fitting) == 1 if usual else len(fitting) <= 1, (bin(bits), fitting)


@pytest.mark.parametrize("match", ["{}", "{eth_type: arp}", "{vlan: 7}"])
def test_a_dscp_is_for_ip_alone(match: str) -> None:
    with pytest.raises(FaultsError) as refused:
        rules(f"[{{match: {match}, set: {{dscp: 46}}}}]")
    ((path, what),) = refused.value.faults
    assert path == ("a", 0, "set", "dscp")
    assert "match eth_type: ipv4" in what
    assert [rule.dscp for rule in rules("[{match: {udp_dst: 5060}, set: {dscp: 46}}]")] == [46]


def test_a_pcp_is_for_any_frame() -> None:
    (rule,) = rules("[{match: {eth_type: arp}, set: {pcp: 5}}]")
    assert (rule.pcp, rule.dscp) == (5, None)
