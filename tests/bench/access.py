"""Port access control in real time: many ports that authenticate again at once.

    tests/bench/run access
    tests/bench/run access --ports 200 --turns 5 --rights

Each port of a userspace datapath has a host that speaks EAP-MD5, FreeRADIUS is the server, and all
ports send hellos of spanning tree.  The hosts authenticate when their ports appear; then, in each
turn, all of them again at once, as an operator or the end of a period wants it.  With `--rights`
each gets a VLAN and rates from the server.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path

import yaml

from ofapp.bench.figures import percentile
from tests.bench.bridges import PLAIN, attach, own_switch
from tests.bench.table import head, row
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.radius import PASSWORD, Radius
from tests.support.supplicants import Supplicants

BRIDGE, DPID = "access", 0xF2C
HELLO = 2.0
REST = 10.0
"""Seconds without an authentication, for hellos to compare with."""
PATIENCE = 120.0
PORTION = 50
"""Ports that are added at a time."""
USERS = f'alice Cleartext-Password := "{PASSWORD}"\n'
RIGHTS = (
    '    Tunnel-Type = VLAN, Tunnel-Medium-Type = IEEE-802, Tunnel-Private-Group-Id = "20",\n'
    "    WISPr-Bandwidth-Max-Up = 10000000, WISPr-Bandwidth-Max-Down = 20000000\n"
)


def file(secret_file: Path) -> str:
    """The configuration: all ports are controlled edge ports of a spanning tree."""
    access = {"enabled": True, "servers": "127.0.0.1", "secret_file": str(secret_file)}
    port = {"vlan": 10, "stp": {"admin_edge": True}, "port_access": {"authentication": "dot1x"}}
    bridge = {"stp": {"enabled": True}, "port_access": access, "ports": {"a*": port}}
    return yaml.safe_dump({"bridges": {f"{DPID:016x}": bridge}})


def late(hellos: Mapping[int, list[float]]) -> list[float]:
    """By how many seconds each hello was later than a hello time after the one before."""
    gaps = [then - now for times in hellos.values() for now, then in pairwise(times)]
    return [max(gap - HELLO, 0.0) for gap in gaps]


def line(name: str, seconds: float, hosts: Supplicants, ports: int, loop: str) -> str:
    """A line of the table; forgets the hellos.  loop: how late the controller's loop was."""
    lates = [1000 * each for each in late(hosts.hellos)]
    hosts.hellos.clear()
    figures = [f"{percentile(lates, part):.0f}" for part in (0.5, 0.99, 1)] if lates else "---"
    load = f"{os.getloadavg()[0]:.1f}"
    return row(name, ports, f"{seconds:.1f}", len(lates), *figures, loop, hosts.refused, load)


def lateness(switch: OwnSwitch, controller: ControllerInside) -> Counter[str]:
    """How often the controller's loop was late, by the upper bounds in seconds."""
    page = switch.inside("curl", "-s", f"http://127.0.0.1:{controller.api_port}/metrics")
    found = re.findall(r'loop_lateness_seconds_bucket.le="(.*?)". (\S+)', page)
    below, counts = 0.0, Counter[str]()
    for bound, total in found:
        counts[bound] = int(float(total) - below)
        below = float(total)
    return counts


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ports", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rights", action="store_true", help="a VLAN and rates by the server")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="access-")))
        switch = stack.enter_context(own_switch(PLAIN))
        radius = Radius(switch.namespace, folder, USERS + RIGHTS * args.rights)
        radius.start()
        stack.callback(radius.stop)
        config = file(radius.secret_file)
        controller = stack.enter_context(closing(ControllerInside(switch.namespace, config)))
        controller.start()
        switch.vsctl("add-br", BRIDGE, "--", "set", "Bridge", BRIDGE, "datapath_type=netdev")
        far = f"{switch.namespace}far"
        hosts = Supplicants(far, switch.namespace, args.ports, b"alice", PASSWORD)
        stack.callback(hosts.close)
        for begin in range(1, args.ports + 1, PORTION):
            numbers = range(begin, min(begin + PORTION, args.ports + 1))
            ports = (("--", "add-port", BRIDGE, f"a{number}") for number in numbers)
            switch.vsctl(*(word for words in ports for word in words))
        attach(switch, controller, BRIDGE, DPID)
        figures = ("hello late p50 ms", "p99", "max", "loop late s", "refused", "load")
        print(head("", "ports", "seconds", "hellos", *figures), flush=True)

        def authenticated(name: str, seconds: float) -> None:
            begun = time.monotonic()
            hosts.serve_accepted(seconds)
            report(name, time.monotonic() - begun, 2 * HELLO)

        def report(name: str, seconds: float, more: float) -> None:
            nonlocal before
            there = args.ports - len(hosts.waiting)
            hosts.serve(more)
            now = lateness(switch, controller)
            loop = [bound for bound, count in now.items() if count > before[bound]]
            print(line(name, seconds, hosts, there, f"<= {loop[-1]}"), flush=True)
            before = now

        before = lateness(switch, controller)
        hosts.start()
        authenticated("first", PATIENCE)
        report("at rest", REST, REST)
        path = f"/v1/bridges/{DPID:016x}/port-access/reauthenticate"
        for turn in range(args.turns):
            hosts.serve(1.5 * HELLO)  # each port has sent a hello before
            hosts.expect()
            asked = controller.api("POST", path, {}, timeout=30)
            assert asked.status == 204, asked
            authenticated(f"again {turn + 1}", PATIENCE)
        statistics = controller.get(f"/v1/bridges/{DPID:016x}/port-access")
        print(f"\nRADIUS: {statistics['servers']}")


if __name__ == "__main__":
    main()
