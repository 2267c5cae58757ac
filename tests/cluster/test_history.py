"""etcd is wiped, or restored from a snapshot: the members recover by themselves."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.cluster.site import Member, Site
from tests.cluster.tally import Tally
from tests.cluster.watching import Watch
from tests.support.waiting import wait_for

RECOVERED = 10.0
"""Seconds from etcd's return until each switch has an owner that has it in line."""

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))
KIND = "cluster.history.cleared"


def recoveries(site: Site) -> list[int]:
    """How often each member has written back what it knows."""
    return [
        sum(event["member"] == member.name for event in member.events(KIND))
        for member in site.members
    ]


def static(site: Site, place: int) -> str:
    return f"/v1/bridges/{site.switches[0].bridge.dpid16}/fdb/0/02:0d:00:00:01:{place:02x}"


def set_entry(member: Member, site: Site, place: int) -> None:
    body = {"port": site.switches[0].hosts[0].plug}
    reply = member.patiently("PUT", static(site, place), body)
    assert reply.status in (200, 201), reply


def recovered(site: Site, before: list[int]) -> bool:
    """Whether each member has written back, and each switch has an owner."""
    after = recoveries(site)
    done = all(now > was for now, was in zip(after, before, strict=True))
    return done and all(map(site.served, site.switches))


@pytest.mark.parametrize("how", ["wiped", "restored"])
def test_etcd_has_another_history(site: Site, how: str, tally: Tally) -> None:
    """No frame between known hosts is lost, and what was set stays."""
    etcd = site.etcd
    assert etcd is not None
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    asked = site.members[0]
    set_entry(asked, site, 1)
    snapshot: Path | None = etcd.snapshot() if how == "restored" else None
    set_entry(asked, site, 2)
    assert asked.patiently("DELETE", static(site, 1)).status == 204
    switch = site.switches[0]
    port = f"/v1/bridges/{switch.bridge.dpid16}/ports/{switch.listener.plug}"
    assert asked.patiently("PATCH", port, {"fdb_max_learned": 50}).status == 200
    before = recoveries(site)
    watch = Watch(site)
    with watch:
        etcd.wipe() if snapshot is None else etcd.restore(snapshot)
        back = time.monotonic()
        wait_for(lambda: recovered(site, before), "all to recover", seconds=60)
        took = time.monotonic() - back
        print(f"{how}: recovered {took:.1f} s after etcd's return")
        watch.newcomers(*site.switches)
    tally.add(watch.seen)
    tally.assert_unharmed()
    assert not THOROUGH or took < RECOVERED
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    owner = site.owner(switch)
    owner.kill9()  # so that another process reads what etcd has
    owner.start()
    wait_for(site.whole, "all members to be there", seconds=60)
    # The switch may be on its way back to its usual owner.
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    assert asked.patiently("GET", port).body["limit"] == 50
    assert asked.patiently("DELETE", static(site, 1)).status == 404
    assert asked.patiently("DELETE", static(site, 2)).status == 204
    assert asked.patiently("PATCH", port, {"fdb_max_learned": None}).status == 200
    assert etcd.value("/ofapp/default/history") is not None
