"""Questions about one host that many tests ask: is it known, and by which flows."""

from __future__ import annotations

from ofapp.openflow.model.cookie import LEARNED_BIT, parse_cookie
from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.flows import Flow
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for


def learned_flows(bridge: Bridge, mac: str | None = None) -> list[Flow]:
    """The flows of learned addresses (of *mac*), sources first."""
    return sorted(
        (
            flow
            for flow in bridge.flows()
            if parse_cookie(flow.cookie) is not None
            and flow.cookie & LEARNED_BIT
            and (mac is None or mac in flow.match)
        ),
        key=lambda flow: (flow.table, flow.match),
    )


def halves(bridge: Bridge, mac: str) -> tuple[int, int]:
    """How many source and how many destination flows *mac* has."""
    tables = [flow.table for flow in learned_flows(bridge, mac)]
    return tables.count(TableId.SOURCE), tables.count(TableId.DESTINATION)


def wait_learned(
    controller: Controller,
    bridge: Bridge,
    mac: str,
    port: int,
    vlan: int = 0,
    *,
    seconds: float = 10.0,
) -> None:
    """Wait until *mac* is known behind *port*, to the API and to the switch."""

    def known() -> bool:
        return controller.where(bridge, mac, vlan) == port and bool(halves(bridge, mac)[1])

    wait_for(known, f"{mac} in VLAN {vlan} to be learned on port {port}", seconds=seconds)
    wait_for(
        lambda: any(
            flow.table == TableId.SOURCE and f"in_port={_text(port)}," in f"{flow.match},"
            for flow in learned_flows(bridge, mac)
        ),
        f"the source flow of {mac}",
    )


def wait_known(controller: Controller, bridge: Bridge, mac: str, port: int, vlan: int = 0) -> None:
    """Wait until the controller knows *mac* behind *port*: a host's first frames may be answered
    before the controller has seen a copy of one."""
    wait_for(
        lambda: controller.where(bridge, mac, vlan) == port, f"{mac} to be known on port {port}"
    )


def wait_forgotten(controller: Controller, bridge: Bridge, mac: str, vlan: int = 0) -> None:
    """Wait until *mac* is unknown to the API and to the switch."""
    wait_for(
        lambda: controller.where(bridge, mac, vlan) is None and halves(bridge, mac) == (0, 0),
        f"{mac} to be forgotten",
    )


def learn(
    controller: Controller,
    bridge: Bridge,
    number: int,
    port: int,
    vlan: int = 0,
    *,
    seconds: float = 10.0,
) -> str:
    """Let host *number* speak at *port* and wait until it is known; its address."""
    mac = frames.host(number)
    tag = vlan or None
    bridge.inject(port, frames.ethernet(frames.BROADCAST, mac, vlan=tag))
    wait_learned(controller, bridge, mac, port, vlan, seconds=seconds)
    return mac


def _text(port: int) -> str:
    return "LOCAL" if port > 0xFFFF else str(port)
