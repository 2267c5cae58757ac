"""LACP on a real switch, with a neighbour that nobody here wrote: Open vSwitch's own bond, on a
bridge that does without a controller, at the other end of the members' cables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)
DPID = 0x1AC
MEMBERS = (1, 2)
X, THERE = 3, 4
"""A port of the bridge, and one of the neighbour."""
LAG = {"members": ["m1", "m2"], "lacp": "active", "rate": "fast"}


def file(**params: object) -> str:
    return repr({"bridges": {f"{DPID:016x}": {"lags": {"lag0": {**LAG, **params}}}}})


class Neighbour:
    """A bridge with a bond of two, cabled to ports 1 and 2 of another."""

    def __init__(self, switch: VSwitchd, other: Bridge) -> None:
        self._switch = switch
        for number in MEMBERS:
            name = f"m{number}"
            switch.vsctl(
                *("add-port", other.name, name, "--", "set", "Interface", name, "type=dummy"),
                f"ofport_request={number}",
                f"options:pstream=punix:{switch.dir}/{name}.sock",
            )
            other._names[number] = name
        self.interfaces = [
            f"-- set Interface n{number} type=dummy options:stream=unix:{switch.dir}/m{number}.sock"
            for number in MEMBERS
        ]
        self._there = f"{switch.dir}/there.pcap"
        switch.vsctl(
            *("add-br", "nb", "--", "set", "Bridge", "nb", "datapath_type=dummy"),
            *("fail_mode=standalone", "other_config:hwaddr=aa:55:aa:55:00:99"),
        )
        switch.vsctl(
            *("add-port", "nb", "there", "--", "set", "Interface", "there", "type=dummy"),
            f"options:tx_pcap={self._there}",
        )

    def bond(self, lacp: str = "active", time: str = "fast") -> None:
        """Begin, with members n1 and n2."""
        self._switch.vsctl(
            *("add-bond", "nb", "bond0", "n1", "n2", f"lacp={lacp}", "bond_mode=balance-tcp"),
            *("--", "set", "Port", "bond0", f"other_config:lacp-time={time}"),
            *" ".join(self.interfaces).split(),
        )

    def end(self) -> None:
        """Pull both cables."""
        self._switch.vsctl("--if-exists", "del-port", "nb", "bond0")

    def bonded(self) -> set[int]:
        """Those of its members that it uses, by the bridge's ports."""
        shown = self._switch.appctl("bond/show", "bond0")
        return {number for number in MEMBERS if f"member n{number}: enabled" in shown}


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    return controller_factory(file())


@pytest.fixture(scope="module")
def bridge(vswitchd: VSwitchd) -> Bridge:
    made = vswitchd.add_bridge(dpid=DPID)
    made.add_port(X, "x")
    return made


@pytest.fixture(scope="module")
def beside(vswitchd: VSwitchd, bridge: Bridge, controller: Controller) -> Neighbour:
    made = Neighbour(vswitchd, bridge)
    controller.connect(bridge)
    return made


@pytest.fixture
def neighbour(beside: Neighbour, bridge: Bridge) -> Iterator[Neighbour]:
    """Without a bond, and the bridge has noticed."""
    yield beside
    beside.end()
    wait_for(lambda: not used(bridge), "members to be out of use", tick=bridge.switch.step)


def used(bridge: Bridge) -> set[int]:
    """The members whose frames enter."""
    return {
        port
        for flow in bridge.flows()
        for port in MEMBERS
        if (flow.table, flow.priority, flow.match) == (TableId.ADMISSION, 980, f"in_port={port}")
    }


def both_use(bridge: Bridge, neighbour: Neighbour, members: set[int]) -> None:
    wait_for(
        lambda: used(bridge) == members == neighbour.bonded(),
        f"both ends to use {members}",
        tick=bridge.switch.step,
        seconds=30,
    )


@pytest.mark.parametrize(("lacp", "time"), [("active", "fast"), ("passive", "slow")])
def test_both_ends_come_to_use_both_links(
    bridge: Bridge, neighbour: Neighbour, lacp: str, time: str
) -> None:
    neighbour.bond(lacp, time)
    both_use(bridge, neighbour, {1, 2})
