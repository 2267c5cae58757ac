"""What becomes of members whose etcd is full, or has forgotten what they missed."""

from __future__ import annotations

from typing import Any

from tests.cluster.site import Member, Site
from tests.cluster.tally import Tally
from tests.cluster.watching import Watch
from tests.support.waiting import wait_for

ALARM, PROBLEM = "cluster.etcd.alarm", "cluster.etcd-alarm"


def own(member: Member, kind: str) -> list[dict[str, Any]]:
    """What it has told itself."""
    return [event for event in member.events(kind) if event["member"] == member.name]


def problems(member: Member) -> set[str]:
    """The kinds of problems that stand, by all members."""
    return {problem["kind"] for problem in member.get("/v1/problems")["problems"]}


def test_its_disk_is_full(site: Site, tally: Tally) -> None:
    """Switches keep their owners, who go on and say so; what goes meanwhile is taken over as soon
    as there is room."""
    assert site.etcd is not None
    switch, other = site.switches
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    owner, member = site.owner(switch), site.owner(other)
    static = f"/v1/bridges/{other.bridge.dpid16}/fdb/0/02:0d:00:00:00:07"
    counts = [len(own(one, ALARM)) for one in site.members]
    watch = Watch(site)
    with watch:
        site.etcd.fill()
        try:
            for one, before in zip(site.members, counts, strict=True):
                wait_for(
                    lambda one=one, before=before: len(own(one, ALARM)) > before,
                    f"{one.name} to say that etcd is full",
                    seconds=30,
                )
            wait_for(lambda: PROBLEM in problems(member), "a problem", seconds=30)
            watch.newcomers(*site.switches)
            assert [site.owner(each) for each in site.switches] == [owner, member]
            refused = member.api("PUT", static, {"port": other.hosts[0].plug})
            assert refused.status >= 500
            assert "etcd is full" in refused.body["detail"]
            owner.kill9()
            wait_for(
                lambda: member.get("/v1/cluster")["bridges"][1:] == [],
                "the lease of who was killed to end",
                seconds=30,
            )
        finally:
            site.etcd.make_room()
        watch.taken(switch, owner)
        cleared = f"{ALARM}.cleared"
        wait_for(lambda: own(member, cleared), f"{member.name} to say that it is not", seconds=30)
        wait_for(lambda: PROBLEM not in problems(member), "the end of the problem", seconds=30)
        assert member.api("PUT", static, {"port": other.hosts[0].plug}).status in (200, 201)
        assert member.api("DELETE", static).status == 204
        owner.start()
    tally.add(watch.seen)
    tally.assert_unharmed()


def test_its_history_is_compacted_while_a_member_is_cut_off(site: Site) -> None:
    """The member reads again what it missed when it is back."""
    assert site.etcd is not None
    owner = site.owner(site.switches[0])
    away, asked = (member for member in site.members if member is not owner)
    away.cut("et")
    try:
        wait_for(
            lambda: (
                asked.get("/v1/cluster")["members"][site.members.index(away)]["state"] == "gone"
            ),
            f"{away.name} to have gone",
            seconds=30,
        )
        assert asked.api("POST", f"/v1/cluster/members/{owner.name}/drain").status == 200
        wait_for(
            lambda: all(one["owner"] == asked.name for one in asked.get("/v1/cluster")["bridges"]),
            f"all to be {asked.name}'s",
            seconds=30,
        )
        site.etcd.compact()
    finally:
        away.heal("et")

    def known(member: Member) -> tuple[Any, ...]:
        answer = member.get("/v1/cluster")
        owners = {one["datapath_id"]: one["owner"] for one in answer["bridges"]}
        return owners, {one["name"]: one["state"] for one in answer["members"]}

    try:
        wait_for(
            lambda: (
                known(away) == known(asked)
                and known(away)[1]
                == {m.name: "drained" if m is owner else "ready" for m in site.members}
            ),
            "the same to be told by all",
            seconds=30,
        )
    finally:
        assert asked.api("POST", f"/v1/cluster/members/{owner.name}/undrain").status == 200
    wait_for(lambda: known(away) == known(owner) == known(asked), "all to agree", seconds=30)
    for switch in site.switches:
        wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=30)
    wait_for(site.whole, "all members to be there", seconds=60)
