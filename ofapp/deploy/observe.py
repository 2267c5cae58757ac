"""The host as it is now, put together of what the kernel and Open vSwitch tell."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ofapp.deploy.links import settings
from ofapp.deploy.netlink import Netlink, has_family
from ofapp.deploy.ovsdb import observe_switch
from ofapp.deploy.state import Host

CAP_NET_ADMIN = 12


def observe(kernel: Netlink, database: str) -> Host:
    """Everything; Open vSwitch may be away."""
    return Host(
        kernel.links(),
        observe_switch(database, kernel_module=has_family("ovs_datapath")),
        defaults=settings("default"),
        privileged=_privileged(),
        machine_id=_machine_id(),
    )


def _privileged() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_NET_ADMIN & 1)
    return False


def _machine_id() -> str:
    with suppress(OSError):
        return Path("/etc/machine-id").read_text().strip()
    return ""
