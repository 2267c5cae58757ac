"""The doctor and fabrics: the settings of links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ofapp.api.resources.fabrics import fabric_view
from ofapp.bridge.bridge import Bridge as CoreBridge
from ofapp.bridge.fabric.status import FabricStatus, LinkState
from ofapp.bridge.params.params import BridgeParams
from ofapp.host_setup.diagnose import diagnose
from ofapp.host_setup.diagnose_controller import ControllerReport
from ofapp.host_setup.finding import Finding
from ofapp.host_setup.state import BridgePort, Controller, Host, Link
from tests.unit.api.fabrics import STATUS, FakeFabric
from tests.unit.host_setup.hosts import host, nic, ours
from tests.unit.host_setup.test_diagnose import URL, local, uplink

MEMBER = f"{2:016x}"
GOOD = replace(
    STATUS,
    links=tuple(
        replace(link, state=LinkState.CARRIES, reason="", failures=0) for link in STATUS.links[:3]
    ),
)


def report(status: FabricStatus = GOOD) -> ControllerReport:
    fabric = FakeFabric(CoreBridge(1, BridgeParams()), state=status)
    return ControllerReport(
        URL,
        bridges={f"{1:016x}": {"connected": True, "in_line": True}},
        fabrics=[fabric_view(fabric).model_dump(mode="json")],
    )


def member(**port: Any) -> Host:
    """A host whose br0 is s2: its eth1 and eth2 are links, eth0 is a port of the bridge."""
    values = {"mtu": 1526, "bfd": True, **port}
    links = [BridgePort(f"eth{number}", number=number, **values) for number in (1, 2)]
    ports = (BridgePort("eth0", number=3, mtu=1500, bfd=False), *links)
    there = (Controller("tcp:127.0.0.1:6653"),)  # Open vSwitch has not written it yet
    bridge = ours("br0", *ports, in_use_id=MEMBER, controllers=there)
    return host(*(named(f"eth{number}") for number in range(3)), local(), bridges=(bridge,))


def named(name: str) -> Link:
    link = uplink()
    return replace(link, state=replace(link.state, name=name))


def found(seen: Host, status: FabricStatus = GOOD) -> tuple[Finding, ...]:
    return diagnose(seen, report(status))


def test_nothing_is_wrong_with_a_member_as_it_should_be() -> None:
    assert found(member()) == ()
    assert nic().name == "eth0"


def test_a_link_whose_mtu_is_too_small() -> None:
    findings = found(member(mtu=1500))
    assert [(one.where, one.fatal) for one in findings] == [("eth1", True), ("eth2", True)]
    assert "MTU of 1500 is too small" in findings[0].problem
    assert "mtu_request=1526" in findings[0].fix


def test_a_link_without_bfd() -> None:
    findings = found(member(bfd=False))
    assert [(one.where, one.fatal) for one in findings] == [("eth1", False), ("eth2", False)]
    assert "bfd:enable=true" in findings[0].fix
    assert found(member(bfd=None)) == ()


def test_another_bridge_is_no_member() -> None:
    seen = member(mtu=1500)
    (bridge,) = seen.switch.bridges
    other = replace(bridge, in_use_id=f"{9:016x}")
    seen = replace(seen, switch=replace(seen.switch, bridges=(other,)))
    assert any("does not know it" in one.problem for one in found(seen))
    assert not any("fabric" in one.problem for one in found(seen))
