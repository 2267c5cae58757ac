"""What the twin predicts is what happens: a ring of real switches, asked first and then cut."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ofapp.openflow.model.cookie import LEARNED_BIT, Feature, parse_cookie
from tests.support import dhcp_frames, frames
from tests.support.controller import Controller
from tests.support.multicast_entries import entries
from tests.support.multicast_frames import join
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

HOST, FREE = 9, 8
GROUP = "239.1.1.1"
NEXT, BEFORE = 1, 2
"""Ports of each switch to its neighbours in the ring."""


SNOOPING = "{mcast_querier: true, mcast_query_response_interval: 1}"
pytestmark = pytest.mark.controller(f"defaults: {{stp: {{}}, lldp: {{}}, multicast: {SNOOPING}}}")


@pytest.fixture(scope="module")
def ring(vswitchd: VSwitchd, controller: Controller) -> list[Bridge]:
    """Three switches in a ring with a host at each, settled."""
    made = [vswitchd.add_bridge(ports=0) for _ in range(3)]
    for at, one in enumerate(made):
        other = made[(at + 1) % 3]
        path = vswitchd.dir / f"w{at}.sock"
        for bridge, number, stream in (
            (one, NEXT, "pstream=punix"),
            (other, BEFORE, "stream=unix"),
        ):
            name = f"{bridge.name}w{number}"
            bridge.add_port(number, name)
            vswitchd.vsctl("set", "Interface", name, f"options:{stream}:{path}")
        one.add_port(HOST, f"{one.name}h")
    for bridge in made:
        controller.connect(bridge)
    wait_for(lambda: len(controller.get("/v1/topology")["links"]) == 3, "the cables to be known")
    wait_for(lambda: is_settled(controller, made), "the ring", seconds=60, tick=vswitchd.in_pace())
    for number, bridge in enumerate(made, 1):
        bridge.inject(HOST, frames.arp_request(frames.host(number)))
    wait_for(lambda: learned(controller) >= 3, "the hosts")
    return made


def learned(controller: Controller) -> int:
    hosts = {frames.host(number) for number in (1, 2, 3)}
    return len({each["mac"] for each in controller.get("/v1/fdb")["entries"]} & hosts)


def roles(controller: Controller, ring: list[Bridge]) -> dict[tuple[str, str], tuple[str, str]]:
    """Role and state of each port whose link is up, by bridge and port."""
    return {
        (bridge.name, port["name"]): (port["role"], port["state"])
        for bridge in ring
        for port in controller.get(f"/v1/bridges/{bridge.dpid16}/stp")["ports"]
    }


def is_settled(controller: Controller, ring: list[Bridge]) -> bool:
    found = [*roles(controller, ring).values()]
    blocked = [each for each in found if each == ("alternate", "discarding")]
    forwarding = [each for each in found if each[1] == "forwarding"]
    return len(blocked) == 1 and len(forwarding) == 8


def test_each_cable_is_asked_and_then_cut(
    controller: Controller, ring: list[Bridge], vswitchd: VSwitchd
) -> None:
    for at, bridge in enumerate(ring):
        before = roles(controller, ring)
        question = {"cut": [f"{bridge.name}/{bridge.name}w{NEXT}"], "seconds": 30}
        reply = controller.api("POST", "/v1/what-if", question)
        assert reply.status == 200, reply
        predicted = reply.body
        assert not [pair for pair in predicted["cut_off"] if pair["seconds"] is None]
        assert roles(controller, ring) == before, "asking changes nothing"
        expected = dict(before)
        for change in predicted["roles"]:
            expected[change["bridge"], change["port"]] = change["after"], ""
        cut(ring, at, up=False)

        def is_predicted(expected: Any = expected) -> bool:
            now = roles(controller, ring)
            return {key: role for key, (role, _) in now.items()} == {
                key: role for key, (role, _) in expected.items()
            }

        wait_for(is_predicted, f"{expected}", tick=vswitchd.in_pace())
        opened = {
            (c["bridge"], c["port"]) for c in predicted["changes"] if c["new"] == "forwarding"
        }
        wait_for(
            lambda opened=opened: all(  # type: ignore[misc]
                roles(controller, ring)[each][1] == "forwarding" for each in opened
            ),
            "the ports that were to open",
            tick=vswitchd.in_pace(),
        )
        cut(ring, at, up=True)
        wait_for(lambda: is_settled(controller, ring), "the ring", tick=vswitchd.in_pace())


def cut(ring: list[Bridge], at: int, *, up: bool) -> None:
    """Set the cable to the next switch down or up, at both ends."""
    ring[at].link(NEXT, up=up)
    ring[(at + 1) % 3].link(BEFORE, up=up)


Held = dict[tuple[object, ...], object]
"""What a switch holds, without learned addresses and marks: flows, and groups by number."""


def held(bridge: Bridge) -> Held:
    flows = {
        (flow.table, flow.priority, flow.match): (flow.actions, flow.cookie)
        for flow in bridge.flows()
        if not flow.cookie & LEARNED_BIT
        and (cookie := parse_cookie(flow.cookie)) is not None
        and cookie.feature != Feature.MARK
    }
    return {**flows, **{("group", number): ports for number, ports in bridge.groups().items()}}


def join_group(controller: Controller, ring: list[Bridge], receiver: Bridge) -> None:
    """Let a host be a member of a group, until each bridge knows, and restricts multicast."""

    def known(bridge: Bridge) -> bool:
        path = f"/v1/bridges/{bridge.dpid16}"
        (vlan,) = controller.get(f"{path}/multicast")["vlans"]
        restricts = vlan["ipv4"]["forwarding"] == vlan["ipv6"]["forwarding"] == "restrict"
        return restricts and bool(controller.get(f"{path}/mdb")["entries"])

    wait_for(
        lambda: all(map(known, ring)),
        "all bridges to know the group",
        seconds=30,
        tick=lambda: receiver.inject(HOST, join(7, GROUP)),
    )


def changes(before: Held, now: Held) -> dict[str, int]:
    """How many flows and groups differ."""
    differ = [key for key in before | now if before.get(key) != now.get(key)]
    groups = sum(key[0] == "group" for key in differ)
    return {"flows": len(differ) - groups, "groups": groups}


def test_what_changes_in_each_switch_is_as_predicted(
    controller: Controller, ring: list[Bridge], vswitchd: VSwitchd
) -> None:
    """As many flows and groups; ports that open are among the items, and a group's ports agree."""
    at = next(
        at
        for at in range(3)
        if {roles(controller, ring)[end][1] for end in ends(ring, at)} == {"forwarding"}
    )
    receiver = ring[(at + 1) % 3]
    join_group(controller, ring, receiver)
    before = {bridge.name: held(bridge) for bridge in ring}
    name = ring[at].name
    predicted = controller.api("POST", "/v1/what-if", {"cut": [f"{name}/{name}w{NEXT}"]}).body
    foretold = {bridge.name: {"flows": 0, "groups": 0} for bridge in ring}
    for switch in predicted["switches"]:
        sent = switch["planned"]["sent"]
        foretold[switch["bridge"]] = {kind: sent[kind] for kind in ("flows", "groups")}
    items = {
        (switch["bridge"], item["item"], change)
        for switch in predicted["switches"]
        for item in switch["planned"]["items"]
        for change in item["changes"]
    }
    groups = [each for each in predicted["groups"] if each["group"] == GROUP]
    assert {each["change"] for each in groups} == {"gains", "loses"}
    opened = [each for each in predicted["changes"] if each["new"] == "forwarding"]
    assert opened
    for each in opened:
        change = "state discarding -> forwarding"
        assert (each["bridge"], f"port {each['port']}", change) in items
    cut(ring, at, up=False)
    in_pace = vswitchd.in_pace()

    def answer() -> None:
        """Let the host answer the bridges' queries."""
        receiver.inject(HOST, join(7, GROUP))
        in_pace()

    wait_for(
        lambda: {b.name: changes(before[b.name], held(b)) for b in ring} == foretold,
        f"{foretold}",
        seconds=120,  # what is predicted is so after a minute
        tick=answer,
    )
    for each in groups:
        (bridge,) = (one for one in ring if one.name == each["bridge"])
        there = {bridge.port_name(int(number)) for number in entries(bridge)[0, GROUP, None]}
        assert (each["port"] in there) is (each["change"] == "gains"), each
    cut(ring, at, up=True)
    wait_for(lambda: is_settled(controller, ring), "the ring", seconds=40, tick=vswitchd.in_pace())


def test_a_host_that_moves_to_a_guarded_port_is_refused(
    controller: Controller, ring: list[Bridge], vswitchd: VSwitchd
) -> None:
    """Its binding is a user's, and stays where it is; the command names the port."""
    bridge, mac = ring[0], frames.host(1)
    guarded, port = f"{bridge.name}g", f"{bridge.name}h"
    bridge.add_port(FREE - 1, guarded)
    bridge.link(FREE - 1, up=False)
    path = f"/v1/bridges/{bridge.dpid16}"
    given = {"first_hop": {"source_guard": "ip", "arp_inspection": True}}
    wait_for(
        lambda: (bridge.name, guarded) in roles(controller, ring),
        "the port without a link to be known",
        tick=vswitchd.in_pace(),
    )
    new = {"settings": {"ports": {guarded: given}}}
    reply = controller.api("PATCH", f"{path}/settings", new)
    assert reply.status == 200, reply
    binding = {"port": port, "mac": mac, "address": "10.0.0.1"}
    assert controller.api("POST", f"{path}/bindings", binding).status == 201
    ends = f"{bridge.name}/{port},{bridge.name}/{guarded}"
    done = controller.ofapp("what-if", "--move", ends)
    assert done.returncode == 1, done
    said = f"refused: {mac} at {bridge.name}/{guarded}, untagged: bound at {bridge.name}/{port}"
    assert f"{said} (api)" in done.stdout
    cut_off = f"{bridge.name}:ports.{port}.first_hop.source_guard=mac"
    assert "refused" not in controller.ofapp("what-if", "--set", cut_off).stdout, "it is bound"
    assert controller.api("DELETE", f"{path}/bindings/0/10.0.0.1").status in (200, 204)
    done = controller.ofapp("what-if", "--set", cut_off)
    assert done.returncode == 1, done
    assert f"refused: {mac} at {bridge.name}/{port}, untagged: without a binding" in done.stdout
    new = {"settings": {"ports": {port: given}}}
    assert controller.api("PATCH", f"{path}/settings", new).status == 200
    number = int(mac.replace(":", ""), 16)

    uplink = next(
        each
        for each in (NEXT, BEFORE)
        if roles(controller, ring)[bridge.name, bridge.port_name(each)][1] == "forwarding"
    )

    def leased() -> bool:
        found = controller.get(f"{path}/bindings")["entries"]
        return [each["origin"] for each in found] == ["dhcp"]

    def exchange() -> None:
        bridge.inject(HOST, dhcp_frames.request(number, "10.0.0.1"))
        bridge.inject(uplink, dhcp_frames.ack(number, "10.0.0.1"))

    wait_for(leased, "the lease", seconds=30, tick=exchange)
    done = controller.ofapp("what-if", "--move", ends)
    assert "10.0.0.1 moved from" in done.stdout, done
    assert "refused" not in done.stdout
    unguarded = {"first_hop": {"source_guard": "off", "arp_inspection": False}}
    free = {"settings": {"ports": {port: unguarded}}}
    assert controller.api("PATCH", f"{path}/settings", free).status == 200
    bridge.del_port(FREE - 1)


def test_a_cable_that_is_cut_while_the_controller_is_away(
    controller: Controller, ring: list[Bridge], vswitchd: VSwitchd
) -> None:
    """The ring is as predicted when the controller is back, and the hosts meet."""
    at = next(
        at
        for at, bridge in enumerate(ring)
        if {roles(controller, ring)[end][1] for end in ends(ring, at)} == {"forwarding"}
    )
    before = roles(controller, ring)
    name = ring[at].name
    question = {"cut": [f"{name}/{name}w{NEXT}"], "disconnected": 20, "seconds": 60}
    reply = controller.api("POST", "/v1/what-if", question)
    assert reply.status == 200, reply
    pair = next(each for each in reply.body["cut_off"] if each["since"] == 0.0)
    assert 20 <= pair["seconds"] < 30
    expected = {at: role for at, (role, _) in before.items()}
    for each in reply.body["roles"]:
        expected[each["bridge"], each["port"]] = each["after"]
    source, far = (next(b for b in ring if b.name == pair[side]) for side in "ab")
    controller.kill9()
    cut(ring, at, up=False)
    controller.start()
    for bridge in ring:
        controller.wait_ready(bridge)
    probe = frames.arp_request(frames.host(7))

    def as_predicted() -> bool:
        now = {at: role for at, (role, _) in roles(controller, ring).items()}
        return now == expected

    wait_for(as_predicted, f"{expected}", seconds=40, tick=vswitchd.in_pace())
    wait_for(
        lambda: passes(ring, source, far, probe),
        "the hosts to meet",
        seconds=40,
        tick=vswitchd.in_pace(),
    )
    cut(ring, at, up=True)
    wait_for(lambda: is_settled(controller, ring), "the ring", seconds=40, tick=vswitchd.in_pace())


def passes(ring: list[Bridge], source: Bridge, far: Bridge, frame: bytes) -> bool:
    """Whether a frame of one switch's host arrives at another's."""
    far.forget_sent()
    source.inject(HOST, frame)
    for _ in range(2 * len(ring)):  # from switch to switch
        far.switch.barrier()
    return frame in far.sent(HOST)


def ends(ring: list[Bridge], at: int) -> list[tuple[str, str]]:
    """Both ends of the cable to the next switch."""
    one, other = ring[at].name, ring[(at + 1) % 3].name
    return [(one, f"{one}w{NEXT}"), (other, f"{other}w{BEFORE}")]


def test_a_host_that_moves_waits_as_predicted(
    controller: Controller, ring: list[Bridge], vswitchd: VSwitchd
) -> None:
    old, new = ring[0], ring[1]
    if FREE not in new.ports:
        new.add_port(FREE, f"{new.name}f")
        new.link(FREE, up=False)
    opened = (new.name, f"{new.name}f")
    wait_for(
        lambda: roles(controller, ring).get(opened, ("",))[0] == "disabled",
        "the port without a link to be known",
        tick=vswitchd.in_pace(),
    )
    question = {"move": [{"source": f"{old.name}/{old.name}h", "to": "/".join(opened)}]}
    reply = controller.api("POST", "/v1/what-if", question)
    assert reply.status == 200, reply
    (closed,) = [each for each in reply.body["silent"] if each["port"] == opened[1]]
    old.link(HOST, up=False)
    new.link(FREE, up=True)
    begun = time.monotonic()
    wait_for(
        lambda: roles(controller, ring).get(opened, ("", ""))[1] == "forwarding",
        "the new port",
        seconds=30,
        tick=vswitchd.in_pace(),
    )
    assert time.monotonic() - begun > closed["seconds"] - 0.5
    new.link(FREE, up=False)
    old.link(HOST, up=True)
    wait_for(lambda: is_settled(controller, ring), "the ring", seconds=30, tick=vswitchd.in_pace())


def test_the_command_says_it_and_its_status_tells(
    controller: Controller, ring: list[Bridge]
) -> None:
    name = ring[0].name
    done = controller.ofapp("what-if", "--fail", name)
    assert done.returncode == 1, done
    assert f"closed: {name}/{name}h" in done.stdout
    assert "to the end" in done.stdout
    calm = controller.ofapp("what-if", "--set", f"{name}:ageing_time=100", "--json")
    assert calm.returncode == 0, calm
    assert json.loads(calm.stdout)["switches"][0]["bridge"] == name
    absent = f"Assumed: bridge {name} has no port 'nope': its settings wait until it is there."
    for port, waits in (("nope", True), (f"{name}h", False)):
        set_port = f"{name}:ports.{port}.isolated=true"
        said = controller.ofapp("what-if", "--set", set_port).stdout
        assert (absent in said, " has no port " in said) == (waits, waits), said


@pytest.mark.parametrize(
    ("question", "status", "detail"),
    [
        ({"cut": ["nobr/eth1"]}, 404, "there is no bridge nobr"),
        ({"cut": ["{0}/none"]}, 404, "none"),
        ({"cut": ["{0}/LOCAL"]}, 409, "has no cable"),
        ({"fail": ["{0}"], "attach": [{"port": "{0}/{0}h"}]}, 409, "an earlier change has removed"),
        ({"set": [{"bridge": "{0}", "settings": {"ageing_time": -1}}]}, 409, "ageing_time"),
        ({"set": [{"bridge": "{0}", "settings": {}}] * 2}, 409, "name them together"),
        ({"config": {"file": "x", "data": "eA=="}}, 409, "gzip"),
        ({"seconds": 3600}, 422, "seconds"),
        ({"move": [{"source": "{0}/{0}h", "to": "{0}/none"}]}, 404, "none"),
        ({"move": [{"source": "{0}/{0}h", "to": "{0}/9"}]}, 409, "at this port already"),
        ({"move": [{"source": "{0}/{0}w1", "to": "{0}/{0}h"}]}, 409, "leads to another switch"),
        (
            {"disconnected": 9, "set": [{"bridge": "{0}", "settings": {}}]},
            409,
            "ask about each alone",
        ),
        ({"fail_member": "m2"}, 409, "this controller is in no cluster"),
    ],
)
def test_a_wrong_question_names_what_is_wrong(
    controller: Controller, ring: list[Bridge], question: Any, status: int, detail: str
) -> None:
    text = json.dumps(question).replace("{0}", ring[0].name)
    reply = controller.api("POST", "/v1/what-if", json.loads(text))
    assert (reply.status, detail in json.dumps(reply.body)) == (status, True), reply
