"""Small virtual machines: QEMU without KVM, one NIC, a shell on the serial line.

TCG sets the speed, not the bridge: these guests show which hosts reach each other.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.guest.image import Image
from tests.support.waiting import wait_for

_markers = itertools.count(1)

# Open vSwitch's userspace datapath hands a frame on as it is: none would fill in a checksum, or
# cut a large segment, that the guest leaves to its NIC.
NO_OFFLOADS = ",".join(
    f"{feature}=off"
    for feature in ("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ufo")
)


class Shell:
    """The shell at the other end of a guest's serial line, a unix socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._said = ""

    def expect(self, text: str, seconds: float) -> str:
        """Wait for `text`; what came before it."""
        deadline = time.monotonic() + seconds
        while text not in self._said:
            self._socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                data = b""
            if not data:
                raise AssertionError(f"the guest did not say {text!r}, but: {self._said[-2000:]}")
            self._said += data.decode(errors="replace").replace("\r", "")
        before, _, self._said = self._said.partition(text)
        return before

    def booted(self, seconds: float = 60) -> Shell:
        """Wait until the guest is up."""
        self.expect("the guest is up\n", seconds)
        return self

    def configure(self, *addresses: str, mtu: int = 1500) -> None:
        """Bring its NIC up with addresses (with their prefix lengths)."""
        self.run("echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad")
        self.run(f"ip link set eth0 mtu {mtu} up")
        for address in addresses:
            self.run(f"ip addr add {address} dev eth0")

    def reaches(self, address: str, size: int = 56, seconds: int = 3) -> bool:
        """Whether one echo request of that many bytes is answered."""
        command = f"ping -c 1 -W {seconds} -s {size} {address}"
        return self._try(command, seconds + 10)[0] == 0

    def run(self, command: str, seconds: float = 20) -> str:
        """The output of a command; AssertionError when it fails."""
        status, output = self._try(command, seconds)
        assert status == 0, f"{command}: {output}"
        return output

    def _try(self, command: str, seconds: float) -> tuple[int, str]:
        marker = f"<{next(_markers)}:"
        self._socket.sendall(f"{command}\necho '{marker[:2]}''{marker[2:]}'$?'>'\n".encode())
        output = self.expect(marker, seconds)
        return int(self.expect(">", 5)), output

    def close(self) -> None:
        self._socket.close()


class Guest:
    """One virtual machine; `nic` is its NIC as QEMU's options."""

    def __init__(self, image: Image, nic: list[str], *options: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ofapp-guest-")
        self._log = self.path("log").open("wb")
        self._process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),  # it does not outlive the tests
                *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu", "max"),
                *("-m", "192", "-nodefaults", "-display", "none", "-no-reboot"),
                *("-kernel", str(image.kernel), "-initrd", str(image.initrd)),
                *("-append", "console=ttyS0 quiet panic=-1"),
                *("-serial", f"unix:{self.path('serial')},server=on,wait=off"),
                *("-qmp", f"unix:{self.path('qmp')},server=on,wait=off"),
                *nic,
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        try:
            # At once: output without a reader is lost.
            self.shell: Shell = wait_for(self._shell, "QEMU to listen", seconds=20)
        except BaseException:
            self._end()
            raise

    @classmethod
    def on_tap(cls, image: Image, tap: str, mac: str, *options: str) -> Guest:
        """With its NIC on a tap that exists."""
        netdev = f"tap,id=n,ifname={tap},script=no,downscript=no"
        device = f"virtio-net-pci,netdev=n,mac={mac},romfile=,{NO_OFFLOADS}"
        return cls(image, ["-netdev", netdev, "-device", device], *options)

    def path(self, name: str) -> Path:
        """A file of this guest on the host."""
        return Path(self._folder.name, name)

    def ask(self, command: str, **arguments: object) -> Any:
        """One command to QEMU (QMP); what it returns."""
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(20)
            line.connect(str(self.path("qmp")))
            stream = line.makefile("rw")
            stream.readline()
            for request in ("qmp_capabilities", command):
                body = {"execute": request}
                body |= {"arguments": arguments} if request == command and arguments else {}
                print(json.dumps(body), file=stream, flush=True)
                answer: dict[str, Any] = {}
                while not answer.keys() & {"return", "error"}:  # events come in between
                    answer = json.loads(stream.readline())
                assert "return" in answer, answer
            return answer["return"]

    def close(self) -> None:
        """End it, as one pulls a plug."""
        self.shell.close()
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def _shell(self) -> Shell | None:
        """The shell, once QEMU listens: its sockets are there a little sooner."""
        if self._process.poll() is not None:
            raise AssertionError(f"QEMU ended: {self.path('log').read_text()}")
        if not self.path("qmp").exists():
            return None
        try:
            return Shell(self.path("serial"))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
