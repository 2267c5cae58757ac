"""What members share: what was set of a bridge, and the configuration."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.openflow.model.cookie import Feature, parse_cookie
from tests.cluster.site import Member, Site, Switch
from tests.support.waiting import wait_for

KEPT = "02:0d:00:00:00:02"


@pytest.fixture
def everybody(site: Site) -> Iterator[Site]:
    """Each switch is with its usual owner, and no member is drained in the end."""
    wait_for(site.balanced, "each switch with its usual owner", seconds=60)
    yield site
    for member in site.members:
        site.members[0].api("POST", f"/v1/cluster/members/{member.name}/undrain")
    for switch in site.switches:
        wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=30)


def test_what_was_set_goes_with_the_switch(everybody: Site) -> None:
    site = everybody
    switch = site.switches[0]
    dpid, owner = switch.bridge.dpid16, site.owner(switch)
    asked = site.members[0]
    static = f"/v1/bridges/{dpid}/fdb/0/{KEPT}"
    assert asked.api("PUT", static, {"port": switch.hosts[0].plug}).status == 201
    drained = asked.api("POST", f"/v1/cluster/members/{owner.name}/drain")
    assert drained.status < 300, drained
    wait_for(
        lambda: site.served(switch) and site.owner(switch) is not owner,
        "another owner",
        seconds=30,
    )
    found = asked.get(f"/v1/bridges/{dpid}/fdb", mac=KEPT)["entries"]
    assert [entry["type"] for entry in found] == ["static"]
    assert asked.api("DELETE", static).status == 204


def test_the_snapshot_that_counts_is_the_one_whose_mark_the_switch_has(site: Site) -> None:
    """As soon as the tree is stable; else no member could continue with it."""
    for switch in site.switches:
        key = Keys().of(f"bridge-{switch.bridge.dpid16}.json")

        def agreed(switch: Switch = switch, key: str = key) -> bool:
            assert site.etcd is not None
            value = site.etcd.value(key) or b"{}"
            kept = json.loads(zlib.decompress(value) if value[:1] == b"\x78" else value)
            cookies = (parse_cookie(flow.cookie) for flow in switch.bridge.all_flows())
            marks = [each.serial for each in cookies if each and each.feature == Feature.MARK]
            return marks == [kept.get("mark")] and "tree" in kept["snapshot"]

        wait_for(agreed, "the tree's snapshot and its mark", seconds=30)


def push(member: Member, text: str) -> Any:
    data = base64.b64encode(gzip.compress(text.encode())).decode()
    return member.api("POST", "/v1/config/push?force=true", {"file": "all.yaml", "data": data})


def test_one_configuration_holds_for_all(site: Site) -> None:
    """From when it is pushed, at a member that comes later too."""
    before = site.members[0].config_file.read_text()
    answer = push(site.members[0], before + "\nforget_after: 4321\n")
    assert answer.status == 200, answer.body
    revision = answer.body["revision"]
    assert {one["revision"] for one in answer.body["members"]} == {revision}
    for member in site.members:
        shown = member.get("/v1/config")
        assert shown["revision"] == revision
        assert shown["file"] == f"all.yaml, revision {revision}"
    wrong = push(site.members[1], "bridges: {br0: {ageing_time: no}}")
    assert wrong.status == 409
    assert site.members[2].get("/v1/config")["revision"] == revision
    last = site.members[2]
    assert last.events("config.differs")
    assert push(site.members[1], before).status == 200
    wait_for(lambda: last.get("/v1/config")["revision"] > revision, "the next revision", seconds=10)
