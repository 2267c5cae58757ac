"""Invalid keys below the cluster's prefix in etcd stop nothing, and are reported."""

from __future__ import annotations

from tests.cluster.site import Member, Site
from tests.cluster.test_shared import push
from tests.support.waiting import wait_for

ROOT = "/ofapp/default/"


def invalid(member: Member) -> set[str]:
    return {one["key"] for one in member.get("/v1/cluster")["invalid"]}


def test_invalid_keys_stop_nothing(site: Site) -> None:
    """A member that restarts meanwhile claims its switches, and one that pushes is not refused."""
    assert site.etcd is not None
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner, asked = site.owner(switch), site.members[0]
    dpid = switch.bridge.dpid16
    names = [
        *(
            "owners/zzz",
            "members/-",
            "drained/a b",
            "wanted/x",
            "unheard/x",
            "bases/x",
            "running/-",
        ),
        *("configuration/current", "state/bridges/x/entries.json", "state/common/a/b", "else"),
    ]
    keys = {ROOT + name for name in names}
    try:
        for key in keys | {f"{ROOT}owners/{dpid}", f"{ROOT}members/{owner.name}"}:
            site.etcd.put(key, b"x")
        owner.kill9()
        owner.start()
        for member in site.members:
            wait_for(lambda own=member: keys <= invalid(own), "a report of all", seconds=30)
        wait_for(site.whole, "all members to be there", seconds=60)
        wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
        assert switch.forwards()
        pushed = push(asked, asked.config_file.read_text())
        assert pushed.status == 200, pushed.body
        assert f"{ROOT}configuration/current" not in invalid(asked)
    finally:
        for key in keys:
            site.etcd.delete(key)
    for member in site.members:
        wait_for(lambda own=member: not invalid(own), "nothing to report", seconds=30)
