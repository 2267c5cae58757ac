"""Guests that may reach the uplink but not each other, and guests that only have each other."""

from __future__ import annotations

import pytest
import yaml

from tests.guest.site import MACHINE
from tests.support.controller import Controller
from tests.support.waiting import wait_for

TAPS, UPLINK = "oa*t?", "oa*p?"
ISOLATED = {TAPS: {"isolated": True}}
GUESTS_ONLY = {TAPS: {"vlan": 10}, UPLINK: {"vlan": 1}, "LOCAL": {"vlan": 1}}


@pytest.fixture
def configured(pair):
    """Runs the controller with these settings of the bridge's ports."""
    controllers = []

    def run(ports):
        bridges = {pair.switch.dpid16: {"ports": ports}}
        controllers.append(Controller(yaml.safe_dump({"bridges": bridges})))
        controllers[-1].start()
        controllers[-1].connect(pair.switch)

    yield run
    for controller in controllers:
        controller.close()
    pair.switch.set_controller(None)


def test_isolated_guests_reach_all_but_each_other(pair, configured):
    configured(ISOLATED)
    one, other = pair.guests
    for placed in pair.guests:
        for address in (pair.uplink.ip, pair.uplink.ip6, MACHINE):
            wait_for(lambda p=placed, a=address: p.shell.reaches(a), f"{address} to answer")
        assert pair.uplink.reaches(placed.ip)
    for address in (other.ip, other.ip6):
        assert not one.shell.reaches(address, seconds=1)


def test_a_network_of_guests_only(pair, configured):
    """A VLAN that neither the uplink nor the machine belongs to."""
    configured(GUESTS_ONLY)
    one, other = pair.guests
    with pair.uplink.wire() as wire:
        for address in (other.ip, other.ip6):
            wait_for(lambda a=address: one.shell.reaches(a), f"{address} to answer")
        for placed in pair.guests:
            for address in (pair.uplink.ip, MACHINE):
                assert not placed.shell.reaches(address, seconds=1)
            assert not pair.uplink.reaches(placed.ip, seconds=1)
        sources = {frame[6:12].hex(":") for frame in wire.received()}
    assert not sources & {placed.mac for placed in pair.guests}
