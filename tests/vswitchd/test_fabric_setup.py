"""`ofapp fabric plan`, `apply`, `confirm` and `revert` on a real Open vSwitch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.cli.client import ApiError
from ofapp.cli.commands import fabric_setup
from ofapp.cli.reversible import confirm_all
from ofapp.fabric_setup.apply import targets
from ofapp.fabric_setup.journal import Journal, Store
from ofapp.fabric_setup.observe import observe
from ofapp.fabric_setup.settings import Switch
from ofapp.host_setup.journal import State, boot_id
from ofapp.host_setup.ovsdb import observe_switch
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

TARGET = "tcp:127.0.0.1:1"
LINKS = 1, 2
HOST = 3


class Ticking(VSwitchd):
    """Its clock goes by itself, as that of the program that waits for it."""

    def appctl(self, command: str, *args: str) -> str:
        return "" if command == "time/stop" else super().appctl(command, *args)


@pytest.fixture(scope="module")
def ovs() -> Iterator[Ticking]:
    with closing(Ticking()) as ovs:
        ovs.start()
        yield ovs


@pytest.fixture
def database(ovs: Ticking, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OVS_RUNDIR", str(ovs.dir))
    return f"unix:{ovs.dir}/db.sock"


@pytest.fixture
def bridges(ovs: Ticking) -> Iterator[list[Bridge]]:
    """Two bridges that run Open vSwitch's RSTP without a controller; two ports are links."""
    made = [ovs.add_bridge() for _ in range(2)]
    for bridge in made:
        for number in LINKS:
            bridge.add_port(number, f"{bridge.name}fab{number}")
        bridge.add_port(HOST)
        ovs.vsctl("set", "Bridge", bridge.name, "fail_mode=standalone", "rstp_enable=true")
        ovs.vsctl("clear", "Bridge", bridge.name, "protocols")
    yield made
    for bridge in made:
        bridge.destroy()


@pytest.fixture
def params(bridges: list[Bridge]) -> FabricParams:
    members = (MemberParams(f"s{at}", one.dpid, ("*fab?",)) for at, one in enumerate(bridges, 1))
    return FabricParams("mesh", 1, tuple(members))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "journal")
    yield store
    for name in store.names():  # so that its watcher ends
        store.remove(name)


def apply(params: FabricParams, store: Store, within: float = 60) -> None:
    found = fabric_setup.look(params, [], (TARGET,))
    fabric_setup.do_apply(params, found, (TARGET,), store, within)


def settings(database: str) -> list[Switch]:
    return sorted(observe(database), key=lambda switch: switch.bridge)


def changed(database: str) -> list[tuple[str, bool, set[int | None]]]:
    """Fail mode, RSTP, and the MTUs of links, of each bridge."""
    return [
        (
            switch.fail_mode,
            switch.rstp,
            {one.mtu for one in switch.interfaces if "fab" in one.name},
        )
        for switch in settings(database)
    ]


def test_it_is_applied_confirmed_and_reverted(
    params: FabricParams, bridges: list[Bridge], database: str, store: Store
) -> None:
    before = settings(database)
    apply(params, store)
    assert changed(database) == 2 * [("secure", False, {params.link_mtu})]
    for switch in settings(database):
        assert [one.target for one in switch.controllers] == [TARGET]
        on = {one.name: one.bfd.get("enable") == "true" for one in switch.interfaces}
        assert on == {name: "fab" in name for name in on}
    assert not any(target.plan.changes for target in targets(params, [database], (TARGET,)))
    (first, _) = observe_switch(database, kernel_module=False).bridges  # as the doctor sees it
    assert {port.name: (port.bfd, port.mtu) for port in first.ports} == {
        f"{first.name}fab1": (True, params.link_mtu),
        f"{first.name}fab2": (True, params.link_mtu),
        f"{first.name}p3": (False, 1500),
    }
    confirm_all(store, None)
    journal = store.read("mesh")
    assert journal is not None
    assert (journal.state, journal.changed, len(journal.kept)) == (State.CONFIRMED, (), 2)
    fabric_setup.do_revert(store, None, None)
    assert settings(database) == before
    assert store.names() == ()


def test_without_a_confirmation_it_is_put_back(
    params: FabricParams, database: str, store: Store
) -> None:
    before = settings(database)
    apply(params, store, 1.5)
    wait_for(lambda: store.names() == (), "the watcher to put it back", seconds=60)
    assert settings(database) == before
    with pytest.raises(ApiError, match="nothing waits for a confirmation"):
        confirm_all(store, None)


def test_a_link_that_comes_later_is_reverted_with_the_others(
    params: FabricParams, bridges: list[Bridge], database: str, store: Store
) -> None:
    apply(params, store)
    first = bridges[0]
    first.add_port(4, f"{first.name}fab4")
    with pytest.raises(ApiError, match="waits for `ofapp fabric confirm`"):
        apply(params, store)
    confirm_all(store, "mesh")
    apply(params, store, 1.5)

    def back() -> bool:
        journal = store.read("mesh")
        return journal is not None and journal.state is State.CONFIRMED

    wait_for(back, "the second change to be put back", seconds=60)
    assert changed(database)[0] == ("secure", False, {1500, params.link_mtu})
    apply(params, store)
    confirm_all(store, "mesh")
    first.del_port(1)
    fabric_setup.do_revert(store, "mesh", None)
    assert changed(database) == 2 * [("standalone", True, {1500})]


def test_an_mtu_that_is_not_taken_undoes_everything(
    params: FabricParams, database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings(database)
    monkeypatch.setattr("ofapp.fabric_setup.apply.SETTLING", 0.5)
    monkeypatch.setattr(
        "ofapp.fabric_setup.apply.observe",
        lambda _: before,  # as if nothing had changed
    )
    with pytest.raises(ApiError, match=r"does not take on: .*mtu_request=1526.*as it was before"):
        apply(params, store)
    assert settings(database) == before


def test_what_a_reboot_has_broken_off_is_put_back_at_boot(
    params: FabricParams, database: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    before = settings(database)
    apply(params, store)
    journal = store.read("mesh")
    assert isinstance(journal, Journal)
    with store.lock("mesh"):  # before its watcher sees it
        assert journal.boot == boot_id()
        store.remove("mesh")
    later = Store(store.directory / "later")
    later.write(Journal(**{**vars(journal), "boot": "before"}))
    fabric_setup.do_recover(later)
    assert "not confirmed in time" in capsys.readouterr().out
    assert settings(database) == before


def test_members_elsewhere_get_their_commands_by_the_file(
    params: FabricParams, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = FabricParams("mesh", 1, (*params.members, MemberParams("s9", 0x99, ("eth1", "fab*"))))
    found = fabric_setup.look(more, [], (TARGET,))
    fabric_setup.show_plan(more, found, False)
    said = capsys.readouterr().out
    assert "s9 (not seen from here, by the file alone)" in said
    assert "set Interface eth1 mtu_request=1526 bfd:enable=true" in said
    assert "set Interface BRIDGE mtu_request=1500" in said
    assert "# for each port that is called fab*" in said
    fabric_setup.show_plan(more, found, True)
    (first, _, last) = json.loads(capsys.readouterr().out)["members"]
    assert (last["database"], len(last["commands"])) == (None, 2)
    for text in first["commands"]:  # as a person types them
        subprocess.run(
            ["sh", "-ec", text],
            check=True,
            env=os.environ | {"OVS_RUNDIR": str(Path(database.removeprefix("unix:")).parent)},
        )
    (done, *_) = targets(params, [database], (TARGET,))
    assert not done.plan.changes


def test_as_typed(
    params: FabricParams,
    database: str,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from ofapp.cli import main

    config = SimpleNamespace(fabrics={"mesh": SimpleNamespace(params=lambda _: params)})
    monkeypatch.setattr(fabric_setup, "load_config", lambda _: config)

    def ofapp(*words: Any) -> str:
        monkeypatch.setattr(sys, "argv", ["ofapp", "fabric", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert not ended.value.code, said.err
        return said.out

    journal = ("--journal", store.directory)
    assert "rstp_enable=true > rstp_enable=false" in ofapp("plan", "--controller", TARGET)
    assert "NOT YET CONFIRMED" in ofapp("apply", "--controller", TARGET, *journal)
    assert ofapp("confirm", *journal) == "mesh: confirmed\n"
    assert "nothing to do" in ofapp("apply", *journal)
    assert "mesh: reverted" in ofapp("revert", "--api", "unix:/nowhere", *journal)
    assert changed(database) == 2 * [("standalone", True, {1500})]


def test_a_plan_needs_no_switch(
    params: FabricParams, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OVS_RUNDIR", str(tmp_path))
    assert {one.database for one in fabric_setup.look(params, [], ())} == {None}
    with pytest.raises(ApiError, match="database connection failed"):
        fabric_setup.look(params, [f"unix:{tmp_path}/none"], ())


def test_a_fabric_in_force_is_not_reverted(
    params: FabricParams, database: str, store: Store
) -> None:
    apply(params, store)
    client: Any = SimpleNamespace(get=lambda _: {"fabrics": [{"name": "mesh"}]})
    with pytest.raises(ApiError, match="is in force at the controller"):
        fabric_setup.do_revert(store, "mesh", client)
    fabric_setup.do_revert(store, "mesh", None)
