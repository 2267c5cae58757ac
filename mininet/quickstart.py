"""The network that deploy/quickstart shows: two switches with two hosts each, under ofapp-manager.

Every name begins with `ofq`: a network of the user, with an `s1`, is not touched.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo
from ofapp_controller import API_PORT, LabError, Manager, OfappRemote, wait_for
from ofapp_nodes import OfappHost, OfappSwitch

RUN = Path("/run/ofapp-quickstart")
KEPT = RUN / "kept.json"  # process id -> start time of what `--stop` ends
BRIDGES = {"ofq1", "ofq2"}
BIN = Path(sys.executable).parent


class QuickstartTopo(Topo):
    def build(self):
        switches = [self.addSwitch(f"ofq{n}", dpid=f"{n:016x}") for n in (1, 2)]
        for number in (1, 2, 3, 4):
            host = self.addHost(
                f"ofqh{number}", ip=f"10.99.0.{number}/24", mac=f"02:00:00:00:00:0{number}"
            )
            self.addLink(switches[(number - 1) // 2], host)
        self.addLink(*switches)


def say(text=""):
    print(text, flush=True)


def ready(controller):
    """Whether both switches have been set up."""
    bridges = [controller.get(f"/v1/bridges/{number:016x}") for number in (1, 2)]
    return all(bridge and bridge["connected"] and bridge["in_line"] for bridge in bridges)


def show(command):
    """Run a command in front of the user, as they would type it."""
    say(f"\n$ {' '.join(command)}")
    command = [str(BIN / command[0]) if (BIN / command[0]).exists() else command[0], *command[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    say((done.stdout + done.stderr).rstrip())
    if done.returncode:
        raise LabError(f"{command[0]} ended with status {done.returncode}")


def tour(net, controller):
    say("the hosts ping each other, as soon as spanning tree has opened the ports (3 s) ...")
    wait_for("all hosts to answer each other", lambda: net.pingAll(timeout=1) == 0)
    pings = len(net.hosts) * (len(net.hosts) - 1)
    say(f"all {pings} pings were answered; what the bridges learned from them:")
    at = ["--api", controller.url] if controller.api_port != API_PORT else []
    show(["ofapp", "fdb", "show", *at])
    show(["curl", "-s", f"{controller.url}/v1/fdb?mac=02:00:00:00:00:04"])


def where_next(net, controller, kept):
    say("\nWhere to look next:")
    if kept:
        at = "" if controller.api_port == API_PORT else f" --api {controller.url}"
        say(f"  the page:                   {controller.url}/")
        say(f"  what is wrong now:          {BIN / 'ofapp'} status{at}")
        say(f"  a shell in host ofqh1:      mnexec -a {net['ofqh1'].pid} bash    (ping 10.99.0.4)")
        say(f"  the API described:          curl -s {controller.url}/openapi.json")
        say("  the flows of a switch:      ovs-ofctl -O OpenFlow13 dump-flows ofq1")
        say(f"  the controller's log:       {controller.log}")
        say("  end it all:                 deploy/quickstart --stop")
    else:
        say("  README.md                   an Open vSwitch of your own; how to test")
        say("  ofapp --help, ofapp-manager --help    (in .venv/bin)")
        say("  deploy/quickstart --keep    the same, left running to explore; its page is at")
        say(f"                              {controller.url}/")


@contextlib.contextmanager
def running():
    """The controller and the network, which are removed afterwards in any case."""
    taken = subprocess.run(["ovs-vsctl", "list-br"], capture_output=True, text=True, check=True)
    if BRIDGES & set(taken.stdout.split()):
        raise LabError(
            "a bridge ofq1 or ofq2 is there already: deploy/quickstart --stop removes it"
        )
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir(parents=True)
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, RUN, ignore_errors=True)
        controller = Manager(RUN, say)
        cleanup.callback(controller.stop)
        controller.start()
        say(f"started: {' '.join(['ofapp-manager', *controller.command[1:]])}")
        net = Mininet(
            topo=QuickstartTopo(),
            switch=OfappSwitch,
            host=OfappHost,
            controller=partial(OfappRemote, port=controller.ofp_port),
            waitConnected=False,
        )
        cleanup.callback(net.stop)
        net.start()
        say("started: a network of 2 switches (ofq1, ofq2) and 4 hosts (ofqh1 .. ofqh4)")
        wait_for("the switches to be set up", lambda: ready(controller))
        tour(net, controller)
        yield net, controller


def started(pid):
    """When a process began, in clock ticks since boot: with its id this names it for good.

    None when it has ended, also while its parent (a container's first process) has not reaped it.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[18])


def keep():
    """Show it and leave it running: in a separate process, as Mininet's hosts end with it."""
    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        if os.read(reader, 1):
            return
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or 1)
    os.close(reader)
    with running() as (net, controller):
        pids = (os.getpid(), controller.process.pid)
        KEPT.write_text(json.dumps({pid: started(pid) for pid in pids}))
        where_next(net, controller, kept=True)
        os.setsid()
        log = os.open(controller.log, os.O_WRONLY | os.O_APPEND)
        for stream in (0, 1, 2):
            os.dup2(log, stream)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.write(writer, b"+")
        os.close(writer)
        controller.process.wait()  # SIGTERM ends it sooner, by the exception of `interrupted`


def stop():
    """End what an earlier `--keep` left, and what is left of one that died."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    alive = {int(pid) for pid, begun in kept.items() if begun and started(pid) == begun}
    left = subprocess.run(["ovs-vsctl", "list-br"], capture_output=True, text=True, check=True)
    if not alive and not BRIDGES & set(left.stdout.split()):
        raise LabError("nothing was kept running")
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    wait_for("it to end", lambda: not any(started(pid) == kept[str(pid)] for pid in alive))
    for bridge in BRIDGES:
        subprocess.run(["ovs-vsctl", "--if-exists", "del-br", bridge], check=True)
    for link in Path("/sys/class/net").glob("ofq[12]-eth*"):
        subprocess.run(["ip", "link", "del", link.name], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(RUN, ignore_errors=True)
    say("stopped; nothing is left")


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(prog="quickstart", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="leave the network running")
    parser.add_argument("--stop", action="store_true", help="end a network that was kept")
    args = parser.parse_args()
    setLogLevel("error")
    signal.signal(signal.SIGTERM, interrupted)
    try:
        if args.stop:
            stop()
        elif args.keep:
            keep()
        else:
            with running() as (net, controller):
                where_next(net, controller, kept=False)
    except LabError as problem:
        sys.exit(f"quickstart: {problem}")
    except KeyboardInterrupt:
        sys.exit("quickstart: interrupted; nothing is left running")


if __name__ == "__main__":
    main()
