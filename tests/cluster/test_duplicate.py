"""A second process is started by the name of a member."""

from __future__ import annotations

from contextlib import closing

from tests.cluster.site import Member, Site
from tests.support.waiting import wait_for


def test_a_second_process_by_a_members_name_takes_nothing(site: Site) -> None:
    """It says so; the first is there all the while, and after it."""
    assert site.etcd is not None
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    first, asked = site.members[0], site.members[1]
    gone = len(asked.events("cluster.member.gone"))
    options = ("--cluster", f"etcd={site.etcd.endpoints}", "--member", first.name)
    with closing(Member(site.wires, 9, site.plan, options)) as second:
        second.start()
        wait_for(lambda: second.log().count("[cluster.duplicate]") == 1, "it to say so", seconds=30)
        assert "another process goes by the name" in second.get("/v1/cluster")["status"]
        assert second.api("GET", "/readyz").status == 503
    states = {one["name"]: one["state"] for one in asked.get("/v1/cluster")["members"]}
    assert states == {member.name: "ready" for member in site.members}
    assert len(asked.events("cluster.member.gone")) == gone
    assert site.balanced()
    assert first.api("GET", "/readyz").status == 200
