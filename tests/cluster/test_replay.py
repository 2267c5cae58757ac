"""A recorded request of a member counts once, and for one process."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any

from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.signing import Asked, Caller, sign
from tests.cluster.site import Member, Site
from tests.cluster.test_saved import settle
from tests.support.lab import _in_namespace
from tests.support.waiting import wait_for

TARGET = "/v1/version"


def record_of(site: Site, member: Member) -> dict[str, Any]:
    """What etcd has of the member."""
    assert site.etcd is not None
    value = site.etcd.value(f"{Keys().root}members/{member.name}")
    found: dict[str, Any] = {} if value is None else json.loads(value)
    return found


def send(site: Site, asked: Member, asking: Member, header: str) -> tuple[int, str]:
    """From another member's machine; the status, and what it says."""
    request = urllib.request.Request(record_of(site, asked)["address"] + TARGET)
    request.add_header("Authorization", header)

    def ask() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, str(json.loads(error.read())["detail"])

    return _in_namespace(asking.space, ask)


def test_a_recorded_request_is_refused_also_after_its_target_was_started_anew(site: Site) -> None:
    assert site.etcd is not None
    settle(site)
    asked, asking = site.members[0], site.members[1]
    secret = site.etcd.value(f"{Keys().root}secret")
    assert secret is not None
    incarnation = record_of(site, asked)["incarnation"]
    about = Asked(asked.name, "GET", TARGET, b"", incarnation)
    signed = sign(secret, asking.name, Caller("root", "admin", "here"), about, time.time())
    unused = sign(secret, asking.name, Caller("root", "admin", "here"), about, time.time())
    assert send(site, asked, asking, signed) == (200, "")
    status, why = send(site, asked, asking, signed)
    assert (status, "used already" in why) == (401, True)
    asked.kill9()
    asked.start()
    wait_for(
        lambda: record_of(site, asked).get("incarnation") not in (None, incarnation),
        "the new process to be a member",
        seconds=30,
    )
    wait_for(lambda: asked.api("GET", "/readyz").status == 200, "it to be ready", seconds=30)
    for recorded in (signed, unused):
        status, why = send(site, asked, asking, recorded)
        assert (status, "not for this process" in why) == (401, True)
    dpids = {own.bridge.dpid16 for own in site.switches}

    def known(member: Member) -> set[str]:
        reply = member.api("GET", "/v1/bridges")
        return {one["datapath_id"] for one in reply.body.get("bridges", ())}

    settle(site)
    for member in site.members:  # they ask each other again
        wait_for(lambda own=member: known(own) == dpids, "all bridges", seconds=30)
