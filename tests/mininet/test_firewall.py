"""A transparent firewall: connections begin on one side only, whose answers alone come back."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Host, Lab, Switch, sh
from tests.support.waiting import wait_for

DPID = 0x0A0A_C100_0002
SERVICE = 8080  # the inner host's, which the outer host may use

NEIGHBOURS: list[dict[str, Any]] = [
    {"name": "arp", "match": {"eth_type": "arp"}, "action": "allow"},
    {"name": "who", "match": {"icmp_type": "neighbor-solicitation"}, "action": "allow"},
    {"name": "me", "match": {"icmp_type": "neighbor-advertisement"}, "action": "allow"},
]
INVALID: dict[str, Any] = {"name": "invalid", "match": {"state": "invalid"}, "action": "drop"}
INNER = [
    INVALID,
    *NEIGHBOURS,
    {"name": "out", "match": {"state": ["new", "established", "related"]}, "action": "allow"},
]
ANSWERS: dict[str, Any] = {
    "name": "answers",
    "match": {"state": "established,related"},
    "action": "allow",
}
WEB: dict[str, Any] = {
    "name": "web",
    "match": {"state": "new", "tcp_dst": SERVICE},
    "action": "allow",
}


def config(*outer: dict[str, Any]) -> dict[str, Any]:
    """Port 1 is inside; port 2 outside, with these rules beside those for neighbours."""
    acls = {"lan": INNER, "wan": [INVALID, *NEIGHBOURS, *outer]}
    own = {"acls": acls, "ports": {"1": {"acl": "lan"}, "2": {"acl": "wan"}}}
    return {"defaults": {"stp": {"enabled": False}}, "bridges": {f"{DPID:016x}": own}}


@pytest.fixture
def firewall(lab: Lab, start: Callable[..., Controller]) -> tuple[Switch, Controller]:
    """A host inside and a host outside."""
    switch = lab.switch(DPID)
    for _ in range(2):
        lab.host(switch)
    controller = start(config(ANSWERS, WEB), switch)
    wait_for(lambda: lab.hosts[0].reaches(lab.hosts[1].ip, 1), "the inner host to get out")
    return switch, controller


def connection(
    client: Host, server: Host, address: str, port: int
) -> tuple[socket.socket, socket.socket]:
    """Both ends of a new TCP connection; TimeoutError if there is none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = server.open(lambda: socket.create_server((address, port), family=family))
    with closing(listener):
        caller = client.open(lambda: socket.create_connection((address, port), 1.5))
        callee, _ = listener.accept()
    for end in (caller, callee):
        end.settimeout(1.5)
    return caller, callee


def passes(ends: tuple[socket.socket, socket.socket]) -> bool:
    """Whether both ends of a connection hear each other."""
    for speaker, listener in (ends, ends[::-1]):
        speaker.sendall(b"hello")
        try:
            if not listener.recv(100).startswith(b"hello"):
                return False
        except TimeoutError:
            return False
    return True


def connects(client: Host, server: Host, address: str, port: int) -> bool:
    try:
        ends = connection(client, server, address, port)
    except TimeoutError:
        return False
    with closing(ends[0]), closing(ends[1]):
        return passes(ends)


def udp(host: Host, port: int = 0) -> socket.socket:
    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((host.ip, port))
        made.settimeout(1.5)
        return made

    return host.open(make)


def heard(one: socket.socket) -> bytes | None:
    try:
        return one.recv(10_000)
    except TimeoutError:
        return None


def hits(controller: Controller, switch: Switch, name: str) -> dict[str, int]:
    acls = controller.get(f"/v1/bridges/{switch.dpid16}/acls")["acls"]
    (acl,) = (known for known in acls if known["name"] == name)
    return {rule["name"]: rule["packets"] for rule in acl["rules"]}


def reload(controller: Controller, *outer: dict[str, Any]) -> None:
    controller.config_file.write_text(yaml.safe_dump(config(*outer)))
    assert controller.api("POST", "/v1/config/reload").status == 200


def test_connections_begin_inside_alone(lab: Lab, firewall: tuple[Switch, Controller]) -> None:
    switch, controller = firewall
    inner, outer = lab.hosts
    for inside, outside in ((inner.ip, outer.ip), (inner.ip6, outer.ip6)):
        assert inner.reaches(outside)
        assert not outer.reaches(inside, 1)
        assert connects(inner, outer, outside, 9000)
        assert not connects(outer, inner, inside, 9000)
        assert connects(outer, inner, inside, SERVICE)
    before = hits(controller, switch, "wan")
    assert before["implicit-drop"] >= 2
    assert before["answers"] > before["web"] >= 2


def test_udp_answers_errors_and_fragments(lab: Lab, firewall: tuple[Switch, Controller]) -> None:
    inner, outer = lab.hosts
    with closing(udp(outer, 5000)) as server, closing(udp(inner, 5001)) as client:
        server.sendto(b"unasked", (inner.ip, 5001))
        assert heard(client) is None
        client.sendto(b"question", (outer.ip, 5000))
        assert heard(server) == b"question"
        long = bytes(4000)  # three fragments
        server.sendto(long, (inner.ip, 5001))
        assert heard(client) == long
        client.connect((outer.ip, 5999))
        client.send(b"to a closed port")
        with pytest.raises(ConnectionRefusedError):  # the ICMP error is related
            client.recv(100)
    for outside in (outer.ip, outer.ip6):
        ping = ("ping", "-c", 1, "-W", 2, "-s", 4000, outside)
        assert " 1 received" in inner.run(*ping, check=False)


def test_a_frame_that_belongs_to_no_connection_is_invalid(
    lab: Lab, firewall: tuple[Switch, Controller]
) -> None:
    """SYN and ACK, with no SYN before."""
    switch, controller = firewall
    inner, outer = lab.hosts
    body = struct.pack("!HHIIBBHHH", SERVICE, 40000, 7, 7, 5 << 4, 0x12, 1000, 0, 0)
    sources = [socket.inet_aton(address) for address in (outer.ip, inner.ip)]
    pseudo = b"".join((*sources, struct.pack("!BBH", 0, 6, len(body)), body))
    body = body[:16] + _checksum(pseudo) + body[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, 6, 0) + b"".join(sources)
    head = head[:10] + _checksum(head) + head[12:]
    macs = bytes.fromhex((inner.mac + outer.mac).replace(":", ""))
    with inner.wire() as inside, outer.wire() as outside:
        outside.send((macs + b"\x08\x00" + head + body).ljust(60, b"\0"))
        wait_for(lambda: hits(controller, switch, "wan")["invalid"] == 1, "it to be counted")
        assert not [got for got in inside.received() if got.startswith(macs + b"\x08\x00")]


def _checksum(data: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def test_what_connections_survive(lab: Lab, firewall: tuple[Switch, Controller]) -> None:
    """A restart, a reload, and the end of the rule that let them begin, but not that of answers."""
    switch, controller = firewall
    inner, outer = lab.hosts
    out = connection(inner, outer, outer.ip, 9000)
    into = connection(outer, inner, inner.ip, SERVICE)
    with closing(out[0]), closing(out[1]), closing(into[0]), closing(into[1]):
        assert passes(out)
        assert passes(into)
        controller.kill9()
        assert passes(out)
        controller.restart()
        controller.wait_ready(switch)
        assert passes(out)
        assert passes(into)
        reload(
            controller,
            ANSWERS,
            {"name": "more", "match": {"state": "new", "tcp_dst": 22}, "action": "allow"},
        )
        wait_for(lambda: not connects(outer, inner, inner.ip, SERVICE), "the rule to be gone")
        assert passes(out)
        assert passes(into)  # as in nftables: it is established
        reload(controller, WEB)
        wait_for(lambda: not passes(out), "answers to be dropped")


def test_a_full_zone_keeps_what_it_has(lab: Lab, firewall: tuple[Switch, Controller]) -> None:
    """At the limit a further connection gets no answers; without it, it does."""
    switch, controller = firewall
    inner, outer = lab.hosts
    zone = controller.get(f"/v1/bridges/{switch.dpid16}/acls")["first_zone"]
    sh("ovs-appctl", "dpctl/flush-conntrack", f"zone={zone}")
    sh("ovs-appctl", "dpctl/ct-set-limits", f"zone={zone},limit=1")
    try:
        first = connection(inner, outer, outer.ip, 9000)
        with closing(first[0]), closing(first[1]):
            assert not connects(inner, outer, outer.ip, 9001)
            assert passes(first)
            sh("ovs-appctl", "dpctl/ct-del-limits", f"zone={zone}")
            wait_for(lambda: connects(inner, outer, outer.ip, 9001), "a further connection")
            assert passes(first)
    finally:
        sh("ovs-appctl", "dpctl/ct-del-limits", f"zone={zone}", check=False)
