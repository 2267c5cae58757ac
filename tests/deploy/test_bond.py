"""Two NICs at once become one port of the bridge, against an independent switch: Open
vSwitch with its own LACP bond, which passes frames over one cable while no LACPDU comes.

    host eth0, eth1 === switch --- router
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.runner import Runner
from tests.deploy.site import CONFIG, Site, running
from tests.support.bonds import (
    BOND,
    HOST_PORT,
    LAG,
    OFFLOADS,
    Mode,
    NormalSide,
    OfappSide,
    cable,
)
from tests.support.lab import sh
from tests.support.waiting import wait_for

WANTED = {"nics": ("eth0", "eth1"), "bond": "lacp"}
FAST = Mode("active", "fast")


class BondedSite(Site):
    """A host with two NICs on a switch that has a bond for them, and a router there."""

    def __init__(self, switch: NormalSide | OfappSide, mode: Mode) -> None:
        super().__init__()
        self.switch = switch
        self._mode = mode

    def cables(self) -> None:
        far = self.switch.namespace
        ends = []
        for number in (0, 1):
            made = cable(far, self.host)
            self.run("ip", "link", "set", made.right.interface, "down")
            self.run("ip", "link", "set", made.right.interface, "name", f"eth{number}", "up")
            ends.append(made.left)
        self.uplinks = ends
        words = ("type", "veth", "peer", "name", "r0", "netns", self.router)
        sh("ip", "-n", far, "link", "add", "r0x", "up", *words)
        for namespace, interface in ((far, "r0x"), (self.router, "r0")):
            sh("ip", "netns", "exec", namespace, "ethtool", "-K", interface, *OFFLOADS)
        sh("ip", "-n", self.router, "link", "set", "r0", "up")
        self.switch.switch.add_port("r0x", HOST_PORT + 1)
        self.switch.take(ends, self._mode)

    def bonded(self) -> bool:
        """Whether the switch uses both cables."""
        return self.switch.used() == {end.interface for end in self.uplinks}

    def file(self) -> str:
        """The controller's file."""
        return (self.dir / "ofapp.yaml").read_text()

    def drop_ins(self) -> list[Path]:
        """The drop-ins of the controller's file."""
        return [*(self.dir / "ofapp.yaml.d").glob("*")]

    def close(self) -> None:
        super().close()
        self.switch.close()


class LacpSite(BondedSite):
    """A switch that wants LACP, and passes frames over the first cable while no LACPDU comes."""

    def __init__(self) -> None:
        super().__init__(NormalSide(9), FAST)

    def cables(self) -> None:
        super().cables()
        self.switch.switch.vsctl(
            *("set", "Port", BOND, "other_config:lacp-fallback-ab=true"),
            f"other_config:bond-primary={self.uplinks[0].interface}",
        )

    def bonded(self) -> bool:
        return super().bonded() and "negotiated" in self.switch.describe()


class StaticSite(BondedSite):
    """A switch with a static bond of both cables: another of ofapp's, as Open vSwitch's own modes
    without LACP take broadcasts from one member alone."""

    def __init__(self) -> None:
        self.switch: OfappSide
        super().__init__(OfappSide(9, config=CONFIG), Mode("off"))

    def cables(self) -> None:
        super().cables()
        self.switch.configure({LAG: self.uplinks}, Mode("off"), hash="layer2")

    def start(self) -> None:
        """The router has an address from which the switch's hash takes the first cable."""
        super().start()
        for number in range(100):
            self.call_router(number)
            if self.reachable():
                return
        raise AssertionError("the host is not reached by the first cable alone")

    def call_router(self, number: int) -> None:
        """Another MAC address, so that what it sends may leave by another cable."""
        address = f"02:0e:00:00:00:{number:02x}"
        sh("ip", "-n", self.router, "link", "set", "r0", "address", address)
        sh("ip", "-n", self.router, "neigh", "flush", "all")
        self.run("ip", "neigh", "flush", "all")


@pytest.fixture(scope="module")
def house() -> Iterator[BondedSite]:
    with running(LacpSite()) as site:
        wait_for(site.reachable, "the host to be reached", seconds=20)
        yield site


@pytest.fixture
def bonded(house: BondedSite) -> Iterator[BondedSite]:
    before = house.layout()
    yield house
    if house.bridges():
        house.deploy("recover")
        house.deploy("revert")
    assert house.layout() == before
    assert house.file() == CONFIG


@pytest.fixture
def hand(house: BondedSite) -> Runner:
    assert house.runner is not None
    return house.runner


def _put_back(site: BondedSite) -> None:
    wait_for(lambda: not list(site.journal.glob("*.json")), "the watcher", seconds=30)


def test_two_nics_move_together_and_come_back(bonded: BondedSite) -> None:
    options = ("--nic", "eth0", "--nic", "eth1", "--bond", "lacp", "--confirm-within", 60)
    plan = bonded.deploy("plan", *options)
    assert "lag0 of eth0 and eth1, with LACP active" in plan
    assert bonded.file() == CONFIG
    bonded.deploy("apply", *options)
    wait_for(bonded.bonded, "both cables", seconds=20)
    wait_for(bonded.reachable, "the host to be reached over both", seconds=20)
    (drop_in,) = bonded.drop_ins()
    assert bonded.file() == CONFIG
    (lag,) = yaml.safe_load(drop_in.read_text())["bridges"]["br0"]["lags"].values()
    assert lag["members"] == ["eth0", "eth1"]
    bonded.deploy("confirm")
    assert "nothing to do" in bonded.deploy("plan", *options)
    assert "eth0 eth1" in bonded.deploy("status")
    assert "nothing is wrong" in bonded.ofapp("doctor", "--db", bonded.database)
    bonded.deploy("revert")
    wait_for(bonded.reachable, "the host to be reached as before", seconds=20)


@pytest.mark.thorough
def test_apply_is_killed_between_the_two_nics(bonded: BondedSite, hand: Runner) -> None:
    steps = hand.apply(at=0, within=60, **WANTED).steps
    _put_back(bonded)
    assert steps
    outcome = hand.apply(at=_plugging(bonded), within=60, **WANTED)
    assert outcome.signal == signal.SIGKILL
    assert outcome.steps[-1] == "plug eth1 into br0"
    _put_back(bonded)
    assert bonded.bridges() == []
    wait_for(bonded.reachable, "the host to be reached as before", seconds=20)


def _plugging(site: BondedSite) -> int:
    """The number of the step that plugs in the second NIC."""
    options = ("--nic", "eth0", "--nic", "eth1", "--bond", "lacp", "--confirm-within", 60)
    lines = site.deploy("plan", *options).splitlines()
    (line,) = [line for line in lines if "plug eth1 into br0" in line]
    return int(line.split()[0]) - 1


@pytest.mark.thorough
def test_apply_is_killed_at_every_step(bonded: BondedSite, hand: Runner) -> None:
    before = bonded.layout()
    killed = 0
    while True:
        outcome = hand.apply(at=killed, within=60, settle=20, **WANTED)
        assert outcome.said == ""
        if not outcome.signal:
            break
        _put_back(bonded)
        step = outcome.steps[-1]
        wait_for(bonded.reachable, f"the host, after {step}", seconds=20)
        assert bonded.layout() == before, f"after {step}"
        assert bonded.bridges() == []
        assert bonded.file() == CONFIG, f"after {step}"
        assert bonded.drop_ins() == [], f"after {step}"
        killed += 1
    assert killed == len(outcome.steps) >= 17
    wait_for(bonded.bonded, "both cables", seconds=20)
    wait_for(bonded.reachable, "the host to be reached over both", seconds=20)
    bonded.deploy("revert")
    wait_for(bonded.reachable, "the host to be reached as before", seconds=20)


@pytest.mark.thorough
def test_recovery_is_killed_at_every_step(bonded: BondedSite, hand: Runner) -> None:
    """And apply's watcher with it: `ofapp deploy recover` alone has to bring the host back."""
    outcome = hand.apply(at=18, watched=False, **WANTED)
    assert outcome.signal == signal.SIGKILL
    killed = 0
    while (outcome := hand.recover(at=1)).signal:
        killed += 1
    assert outcome.said == ""
    assert killed >= 10
    wait_for(bonded.reachable, "the host to be reached as before", seconds=20)


@pytest.mark.thorough
def test_revert_is_killed_and_goes_on(bonded: BondedSite, hand: Runner) -> None:
    for at in (1, 8, 16):
        assert hand.apply(settle=20, **WANTED).said == ""
        outcome = hand.revert(at=at)
        assert outcome.signal == signal.SIGKILL
        _put_back(bonded)
        wait_for(bonded.reachable, "the host to be reached as before", seconds=20)


@pytest.mark.thorough
def test_two_nics_become_a_static_aggregation() -> None:
    """Nothing is negotiated: frames go and come by both cables as soon as it is applied."""
    options = ("--nic", "eth0", "--nic", "eth1", "--bond", "static", "--confirm-within", 60)
    with running(StaticSite()) as site:
        before = site.layout()
        site.deploy("apply", *options)
        wait_for(site.reachable, "the host to be reached over both", seconds=20)
        sent = [end.count("tx_packets") for end in site.uplinks]
        for number in range(12):
            site.call_router(number)
            wait_for(site.reachable, f"the host to be reached by router {number}", seconds=20)
        assert all(
            end.count("tx_packets") > was for end, was in zip(site.uplinks, sent, strict=True)
        )
        site.deploy("confirm")
        (drop_in,) = site.drop_ins()
        (lag,) = yaml.safe_load(drop_in.read_text())["bridges"]["br0"]["lags"].values()
        assert (lag["members"], lag["lacp"]) == (["eth0", "eth1"], "off")
        assert "nothing is wrong" in site.ofapp("doctor", "--db", site.database)
        site.deploy("revert")
        wait_for(site.reachable, "the host to be reached as before", seconds=20)
        assert site.layout() == before
        assert site.drop_ins() == []
