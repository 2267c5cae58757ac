"""Controllers for Mininet: a new `ofapp-manager`, or one that runs already.

`mn` runs on the system's Python, where `ofapp` is not installed, so nothing of it is imported here:
its commands are run, from the virtual environment beside this folder or else from PATH.
"""

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from mininet.log import error, info
from mininet.node import Controller, RemoteController

OFP_PORT, API_PORT = 6653, 8080
SECONDS = 30


class LabError(Exception):
    """Something did not come true; said to the user in one line."""


def program(name):
    """Where a command of `ofapp` is."""
    ours = Path(__file__).resolve().parents[1] / ".venv/bin" / name
    found = str(ours) if ours.exists() else shutil.which(name)
    if found is None:
        raise LabError(f"there is no {name}: `deploy/quickstart` installs it, or pip install ofapp")
    return found


def wait_for(what, condition, seconds=SECONDS):
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.1)
    return value


def listens(ip, port):
    """Whether a process listens there."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((ip, int(port))) == 0


def free_port(wanted, what, say):
    """The port `wanted`, or a free one if that is taken, which `say` reports."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found = probe.getsockname()[1]
            if found != wanted:
                say(f"port {wanted} is taken: {what} goes to port {found}")
            return found
    raise LabError("there is no free port")


class Manager:
    """`ofapp-manager` as a process; its log and its state are in `folder`."""

    def __init__(self, folder, say, ports=(OFP_PORT, API_PORT), config=None):
        self.ofp_port = free_port(ports[0], "OpenFlow", say)
        self.api_port = free_port(ports[1], "the REST API", say)
        self.url = f"http://127.0.0.1:{self.api_port}"
        self.log = Path(folder) / "ofapp.log"
        self.command = [
            program("ofapp-manager"),
            "ofapp.app",
            *("--ofp-tcp-listen-port", str(self.ofp_port), "--wsapi-port", str(self.api_port)),
            *("--state-dir", str(Path(folder) / "state")),
            *(("--config-file", str(config)) if config else ()),
        ]
        self.process = None

    def start(self):
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        wait_for("the REST API", lambda: self.get("/v1/bridges") is not None)

    def get(self, path):
        """What the API answers; None while it does not."""
        if self.process.poll() is not None:
            said = self.log.read_text().strip().splitlines()
            raise LabError(f"ofapp-manager ended: {said[-1] if said else 'without a word'}")
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError, ValueError),
            urllib.request.urlopen(self.url + path, timeout=5) as answer,
        ):
            return json.load(answer)
        return None

    def kill(self):
        """The hardest end there is."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """End it, if it has not ended yet."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()


class OfappController(Controller):
    """An `ofapp-manager` that starts and ends with the network: `--controller ofapp`.

    `--controller ofapp,port=6653,api=8080,config=FILE`.  Other ports are taken, and said, when
    these are in use: a controller that the machine has already is left alone.
    """

    def __init__(self, name, ip="127.0.0.1", port=OFP_PORT, api=API_PORT, config=None, **params):
        self.folder = Path(tempfile.mkdtemp(prefix="ofapp-lab-"))
        with _ends_in_one_line():
            ports = (int(port), int(api))
            self.manager = Manager(self.folder, lambda text: info(text + "\n"), ports, config)
        atexit.register(self._end)  # `mn` stops no network that was interrupted
        self.api = self.manager.url
        os.environ["OFAPP_API"] = self.api  # for `ofapp`, from here and from every host's shell
        Controller.__init__(self, name, ip=ip, port=self.manager.ofp_port, **params)

    def checkListening(self):  # noqa: N802 (Mininet's name)
        """The manager has looked for a free port."""

    def start(self):
        with _ends_in_one_line():
            self.manager.start()
        info(f"(log: {self.manager.log}) ")

    def _end(self):
        self.manager.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, *args, **kwargs):
        self._end()
        super(Controller, self).stop(*args, **kwargs)

    @classmethod
    def isAvailable(cls):  # noqa: N802 (Mininet's name)
        return True


@contextlib.contextmanager
def _ends_in_one_line():
    """End `mn` on a LabError.  Of any other exception `mn` makes a `mn -c`, which removes every
    bridge that the machine's Open vSwitch has."""
    try:
        yield
    except LabError as problem:
        error(f"{problem}\n")
        raise SystemExit(1) from None


class OfappRemote(RemoteController):
    """An `ofapp-manager` that runs already: `--controller ofapp_remote,ip=192.0.2.1`.

    Mininet's own `remote` asks by telnet whether a controller listens, takes the OpenFlow hello for
    UTF-8 text, and fails now and then, as the greeting carries a random number.
    """

    def __init__(self, name, ip="127.0.0.1", port=OFP_PORT, api=API_PORT, **params):
        self.api = os.environ.setdefault("OFAPP_API", f"http://{ip}:{api}")
        RemoteController.__init__(self, name, ip=ip, port=int(port), **params)

    def isListening(self, ip, port):  # noqa: N802 (Mininet's name)
        if listens(ip, port):
            return True
        error(f"no controller listens on {ip} port {port}: start `ofapp-manager` there\n")
        return False
