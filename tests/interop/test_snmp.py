"""SNMP as people ask for it: net-snmp's programs, Debian's snmpd, and ofapp beside it.

The controller is one without switches, so this needs neither root nor Open vSwitch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.waiting import wait_for
from tests.unit.api import live

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("snmpd", "snmpbulkwalk"))), reason="net-snmp is not installed"
)


HOST = "52:54:00:00:00:07"
"""One of `some_network`, which is not imported: eventlet would come with it, and end the threads of
other tests."""

DOT1D, INTERFACES = ".1.3.6.1.2.1.17", ".1.3.6.1.2.1.2"
CONFIG = """
master agentx
agentXSocket {socket}
agentXTimeout 20
com2sec -Cn br0 first default br0
com2sec -Cn br1 second default br1
com2sec none default public
group all v2c first
group all v2c second
group all v2c none
view all included .1
access all "" v2c noauth prefix all none none
"""


class Asked:
    """An snmpd, and ofapp beside it, about the bridges of a network; by community and context."""

    def __init__(self, directory: Path, url: str) -> None:
        self._port = free_port()
        self._socket = directory / "master"
        self._log = directory / "log"
        config = directory / "snmpd.conf"
        config.write_text(CONFIG.format(socket=self._socket))
        self._environment = os.environ | {"SNMP_PERSISTENT_DIR": str(directory), "MIBS": ""}
        address = f"udp:127.0.0.1:{self._port}"
        self._processes = [
            self._start(
                "snmpd", "-f", "-Lf", str(directory / "snmpd.log"), "-C", "-c", config, address
            )
        ]
        wait_for(self._socket.exists, "snmpd to listen")
        ofapp = Path(sys.executable).with_name("ofapp")
        self._processes.append(
            self._start(ofapp, "snmp", "run", "--master", self._socket, "--api", url)
        )

    def _start(self, *command: object) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*map(str, command)], env=self._environment, stdout=log, stderr=log
            )

    def walk(self, community: str, oid: str, program: str = "snmpbulkwalk") -> dict[str, str]:
        """What it says, by what stands behind the object's name."""
        said = self.ask(program, community, oid)
        rows = (line.split(" ", 1) for line in said.splitlines() if line.startswith(f"{oid}."))
        return {row[0].removeprefix(f"{oid}."): row[1] for row in rows if len(row) == 2}

    def knows(self, community: str, oid: str) -> bool:
        """Whether it answers at once: a question about a context that it does not know yet has no
        answer, and would be asked again after 20 s.
        """
        return oid in self.ask("snmpget", community, oid, patience=1)

    def ask(self, program: str, community: str, *oids: str, patience: int = 20) -> str:
        """Numbers and nothing else.  patience: seconds until it is asked again."""
        command = [program, "-v2c", "-c", community, "-t", patience, "-Onq", "-Oe", "-Ih"]
        done = subprocess.run(
            [*map(str, command), f"127.0.0.1:{self._port}", *oids],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout + done.stderr

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(10)

    def log(self) -> str:
        return self._log.read_text()


@pytest.fixture(scope="module", params=["stp"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    with live.served(request.param) as url:
        made = Asked(tmp_path_factory.mktemp("snmp"), url)
        try:
            for bridge in ("br0", "br1"):
                wait_for(lambda: made.knows(bridge, f"{DOT1D}.1.1.0"), bridge, seconds=30)  # noqa: B023
            yield made
        finally:
            made.close()


def octets(text: str) -> bytes:
    """A string that net-snmp prints as text or as octets."""
    return bytes.fromhex(text.strip('" ')) if " " in text.strip('" ') else text.strip('"').encode()


def test_the_bridge_its_ports_and_its_tree(asked: Asked) -> None:
    base = asked.walk("br0", f"{DOT1D}.1")
    assert octets(base["1.0"]) == bytes.fromhex("020000000001")
    assert (base["2.0"], base["3.0"]) == ("3", "2")
    assert [base[f"4.1.2.{port}"] for port in (1, 2, 3)] == ["1", "2", "3"]
    tree = asked.walk("br0", f"{DOT1D}.2")
    assert (tree["1.0"], tree["2.0"], tree["16.0"]) == ("3", "32768", "2")
    assert octets(tree["5.0"]) == bytes.fromhex("8000020000000001")
    assert tree["15.1.3.1"] == "5"  # the edge forwards
    assert tree["19.1.2.1"] == "1"
    assert asked.walk("br1", f"{DOT1D}.2") == {}  # no spanning tree there
    assert asked.walk("br1", f"{DOT1D}.1")["2.0"] == "3"


def test_addresses_with_and_without_vlans(asked: Asked) -> None:
    host = ".".join(str(octet) for octet in bytes.fromhex(HOST.replace(":", "")))
    learned = asked.walk("br0", f"{DOT1D}.4.3")
    assert (learned[f"1.2.{host}"], learned[f"1.3.{host}"]) == ("1", "3")
    assert len([name for name in learned if name.startswith("1.2.")]) == 41  # and its own
    by_vlan = asked.walk("br0", f"{DOT1D}.7.1.2.2")
    assert by_vlan[f"1.2.4095.{host}"] == "1"
    assert asked.walk("br0", f"{DOT1D}.7.1.2.1") == {"1.2.4095": "40"}
    one_by_one = asked.walk("br0", f"{DOT1D}.4.3", "snmpwalk")
    assert one_by_one == learned


def test_interfaces_are_the_ports_in_the_context_of_a_bridge(asked: Asked) -> None:
    ports = asked.walk("br0", INTERFACES)
    assert [ports[f"2.1.2.{port}"] for port in (1, 2, 3)] == ['"eth1"', '"eth2"', '"eth3"']
    assert asked.walk("br0", ".1.3.6.1.2.1.31.1.1")["1.1.1"] == '"eth1"'


def test_a_management_station_finds_the_system_group_of_each_bridge(asked: Asked) -> None:
    system = asked.walk("br0", ".1.3.6.1.2.1.1")
    assert system["1.0"].startswith('"ofapp ')
    assert (system["5.0"], system["7.0"]) == ('"br0"', "2")
    assert asked.walk("br1", ".1.3.6.1.2.1.1")["5.0"] == '"br1"'


def test_what_is_not_there_and_what_nobody_may_set(asked: Asked) -> None:
    assert "No Such" in asked.ask("snmpget", "br0", f"{DOT1D}.1.99.0")
    assert asked.walk("public", DOT1D) == {}  # of several bridges none is the one
    done = asked.ask("snmpset", "br0", f"{DOT1D}.2.2.0", "i", "0")
    assert "noAccess" in done or "notWritable" in done


def test_the_columns_are_a_table_to_net_snmp(asked: Asked) -> None:
    got = asked.ask("snmpgetnext", "br0", f"{DOT1D}.2.15.1.3", f"{DOT1D}.2.15.1.5", f"{DOT1D}.1.4")
    assert [line.split()[0] for line in got.splitlines()] == [
        f"{DOT1D}.2.15.1.3.1",
        f"{DOT1D}.2.15.1.5.1",
        f"{DOT1D}.1.4.1.1.1",
    ]
