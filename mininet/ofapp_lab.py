"""What every lab shares: Mininet's command line with a few commands more, and its defaults.

`from ofapp_lab import *` gives a file for `mn --custom` the names of `__all__`.  `mn` copies names
into its own globals, where these mean something to it: `switches`, `hosts` and `controllers` are
added to its choices (`default` and `proc` are what it takes without an option, and
`findController` finds the controller then), `tests` to what `--test` knows, `CLI` is what it runs.

A lab's page is the docstring of its module: what to type (after `mininet>`), what to see, what to
try.  `lab` shows it, `--test walk` types it, and a test sees to it that the page tells the truth.
"""

import contextlib
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile
import traceback
import urllib.error
import urllib.request
from ipaddress import ip_address
from pathlib import Path

import mininet.cli
from mininet.log import error, output
from mininet.topo import Topo
from ofapp_controller import API_PORT, LabError, OfappController, OfappRemote, program, wait_for
from ofapp_nodes import LegacyBridge, OfappHost, OfappSwitch
from ofapp_stream import FRAMES, count

__all__ = ["CLI", "LabTopo", "controllers", "findController", "hosts", "switches", "tests"]

SETTLE_SECONDS = 60
PROMPT = "mininet> "
ON_THE_WAY = ("waiting", "attached", "collecting")
"""What a member of an aggregation is before it carries traffic."""
UNPROVEN = ("probing", "held", "down")
"""What a link of a fabric is before it carries traffic."""


class LabTopo(Topo):
    """Switches s1, s2, ... and hosts h1, h2, ... with addresses that one can read."""

    page = None

    def lab_switches(self, count):
        """So many switches."""
        return [self.addSwitch(f"s{number}") for number in range(1, count + 1)]

    def lab_host(self, *switches, **params):
        """A host at each of these switches, by one interface each."""
        number = len(self.hosts()) + 1
        host = self.addHost(f"h{number}", mac=f"02:00:00:00:00:{number:02x}", **params)
        for switch in switches:
            self.addLink(switch, host)
        return host


def settle(net, *_):
    """Wait until spanning tree has opened the ports: every host reaches every other, twice over.

    Once is not enough: a change may have been under way.  LabError after SETTLE_SECONDS.
    """
    wait_for("all hosts to reach each other", lambda: _at_rest(net), SETTLE_SECONDS)


def _at_rest(net):
    return _opened(net) and _all_meet(net) and _opened(net) and _all_meet(net)


def _opened(net):
    """Whether no port of the switches is still on its way to forwarding, and no cable into use."""
    for switch in net.switches:
        status = _ask(net, f"/v1/bridges/{switch.dpid}/stp")
        for port in status["ports"] if status else ():
            if port["role"] in ("root", "designated") and port["state"] != "forwarding":
                return False
        found = _ask(net, f"/v1/bridges/{switch.dpid}/lags")
        for lag in found["lags"] if found else ():
            if any(member["state"] in ON_THE_WAY for member in lag["members"]):
                return False
    return _fabrics_are_settled(net)


def _fabrics_are_settled(net):
    """Whether every link of a fabric that has carrier is used, if there is a fabric."""
    found = _ask(net, "/v1/fabrics")
    for name in (one["name"] for one in found["fabrics"]) if found else ():
        fabric = _ask(net, f"/v1/fabrics/{name}")
        if not fabric or not fabric["settled"]:
            return False
        if any(link["state"] in UNPROVEN and _has_carrier(link) for link in fabric["links"]):
            return False
    return True


def _has_carrier(link):
    """Whether both ends of a fabric's link are up: BFD takes a second more to agree."""
    ends = (str(link[end]).partition("/")[2] for end in ("one", "other"))
    states = [Path("/sys/class/net", end, "operstate") for end in ends]
    return all(path.exists() and path.read_text().strip() == "up" for path in states)


def _ask(net, path):
    """What the API answers; None for nothing, as of a switch that is not under `ofapp`."""
    with (
        contextlib.suppress(urllib.error.URLError, ConnectionError, ValueError),
        urllib.request.urlopen(api(net) + path, timeout=5) as answer,
    ):
        return json.load(answer)
    return None


def api(net):
    """Where the API is: as the controller says, or else as the user did."""
    found = [node.api for node in net.controllers if hasattr(node, "api")]
    return (found or [os.environ.get("OFAPP_API", f"http://127.0.0.1:{API_PORT}")])[0]


def _all_meet(net):
    """Whether each host gets an answer from every other; ends with the first that does not."""
    return all(
        " 1 received" in host.cmd(f"ping -n -q -c 1 -W 1 {other.IP()}")
        for host, other in itertools.permutations(net.hosts, 2)
    )


def _is_ready(manager, dpid):
    """Whether a switch holds what the controller wants; `manager`: asks the API."""
    if found := manager.get(f"/v1/bridges/{dpid}"):
        return found["in_line"]
    for one in (manager.get("/v1/fabrics") or {"fabrics": ()})["fabrics"]:
        fabric = manager.get(f"/v1/fabrics/{one['name']}") or {"members": ()}
        if any(member["datapath_id"] == dpid for member in fabric["members"]):
            return all(member["ready"] for member in fabric["members"])
    return False


def page_of(net):
    """The page of the lab that runs."""
    page = getattr(net.topo, "page", None)
    if page is None:
        raise LabError("this topology has no page")
    return page


def commands(page):
    """What a page says to type."""
    lines = (line.strip() for line in page.splitlines())
    return [line[len(PROMPT) :] for line in lines if line.startswith(PROMPT)]


def walk(net, *_):
    """`--test walk`: type what the page says."""
    with tempfile.NamedTemporaryFile("w", suffix=".mn") as script:
        script.write("".join(f"{command}\n" for command in commands(page_of(net))))
        script.flush()
        CLI(net, script=script.name)


def _is_group(text):
    with contextlib.suppress(ValueError):
        return ip_address(text).is_multicast
    return False


class CLI(mininet.cli.CLI):
    """Mininet's, and: lab, settle, ofapp, move, stream, kill, restart (`help NAME` tells more)."""

    _running = False

    def onecmd(self, line):
        outermost, self._running = not self._running, True  # `time settle` comes here twice
        if self.inputFile and outermost:
            output(f"{PROMPT}{line.strip()}\n")
        try:
            return super().onecmd(line)
        except LabError as problem:
            error(f"{problem}\n")
            if self.inputFile:
                self.inputFile.seek(0, os.SEEK_END)  # the rest of a script builds upon it
        except Exception:  # for `mn` a reason to remove every bridge of the machine
            error(traceback.format_exc())
        finally:
            self._running = not outermost
        return False

    def do_lab(self, _line):
        """Show the page of this lab: what to type, what to see, what to try."""
        output(f"{page_of(self.mn).strip()}\n")

    def do_settle(self, _line):
        """Wait until spanning tree has opened the ports: every host reaches every other."""
        settle(self.mn)

    def do_ofapp(self, line):
        """Run `ofapp`: `ofapp fdb show s1`, `ofapp stp show`; `ofapp --help` lists its commands."""
        sys.stdout.flush()
        environment = os.environ | {"OFAPP_API": api(self.mn)}
        with contextlib.suppress(KeyboardInterrupt):  # the way out of `ofapp events -f`
            subprocess.run([program("ofapp"), *shlex.split(line)], env=environment, check=False)

    def do_move(self, line):
        """Unplug a host and plug it in at another switch: `move h1 s2`."""
        host, new = self._nodes(line, ("host", "switch"))
        for link in self.mn.links:
            for end, plug in ((link.intf1, link.intf2), (link.intf2, link.intf1)):
                if end.node is host and isinstance(plug.node, OfappSwitch):
                    home = getattr(plug, "home", plug.node)
                    home.detach(plug)
                    new.attach(plug)
                    plug.home = new
                    output(f"{host}: from {home} to {new}\n")
                    return
        raise LabError(f"{host} is at no switch")

    def do_stream(self, line):
        """Send ten frames to a multicast group and tell who gets them: `stream h1 239.1.1.1`.
        With `until h2 h4` at the end: over and over, until just these get all of them."""
        words, _, wanted = line.partition(" until ")
        name, _, group = words.strip().partition(" ")
        (sender,) = self._nodes(name, ("host",))
        if not _is_group(group):
            raise LabError(f"{group or 'nothing'} is no multicast group (239.1.1.1 is one)")
        members = self._nodes(wanted, ("host",) * len(wanted.split()))
        listeners = [host for host in self.mn.hosts if host is not sender]
        expected = {host: FRAMES * (host in members) for host in listeners}

        def heard():
            self._heard = count(sender, listeners, group)
            return not members or self._heard == expected

        wait_for(f"just {wanted} to get {group}", heard)
        output("  ".join(f"{host}: {frames}" for host, frames in self._heard.items()) + "\n")

    def do_kill(self, _line):
        """End the controller in the hardest way (kill -9), as it might happen."""
        self._manager().kill()

    def do_restart(self, _line):
        """Start the controller again after `kill`, and wait until it has its switches."""
        manager = self._manager()
        manager.stop()
        manager.start()
        for switch in self.mn.switches:
            if isinstance(switch, OfappSwitch):
                wait_for(
                    f"{switch} to be set up", lambda dpid=switch.dpid: _is_ready(manager, dpid)
                )

    def _manager(self):
        for controller in self.mn.controllers:
            if isinstance(controller, OfappController):
                return controller.manager
        raise LabError("the controller is not ours to end: this needs `--controller ofapp`")

    def _nodes(self, line, kinds):
        """The nodes named in `line`, one of each of these kinds: `host`, `switch`."""
        known = {"host": self.mn.hosts, "switch": self.mn.switches}
        names = line.split()
        if len(names) != len(kinds):
            raise LabError(f"needed: {' '.join(kinds).upper()}")
        for name, kind in zip(names, kinds, strict=True):
            if name not in (node.name for node in known[kind]):
                raise LabError(f"there is no {kind} {name}")
        return [self.mn[name] for name in names]


def find_controller(*_):
    """What `mn` runs without `--controller`."""
    return OfappController


findController = find_controller  # noqa: N816 (Mininet's name)
controllers = {"ofapp": OfappController, "ofapp_remote": OfappRemote}
hosts = {"ofapp": OfappHost, "proc": OfappHost}
switches = {"ofapp": OfappSwitch, "default": OfappSwitch, "legacy": LegacyBridge}
tests = {"settle": settle, "walk": walk}
