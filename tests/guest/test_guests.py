"""Two guests on the taps of an ofapp bridge, the machine they run on, and an uplink."""

from __future__ import annotations

import pytest

from tests.guest.site import MACHINE
from tests.support.lab import sh
from tests.support.waiting import wait_for


@pytest.fixture(scope="module")
def place(pair, controller):
    """The bridge is ofapp's, with its defaults."""
    controller.connect(pair.switch)
    yield pair
    pair.switch.set_controller(None)


def test_guests_reach_each_other(place):
    one, other = place.guests
    wait_for(lambda: one.shell.reaches(other.ip), "spanning tree to open the ports")
    for address in (other.ip, other.ip6):
        assert one.shell.reaches(address)
    assert other.shell.reaches(one.ip)


def test_guests_and_the_machine_reach_each_other(place):
    for placed in place.guests:
        assert placed.shell.reaches(MACHINE)
        sh("ping", "-n", "-c", 1, "-W", 3, "-I", place.switch.name, placed.ip)


def test_guests_and_the_uplink_reach_each_other(place):
    for placed in place.guests:
        for address in (place.uplink.ip, place.uplink.ip6):
            assert placed.shell.reaches(address)
        for address in (placed.ip, placed.ip6):
            assert place.uplink.reaches(address, seconds=3)


def test_the_bridge_knows_each_guest_at_its_tap(place, controller):
    for placed in place.guests:
        placed.shell.reaches(place.uplink.ip)
        port = place.switch.ports[placed.tap]
        wait_for(
            lambda mac=placed.mac, port=port: controller.where(place.switch, mac) == port,
            "the guest to be known",
        )


def test_a_file_arrives_whole_over_tcp(place):
    """Stalls here, and nowhere else, when no device fills in checksums or cuts large segments."""
    one, other = place.guests
    one.shell.run("dd if=/dev/urandom of=/www/file bs=64k count=16 && httpd -h /www")
    wanted = one.shell.run("md5sum </www/file").split()[0]
    got = other.shell.run(f"wget -q -O - http://{one.ip}/file | md5sum", seconds=60)
    assert got.split()[0] == wanted
    got = place.uplink.run("sh", "-c", f"curl -s http://{one.ip}/file | md5sum")
    assert got.split()[0] == wanted
