"""Bindings in the configuration file: as people write them, and the errors of what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ofapp.config import Config
from ofapp.config.bridge import Bridge

GOOD = {"mac": "52:54:00:00:00:01", "port": "vnet3", "address": "10.0.0.5"}


def bridge(*bindings: Any, **more: Any) -> Bridge:
    own = {"bindings": list(bindings), **more}
    return Config.model_validate({"bridges": {"1": own}}).bridge(1)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10.0.0.5", "10.0.0.5"),
        ("10.0.0.5/32", "10.0.0.5"),
        ("10.0.1.0/24", "10.0.1.0/24"),
        ("2001:DB8:0::5", "2001:db8::5"),
        ("2001:db8:7::/56", "2001:db8:7::/56"),
        ("fe80::1", "fe80::1"),
    ],
)
def test_addresses_are_written_in_one_way(written: str, shown: str) -> None:
    (binding,) = bridge(GOOD | {"address": written}).bindings
    assert binding.address == shown


def test_a_vlan_may_be_named() -> None:
    own = bridge(
        GOOD | {"vlan": "office"},
        vlans={10: {"name": "office"}},
        ports={"vnet*": {"vlan": "office"}},
    )
    assert own.shown()["bindings"] == [GOOD | {"vlan": "office"}]


@pytest.mark.parametrize(
    ("bindings", "more", "what"),
    [
        ([GOOD | {"address": "10.0.0.5/24"}], {}, "10.0.0.5/24 is no prefix"),
        ([GOOD | {"address": "10.0.0.0/255.0.0.0"}], {}, "is no IPv4 or IPv6 address"),
        ([GOOD | {"address": "fe80::1%eth0"}], {}, "is no IPv4 or IPv6 address"),
        ([GOOD | {"address": "guest"}], {}, "is no IPv4 or IPv6 address"),
        ([GOOD | {"address": "224.0.0.1"}], {}, "is not an address that a host can have"),
        ([GOOD | {"address": "0.0.0.0"}], {}, "is not an address that a host can have"),
        ([GOOD | {"address": "0.0.0.0/0"}], {}, "is not an address that a host can have"),
        ([GOOD | {"address": "::1"}], {}, "is not an address that a host can have"),
        ([GOOD | {"address": "ff02::1"}], {}, "is not an address that a host can have"),
        ([GOOD | {"mac": "01:00:5e:00:00:01"}], {}, "is not the address of one host"),
        ([GOOD | {"vlan": "office"}], {}, "there is no VLAN office"),
        ([GOOD | {"vlan": 7}], {"ports": {"vnet*": {"vlan": 9}}}, "port vnet3 is not in VLAN 7"),
        (
            [GOOD, GOOD | {"mac": "52:54:00:00:00:02"}],
            {},
            r"bindings\.1\.address: 10.0.0.5 has a binding in VLAN 0 already",
        ),
        (
            [GOOD | {"port": "eth0"}],
            {"lags": {"bond": {"members": ["eth0"]}}},
            "eth0 is a member of bond",
        ),
        (
            [GOOD],
            {"mirrors": {"ids": {"to": "vnet3", "both": "all"}}},
            "gets copies of frames only",
        ),
        ([{"mac": GOOD["mac"], "port": "vnet3"}], {}, "address"),
    ],
)
def test_mistakes_are_named(bindings: Any, more: Any, what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        bridge(*bindings, **more)


OTHER = GOOD | {"mac": "52:54:00:00:00:02", "port": "vnet4"}
SHARED, OTHER_SHARED = GOOD | {"shared": True}, OTHER | {"shared": True}


def test_hosts_may_share_an_address() -> None:
    assert bridge(SHARED, OTHER_SHARED).shown()["bindings"] == [SHARED, OTHER_SHARED]
    virtual = [each | {"mac": "00:00:5e:00:01:07"} for each in (SHARED, OTHER_SHARED)]
    assert bridge(*virtual).shown()["bindings"] == virtual


@pytest.mark.parametrize("bindings", [(GOOD, OTHER), (SHARED, OTHER), (GOOD, OTHER_SHARED)])
def test_all_hosts_that_share_an_address_say_so(bindings: Any) -> None:
    with pytest.raises(ValidationError, match=r"10\.0\.0\.5 has a binding .* need `shared: true`"):
        bridge(*bindings)


def test_a_host_shares_an_address_once() -> None:
    with pytest.raises(ValidationError, match=r"10\.0\.0\.5 has a binding in VLAN 0 already"):
        bridge(SHARED, SHARED)
