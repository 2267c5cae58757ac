"""An access list as hosts meet it: a guest may ping, surf and answer, and little else."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Host, Lab, Switch
from tests.support.waiting import wait_for

DPID = 0x0A0A_C100_0001
SERVER_IP = "10.211.0.2"  # the second host's
RATE = 40

RULES: list[dict[str, Any]] = [
    {"name": "no-rogue-dhcp", "match": {"udp_src": 67}, "action": "drop"},
    {"name": "arp", "match": {"eth_type": "arp"}, "action": "allow"},
    {"name": "who", "match": {"icmp_type": "neighbor-solicitation"}, "action": "allow"},
    {"name": "me", "match": {"icmp_type": "neighbor-advertisement"}, "action": "allow"},
    {"name": "ping", "match": {"icmp_type": "echo-request"}, "action": "allow"},
    {"name": "web", "match": {"ip_dst": SERVER_IP, "tcp_dst": 8080}, "mirror": "IDS"},
    {"name": "answers", "match": {"tcp_established": True}, "action": "allow"},
    {"name": "log", "match": {"udp_dst": 514}, "rate": RATE},
]


def config(ids: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """The list on port 1; `ids` gets the copies."""
    named = [rule | ({"mirror": ids} if "mirror" in rule else {}) for rule in rules]
    own = {"acls": {"guests": named}, "ports": {"1": {"acl": "guests"}}}
    return {"defaults": {"stp": {"enabled": False}}, "bridges": {f"{DPID:016x}": own}}


@pytest.fixture
def guarded(lab: Lab, start: Callable[..., Controller]) -> tuple[Switch, Controller]:
    """A guest on port 1, a server on port 2, on port 3 a host that watches."""
    switch = lab.switch(DPID)
    for _ in range(3):
        lab.host(switch)
    return switch, start(config(lab.hosts[2].plug, RULES), switch)


def connects(client: Host, server: Host, port: int, seconds: float = 1) -> bool:
    """Whether a TCP connection comes about, and what is said in it arrives."""
    listener = server.open(lambda: socket.create_server((server.ip, port)))
    with closing(listener):
        try:
            caller = client.open(lambda: socket.create_connection((server.ip, port), seconds))
        except TimeoutError:
            return False
        with closing(caller), closing(listener.accept()[0]) as callee:
            callee.settimeout(seconds)
            caller.sendall(b"hello")
            return callee.recv(5) == b"hello"


def udp(host: Host, port: int = 0) -> socket.socket:
    """A UDP socket of the host."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((host.ip, port))
        return made

    return host.open(make)


def test_a_guest_and_a_server(lab: Lab, guarded: tuple[Switch, Controller]) -> None:
    switch, controller = guarded
    guest, server, watcher = lab.hosts

    def rules() -> dict[str, Any]:
        (acl,) = controller.get(f"/v1/bridges/{switch.dpid16}/acls")["acls"]
        return {rule["name"]: rule for rule in acl["rules"]}

    def hits() -> dict[str, int]:
        return {name: rule["packets"] for name, rule in rules().items()}

    wait_for(lambda: guest.reaches(server.ip, 1), "the guest to reach the server")
    assert guest.reaches(server.ip6)
    with watcher.wire() as watch:
        assert connects(guest, server, 8080)
        seen = [got[36:38] for got in watch.received() if got[23] == socket.IPPROTO_TCP]
    assert seen  # what the guest said to the web server, and nothing of what it was answered
    assert set(seen) == {(8080).to_bytes(2, "big")}
    assert not connects(guest, server, 22)
    assert connects(server, guest, 22)  # whose answers are let through
    assert not server.reaches(guest.ip, 1)  # for `ping` has no answers in it
    least = {"web": 3, "answers": 2, "ping": 2, "implicit-drop": 2}
    wait_for(  # the userspace datapath takes a second to tell what it has counted
        lambda: all(hits()[rule] >= count for rule, count in least.items()),
        f"at least {least} to be counted",
    )

    with closing(udp(server, 514)) as received, closing(udp(guest)) as out:

        def limited() -> bool:
            for _ in range(100):
                out.sendto(b"x", (server.ip, 514))
            log = rules()["log"]
            return log["over_rate"] > RATE and log["over_rate"] > log["packets"] / 2

        wait_for(limited, "most to be dropped for being above the rate")
        assert received.recv(10) == b"x"

    # The list is changed while it is in use.
    without = [rule for rule in RULES if rule["name"] != "ping"]
    controller.config_file.write_text(yaml.safe_dump(config(watcher.plug, without)))
    assert controller.api("POST", "/v1/config/reload").status == 200
    wait_for(lambda: not guest.reaches(server.ip, 1), "pings to end")
    counted = hits()["web"]
    assert counted >= least["web"]
    assert connects(guest, server, 8080)
    wait_for(lambda: hits()["web"] > counted, "more to be counted")
