"""What is set counts as saved when etcd has acknowledged it, and not before."""

from __future__ import annotations

from typing import Any

from tests.cluster.site import Member, Site
from tests.support.waiting import wait_for

STATIC = "02:0d:00:00:00:21"


def events_of(member: Member, kind: str) -> list[dict[str, Any]]:
    """What a member reports itself; nothing while it cannot be asked."""
    reply = member.api("GET", "/v1/events")
    events = reply.body["events"] if reply.status == 200 else []
    return [one for one in events if one["kind"] == kind and one["member"] == member.name]


def settle(site: Site) -> None:
    for switch in site.switches:
        wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=60)
    wait_for(site.whole, "all members to be there", seconds=60)


def test_what_is_set_while_etcd_is_away_is_saved_when_it_is_back(site: Site) -> None:
    """Also when its owner is killed right after it has said so."""
    assert site.etcd is not None
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner = site.owner(switch)
    dpid, plug = switch.bridge.dpid16, switch.hosts[2].plug
    port, static = f"/v1/bridges/{dpid}/ports/{plug}", f"/v1/bridges/{dpid}/fdb/0/{STATIC}"
    lost, saved = len(events_of(owner, "cluster.lost")), len(events_of(owner, "state.saved"))
    site.etcd.kill()
    try:
        for reply in (
            owner.api("PATCH", port, {"isolated": True}),
            owner.api("PUT", static, {"port": plug}),
        ):
            assert reply.status == 503
            assert "not saved" in reply.body["detail"]
            assert "in force" not in reply.body["detail"]
        wait_for(
            lambda: len(events_of(owner, "cluster.lost")) > lost, "the lease to end", seconds=30
        )
        assert len(events_of(owner, "state.saved")) == saved
    finally:
        site.etcd.start()
    wait_for(lambda: len(events_of(owner, "state.saved")) > saved, "all to be saved", seconds=30)
    assert events_of(owner, "state.lost") == []
    owner.kill9()
    try:
        wait_for(
            lambda: switch.log.master() not in (None, owner.target) and site.served(switch),
            "another owner",
            seconds=30,
        )
        other = site.owner(switch)
        assert other.get(port)["settings"] == {"isolated": True}
        found = other.get(f"/v1/bridges/{dpid}/fdb", mac=STATIC)["entries"]
        assert [entry["type"] for entry in found] == ["static"]
        assert other.api("PATCH", port, {"isolated": False}).status == 200
        assert other.api("DELETE", static).status == 204
    finally:
        owner.start()
    settle(site)


def test_what_is_set_by_a_member_that_loses_the_switch_is_reported_lost(site: Site) -> None:
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner = site.owner(switch)
    port = f"/v1/bridges/{switch.bridge.dpid16}/ports/{switch.hosts[2].plug}"
    owner.cut("et")
    try:
        reply = owner.api("PATCH", port, {"isolated": True})
        assert reply.status == 503
        wait_for(
            lambda: switch.log.master() not in (None, owner.target) and site.served(switch),
            "another owner",
            seconds=30,
        )
    finally:
        owner.heal("et")
    wait_for(lambda: events_of(owner, "state.lost"), "the loss to be reported", seconds=30)
    (lost,) = events_of(owner, "state.lost")
    assert lost["datapath_id"] == switch.bridge.dpid16
    assert "settings" in lost["message"]
    assert all(saved["time"] < lost["time"] for saved in events_of(owner, "state.saved"))
    wait_for(lambda: owner.api("GET", "/readyz").status == 200, "it to be ready", seconds=30)
    assert owner.get("/v1/config")["unsaved"] is None
    assert site.owner(switch).get(port)["settings"] == {}
    settle(site)
