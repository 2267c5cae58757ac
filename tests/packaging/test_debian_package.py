"""The Debian package on a machine: installed, at work, supervised, and gone without a trace.

One machine for all: the tests stand in the order in which an administrator meets these things.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.containerfile import health_check
from tests.packaging.machine import Machine

API = "http://127.0.0.1:8080/v1"
NEIGHBOUR = """
ip netns add gateway
ip link add eth7 type veth peer name inner netns gateway
ip -n gateway address add 192.0.2.1/24 dev inner
ip -n gateway link set inner up
ip address add 192.0.2.7/24 dev eth7
ip link set eth7 up
ip route add default via 192.0.2.1
ethtool -K eth7 tx off
ip netns exec gateway ethtool -K inner tx off
"""
EDITED = "defaults: {ageing_time: 77}\n"


@pytest.fixture(scope="module")
def before(machine: Machine) -> set[str]:
    return machine.files()


@pytest.fixture(scope="module")
def installed(machine: Machine, before: set[str], package: Path) -> Machine:
    machine.put("/tmp/ofapp.deb", package.read_bytes())
    machine.run("dpkg", "--install", "/tmp/ofapp.deb", seconds=180)
    return machine


EVERY_MODULE = """
import importlib, pkgutil, ofapp
for module in pkgutil.walk_packages(ofapp.__path__, "ofapp."):
    if not module.name.endswith("__main__") and module.name != "ofapp.bench.report":
        importlib.import_module(module.name)
import prometheus_client.parser, rich.markdown  # imported where they are used
"""

EVERY_COMMAND = """
import subprocess, typer
from concurrent.futures import ThreadPoolExecutor
from ofapp.cli.app import app

def leaves(command, path=()):
    below = getattr(command, "commands", None)
    if below is None:
        yield path
    for name in below or ():
        yield from leaves(below[name], (*path, name))

def fault(words):
    asked = ["ofapp", *words]
    try:
        done = subprocess.run(asked, stdin=-3, capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return ""  # it follows what happens
    return done.stderr if done.returncode not in (0, 1, 2, 3) or "Traceback" in done.stderr else ""

paths = [*leaves(typer.main.get_command(app))]
asked = [(*path, "--help") for path in paths] + [path for path in paths if path != ("run",)]
with ThreadPoolExecutor(3) as pool:  # those that follow what happens wait side by side
    for words, found in zip(asked, pool.map(fault, asked)):
        if found:
            print(*words, found.splitlines()[-1])
print(len(paths), "commands")
"""
"""Run each command for its help and without arguments, and print those that end with a defect."""


def get(machine: Machine, path: str) -> Any:
    return json.loads(machine.run("curl", "--silent", "--fail", f"{API}/{path}"))


def main_process(machine: Machine) -> int:
    """0 while it does not run."""
    active, process = machine.unit("ofapp", "ActiveState", "MainPID")
    return int(process) if active == "active" else 0


def test_it_runs_once_it_is_installed_and_serves_a_real_switch(installed: Machine) -> None:
    installed.wait(lambda: main_process(installed), "ofapp to run")
    assert get(installed, "bridges") == {"bridges": [], "silent": []}
    installed.run(
        *("ovs-vsctl", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"),
        *("fail_mode=secure", "protocols=OpenFlow13"),
        *("--", "set-controller", "br0", "tcp:127.0.0.1:6653"),
    )
    installed.wait(lambda: get(installed, "bridges")["bridges"], "the bridge to be served")
    status = installed.wait(
        lambda: [t for t in installed.unit("ofapp", "StatusText") if "1 switch connected" in t],
        "systemctl status to tell of the switch",
    )
    assert status[0].startswith("listening for switches on tcp:127.0.0.1:6653")


def test_every_command_of_the_package_runs(installed: Machine) -> None:
    """No module that a command imports is left out of the package."""
    python = "/usr/lib/ofapp/bin/python3"
    printed = installed.run(python, "-c", EVERY_COMMAND, seconds=300).splitlines()
    assert len(printed) == 1, printed
    assert int(printed[0].split()[0]) > 80


def test_it_can_do_nothing_but_its_work(installed: Machine) -> None:
    status = installed.run("cat", f"/proc/{main_process(installed)}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    own = installed.run("id", "-u", "ofapp").strip()
    assert fields["Uid"].split() == [own] * 4
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[capabilities], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    owner, mode = installed.run("stat", "-c", "%U %a", "/var/lib/ofapp").split()
    assert (owner, mode) == ("ofapp", "750")


def test_the_network_waits_for_it_and_it_waits_for_the_switch(installed: Machine) -> None:
    (before,) = installed.unit("ofapp", "Before")
    (after,) = installed.unit("ofapp", "After")
    assert {"network.target", "network-online.target"} <= set(before.split())
    assert {"openvswitch-switch.service", "network-pre.target"} <= set(after.split())


def test_commands_work_for_anybody_and_without_this_repository(installed: Machine) -> None:
    assert "br0" in installed.run("runuser", "-u", "nobody", "--", "ofapp", "fdb", "show")
    completions = installed.run("dpkg", "--listfiles", "ofapp")
    for path in ("bash-completion/completions/ofapp", "zsh/vendor-completions/_ofapp"):
        assert f"/usr/share/{path}\n" in completions
        assert installed.succeeds("grep", "-q", "_OFAPP_COMPLETE", f"/usr/share/{path}")
    assert "/usr/share/man/man1/ofapp-stp.1.gz\n" in completions
    assert "/usr/share/man/man8/ofapp-manager.8.gz\n" in completions
    where = "import ofapp, os_ken, pydantic; print(ofapp.__file__, os_ken.__file__)"
    found = installed.run("/usr/lib/ofapp/bin/python3", "-c", where).split()
    assert all(path.startswith("/usr/lib/ofapp/lib/") for path in found)


def test_every_module_has_the_libraries_that_it_imports(installed: Machine) -> None:
    python = ("/usr/lib/ofapp/bin/python3", "-W", "ignore", "-c", EVERY_MODULE)
    installed.run("env", "OSKEN_HUB_TYPE=eventlet", *python)
    installed.run("ofapp", "snmp", "run", "--help")
    assert installed.run("ofapp", "docs")


def test_the_hardened_unit_knows_who_is_at_its_socket(installed: Machine) -> None:
    show = ("ofapp", "fdb", "show")
    as_nobody = ("runuser", "-u", "nobody", "--")
    secret = installed.run("ofapp", "token", "create", "grafana", "--role", "viewer").strip()
    try:
        assert installed.succeeds(*show)
        assert "uid 65534 is neither root nor an operator" in installed.run(
            *as_nobody, *show, check=False
        )
        assert installed.succeeds(*as_nobody, "env", f"OFAPP_TOKEN={secret}", *show)
        trail = installed.run("cat", "/var/lib/ofapp/audit.log")
        assert '"who": "root"' in trail
        assert secret not in trail
        line = installed.run(
            *("journalctl", "--unit=ofapp", "--output=json", "--lines=1"),
            *("OFAPP_EVENT=audit.change", "PRIORITY=6"),
        )
        assert json.loads(json.loads(line)["OFAPP_DATA"])["who"] == "root"
    finally:  # open, as it was
        installed.run("systemctl", "stop", "ofapp")
        installed.run("rm", "-f", "/var/lib/ofapp/tokens.json")
        installed.run("systemctl", "start", "ofapp")
        installed.wait(lambda: main_process(installed), "ofapp to run again")


def test_a_killed_manager_is_back_and_the_switch_with_it(installed: Machine) -> None:
    old = main_process(installed)
    installed.run("kill", "-KILL", old)
    installed.wait(
        lambda: main_process(installed) not in (0, old), "another ofapp-manager after kill -9"
    )
    installed.wait(lambda: get(installed, "bridges")["bridges"], "the bridge to be served again")


def test_a_hung_manager_is_replaced_and_the_journal_tells_where_it_hung(
    installed: Machine,
) -> None:
    dropin = "/run/systemd/system/ofapp.service.d/quick.conf"
    installed.put(dropin, "[Service]\nWatchdogSec=3\n")
    installed.run("systemctl", "daemon-reload")
    installed.run("systemctl", "restart", "ofapp")
    old = main_process(installed)
    installed.run("kill", "-STOP", old)
    installed.wait(
        lambda: main_process(installed) not in (0, old), "another ofapp-manager after a hang"
    )
    said = installed.run("journalctl", "--no-pager", "-u", "ofapp")
    assert "Watchdog timeout" in said
    assert "Current thread" in said, "no trace of where it was"
    installed.run("rm", dropin)
    installed.run("systemctl", "daemon-reload")


def test_a_reload_takes_an_edited_file_in_without_a_restart(installed: Machine) -> None:
    installed.wait(lambda: main_process(installed), "ofapp to run")
    old = main_process(installed)
    installed.put("/etc/ofapp/ofapp.yaml", EDITED)
    installed.run("systemctl", "reload", "ofapp")
    installed.wait(
        lambda: [b["ageing_time"] for b in get(installed, "bridges")["bridges"]] == [77],
        "the bridge to have the edited ageing time",
    )
    assert main_process(installed) == old


def test_an_edited_configuration_survives_an_upgrade(installed: Machine) -> None:
    old = main_process(installed)
    installed.run("dpkg", "--install", "/tmp/ofapp.deb", seconds=180)
    assert installed.run("cat", "/etc/ofapp/ofapp.yaml") == EDITED
    installed.wait(lambda: main_process(installed) not in (0, old), "the upgraded manager")


def test_what_was_broken_off_is_looked_after_at_boot_and_later(installed: Machine) -> None:
    timer, boot = "ofapp-deploy-recover.timer", "ofapp-deploy-recover.service"
    assert installed.unit(timer, "ActiveState", "UnitFileState") == ("active", "enabled")
    assert installed.unit(boot, "UnitFileState", "User") == ("enabled", "")
    installed.run("systemctl", "start", boot)  # nothing is deployed: a condition ends it
    assert installed.unit(boot, "ConditionResult", "Result") == ("no", "success")


def test_the_unit_puts_a_host_back_when_all_else_was_killed(installed: Machine) -> None:
    """A host with one NIC, its gateway in a namespace; then `apply` loses its watcher."""
    installed.run("sh", "-ec", NEIGHBOUR)
    deploy = ("ofapp", "deploy")
    options = ("--bridge", "brh", "--nic", "eth7", "--datapath", "netdev", "--confirm-within", 600)
    installed.run(*deploy, "apply", *options, seconds=120)
    assert "192.0.2.7" in installed.run("ip", "-4", "address", "show", "brh")
    installed.run("systemctl", "stop", "ofapp-watch-brh-*")  # or it would be started again
    assert not installed.succeeds("pgrep", "-f", "ofapp.host_setup.watch")
    journal = "/var/lib/ofapp-deploy/brh.json"
    text = re.sub(r'"deadline":\s*[0-9.]+', '"deadline": 1.0', installed.run("cat", journal))
    installed.put(journal, text)
    installed.run("systemctl", "start", "ofapp-deploy-recover.service", seconds=120)
    assert "192.0.2.7" in installed.run("ip", "-4", "address", "show", "eth7")
    assert not installed.succeeds("test", "-e", journal)
    assert installed.succeeds("ping", "-c", 1, "-W", 5, "192.0.2.1")


def test_the_containers_health_check_tells_a_dead_manager(installed: Machine) -> None:
    check = health_check()
    inside = ("env", "PATH=/usr/lib/ofapp/bin:/usr/bin:/bin")
    assert installed.succeeds(*inside, *check)
    installed.run("systemctl", "stop", "ofapp")
    assert not installed.succeeds(*inside, *check)
    installed.run("systemctl", "start", "ofapp")


def test_it_does_not_leave_while_a_bridge_carries_the_host(installed: Machine) -> None:
    installed.put("/var/lib/ofapp-deploy/br7.json", "{}")
    said = installed.run("dpkg", "--remove", "ofapp", check=False)
    assert "first 'ofapp deploy revert --bridge br7'" in said
    installed.wait(lambda: main_process(installed), "ofapp to run on")
    installed.run("rm", "/var/lib/ofapp-deploy/br7.json")


def test_purged_it_leaves_nothing(installed: Machine, before: set[str]) -> None:
    installed.run("dpkg", "--remove", "ofapp")
    assert not main_process(installed)
    assert installed.run("cat", "/etc/ofapp/ofapp.yaml") == EDITED
    installed.run("dpkg", "--purge", "ofapp")
    left = {path for path in installed.files() - before if not path.startswith("/var/log/journal")}
    # The switch's own files, the lists that dpkg and Open vSwitch keep, and the clock that libuuid
    # keeps since a command asked Open vSwitch's database.
    left = {path for path in left if not re.search("openvswitch|/libuuid/", path)}
    assert left == set()
    assert not installed.succeeds("id", "ofapp")
