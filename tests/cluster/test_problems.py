"""Problems of a cluster: all members say the same, and an acknowledgement is known to all."""

from __future__ import annotations

from typing import Any

from tests.cluster.site import Member, Site
from tests.support.ownswitch import BRIDGE
from tests.support.waiting import wait_for

GONE, DRAINED, CLOSED = "cluster.member-gone", "cluster.member-drained", "port.closed-in-switch"


def seen(asked: Member, kind: str) -> dict[str, Any]:
    """Problems of a kind by the member that reports them."""
    listed = asked.get("/v1/problems")["problems"]
    return {each["member"]: each for each in listed if each["kind"] == kind}


def acknowledge(asked: Member, problem: dict[str, Any], comment: str) -> None:
    path = f"/v1/problems/{problem['id']}/acknowledgement"
    assert asked.api("PUT", path, {"comment": comment}).status == 204


def comments(asked: Member, kind: str) -> dict[str, str | None]:
    """The comments of acknowledgements, by the member that reports the problem."""
    return {
        name: each["acknowledged"] and each["acknowledged"]["comment"]
        for name, each in seen(asked, kind).items()
    }


def test_a_drained_member_is_acknowledged_at_all_members(site: Site) -> None:
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    first, *_, last = site.members
    names = {member.name for member in site.members}
    drain = f"/v1/cluster/members/{last.name}"
    assert first.api("POST", f"{drain}/drain").status == 200
    try:
        wait_for(lambda: seen(first, DRAINED).keys() == names, "all to report it", seconds=30)
        problem = seen(first, DRAINED)[first.name]
        assert problem["remedy"] == f"ofapp cluster undrain {last.name}"
        acknowledge(first, problem, "new disks")
        for member in site.members:
            wait_for(
                lambda asked=member: comments(asked, DRAINED) == dict.fromkeys(names, "new disks"),
                f"{member.name} to show the acknowledgement",
                seconds=30,
            )
    finally:
        assert first.api("POST", f"{drain}/undrain").status == 200
    wait_for(lambda: not seen(first, DRAINED), "its end", seconds=30)
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)


def test_a_member_that_was_killed_is_reported_until_it_is_back(site: Site) -> None:
    wait_for(site.whole, "all members to be there", seconds=60)
    *others, last = site.members
    last.kill9()
    try:
        names = {member.name for member in others}
        wait_for(lambda: seen(others[0], GONE).keys() == names, "the others to report", seconds=60)
        assert seen(others[0], GONE)[others[0].name]["severity"] == "warning"
    finally:
        site.start(last)
    wait_for(lambda: not seen(others[0], GONE), "its end", seconds=60)
    wait_for(site.whole, "all members to be there", seconds=60)


def test_an_acknowledgement_follows_a_switch_to_its_next_owner(site: Site) -> None:
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner = site.owner(switch)
    asked = next(member for member in site.members if member is not owner)
    port = switch.hosts[0].plug
    switch.ofctl("mod-port", BRIDGE, port, "no-forward")
    drain = f"/v1/cluster/members/{owner.name}"
    try:
        wait_for(lambda: [*seen(asked, CLOSED)] == [owner.name], "the problem", seconds=30)
        acknowledge(asked, seen(asked, CLOSED)[owner.name], "on purpose")
        assert asked.api("POST", f"{drain}/drain").status == 200
        wait_for(
            lambda: seen(asked, CLOSED).keys() not in ({owner.name}, set()),
            "another member to report it",
            seconds=60,
        )
        assert {*comments(asked, CLOSED).values()} == {"on purpose"}
    finally:
        assert asked.api("POST", f"{drain}/undrain").status == 200
        switch.ofctl("mod-port", BRIDGE, port, "forward")
    wait_for(lambda: not seen(asked, CLOSED), "its end", seconds=30)
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
