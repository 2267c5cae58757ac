"""What was set at run time, when the file is read again: it stays where the file is as before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from ofapp.config import Config
from ofapp.config.bridge import Bridge
from ofapp.config.compare import carried, differences
from tests.unit.config.configs import PORTS, bridges
from tests.unit.config.test_warm_is_cold import QUICK

NUMBERS = {"eth1": 1, "eth2": 2}


def bridge(own: object) -> Bridge:
    return Config.model_validate({"bridges": {"1": own}}).bridge(1)


def after(filed: object, running: object, new: object) -> dict[str, Any]:
    return carried(bridge(filed), bridge(running), bridge(new), NUMBERS).shown()


@pytest.mark.parametrize(
    ("filed", "running", "new", "held"),
    [
        # something else in the file has changed
        ({}, {"stp": {"priority": 4096}}, {"ageing_time": 60}, None),
        ({}, {"stp": {"priority": 4096}}, {"stp": {"max_age": 10.0}}, None),
        ({"stp": {"enabled": False}}, {}, {"stp": {"enabled": False}, "ageing_time": 60}, None),
        # the same
        ({}, {"stp": {"priority": 4096}}, {"stp": {"priority": 8192}}, "new"),
        ({"stp": {"priority": 4096}}, {"stp": {"priority": 8192}}, {}, "new"),
        # what the file says now was said at run time before
        ({}, {"stp": {"priority": 4096}}, {"stp": {"priority": 4096}}, "new"),
        # values that do not go together: the file's
        (
            {},
            {"stp": {"forward_delay": 4.0, "max_age": 6.0}, "ageing_time": 60},
            {"stp": {"max_age": 8.0}},
            {"stp": {"max_age": 8.0}, "ageing_time": 60},
        ),
    ],
)
def test_it_stays_unless_the_file_has_changed_it(
    filed: Any, running: Any, new: Any, held: Any
) -> None:
    if held is None:
        mine = dict(running) if running else {"stp": {"enabled": True}}
        held = {key: {**new.get(key, {}), **own} for key, own in mine.items()}
        held = {**new, **held}
    elif held == "new":
        held = new
    assert after(filed, running, new) == bridge(held).shown()


def test_a_port_with_values_from_a_pattern_keeps_only_what_was_set() -> None:
    filed = {"vlans": {10: {"name": "guests"}}, "ports": {"eth*": {"vlan": "guests"}}}
    own = {"eth1": {"vlan": "guests", "isolated": True}}
    running = {**filed, "ports": {**filed["ports"], **own}}
    assert [*differences(bridge(filed), bridge(running), NUMBERS)] == ["ports.eth1.isolated"]
    new = {**filed, "ports": {"eth*": {"vlan": "guests", "bcast_flood": False}}}
    held = carried(bridge(filed), bridge(running), bridge(new), NUMBERS)
    port = held.port("eth1", 1)
    assert (port.isolated, port.bcast_flood, port.vlan.access) == (True, False, "guests")
    assert not held.port("eth2", 2).isolated


def test_a_port_that_the_file_gives_by_its_number() -> None:
    filed, new = {"ports": {"1": {"learning": False}}}, {"ports": {"1": {"sticky": True}}}
    running = {"ports": {**filed["ports"], "eth1": {"learning": False, "isolated": True}}}
    port = carried(bridge(filed), bridge(running), bridge(new), NUMBERS).port("eth1", 1)
    assert (port.learning, port.sticky, port.isolated) == (True, True, True)


def test_a_list_or_a_vlan_that_the_file_has_no_more_takes_what_needs_it_along() -> None:
    filed = {"acls": {"web": [{"action": "allow"}]}, "vlans": {10: {"name": "lab"}}}
    running = {**filed, "ports": {"eth1": {"acl": "web"}, "eth2": {"vlan": "lab"}}}
    new = {"vlans": {10: {"name": "lab"}}}
    held = carried(bridge(filed), bridge(running), bridge(new), NUMBERS)
    assert held.shown() == bridge({**new, "ports": {"eth2": {"vlan": "lab"}}}).shown()


def set_since(filed: dict[str, Any], wish: dict[str, Any]) -> dict[str, Any]:
    """What can be set at run time of a wish: ports by their names, and protocols."""
    named = {name: own for name, own in wish["ports"].items() if name in ("eth1", "eth2", "eth3")}
    protocols = {key: wish[key] for key in ("stp", "multicast")}
    return {**filed, **protocols, "ports": {**filed["ports"], **named}}


@settings(phases=QUICK)
@given(bridges())
def test_a_bridge_is_the_same_when_it_has_been_kept(own: dict[str, Any]) -> None:
    whole = bridge(own)
    assert Bridge.model_validate(json.loads(json.dumps(whole.values()))) == whole


@settings(max_examples=15, phases=QUICK)
@given(bridges(), bridges(), bridges())
def test_whatever_is_carried_is_valid_and_not_what_the_file_has_changed(
    filed: dict[str, Any], wish: dict[str, Any], new: dict[str, Any]
) -> None:
    old, mine, file = bridge(filed), bridge(set_since(filed, wish)), bridge(new)
    held = carried(old, mine, file, NUMBERS)
    held.params()
    own = differences(file, held, NUMBERS).keys()
    assert own <= differences(old, mine, NUMBERS).keys()
    assert not own & differences(old, file, NUMBERS).keys()
    assert carried(old, old, file, NUMBERS) is file
    again, wanted = carried(old, mine, old, NUMBERS).params(), mine.params()
    for number, name in enumerate(PORTS, 1):
        assert again.port(name, number) == wanted.port(name, number)
    assert replace(again, ports={}, numbered={}) == replace(wanted, ports={}, numbered={})
