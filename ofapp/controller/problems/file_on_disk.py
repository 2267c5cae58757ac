"""The configuration file on disk beside the configuration that is in force."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.problem import Problem
from ofapp.config import ConfigError, load_config
from ofapp.config.load import signature
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.problems.kinds import FILE_INVALID, FILE_NEWER


class FileOnDisk:
    """Checks the file when it has changed, once for each change."""

    def __init__(self, reloader: Reloader) -> None:
        self._reloader = reloader
        self._last: object = None
        self._checked: object = None
        self._mistake: str | None = None

    def problems(self) -> Iterator[Problem]:
        """Whether the file is invalid, or newer than what is in force.

        In a cluster with a pushed configuration the file does not count.
        """
        path = self._reloader.find()
        if path is None or self._reloader.pushed is not None:
            return
        data = {"file": str(path)}
        now = signature(path)
        settled, self._last = now == self._last, now
        if now == self._reloader.signature:
            mistake = self._reloader.mistake
        elif now is None or not settled:
            return
        else:
            mistake = self._check(now)
            if mistake is None:
                yield FILE_NEWER.at(f"{path} was changed and is not applied", data=data)
        if mistake is not None:
            yield FILE_INVALID.at(f"{path} is invalid: {mistake}", data=data)

    def _check(self, now: object) -> str | None:
        """Why the changed file is invalid; None if it is valid."""
        if now != self._checked:
            self._checked, self._mistake = now, None
            try:
                load_config(self._reloader.find())
            except ConfigError as error:
                self._mistake = "; ".join(map(str, error.faults))
        return self._mistake
