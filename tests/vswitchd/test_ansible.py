"""Playbooks of the real ansible-core change a bridge of a real switch, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

BIN = Path(sys.executable).parent
COLLECTION = Path(__file__).parents[2] / "deploy/ansible"
HOST = "52:54:00:12:34:56"
Task = dict[str, Any]
Play = Callable[..., "Run"]


class Run(NamedTuple):
    """What a playbook did.  tasks: results by the name of the task."""

    status: int
    tasks: dict[str, dict[str, Any]]

    def changed(self) -> list[str]:
        """The tasks that changed something, or would."""
        return [name for name, result in self.tasks.items() if result["changed"]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for Ansible, with the collection installed as users do it."""
    folder = tmp_path_factory.mktemp("ansible")
    variables = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "ANSIBLE_PIPELINING": "1",  # a process less for each task
    }
    install = ["collection", "install", "-p", str(folder / "collections"), f"{COLLECTION}/"]
    run("ansible-galaxy", *install, environment=variables)
    callbacks = folder / "callbacks"
    callbacks.mkdir()
    (callbacks / "lines.py").write_text(CALLBACK)
    return variables | {
        "ANSIBLE_CALLBACK_PLUGINS": str(callbacks),
        "ANSIBLE_STDOUT_CALLBACK": "lines",
    }


CALLBACK = '''
import json
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    """A line of JSON for each task: its name and result."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "lines"

    def _line(self, result, *_args, **_options):
        print(json.dumps([result.task_name, result.result], default=str))

    v2_runner_on_ok = v2_runner_on_failed = _line
'''


def run(
    *command: str, environment: dict[str, str], status: int = 0
) -> subprocess.CompletedProcess[str]:
    program = [str(BIN / command[0]), *command[1:]]
    done = subprocess.run(
        program, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture
def play(environment: dict[str, str], controller: Controller, tmp_path: Path) -> Play:
    """Runs tasks `{name: {module: options}}` by the machine's Python, without our libraries."""

    def run_tasks(tasks: dict[str, Task], *options: str, api: str = "", status: int = 0) -> Run:
        book = tmp_path / "play.yml"
        everything = [
            {"name": name, **{f"ofapp.bridge.{module}": about for module, about in task.items()}}
            for name, task in tasks.items()
        ]
        address = api or f"http://127.0.0.1:{controller.api_port}"
        head = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {"ansible_python_interpreter": "/usr/bin/python3"},
            "module_defaults": {"group/ofapp.bridge.all": {"api": address}},
        }
        book.write_text(yaml.safe_dump([{**head, "tasks": everything}], sort_keys=False))
        arguments = ["-i", "localhost,", *options, str(book)]
        done = run("ansible-playbook", *arguments, environment=environment, status=status)
        lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
        return Run(done.returncode, dict(map(json.loads, lines)))

    return run_tasks


def tasks(bridge: Bridge, **state: str) -> dict[str, Task]:
    """A task for each module that changes a bridge, in an order that can be undone backwards."""
    name, (one, two, three) = bridge.name, map(bridge.port_name, (1, 2, 3))
    about = {"bridge": name, **state}
    rules = {} if state else {"rules": [{"match": {"tcp_dst": 80}, "action": "allow"}]}
    options: dict[str, Task] = {
        "vlan": {"vid": 10} | ({} if state else {"name": "office"}),
        "acl": {"name": "web", **rules},
        "port": {"name": one} | ({} if state else {"vlan": "office", "acl": "web"}),
        "lag": {"name": "lag0"} | ({} if state else {"members": ["x0", "x1"], "lacp": "off"}),
        "mirror": {"name": "tap"} | ({} if state else {"to": three, "both": [two]}),
        "fdb": {"mac": HOST, "vlan": 10} | ({} if state else {"port": one}),
        "mdb": {"group": "239.1.1.1", "vlan": 10, "port": one},
        "binding": {"address": "10.0.0.7", "vlan": 10}
        | ({} if state else {"mac": HOST, "port": "1"}),
    }
    return {module: {module: {**about, **given}} for module, given in options.items()}


def test_a_playbook_changes_a_bridge_once_and_what_is_absent_is_removed(
    play: Play, bridge: Bridge, controller: Controller
) -> None:
    before = controller.get(f"/v1/bridges/{bridge.name}/settings")["settings"]
    present, absent = tasks(bridge), tasks(bridge, state="absent")
    first = play(present, "--diff")
    assert first.changed() == [*present]
    assert all(result["diff"]["after"] for result in first.tasks.values())
    assert first.tasks["port"]["changes"] == [
        f"ports.{bridge.port_name(1)}.vlan: default -> office",
        f"ports.{bridge.port_name(1)}.acl: default -> web",
    ]
    assert play(present).changed() == []

    heard = bridge.deliver(1, frames.ethernet(frames.BROADCAST, frames.host(1)))
    assert not any(heard.get(port) for port in (2, 3)), "port 1 has VLAN 10 for itself"
    (entry,) = controller.fdb(bridge, type="static")
    assert (entry["mac"], entry["vlan"], entry["port"]["number"]) == (HOST, 10, 1)
    path = f"/v1/bridges/{bridge.dpid16}"
    (group,) = controller.get(f"{path}/mdb", type="permanent")["entries"]
    assert group["group"] == "239.1.1.1"
    (binding,) = controller.get(f"{path}/bindings")["entries"]
    assert (binding["address"], binding["mac"]) == ("10.0.0.7", HOST)

    backwards = dict(reversed(absent.items()))
    assert play(backwards).changed() == [*backwards]
    assert controller.get(f"{path}/settings")["settings"] == before
    assert not controller.fdb(bridge, type="static")


def test_check_mode_reports_what_would_change_and_changes_nothing(
    play: Play, bridge: Bridge, controller: Controller
) -> None:
    name, port = bridge.name, bridge.port_name(1)
    wanted = {
        "settings": {
            "settings": {
                "bridge": name,
                "ageing_time": 60,
                "vlans": {10: {"name": "office"}},
                "ports": {port: {"vlan": "office"}},
            }
        },
        "fdb": {"fdb": {"bridge": name, "mac": HOST, "port": port}},
        "mdb": {"mdb": {"bridge": name, "group": "239.1.1.1", "port": port}},
        "binding": {"binding": {"bridge": name, "address": "10.0.0.7", "mac": HOST, "port": port}},
    }
    before = controller.get(f"/v1/bridges/{name}/settings")
    planned = play(wanted, "--check", "--diff")
    assert planned.changed() == [*wanted]
    assert json.loads(planned.tasks["settings"]["diff"]["after"])["ageing_time"] == 60
    assert controller.get(f"/v1/bridges/{name}/settings") == before
    assert not controller.fdb(bridge, type="static")
    assert not controller.get(f"/v1/bridges/{name}/bindings")["entries"]


def test_check_mode_says_who_would_be_cut_off(
    play: Play, bridge: Bridge, controller: Controller
) -> None:
    port = bridge.port_name(1)
    down = {"port": {"port": {"bridge": bridge.name, "name": port, "shutdown": True}}}
    planned = play(down, "--check").tasks["port"]
    said = f"{bridge.name} {port} does not forward (untagged): from 0 s on"
    assert planned["cut_off"] == [said]
    assert planned["warnings"] == [f"with this change: {said}"]
    bridge.disconnect()
    wait_for(lambda: not controller.bridge(bridge)["connected"], "the switch to be disconnected")
    planned = play(down, "--check").tasks["port"]
    assert (planned["changed"], planned["cut_off"]) == (True, None)
    assert "it is not copied" in planned["cut_off_unknown"]
    assert "shutdown" not in str(controller.get(f"/v1/bridges/{bridge.name}/settings"))


@pytest.mark.parametrize(
    "options", [pytest.param((), marks=pytest.mark.thorough), ("--check",)], ids=["", "--check"]
)
def test_a_bad_value_is_an_error_that_names_its_field(
    play: Play, bridge: Bridge, controller: Controller, options: tuple[str, ...]
) -> None:
    before = controller.get(f"/v1/bridges/{bridge.name}/settings")
    bad = {"bad": {"settings": {"bridge": bridge.name, "stp": {"priority": 5}, "ageing_time": 9}}}
    result = play(bad, *options, status=2).tasks["bad"]
    assert [error["field"] for error in result["errors"]] == ["stp.priority"]
    assert result["msg"].startswith("stp.priority: bridge priority 5 is not a multiple of 4096")
    assert controller.get(f"/v1/bridges/{bridge.name}/settings") == before


@pytest.mark.thorough
def test_replaced_resets_what_is_not_given(
    play: Play, bridge: Bridge, controller: Controller
) -> None:
    one = bridge.port_name(1)
    body = {"ports": {one: {"isolated": True, "stp": {"path_cost": 7, "bpdu_guard": True}}}}
    controller.api("PATCH", f"/v1/bridges/{bridge.dpid16}/settings", {"settings": body})
    about = {"bridge": bridge.name, "name": one, "state": "replaced", "stp": {"path_cost": 7}}
    assert play({"port": {"port": about}}).changed() == ["port"]
    shown = controller.get(f"/v1/bridges/{bridge.dpid16}/settings")["settings"]
    assert shown["ports"] == {one: {"stp": {"path_cost": 7}}}
    assert play({"port": {"port": about}}).changed() == []


@pytest.mark.thorough
def test_the_file_is_applied_and_what_it_says_is_read(
    play: Play, bridge: Bridge, controller: Controller
) -> None:
    controller.configure(f"bridges: {{{bridge.name}: {{ageing_time: 77}}}}")
    work = {"reload": {"reload": {}}, "info": {"info": {"gather": ["settings", "ports", "fdb"]}}}
    planned = play(work, "--check")
    assert planned.changed() == ["reload"]
    assert planned.tasks["reload"]["cut_off"] == []
    done = play(work, "--diff")
    assert done.changed() == ["reload"]
    assert "ageing_time: default -> 77" in done.tasks["reload"]["diff"]["prepared"]
    (read,) = (one for one in done.tasks["info"]["bridges"] if one["name"] == bridge.name)
    assert read["settings"]["ageing_time"] == 77
    assert {port["name"] for port in read["ports"]} >= {bridge.port_name(1)}
    assert play(work).changed() == []


@pytest.mark.thorough
def test_a_token_is_created_once_over_the_socket_and_serves_as_one(
    play: Play, controller: Controller
) -> None:
    socket = f"unix:{controller.dir}/state/api.sock"
    wait_for(lambda: Path(socket.removeprefix("unix:")).exists(), "the socket of the API")
    create = {"token": {"token": {"name": "ansible", "role": "viewer"}}}
    made = play(create, api=socket)
    assert made.changed() == ["token"]
    assert play(create, api=socket).changed() == []
    refused = play({"info": {"info": {}}}, status=2).tasks["info"]
    assert refused["status"] == 401
    secret = made.tasks["token"]["token"]
    play({"info": {"info": {"token": secret}}})
    gone = {"token": {"token": {"name": "ansible", "state": "absent"}}}
    assert play(gone, api=socket).changed() == ["token"]


@pytest.mark.thorough
def test_a_controller_that_does_not_answer_is_an_error_that_says_what_to_do(play: Play) -> None:
    result = play({"info": {"info": {}}}, api="http://127.0.0.1:1", status=2).tasks["info"]
    assert "no answer from the controller at http://127.0.0.1:1" in result["msg"]
    assert "ofapp-manager" in result["msg"]


def test_every_module_is_documented_and_the_collection_is_an_archive(
    environment: dict[str, str], tmp_path: Path
) -> None:
    names = [f"ofapp.bridge.{path.stem}" for path in (COLLECTION / "plugins/modules").glob("*.py")]
    shown = run("ansible-doc", "--json", *names, environment=environment)
    documents = json.loads(shown.stdout)
    assert sorted(documents) == sorted(names)
    assert all(one["doc"]["description"] and one["examples"] for one in documents.values())
    port = documents["ofapp.bridge.port"]["doc"]["options"]
    assert port["stp"]["suboptions"]["bpdu_guard"]["type"] == "bool"
    build = ["collection", "build", f"{COLLECTION}/", "--output-path", str(tmp_path)]
    run("ansible-galaxy", *build, environment=environment)
    (archive,) = tmp_path.glob("ofapp-bridge-*.tar.gz")
    listed = subprocess.check_output(["tar", "-tf", archive], text=True).splitlines()
    assert "plugins/modules/port.py" in listed
    assert "generate" not in listed
