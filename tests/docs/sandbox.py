"""A separate machine for `mn`: network, processes, /run, /tmp, Open vSwitch; all end with it.

`mn` names its switches s1, s2, ... and replaces what it finds by that name; and when it fails it
kills by name and removes every bridge of Open vSwitch.  In here there is nothing else to find.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

_SET_UP = """
set -e
mount -t tmpfs none /run
mount -t sysfs none /sys
mkdir -p /run/openvswitch /run/tmp
case $PWD/ in /tmp/*) ;; *) mount --bind /run/tmp /tmp ;; esac  # the repository must stay in sight
ip link set lo up
export OVS_LOGDIR=/run/openvswitch OVS_DBDIR=/run/openvswitch
ovsdb-tool create /run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
daemon="--detach --pidfile --no-chdir -vconsole:off"
ovsdb-server /run/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock $daemon
ovs-vsctl --no-wait init
ovs-vswitchd $daemon
set +e
"""


def run(script: str, seconds: float = 150) -> str:
    """What a shell script says there, errors in line; it runs in the repository."""
    try:
        done = subprocess.run(
            [
                *("unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"),
                *("bash", "-c", _SET_UP + script),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        raise AssertionError(f"not done after {seconds} s:\n{said}") from None
    assert done.returncode == 0, done.stdout
    return done.stdout
