"""ofapp itself, as a separate process that all its bridges share in turn."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from ofapp.bench import BenchError
from ofapp.bench.processes import free_port, listens, started, wait_until


def datapath_id(number: int) -> str:
    """Return the datapath id of this controller's bridge 1, 2, ..., 16 hexadecimal digits."""
    return f"{0xB0B00000000 + number:016x}"


class Controller:
    """A running controller, by its process and its port."""

    def __init__(self, process: int, port: int, folder: Path) -> None:
        self.process, self.target = process, f"tcp:127.0.0.1:{port}"
        self._folder = folder

    def log_tail(self, lines: int = 15) -> str:
        """The end of what it said."""
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-lines:])


@contextmanager
def controller(bridges: Mapping[str, Sequence[str]]) -> Iterator[Controller]:
    """Start it for these bridges: their ports by datapath id.

    What is not its default: the ports are known to lead to hosts, so that spanning tree, which
    runs, opens them at once; and any number of new addresses a second is heard of, as it is by the
    bridges that it is compared with.
    """
    port, api = free_port(), free_port()
    edge = {"stp": {"admin_edge": True}}
    settings = {
        "defaults": {"packet_in_rate": 1_000_000},
        "bridges": {one: {"ports": dict.fromkeys(ports, edge)} for one, ports in bridges.items()},
    }
    with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as name:
        folder = Path(name)
        (folder / "ofapp.yaml").write_text(yaml.safe_dump(settings))
        words = [
            *(
                sys.executable,
                "-m",
                "ofapp.launcher.manager",
                "ofapp.app",
                "--ofp-listen-host",
                "127.0.0.1",
            ),
            *("--ofp-tcp-listen-port", str(port), "--wsapi-port", str(api)),
            *("--config-file", str(folder / "ofapp.yaml"), "--state-dir", str(folder / "state")),
        ]
        with started(words, folder / "log") as process:
            running = Controller(process.pid, port, folder)
            up = wait_until(lambda: listens(port) or process.poll() is not None, 90)
            if not up or process.poll() is not None:
                raise BenchError(f"ofapp does not start:\n{running.log_tail()}")
            yield running
