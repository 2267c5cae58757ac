"""A member says nothing that may be old, and nothing is missing only because it is taken over."""

from __future__ import annotations

import threading
from collections import Counter

from tests.cluster.site import Site
from tests.cluster.test_saved import events_of, settle
from tests.support.background import Background
from tests.support.controller import Reply
from tests.support.waiting import wait_for

MOST_LINES = 40
"""In the log, for as long as another member takes to take over."""


class Asking(Background):
    """Asks members for a bridge again and again; `statuses` counts what they answer."""

    def __init__(self, site: Site, members: list[int], *paths: str) -> None:
        self.statuses: Counter[int] = Counter()
        self.odd: list[Reply] = []
        self._asked = [(site.members[at], path) for at in members for path in paths]
        self._round = threading.Event()
        super().__init__(self._ask)

    def another_round(self) -> None:
        """Wait until everything was asked once more."""
        for _ in range(2):
            self._round.clear()
            assert self._round.wait(60)

    def _ask(self) -> None:
        while not self._stop.wait(0.02):
            for member, path in self._asked:
                reply = member.api("GET", path)
                self.statuses[reply.status] += 1
                if reply.status not in (200, 503):
                    self.odd.append(reply)
            self._round.set()


def test_a_member_that_is_cut_off_answers_nothing_that_may_be_old(site: Site) -> None:
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner = site.owner(switch)
    dpid = switch.bridge.dpid16
    port = f"/v1/bridges/{dpid}/ports/{switch.hosts[2].plug}"
    lost = len(events_of(owner, "cluster.lost"))
    lines = owner.log().count("\n")
    owner.cut("et")
    try:
        wait_for(
            lambda: len(events_of(owner, "cluster.lost")) > lost, "its lease to end", seconds=30
        )
        for path in ("/readyz", f"/v1/bridges/{dpid}", "/v1/bridges", "/v1/fdb", "/v1/config"):
            reply = owner.api("GET", path)
            assert (reply.status, "etcd does not answer" in reply.body["detail"]) == (503, True)
        for body in ({"isolated": True}, {"isolated": False}):
            reply = owner.api("PATCH", port, body)
            assert reply.status == 503
            assert "in force" not in reply.body["detail"]
        assert owner.get("/healthz") == {"status": "ok"}
        assert owner.get("/v1/cluster")["renewed"] > 1
        wait_for(
            lambda: switch.log.master() not in (None, owner.target) and site.served(switch),
            "another owner",
            seconds=30,
        )
        other = site.owner(switch)
        assert other.api("PATCH", port, {"isolated": True}).status == 200
        assert owner.api("GET", port).status == 503
        assert owner.log().count("\n") - lines < MOST_LINES
    finally:
        owner.heal("et")
    wait_for(lambda: owner.api("GET", "/readyz").status == 200, "it to be ready", seconds=30)
    answers = set()

    def asked() -> bool:
        reply = owner.api("GET", port)
        answers.add((reply.status, reply.status == 200 and reply.body["settings"] != {}))
        return site.balanced()

    wait_for(asked, "each switch to be with its usual owner", seconds=60)
    assert answers <= {(200, True), (503, False)}  # never what was before
    assert owner.api("PATCH", port, {"isolated": False}).status == 200
    settle(site)


def test_a_bridge_is_never_missing_while_it_is_taken_over(site: Site) -> None:
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    switch = site.switches[0]
    owner = site.owner(switch)
    dpid = switch.bridge.dpid16
    asked = [at for at, member in enumerate(site.members) if member is not owner]
    with Asking(site, asked, f"/v1/bridges/{dpid}", f"/v1/bridges/{dpid}/fdb") as asking:
        asking.another_round()
        owner.kill9()
        wait_for(
            lambda: switch.log.master() not in (None, owner.target) and site.served(switch),
            "another owner",
            seconds=30,
        )
        asking.another_round()
        owner.start()
        wait_for(site.balanced, "it to have its switches again", seconds=60)
        asking.another_round()
    assert asking.odd == []
    assert asking.statuses[503] > 0
    assert site.members[asked[0]].api("GET", "/v1/bridges/00000000000000aa").status == 404
    assert site.members[asked[0]].api("GET", "/v1/bridges/nothing").status == 404
    settle(site)
