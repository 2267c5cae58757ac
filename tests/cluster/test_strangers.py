"""A host on the members' network that is no member gets nothing from them."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
from typing import Any

from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.identity import Identity
from tests.cluster.site import Member, Site
from tests.cluster.test_saved import settle
from tests.support.lab import _in_namespace
from tests.support.waiting import wait_for


def record_of(site: Site, member: Member) -> dict[str, Any]:
    """The member's record in etcd."""
    assert site.etcd is not None
    value = site.etcd.value(f"{Keys().root}members/{member.name}")
    found: dict[str, Any] = {} if value is None else json.loads(value)
    return found


def answer(asked: dict[str, Any], asking: Member, identity: Identity | None) -> bytes:
    """The answer of a member to a process on another's machine; identity: None = no TLS."""
    host, _, port = asked["address"].removeprefix("https://").rpartition(":")

    def ask() -> bytes:
        with (
            contextlib.suppress(OSError),  # it closes the connection, sooner or later
            socket.create_connection((host, int(port)), timeout=10) as client,
        ):
            if identity is not None:
                context = identity.client(b"")
                context.verify_mode = ssl.CERT_NONE
                client = context.wrap_socket(client)
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n")
            return client.recv(1000)
        return b""

    return _in_namespace(asking.space, ask)


def refused(member: Member) -> float:
    """Connections that the member's listener for members has refused in the handshake."""
    text = member.api("GET", "/metrics").body
    found = re.search(r'^ofapp_cluster_refused_total\{reason="insecure"\} (\S+)', text, re.M)
    return float(found[1]) if found else 0.0


def test_a_stranger_gets_nothing_and_a_restarted_member_is_known_at_once(site: Site) -> None:
    settle(site)
    asked, asking = site.members[0], site.members[1]
    record = record_of(site, asked)
    before = refused(asked)
    for identity in (None, Identity("stranger"), Identity(asking.name)):
        assert answer(record, asking, identity) == b""
    wait_for(lambda: refused(asked) == before + 3, "three refusals to be counted")
    asked.kill9()
    asked.start()
    wait_for(
        lambda: record_of(site, asked).get("certificate") not in (None, record["certificate"]),
        "the new process to be a member, with another certificate",
        seconds=30,
    )
    wait_for(lambda: asked.api("GET", "/readyz").status == 200, "it to be ready", seconds=30)
    dpids = {own.bridge.dpid16 for own in site.switches}

    def known(member: Member) -> set[str]:
        reply = member.api("GET", "/v1/bridges")
        return {one["datapath_id"] for one in reply.body.get("bridges", ())}

    settle(site)
    for member in site.members:  # they ask each other again
        wait_for(lambda own=member: known(own) == dpids, "all bridges", seconds=30)
