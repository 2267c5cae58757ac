"""LLDP in the configuration file."""

from __future__ import annotations

import pytest

from ofapp.bridge.lldp import BridgeParams, PortParams
from ofapp.config import ConfigError
from tests.unit.config.test_lags import bridge


def test_it_is_off_unless_somebody_turns_it_on() -> None:
    assert bridge("").params().lldp is None
    assert bridge("lldp: {enabled: true}").params().lldp == BridgeParams()


def test_what_is_said_of_bridge_ports_and_vlans_gets_there() -> None:
    settings = bridge(
        "lldp: {enabled: true, tx_interval: 5, management_address: 192.0.2.1},"
        " vlans: {10: {name: office}, 20: {}},"
        " ports: {vnet*: {lldp: {enabled: false}}, eth0: {lldp: {link: true}}}"
    ).params()
    assert settings.lldp == BridgeParams(5, "192.0.2.1")
    assert settings.vlan_names == {10: "office"}
    assert settings.port("vnet3").lldp == PortParams(enabled=False)
    assert settings.port("eth0").lldp == PortParams(link=True)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("tx_interval: 0", "from 1 to 3600"),
        ("management_address: here", "an IPv4 or IPv6 address"),
        ("management_address: 'fe80::1%eth0'", "an IPv4 or IPv6 address"),
        ("interval: 5", "interval"),
    ],
)
def test_a_mistake_is_named(wrong: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        bridge(f"lldp: {{{wrong}}}")
