"""Changes that a process of version 0.3.0.dev0 at 3881026 has left behind are put back.

`journals/` has what it wrote: a journal of each kind, of a change that was broken off.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from ofapp.fabric_setup import apply as fabrics
from ofapp.fabric_setup.journal import Store as FabricStore
from ofapp.fabric_setup.settings import Switch
from ofapp.host_setup import recover, watch
from ofapp.host_setup.journal import Records, State, Store, boot_id
from ofapp.host_setup.plan import steps_towards
from tests.unit.host_setup.hosts import host

JOURNALS = Path(__file__).with_name("journals")


@pytest.mark.parametrize(("name", "store"), [("host", Store), ("fabric", FabricStore)])
def test_a_journal_is_read_and_written_as_before(
    name: str, store: type[Records], tmp_path: Path
) -> None:
    bridge = {"host": "br0", "fabric": "mesh"}[name]
    shutil.copy(JOURNALS / f"{name}.json", tmp_path / f"{bridge}.json")
    records = store(tmp_path)
    record = records.read(bridge)
    assert record is not None
    assert record.state is State.APPLYING
    records.write(record)
    written = json.loads((tmp_path / f"{bridge}.json").read_text())
    assert written == json.loads((JOURNALS / f"{name}.json").read_text())


def test_the_host_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same boot: the layout of before is where the watcher's steps lead."""
    text = (JOURNALS / "host.json").read_text().replace("an-earlier-boot", boot_id())
    (tmp_path / "br0.json").write_text(text)
    left = recover.unfinished(Store(tmp_path), "br0")
    assert left is not None
    assert left.reason == "apply was broken off"
    assert not list(steps_towards(host(), left.fallback)), "this host is as it was before"
    done: list[str] = []
    monkeypatch.setattr(recover, "_converge", lambda journal, goal, _: done.append(goal.name))
    monkeypatch.setattr(sys, "argv", ["watch", str(tmp_path), "br0"])
    watch.main()
    assert done == ["br0"]
    known = Store(tmp_path).read("br0")
    assert known is not None
    assert known.state is State.CONFIRMED, "the deployment before this one is in force again"


def test_the_switches_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(JOURNALS / "fabric.json", tmp_path / "mesh.json")
    store = FabricStore(tmp_path)
    left = recover.unfinished(store, "mesh")
    assert left is not None
    ran: list[str] = []
    monkeypatch.setattr(fabrics, "observe", lambda _: [Switch("br0", f"{1:016x}")])
    monkeypatch.setattr(fabrics, "run", lambda _, words: ran.append(" ".join(words)))
    fabrics.put_back(store, left)
    assert "set Interface fab1 mtu_request=1500" in ran[0]
    assert "fail_mode=standalone" in ran[1]
    assert 'target="tcp:192.0.2.1:6653"' in ran[1]
    kept = store.read("mesh")
    assert kept is not None
    assert (kept.state, len(kept.kept)) == (State.CONFIRMED, 1)
