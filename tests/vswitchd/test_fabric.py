"""A fabric of real switches and a real controller: three switches in a ring are one bridge.

Each switch has hosts' ports 1 and 2, and link ports 3 and 4 with cables to its neighbours.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ofapp.bridge.fabric.address import source as of_member
from ofapp.bridge.fabric.address import to_member
from ofapp.bridge.mac import format_mac
from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.ovs import LOCAL
from tests.support.waiting import wait_for
from tests.vswitchd.fabric.bed import LABEL
from tests.vswitchd.ring import EDGES, Ring, everywhere


def test_three_switches_are_one_bridge(ring: Ring) -> None:
    broadcast = frames.arp_request(frames.host(1))
    assert ring.send(1, 1, broadcast) == everywhere(but=(1, 1))
    ring.learn(1, 1)
    ring.learn(2, 3)
    to, back = (
        frames.ethernet(frames.host(2), frames.host(1)),
        frames.ethernet(frames.host(1), frames.host(2)),
    )
    wait_for(lambda: ring.send(1, 1, to) == {(3, 1): 1}, "the way", tick=ring.switch.in_pace())
    wait_for(lambda: ring.send(3, 1, back) == {(1, 1): 1}, "the way back")


def talk(ring: Ring, *, tick: bool = True) -> None:
    """Hosts 1 (at s1) and 2 (at s3) reach each other, and only each other."""
    for source, at, target, to in ((1, 1, 2, 3), (2, 3, 1, 1)):
        frame = frames.ethernet(frames.host(target), frames.host(source))
        if tick:
            wait_for(
                lambda at=at, to=to, frame=frame: ring.send(at, 1, frame) == {(to, 1): 1},  # type: ignore[misc]
                "the way",
                tick=ring.switch.in_pace(),
            )
        else:
            assert ring.send(at, 1, frame) == {(to, 1): 1}


@pytest.fixture
def talking(ring: Ring) -> Ring:
    """With host 1 at s1 and host 2 at s3, which talk."""
    ring.learn(1, 1)
    ring.learn(2, 3)
    talk(ring)
    return ring


def test_the_api_tells_of_one_bridge(talking: Ring) -> None:
    controller, ring = talking.controller, talking
    bridge = controller.bridge(ring.members[0])
    assert bridge["name"] == "pod"
    assert bridge["connected"]
    known = {e["mac"]: e["port"]["name"] for e in ring.fdb() if e["type"] != "local"}
    assert known == {frames.host(1): ring.name(1, 1), frames.host(2): ring.name(3, 1)}
    ports = {port["name"] for port in controller.get(f"/v1/bridges/{ring.dpid}/ports")["ports"]}
    own = {ring.name(member, port) for member in (1, 2, 3) for port in EDGES}
    assert ports == {"pod", ring.name(2, LOCAL), ring.name(3, LOCAL), *own}
    assert len(controller.get("/v1/bridges")["bridges"]) == 1


def test_a_failed_link_is_replaced(talking: Ring) -> None:
    """The switches do it themselves, and then the controller makes another plan."""
    ring = talking
    ring.fail(3, 3)  # between s3 and s1
    talk(ring, tick=False)
    wait_for(
        lambda: ring.send(1, 1, frames.arp_request(frames.host(1))) == everywhere(but=(1, 1)),
        "another tree",
        tick=ring.switch.in_pace(),
    )
    talk(ring, tick=False)
    ring.fail(3, 3, up=True)
    wait_for(
        lambda: len(ring.controller.events("fabric.link.up")) == 4,
        "the link to be used again",
        tick=ring.switch.in_pace(),
        seconds=30,
    )
    talk(ring, tick=False)
    assert ring.send(1, 1, frames.arp_request(frames.host(1))) == everywhere(but=(1, 1))


def test_a_member_whose_table_is_full_stays_at_its_plan(talking: Ring) -> None:
    """It is transit for no others, and holds the newest plan when there is room again."""
    ring, s2 = talking, talking.members[1]
    s2.limit_table(TableId.FABRIC, sum(flow.table == TableId.FABRIC for flow in s2.flows()))
    ring.fail(1, 3)  # between s1 and s2
    wait_for(lambda: ring.status["members"][1]["refuses"], "s2 to refuse", tick=ring.switch.step)
    talk(ring)
    assert ring.controller.events("fabric.member.refused")
    s2.unlimit_tables()
    s2.disconnect()
    s2.set_controller(ring.controller.target)
    ring.wait(links=2)
    assert ring.send(1, 1, frames.arp_request(frames.host(1))) == everywhere(but=(1, 1))


def test_kill_9_loses_nothing(talking: Ring) -> None:
    ring = talking
    broadcast = frames.arp_request(frames.host(1))
    ring.controller.kill9()
    talk(ring, tick=False)
    assert ring.send(1, 1, broadcast) == everywhere(but=(1, 1))
    ring.controller.start()
    tick = ring.switch.in_pace()

    def back() -> bool:
        talk(ring, tick=False)
        assert ring.send(1, 1, broadcast) == everywhere(but=(1, 1))
        return len(ring.controller.events("fabric.link.up")) == 3

    wait_for(back, "all links", tick=tick, seconds=40)
    for _ in range(20):
        tick()
        back()
    known = {e["mac"]: e["port"]["name"] for e in ring.fdb() if e["type"] != "local"}
    assert known == {frames.host(1): ring.name(1, 1), frames.host(2): ring.name(3, 1)}


def test_a_member_without_the_controller_forwards_and_others_learn(talking: Ring) -> None:
    ring = talking
    ring.members[1].disconnect()
    wait_for(
        lambda: ring.controller.events("bridge.disconnected"),
        "s2 to be without the controller",
        tick=ring.switch.in_pace(),
    )
    talk(ring, tick=False)
    assert ring.send(2, 1, frames.arp_request(frames.host(9))) == everywhere(but=(2, 1))
    ring.learn(3, 3, 2)
    ring.members[1].set_controller(ring.controller.target)
    wait_for(
        lambda: len(ring.controller.events("bridge.ready")) == 4,
        "s2 to be back",
        tick=ring.switch.in_pace(),
    )
    talk(ring, tick=False)
    ring.learn(4, 2)


@pytest.mark.parametrize("end", [(3, 3), (1, 3), (2, 3)], ids=["others", "own", "own other"])
def test_a_member_without_the_controller_gets_broadcasts_after_another_plan(
    talking: Ring, end: tuple[int, int]
) -> None:
    """A cable event makes a plan that s2 cannot get; ARP requests for its hosts still arrive."""
    ring = talking
    ring.members[1].disconnect()
    wait_for(
        lambda: not ring.status["members"][1]["connected"],
        "s2 to be without the controller",
        tick=ring.switch.in_pace(),
    )
    for up in (False, True):
        before = ring.status["members"][0]["version"]
        ring.fail(*end, up=up)
        # Without s1-s3 no plan is made: it would lead through s2.  A cable of s2 that comes back
        # is not used before s2 is back.
        if up is (end == (3, 3)):
            wait_for(
                lambda before=before: ring.status["members"][0]["version"] != before,  # type: ignore[misc]
                "another plan",
                tick=ring.switch.in_pace(),
            )
        for member in (1, 2, 3):
            got = ring.send(member, 2, frames.arp_request(frames.host(9)))
            assert got == everywhere(but=(member, 2)), (member, up)
        talk(ring, tick=False)


def test_a_link_port_whose_link_is_not_proven_admits_no_frame(talking: Ring) -> None:
    """Its name fits `links`, and an attacker is behind it."""
    ring, s1 = talking, talking.members[0]
    name = f"{s1.name}to9"
    s1.add_port(5, name)
    wait_for(
        lambda: f"s1/{name}" in {link["one"] for link in ring.status["links"]},
        "the port to be known",
        tick=ring.switch.in_pace(),
    )
    number, version = ring.status["number"], ring.status["members"][0]["version"]
    forged = []
    for to, inner in ((1, frames.host(1)), (3, frames.host(2))):
        outer = to_member(number, to, version), of_member(number, 2)
        frame = LABEL + frames.ethernet(inner, frames.host(66))
        forged.append(frames.ethernet(*map(format_mac, outer), frame, ethertype=0x8847))
    for bridge in ring.members:
        bridge.forget_sent()
    s1.inject(5, *forged)
    ring.settle()
    sent = [frame for bridge in ring.members for port in EDGES for frame in bridge.sent(port)]
    assert not [frame for frame in sent if frame[6:12] == frames.mac(frames.host(66))]


def test_the_first_member_leaves_and_the_bridge_keeps_its_identity(talking: Ring) -> None:
    """Also for the next controller; the switch that has left is refused until it is another one."""
    ring, controller, s1 = talking, talking.controller, talking.members[0]
    path = f"/v1/bridges/{ring.dpid}"

    def identity() -> tuple[Any, Any]:
        return controller.get(path)["name"], controller.get(f"{path}/stp")["bridge_id"]

    ring.configure(bridges={"pod": {"stp": {"enabled": True, "priority": 4096}}})
    ring.wait()
    before = identity()
    assert before[1].startswith("1000")
    file = ring.file()
    file["fabrics"]["pod"]["members"]["s1"]["left"] = True
    controller.configure(yaml.safe_dump(file))
    assert controller.api("POST", "/v1/config/reload").body["fabrics"] == ["pod: s1 leaves"]
    tick = ring.switch.in_pace()
    wait_for(lambda: controller.events("bridge.reserved"), "the switch to be refused", tick=tick)
    broadcast = frames.arp_request(frames.host(2))
    others = {(2, 1): 1, (2, 2): 1, (3, 2): 1}
    wait_for(lambda: ring.send(3, 1, broadcast) == others, "the way", tick=tick)
    assert identity() == before
    controller.kill9()
    controller.start()
    ring.wait(links=1)
    wait_for(lambda: ring.send(3, 1, broadcast) == others, "the way", tick=tick)
    assert identity() == before
    assert [member["name"] for member in ring.status["members"]] == ["s2", "s3"]
    wait_for(lambda: controller.events("bridge.reserved"), "the switch to be refused", tick=tick)
    (refused,) = controller.events("bridge.reserved")
    program, *words = refused["message"].rpartition(": ")[2].replace("NAME", s1.name).split()
    assert program == "ovs-vsctl"
    ring.switch.vsctl(*words)
    wait_for(lambda: len(controller.get("/v1/bridges")["bridges"]) == 2, "a bridge", tick=tick)
    assert identity() == before


def test_another_member_leaves_and_the_others_keep_their_numbers(talking: Ring) -> None:
    ring, controller = talking, talking.controller
    file = ring.file()
    file["fabrics"]["pod"]["members"]["s2"]["left"] = True
    controller.configure(yaml.safe_dump(file))
    assert controller.api("POST", "/v1/config/reload").body["fabrics"] == ["pod: s2 leaves"]
    controller.wait_ready(ring.members[1])
    assert {bridge["name"] for bridge in controller.get("/v1/bridges")["bridges"]} == {
        "pod",
        ring.members[1].name,
    }
    talk(ring)
    assert [member["name"] for member in ring.status["members"]] == ["s1", "s3"]
    controller.configure(yaml.safe_dump(ring.file()))
    assert controller.api("POST", "/v1/config/reload").body["fabrics"] == ["pod: s2 joins"]
    ring.wait()
    talk(ring)
    assert ring.send(2, 1, frames.arp_request(frames.host(9))) == everywhere(but=(2, 1))


def test_a_member_that_leaves_the_file_is_a_bridge_again(talking: Ring) -> None:
    ring, controller = talking, talking.controller
    file = ring.file()
    del file["fabrics"]["pod"]["members"]["s3"]
    controller.configure(yaml.safe_dump(file))
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.status == 200, reply
    assert reply.body["fabrics"] == ["pod: s3 leaves"]
    controller.wait_ready(ring.members[2])
    assert len(controller.get("/v1/bridges")["bridges"]) == 2
    ring.learn(3, 2)
    ring.learn(1, 1)
    frame = frames.ethernet(frames.host(3), frames.host(1))
    wait_for(lambda: ring.send(1, 1, frame) == {(2, 1): 1}, "the way", tick=ring.switch.in_pace())
    controller.configure(yaml.safe_dump(ring.file()))
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.body["fabrics"] == ["pod: s3 joins"]
    ring.learn(2, 3)
    talk(ring)
    assert len(controller.get("/v1/bridges")["bridges"]) == 1


def test_what_cannot_change_while_it_runs_is_refused(talking: Ring) -> None:
    ring, controller = talking, talking.controller
    file = ring.file()
    members = file["fabrics"]["pod"]["members"]
    file["fabrics"]["pod"]["members"] = {"s9": members.pop("s1"), **members}
    controller.configure(yaml.safe_dump(file))
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.status == 409, reply
    assert "members are numbered by their order" in str(reply.body)
    talk(ring, tick=False)


def test_costs_change_while_it_runs(talking: Ring) -> None:
    ring, controller = talking, talking.controller
    link = f"s3/{ring.members[2].port_name(3)}"
    controller.configure(yaml.safe_dump(ring.file(costs={link: 100})))
    assert controller.api("POST", "/v1/config/reload").body["fabrics"] == ["pod: other costs"]

    def long_way() -> bool:
        assert ring.send(1, 1, frame) == {(3, 1): 1}
        return any(frame in sent for sent in ring.members[1].sent(3))

    frame = frames.ethernet(frames.host(2), frames.host(1))
    wait_for(long_way, "frames to go by s2", tick=ring.switch.in_pace())


def test_spanning_tree_runs_at_the_edge(talking: Ring) -> None:
    """It knows nothing of the links of the fabric."""
    ring = talking
    ring.configure(defaults={"stp": {"enabled": True}})
    broadcast = frames.arp_request(frames.host(1))
    wait_for(
        lambda: ring.send(1, 1, broadcast) == everywhere(but=(1, 1)),
        "all edge ports to forward",
        tick=ring.switch.in_pace(),
        seconds=60,
    )
    ring.learn(1, 1)
    ring.learn(2, 3)
    talk(ring)
    ring.controller.kill9()
    ring.controller.start()
    tick = ring.switch.in_pace()

    def back() -> bool:
        assert ring.send(1, 1, broadcast) == everywhere(but=(1, 1))
        return len(ring.controller.events("fabric.link.up")) == 3

    wait_for(back, "all links", tick=tick, seconds=40)
    tree = ring.controller.get(f"/v1/bridges/{ring.dpid}/stp")
    assert {port["name"] for port in tree["ports"] if port["state"] == "forwarding"} >= {
        ring.name(member, port) for member in (1, 2, 3) for port in EDGES
    }


def test_settings_of_the_bridge_hold_at_all_members(talking: Ring) -> None:
    """Isolated ports at different members cannot talk, nor can ports of different VLANs."""
    ring = talking
    ring.configure(
        bridges={
            "pod": {
                "ports": {
                    ring.name(1, 1): {"isolated": True},
                    ring.name(3, 1): {"isolated": True},
                    ring.name(1, 2): {"vlan": 10},
                    ring.name(2, 2): {"vlan": 10},
                }
            }
        }
    )
    to = frames.ethernet(frames.host(2), frames.host(1))
    wait_for(lambda: not ring.send(1, 1, to), "isolation", tick=ring.switch.in_pace())
    isolated = ring.send(1, 1, frames.arp_request(frames.host(1)))
    assert isolated == {(2, 1): 1, (3, 2): 1}
    assert ring.send(1, 2, frames.arp_request(frames.host(5))) == {(2, 2): 1}


def test_ports_are_counted(talking: Ring) -> None:
    ring = talking
    ring.send(3, 1, frames.ethernet(frames.host(1), frames.host(2)))

    def counted() -> bool:
        ports = ring.controller.get(f"/v1/bridges/{ring.dpid}/ports", counters="true")["ports"]
        counts = {port["name"]: port["counters"] for port in ports}
        received, sent = counts[ring.name(3, 1)], counts[ring.name(1, 1)]
        return received["rx_frames"] > 0 and sent["tx_frames"] > 0

    wait_for(counted, "the frame to be counted", tick=ring.switch.in_pace())


def test_a_port_is_named_in_requests(talking: Ring) -> None:
    ring, controller = talking, talking.controller
    name = ring.name(3, 1)
    path = f"/v1/bridges/{ring.dpid}/ports/{name.replace('/', '%2F')}"
    assert controller.get(path)["name"] == name
    reply = controller.api("PATCH", path, {"isolated": True})
    assert reply.status == 200, reply
    entry = {"port": name}
    reply = controller.api("PUT", f"/v1/bridges/{ring.dpid}/fdb/0/{frames.host(7)}", entry)
    assert reply.status in (200, 201), reply
    to = frames.ethernet(frames.host(7), frames.host(1))
    wait_for(lambda: ring.send(1, 1, to) == {(3, 1): 1}, "it", tick=ring.switch.in_pace())


def test_two_members_share_an_aggregation(talking: Ring) -> None:
    """Ports of s1 and s2 are one port of the bridge: a frame for all reaches it once."""
    ring = talking
    members = [ring.name(1, 2), ring.name(2, 2)]
    ring.configure(bridges={"pod": {"lags": {"bond": {"members": members, "lacp": "off"}}}})
    broadcast = frames.arp_request(frames.host(2))

    def arrives() -> bool:
        sent = ring.send(3, 1, broadcast)
        assert sent.keys() - {(1, 2), (2, 2)} == {(1, 1), (2, 1), (3, 2)}
        return sent.get((1, 2), 0) + sent.get((2, 2), 0) == 1

    wait_for(arrives, "one copy", tick=ring.switch.in_pace())
    ring.learn(5, 1, 2)
    assert {e["port"]["name"] for e in ring.fdb() if e["mac"] == frames.host(5)} == {"bond"}
    to = frames.ethernet(frames.host(5), frames.host(2))
    wait_for(lambda: sum(ring.send(3, 1, to).values()) == 1, "the way", tick=ring.switch.in_pace())
    to_from_s2 = frames.ethernet(frames.host(5), frames.host(8))
    assert ring.send(2, 1, to_from_s2) == {(2, 2): 1}  # by its own port, not through the fabric


def test_a_host_that_moves_to_another_member_is_followed(talking: Ring) -> None:
    ring = talking
    moved = frames.arp_request(frames.host(2))
    to = frames.ethernet(frames.host(2), frames.host(1))

    def follows() -> bool:
        ring.members[1].inject(2, moved)
        return ring.send(1, 1, to) == {(2, 2): 1}

    wait_for(follows, "frames to follow the host", tick=ring.switch.in_pace())
    back = frames.ethernet(frames.host(1), frames.host(2))
    wait_for(lambda: ring.send(2, 2, back) == {(1, 1): 1}, "back", tick=ring.switch.in_pace())
    known = {e["mac"]: e["port"]["name"] for e in ring.fdb() if e["type"] != "local"}
    assert known[frames.host(2)] == ring.name(2, 2)


def test_a_host_that_falls_silent_is_forgotten_everywhere(talking: Ring) -> None:
    ring = talking
    ring.configure(defaults={"ageing_time": 20, "stp": {"enabled": False}})
    tick = ring.switch.in_pace()

    def forgotten() -> bool:
        ring.switch.warp(5)
        tick()
        return not [entry for entry in ring.fdb() if entry["type"] != "local"]

    wait_for(forgotten, "both to be forgotten", seconds=40)
    to = frames.ethernet(frames.host(2), frames.host(1))
    assert ring.send(1, 1, to) == everywhere(but=(1, 1))


def test_switches_that_restart_forward_again(talking: Ring) -> None:
    """All three at once: nothing is left in them of the plans before."""
    ring = talking
    ring.switch.restart_switch()
    wait_for(
        lambda: ring.send(1, 1, frames.arp_request(frames.host(1))) == everywhere(but=(1, 1)),
        "the fabric",
        tick=ring.switch.in_pace(),
        seconds=60,
    )
    ring.learn(1, 1)
    ring.learn(2, 3)
    talk(ring)


def test_a_controller_that_is_stopped_leaves_a_fabric_that_forwards(talking: Ring) -> None:
    ring = talking
    ring.controller.terminate()
    talk(ring, tick=False)
    ring.switch.warp(60)
    talk(ring, tick=False)
    assert ring.send(2, 1, frames.arp_request(frames.host(9))) == everywhere(but=(2, 1))
    ring.controller.start()
    ring.wait()
    talk(ring, tick=False)


def test_bridges_become_a_fabric_while_they_run(talking: Ring) -> None:
    """And back: it is only the section of the file."""
    ring, controller = talking, talking.controller
    file = ring.file()
    del file["fabrics"]
    controller.configure(yaml.safe_dump(file))
    reply = controller.api("POST", "/v1/config/reload", force="true")
    assert reply.body["fabrics"] == ["pod: is none any more, each member is a separate bridge"]

    def separate() -> bool:
        for bridge in ring.members:  # frames for unknown hosts: the switches still ask for them
            bridge.inject(1, frames.ethernet(frames.host(77), frames.host(1)))
        bridges = controller.get("/v1/bridges")["bridges"]
        ready = {bridge["name"] for bridge in bridges if bridge["in_line"]}
        return ready == {bridge.name for bridge in ring.members}

    wait_for(separate, "separate bridges", tick=ring.switch.in_pace())
    assert not controller.events("openflow.fault")
    controller.configure(yaml.safe_dump(ring.file()))
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.body["fabrics"] == ["pod: is new, of s1, s2, s3"]
    ring.wait()
    ring.learn(1, 1)
    ring.learn(2, 3)
    talk(ring)
