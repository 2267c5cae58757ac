"""A controller that knows the bridges of all these tests by their datapath ids.

The controller's timers are the shortest allowed; the switch's clock is moved along with real time
(`neighbour.alongside`), because a warp of seconds would end the flows that bring BPDUs to the
controller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd.stp.bridge import FORWARD_DELAY, RECOVERY, SPEED

EDGE = {"admin_edge": True}
SLOW = {"auto_edge": False}

PROFILES: dict[str, dict[int, dict[str, object]]] = {
    "states": {1: SLOW, 2: EDGE},
    "change": {1: SLOW, 2: SLOW, 3: SLOW, 4: EDGE},
    "bpdu-guard": {1: EDGE | {"bpdu_guard": True}, 2: EDGE},
    "bpdu-guard-by-hand": {1: EDGE | {"bpdu_guard": True}, 2: EDGE},
    "root-guard": {1: SLOW | {"root_guard": True}, 2: EDGE},
    "loop-guard": {1: SLOW, 2: SLOW | {"loop_guard": True}, 3: EDGE},
    "own": {1: SLOW, 2: EDGE},
    "off": {1: {"enabled": False}, 2: {"enabled": False}, 3: EDGE, 4: SLOW},
    "filter": {1: EDGE | {"bpdu_filter": True}, 2: EDGE},
    "malformed": {1: EDGE, 2: EDGE},
    "flood": {1: SLOW, 2: SLOW},
    "asks": {1: SLOW, 2: EDGE},
}
_dpids = {name: 0x5700 + number for number, name in enumerate(PROFILES, 1)}


def port_name(profile: str, number: int) -> str:
    return f"v{_dpids[profile]:x}p{number}"


def _config() -> str:
    timers = {"hello_time": 1, "max_age": 6, "forward_delay": FORWARD_DELAY}
    bridges: dict[str, Any] = {}
    for profile, ports in PROFILES.items():
        own = {port_name(profile, number): {"stp": stp} for number, stp in ports.items()}
        recovery = 0 if profile == "bpdu-guard-by-hand" else RECOVERY
        bridges[f"{_dpids[profile]:016x}"] = {
            "ports": own,
            "stp": {"bpdu_guard_recovery": recovery},
            "multicast": {"mcast_querier": profile == "asks"},
        }
    defaults = {"stp": {"enabled": True, **timers}}
    return yaml.safe_dump({"defaults": defaults, "bridges": bridges})


def traps(stp: dict[str, object]) -> bool:
    """Whether BPDUs of a port with these parameters go to the controller."""
    return bool(stp.get("enabled", True)) and not stp.get("bpdu_filter")


def trapping(bridge: Bridge) -> set[int]:
    """Ports whose BPDUs the switch brings to the controller now."""
    bpdus = re.compile(r"in_port=(\d+),dl_dst=01:80:c2:00:00:00")
    found = (bpdus.fullmatch(flow.match) for flow in bridge.flows() if flow.priority == 930)
    return {int(match[1]) for match in found if match}


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller]) -> Controller:
    return controller_factory(_config(), speed=SPEED)


@pytest.fixture
def make(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[[str], Bridge]]:
    """Makes the connected bridge of a profile."""
    made: list[Bridge] = []

    def run(profile: str) -> Bridge:
        bridge = vswitchd.add_bridge(dpid=_dpids[profile])
        made.append(bridge)
        for number in PROFILES[profile]:
            bridge.add_port(number, port_name(profile, number))
        controller.connect(bridge)
        # Much of the switch's time has passed meanwhile, and with it what the controller renews.
        trapped = {number for number, stp in PROFILES[profile].items() if traps(stp)}
        wait_for(lambda: trapping(bridge) >= trapped, "BPDUs to go to the controller")
        return bridge

    yield run
    for bridge in made:
        bridge.destroy()
