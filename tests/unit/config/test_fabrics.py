"""The section `fabrics`: what the core gets of it, and every mistake once."""

from __future__ import annotations

import re
import textwrap

import pytest

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.config import Config, ConfigError, parse_config
from ofapp.config.model import json_schema

RING = """
fabrics:
  pod:
    number: 7
    members:
      s1: {bridge: "00000000000000a1", links: [fab1, "fab-*"]}
      s2: {bridge: 00000000000000a2, links: [fab1, fab2]}
      s3: {bridge: "0xa3", links: ["fab?"]}
    cables:
      - [s1/fab1, s2/fab1]
      - [s2/fab2, s3/fab1]
    costs: {s1/fab1: 10}
    mtu: 9000
bridges:
  pod:
    ports:
      s1/eth0: {isolated: true}
      "*/vnet*": {isolated: true}
      LOCAL: {isolated: false}
      bond: {}
    lags: {bond: {members: [s1/eth4, s2/eth4]}}
    static: [{mac: "02:00:00:00:00:01", port: s3/eth1}]
"""


def parsed(text: str) -> Config:
    return parse_config(textwrap.dedent(text).encode(), "f")


def refusal(text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parsed(text)
    return [f"{fault.path}: {fault.what}" for fault in refused.value.faults]


def test_the_core_gets_numbers_for_members_by_their_order() -> None:
    config = parsed(RING)
    members = (
        MemberParams("s1", 0xA1, ("fab1", "fab-*")),
        MemberParams("s2", 0xA2, ("fab1", "fab2")),
        MemberParams("s3", 0xA3, ("fab?",)),
    )
    cables = (("s1/fab1", "s2/fab1"), ("s2/fab2", "s3/fab1"))
    assert config.fabric_params() == (
        FabricParams("pod", 7, members, cables, {"s1/fab1": 10}, 9000),
    )
    assert config.fabric_params()[0].datapath_id == 0xA1


def test_the_bridge_has_the_settings_under_the_fabric_s_name() -> None:
    config = parsed(RING)
    params = config.bridge(0xA1, "pod").params()
    assert params.port("s1/eth0", 5).policy.isolated
    assert params.port("s2/vnet3", 6).policy.isolated
    assert not params.port("s2/eth0", 7).policy.isolated
    assert params.lags["bond"].members == ("s1/eth4", "s2/eth4")


def test_defaults_may_name_ports_that_no_fabric_has() -> None:
    defaults = "defaults: {ports: {'tap*': {isolated: true}, eth0: {isolated: true}}}\n"
    params = parsed(defaults + RING).bridge(0xA1, "pod").params()
    assert not params.port("s1/tap0", 5).policy.isolated


def test_a_switch_outside_with_the_fabric_s_name_has_none_of_it() -> None:
    config = parsed(RING)
    assert config.bridge(0xB1, "pod") == Config().bridge(0xB1)
    assert not config.names_bridges


def test_the_settings_of_the_bridge_stay_when_its_first_member_has_left() -> None:
    config = parsed("""
        fabrics:
          pod:
            members:
              s1: {bridge: "0xa1", links: [fab*], left: true}
              s2: {bridge: "0xa2", links: [fab*]}
              s3: {bridge: "0xa3", links: [fab*]}
        bridges:
          pod: {ageing_time: 77}
    """)
    assert config.fabric_params()[0].datapath_id == 0xA1
    assert config.bridge(0xA1, "br7").ageing_time == 77
    assert config.bridge(0xA2, "br8").ageing_time != 77
    assert [config.role(switch) for switch in (0xA1, 0xA2, 0xB1)] == ["pod", "pod/s2", ""]


def test_a_file_without_fabrics_has_none() -> None:
    assert parsed("watch: true").fabric_params() == ()


def test_the_number_is_one_where_none_is_given() -> None:
    config = parsed(
        "fabrics: {a: {members: {s: {bridge: 1, links: [x]}, t: {bridge: 2, links: []}}}}"
    )
    assert config.fabric_params()[0].number == 1


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("number: 7", "number: 256", "fabrics.pod.number: must be a whole number from 0 .*256"),
        ("mtu: 9000", "mtu: 9", "fabrics.pod.mtu: must be a whole number from 1280 to .*"),
        ("  pod:\n    number", "  1pod:\n    number", ".*'1pod' cannot be such a name: .*"),
        (
            's1: {bridge: "00000000000000a1"',
            's1: {left: true, bridge: "00000000000000a2"',
            ".*s2.bridge: 00000000000000a2 is the switch of pod.s1 already",
        ),
        ('"00000000000000a1"', "br0", ".*s1.bridge: br0 is the name of a bridge: write its .*"),
        ('"00000000000000a1"', "00000000000001e5", ".*s1.bridge: must be .*, in quotes"),
        (
            '"00000000000000a1"',
            '"0xa3"',
            ".*s3.bridge: 00000000000000a3 is the switch of pod.s1 .*",
        ),
        ('[fab1, "fab-*"]', '["*"]', r".*s1.links.0: \* fits every port, .*"),
        ('[fab1, "fab-*"]', "[s1/fab1]", ".*s1.links.0: 's1/fab1' is no name of a port of a .*"),
        ('[fab1, "fab-*"]', "[LOCAL, fab1]", ".*s1.links.0: LOCAL is no name of a port that .*"),
        ("[s1/fab1, s2/fab1]", "[s1/fab1]", "fabrics.pod.cables.0: must .*"),
        ("[s1/fab1, s2/fab1]", "[s7/fab1, s2/fab1]", ".*cables.0.0: there is no member s7: .*"),
        ("[s1/fab1, s2/fab1]", "[fab1, s2/fab1]", ".*cables.0.0: fab1 is no port of a fabric, .*"),
        ("[s1/fab1, s2/fab1]", "[s1/eth1, s2/fab1]", ".*cables.0.0: eth1 is not among the links.*"),
        ("[s1/fab1, s2/fab1]", "[s1/fab1, s1/fab-2]", ".*cables.0: both ends are at one member.*"),
        ("[s1/fab1, s2/fab1]", "[s1/fab1, s3/fab1]", ".*cables.1.1: s3/fab1 has a cable already.*"),
        ("{s1/fab1: 10}", "{s1/fab1: 0}", ".*costs.s1/fab1: must be a whole number from 1 .*"),
        ("{s1/fab1: 10}", "{s4/fab1: 5}", ".*costs.s4/fab1: there is no member s4: .*"),
        ("{s1/fab1: 10}", "{s1/fab1: 5, s2/fab1: 6}", ".*costs.s2/fab1: the two ends of a .*"),
        ("s1/eth0:", "s9/eth0:", "bridges.pod.ports.s9/eth0: there is no member s9: .*"),
        ("s1/eth0:", "eth0:", "bridges.pod.ports.eth0: eth0 is no port of a fabric, .*s1/eth0"),
        ("s1/eth0:", "s1/fab1:", "bridges.pod.ports.s1/fab1: s1/fab1 is a link of fabric pod.*"),
        ('"*/vnet*"', '"vnet*"', r"bridges.pod.ports.vnet\*: .* write \*/vnet\* for all .*"),
        ("s2/eth4", "s4/eth4", "bridges.pod.lags.bond.members.1: there is no member s4: .*"),
        ("s3/eth1", "s4/eth1", "bridges.pod.static.0.port: there is no member s4: .*"),
        (
            "    lags:",
            "    mirrors: {spy: {to: s1/span, both: [s1/eth0, s2/eth0]}}\n    lags:",
            "bridges.pod.mirrors.spy.both: s2/eth0 has frames at s2, and s1/span is .* of s1: .*",
        ),
        (
            "    lags:",
            "    mirrors: {spy: {to: s1/span, both: [bond]}}\n    lags:",
            "bridges.pod.mirrors.spy.both: bond has frames at s2, and .* a separate mirror",
        ),
        (
            "    lags:",
            "    mirrors: {spy: {to: s2/span, ingress: all}}\n    lags:",
            "bridges.pod.mirrors.spy.ingress: .* name the ports of s2, not all",
        ),
        (
            '"*/vnet*": {isolated: true}',
            '"*/vnet*": {acl: a}\n    acls: {a: [{match: {state: new}, action: allow}]}\n    x:',
            "bridges.pod.acls.a.0.match.state: each switch tracks .* use tcp_established",
        ),
        (
            '"*/vnet*": {isolated: true}',
            '"*/vnet*": {isolated: true}\n    vlans: {7: {arp_suppress: true}}\n    x:',
            "bridges.pod.vlans.7.arp_suppress: only one member knows .* leave out arp_suppress .*",
        ),
        (
            '"*/vnet*": {isolated: true}',
            '"*/vnet*": {acl: a}\n    acls: {a: [{mirror: s1/span, action: allow}]}\n    x:',
            "bridges.pod.acls.a.0.mirror: .* has frames at s2, and s1/span is a port of s1: .*",
        ),
        ("bond: {}", "s1/a/b: {}", ".*'s1/a/b' is not a port's name, number or pattern"),
        ("bond: {}", "s1/sixteen-letters-: {}", ".* is too long for a port's name: at most 15"),
        (
            "bridges:\n",
            "bridges:\n  00000000000000a2: {}\n",
            "bridges.00000000000000a2: this switch is a member of fabric pod: .*",
        ),
        (
            "bridges:\n",
            "bridges:\n  br1: {ports: {s1/eth0: {}}}\n",
            "bridges.br1.ports.s1/eth0: s1/eth0 would be a port of a fabric, .*",
        ),
        (
            "fabrics:\n",
            "fabrics:\n  b: {number: 7, members: {t: {bridge: 1, links: [x]},"
            " u: {bridge: 2, links: [x]}}}\n",
            "fabrics.pod.number: 7 is the number of b: give it another",
        ),
        (
            "fabrics:\n",
            "fabrics:\n  b: {members: {t: {bridge: 1, links: [x]}}}\n",
            "fabrics.b.members: must have 2 to 254 members, not 1",
        ),
    ],
)
def test_mistakes(old: str, new: str, fault: str) -> None:
    found = refusal(RING.replace(old, new, 1))
    assert any(re.fullmatch(fault, one) for one in found), found


def test_the_schema_has_them() -> None:
    schema = json_schema()
    assert schema["properties"]["fabrics"]["additionalProperties"] == {"$ref": "#/$defs/Fabric"}
