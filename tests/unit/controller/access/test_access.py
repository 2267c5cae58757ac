"""Who asks, and what they may do; how tokens are kept and failed logins slowed down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.bridge.event import Event
from ofapp.bridge.input_error import InputError
from ofapp.common import hub
from ofapp.controller.access import (
    Access,
    Credentials,
    RejectedError,
    Rules,
    Tokens,
    User,
    UserRole,
)
from ofapp.controller.access import access as module
from ofapp.controller.access.access import BURST, EVERY
from ofapp.controller.access.sessions import IDLE, LONGEST, OF_TOKEN, Sessions
from ofapp.controller.state import NotSavedError
from ofapp.controller.state.store import State
from tests.support.waiting import wait_for

OPERATORS = 4711


class Clock:
    """Both of the clocks that this module looks at."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now

    monotonic = time


class Gateway:
    """An `Access` and its events."""

    def __init__(self, directory: Path | None = None, **rules: Any) -> None:
        self.events: list[Event] = []
        tokens = Tokens(State(directory, self._record).storage, self._record)
        self.access = Access(tokens, self._record, Rules(**rules))

    def _record(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def make(
        self, name: str, role: UserRole = UserRole.VIEWER, lifetime: float | None = None
    ) -> str:
        now = module.time.time()
        secret, saved = self.access.tokens.create(name, role, "root", now, lifetime)
        saved.wait()
        return secret

    def who(self, peer: str = "192.0.2.1", **brought: Any) -> str:
        caller = self.access.identify(Credentials(peer, peer, **brought))
        return f"{caller.name}: {caller.role}"

    def rejected(self, peer: str = "192.0.2.1", **brought: Any) -> RejectedError:
        with pytest.raises(RejectedError) as found:
            self.who(peer, **brought)
        return found.value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_it_is_open_until_the_first_token() -> None:
    door = Gateway()
    assert door.who() == "anybody: admin"
    assert door.who(bearer="whatever") == "anybody: admin"
    secret = door.make("grafana")
    assert door.who(bearer=secret) == "token grafana: viewer"
    assert "asks for a token" in str(door.rejected())
    door.access.tokens.revoke("grafana")
    door.rejected()
    assert "no such token" in str(door.rejected(bearer=secret))


def test_it_is_opened_again_with_the_last_token_and_on_request_alone(tmp_path: Path) -> None:
    """Who replaces a token by another one does not open the API for a moment."""
    door = Gateway(tmp_path)
    for name in ("grafana", "ansible"):
        door.make(name)
    with pytest.raises(InputError, match="there are 1 other tokens"):
        door.access.tokens.revoke("grafana", reopen=True)
    door.access.tokens.revoke("ansible").wait()
    Gateway(tmp_path).rejected()
    door.access.tokens.revoke("grafana", reopen=True).wait()
    assert door.who() == Gateway(tmp_path).who() == "anybody: admin"
    door.make("grafana")
    door.access.tokens.revoke("grafana").wait()
    door.rejected()
    Gateway(tmp_path).rejected()


def test_where_it_is_required_it_is_closed_from_the_start() -> None:
    door = Gateway(required=True)
    door.rejected()
    door.rejected(bearer="")
    assert door.who(user=User(0)) == "root: admin"


@pytest.mark.parametrize(
    ("user", "who"),
    [
        (User(0), "root: admin"),
        (User(990), "uid 990: admin"),
        (User(1000, frozenset({1000, OPERATORS})), "uid 1000: operator"),
        (User(1000, frozenset({1000})), None),
    ],
)
def test_over_the_socket_users_and_groups_count(user: User, who: str | None) -> None:
    door = Gateway(required=True, own=990, operators=OPERATORS)
    if who is None:
        assert "neither root nor an operator" in str(door.rejected(user=user))
    else:
        assert door.who(user=user) == who
    secret = door.make("grafana")
    assert door.who(user=user, bearer=secret) == "token grafana: viewer"


def test_a_token_ends_with_its_time(clock: Clock) -> None:
    door = Gateway()
    secret = door.make("brief", lifetime=60)
    caller = door.access.identify(Credentials("a", "a", bearer=secret))
    assert door.access.still(caller)
    clock.now += 60
    assert "token brief has expired" in str(door.rejected(bearer=secret))
    assert not door.access.still(caller)
    assert door.access.failures.counts == {"expired": 1}


def test_a_token_is_revoked_at_once_also_for_who_follows_the_events() -> None:
    door = Gateway()
    secret = door.make("ops", UserRole.OPERATOR)
    caller = door.access.identify(Credentials("a", "a", bearer=secret))
    session = door.access.log_in(caller)
    followers = [caller, door.access.identify(Credentials("a", "a", session=session))]
    assert all(map(door.access.still, followers))
    door.access.tokens.revoke("ops")
    door.make("ops", UserRole.OPERATOR)  # another one of the same name
    assert not any(map(door.access.still, followers))
    door.rejected(session=session)


def test_names_are_single_and_plain() -> None:
    door = Gateway()
    door.make("one")
    for name, why in (("one", "already"), ("two words", "no name"), ("x" * 65, "no name")):
        with pytest.raises(InputError, match=why):
            door.make(name)


# --- on disk


def test_tokens_outlive_the_process_as_hashes_only(tmp_path: Path) -> None:
    door = Gateway(tmp_path)
    secret = door.make("grafana", UserRole.VIEWER)
    door.who("2001:db8::/64", bearer=secret)
    door.access.tokens.save_uses()
    file = tmp_path / "tokens.json"
    again = wait_for_use(file)
    assert again["used_from"] == "2001:db8::/64"
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret.removeprefix("ofapp_") not in file.read_text()
    assert Gateway(tmp_path).who(bearer=secret) == "token grafana: viewer"


def wait_for_use(file: Path) -> Any:
    def kept() -> Any:
        return json.loads(file.read_text())["tokens"][0]

    wait_for(lambda: kept()["used"], "the use to be written down", sleep=hub.sleep)
    return kept()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"tokens": [{"name": "x"}]}', b"\xff" * 99])
def test_a_damaged_file_opens_nothing_now_or_later(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokens.json").write_bytes(content)
    door = Gateway(tmp_path)
    door.rejected()
    assert door.kinds[0] == "state.damaged"
    wait_for((tmp_path / "tokens.json").exists, "a new file", sleep=hub.sleep)
    assert (tmp_path / "tokens.json.damaged-1").read_bytes() == content
    Gateway(tmp_path).rejected()


def test_a_file_that_is_deleted_opens_nothing_while_the_controller_runs(tmp_path: Path) -> None:
    door = Gateway(tmp_path)
    secret = door.make("grafana")
    (tmp_path / "tokens.json").unlink()
    door.access.tokens.reload()  # as a member of a cluster does when another has changed the key
    door.rejected()
    assert door.who(bearer=secret) == "token grafana: viewer"
    assert door.kinds[-1] == "state.damaged"
    wait_for((tmp_path / "tokens.json").exists, "a new file", sleep=hub.sleep)
    door.access.tokens.reload()
    assert door.who(bearer=secret) == "token grafana: viewer"


def test_a_token_that_cannot_be_saved_closes_nothing(tmp_path: Path) -> None:
    door = Gateway(tmp_path / "missing")
    (tmp_path / "missing").rmdir()
    with pytest.raises(NotSavedError):
        door.make("first")
    door.access.tokens.withdraw("first")
    assert door.who() == "anybody: admin"
    (tmp_path / "missing").mkdir()
    secret = door.make("first")
    assert door.who(bearer=secret) == "token first: viewer"
    door.rejected()
    assert Gateway(tmp_path / "missing").who(bearer=secret) == "token first: viewer"


# --- failed logins


def test_who_fails_often_has_to_wait_and_others_do_not(clock: Clock) -> None:
    door = Gateway()
    secret = door.make("grafana")
    for _ in range(BURST + 1):
        assert door.rejected("192.0.2.66", bearer="wrong").wait is None
    assert door.rejected("192.0.2.66", bearer="wrong").wait == EVERY
    assert door.rejected("192.0.2.66", bearer=secret).wait == EVERY  # no oracle
    assert door.who("192.0.2.1", bearer=secret) == "token grafana: viewer"
    assert "api.login.limited" in door.kinds
    clock.now += EVERY
    assert door.who("192.0.2.66", bearer=secret) == "token grafana: viewer"
    assert "api.login.limited.cleared" in door.kinds
    assert door.access.failures.counts == {"no such token": BURST + 1, "too many failures": 2}


def test_who_shares_an_address_with_somebody_hostile_goes_on(clock: Clock) -> None:
    door = Gateway()
    secret = door.make("grafana")
    door.who(bearer=secret)
    for _ in range(100):
        door.rejected(bearer="wrong")
    assert door.who(bearer=secret) == "token grafana: viewer"


# --- sessions


def test_a_session_ends_when_unused_and_after_a_day(clock: Clock) -> None:
    sessions = Sessions()
    idle, busy = (sessions.open("t", b"t", clock.now) for _ in range(2))
    begun = clock.now
    while clock.now + IDLE / 2 < begun + LONGEST:
        clock.now += IDLE / 2
        assert sessions.use(busy, clock.now)
    assert not sessions.use(idle, clock.now)
    assert not sessions.use(busy, begun + LONGEST)
    assert not sessions.use("something else", clock.now)


def test_sessions_are_bounded_and_the_unused_make_room() -> None:
    sessions = Sessions()
    keys = [sessions.open("t", b"t", now) for now in range(OF_TOKEN)]
    other = sessions.open("o", b"o", 0)
    sessions.use(keys[0], OF_TOKEN)
    sessions.open("t", b"t", OF_TOKEN)
    assert sessions.find(keys[0], OF_TOKEN)
    assert not sessions.find(keys[1], OF_TOKEN)
    assert sessions.find(other, OF_TOKEN)
    assert len(sessions) == OF_TOKEN + 1
