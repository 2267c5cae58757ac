"""What a bridge must do, on real interfaces: tags, moves, ports that come and go, LOCAL."""

from __future__ import annotations

from pathlib import Path

from tests.support.hosts import halves, wait_known
from tests.support.lab import Lab, Wire, frame, sh, vsctl
from tests.support.waiting import wait_for

BROADCAST = "ff:ff:ff:ff:ff:ff"


def deliver(out: Wire, into: Wire, data: bytes) -> None:
    """Send until it arrives: the userspace datapath's cache follows new flows in some 0.1 s."""

    def arrived() -> bool:
        out.send(data)
        return any(got.startswith(data) for got in into.received())

    wait_for(arrived, f"frame {data[:32].hex()}", seconds=5)


def test_tagged_frames_pass_as_they_are_and_are_learned_in_their_vlan(network, controller):
    lab = network(Lab.linear, 2)
    one, other = lab.hosts
    out = frame(BROADCAST, one.mac, b"tagged", vlan=100, pcp=5)
    back = frame(one.mac, other.mac, b"answer", vlan=100)
    with one.wire() as left, other.wire() as right:
        left.send(out)
        right.wait_for(out)
        for switch in lab.switches:
            wait_for(
                lambda switch=switch: controller.where(switch, one.mac, 100) == switch.towards(one),
                f"{switch.name} to learn {one.mac} in VLAN 100",
            )
            assert controller.where(switch, one.mac, 200) is None
        right.send(back)
        left.wait_for(back)


def test_no_frame_comes_back_to_its_sender_or_comes_twice(network):
    lab = network(Lab.single, 3)
    one, two, three = lab.hosts
    flood = frame(BROADCAST, one.mac, b"once")
    last = frame(BROADCAST, two.mac, b"afterwards")
    with one.wire() as first, two.wire() as second, three.wire() as third:
        first.send(flood)
        seen = []

        def arrived(mark: bytes) -> bool:
            seen.extend(third.received())
            return any(mark in got for got in seen)

        wait_for(lambda: arrived(b"once"), "the frame")
        second.send(last)
        wait_for(lambda: arrived(b"afterwards"), "the frame after it")
        assert sum(b"once" in got for got in seen) == 1
        own = first.received()
        assert not any(b"once" in got for got in own)


def test_a_host_that_moves_to_another_switch_is_found_with_its_first_frame(network, controller):
    lab = network(Lab.linear, 3)
    mover, middle, end = lab.hosts
    assert lab.unreachable() == []
    lab.plug(mover, lab.switches[2])
    hello = frame(BROADCAST, mover.mac, b"here now")
    answer = frame(mover.mac, middle.mac, b"welcome")

    def port_is_known() -> bool:
        ports = controller.get(f"/v1/bridges/{lab.switches[2].dpid16}/ports")
        return any(port["name"] == mover.plug for port in ports["ports"])

    wait_for(port_is_known, "the controller to hear of the new port")
    with mover.wire() as here, end.wire() as there, middle.wire() as between:
        here.send(hello)
        there.wait_for(hello)
        for switch in lab.switches:
            wait_for(
                lambda switch=switch: controller.where(switch, mover.mac) == switch.towards(mover),
                f"{switch.name} to know where {mover.mac} is",
            )
        deliver(between, here, answer)
    assert lab.unreachable() == []


def test_a_host_that_moves_to_a_port_where_others_are(network, controller):
    """The old port stays up, as when a virtual machine migrates behind another switch."""
    lab = network(Lab.single, 3)
    switch = lab.switches[0]
    mover, sender, new_home = lab.hosts
    assert lab.unreachable() == []
    wait_known(controller, switch, mover.mac, switch.towards(mover))
    mover.mute()
    with new_home.wire() as new, mover.wire() as old, sender.wire() as out:
        new.send(frame(sender.mac, mover.mac, b"moved"))
        wait_for(
            lambda: controller.where(switch, mover.mac) == switch.towards(new_home),
            "the move to be seen",
        )
        deliver(out, new, frame(mover.mac, sender.mac, b"follow"))
        old.received()
        last = frame(mover.mac, sender.mac, b"last")
        out.send(last)
        new.wait_for(last)
        assert last not in old.received()
        assert halves(switch, mover.mac) == (1, 1)


def test_the_hosts_own_address_on_the_bridge(network, controller):
    lab = network(Lab.single, 2)
    switch = lab.switches[0]
    sh("ip", "addr", "add", "10.211.0.200/24", "dev", switch.name)
    sh("ip", "link", "set", switch.name, "up")
    Path(f"/proc/sys/net/ipv4/conf/{switch.name}/arp_ignore").write_text("0")
    one = lab.hosts[0]
    wait_for(lambda: one.reaches("10.211.0.200", 1), "an answer from the bridge's own address")
    assert " 1 received" in sh("ping", "-n", "-q", "-c", 1, "-W", 2, one.ip, check=False)
    local = Path(f"/sys/class/net/{switch.name}/address").read_text().strip()
    found = controller.fdb(switch, mac=local)
    assert [entry["port"]["name"] for entry in found] == [switch.name]


def test_a_port_that_comes_and_a_port_that_goes(network, controller):
    lab = network(Lab.single, 2)
    switch = lab.switches[0]
    late = lab.host(switch)
    wait_for(lambda: lab.hosts[0].reaches(late.ip, 1), "the new port to carry traffic")
    wait_known(controller, switch, late.mac, switch.towards(late))
    switch.del_port(late.plug)
    wait_for(lambda: controller.where(switch, late.mac) is None, "the entry to be flushed")
    wait_for(lambda: halves(switch, late.mac) == (0, 0), "its flows to be flushed")
    assert not lab.hosts[0].reaches(late.ip, 1)
    assert lab.hosts[0].reaches(lab.hosts[1].ip)


def test_a_port_that_goes_down_and_comes_up(network, controller):
    lab = network(Lab.single, 3)
    switch = lab.switches[0]
    victim = lab.hosts[2]
    assert lab.unreachable() == []
    for host in lab.hosts:
        wait_known(controller, switch, host.mac, switch.towards(host))
    sh("ip", "link", "set", victim.plug, "down")
    wait_for(lambda: controller.where(switch, victim.mac) is None, "the entry to be flushed")
    wait_for(lambda: halves(switch, victim.mac) == (0, 0), "its flows to be flushed")
    assert controller.where(switch, lab.hosts[0].mac) is not None
    sh("ip", "link", "set", victim.plug, "up")
    wait_for(lambda: lab.hosts[0].reaches(victim.ip, 1), "the host to be back")
    assert lab.unreachable() == []


def test_a_port_that_is_renamed(network, controller):
    lab = network(Lab.single, 2)
    switch = lab.switches[0]
    host = lab.hosts[1]
    old, new = host.plug, f"{lab.tag}new"
    number = switch.ports[old]
    lab.own(new)
    sh("ip", "link", "set", old, "down")
    sh("ip", "link", "set", old, "name", new)
    sh("ip", "link", "set", new, "up")
    vsctl(
        *("del-port", switch.name, old, "--", "add-port", switch.name, new),
        *("--", "set", "Interface", new, f"ofport_request={number}"),
    )

    def renamed() -> bool:
        ports = controller.get(f"/v1/bridges/{switch.dpid16}/ports")["ports"]
        names = {port["number"]: port["name"] for port in ports}
        return names.get(number) == new and old not in names.values()

    wait_for(renamed, f"the API to call port {number} {new}")
    wait_for(lambda: lab.hosts[0].reaches(host.ip, 1), "the renamed port to carry traffic")
    wait_known(controller, switch, host.mac, number)
    assert controller.fdb(switch, mac=host.mac)[0]["port"] == {"number": number, "name": new}


def test_a_second_switch_with_the_same_datapath_id_is_refused(network, lab, controller):
    network(Lab.single, 2)
    running = lab.switches[0]
    impostor = lab.switch(dpid=running.dpid)
    stranger = lab.host(impostor)
    another = lab.host(impostor)
    impostor.set_controller(controller.target)
    wait_for(lambda: "refused a second switch" in controller.log(), "a line in the log")
    events = controller.get("/v1/events")["events"]
    assert any(event["kind"] == "bridge.duplicate" for event in events)
    one, two = lab.hosts[:2]
    assert one.reaches(two.ip)
    wait_known(controller, running, one.mac, running.towards(one))
    assert not stranger.reaches(another.ip, 1)
    ports = controller.get(f"/v1/bridges/{running.dpid16}/ports")["ports"]
    assert {port["name"] for port in ports} == {running.name, one.plug, two.plug}
