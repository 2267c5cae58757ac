"""What is kept on disk: it outlives the process, and no disk and no file keeps it from starting."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eventlet import patcher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ofapp.common import hub
from ofapp.controller.state import (
    MdbEntry,
    NotSavedError,
    RunTimeEntries,
    StaticEntry,
    entries,
    saving,
    snapshots,
    storage,
)
from ofapp.controller.state.entry_kinds import BindingEntry
from ofapp.controller.state.store import State
from tests.support.waiting import wait_for
from tests.unit.recorded_events import RecordedEvents

ENTRY = StaticEntry(7, "02:00:00:00:00:0a", "eth0")
OTHER = StaticEntry(0, "02:00:00:00:00:0b", "eth1")
GROUP = MdbEntry(7, "ff05::7", "eth0", "fe80::1", proto="zebra")
ASKED = RunTimeEntries((ENTRY, GROUP), requested=True)
FILE = "entries-0000000000000001.json"


@pytest.fixture
def events() -> RecordedEvents:
    return RecordedEvents()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk with room for some small files."""
    monkeypatch.setattr(saving, "RETRY", 0.05)
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "none", folder]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("needs to mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


def kept(state: State, bridge: int = 1) -> RunTimeEntries | None:
    own = state.entries.load(bridge)
    return None if own is None else RunTimeEntries(own.entries)


def test_entries_outlive_the_process(tmp_path: Path, events: RecordedEvents) -> None:
    state = State(tmp_path, events)
    state.entries.save(1, ASKED).wait()
    state.entries.save(1, ASKED).wait()
    again = State(tmp_path, events)
    assert kept(again) == RunTimeEntries((ENTRY, GROUP))
    assert kept(again, 2) is None
    again.entries.save(1, RunTimeEntries(requested=True)).wait()
    assert kept(State(tmp_path, events)) == RunTimeEntries()
    again.entries.forget(1).wait()
    assert kept(State(tmp_path, events)) is None
    assert not events
    assert not [*tmp_path.iterdir()]


def test_without_a_directory_nothing_is_kept() -> None:
    state = State(None)
    state.entries.save(1, ASKED).wait()
    state.entries.forget(1).wait()
    state.snapshots["stp"].save(1, {})
    state.snapshots["stp"].forget(1)
    assert state.snapshots["stp"].load(1) is None


class TestDatapathIdsThatComeAndGo:
    def test_leave_little(self, tmp_path: Path, events: RecordedEvents) -> None:
        state = State(tmp_path, events)
        state.entries.save(1, ASKED)
        for datapath_id in range(2, 3002):
            state.entries.save(datapath_id, RunTimeEntries())
        state.finish(20)
        files = [*tmp_path.iterdir()]
        assert len(files) == 1 + entries.MAX_UNREQUESTED
        assert sum(path.stat().st_size for path in files) < 200_000
        assert len(State(tmp_path, events).entries.bridges) == 1 + entries.MAX_UNREQUESTED
        assert not events

    def test_that_there_are_no_entries_is_known_too(self, tmp_path: Path) -> None:
        State(tmp_path).entries.save(1, RunTimeEntries()).wait()
        assert kept(State(tmp_path)) == RunTimeEntries()

    def test_what_switches_bring_is_bounded_and_what_people_asked_for_stays(
        self, tmp_path: Path, events: RecordedEvents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(entries, "MAX_UNREQUESTED", 3)
        state = State(tmp_path, events)
        state.entries.save(1, ASKED)
        for datapath_id in range(2, 8):
            state.entries.save(datapath_id, RunTimeEntries((OTHER,)))
        state.finish(5)
        again = State(tmp_path, events)
        assert kept(again) == RunTimeEntries((ENTRY, GROUP))
        assert [at for at in range(9) if kept(again, at)] == [1, 5, 6, 7]
        assert events.kinds == ["state.limit"] * 3

    def test_snapshots_are_bounded_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(snapshots, "MAX_SNAPSHOTS", 3)
        state = State(tmp_path)
        for datapath_id in range(1, 8):
            state.snapshots["stp"].save(datapath_id, {"a": datapath_id})
        state.finish(5)
        assert len([*tmp_path.glob("bridge-*")]) == 3
        again = State(tmp_path)
        again.snapshots["stp"].save(8, {})
        again.finish(5)
        found = {at for at in range(9) if again.snapshots["stp"].load(at) is not None}
        assert 8 in found
        assert found - {8} < {5, 6, 7}

    def test_also_by_their_size(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(snapshots, "MAX_TOTAL", 2500)
        state = State(tmp_path)
        store = state.snapshots["stp"]
        store.document = dataclasses.replace(store.document, limit=1000)
        for datapath_id in range(1, 5):
            state.snapshots["stp"].save(datapath_id, "x" * 900)
        state.snapshots["stp"].save(9, "x" * 1000)
        state.finish(5)
        assert sorted(path.name[-6] for path in tmp_path.glob("bridge-*")) == ["3", "4"]


class TestTheFileOfAnEarlierVersion:
    def test_is_taken_over(self, tmp_path: Path, events: RecordedEvents) -> None:
        first = {"version": 1, "bridges": {"1": {"static": []}, "2": {"static": [entry()]}}}
        (tmp_path / "state.json").write_text(json.dumps(first))
        state = State(tmp_path, events)
        for _ in range(2):
            assert (kept(state, 1), kept(state, 2)) == (RunTimeEntries(), RunTimeEntries((ENTRY,)))
            state.finish(5)
            wait_for(lambda: not (tmp_path / "state.json").exists(), "its removal", sleep=hub.sleep)
            state.finish(5)
            state = State(tmp_path, events)
        assert not events

    def test_what_is_newer_goes_first(self, tmp_path: Path, events: RecordedEvents) -> None:
        State(tmp_path).entries.save(2, RunTimeEntries(requested=True)).wait()
        first = {"version": 1, "bridges": {"2": {"static": [entry()]}}}
        (tmp_path / "state.json").write_text(json.dumps(first))
        os.utime(tmp_path / "state.json", (1, 1))
        assert kept(State(tmp_path, events), 2) == RunTimeEntries()

    def test_what_that_version_changed_after_a_downgrade_counts(
        self, tmp_path: Path, events: RecordedEvents
    ) -> None:
        """Also what it removed; the kinds of entries that it does not know stay."""
        binding = BindingEntry(vlan=7, mac="02:00:00:00:00:0b", address="10.0.0.1", port="eth0")
        saved = RunTimeEntries((ENTRY, binding), requested=True)
        State(tmp_path).entries.save(2, saved).wait()
        for file in tmp_path.glob("entries-*"):
            os.utime(file, (1, 1))
        first = {"version": 1, "bridges": {"2": {"static": []}}}
        (tmp_path / "state.json").write_text(json.dumps(first))
        assert kept(State(tmp_path, events), 2) == RunTimeEntries((binding,))

    def test_one_wrong_bridge_is_its_own_trouble(
        self, tmp_path: Path, events: RecordedEvents
    ) -> None:
        first = {"version": 1, "bridges": {"x": {}, "2": {"static": [entry()]}}}
        (tmp_path / "state.json").write_text(json.dumps(first))
        assert kept(State(tmp_path, events), 2) == RunTimeEntries((ENTRY,))
        events.wait_for("state.damaged")
        assert "bridge x: " in events[0].message
        assert (tmp_path / "state.json.damaged-1").exists()


def entry(**other: Any) -> dict[str, Any]:
    return {"vlan": 7, "mac": "02:00:00:00:00:0a", "port": "eth0", **other}


def of_bridge(**other: Any) -> str:
    return json.dumps({"version": 2, "asked": True, "static": [entry()], "mdb": [], **other})


class TestDamage:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "Expecting value"),
            ("[]", "version 2"),
            ("[" * 100_000, "nested too deeply"),
            (of_bridge(version=9), "version 2"),
            (of_bridge(asked="yes"), "whether a user has asked"),
            (of_bridge(static=7), "no list of static entries"),
            (of_bridge(static=[7]), "an entry is none"),
            (of_bridge(static=[entry(more=1)]), "an entry is none"),
            (of_bridge(static=[entry(mac="no")]), "no"),
            (of_bridge(static=[entry(mac=7)]), "an entry is none"),
            (of_bridge(static=[entry(mac="01:00:5e:00:00:01")]), "not the address of one host"),
            (of_bridge(static=[entry(vlan=True)]), "True is not a VID"),
            (of_bridge(static=[entry(vlan=4095)]), "4095 is not a VID"),
            (of_bridge(static=[entry(port=None)]), "an entry is none"),
            (of_bridge(mdb={}), "mdb is not a list"),
            (of_bridge(mdb=[{"vlan": 1, "group": "10.0.0.1", "port": "p"}]), "10.0.0.1"),
            (of_bridge()[:-30], "Expecting"),
        ],
    )
    def test_a_file_that_is_none_is_set_aside(
        self, tmp_path: Path, events: RecordedEvents, text: str, why: str
    ) -> None:
        State(tmp_path).entries.save(2, ASKED).wait()
        (tmp_path / FILE).write_text(text)
        state = State(tmp_path, events)
        assert kept(state) is None  # so it is asked of the switch
        assert kept(state, 2) == RunTimeEntries((ENTRY, GROUP))
        (event,) = events
        assert event.kind == "state.damaged"
        assert why in event.message
        assert (tmp_path / f"{FILE}.damaged-1").read_text() == text
        state.entries.save(1, ASKED).wait()
        assert kept(State(tmp_path)) == RunTimeEntries((ENTRY, GROUP))
        (tmp_path / FILE).write_text(text)
        State(tmp_path)
        assert (tmp_path / f"{FILE}.damaged-2").read_text() == text

    def test_what_is_no_file_is_none_too(self, tmp_path: Path, events: RecordedEvents) -> None:
        os.mkfifo(tmp_path / FILE)
        (tmp_path / "entries-0000000000000002.json").mkdir()
        (tmp_path / "entries-0000000000000003.json").symlink_to("/dev/zero")
        os.mkfifo(tmp_path / "state.json")
        os.mkfifo(tmp_path / "bridge-0000000000000001.json")
        state = State(tmp_path, events)
        assert state.snapshots["stp"].load(1) is None
        assert events.kinds == ["state.damaged"] * 5
        for datapath_id in (1, 2, 3):
            state.entries.save(datapath_id, ASKED).wait()
        state.snapshots["stp"].save(1, {"a": float("-inf")})
        state.finish(5)
        assert State(tmp_path).snapshots["stp"].load(1) == {"a": float("-inf")}

    def test_a_number_that_is_none_is_damage(self, tmp_path: Path, events: RecordedEvents) -> None:
        """A port that is held until the time NaN would be held for ever."""
        state = State(tmp_path)
        state.snapshots["loop_protect"].save(1, {"held": [{"seconds": float("nan")}]})
        state.finish(5)
        state = State(tmp_path, events)
        assert state.snapshots["loop_protect"].load(1) is None
        (event,) = events
        assert event.kind == "state.damaged"
        assert "a number that is none" in event.message

    @settings(
        max_examples=6000 if os.environ.get("OFAPP_THOROUGH") else 200,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.data())
    def test_it_always_starts(self, tmp_path: Path, data: st.DataObject) -> None:
        first = json.dumps({"version": 1, "bridges": {"1": {"static": [entry()]}}})
        texts = {FILE: of_bridge(), "state.json": first, "bridge-0000000000000001.json": "{}"}
        for name, text in texts.items():
            octets = bytearray(text.encode())
            edits = st.tuples(st.integers(0, len(octets) - 1), st.integers(0, 255))
            for at, octet in data.draw(st.lists(edits, max_size=3)):
                octets[at] = octet
            cut = data.draw(st.integers(0, len(octets)) | st.just(len(octets)))
            (tmp_path / name).write_bytes(octets[:cut])
        state = State(tmp_path, RecordedEvents())
        state.snapshots["stp"].load(1)
        known = kept(state)
        assert known is None or all(isinstance(own, StaticEntry) for own in known.entries)
        state.entries.save(1, ASKED).wait()
        state.finish(5)
        assert kept(State(tmp_path, RecordedEvents())) == RunTimeEntries((ENTRY, GROUP))


class TestDisksThatFail:
    def test_full_and_free_again(self, small: Path, events: RecordedEvents) -> None:
        state = State(small, events)
        state.entries.save(1, ASKED).wait()
        fill = small / "fill"
        with pytest.raises(OSError, match="No space"):
            fill.write_bytes(bytes(1 << 20))
        with pytest.raises(NotSavedError, match=r"in force, .*entries-.*: No space left") as error:
            state.entries.save(1, RunTimeEntries((OTHER,), requested=True)).wait()
        assert error.value.full
        assert events.kinds == ["state.unsaved"]
        with pytest.raises(NotSavedError):  # the same again is not saved either
            state.entries.save(1, RunTimeEntries((OTHER,), requested=True)).wait()
        assert kept(State(small)) == RunTimeEntries(
            (ENTRY, GROUP)
        )  # what was saved is there as it was
        assert not [path for path in small.iterdir() if path.name.endswith(storage.PART)]
        fill.unlink()
        events.wait_for("state.saved")
        assert events.kinds == ["state.unsaved", "state.saved"]
        assert kept(State(small)) == RunTimeEntries((OTHER,))

    def test_read_only_from_the_start_and_writable_again(
        self, small: Path, events: RecordedEvents
    ) -> None:
        State(small).entries.save(1, ASKED).wait()
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        state = State(small, events)
        assert kept(state) == RunTimeEntries((ENTRY, GROUP))
        events.wait_for("state.unsaved")
        with pytest.raises(NotSavedError, match="Read-only") as error:
            state.entries.save(1, RunTimeEntries(requested=True)).wait()
        assert not error.value.full
        subprocess.run(["mount", "-o", "remount,rw", small], check=True)
        events.wait_for("state.saved")
        assert kept(State(small)) == RunTimeEntries()

    def test_a_directory_that_cannot_be_made(self, tmp_path: Path, events: RecordedEvents) -> None:
        (tmp_path / "file").write_text("")
        state = State(tmp_path / "file" / "state", events)
        events.wait_for("state.unsaved")
        with pytest.raises(NotSavedError):
            state.entries.save(1, ASKED).wait()
        assert kept(state) == RunTimeEntries((ENTRY, GROUP))

    def test_one_that_hangs_holds_up_nobody(
        self, tmp_path: Path, events: RecordedEvents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers = hub_free_event()
        replace = storage.replace

        def slow(path: Path, data: bytes, sync: bool) -> None:
            assert answers.wait(30)
            replace(path, data, sync)

        monkeypatch.setattr(storage, "replace", slow)
        monkeypatch.setattr(saving, "PATIENCE", 0.05)
        state = State(tmp_path, events)
        turns = 0

        def others() -> None:
            nonlocal turns
            while not answers.is_set():
                turns += 1
                hub.sleep(0)

        hub.spawn(others)
        with pytest.raises(NotSavedError, match="nothing was answered"):
            state.entries.save(1, ASKED).wait()
        events.wait_for("state.unsaved")
        assert turns > 10
        answers.set()
        events.wait_for("state.saved")
        assert kept(State(tmp_path)) == RunTimeEntries((ENTRY, GROUP))

    def test_of_what_changes_while_it_is_saved_the_last_is_kept(self, tmp_path: Path) -> None:
        state = State(tmp_path)
        tickets = [
            state.entries.save(
                1, RunTimeEntries((StaticEntry(at, ENTRY.mac, "eth0"),), requested=True)
            )
            for at in range(50)
        ]
        for ticket in tickets:
            ticket.wait()
        assert kept(State(tmp_path)) == RunTimeEntries((StaticEntry(49, ENTRY.mac, "eth0"),))

    def test_what_killed_writers_have_left_is_removed(self, tmp_path: Path) -> None:
        for name in ("tmpab12_x9z", f"{FILE}{storage.PART}", "tmpdir", "notes.txt"):
            (tmp_path / name).write_text("x")
        State(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "tmpdir"]


def hub_free_event() -> Any:
    """An event for native threads: eventlet has replaced `threading`'s."""
    return patcher.original("threading").Event()


class TestKeeper:
    def test_many_jobs_share_a_few_threads_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = saving.SaveQueue(RecordedEvents())
        turns: list[int] = []
        in_thread = hub.in_thread

        def counted(*arguments: Any) -> Any:
            turns.append(1)
            return in_thread(*arguments)

        monkeypatch.setattr(hub, "in_thread", counted)
        monkeypatch.setattr(saving, "ENOUGH", 60.0)
        did: list[int] = []
        tickets = [made.put(str(number), lambda n=number: did.append(n)) for number in range(320)]
        for ticket in tickets:
            ticket.wait()
        assert sorted(did) == list(range(320))
        assert len(turns) < 40

    def test_what_there_is_no_time_for_waits_and_one_that_takes_its_place_ends_it_too(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(saving, "WORKERS", 1)
        monkeypatch.setattr(saving, "ENOUGH", 0.0)
        made = saving.SaveQueue(RecordedEvents())
        began, go_on = [], patcher.original("threading").Event()
        did: list[str] = []

        def slow() -> None:
            began.append(1)
            go_on.wait(20)

        tickets = [made.put("slow", slow), made.put("a", lambda: did.append("first"))]
        wait_for(lambda: began, "the slow work to begin", sleep=hub.sleep)
        assert not made.pending("b")
        tickets.append(made.put("a", lambda: did.append("second")))
        go_on.set()
        for ticket in tickets:
            ticket.wait()
        assert did == ["second"]
