"""The root is demoted while people work: `ofapp stp set br0 --priority 32768`."""

from __future__ import annotations

import yaml

from tests.support.controller import Controller
from tests.support.lab import Stream, Switch
from tests.support.network import Network

LOST = 100
"""Frames of a second's stream; news of the old root that went round cost nine seconds' worth."""


def test_a_pair_with_two_links_goes_on_when_its_root_is_demoted() -> None:
    network = Network("sr")
    controller = Controller(yaml.safe_dump({"defaults": {"stp": {"enabled": True}}}))
    try:
        controller.start()
        pair = network.switch(), network.switch()
        for _ in range(2):
            network.cable(*pair)
        hosts = [network.host(switch) for switch in pair]
        for switch in pair:
            controller.connect(switch)
        _set_priority(controller, pair[0], 4096)
        network.settle()
        with Stream(*hosts, rate=100) as stream:
            stream.more(20)
            for priority in (61440, 4096, 61440):
                _set_priority(controller, pair[0], priority)
                stream.more(150)
            lost = stream.lost()
            print(f"frames lost: {lost} of {stream.sent}, 10 ms apart, by three changes of root")
            assert lost < 3 * LOST
    finally:
        network.close()
        controller.close()


def _set_priority(controller: Controller, switch: Switch, priority: int) -> None:
    body = {"priority": priority}
    assert controller.api("PATCH", f"/v1/bridges/{switch.dpid16}/stp", body).status == 200
