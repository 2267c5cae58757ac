"""An aggregation of a cluster's switch beside Open vSwitch's own bond with the short timeout, which
gives its members up when it hears nothing for three seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
import yaml

from tests.cluster.site import Site, Switch, clustered
from tests.support.bonds import BOND, Cable, Mode, NormalSide, cable
from tests.support.lab import Stream
from tests.support.ownswitch import BRIDGE
from tests.support.waiting import wait_for

FAST = Mode("active", "fast")
FIRST_PORT = 7
THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))
OUTAGE, TURNS = (10.0, 10) if THOROUGH else (6.0, 1)
LEAST_SENT = 3600


@dataclass(frozen=True)
class Bonded:
    """A site of one switch whose aggregation leads to a partner."""

    site: Site
    partner: NormalSide
    cables: list[Cable]

    @property
    def switch(self) -> Switch:
        return self.site.switches[0]

    def used(self) -> bool:
        """Whether the partner uses both members."""
        return len(self.partner.used()) == len(self.cables)

    def streams(self) -> tuple[Stream, Stream]:
        """There and back."""
        one, other = self.switch.hosts[0], self.partner.host
        return Stream(one, other), Stream(other, one)


@pytest.fixture(scope="module", params=[pytest.param("slow", marks=pytest.mark.thorough), "fast"])
def bonded(request: pytest.FixtureRequest) -> Iterator[Bonded]:
    """By the rate that the cluster asks for; the partner asks for the fast one."""
    with closing(clustered(members=2, switches=1)) as site, closing(NormalSide(2)) as partner:
        switch = site.switches[0]
        cables = [cable(switch.namespace, partner.namespace) for _ in range(2)]
        members = [each.left.interface for each in cables]
        lags = {"lag0": {"members": members, "rate": request.param}}
        for member in site.members:
            member.configure(yaml.safe_dump({"bridges": {BRIDGE: {"lags": lags}}}))
            assert member.api("POST", "/v1/config/reload", force="true").status == 200
        for number, each in enumerate(cables, FIRST_PORT):
            switch.add_port(each.left.interface, number)
        partner.bond(BOND, [each.right for each in cables], FAST)
        made = Bonded(site, partner, cables)
        wait_for(lambda: site.served(switch), "an owner in line", seconds=60)
        wait_for(made.used, "the bond to be in use", seconds=60)
        one, other = switch.hosts[0], partner.host
        wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=60)
        yield made


def test_an_outage_of_etcd_costs_nothing(bonded: Bonded, figure: Callable[[str], None]) -> None:
    """The last owner repeats the LACPDU that the partner got last."""
    site, before = bonded.site, bonded.partner.expiries()
    assert site.etcd is not None
    there, back = bonded.streams()
    with there, back:
        site.etcd.kill()
        begun = time.monotonic()
        while time.monotonic() - begun < OUTAGE:
            there.more(400)
        site.etcd.start()
        wait_for(lambda: site.served(bonded.switch), "an owner in line", seconds=60)
        there.more(2000)
        lost = there.lost(), back.lost()
    figure(f"frames lost there and back without etcd for {OUTAGE:g} s: {lost}")
    assert lost == (0, 0)
    assert (there.doubled(), back.doubled()) == (0, 0)
    assert bonded.partner.expiries() == before


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["killed", "stopped", "cut off"])
def test_the_owner_goes(bonded: Bonded, figure: Callable[[str], None], fault: str) -> None:
    """Who takes over speaks in time, or the partner gives the members up until then."""
    site = bonded.site
    lost = []
    for _ in range(TURNS):
        wait_for(lambda: site.served(bonded.switch) and bonded.used(), "both in use", seconds=60)
        owner = site.owner(bonded.switch)
        there, back = bonded.streams()
        with there, back:
            there.more(400)
            if fault == "killed":
                owner.kill9()
            elif fault == "stopped":
                owner.pause()
            else:
                owner.cut("et", "sw", "mm")
            there.more(2800)  # seven seconds
            if fault == "killed":
                owner.start()
            elif fault == "stopped":
                owner.resume()
            else:
                owner.heal("et", "sw", "mm")
            wait_for(lambda: site.served(bonded.switch), "an owner in line", seconds=60)
            there.more(400)
            lost.append(max(there.lost(), back.lost()))
    figure(f"owner {fault}: frames lost of 400 a second, turn by turn: {lost}")
    assert max(lost) < LEAST_SENT / 2


@pytest.mark.thorough
def test_the_owner_is_killed_during_an_outage_of_etcd(
    bonded: Bonded, figure: Callable[[str], None]
) -> None:
    """No member can take the switch over then; the bond is in use again soon after etcd is back."""
    site = bonded.site
    assert site.etcd is not None
    wait_for(lambda: site.served(bonded.switch) and bonded.used(), "both in use", seconds=60)
    owner = site.owner(bonded.switch)
    there, back = bonded.streams()
    with there, back:
        there.more(400)
        site.etcd.kill()
        there.more(2400)  # six seconds: longer than the lease, and than the partner's timeout
        outage = there.lost(), back.lost()
    there, back = bonded.streams()
    with there, back:
        owner.kill9()
        there.more(2800)  # seven seconds
        site.etcd.start()
        returned = time.monotonic()
        wait_for(lambda: site.served(bonded.switch), "an owner in line", seconds=60)
        served = time.monotonic() - returned
        wait_for(bonded.used, "both in use", seconds=60)
        used = time.monotonic() - returned
        killed = there.lost(), back.lost()
        sent = there.sent
    there, back = bonded.streams()
    with there, back:
        owner.start()
        there.more(2000)
        after = there.lost(), back.lost()
    figure(
        f"frames lost there and back without etcd for 6 s: {outage}; then the owner killed, and "
        f"etcd back 7 s later: {killed} of {sent}; then an owner in line after {served:.1f} s, "
        f"both members in use after {used:.1f} s, lost after that: {after}"
    )
    assert outage == after == (0, 0)
    assert max(killed) < sent
