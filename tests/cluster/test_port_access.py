"""A member is killed while hosts are authenticated, and while a port is held for a loop.

The RADIUS server is FreeRADIUS in a namespace that members reach; the loop is a Linux bridge.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from ofapp.controller.cluster.etcd.keys import Keys
from tests.cluster.site import Member, Site, clustered
from tests.support.lab import Host, Stream, sh
from tests.support.ownswitch import dropped
from tests.support.radius import PASSWORD, Radius, Supplicant
from tests.support.waiting import wait_for

ADDRESS, CLIENTS = 40, "10.66.0.0/24"
"""Last octet of the server's address on the members' network, and that network."""
VISIT = 8
"""Seconds of the visitor's session."""
USERS = f"""
resident Cleartext-Password := "{PASSWORD}"
visitor Cleartext-Password := "{PASSWORD}"
    Session-Timeout = {VISIT}
"""
HOLD = 3
"""Seconds without a returned frame until a held port opens."""
LOOP = {"loop7": 7, "loop8": 8}
"""Ports that the Linux bridge joins."""
WHO = ("resident", "resident", "visitor")
"""Users at the three hosts of the switch."""


class Office:
    """A site of one switch whose hosts' ports are controlled, and a loop."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.site: Site = clustered(members=2, switches=1, stp=False)
        stack.callback(self.site.close)
        (self.switch,) = self.site.switches
        self.folder = Path(tempfile.mkdtemp(prefix="office-"))
        stack.callback(shutil.rmtree, self.folder)
        space = self.site.wires.space("ra")
        address = self.site.wires.attach(space, "mm", ADDRESS)
        self.radius = Radius(space, self.folder, USERS, address, CLIENTS)
        stack.callback(self.radius.stop)
        self.radius.start()
        access = {
            "enabled": True,
            "servers": address,
            "secret_file": str(self.radius.secret_file),
            "accounting": True,
            "dynamic_port": 3799,
        }
        quick = {"tx_period": 1, "quiet_period": 1}
        controlled = {"port_access": {"authentication": "dot1x", **quick}}
        settings = {
            "port_access": access,
            "loop_protect": {"enabled": True, "hold": HOLD},
            "ports": {"plug*": controlled},
        }
        for member in self.site.members:
            member.configure(yaml.safe_dump({"bridges": {self.switch.bridge.dpid16: settings}}))
            assert member.api("POST", "/v1/config/reload", force="true").status == 200
        wait_for(lambda: self.site.served(self.switch), "an owner in sync", seconds=60)

    def supplicant(self, host: Host, user: str) -> Supplicant:
        """wpa_supplicant on a host."""
        words = {"eap": "MD5", "identity": f'"{user}"', "password": f'"{PASSWORD}"'}
        made = Supplicant(host, self.folder, words)
        self._stack.callback(made.close)
        return made

    def get(self, resource: str, member: Member | None = None) -> Any:
        """A resource of the bridge, by the owner's answer or by that of another member."""
        member = member or self.site.owner(self.switch)
        path = f"/v1/bridges/{self.switch.bridge.dpid16}/{resource}"
        reply = member.patiently("GET", path)
        assert reply.status == 200, reply
        return reply.body

    def users(self) -> dict[str, str]:
        """The users that are authorised, by port."""
        hosts = self.get("port-access")["hosts"]
        return {host["port"]: host["user"] for host in hosts if host["authorised"]}

    def held(self) -> list[str]:
        """The ports that loop protection holds."""
        return [port["name"] for port in self.get("loop-protect")["ports"] if port["held"]]

    def state(self, port: str) -> str:
        """The state of a port."""
        return {each["name"]: str(each["state"]) for each in self.get("ports")["ports"]}[port]

    def stored(self, document: str) -> Any:
        """A document of the bridge in etcd."""
        assert self.site.etcd is not None
        value = self.site.etcd.value(Keys().of(f"{document}-{self.switch.bridge.dpid16}.json"))
        text = value or b"{}"
        return json.loads(zlib.decompress(text) if text[:1] == b"\x78" else text)

    def full(self) -> int:
        """Frames of the hosts that talk for which the switch's sockets had no room."""
        counts = dropped(self.switch)
        return sum(counts.get(host.plug, 0) for host in self.switch.pair)

    def logins(self) -> int:
        """How often the server has accepted a host."""
        return self.radius.log().count("Login OK")

    def loop(self) -> None:
        """Join two ports by a Linux bridge without spanning tree."""
        inside = ("ip", "-n", self.switch.namespace, "link")
        off = ("stp_state", 0, "mcast_snooping", 0, "forward_delay", 0)
        sh(*inside, "add", "dumb", "up", "type", "bridge", *off)
        for name, number in LOOP.items():
            sh(*inside, "add", name, "up", "type", "veth", "peer", "name", f"{name}x")
            sh(*inside, "set", f"{name}x", "up", "master", "dumb")
            self.switch.add_port(name, number)

    def open_loop(self) -> None:
        """Take a port out of the Linux bridge: all links stay up."""
        sh("ip", "-n", self.switch.namespace, "link", "set", f"{min(LOOP)}x", "nomaster")


@pytest.fixture
def office() -> Iterator[Office]:
    with ExitStack() as stack:
        yield Office(stack)


def test_a_takeover_authenticates_nobody_again_and_opens_no_held_port(
    office: Office, figure: Callable[[str], None]
) -> None:
    site, switch = office.site, office.switch
    one, other, visitor = switch.hosts
    assert not one.reaches(other.ip, seconds=1)
    for host, user in zip(switch.pair, WHO, strict=False):
        office.supplicant(host, user).wait()
    wait_for(lambda: one.reaches(other.ip, seconds=1), "the hosts to meet")
    office.loop()
    (held,) = wait_for(office.held, "a port of the loop to be held")
    wait_for(lambda: held in str(office.stored("loops")), "the held port to be stored")
    guest = office.supplicant(visitor, "visitor")
    guest.wait()
    guest.close()
    wait_for(lambda: visitor.mac in str(office.stored("access")), "the visitor to be stored")
    assert sorted(office.users().values()) == sorted(WHO)
    owner, logins, full = site.owner(switch), office.logins(), office.full()
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(100)
        owner.kill9()
        wait_for(
            lambda: switch.log.master() not in (None, owner.target) and site.served(switch),
            "the other member to take over",
            seconds=60,
        )
        assert office.held() == [held]
        assert office.state(held) == "discarding"
        # Longer than the port would be held without the frames that still come back.
        there.more(400 * (HOLD + 2))
        assert office.held() == [held]
        lost = there.lost(), back.lost()
        full = office.full() - full + there.dropped() + back.dropped()
    figure(f"frames lost there and back when the owner is killed, with 802.1X: {lost}")
    assert sum(lost) <= full
    wait_for(lambda: visitor.plug not in office.users(), "the visit to end", seconds=VISIT + 5)
    assert not visitor.reaches(one.ip, seconds=1)
    assert office.users() == {one.plug: "resident", other.plug: "resident"}
    assert office.logins() == logins, "the server has not been asked again"
    wait_for(lambda: "Session-Timeout" in office.radius.accounted(), "the report of its end")
    station, new = f'Calling-Station-Id = "{one.mac}"', site.owner(switch)
    said = office.radius.demand("disconnect", station, to=new.peer_address)
    assert "Disconnect-ACK" in said, said
    office.open_loop()
    wait_for(lambda: not office.held(), "the port to open", seconds=HOLD + 20)
    assert office.state(held) == "forwarding"
