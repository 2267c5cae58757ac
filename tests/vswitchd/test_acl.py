"""Access lists on a real switch: what passes, what is copied, held back and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
import yaml

from ofapp.bridge.params import acl
from ofapp.openflow.model.cookie import Feature, make_cookie, parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.acl import acl_number, rule_meter
from tests.support import frames as raw
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd.test_acl_fields import WHOLE

A, B = raw.host(1), raw.host(2)
DPID = 0xAC1


CONFIG = f"""
bridges:
  {DPID:016x}:
    ageing_time: 50
    vlans: {{7: {{name: lab}}}}
    acls:
      guests:
      - {{name: no-rogue-dhcp, match: {{udp_src: 67}}, action: drop}}
      - {{name: web, match: {{tcp_dst: "80,443"}}, action: allow}}
      - {{name: arp, match: {{eth_type: arp}}, rate: 10}}
      - {{name: spied, match: {{icmp_type: echo-request}}, mirror: ids, action: allow}}
      - {{name: stolen, match: {{udp_dst: 5000}}, mirror: ids, action: drop}}
      lab:
      - {{match: {{vlan: lab, ip_dst: 10.0.0.2}}, action: allow}}
      unused:
      - {{action: drop}}
    ports:
      in1: {{acl: guests}}
      in2: {{acl: guests}}
      in3: {{acl: lab, vlan: lab}}
      out: {{vlan: transparent}}
"""
IN1, IN2, IN3, OUT, IDS = 1, 2, 3, 4, 5


@pytest.fixture(scope="module")
def listed(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> tuple[Bridge, Controller]:
    """A bridge with the lists above."""
    bridge = vswitchd.add_bridge(dpid=DPID, ports=("in1", "in2", "in3", "out", "ids"))
    controller = controller_factory(CONFIG)
    return controller.connect(bridge), controller


def frame(**change: Any) -> bytes:
    return replace(WHOLE, **change).data()


def shown(listed: tuple[Bridge, Controller], name: str = "guests") -> dict[str, Any]:
    """The list as the API tells it, after the counters have been taken in; rules by name."""
    bridge, controller = listed
    bridge.switch.settle()
    acls = controller.get(f"/v1/bridges/{bridge.dpid16}/acls")["acls"]
    (found,) = (known for known in acls if known["name"] == name)
    return found | {"rules": {rule["name"]: rule for rule in found["rules"]}}


def packets(listed: tuple[Bridge, Controller], name: str = "guests") -> dict[str, int]:
    return {rule: own["packets"] for rule, own in shown(listed, name)["rules"].items()}


def test_the_bridge_counts_what_lists_drop_wherever_the_rule_stands(
    listed: tuple[Bridge, Controller],
) -> None:
    """By rules of any place, whether a mirror gets a copy or not, and not what passes."""
    bridge, controller = listed

    def drops() -> dict[str, int]:
        found = controller.bridge(bridge)["drops"]
        return {name: found.get(name, 0) for name in ("acl-rule", acl.IMPLICIT)}

    before = drops()
    dropped = [frame(ports=(67, 68)), frame(ports=(1, 5000)), frame(ports=(1, 5000))]
    passed = [frame(proto=6, ports=(1, 80)), frame(proto=1, icmp=(8, 0))]
    bridge.inject(IN1, *dropped, *passed, frame(proto=6, ports=(1, 22)))
    bridge.switch.settle()
    wanted = {"acl-rule": before["acl-rule"] + 3, acl.IMPLICIT: before[acl.IMPLICIT] + 1}
    wait_for(lambda: drops() == wanted, f"the drops to be {wanted}", seconds=30)


def test_what_passes_what_is_dropped_and_what_is_counted(
    listed: tuple[Bridge, Controller],
) -> None:
    bridge, _ = listed
    before = packets(listed)
    web = frame(proto=6, ports=(1, 443))
    assert OUT in bridge.send(IN1, web)
    assert OUT in bridge.send(IN2, web)  # one list, two ports
    assert bridge.send(IN1, frame(ports=(67, 68))) == set()
    assert bridge.send(IN1, frame(proto=6, ports=(1, 22))) == set()  # no rule: dropped
    assert bridge.send(OUT, frame(proto=6, ports=(1, 22), src=B)) != set()  # a port without list
    after = packets(listed)
    grown = {rule: after[rule] - count for rule, count in before.items() if after[rule] != count}
    assert grown == {"web": 2, "no-rogue-dhcp": 1, acl.IMPLICIT: 1}


def test_bytes_are_those_of_the_frames(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    before = shown(listed)["rules"]["web"]["bytes"]
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)))
    assert shown(listed)["rules"]["web"]["bytes"] == before + len(frame(proto=6))


def test_copies_for_a_mirror_that_may_be_away(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    ping, stolen = frame(proto=1, icmp=(8, 0)), frame(ports=(1, 5000))
    bridge.send(OUT, frame(src=B))  # so that what is for B goes there alone
    wait_for(lambda: controller.where(bridge, B) == OUT, "B to be learned")
    assert bridge.send(IN1, ping) == {OUT, IDS}
    assert bridge.send(IN1, stolen) == {IDS}
    bridge.del_port(IDS)
    away = {"number": None, "name": "ids"}
    wait_for(lambda: shown(listed)["rules"]["spied"]["mirror"] == away, "the port to be gone")
    wait_for(lambda: bridge.send(IN1, ping) == {OUT}, "frames to pass without it")
    assert bridge.send(IN1, stolen) == set()
    bridge.add_port(IDS + 1, "ids")
    wait_for(lambda: bridge.send(IN1, stolen) == {IDS + 1}, "copies at its new place")
    bridge.del_port(IDS + 1)
    bridge.add_port(IDS, "ids")
    wait_for(lambda: bridge.send(IN1, stolen) == {IDS}, "copies at its old place")


def test_what_is_above_the_rate_is_dropped_counted_and_reported(
    listed: tuple[Bridge, Controller],
) -> None:
    bridge, controller = listed
    before = shown(listed)["rules"]["arp"]
    asked = frame(eth_type=0x0806, dst=raw.BROADCAST, arp=(1, "10.0.0.1", "10.0.0.2"))
    bridge.forget_sent()
    bridge.inject(IN1, *[asked] * 15)
    bridge.inject(IN2, *[asked] * 15)
    passed = bridge.sent(OUT).count(asked)
    assert 10 <= passed <= 12  # a burst of one second; the clock of the switch stands still
    after = shown(listed)["rules"]["arp"]
    assert after["packets"] - before["packets"] == 30
    assert after["over_rate"] - before["over_rate"] == 30 - passed
    (event,) = controller.events("acl.limited")
    assert event["data"] == {"acl": "guests", "rule": "arp", "dropped": 30 - passed}
    shown(listed)
    assert controller.events("acl.limited.cleared")
    bridge.switch.warp(2)
    assert bridge.send(IN1, asked) >= {OUT}  # it recovers by itself


def test_the_vlan_is_that_of_the_bridge(listed: tuple[Bridge, Controller]) -> None:
    """An access port's frames come without a tag, and the list knows their VLAN all the same."""
    bridge, _ = listed
    bridge.forget_sent()
    bridge.inject(IN3, frame(), frame(ip=("10.0.0.1", "10.0.0.9")))
    tagged = frame(vid=7)
    assert [got[: len(tagged)] for got in bridge.sent(OUT)] == [tagged]
    assert packets(listed, "lab") == {"vlan=lab ip_dst=10.0.0.2": 1, acl.IMPLICIT: 1}


def test_bpdus_pass_whatever_the_list_says(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    assert OUT in bridge.send(IN1, raw.bpdu(A))


def test_who_has_a_list_and_a_list_that_nobody_has(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    assert shown(listed)["ports"] == [
        {"number": IN1, "name": "in1"},
        {"number": IN2, "name": "in2"},
    ]
    unused = shown(listed, "unused")
    assert unused["ports"] == []
    assert unused["rules"]["any"]["packets"] is None
    numbers = {f"reg3={acl_number(name):#x}" for name in ("guests", "lab")}
    matched = [flow.match for flow in bridge.flows() if flow.table == TableId.ACL]
    in_use = {part for match in matched for part in match.split(",") if part.startswith("reg3")}
    assert in_use == numbers


SERIAL = acl.rule_number("guests", "web")


def web_flows(bridge: Bridge) -> int:
    cookies = (parse_cookie(flow.cookie) for flow in bridge.flows())
    wanted = (Feature.ACL, SERIAL)
    return sum(
        cookie is not None and (cookie.feature, cookie.serial) == wanted for cookie in cookies
    )


def delete_web(bridge: Bridge) -> None:
    """Change the flows as an unauthorized user does."""
    cookie = f"cookie={make_cookie(Feature.ACL, SERIAL):#x}/-1"
    bridge.switch.ofctl("del-flows", bridge.name, cookie)
    assert web_flows(bridge) == 0


def write(controller: Controller, text: str) -> None:
    """Its file, for the next time that it is read."""
    settings = yaml.safe_load(text) | {"defaults": {"stp": {"enabled": False}}}
    controller.config_file.write_text(yaml.safe_dump(settings))


def reload(controller: Controller, text: str) -> dict[str, int]:
    """What that changed in the switch."""
    write(controller, text)
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.status == 200, reply
    sent: dict[str, int] = reply.body["bridges"][0]["sent"]
    return sent


def test_hits_outlive_changes_of_the_list_and_repairs(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)), frame(ports=(67, 68)))
    before, since = packets(listed), shown(listed)["rules"]["web"]["since"]
    bridge.inject(IN1, frame(proto=6, ports=(1, 443)), frame(proto=6, ports=(1, 80)))
    bridge.switch.settle()
    # A rule that meets one of the four flows of `web` in front of all: that one gives way.
    first = "- {name: not-me, match: {ip_src: 10.0.0.1, tcp_dst: 80}, action: drop}"
    begin = "guests:\n"
    sent = reload(controller, CONFIG.replace(begin, f"{begin}      {first}\n"))
    assert sent == {"flows": 3, "groups": 0, "meters": 0}
    after = packets(listed)
    assert after.pop("not-me") == 0
    assert after == before | {"web": before["web"] + 2}
    delete_web(bridge)
    assert reload(controller, CONFIG)["flows"] == 3
    wait_for(lambda: web_flows(bridge) == 4, "the flows to be back")
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)))
    assert packets(listed) == before | {"web": before["web"] + 3}
    assert shown(listed)["rules"]["web"]["since"] == since


def test_hits_outlive_a_port_and_the_controller(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)), frame(ports=(67, 68)))
    before = packets(listed)
    bridge.del_port(IN2)
    wait_for(lambda: len(shown(listed)["ports"]) == 1, "the port to be gone")
    bridge.add_port(IN2, "in2")
    wait_for(lambda: len(shown(listed)["ports"]) == 2, "the port to be back")
    assert packets(listed) == before
    controller.kill9()
    bridge.inject(IN1, frame(ports=(67, 68)))
    bridge.switch.warp(60)
    delete_web(bridge)
    controller.start()
    controller.wait_ready(bridge)
    after = shown(listed)["rules"]
    # A new controller takes over the other counters, with their age by the switch's clock. That
    # clock is ahead by the steps of `wait_ready`, so the new flow seems some seconds old, too.
    assert after["web"]["packets"] == 0
    assert after["no-rogue-dhcp"]["packets"] == before["no-rogue-dhcp"] + 1
    old, new = (
        datetime.fromisoformat(after[name]["since"]).timestamp()
        for name in ("no-rogue-dhcp", "web")
    )
    assert old < new - 30


def test_a_meter_goes_with_its_rule(listed: tuple[Bridge, Controller]) -> None:
    """At a reload, and when the file was changed while no controller ran."""
    bridge, controller = listed
    meter = rule_meter("guests", "arp")
    assert meter in bridge.meters()
    without = CONFIG.replace("rate: 10", "action: allow")
    assert reload(controller, without) == {"flows": 1, "groups": 0, "meters": 1}
    wait_for(lambda: meter not in bridge.meters(), "the meter to be gone")
    reload(controller, CONFIG)
    wait_for(lambda: meter in bridge.meters(), "the meter to be back")
    controller.kill9()
    write(controller, without)
    controller.start()
    controller.wait_ready(bridge)
    wait_for(lambda: meter not in bridge.meters(), "the meter to be gone again")
    reload(controller, CONFIG)
