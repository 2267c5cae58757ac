"""Runs `ofapp` in a host's namespace, each time in a process that may be killed at a chosen step.

`python -m tests.deploy.runner` imports everything once and forks for each order: a new Python for
each command would take most of the tests' time.  An order is a line of JSON, and so is the answer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NEVER = 10_000


@dataclass(frozen=True)
class Outcome:
    """`signal`: what killed it, 0 when it came to its end.  `steps`: those that were begun."""

    signal: int
    status: int
    steps: list[str]
    said: str


class Runner:
    """The tests' side."""

    def __init__(self, namespace: str, journal: Path, database: str) -> None:
        words = ("ip", "netns", "exec", namespace, sys.executable, "-m", __name__)
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._common = {"journal": str(journal), "db": database}

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=20)

    def ofapp(self, *words: str) -> Outcome:
        """A command as a person types it."""
        return self._order("ofapp", NEVER, {"words": words})

    def apply(self, at: int = NEVER, **more: object) -> Outcome:
        """`apply` of eth0, or of other `nics`, killed before it takes step `at` (from 0)."""
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
    from ofapp.cli import main as ofapp
    from ofapp.host_setup import apply as applying
    from ofapp.host_setup import change, recover, watcher
    from ofapp.host_setup.journal import Store
    from ofapp.host_setup.model import DeployConfig

    def progress(number: int, step: object) -> None:
        os.write(seen, f"{step}\n".encode())
        if number == order["at"]:
            os.kill(os.getpid(), order.get("signal", signal.SIGKILL))

    if order["what"] == "ofapp":
        sys.argv = ["ofapp", *order["words"]]
        ofapp()
        return
    store = Store(Path(order["journal"]))
    if not order.get("watched", True):
        watcher.start = lambda *_: None
    if "slack" in order:
        change.SLACK_SECONDS = applying.CONTROLLER_SECONDS = order["slack"]
    if order["what"] == "apply":
        config = DeployConfig(
            nics=order.get("nics", ("eth0",)),
            bond=order.get("bond"),
            datapath="netdev",
            settle_within=order.get("settle", 5),
        )
        found = applying.survey(config, store, order["db"], confirmed_later=True)
        assert not found.errors, found.errors
        applying.apply(found, store, order.get("within"), progress)
    elif order["what"] == "revert":
        recover.revert(store, "br0", progress)
    else:
        with store.lock("br0"):
            journal = recover.unfinished(store, "br0")
            if journal is not None:
                recover.put_back(store, journal, progress)


def _forked(order: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.close(reading)
            os._exit(_child(order, writing, said.fileno()))
        os.close(writing)
        with os.fdopen(reading) as pipe:
            # A stopped child keeps the pipe: the tests wait for its end by any cause.
            steps = pipe.read().splitlines()
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return {
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
            "steps": steps,
            "said": said.read().decode(),
        }


def _child(order: dict[str, Any], steps: int, said: int) -> int:
    """What the command says goes to `said`; its exit status."""
    os.set_inheritable(steps, False)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        _run(order, steps)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def main() -> None:
    """Answer orders until there are no more."""
    import ofapp.cli.app
    import ofapp.cli.commands.deploy.work
    import ofapp.cli.commands.doctor
    import ofapp.host_setup.diagnose
    import ofapp.host_setup.watch  # noqa: F401  (everything, once)

    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
