"""Protection against a truncated configuration file, by comparison with the last accepted one."""

from __future__ import annotations

from ofapp.config import Config, ConfigError
from ofapp.config.base import Path
from ofapp.config.document import Place
from ofapp.config.errors import Fault
from ofapp.config.loss import extent, missing
from ofapp.controller.state import AcceptedFile

FORCED_RELOAD = "ofapp config reload --force"
FORCED_PUSH = "ofapp config push --force"


class TruncationGuard:
    """Knows the extent of the last accepted configuration.

    accepted: stores the extent of the last accepted file: reloaded, or complete at a start.
    config: the configuration at the start.
    """

    def __init__(self, accepted: AcceptedFile, config: Config) -> None:
        self._accepted = accepted
        self._extent = extent(config)

    def start(self) -> str | None:
        """Compare the file at the start with the last accepted one; why it looks truncated.

        The file counts as accepted if it does not look truncated.
        """
        before = self._accepted.load()
        loss = None if before is None else missing(before, self._extent)
        if before is None or loss is None:
            self._accepted.save(self._extent)
            return None
        self._extent = before
        return _advice(loss, FORCED_RELOAD)

    def doubt(self, config: Config, force: bool, command: str = FORCED_RELOAD) -> str | None:
        """Why a configuration looks truncated; None if it does not, or if that is meant.

        command: applies it all the same.
        """
        loss = None if force else missing(self._extent, extent(config))
        return None if loss is None else _advice(loss, command)

    def accept(self, config: Config, save: bool) -> None:
        """Compare with this configuration from now on.  save: it is the local file's."""
        self._extent = extent(config)
        if save:
            self._accepted.save(self._extent)


def fault(file: str, what: str, path: Path = ()) -> Fault:
    """A fault of a file as a whole, or of a section of it."""
    return Fault(file, Place(), ".".join(map(str, path)), what)


def refuse(file: str, doubt: str | None) -> None:
    """ConfigError for a file that looks truncated."""
    if doubt is not None:
        raise ConfigError([fault(file, doubt)])


def _advice(loss: str, command: str) -> str:
    return f"{loss}; if that is meant: {command}"
