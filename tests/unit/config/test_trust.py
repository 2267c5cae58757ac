"""The word trust: what it sets, what lies above it, and what is warned of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ofapp.bridge.params.params import PortParams
from ofapp.config import Config
from ofapp.config.bridge import Bridge
from ofapp.config.compare import carried, differences
from ofapp.config.port import PortSection
from ofapp.config.trust import PRESETS

WORDS = [*PRESETS]


def config(own: object, defaults: object = None) -> Config:
    return Config.model_validate({"defaults": defaults, "bridges": {"1": own}})


def bridge(own: object, defaults: object = None) -> Bridge:
    return config(own, defaults).bridge(1)


def port(ports: object, name: str = "vnet3") -> PortParams:
    return bridge({"ports": ports}).params().port(name)


def test_a_guest_has_all_parts_and_other_ports_have_none() -> None:
    guest, other = (port({"vnet*": {"trust": "guest"}}, name) for name in ("vnet3", "eth0"))
    checked = guest.first_hop
    assert (checked.source_guard, checked.arp_inspection, checked.nd_inspection) == ("ip", 1, 1)
    assert (checked.dhcp_server, checked.router) == (False, False)
    assert (checked.ethertypes, other.first_hop.ethertypes) == ("ip", "all")
    assert checked.max_bindings < other.first_hop.max_bindings
    assert guest.stp.bpdu_guard
    assert guest.stp.admin_edge
    assert None not in vars_of(guest.policy.storm)
    assert other == PortParams()


def vars_of(storm: object) -> list[object]:
    return [getattr(storm, name) for name in ("broadcast", "multicast", "unknown_unicast")]


def test_what_only_learns_does_not_act() -> None:
    learn, guest = (port({"tap*": {"trust": word}}, "tap7") for word in ("learn", "guest"))
    assert learn.first_hop == guest.first_hop
    assert not learn.stp.bpdu_guard
    assert vars_of(learn.policy.storm) == [None, None, None]


@pytest.mark.parametrize(
    "ports",
    [
        {"vnet3": {"trust": "guest", "first_hop": {"arp_inspection": False}}},
        {"vnet3": {"trust": "guest"}, "vnet*": {"first_hop": {"arp_inspection": False}}},
        {"vnet3": {"first_hop": {"arp_inspection": False}}, "vnet*": {"trust": "guest"}},
    ],
)
def test_a_part_that_is_given_lies_above_wherever_it_is_given(ports: Any) -> None:
    own = port(ports)
    assert (own.trust, own.first_hop.arp_inspection, own.first_hop.source_guard) == (
        *("guest", False, "ip"),
    )


def test_parts_in_defaults_lie_above_too() -> None:
    own = bridge(
        {"ports": {"vnet*": {"trust": "guest"}}},
        {"ports": {"vnet*": {"storm": {"broadcast": None, "multicast": 7}}}},
    )
    assert vars_of(own.params().port("vnet1").policy.storm) == [None, 7, 2000]


def test_a_port_with_another_word_has_none_of_its_patterns_parts() -> None:
    assert port({"vnet*": {"trust": "guest"}, "vnet3": {"trust": "uplink"}}) == PortParams(
        trust="uplink"
    )


parts = st.fixed_dictionaries(
    {},
    optional={
        "trust": st.sampled_from(WORDS),
        "isolated": st.booleans(),
        "storm": st.fixed_dictionaries({}, optional={"broadcast": st.sampled_from([None, 9, 500])}),
        "stp": st.fixed_dictionaries({}, optional={"bpdu_guard": st.booleans()}),
        "first_hop": st.fixed_dictionaries(
            {},
            optional={
                "source_guard": st.sampled_from(["off", "mac", "ip"]),
                "router": st.booleans(),
                "max_bindings": st.sampled_from([16, 64, 65]),
            },
        ),
    },
)
bridges = st.dictionaries(
    st.sampled_from(["*", "*3", "vnet*", "vnet1*", "vnet3", "vnet13", "eth0", "LOCAL"]), parts
)


@settings(max_examples=50)
@given(bridges)
def test_what_is_shown_is_a_file_with_the_same_meaning(ports: Any) -> None:
    own = bridge({"ports": ports})
    shown = own.shown()
    assert bridge(shown).params() == own.params()
    assert bridge(shown).shown() == shown


def test_what_is_shown_has_the_word_and_not_its_parts() -> None:
    given = {
        "vnet*": {"trust": "guest"},
        "vnet3": {"stp": {"bpdu_guard": False}},
        "eth0": {"trust": "uplink"},
    }
    assert bridge({"ports": given}).shown()["ports"] == given


changes = st.dictionaries(
    st.sampled_from(["vnet3", "vnet13", "eth0"]),
    st.fixed_dictionaries(
        {}, optional={"trust": st.sampled_from(WORDS), "isolated": st.booleans()}
    ),
)


@settings(max_examples=50)
@given(bridges, changes)
def test_what_was_set_at_run_time_stays_when_the_file_is_read_again(old: Any, made: Any) -> None:
    filed, again = bridge({"ports": old}), bridge({"ports": old, "ageing_time": 20})
    named = {name: filed.port(name, -1).changed(values) for name, values in made.items()}
    running = filed.model_copy(update={"ports": {**filed.ports, **named}})
    after = carried(filed, running, again)
    for name in ("vnet3", "vnet13", "vnet1", "eth0"):
        assert after.port(name, -1) == running.port(name, -1)


def test_a_change_of_the_word_is_one_difference() -> None:
    old, new = (bridge({"ports": {"vnet*": {"trust": word}}}) for word in ("guest", "learn"))
    assert [*differences(old, new).values()] == ["ports.vnet*.trust: guest -> learn"]


def test_taking_back_a_part_is_a_difference() -> None:
    guest = {"trust": "guest"}
    old, new = (
        bridge({"ports": {"vnet*": guest | more}}) for more in ({}, {"storm": {"broadcast": None}})
    )
    assert [*differences(old, new).values()] == [
        "ports.vnet*.storm.broadcast: default -> none",
    ]


def test_the_files_word_takes_its_parts_along() -> None:
    """A port that became a guest at run time, and that the file then calls an uplink."""
    running = bridge({"ports": {"vnet*": {}, "vnet3": {"trust": "guest"}}})
    filed, new = bridge({"ports": {"vnet*": {}}}), bridge({"ports": {"vnet*": {"trust": "uplink"}}})
    after = carried(filed, running, new)
    assert after.params().port("vnet3") == PortParams(trust="uplink")


@pytest.mark.parametrize("before", WORDS)
@pytest.mark.parametrize("word", WORDS)
def test_the_word_at_run_time_sets_what_it_sets_in_the_file(before: str, word: str) -> None:
    own = bridge({"ports": {"a": {"trust": before, "isolated": True}}}).port("a", 1)
    assert own.changed({"trust": word}) == bridge(
        {"ports": {"a": {"trust": word, "isolated": True}}}
    ).port("a", 1)


def test_parts_that_were_set_otherwise_stay_at_run_time() -> None:
    own = PortSection.model_validate({"storm": {"broadcast": 9}}).changed({"trust": "guest"})
    assert vars_of(own.storm) == [9, 2000, 2000]
    assert vars_of(own.changed({"trust": "none"}).storm) == [9, None, None]


def warnings(own: object) -> list[str]:
    return [each.partition(".ports.")[2] for each in config(own).warnings()]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"ports": {"vnet*": {"trust": "guest"}, "eth0": {"trust": "uplink"}}}, []),
        ({"ports": {"LOCAL": {"trust": "guest"}}}, ["LOCAL: LOCAL is the switch's own host"]),
        (
            {"ports": {"vnet*": {"trust": "learn", "vlan": {"trunk": "all"}}}},
            ["vnet*: a guest that is a trunk of all VLANs"],
        ),
        ({"ports": {"*": {"trust": "guest"}}}, ["*: all ports are guests"]),
        (
            {"ports": {"*": {"trust": "guest"}, "eth0": {"trust": "uplink"}}},
            ["*: the switch's own port is a guest, too"],
        ),
        (
            {
                "ports": {"*": {"trust": "guest"}, "eth0": {"trust": "none"}},
                "stp": {"enabled": False},
            },
            ["*: spanning tree is off here", "*: the switch's own port"],
        ),
        (
            {
                "ports": {"eth*": {"trust": "guest"}},
                "lags": {"bond": {"members": ["eth0", "eth1"]}},
            },
            ["bond: eth0, eth1 fit a pattern for guests"],
        ),
    ],
)
def test_what_was_probably_not_meant_is_warned_of(own: object, expected: list[str]) -> None:
    given = warnings(own)
    assert len(given) == len(expected)
    assert all(one.startswith(start) for one, start in zip(given, expected, strict=True)), given


def test_off_without_quotes_is_off() -> None:
    """YAML 1.1 reads it as false."""
    off = {"trust": "guest", "first_hop": {"source_guard": False}}
    assert port({"vnet3": off}).first_hop.source_guard == "off"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("all", "all"),
        ("ip", "ip"),
        (["ip", "pppoe"], "ip,pppoe"),
        ("ip,0x88B5", "ip,0x88B5"),
        (0x88CC, "0x88cc"),
        ([0x600, "arp"], "0x0600,arp"),
    ],
)
def test_ethertypes_are_names_and_numbers_also_as_a_list(given: object, words: str) -> None:
    assert port({"vnet3": {"first_hop": {"ethertypes": given}}}).first_hop.ethertypes == words


@pytest.mark.parametrize(
    "given", [0, 0x5FF, 0x10000, True, [], "", "ip,", "all,ip", ["all", "ip"], "tcp", "0x5ff", [[]]]
)
def test_other_ethertypes_are_refused(given: object) -> None:
    with pytest.raises(ValidationError, match="ethertypes"):
        port({"vnet3": {"first_hop": {"ethertypes": given}}})
