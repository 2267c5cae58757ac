"""The counter itself: were there a loop, would it be seen?"""

from __future__ import annotations

import pytest

from tests.support.census import Census, _socket
from tests.support.lab import _in_namespace, vsctl
from tests.support.network import Network
from tests.support.waiting import wait_for


def plain_switch(network: Network):
    """A learning switch without spanning tree and without a controller."""
    switch = network.switch()
    vsctl("set", "Bridge", switch.name, "fail_mode=standalone")
    return switch


def test_a_frame_that_comes_twice_is_noticed(network: Network) -> None:
    switch = plain_switch(network)
    one, other = network.host(switch), network.host(switch)
    with Census([one, other]) as census:
        census.wait_whole("plugged in")
        census.phase("doubled")
        tap, again = (_in_namespace(host.namespace, _socket) for host in (other, one))
        with tap, again:
            tap.settimeout(5)
            again.send(tap.recv(64))
            wait_for(lambda: census.surplus, "the counter to notice")
        with pytest.raises(AssertionError, match="doubled"):
            census.check()
        assert len(census.surplus) == 1


def test_a_loop_is_noticed_at_once(network: Network) -> None:
    left, right = plain_switch(network), plain_switch(network)
    network.cable(left, right)
    hosts = [network.host(left), network.host(right)]
    with Census(hosts) as census:
        census.wait_whole("one cable")
        census.phase("two cables")
        second = network.cable(left, right)
        try:
            with pytest.raises(AssertionError, match="two cables"):
                census.wait_whole("two cables", rounds=1000)
        finally:
            second.cut()
