"""A libvirtd of our own: without systemd, with its own folders, and gone with all its guests.

It runs in a mount namespace, where its folders are ours, and in a process namespace, which ends
all that it has started.  Its network is the machine's: Open vSwitch and the taps are there.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from tests.guest.image import Image
from tests.support.lab import sh
from tests.support.waiting import wait_for

FOLDERS = ("etc/libvirt", "run/libvirt", "var/lib/libvirt", "var/log/libvirt", "var/cache/libvirt")

SETTINGS = """
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
remember_owner = 0
stdio_handler = "file"
"""

DOMAIN = """
<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>192</memory>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{image.kernel}</kernel>
    <initrd>{image.initrd}</initrd>
    <cmdline>console=ttyS0 quiet panic=-1</cmdline>
  </os>
  <cpu mode='maximum'/>
  <devices>
    <serial type='unix'><source mode='bind' path='{serial}'/></serial>
    {interface}
  </devices>
</domain>
"""

DRIVER = """
<driver>
  <host csum='off' gso='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
  <guest csum='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
</driver>
"""


class Libvirt:
    """The daemon, and virsh to talk to it."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="ofapp-virt-")
        self.folder = Path(self._temporary.name)
        for folder in FOLDERS:
            (self.folder / folder).mkdir(parents=True)
            Path("/", folder).mkdir(parents=True, exist_ok=True)
        (self.folder / "etc/libvirt/qemu.conf").write_text(SETTINGS)
        (self.folder / "etc/libvirt/libvirtd.conf").write_text('auth_unix_rw = "none"\n')
        mounts = "".join(f"mount --bind {self.folder / f} /{f}\n" for f in FOLDERS)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL"),
                    *("unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"),
                    # The shell buries what libvirtd's guests leave: a first process has to.
                    *("sh", "-ec", f"{mounts}libvirtd --pid-file {self.folder}/pid & wait"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def started(self) -> Libvirt:
        """Wait until it answers."""
        wait_for(self._answers, "libvirtd to answer", seconds=30)
        return self

    def virsh(self, *words: object) -> str:
        """A virsh command."""
        return sh("virsh", "-q", "-c", self._uri, *words)

    def network(self, xml: Path, bridge: str) -> None:
        """Start the network of that file, on another bridge than the file says."""
        root = ElementTree.parse(xml).getroot()
        _element(root, "bridge").set("name", bridge)
        self.virsh("net-create", self._file("network", root))

    def create(self, name: str, image: Image, interface: Path, mac: str, tap: str) -> Path:
        """Start a guest, paused before its first instruction; its serial line.

        Its interface is that of the file, with this address, and with this tap where the file names
        one; the guest fills in checksums itself, as the userspace datapath wants it.
        """
        root = ElementTree.parse(interface).getroot()
        ElementTree.SubElement(root, "mac", address=mac)
        root.append(ElementTree.fromstring(DRIVER))
        for target in root.iter("target"):
            target.set("dev", tap)
        serial = self.folder / f"{name}.serial"
        text = ElementTree.tostring(root, encoding="unicode")
        domain = DOMAIN.format(name=name, image=image, serial=serial, interface=text)
        self.virsh("create", "--paused", self._file(name, ElementTree.fromstring(domain)))
        return serial

    def close(self) -> None:
        """End it and its guests."""
        self._process.kill()
        self._process.wait()
        self._temporary.cleanup()

    def _file(self, name: str, root: ElementTree.Element) -> Path:
        path = self.folder / f"{name}.xml"
        path.write_text(ElementTree.tostring(root, encoding="unicode"))
        return path

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @property
    def _uri(self) -> str:
        return f"qemu:///system?socket={self.folder}/run/libvirt/libvirt-sock"

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"libvirtd ended: {self._log.read_text()[-2000:]}")
        return bool(sh("virsh", "-q", "-c", self._uri, "capabilities", check=False))


def _element(root: ElementTree.Element, name: str) -> ElementTree.Element:
    found = root.find(name)
    assert found is not None, f"no <{name}> in {root.tag}"
    return found
