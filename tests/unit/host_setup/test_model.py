"""What may be asked for, and what is said to the rest."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ofapp.host_setup.model import DeployConfig, endpoint, parse_port


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"bridge": "a-much-too-long-name"}, "at most 15 bytes"),
        ({"bridge": "br/0"}, "not a name"),
        ({"bridge": ""}, "not a name"),
        ({"nics": ["eth0", "eth0"]}, "named more than once"),
        ({"nics": ["br0"]}, "named more than once"),
        ({"datapath": "dpdk"}, "'system' or 'netdev'"),
        ({"ports": ["v0:vhost-user:/s"]}, "needs the userspace datapath"),
        ({"datapath": "netdev", "ports": ["v0:vhost-user"]}, "needs path"),
        ({"datapath": "netdev", "ports": ["d0:dpdk"]}, "needs devargs"),
        ({"ports": ["t0:tap:/s"]}, "has no path"),
        ({"ports": ["t0"]}, "'tap'"),
        ({"ports": ["t0:patch"]}, "'tap'"),
        ({"controllers": []}, "at least 1"),
        ({"controllers": ["ptcp:6653"]}, "write tcp:ADDRESS:PORT"),
        ({"controllers": ["tcp:controller:6653"]}, "with an IP address"),
        ({"controllers": ["tcp:fe80::1:6653"]}, "in brackets"),
        ({"mac": "01:00:5e:00:00:01"}, "not the address of one host"),
        ({"mtu": 20}, "greater than or equal to 68"),
        ({"datapath_id": "0000000000000000"}, "cannot be zero"),
        ({"datapath_id": "12"}, "pattern"),
        ({"rate_limit": 5}, "greater than or equal to 100"),
        ({"burst_limit": 50}, "needs rate_limit"),
        ({"nic": ["eth0"]}, "Extra inputs"),
        ({"settle_within": 0}, "greater than 0"),
    ],
)
def test_what_is_wrong_is_said(values: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=None) as caught:
        DeployConfig.model_validate(values)
    assert text in str(caught.value)


def test_ports_as_on_the_command_line_and_as_in_the_file_are_the_same() -> None:
    values = {"name": "v0", "type": "vhost-user", "path": "/run/v0.sock"}
    short = DeployConfig.model_validate(
        {"datapath": "netdev", "ports": ["v0:vhost-user:/run/v0.sock"]}
    )
    long = DeployConfig.model_validate({"datapath": "netdev", "ports": [values]})
    assert short == long
    assert parse_port("d:dpdk:0000:01:00.0").devargs == "0000:01:00.0"


def test_defaults_are_this_host() -> None:
    config = DeployConfig()
    assert config.bridge == "br0"
    assert config.controllers == ("tcp:127.0.0.1:6653",)
    assert config.stp_guard


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("tcp:127.0.0.1:6633", ("127.0.0.1", 6633)),
        ("tcp:127.0.0.1", ("127.0.0.1", 6653)),
        ("ssl:[2001:db8::1]:6640", ("2001:db8::1", 6640)),
        ("unix:/run/c.sock", None),
    ],
)
def test_where_a_controller_is(target: str, where: tuple[str, int] | None) -> None:
    assert DeployConfig(controllers=(target,)).controllers == (target,)
    assert endpoint(target) == where
