"""Ports of a guest, by what its hypervisor has written into Open vSwitch's database.

libvirt writes the domain's UUID (vm-id), the interface's id and its MAC address; XAPI the UUIDs of
the VM and of its VIF.
"""

from __future__ import annotations

import subprocess

from ofapp.host_setup.state import Switch

_SECONDS = 5.0


def ports_of(switch: Switch, guest: str) -> list[str]:
    """The names of a guest's ports.

    guest: a UUID or interface id in external_ids, or the name of a libvirt domain.
    """
    return _marked(switch, guest) or _marked(switch, _domain_uuid(guest))


def _marked(switch: Switch, guest: str) -> list[str]:
    ports = (port for bridge in switch.bridges for port in bridge.ports)
    return [port.name for port in ports if guest and guest.casefold() in port.guest]


def _domain_uuid(name: str) -> str:
    """The UUID of a libvirt domain; empty if there is none, or no libvirt."""
    if name.startswith("-"):
        return ""
    command = ("virsh", "--quiet", "--readonly", "--connect", "qemu:///system", "domuuid", name)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
