"""The configuration file on disk beside the configuration that is in force."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.problem import Problem
from ofapp.config.load import signature
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.configuration.versioned import ConfigurationVersions
from ofapp.controller.problems.kinds import (
    FILE_INCOMPLETE,
    FILE_INVALID,
    FILE_NEWER,
    ROLLED_BACK,
)


class FileOnDisk:
    """Checks the file when it has changed."""

    def __init__(self, reloader: Reloader, versions: ConfigurationVersions) -> None:
        self._reloader = reloader
        self._versions = versions
        self._last: object = None

    def problems(self) -> Iterator[Problem]:
        """Whether the file is invalid, or newer than what is in force.

        In a cluster with a pushed configuration the file does not count.
        """
        path, pushed = self._reloader.find(), self._reloader.pushed
        if path is None or (pushed is not None and self._reloader.sharing is not None):
            return
        data = {"file": str(path)}
        now = signature(path)
        settled, self._last = now == self._last, now
        if now == self._reloader.signature:
            mistake = self._reloader.mistake
            if mistake is not None and self._reloader.incomplete:
                yield FILE_INCOMPLETE.at(f"{path} is not applied: {mistake}", data=data)
                return
            if pushed is not None:
                yield ROLLED_BACK.at(f"{pushed.place} is in force, and not the file", data=data)
        elif now is None or not settled:
            return
        else:
            mistake = self._versions.disk().error
            if mistake is None:
                yield FILE_NEWER.at(f"{path} was changed and is not applied", data=data)
        if mistake is not None:
            yield FILE_INVALID.at(f"{path} is invalid: {mistake}", data=data)
