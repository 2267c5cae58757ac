"""A configuration that is pushed: all members take it, or nothing changes anywhere."""

from __future__ import annotations

import base64
import gzip
import time
from pathlib import Path

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.config import Config, load_config
from ofapp.controller.cluster.etcd.etcd import Put
from ofapp.controller.cluster.etcd.guard import GuardedEtcd
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing import configuration
from ofapp.controller.cluster.sharing.configuration import LocalConfiguration, SharedConfiguration
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.configuration.pushed import Pushed, PushError
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from tests.support.etcd import FakeClient, FakeEtcd
from tests.support.waiting import wait_for
from tests.unit.api.clients import Clients
from tests.unit.api.network import add_bridge

KEYS = Keys("test")
TEXT = "bridges: {1: {ageing_time: 60}}\n"
OTHER = "bridges: {1: {ageing_time: 90}}\n"


class Member:
    """A member of the cluster, with a bridge.

    lease: its number; check: tries a configuration.
    """

    def __init__(self, name: str, etcd: FakeEtcd, file: Path | None = None) -> None:
        self.etcd: FakeClient = etcd.client()
        self.events: list[Event] = []
        guarded = GuardedEtcd(self.etcd, KEYS, self._emit)
        self.history = History(guarded, KEYS, self._emit)
        self.shared = SharedConfiguration(guarded, KEYS, name, self._emit)
        config = self.shared.begin() or load_config(file)
        state = SharedState(None, self._emit, self.etcd, KEYS)
        self.network = Network(config, state, EventLog(), find=lambda: file)
        self.bridge = add_bridge(self.network)
        reloader = self.network.reloader
        self.lease = self.etcd.grant(10).number
        self.check = reloader.check_pushed
        reloader.sharing, reloader.pushed = self.shared, self.shared.taken
        self.shared.start(
            LocalConfiguration(
                self.network.apply_pushed,
                self._try,
                reloader.local_config,
                lambda: self.lease,
            )
        )

    def _try(self, pushed: Pushed, force: bool) -> None:
        self.check(pushed, force)

    def forked(self, _why: str) -> int:
        """See `History`."""
        return 0

    def recovered(self, unchanged: object) -> None:
        """See `History`."""

    def _emit(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def ageing(self) -> float | None:
        return self.network.running.of(1).ageing_time

    def push(self, text: str, dry_run: bool = False, force: bool = False) -> int | None:
        pushed = Pushed(text.encode(), "ofapp.yaml", "anna", time.time())
        return self.shared.push(pushed, dry_run, force).revision


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture(scope="module")
def clients() -> Clients:
    return Clients()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "PATIENCE", 0.2)
    monkeypatch.setattr(configuration, "REPEAT", 0.02)


def test_all_members_take_it_at_once_and_so_does_one_that_comes_later(etcd: FakeEtcd) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    revision = a.push(TEXT)
    assert revision is not None
    assert (a.ageing, b.ageing) == (60, 60)
    late = Member("c", etcd)
    assert late.ageing == 60
    for member in (a, b, late):
        wait_for(lambda m=member: len(m.shared.members()) == 3, "all of them", sleep=hub.sleep)
        assert {each.revision for each in member.shared.members()} == {revision}
        assert "config.differs" not in member.kinds
    assert b.push(OTHER) != revision
    assert [member.ageing for member in (a, b, late)] == [90, 90, 90]


def test_a_dry_run_changes_nothing(etcd: FakeEtcd) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    before = a.ageing
    assert a.push(TEXT, dry_run=True) is None
    assert (a.ageing, b.ageing) == (before, before)
    assert not [key for key in etcd.records if key.startswith(KEYS.configuration)]


def test_what_one_member_cannot_do_changes_nothing_anywhere(
    etcd: FakeEtcd,
) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    a.push(TEXT)

    def check(pushed: Pushed, force: bool) -> None:
        """As an earlier version that does not know an option."""
        Pushed(b"unknown: 1", "ofapp.yaml", "", 0).config()

    b.check = check
    with pytest.raises(PushError, match=r"member b cannot: .*unknown"):
        a.push(OTHER)
    assert (a.ageing, b.ageing) == (60, 60)


def test_who_is_silent_is_reported_and_who_is_gone_is_not_waited_for(etcd: FakeEtcd) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    b.etcd.cut = True
    with pytest.raises(PushError, match="b is silent"):
        a.push(TEXT)
    etcd.advance(20)  # leases end, also a's
    a.lease = a.etcd.grant(1000).number
    wait_for(
        lambda: [each.name for each in a.shared.members()] == ["a"], "a alone", sleep=hub.sleep
    )
    a.push(TEXT)
    assert a.ageing == 60
    b.etcd.cut = False
    etcd.deliver()
    assert b.ageing == 60, "it takes it when it is back"


def test_two_who_push_at_once_do_not_undo_each_other(etcd: FakeEtcd) -> None:
    a = Member("a", etcd)
    a.push(TEXT)
    other = Pushed(OTHER.encode(), "other.yaml", "berta", 0)
    asked = a.shared._await_verdicts

    def meanwhile(offer: int, force: bool) -> None:
        asked(offer, force)
        etcd.delayed = True
        etcd.apply([Put(KEYS.current, configuration.value_of(other))])

    a.shared._await_verdicts = meanwhile  # type: ignore[method-assign]
    with pytest.raises(PushError, match="pushed or tried at the same time"):
        a.push("bridges: {1: {ageing_time: 30}}\n")
    etcd.delayed = False
    etcd.deliver()
    assert a.ageing == 90


def test_a_member_that_cannot_goes_on_and_says_so(etcd: FakeEtcd) -> None:
    a = Member("a", etcd)
    first = a.push(TEXT)
    bad = Pushed(b"bridges: {1: {ageing_time: -5}}", "ofapp.yaml", "a later version", 0)
    etcd.apply([Put(KEYS.current, configuration.value_of(bad))])
    assert a.ageing == 60
    assert "config.behind" in a.kinds
    (said,) = a.shared.members()
    assert said.revision == first
    assert "ageing_time" in said.error
    later = Member("b", etcd)
    assert later.shared.taken is None
    assert "config.behind" in later.kinds


def test_a_machine_whose_own_file_says_something_else_says_so(
    etcd: FakeEtcd, tmp_path: Path
) -> None:
    same, other = tmp_path / "same.yaml", tmp_path / "other.yaml"
    same.write_text(TEXT)
    other.write_text(OTHER)
    a, b = Member("a", etcd, same), Member("b", etcd, other)
    assert b.ageing == 90
    a.push(TEXT)
    assert b.ageing == 60
    assert a.kinds == []
    assert b.kinds == ["config.differs"]
    assert [each.differs for each in a.shared.members()] == [False, True]
    other.write_text("bridges: {1: {ageing_time: 77}}\n")
    b.network.reload("SIGHUP")
    assert b.ageing == 60, "what was pushed holds"


class TestApi:
    def body(self, text: str) -> dict[str, str]:
        data = base64.b64encode(gzip.compress(text.encode())).decode()
        return {"file": "ofapp.yaml", "data": data}

    def test_pushes_and_shows(self, etcd: FakeEtcd, clients: Clients) -> None:
        a, b = Member("a", etcd), Member("b", etcd)
        client = clients(a.network)
        planned = client.post("/v1/config/push?dry_run=true", json=self.body(TEXT))
        assert planned.status_code == 200
        assert planned.json["revision"] is None
        assert planned.json["here"]["bridges"][0]["changes"]
        answer = client.post("/v1/config/push", json=self.body(TEXT))
        assert answer.status_code == 200
        assert {each["revision"] for each in answer.json["members"]} == {answer.json["revision"]}
        assert b.ageing == 60
        shown = clients(b.network).get("/v1/config").json
        assert shown["revision"] == answer.json["revision"]
        assert shown["file"] == f"ofapp.yaml, revision {answer.json['revision']}"
        assert [each["name"] for each in shown["members"]] == ["a", "b"]
        cut = client.post("/v1/config/push", json=self.body(""))
        assert cut.status_code == 409
        assert "ofapp config push --force" in cut.json["detail"]
        wrong = client.post("/v1/config/push", json=self.body("bridges: {1: {ageing_time: no}}"))
        assert wrong.status_code == 409
        assert wrong.json["errors"]
        none = client.post("/v1/config/push", json={"file": "x", "data": "no"})
        assert none.status_code == 409

    def test_all_members_know_the_versions_and_any_rolls_all_back(
        self, etcd: FakeEtcd, clients: Clients, tmp_path: Path
    ) -> None:
        a, b = Member("a", etcd), Member("b", etcd)
        for text in (TEXT, OTHER):
            assert clients(a.network).post("/v1/config/push", json=self.body(text)).is_json
        client = clients(b.network)

        def versions() -> list[tuple[int, str, bool]]:
            listed = client.get("/v1/config/versions").json["versions"]
            return [(own["version"], own["how"], own["in_force"]) for own in listed]

        wait_for(lambda: len(versions()) == 2, "the versions at another member", sleep=hub.sleep)
        assert versions() == [(2, "push", True), (1, "push", False)]
        planned = client.post("/v1/config/versions/1/rollback?dry_run=true")
        assert planned.json["bridges"][0]["changes"] == ["ageing_time: 90 -> 60"]
        assert (a.ageing, b.ageing) == (90, 90)
        assert client.post("/v1/config/versions/1/rollback").status_code == 200
        assert (a.ageing, b.ageing) == (60, 60)
        assert versions()[0] == (3, "rollback to version 1", True)
        later = Member("c", etcd)
        later.network.versions.start()
        assert later.ageing == 60
        assert len(later.network.versions.all) == 3

    def test_the_local_files_of_members_are_versions_of_their_own(
        self, etcd: FakeEtcd, clients: Clients, tmp_path: Path
    ) -> None:
        file = tmp_path / "ofapp.yaml"
        file.write_text(TEXT)
        a, b = Member("a", etcd, file), Member("b", etcd, file)
        networks = a.network, b.network
        for network, expected in ((a.network, 1), (b.network, 2), (a.network, 2)):
            network.versions.start()
            wait_for(
                lambda expected=expected: (
                    [len(own.versions.all) for own in networks]  # type: ignore[misc]
                    == [expected, expected]
                ),
                "both members to know the versions",
                sleep=hub.sleep,
            )
        listed = clients(a.network).get("/v1/config/versions").json["versions"]
        assert [(own["version"], own["member"]) for own in listed] == [(2, "b"), (1, "a")]
        assert [own["in_force"] for own in listed] == [False, True]

    def test_says_what_to_do_where_there_is_no_cluster(self, clients: Clients) -> None:
        network = Network(Config(), State(None), EventLog())
        answer = clients(network).post("/v1/config/push", json=self.body(TEXT))
        assert answer.status_code == 409
        assert "ofapp config reload" in answer.json["detail"]
        shown = clients(network).get("/v1/config").json
        assert (shown["revision"], shown["members"]) == (None, [])


def test_after_etcd_was_wiped_it_is_there_again_and_the_next_is_taken(etcd: FakeEtcd) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    members = (a, b)
    for member in members:
        member.history.begin()
    a.push(TEXT)
    before = a.push(TEXT)
    etcd.wipe()
    for member in members:
        member.history.look(member)
        assert member.ageing == 60
        assert member.shared.current is not None
    record = etcd.records[KEYS.current]
    assert [one.shared.current and one.shared.current.revision for one in members] == [
        record.modified
    ] * 2
    assert before is not None
    assert record.modified < before
    for member in members:
        member.lease = member.etcd.grant(10).number
        member.shared._publish()
    b.push(OTHER)
    assert a.ageing == b.ageing == 90


@pytest.mark.parametrize("value", [b"x", None])
def test_one_that_is_none_or_was_deleted_is_replaced_by_the_next(
    etcd: FakeEtcd, value: bytes | None
) -> None:
    a, b = Member("a", etcd), Member("b", etcd)
    a.push(TEXT)
    by_hand = etcd.client()
    by_hand.delete(KEYS.current) if value is None else by_hand.put(KEYS.current, value)
    assert b.ageing == 60, "what holds, holds on"
    c = Member("c", etcd)
    assert c.ageing != 60
    b.push(OTHER)
    assert a.ageing == b.ageing == c.ageing == 90
