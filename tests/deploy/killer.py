"""Runs deployments in a host's namespace, each in a process that is killed at a chosen step.

`python -m tests.deploy.killer` is that runner: it imports everything once and forks for each order.
An order is a line of JSON; the answer is one too: how the child ended, and the steps it saw.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.deploy.site import ROOT, Site

NEVER = 10_000


@dataclass(frozen=True)
class Outcome:
    """`signal`: what killed it, 0 when it came to its end.  `steps`: those that were begun."""

    signal: int
    steps: list[str]
    said: str


class Killer:
    """The tests' side."""

    def __init__(self, site: Site) -> None:
        words = ("ip", "netns", "exec", site.host, sys.executable, "-m", __name__)
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._common = {"journal": str(site.journal), "db": site.database}

    def __enter__(self) -> Killer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=10)

    def apply(self, at: int = NEVER, **more: object) -> Outcome:
        """`apply` of eth0, killed before it takes step `at` (from 0)."""
        return self._order("apply", at, more)

    def recover(self, at: int = NEVER) -> Outcome:
        """`recover` of what was broken off."""
        return self._order("recover", at, {})

    def revert(self, at: int = NEVER, **more: object) -> Outcome:
        """`revert`."""
        return self._order("revert", at, more)

    def _order(self, what: str, at: int, more: dict[str, object]) -> Outcome:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"what": what, "at": at, **self._common, **more}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return Outcome(**json.loads(self._process.stdout.readline()))


def _run(order: dict[str, Any], seen: int) -> None:
    """In the child."""
    from ofapp.deploy import apply as applying
    from ofapp.deploy import recover, watcher
    from ofapp.deploy.journal import Store
    from ofapp.deploy.model import DeployConfig

    def tell(number: int, step: object) -> None:
        os.write(seen, f"{step}\n".encode())
        if number == order["at"]:
            os.kill(os.getpid(), order.get("signal", signal.SIGKILL))

    store = Store(Path(order["journal"]))
    if not order.get("watched", True):
        watcher.start = lambda *_: None
    if "slack" in order:
        applying.SLACK_SECONDS = applying.CONTROLLER_SECONDS = order["slack"]
    if order["what"] == "apply":
        config = DeployConfig(
            nics=("eth0",), datapath="netdev", settle_within=order.get("settle", 5)
        )
        found = applying.survey(config, store, order["db"], confirmed_later=True)
        assert not found.errors, found.errors
        applying.apply(found, store, order.get("within"), tell)
    elif order["what"] == "revert":
        recover.revert(store, "br0", tell)
    else:
        with store.lock("br0"):
            journal = recover.unfinished(store, "br0")
            if journal is not None:
                recover.put_back(store, journal, tell)


def _forked(order: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        said = ""
        try:
            _run(order, writing)
        except Exception as error:
            said = f"!{type(error).__name__}: {error}\n"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        # A stopped child keeps the pipe: the tests wait for its end, whoever brings that about.
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "steps": [line for line in lines if not line.startswith("!")],
        "said": "\n".join(line[1:] for line in lines if line.startswith("!")),
    }


def main() -> None:
    """Answer orders until there are no more."""
    import ofapp.deploy.watch  # noqa: F401  (everything, once)

    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
