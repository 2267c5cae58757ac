"""Rates of ports as hosts meet them: TCP through a port that is limited in one direction."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.controller import Controller
from tests.support.lab import Host, Lab, Switch
from tests.support.traffic import running
from tests.support.waiting import wait_for

DPID = 0x0A0A_4A7E_0001
RATE = 8  # Mbit/s
PORTS = {1: {"rate_out": RATE * 1000}, 2: {"rate_in": RATE * 1000}}


@pytest.fixture
def limited(lab: Lab, start: Callable[..., Controller]) -> tuple[Switch, Controller]:
    """Port 1 is limited on the way out, port 2 on the way in, port 3 not at all."""
    switch = lab.switch(DPID)
    for _ in range(3):
        lab.host(switch)
    return switch, start({"bridges": {f"{DPID:016x}": {"ports": PORTS}}}, switch)


def mbps(client: Host, server: Host, seconds: int = 3) -> float:
    """Mbit/s of one TCP stream, after its first second."""
    with running(server, "iperf3", "-s", "-1", "--forceflush") as daemon:
        assert any("listening" in line for line in daemon.stdout or ())
        said = client.run("iperf3", "-c", server.ip, "-t", seconds, "-O", 1, "-J")
        return float(json.loads(said)["end"]["sum_received"]["bits_per_second"]) / 1e6


def test_tcp_keeps_the_rate_of_each_direction(lab: Lab, limited: tuple[Switch, Controller]) -> None:
    switch, controller = limited
    one, two, three = lab.hosts
    assert lab.unreachable() == []
    for client, server in ((three, one), (two, three)):

        def kept(client: Host = client, server: Host = server) -> bool:
            rate = mbps(client, server)
            print(f"{client.number} to {server.number}: {rate:.1f} of {RATE} Mbit/s")
            assert rate < RATE * 1.15
            return rate > RATE / 2

        wait_for(kept, "TCP to use the rate", seconds=60)
    for client, server in ((one, three), (three, two)):

        def unlimited(client: Host = client, server: Host = server) -> bool:
            return mbps(client, server) > RATE * 1.5

        wait_for(unlimited, "the other direction to be faster", seconds=60)
    for host, kind in ((one, "rate_out"), (two, "rate_in")):
        path = f"/v1/bridges/{switch.dpid16}/ports/{host.plug}"

        def dropped(path: str = path, kind: str = kind) -> int:
            return int(controller.get(path)["held_back"].get(kind, 0))

        wait_for(dropped, "the drops to be counted", seconds=90)
