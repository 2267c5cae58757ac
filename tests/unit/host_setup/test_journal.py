"""The journal on disk: whole, locked, and not older than its boot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ofapp.host_setup.journal import Journal, JournalError, State, Store, boot_id, now
from ofapp.host_setup.model import DeployConfig, parse_port
from ofapp.host_setup.recover import confirm, unfinished
from ofapp.host_setup.wanted import origin_layout, wanted_layout
from tests.unit.host_setup.hosts import host

CONFIG = DeployConfig(nics=("eth0",), datapath="netdev", ports=(parse_port("t0:tap"),))


def journal(state: State = State.APPLIED, **values: object) -> Journal:
    seen = host()
    known = Journal(
        bridge="br0",
        state=state,
        config=CONFIG,
        database="unix:/run/db.sock",
        origin=origin_layout(seen, CONFIG, None),
        fallback=origin_layout(seen, CONFIG, None),
        deployed=wanted_layout(seen, CONFIG),
        made=now(),
        boot=boot_id(),
        process=1,
        deadline=now() + 3600,
    )
    return replace(known, **values)  # type: ignore[arg-type]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal")
    assert store.read("br0") is None
    written = journal(previous=journal(State.CONFIRMED))
    store.write(written)
    assert store.read("br0") == written
    assert store.names() == ("br0",)
    assert [path.name for path in store.directory.iterdir()] == ["br0.json"]
    store.remove("br0")
    assert store.read("br0") is None


def test_a_journal_of_something_else_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "br0.json").write_text('{"bridge": "br0"}')
    with pytest.raises(JournalError, match="not a journal of this version"):
        Store(tmp_path).read("br0")


def test_one_at_a_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.lock("br0"):
        with pytest.raises(JournalError, match="at work on br0"), store.lock("br0"):
            pass
        with store.lock("br1"):
            pass
    with store.lock("br0"):
        pass


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (journal(State.CONFIRMED, deadline=None), None),
        (journal(), None),
        (journal(deadline=now() - 1), "not confirmed in time"),
        (journal(boot="an earlier one"), "not confirmed in time"),
        (journal(State.APPLYING), "apply was broken off"),
        (journal(State.RESTORING, reason="why"), "why"),
        (journal(State.REVERTING, reason="reverted"), "reverted"),
    ],
)
def test_what_has_to_be_put_back(tmp_path: Path, known: Journal, reason: str | None) -> None:
    store = Store(tmp_path)
    store.write(known)
    left = unfinished(store, "br0")
    assert (left.reason if left else None) == reason


def test_confirm_is_in_time_or_not_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(JournalError, match="nothing of br0 waits"):
        confirm(store, "br0")
    store.write(journal(deadline=now() - 1))
    with pytest.raises(JournalError, match="too late"):
        confirm(store, "br0")
    store.write(journal(previous=journal(State.CONFIRMED)))
    confirm(store, "br0")
    known = store.read("br0")
    assert known is not None
    assert known.state is State.CONFIRMED
    assert known.deadline is None
    assert known.previous is None


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="Not a directory"):
        Store(tmp_path / "file" / "journal").write(journal())
