"""The doctor on aggregations: each mismatch is found, at the member that has it, with a cure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.host_setup.diagnose import diagnose
from ofapp.host_setup.diagnose_controller import ControllerReport
from ofapp.host_setup.finding import Finding
from ofapp.host_setup.ovsdb import _end
from ofapp.host_setup.state import Bond, BridgePort, End, Host
from tests.unit.host_setup.test_diagnose import GOOD, ID, healthy, uplink

IN_USE = ("activity", "aggregation", "synchronization", "collecting", "distributing")
SWITCH, OTHER = "00:00:5e:00:53:01", "00:00:5e:00:53:02"


def partner(**values: Any) -> dict[str, Any]:
    return {"system": SWITCH, "key": 7, "port": 1, "state": IN_USE} | values


def member(name: str, **values: Any) -> dict[str, Any]:
    """As the API tells of one that is in use."""
    answer = {
        **{"name": name, "number": 1, "link": True, "state": "distributing", "reason": ""},
        **{"distributing": True, "actor": {"state": IN_USE}, "partner": partner()},
    }
    return answer | values


def lag(*members: dict[str, Any], **values: Any) -> ControllerReport:
    """The controller's view of lag0."""
    answer = {"name": "lag0", "lacp": "active", "up": True, "min_links": 1, "members": members}
    return replace(GOOD, lags={ID: [answer | values]})


def bonded(*ports: BridgePort) -> Host:
    """br0 with eth0, eth1 and what differs."""
    seen = healthy(uplink())
    (bridge,) = seen.switch.bridges
    known = {port.name: port for port in (_port("eth0"), _port("eth1"), *ports)}
    bridge = replace(bridge, ports=tuple(known.values()))
    eth1 = replace(uplink(), state=replace(uplink().state, name="eth1"), index=3)
    switch = replace(seen.switch, bridges=(bridge,))
    return replace(seen, links=(*seen.links, eth1), switch=switch)


def _port(name: str, speed: int = 10**10, half_duplex: bool = False, **more: Any) -> BridgePort:
    return BridgePort(name, number=1, mtu=1500, ends=(End(name, speed, half_duplex),), **more)


def slow(half_duplex: bool) -> Host:
    """eth1 has 10 Gbit/s by ethtool, and half duplex by Open vSwitch's database."""
    seen = bonded(_port("eth1", 10**9, half_duplex=True))
    links = tuple(
        replace(link, speed_mbps=10_000, half_duplex=half_duplex) if link.name == "eth1" else link
        for link in seen.links
    )
    return replace(seen, links=links)


def texts(findings: Iterable[Finding]) -> list[str]:
    return [f"{one.where}: {one.problem}; {one.fix}" for one in findings]


ETH0, ETH1 = member("eth0"), member("eth1", partner=partner(port=2))


def test_nothing_is_wrong_with_a_good_one() -> None:
    assert diagnose(bonded(), lag(ETH0, ETH1)) == ()
    assert diagnose(bonded(), lag(*(replace_lacp(one) for one in (ETH0, ETH1)), lacp="off")) == ()


def test_the_database_is_not_believed_where_ethtool_says_otherwise() -> None:
    assert diagnose(slow(half_duplex=False), lag(ETH0, ETH1)) == ()


@pytest.mark.parametrize(
    ("speed", "half"), [(10**9, True), (25 * 10**9, False), (2_500 * 10**6, False)]
)
def test_half_duplex_is_believed_at_speeds_that_open_vswitch_knows(speed: int, half: bool) -> None:
    row: Any = SimpleNamespace(name="eth0", link_speed=[speed], duplex=["half"])
    assert _end(row) == End("eth0", speed, half)


def replace_lacp(one: dict[str, Any]) -> dict[str, Any]:
    """As a member of a static one: it has no partner."""
    return one | {"actor": None, "partner": None}


ALONE = {"actor": {"state": ("activity", "aggregation", "defaulted")}, "distributing": False}
SILENT = member("eth1", state="defaulted", reason="no partner", **ALONE)
BOND0 = BridgePort(
    "bond0", number=5, bond=Bond(("m1", "m2"), "balance-slb"), ends=(End("m1"), End("m2"))
)

ILL: dict[str, tuple[Host, ControllerReport, str, str]] = {
    "another switch": (
        bonded(),
        lag(ETH0, member("eth1", partner=partner(system=OTHER))),
        f"eth1: is plugged into another system ({OTHER}) than most of lag0 ({SWITCH})",
        "plug it in there",
    ),
    "another key": (
        bonded(),
        lag(ETH0, member("eth1", partner=partner(key=8, port=2))),
        "eth1: the partner has it in another aggregation (key 8) than most of lag0 (key 7)",
        f"(port 2 of {SWITCH})",
    ),
    "no LACPDUs": (
        bonded(),
        lag(ETH0, SILENT),
        "eth1: its link is up and there is no LACP partner (lag0 is active)",
        "lag0: {lacp: off} where there is none",
    ),
    "both passive": (
        bonded(),
        lag(ETH0, SILENT, lacp="passive"),
        "eth1: its link is up and there is no LACP partner (lag0 is passive)",
        "lag0: {lacp: active}: two that are passive wait for each other",
    ),
    "not heard": (
        bonded(),
        lag(ETH0, member("eth1", partner=partner(state=("activity", "expired")))),
        "eth1: the partner is heard, and does not hear us",
        "01:80:c2:00:00:02",
    ),
    "not taken": (
        bonded(),
        lag(ETH0, member("eth1", distributing=False, reason="waits", partner=partner(state=()))),
        "eth1: the partner does not take it into use (waits)",
        "another key or speed",
    ),
    "half duplex by ethtool, which the database does not say": (
        slow(half_duplex=True),
        lag(ETH0, ETH1),
        "eth1: has half duplex (by ethtool)",
        "ethtool -s eth1 autoneg on",
    ),
    "half duplex": (
        bonded(_port("eth1", half_duplex=True)),
        lag(ETH0, ETH1),
        "eth1: has half duplex (by Open vSwitch)",
        "ethtool -s eth1 autoneg on",
    ),
    "speed": (
        bonded(_port("eth1", 10**9), _port("eth2")),
        lag(ETH0, ETH1, member("eth2", partner=partner(port=3))),
        "eth1: has 1000 Mbit/s (by Open vSwitch) and other members of lag0 10000",
        "ethtool eth1",
    ),
    "a bond that is not named": (
        bonded(BOND0),
        lag(ETH0, ETH1),
        "bond0: is a bond of Open vSwitch (m1 and m2) that the controller does not know as one",
        'bridges: {br0: {lags: {bond0: {members: [m1, m2], lacp: "off"}}}}',
    ),
    "no such port": (
        bonded(),
        lag(ETH0, member("eht1", number=None, link=False, state="away", **ALONE)),
        "eht1: is a member of lag0 and no port of br0",
        "other ports of br0: eth1",
    ),
    "an aggregation that has a port's name": (
        bonded(_port("lag0")),
        lag(ETH0, ETH1),
        "lag0: is a port of br0 and carries no traffic: aggregation lag0 has its name",
        "another name under lags:",
    ),
    "not plugged in": (
        replace(bonded(), links=(*bonded().links, replace(uplink(), index=9))),
        lag(ETH0, ETH1, member("br0", number=None, link=False, state="away", **ALONE)),
        "br0: is a member of lag0 and no port of br0",
        "ovs-vsctl add-port br0 br0",
    ),
    "lacp of Open vSwitch": (
        bonded(_port("eth1", lacp="active")),
        lag(ETH0, SILENT),
        "eth1: Open vSwitch runs LACP on it (lacp=active)",
        "ovs-vsctl set port eth1 lacp=off",
    ),
    "a member is cut": (
        bonded(),
        lag(ETH0, member("eth1", link=False, state="down", distributing=False, partner=None)),
        "lag0: eth1 has no link: 1 of its 2 members carry its frames",
        "ethtool eth1",
    ),
    "a member that Open vSwitch's LACP has not enabled": (
        bonded(_port("eth1", lacp="active")),
        lag(ETH0, member("eth1", link=False, distributing=False, partner=None), lacp="off"),
        "lag0: eth1 has no link, or Open vSwitch's LACP no partner: 1 of its 2 members",
        "ovs-appctl lacp/show",
    ),
    "down": (
        bonded(),
        lag(ETH0, member("eth1", link=False, distributing=False), up=False, min_links=2),
        "lag0: is down: 1 of its 2 members are in use, and it wants 2",
        "ofapp lag show",
    ),
}


@pytest.mark.parametrize(("seen", "controller", "problem", "fix"), ILL.values(), ids=ILL)
def test_each_mismatch_is_found(
    seen: Host, controller: ControllerReport, problem: str, fix: str
) -> None:
    found = texts(diagnose(seen, controller))
    assert [one for one in found if one.startswith(problem) and fix in one], found


def test_a_bond_that_is_named_is_no_illness() -> None:
    known = lag(*(replace_lacp(member(name)) for name in ("m1", "m2")), name="bond0", lacp="off")
    assert texts(diagnose(bonded(BOND0), known)) == []


def test_who_stands_by_is_well() -> None:
    standby = member("eth1", state="standby", distributing=False, partner=partner(state=()))
    assert texts(diagnose(bonded(), lag(ETH0, standby))) == []
