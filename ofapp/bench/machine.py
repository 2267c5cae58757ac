"""The machine, as a reader needs to know it to judge the figures."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import ofapp
from ofapp.bench.model import Machine

USER_MODE_LINUX = "user-mode Linux"
_NONE_SEEN = "none seen"
_PROGRAMS = {
    "Open vSwitch": ("ovs-vswitchd", "--version"),
    "iperf3": ("iperf3", "--version"),
    "sockperf": ("sockperf", "--version"),
    "perf": ("perf", "--version"),
}
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def describe() -> Machine:
    """Describe the machine by /proc and by the versions of programs."""
    versions = {"ofapp": ofapp.__version__, "Python": platform.python_version()}
    for name, command in _PROGRAMS.items():
        if version := _VERSION.search(_said(command)):
            versions[name] = version[0]
    return Machine(
        processor=_field("/proc/cpuinfo", "model name") or platform.machine(),
        cores=os.cpu_count() or 1,
        kernel=platform.release(),
        system=platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        memory_mib=int(_field("/proc/meminfo", "MemTotal").split()[0]) // 1024,
        virtual=_virtual(),
        versions=versions,
    )


def separates_kernel_time() -> bool:
    """Whether /proc/stat separates kernel time from user time: not in user-mode Linux."""
    return _virtual() != USER_MODE_LINUX


def is_virtual() -> bool:
    """Whether a hypervisor shows itself."""
    return _virtual() != _NONE_SEEN


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _virtual() -> str:
    """Return the kind of virtual machine, if it can be detected."""
    if "User Mode Linux" in _field("/proc/cpuinfo", "vendor_id"):
        return USER_MODE_LINUX
    flags = _field("/proc/cpuinfo", "flags").split()
    return "virtual machine" if "hypervisor" in flags else _NONE_SEEN


def _said(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr
