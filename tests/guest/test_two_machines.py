"""Guests on two machines: two bridges and the uplink between them; frames of 1500 and 9000 bytes; a
guest that moves from one machine to the other while someone talks to it.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import signal
import statistics
import subprocess
import time
from types import SimpleNamespace

import pytest

from tests.guest.site import Site
from tests.support.lab import Lab, sh
from tests.support.waiting import wait_for

EVERY = 0.005
"""Seconds from one echo request to the next while a guest moves."""


@pytest.fixture(scope="module")
def place(image, controller):
    """A guest and another host on the first machine, a guest on the second."""
    site = Site(Lab(), image)
    try:
        left, right = site.lab.switch(), site.lab.switch()
        site.lab.link(left, right)
        guests = [site.guest(left), site.guest(right)]
        host = site.lab.host(left)
        for switch in (left, right):
            controller.connect(switch)
        for placed in guests:
            placed.ready()
        yield SimpleNamespace(
            site=site, left=left, right=right, one=guests[0], other=guests[1], host=host
        )
    finally:
        site.close()


def set_mtu(place, mtu):
    """On every wire of both machines, as someone who sets up a bridge for it would."""
    for switch in (place.left, place.right):
        for interface in switch.ports:
            sh("ip", "link", "set", interface, "mtu", mtu)
    place.host.run("ip", "link", "set", "eth0", "mtu", mtu)
    for placed in (place.one, place.other):
        placed.shell.run(f"ip link set eth0 mtu {mtu}")


def passes_whole(place, address, size):
    """Whether an echo request of that many bytes, headers included, arrives undivided."""
    ping = ("ping", "-n", "-c", 1, "-W", 1, "-M", "do", "-s", size - 28, address)
    return " 1 received" in place.host.run(*ping, check=False)


def test_guests_reach_each_other_over_the_uplink(place, controller):
    for address in (place.other.ip, place.other.ip6):
        wait_for(lambda a=address: place.one.shell.reaches(a), "the guests to reach each other")
    assert place.other.shell.reaches(place.host.ip)
    uplink = next(port for port, end in place.left.links.items() if end is place.right)
    wait_for(
        lambda: controller.where(place.left, place.other.mac) == uplink,
        "the other machine's guest to be known behind the uplink",
    )


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_the_largest_frames_pass(place, mtu):
    set_mtu(place, mtu)
    try:
        for placed in (place.one, place.other):
            wait_for(
                lambda ip=placed.ip: passes_whole(place, ip, mtu), f"{mtu} bytes to {placed.tap}"
            )
            assert not passes_whole(place, placed.ip, mtu + 1)
        assert place.one.shell.reaches(place.other.ip, size=mtu - 28)
    finally:
        set_mtu(place, 1500)


def migrated(guest):
    """What QEMU says of the migration once it is over."""
    said = guest.ask("query-migrate")
    assert said["status"] not in ("failed", "cancelled"), said
    return said if said["status"] == "completed" else None


def port_state(controller, switch, port):
    stp = controller.get(f"/v1/bridges/{switch.dpid16}/stp")
    return next(entry["state"] for entry in stp["ports"] if entry["number"] == port)


@contextlib.contextmanager
def asking(host, address, heard):
    """Echo requests all the time; in the end `heard` holds when each answer came, and the end."""
    ping = ["ip", "netns", "exec", host.namespace, "ping", "-n", "-D", "-i", str(EVERY), address]
    process = subprocess.Popen(ping, stdout=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=10)
        heard += [float(when) for when in re.findall(r"^\[([\d.]+)\] \d+ bytes from", said, re.M)]
        heard.append(time.time())


def move(place, controller, target):
    """Migrate the first guest to a new tap of `target`: seconds of silence, seconds stopped.

    Without a controller the bridges do NORMAL.
    """
    moving, heard = place.one, []
    channel = moving.guest.path("migration")
    tap = place.site.tap(target)
    place.one = place.site.arriving(moving, tap, channel)
    port = target.ports[tap]
    if controller:
        wait_for(lambda: port_state(controller, target, port) == "forwarding", "it to open")
    wait_for(lambda: place.host.reaches(moving.ip), "the guest to answer")
    with asking(place.host, moving.ip, heard):
        moving.guest.ask("migrate", uri=f"unix:{channel}")
        status = wait_for(lambda: migrated(moving.guest), "the migration", seconds=60)
        if controller:
            wait_for(lambda: controller.where(target, moving.mac) == port, "it to be known")
        wait_for(lambda: place.host.reaches(moving.ip), "the guest to answer where it is now")
    place.site.leave(moving)
    return max(b - a for a, b in itertools.pairwise(heard)), status["downtime"] / 1000


def test_a_guest_moves_to_the_other_machine(place, controller, figure):
    """QEMU's own live migration, and what someone who talks to the guest notices of it."""
    silent, stopped = move(place, controller, place.right)
    figure(
        f"live migration: no answer of the guest for {silent * 1000:.0f} ms, of which QEMU had "
        f"stopped it for {stopped * 1000:.0f} ms"
    )
    assert silent < stopped + 5
    assert place.one.shell.reaches(place.other.ip)


@pytest.fixture
def bridged_by(place, controller):
    """Hands both bridges to ofapp or to Open vSwitch's own NORMAL; the controller, if any."""
    switches = (place.left, place.right)

    def bridged(by):
        if by == "ofapp":
            return controller
        for switch in switches:
            switch.set_controller(None)
            sh("ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name)
            sh("ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch.name, "actions=NORMAL")
        return None

    yield bridged
    for switch in switches:
        controller.connect(switch)


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["ofapp", "normal"])
def test_a_guest_moves_back_and_forth(place, bridged_by, figure, by):
    """Also from one port to another of the same bridge."""
    controller = bridged_by(by)
    silences = []
    for target in [place.left, place.left, place.right, place.right] * 2:
        silent, stopped = move(place, controller, target)
        assert not controller or silent < stopped + 5
        silences.append(silent * 1000)
    figure(
        f"{len(silences)} live migrations, {by}: no answer for {statistics.median(silences):.0f} "
        f"ms in the median, {max(silences):.0f} ms at most"
    )
