"""Aggregations in the file: what they come to, how they are shown, compared and carried over."""

from __future__ import annotations

import re

import pytest
import yaml

from ofapp.bridge.lag.params import LagParams
from ofapp.common.yaml_text import yaml_text
from ofapp.config import Config, ConfigError, parse_config
from ofapp.config.bridge import Bridge
from ofapp.config.compare import carried, differences
from ofapp.config.loss import extent, missing
from ofapp.config.model import json_schema

BOTH = ("eth0", "eth1")


def bridge(text: str) -> Bridge:
    """Bridge br0 with this in its section."""
    return parse_config(f"bridges: {{br0: {{{text}}}}}".encode(), "f").bridge(1, "br0")


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        bridge(text)
    (fault,) = refused.value.faults
    return str(fault)


def test_the_core_gets_what_the_file_says() -> None:
    own = bridge(
        "lags: {lag0: {members: [eth0, eth1], lacp: passive, rate: fast, hash: layer3+4,"
        " min_links: 2, max_links: 4, system_priority: 1, port_priority: 2, fallback: on}},"
        " ports: {lag0: {vlan: {trunk: all}}}"
    )
    wanted = LagParams(BOTH, "passive", "fast", "layer3+4", 2, 4, 1, 2, True)
    assert own.params().lags == {"lag0": wanted}
    assert own.params().port("lag0").vlans.tagged
    assert bridge("lags: {a: {members: [eth0]}}").params().lags == {"a": LagParams(("eth0",))}


@pytest.mark.parametrize("word", ["off", "'off'", "no"])
def test_a_bare_off_is_a_static_aggregation(word: str) -> None:
    own = bridge(f"lags: {{lag0: {{members: [eth0], lacp: {word}}}}}")
    assert own.lags["lag0"].lacp == "off"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("lags: {a: {}}", r"1:\d+: bridges.br0.lags.a: members is missing"),
        ("lags: {a: {members: []}}", ".*members: must be 1 to 32 names of ports, not 0"),
        ("lags: {a: {members: eth0}}", '.*: must be a list, as in .eth0., not "eth0"'),
        (
            "lags: {a: {members: 'a1,a2'}}",
            r'.*members: must be a list, as in \[a1, a2\], not "a1,a2"',
        ),
        ("lags: {a: {members: [eth0, eth0]}}", ".*members: has 'eth0' more than once"),
        ("lags: {a: {members: [eth*]}}", r".*members.0: 'eth\*' is a pattern, .*: name .* by one"),
        ("lags: {a: {members: [LOCAL]}}", ".*members.0: LOCAL is the bridge's own port, .*"),
        ("lags: {a: {members: [br0]}}", r".*members.0: br0 is the bridge's own port \(LOCAL\).*"),
        ("lags: {br0: {members: [eth0]}}", ".*lags.br0: br0 is the name of the bridge's own .*"),
        (
            "lags: {a: {members: [eth0]}, b: {members: [eth1, eth0]}}",
            r"f:1:\d+: bridges.br0.lags.b.members.1: eth0 is a member of a already",
        ),
        ("lags: {a: {members: [a]}}", ".*members.0: a is itself: members are ports"),
        (
            "lags: {a: {members: [b]}, b: {members: [eth0]}}",
            ".*lags.a.members.0: b is an aggregation, too: members are ports",
        ),
        ("lags: {7: {members: [eth0]}}", ".*lags.7: 7 means a port already: .*"),
        ("lags: {LOCAL: {members: [eth0]}}", ".*lags.LOCAL: LOCAL means a port already: .*"),
        ("lags: {a*: {members: [eth0]}}", r".*lags.a\*: 'a\*' is a pattern: .*"),
        ("lags: {sixteen-letters-: {members: [eth0]}}", ".* is too long for a port's name: .*15"),
        ("lags: {a: {members: [sixteen-letters-]}}", ".* is too long for a port's name: .*15"),
        ("lags: {a: {member: [eth0], members: [b]}}", ".* no such key: did you mean members.?"),
        ("lags: {a: {members: [b], lacp: on}}", ".*lacp: must be active, passive or off, not true"),
        ("lags: {a: {members: [b], rate: 1}}", ".*rate: must be slow or fast, not 1"),
        ("lags: {a: {members: [b], min_links: 0}}", ".*: must be a whole number from 1 to 8, .*"),
        (
            "lags: {a: {members: [b, c, d], min_links: 3, max_links: 2}}",
            ".*lags.a.min_links: must be at most max_links, which is 2, not 3",
        ),
        (
            "lags: {a: {members: [b], min_links: 2}}",
            ".*lags.a.min_links: is 2, more than there are members .1.: it could never be up",
        ),
        (
            "lags: {a: {members: [eth0]}}, ports: {eth0: {vlan: 5}}",
            r".*br0.ports.eth0: eth0 is a member of a, which is one port of the bridge: write a",
        ),
        (
            "lags: {a: {members: [eth0]}}, static: [{mac: 52:54:00:00:00:01, port: eth0}]",
            ".*static.0.port: eth0 is a member of a, .*",
        ),
        (
            "lags: {a: {members: [eth0]}}, mdb: [{group: 239.1.1.1, port: eth0}]",
            ".*mdb.0.port: eth0 is a member of a, .*",
        ),
        (
            "lags: {a: {members: [eth0]}}, mirrors: {m: {to: eth2, ingress: eth0}}",
            ".*mirrors.m.ingress: eth0 is a member of a, .*",
        ),
        (
            "lags: {a: {members: [eth0]}}, acls: {x: [{name: r, mirror: eth0}]}",
            ".*acls.x.0.mirror: eth0 is a member of a, .*",
        ),
    ],
)
def test_one_mistake(text: str, fault: str) -> None:
    said = refusal(text)
    assert re.fullmatch(fault if fault.startswith(("f:", ".")) else f"f:{fault}", said), said


def test_what_is_shown_makes_the_same_again() -> None:
    own = bridge(
        "lags: {lag0: {members: [eth0, eth1], lacp: off, min_links: 2}},"
        " ports: {eth*: {isolated: true}, lag0: {vlan: 7}}"
    )
    text = yaml_text(own.shown())
    again = Config.model_validate({"bridges": {"br0": yaml.safe_load(text)}}).bridge(1, "br0")
    assert again.params() == own.params()
    assert own.shown()["lags"] == {
        "lag0": {"members": ["eth0", "eth1"], "lacp": "off", "min_links": 2}
    }


def test_differences_are_reported_member_by_member() -> None:
    old = bridge("lags: {lag0: {members: [eth0, eth1]}}")
    new = bridge("lags: {lag0: {members: [eth1, eth2], rate: fast}}")
    assert [*differences(old, new).values()] == [
        "lags.lag0.members: - eth0 + eth2",
        "lags.lag0.rate: default -> fast",
    ]
    assert [*differences(old, bridge("")).values()] == ["lags.lag0.members: - eth0 - eth1"]


def test_what_was_set_at_run_time_is_carried_over_a_reload() -> None:
    filed = bridge("lags: {a: {members: [eth0]}, b: {members: [eth1]}}")
    fast = {name: lag.changed({"rate": "fast"}) for name, lag in filed.lags.items()}
    running = filed.model_copy(update={"lags": fast})
    after = carried(filed, running, bridge("lags: {a: {members: [eth0, eth2]}}"))
    assert after.lags["a"].params() == LagParams(("eth0", "eth2"), rate="fast")
    assert [*after.lags] == ["a"]  # what is gone from the file does not come back


def test_a_file_without_its_aggregations_looks_cut() -> None:
    members = ", ".join(f"eth{number}" for number in range(10))
    whole = parse_config(
        f"bridges: {{br0: {{lags: {{a: {{members: [{members}]}}}}}}}}".encode(), ""
    )
    cut = parse_config(b"bridges: {br0: {ageing_time: 20}}", "")
    assert missing(extent(whole), extent(cut)) is not None


def test_the_schema_knows_them() -> None:
    lag = json_schema()["$defs"]["Lag"]["properties"]
    assert lag["members"]["items"]["type"] == "string"
    assert lag["lacp"]["enum"] == ["active", "passive", "off"]
    assert (lag["min_links"]["minimum"], lag["min_links"]["maximum"]) == (1, 8)


def test_an_aggregation_in_a_pattern_for_controlled_ports_is_warned_of() -> None:
    text = "lags: {bond: {members: [eth0]}}, ports: {b*: {port_access: {authentication: mab}}%s}"

    def warned(more: str) -> list[str]:
        return parse_config(f"bridges: {{br0: {{{text % more}}}}}".encode(), "f").warnings()

    (warning,) = warned("")
    assert warning.startswith("bridges.br0.ports.bond: bond fits a pattern with authentication mab")
    assert warned(", bond: {port_access: {authentication: off}}") == ()
    text = text.replace("b*", "eth*")
    (warning,) = warned("")
    assert "eth0 fits a pattern with authentication mab, but is a member of bond" in warning
    assert warned(", bond: {port_access: {authentication: off}}") == ()
    text = text.replace("eth*", "b*")
    for inherited in (", bond: {vlan: 5}", ", bond: {port_access: {authentication: mab}}"):
        refused = "bond.port_access.authentication: bond is an aggregation, .*: leave it off"
        assert re.search(refused, refusal(text % inherited))
