"""LLDP beside Debian's lldpd, both ways: what each says, and that it goes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.controller import Controller
from tests.support.lab import Host, sh
from tests.support.network import Network
from tests.support.waiting import wait_for

DPID = 0x51D1


def file(enabled: bool) -> str:
    about = {
        "lldp": {"enabled": enabled, "management_address": "192.0.2.7"},
        "vlans": {7: {"name": "office"}},
        "ports": {"*": {"vlan": {"trunk": [7], "native": 7}}},
    }
    return json.dumps({"bridges": {f"{DPID:016x}": about}})


class Lldpd:
    """One in a host's namespace.  Its socket is where the user that it becomes can get at it."""

    def __init__(self, host: Host) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="ofapp-lldpd-"))
        self._directory.chmod(0o755)
        self._host, self._socket = host, self._directory / "socket"
        Path("/run/lldpd").mkdir(exist_ok=True)  # where it locks itself in
        self._process = subprocess.Popen(
            [
                *("ip", "netns", "exec", host.namespace, "lldpd", "-d", "-I", "eth0"),
                *("-u", str(self._socket), "-S", "an independent implementation"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._socket.exists, "lldpd to listen")

    def send_often(self) -> None:
        """Send each few seconds: by default it sends each 30, for which a test would wait."""
        self._ask("configure", "lldp", "tx-interval", 5)

    def _ask(self, *words: object) -> str:
        return self._host.run("lldpcli", "-u", self._socket, "-f", "json0", *words)

    def neighbour(self) -> dict[str, Any] | None:
        """The neighbours that it hears."""
        said = json.loads(self._ask("show", "neighbors", "details"))
        found = said["lldp"][0].get("interface", [])
        return found[0] if found else None

    def end(self) -> None:
        """It says goodbye."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)

    def close(self) -> None:
        """All that it does."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait(10)
        shutil.rmtree(self._directory)


@pytest.fixture
def controller() -> Iterator[Controller]:
    with closing(Controller(file(True))) as controller:
        controller.start()
        yield controller


@pytest.mark.skipif(shutil.which("lldpd") is None, reason="lldpd is not installed")
def test_both_hear_each_other_and_forget_who_says_goodbye(
    network: Network, controller: Controller
) -> None:
    switch = network.switch(DPID)
    host = network.host(switch)
    controller.connect(switch)
    path = f"/v1/bridges/{switch.dpid16}/lldp"

    def heard() -> list[dict[str, Any]]:
        (port,) = controller.get(path)["ports"]
        found: list[dict[str, Any]] = port["neighbours"]
        return found

    with closing(Lldpd(host)) as lldpd:
        wait_for(lambda: heard() and lldpd.neighbour(), "both to hear", seconds=60)
        lldpd.send_often()
        (known,) = heard()
        assert known["system_description"] == "an independent implementation"
        assert known["port_description"] == "eth0"
        assert (known["port_id"], known["own"]) == (host.mac, None)
        us = lldpd.neighbour()
        assert us is not None
        (chassis,), (port,) = us["chassis"], us["port"]
        address = sh("cat", f"/sys/class/net/{switch.name}/address").strip()
        assert chassis["id"] == [{"type": "mac", "value": address}]
        assert chassis["name"][0]["value"] == switch.name
        assert chassis["mgmt-ip"][0]["value"] == "192.0.2.7"
        assert [one["type"] for one in chassis["capability"] if one["enabled"]] == ["Bridge"]
        assert port["id"] == [{"type": "ifname", "value": host.plug}]
        (vlan,) = us["vlan"]
        assert (str(vlan["vlan-id"]), vlan["pvid"], vlan["value"]) == ("7", True, "office")

        controller.configure(file(False))
        assert controller.api("POST", "/v1/config/reload").status == 200
        wait_for(lambda: lldpd.neighbour() is None, "it to forget us, who said goodbye")
        controller.configure(file(True))
        assert controller.api("POST", "/v1/config/reload").status == 200
        wait_for(lldpd.neighbour, "it to hear us again", seconds=30)
        wait_for(heard, "it to be heard again", seconds=60)
        lldpd.end()
        wait_for(lambda: not heard(), "it to be forgotten, as it said goodbye")
