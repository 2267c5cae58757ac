"""Every member answers for every bridge, and names its owner."""

from __future__ import annotations

import time

from tests.cluster.site import Member, Site, Switch
from tests.support.waiting import wait_for


def others(site: Site, switch: Switch) -> list[Member]:
    owner = site.owner(switch)
    return [member for member in site.members if member is not owner]


def test_all_tell_the_same_of_the_cluster(site: Site) -> None:
    for member in site.members:
        answer = member.get("/v1/cluster")
        assert answer["member"] == member.name
        assert [one["name"] for one in answer["members"]] == ["m1", "m2", "m3"]
        assert {one["state"] for one in answer["members"]} == {"ready"}
        assert 0 <= answer["renewed"] < 60
        assert all(0 <= one["lease"] < 60 for one in answer["members"])
        owners = {one["datapath_id"]: one["owner"] for one in answer["bridges"]}
        assert owners == {own.bridge.dpid16: site.owner(own).name for own in site.switches}
        assert all(one["reason"] for one in answer["bridges"])


def test_metrics_have_what_alerts_ask_for(site: Site) -> None:
    (asked, *_) = site.members
    lines = dict(
        line.rsplit(" ", 1)
        for line in asked.get("/metrics").splitlines()
        if line.startswith("ofapp_cluster_")
    )
    for member in site.members:
        assert lines[f'ofapp_cluster_member{{member="{member.name}",state="ready"}}'] == "1.0"
    for switch in site.switches:
        owned = f'ofapp_cluster_bridge_owned{{datapath_id="{switch.bridge.dpid16}"}}'
        assert lines[owned] == "1.0"
    nodes = [name for name in lines if name.startswith("ofapp_cluster_etcd_node{")]
    assert [lines[name] for name in nodes] == ["1.0"] * 3
    alarms = [name for name in lines if name.startswith("ofapp_cluster_etcd_alarm{")]
    assert [lines[name] for name in alarms] == ["0.0"] * 6
    assert abs(float(lines["ofapp_cluster_clock_seconds"]) - time.time()) < 30
    assert lines['ofapp_cluster_config_behind{member="m1"}'] == "0.0"


def test_each_answers_for_each_bridge(site: Site) -> None:
    for switch in site.switches:
        dpid, owner = switch.bridge.dpid16, site.owner(switch)
        one = switch.pair[0]
        for member in site.members:
            answer = member.get(f"/v1/bridges/{dpid}")
            assert answer["connected"], member.name
            assert answer["in_line"], member.name
            assert [own["datapath_id"] for own in member.get("/v1/bridges")["bridges"]] == [
                each.bridge.dpid16 for each in site.switches
            ]
            where = {
                found["datapath_id"]: found["port"]["name"]
                for found in member.get("/v1/fdb", mac=one.mac)["entries"]
            }
            assert where[dpid] == one.plug, (member.name, owner.name)


def test_each_tells_of_all_that_happened(site: Site) -> None:
    """In the order of time, with whose event it is; of a bridge also by its name."""
    answers = [member.get("/v1/events") for member in site.members]
    assert all({one["member"] for one in each["events"]} == {"m1", "m2", "m3"} for each in answers)
    times = [one["time"] for one in answers[0]["events"]]
    assert times == sorted(times)
    switch = site.switches[0]
    owner = site.owner(switch)
    first, second = others(site, switch)
    after = first.get("/v1/events")["last"]
    path = f"/v1/bridges/{switch.bridge.dpid16}/fdb/0/02:0d:00:00:00:09"
    assert first.api("PUT", path, {"port": switch.hosts[0].plug}).status == 201
    assert first.api("DELETE", path).status == 204
    for asked in (first, second, owner):
        (*_, changed) = asked.get("/v1/events", kind="audit.change")["events"]
        assert (changed["member"], "02:0d:00:00:00:09" in changed["message"]) == (owner.name, True)
        (*_, taken) = asked.get("/v1/events", kind="cluster.owner", bridge=switch.bridge.dpid16)[
            "events"
        ]
        assert taken["member"] == owner.name
    since = first.get("/v1/events", since=after)["events"]
    assert since[-1]["member"] == owner.name
    assert first.api("GET", "/v1/events", bridge="nobody").status == 404
    assert first.api("GET", "/v1/events", bridge="br0").status == 409  # both are called so


def test_any_member_is_asked_what_the_death_of_one_leads_to(site: Site) -> None:
    """The one that would die answers: it has the switches."""
    name = site.owner(site.switches[0]).name
    for member in site.members:
        reply = member.api("POST", "/v1/what-if", {"fail_member": name, "seconds": 20})
        assert reply.status == 200, reply
        said = [each for each in reply.body["assumptions"] if f"the switches of {name}" in each]
        assert said, (member.name, reply.body["assumptions"])
        assert not reply.body["interrupted"], "switches go on without a controller"


def test_one_map_at_each(site: Site) -> None:
    """Bridges of different members, and the cables between them."""
    assert len({site.owner(switch).name for switch in site.switches}) == 2
    one, other = (switch.bridge.dpid16 for switch in site.switches)

    def cables(member: Member) -> list[tuple[str, str]]:
        answer = member.get("/v1/topology")
        assert [own["datapath_id"] for own in answer["bridges"]] == [one, other]
        assert answer["silent"] == answer["neighbours"] == []
        return [
            (link["a"]["port"]["name"], link["source"])
            for link in answer["links"]
            if (link["a"]["datapath_id"], link["b"]["datapath_id"]) == (one, other)
            and link["a"]["port"] == link["b"]["port"]
            and "designated" in {link["stp"][end]["role"] for end in ("a", "b")}
        ]

    for member in site.members:
        wait_for(
            lambda asked=member: cables(asked) == [("cable4", "lldp"), ("cable5", "lldp")],
            "both cables on the map",
            seconds=60,
        )
        assert member.get("/v1/search", q="cable4")["neighbours"] == []


def test_what_is_changed_by_another_is_changed_at_the_owner(site: Site) -> None:
    switch = site.switches[0]
    path = f"/v1/bridges/{switch.bridge.dpid16}/fdb/0/02:0d:00:00:00:01"
    first, second = others(site, switch)
    assert first.api("PUT", path, {"port": switch.hosts[0].plug}).status == 201
    found = second.fdb(switch.bridge, mac="02:0d:00:00:00:01")
    assert [entry["type"] for entry in found] == ["static"]
    (changed,) = site.owner(switch).events("audit.change")[-1:]
    assert f"by way of {first.name}" in changed["message"]
    assert second.api("DELETE", path).status == 204
    refused = second.api("DELETE", path)
    assert refused.status == 404
    assert "static" in refused.body["detail"]


def test_pages_over_all_members_tell_each_entry_once(site: Site) -> None:
    member = site.members[0]
    whole = member.get("/v1/fdb", limit=1000)["entries"]
    paged, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = member.get("/v1/fdb", limit=3, **more)
        assert len(page["entries"]) <= 3
        paged += page["entries"]
        cursor = page["next"]
        if cursor is None:
            break
    keys = [(one["datapath_id"], one["vlan"], one["mac"]) for one in whole]
    assert [(one["datapath_id"], one["vlan"], one["mac"]) for one in paged] == keys
    assert {one["datapath_id"] for one in whole} == {own.bridge.dpid16 for own in site.switches}


def test_a_silent_member_is_named_and_holds_nobody_up(site: Site) -> None:
    switch = site.switches[0]
    owner = site.owner(switch)
    asked = others(site, switch)[0]
    owner.pause()
    try:
        answer = asked.get("/v1/bridges")
        assert [one["member"] for one in answer["silent"]] in ([owner.name], [])
    finally:
        owner.resume()
    wait_for(lambda: site.served(switch), "an owner in line", seconds=60)
    wait_for(site.whole, "all members to be there", seconds=60)


def test_a_drained_member_gives_up_its_switches(site: Site) -> None:
    switch = site.switches[0]
    drained = site.usual(switch)
    wait_for(lambda: site.owner(switch).name == drained, "its usual owner", seconds=60)
    asked = next(member for member in site.members if member.name != drained)
    assert asked.api("POST", f"/v1/cluster/members/{drained}/drain").status == 200
    try:
        wait_for(
            lambda: all(one["owner"] != drained for one in asked.get("/v1/cluster")["bridges"]),
            "the drained member to have nothing",
            seconds=30,
        )
        states = {one["name"]: one["state"] for one in asked.get("/v1/cluster")["members"]}
        assert states[drained] == "drained"
    finally:
        assert asked.api("POST", f"/v1/cluster/members/{drained}/undrain").status == 200
    wait_for(
        lambda: any(one["owner"] == drained for one in asked.get("/v1/cluster")["bridges"]),
        "it to have its share again",
        seconds=30,
    )
    for switch in site.switches:
        wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=30)
    missing = asked.api("POST", "/v1/cluster/members/m9/drain")
    assert missing.status == 404
    assert "m1, m2, m3" in missing.body["detail"]
