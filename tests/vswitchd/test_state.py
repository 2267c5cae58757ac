"""The state directory under a real switch: full disks, damaged files, switches that come and go."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.test_static import put_static, static_at

S, T = frames.host(0x57A7), frames.host(0x57A8)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small, separate one."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", folder]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("needs to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller], disk: Path) -> Controller:
    return controller_factory(options=("--state-dir", str(disk)))


def test_a_full_disk_is_reported_and_what_was_asked_for_is_saved_later(
    bridge: Bridge, controller: Controller, disk: Path
) -> None:
    put_static(controller, bridge, S, 2)
    fill = disk / "fill"
    with pytest.raises(OSError, match="No space"):
        fill.write_bytes(bytes(1 << 20))
    reply = controller.put_static(bridge, T, 3)
    assert reply.status == 507
    assert "in force" in reply.body["detail"]
    wait_for(lambda: static_at(bridge, T, 3), "the entry to be in force")
    assert len(controller.events("state.unsaved")) == 1
    assert "No space left" in controller.api("GET", "/v1/config").body["unsaved"]
    fill.unlink()
    wait_for(lambda: controller.events("state.saved"), "what was not saved to be saved")
    assert controller.api("GET", "/v1/config").body["unsaved"] is None
    controller.restart()
    controller.wait_ready(bridge)
    assert {controller.where(bridge, mac) for mac in (S, T)} == {2, 3}


def test_what_was_set_holds_on_after_a_crash_until_it_is_taken_back(
    bridge: Bridge, controller: Controller
) -> None:
    for port in (1, 2):
        path = f"/v1/bridges/{bridge.dpid16}/ports/{port}"
        assert controller.api("PATCH", path, {"isolated": True}).status == 200
    flood = frames.ethernet(frames.BROADCAST, T)
    wait_for(lambda: bridge.send(1, flood) == {3, LOCAL}, "the ports to be isolated")
    controller.kill9()
    assert bridge.send(1, flood) == {3, LOCAL}
    controller.start()
    controller.wait_ready(bridge)
    assert bridge.send(1, flood) == {3, LOCAL}
    (event,) = controller.events("config.restored")
    assert f"ports.{bridge.port_name(1)}.isolated: default -> true" in event["data"]["settings"]
    assert controller.api("POST", "/v1/config/reload?reset=true").status == 200
    wait_for(lambda: bridge.send(1, flood) == {2, 3, LOCAL}, "that to be taken back")
    controller.kill9()
    controller.start()
    controller.wait_ready(bridge)
    assert bridge.send(1, flood) == {2, 3, LOCAL}


def test_damaged_files_keep_nobody_from_starting_and_the_switch_knows_the_entries(
    bridge: Bridge, controller: Controller, disk: Path
) -> None:
    put_static(controller, bridge, S, 2)
    controller.kill9()
    file = max(disk.glob("entries-*.json"), key=lambda path: path.stat().st_mtime)
    file.write_bytes(file.read_bytes()[:-40])
    (disk / "state.json").write_text("{")
    controller.start()
    controller.wait_ready(bridge)
    assert controller.where(bridge, S) == 2
    assert len(controller.events("state.damaged")) == 2
    assert [*disk.glob(f"{file.name}.damaged-1")]
    wait_for(file.exists, "the entry to be saved again")
