"""Present state of the host, read from the kernel and Open vSwitch."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ofapp.host_setup.controller_file import read_lags
from ofapp.host_setup.lagfile import LagFileError
from ofapp.host_setup.links import settings
from ofapp.host_setup.netlink import Netlink, has_family
from ofapp.host_setup.ovsdb import observe_switch
from ofapp.host_setup.state import Host, LagFile

CAP_NET_ADMIN = 12


def observe(kernel: Netlink, database: str, file: str | None = None) -> Host:
    """Everything; Open vSwitch may be away.  `file`: the controller's, if it is concerned."""
    return Host(
        kernel.links(),
        observe_switch(database, kernel_module=has_family("ovs_datapath")),
        defaults=settings("default"),
        privileged=_privileged(),
        machine_id=_machine_id(),
        file=None if file is None else observe_file(file),
    )


def observe_file(path: str) -> LagFile:
    """The aggregations in the controller's file and its drop-ins."""
    try:
        return LagFile(path, read_lags(path))
    except (OSError, UnicodeDecodeError, LagFileError) as error:
        return LagFile(path, problem=getattr(error, "strerror", None) or str(error))


def _privileged() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_NET_ADMIN & 1)
    return False


def _machine_id() -> str:
    with suppress(OSError):
        return Path("/etc/machine-id").read_text().strip()
    return ""
