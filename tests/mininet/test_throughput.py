"""Established traffic is Open vSwitch's own business: its speed, and no frame to the controller."""

from __future__ import annotations

import json
import subprocess

from tests.support.lab import Host, Lab, sh
from tests.support.waiting import wait_for


def tcp_mbps(client: Host, server: Host) -> float:
    daemon = subprocess.Popen(
        ["ip", "netns", "exec", server.namespace, "iperf3", "-s", "-1", "--forceflush"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert any("listening" in line for line in daemon.stdout)
        said = client.run("iperf3", "-c", server.ip, "-t", 2, "-J")
        return json.loads(said)["end"]["sum_received"]["bits_per_second"] / 1e6
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stdout.close()


def test_tcp_is_as_fast_as_over_a_switch_without_a_controller(network, controller):
    lab = network(Lab.single, 2)
    switch = lab.switches[0]
    one, other = lab.hosts
    assert lab.unreachable() == []

    def packet_ins() -> int:
        counters = controller.get(f"/v1/bridges/{switch.dpid16}")["counters"]
        return sum(value for name, value in counters.items() if "packet_in" in name)

    wait_for(lambda: controller.where(switch, other.mac), "the hosts to be known")
    before = packet_ins()
    ours = tcp_mbps(one, other)
    assert packet_ins() == before
    switch.set_controller(None)
    sh("ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name)
    sh("ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch.name, "actions=NORMAL")
    normal = tcp_mbps(one, other)
    print(f"TCP: {ours:.0f} Mbit/s, OVS NORMAL {normal:.0f} Mbit/s: {ours / normal:.2f}")
    # The benchmarks measure; this only has to notice when frames take a detour.
    assert ours > normal / 2
