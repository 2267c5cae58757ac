"""The launcher as its user meets it: a process, its exit status and what it says."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.unit.launcher.launched import APP, DEADLINE, SOURCE

# --- running and stopping


PROMPTLY = 10.0
"""Seconds; less than silent switches are given.  On a busy machine 2 were too short."""


def connected(port: int) -> socket.socket:
    """A connection to a manager that says that it listens."""
    return socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0_also_with_switches_connected(manager, number):
    port = free_port()
    running = manager(APP, "--ofp-tcp-listen-port", port, prefix=())
    running.wait_for("listening for switches on tcp:127.0.0.1:")
    with (
        connected(port) as greeted,
        socket.create_connection(("127.0.0.1", port)),
    ):
        greeted.sendall(bytes.fromhex("0400000800000001"))
        greeted.settimeout(DEADLINE)
        assert greeted.recv(8)[:2] == b"\x04\x00"  # HELLO of OpenFlow 1.3
        begun = time.monotonic()
        running.process.send_signal(number)
        assert running.end() == 0, running.text()
        assert time.monotonic() - begun < PROMPTLY
    assert f"stopping: {number.name}" in running.text()
    assert "Traceback" not in running.text()


def test_it_ends_with_status_1_when_its_server_dies(manager, tmp_path):
    (tmp_path / "saboteur.py").write_text(
        "from os_ken.base.app_manager import OSKenApp, lookup_service_brick\n"
        "from os_ken.lib import hub\n"
        "class Saboteur(OSKenApp):\n"
        "    def start(self):\n"
        "        super().start()\n"
        "        hub.spawn_after(0.1, self.kill)\n"
        "    def kill(self):\n"
        "        lookup_service_brick('ofp_event').main_thread.kill()\n"
    )
    running = manager("../saboteur.py", "--ofp-tcp-listen-port", free_port())
    assert running.end() == 1
    assert "ERROR ofapp.launcher.manager: stopping: the server of os_ken" in running.text()


def test_a_server_that_cannot_listen_is_not_said_to(manager, tmp_path):
    """Another process took the port after it was found free."""
    (tmp_path / "saboteur.py").write_text(
        "from os_ken.base.app_manager import OSKenApp\n"
        "from os_ken.lib import hub\n"
        "def listen(*arguments, **options):\n"
        "    raise OSError('Address already in use')\n"
        "hub.listen = listen\n"
        "class Saboteur(OSKenApp):\n"
        "    pass\n"
    )
    running = manager("../saboteur.py", "--ofp-tcp-listen-port", free_port())
    assert running.end() == 1
    assert "Address already in use" in running.text()
    assert "listening for switches" not in running.text()


def test_it_ends_with_status_1_when_the_rest_server_dies(manager, tmp_path):
    (tmp_path / "saboteur.py").write_text(
        "from os_ken.base.app_manager import AppManager, OSKenApp\n"
        "from os_ken.lib import hub\n"
        "class Saboteur(OSKenApp):\n"
        "    def start(self):\n"
        "        super().start()\n"
        "        hub.spawn_after(0.1, self.kill)\n"
        "    def kill(self):\n"
        "        AppManager.get_instance().applications['OfApp'].main_thread.kill()\n"
    )
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
    running = manager("ofapp.app,../saboteur.py", *ports, "--state-dir", tmp_path)
    assert running.end() == 1
    assert "stopping: the server of ofapp.app has ended" in running.text()


def test_it_stops_while_somebody_follows_the_events(manager, tmp_path):
    api = free_port()
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", api)
    running = manager("ofapp.app", *ports, "--state-dir", tmp_path)
    running.wait_for("listening for switches")
    with socket.create_connection(("127.0.0.1", api), timeout=DEADLINE) as follower:
        follower.sendall(
            b"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n"
            b"Accept: text/event-stream\r\n\r\n"
        )
        assert b" 200 " in follower.recv(4096)
        begun = time.monotonic()
        running.process.terminate()
        assert running.end() == 0
        assert time.monotonic() - begun < PROMPTLY
        assert follower.recv(4096) == b""
    assert "Traceback" not in running.text()


def test_a_users_app_may_finish_its_own_thread(manager, tmp_path):
    (tmp_path / "brief.py").write_text(
        "from os_ken.base.app_manager import OSKenApp\n"
        "from os_ken.lib import hub\n"
        "class Brief(OSKenApp):\n"
        "    def start(self):\n"
        "        super().start()\n"
        "        hub.spawn_after(0.2, self.logger.info, 'still here')\n"
        "        return hub.spawn(lambda: None)\n"
    )
    running = manager("../brief.py", "--ofp-tcp-listen-port", free_port())
    running.wait_for("still here")
    running.process.terminate()
    assert running.end() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace: needs root")
def test_by_default_it_listens_on_loopback_6653_and_nowhere_else(manager):
    running = manager(
        APP, prefix=("unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "-")
    )
    running.wait_for("listening for switches")
    deadline = time.monotonic() + DEADLINE
    listeners: list[str] = []
    while not listeners and time.monotonic() < deadline:
        table = subprocess.run(
            ["nsenter", "-t", str(running.process.pid), "-n", "ss", "-Hltn"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        listeners = [line.split()[3] for line in table.splitlines()]
    assert listeners == ["127.0.0.1:6653"]


def test_a_silent_switch_will_be_noticed(manager):
    running = manager(APP, "--ofp-tcp-listen-port", free_port())
    running.wait_for(r"echo \S+ \d")
    interval, unreplied = re.search(r"echo (\S+) (\d+)", running.text()).groups()
    assert int(unreplied) > 0
    assert float(interval) * (int(unreplied) + 1) <= 20


def test_switches_can_connect_over_tls(manager, certificate):
    key, cert = certificate
    port = free_port()
    running = manager(APP, "--ofp-ssl-listen-port", port, "--ctl-privkey", key, "--ctl-cert", cert)
    running.wait_for(f"listening for switches on ssl:127.0.0.1:{port}")
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as plain,
        context.wrap_socket(plain) as switch,
    ):
        assert switch.recv(8)[:2] == b"\x04\x00"


def test_switches_can_connect_with_chosen_ciphers_only(manager, certificate):
    key, cert = certificate
    port = free_port()
    tls = ("--ofp-ssl-listen-port", port, "--ctl-privkey", key, "--ctl-cert", cert)
    running = manager(APP, *tls, "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384")
    running.wait_for("listening for switches")
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones have other ciphers
    with connected(port) as plain, context.wrap_socket(plain) as switch:
        assert switch.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
        assert switch.recv(8)[:2] == b"\x04\x00"
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with connected(port) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain)


@pytest.mark.thorough
def test_who_never_shakes_hands_is_let_go(manager, certificate):
    key, cert = certificate
    port = free_port()
    running = manager(APP, "--ofp-ssl-listen-port", port, "--ctl-privkey", key, "--ctl-cert", cert)
    running.wait_for("listening for switches")
    with connected(port) as silent:
        silent.settimeout(2 * DEADLINE)
        assert silent.recv(1) == b""


def test_connections_beyond_what_the_process_may_have_are_survived(manager):
    port = free_port()
    running = manager(APP, "--ofp-tcp-listen-port", port)
    running.wait_for("listening for switches")
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    crowd = [connected(port) for _ in range(60)]
    running.wait_for("cannot take a connection: Too many open files; going on")
    for one in crowd:
        one.close()
    with connected(port) as switch:
        assert switch.recv(8)[:2] == b"\x04\x00"
    assert running.text().count("cannot take a connection") == 1, "it has tried each second"


# --- options


def test_an_option_of_a_users_app_works_and_is_in_the_help(manager):
    running = manager(APP, "--speed", 7, "--ofp-tcp-listen-port", free_port())
    running.wait_for("TestApp: speed 7")
    described = manager("--verbose", APP, "--help")
    assert described.end() == 0
    assert "--speed" in described.text()


def test_the_help_describes_our_config_file_and_no_ini_file(manager):
    described = manager(APP, "--help", prefix=())
    assert described.end() == 0
    assert re.search(r"--config-file FILE\s+YAML file", described.text())
    assert "--config-dir" not in described.text()


def test_comma_lists_of_modules(manager, tmp_path):
    (tmp_path / "second.py").write_text(SOURCE.replace("TestApp", "Second"))
    running = manager("../testapp.py,../second.py", "--ofp-tcp-listen-port", free_port())
    running.wait_for("TestApp: speed 3")
    running.wait_for("Second: speed 3")


def test_log_lines_have_time_and_level_and_come_once(manager, tmp_path):
    log = tmp_path / "log"
    port = free_port()
    running = manager(APP, "--ofp-tcp-listen-port", port, "--log-file", log, "--verbose")
    running.wait_for("listening for switches")
    with socket.create_connection(("127.0.0.1", port)) as switch:
        switch.sendall(bytes.fromhex("0400000800000001"))
        switch.settimeout(DEADLINE)
        switch.recv(8)
    running.process.terminate()
    assert running.end() == 0
    assert log.read_text() == running.text()
    lines = log.read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ \S+: ", li) for li in lines)
    assert len(set(lines)) == len(lines)
    assert sum("TestApp: a detail" in line for line in lines) == 1
    assert not any(re.search("DEBUG (os_ken|ofp_event)", line) for line in lines)


def test_without_verbose_no_debug_lines(manager):
    running = manager(APP, "--ofp-tcp-listen-port", free_port())
    running.wait_for("listening for switches")
    assert "DEBUG" not in running.text()


# --- what goes wrong


def test_a_taken_port_is_named_with_its_option(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(1, APP, "--ofp-tcp-listen-port", port)
    assert f"127.0.0.1 port {port}" in said
    assert "--ofp-tcp-listen-port" in said
    assert "in use" in said


def test_a_second_manager_on_the_same_port_is_refused(manager, refused):
    port = free_port()
    manager(APP, "--ofp-tcp-listen-port", port).wait_for("listening for switches")
    assert "in use" in refused(1, APP, "--ofp-tcp-listen-port", port)


def test_an_address_of_somebody_else(refused):
    said = refused(1, APP, "--ofp-listen-host", "192.0.2.1")
    assert "192.0.2.1 port 6653" in said
    assert "--ofp-listen-host" in said


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, "there is no module absent"),
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("from os import nothing_such", "ImportError: cannot import name 'nothing_such'"),
        ("x = 1 / 0", r"ZeroDivisionError: division by zero \(.*broken.py, line 1\)"),
        ("def f(:", r"SyntaxError: .*broken.py, line 1"),
        ("x = 1", "defines no OSKenApp"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_cannot_be_used(refused, tmp_path, source, expected):
    name = "absent.module"
    if source is not None:
        name = str(tmp_path / "broken.py")
        Path(name).write_text(source)
    said = refused(1, name, "--ofp-tcp-listen-port", free_port())
    assert re.search(expected, said)
    assert name in said


def test_an_app_whose_constructor_raises(refused, tmp_path):
    (tmp_path / "bad.py").write_text(
        "from os_ken.base.app_manager import OSKenApp\n"
        "class Bad(OSKenApp):\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        raise RuntimeError('no\\nway')\n"
    )
    said = refused(1, "../bad.py", "--ofp-tcp-listen-port", free_port())
    assert "RuntimeError: no way" in said
    assert "bad.py, line 4" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--no-such-option"], "--no-such-option"),
        (["--shell_completion", "bash"], "--shell-completion"),
        (["--ofp-tcp-listen-port", "x"], "--ofp-tcp-listen-port: .*x"),
        (["--ofp-tcp-listen-port", "70000"], "--ofp-tcp-listen-port: .*70000"),
        (["--wsapi-port"], "--wsapi-port: expected one argument"),
        (["--ctl-cert", "c"], "--ctl-privkey is missing"),
        (["--ctl-privkey", "c"], "--ctl-cert is missing"),
        (["--ca-certs", "c"], "--ca-certs needs"),
        (["--ciphers", "c"], "--ciphers needs"),
        (["--ofp-ssl-listen-port", "6653"], "--ofp-ssl-listen-port needs"),
    ],
)
def test_a_bad_command_line(refused, arguments, expected):
    assert re.search(expected, refused(2, APP, *arguments))


def test_files_that_cannot_be_used(refused, certificate, tmp_path):
    key, cert = certificate
    garbage = tmp_path / "garbage"
    garbage.write_text("not a certificate")
    port = ("--ofp-ssl-listen-port", free_port())
    good = ("--ctl-privkey", key, "--ctl-cert", cert)
    assert "cannot read --ctl-cert /nowhere: No such file" in refused(
        1, APP, "--ctl-privkey", key, "--ctl-cert", "/nowhere", *port
    )
    assert "garbage" in refused(1, APP, "--ctl-privkey", key, "--ctl-cert", garbage, *port)
    assert "--ca-certs" in refused(1, APP, *good, "--ca-certs", garbage, *port)
    assert "names no cipher" in refused(1, APP, *good, "--ciphers", "none-such", *port)
    assert "cannot read --config-file /nowhere" in refused(
        1, APP, "--config-file", "/nowhere", "--ofp-tcp-listen-port", free_port()
    )
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # no process ever writes to it
    for option in ("--config-file", "--ctl-cert"):
        assert f"cannot read {option} {fifo}: this is not a regular file" in refused(
            1, APP, "--ctl-privkey", key, option, fifo, *port
        )
    assert "/nowhere/log" in refused(
        1, APP, "--log-file", "/nowhere/log", "--ofp-tcp-listen-port", free_port()
    )


def test_a_config_file_with_mistakes(refused, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("defaults: {ageing_time: -1, colour: red}")
    said = refused(1, APP, "--config-file", config, "--ofp-tcp-listen-port", free_port())
    assert "config.yaml:1:25: defaults.ageing_time: " in said
    assert "config.yaml:1:29: defaults.colour: " in said


def test_sighup_reads_the_file_again_and_again(manager, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("")
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
    running = manager("ofapp.app", *ports, "--state-dir", tmp_path, "--config-file", config)
    running.wait_for("listening for switches")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for("the configuration was read: nothing has changed")
    config.write_text("defaults: {ageing_time: -1}")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for("stays as it was: .*config.yaml:1:25: defaults.ageing_time: must be")
    config.write_text("api: {port: 1}")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for("a restart is needed for api.port")
    running.process.terminate()
    assert running.end() == 0


def test_the_file_says_where_to_listen_unless_the_command_line_does(manager, tmp_path):
    openflow, api, other = free_port(), free_port(), free_port()
    config = tmp_path / "config.yaml"
    config.write_text(f"channel: {{port: {openflow}}}\napi: {{port: {api}, host: '::1'}}")
    options = ("--state-dir", tmp_path, "--config-file", config, "--wsapi-port", other)
    running = manager("ofapp.app", *options)
    running.wait_for(f"listening for switches on tcp:127.0.0.1:{openflow}")
    with socket.create_connection(("::1", other), timeout=DEADLINE):
        pass
    with pytest.raises(OSError, match=r"(?i)refused"):
        socket.create_connection(("::1", api), timeout=DEADLINE)


def test_the_file_names_its_certificate_beside_itself(manager, certificate, tmp_path):
    key, cert = certificate
    port = free_port()
    config = tmp_path / "config.yaml"
    shutil.copy(key, tmp_path / "own.key")
    config.write_text(f"channel: {{port: {port}, tls: {{key: own.key, cert: {cert}}}}}")
    running = manager(APP, "--config-file", config)
    running.wait_for(f"listening for switches on ssl:127.0.0.1:{port}")


def test_a_state_file_that_is_none_is_reported_and_set_aside(manager, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "state.json").write_text("[]")
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
    running = manager("ofapp.app", "--state-dir", folder, *ports)
    running.wait_for("listening for switches")
    assert "state.json is not what ofapp has saved" in running.text()
    assert (folder / "state.json.damaged-1").read_text() == "[]"


def test_a_taken_rest_port_is_named_with_its_option(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(1, "ofapp.app", "--ofp-tcp-listen-port", free_port(), "--wsapi-port", port)
    assert f"127.0.0.1 port {port} (--wsapi-host, --wsapi-port)" in said


def test_one_port_for_both(refused):
    port = free_port()
    assert "in use" in refused(1, "--ofp-tcp-listen-port", port, "--wsapi-port", port)


def test_a_key_with_a_password_is_refused_rather_than_asked_for(refused, certificate, tmp_path):
    key, cert = certificate
    locked = tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "ec", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked],
        check=True,
        capture_output=True,
    )
    said = refused(1, APP, "--ctl-privkey", locked, "--ctl-cert", cert)
    assert "unencrypted" in said
