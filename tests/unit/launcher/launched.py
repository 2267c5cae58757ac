"""ofapp-manager as its own process, for the tests of what its user meets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.forks import Fork, fork
from tests.support.waiting import wait_for

APP = "../testapp.py"
DEADLINE = 60.0  # for a busy machine; nothing here takes more than a second by itself

SOURCE = """
import logging
from os_ken import cfg
from os_ken.base.app_manager import OSKenApp

cfg.CONF.register_cli_opts([cfg.IntOpt("speed", default=3, help="of the test app")])

class TestApp(OSKenApp):
    OFP_VERSIONS = [4]

    def start(self):
        super().start()
        self.logger.info("speed %d", self.CONF.speed)
        self.logger.debug("a detail")
        self.logger.info("a name %s", "p\\n2026 INFO forged\\x1b[2J")
        echo = self.CONF.echo_request_interval, self.CONF.maximum_unreplied_echo_requests
        self.logger.info("echo %s %s", *echo)
"""


class Manager:
    """A running ofapp-manager, its standard error in a file.

    prefix: the words before its command; without them it is a fork (see `preloaded`).
    """

    def __init__(self, folder: Path, *args: object, prefix: tuple[str, ...] | None = None) -> None:
        self.said = folder / "stderr"
        words = [*map(str, args)]
        self.process: Fork | subprocess.Popen[bytes]
        with self.said.open("wb") as err:
            if prefix is None:
                self.process = fork(words, folder, os.environ, err.fileno())
            else:
                self.process = subprocess.Popen(
                    [*prefix, sys.executable, "-m", "ofapp.launcher.manager", *words],
                    stderr=err,
                    stdout=err,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                )

    def text(self) -> str:
        return self.said.read_text()

    def wait_for(self, pattern: str) -> None:
        def said() -> bool:
            text = self.text()
            assert re.search(pattern, text) or self.process.poll() is None, text
            return bool(re.search(pattern, text))

        wait_for(said, f"it to say {pattern!r}", seconds=DEADLINE)

    def end(self) -> int:
        return self.process.wait(DEADLINE)
