"""The configuration with its versions: each one that was applied is kept, and can be applied again.

A single controller has no right to write its file.  After a rollback the version is in force in
place of the file, also after a restart, until the file is changed or read again.  In a cluster a
rollback pushes the version to all members.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.config import Config, ConfigError, load_config, merged_config, parse_config
from ofapp.config.compare import differences
from ofapp.config.load import signature
from ofapp.controller.audit import record
from ofapp.controller.configuration.events import CONFIG_REFUSED
from ofapp.controller.configuration.fabric_changes import fabric_changes
from ofapp.controller.configuration.plan import needing_restart
from ofapp.controller.configuration.pushed import Pushed
from ofapp.controller.configuration.reload import NO_FILE, Reload, Reloader
from ofapp.controller.state.saving import Emit
from ofapp.controller.state.versions import Author, Version, Versions, digest

MOST_LINES = 5000
"""Most lines of a difference."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A file's contents.

    name: "version 3", or the path of the file on disk.
    data: None if they are not kept or cannot be read.
    error: why they are no valid configuration, in words that contain the name.
    """

    name: str
    data: bytes | None
    config: Config | None
    error: str | None = None


class DiskFile(NamedTuple):
    """The file on disk.

    state: "none" (there is no file), "invalid", "applied", "newer" (it was changed and is not
    applied) or "replaced" (another configuration is in force in its place).
    """

    file: str | None
    state: str
    error: str | None = None


class Difference(NamedTuple):
    """A difference of two files.

    lines: lines of the difference, as `diff -u` prints them; more: number of further lines.
    bridges: changes of each known bridge in words; None where a file is not valid.
    restart: settings that take effect at the next start.
    """

    old: Contents
    new: Contents
    lines: tuple[str, ...]
    more: int
    bridges: tuple[tuple[Bridge, tuple[str, ...]], ...] | None
    fabrics: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


class ConfigurationVersions:
    """Applies configurations by a reloader, and keeps each as a version."""

    def __init__(self, reloader: Reloader, versions: Versions) -> None:
        self._reloader = reloader
        self._versions = versions
        self._checked: tuple[object, Contents] | None = None

    @property
    def all(self) -> tuple[Version, ...]:
        """All versions, the oldest first."""
        return self._versions.all

    def find(self, number: int) -> Version | None:
        """The version with a number; None if it is not kept."""
        return self._versions.find(number)

    @property
    def in_force(self) -> Version | None:
        """The version that is in force here; None if it is not kept."""
        return self._versions.in_force(self._reloader.config.source, self._member)

    @property
    def rolled_back(self) -> bool:
        """Whether a version is in force in place of the file of a single controller."""
        return self._reloader.sharing is None and self._reloader.pushed is not None

    def start(self) -> None:
        """Keep the configuration of the start."""
        if not self.rolled_back:
            self._add(Author("start of the controller", "this machine", "start"))

    def reload(
        self, author: Author, dry_run: bool = False, force: bool = False, reset: bool = False
    ) -> Reload:
        """Read the file again, see `Reloader.reload`."""
        outcome = self._reloader.reload(dry_run, force, reset)
        return outcome if dry_run else self._add(author, outcome)

    def pushed(self, author: Author, pushed: Pushed, planned: Reload) -> Reload:
        """Keep a configuration that was pushed to a cluster.  planned: what it changes here."""
        return self._keep(author, pushed.file, pushed.data, planned)

    def rollback(self, number: int, author: Author, dry_run: bool, force: bool) -> Reload:
        """Apply a version again; gives its changes, of a dry run as well.

        Raises KeyError for a version that is not kept, ConfigError, PushError and UncertainError.
        force: see `Sharing.push`.
        """
        version = self.find(number)
        data = None if version is None else version.data
        if version is None or data is None:
            raise KeyError(number)
        reloader, file = self._reloader, version.file
        about = f"version {number} of {file or NO_FILE}", author.name, time.time()
        pushed = Pushed(data, *about, command=f"ofapp config rollback {number}")
        planned, on_disk = reloader.compare(pushed), self.disk().data or b""
        if reloader.sharing is not None:
            reloader.sharing.push(pushed, dry_run, force)
        if dry_run:
            return planned
        record(f"configuration: rolled back to version {number}")
        if reloader.sharing is not None:
            return self._keep(author, file, data, planned)
        if data == on_disk:
            return self._add(author, reloader.reload(force=True))
        return self._keep(author, file, data, reloader.apply_pushed(pushed), digest(on_disk))

    def contents(self, wanted: int | None) -> Contents:
        """The contents of a version, or of the file on disk (None).  Raises KeyError."""
        if wanted is None:
            return self.disk()
        version = self.find(wanted)
        if version is None:
            raise KeyError(wanted)
        return _contents(f"version {wanted}", version.data)

    def disk(self) -> Contents:
        """The contents of the file on disk; it is read again only after a change."""
        path = self._reloader.find()
        if path is None:
            return Contents(NO_FILE, b"", Config())
        if not path.exists():
            return Contents(str(path), None, None, f"there is no file {path}")
        now = signature(path)
        if self._checked is None or now is None or self._checked[0] != now:
            data = config = error = None
            try:
                data = merged_config(path)
                config = load_config(path)
            except ConfigError as mistake:
                error = "; ".join(map(str, mistake.faults))
            self._checked = now, Contents(str(path), data, config, error)
        return self._checked[1]

    def disk_state(self) -> DiskFile:
        """Whether the file on disk is valid, and applied."""
        reloader, contents = self._reloader, self.disk()
        path = reloader.find()
        if path is None or not path.exists():
            return DiskFile(None, "none")
        if contents.error is not None:
            return DiskFile(str(path), "invalid", contents.error)
        if contents.data == reloader.config.source:
            return DiskFile(str(path), "applied")
        newer = reloader.pushed is None or (
            self.rolled_back and signature(path) != reloader.signature
        )
        return DiskFile(str(path), "newer" if newer else "replaced")

    def difference(self, old: int | None, new: int | None) -> Difference:
        """The difference of two versions; None is the file on disk.  Raises KeyError."""
        before, after = self.contents(old), self.contents(new)
        lines = hub.in_thread(_lines, before, after)
        shown, more = (*lines[:MOST_LINES],), max(0, len(lines) - MOST_LINES)
        if before.config is None or after.config is None:
            return Difference(before, after, shown, more, None)
        configs = before.config, after.config
        changes = fabric_changes(*configs), needing_restart(*configs)
        return Difference(before, after, shown, more, (*self._bridges(*configs),), *changes)

    # Inside

    @property
    def _member(self) -> str:
        sharing = self._reloader.sharing
        return "" if sharing is None else sharing.own

    def _bridges(self, old: Config, new: Config) -> Iterator[tuple[Bridge, tuple[str, ...]]]:
        running = self._reloader.shared.running
        for datapath_id, bridge in sorted(self._reloader.shared.registry.bridges.items()):
            filed = running.filed(datapath_id, old), running.filed(datapath_id, new)
            if words := (*differences(*filed, bridge.ports.numbers).values(),):
                yield bridge, words

    def _add(self, author: Author, outcome: Reload | None = None) -> Reload:
        """Keep the configuration that is in force."""
        reloader = self._reloader
        member = "" if reloader.pushed is not None else self._member
        file = reloader.place or ""
        return self._keep(author, file, reloader.config.source, outcome, member=member)

    def _keep(
        self,
        author: Author,
        file: str,
        data: bytes,
        outcome: Reload | None,
        instead_of: str = "",
        member: str = "",
    ) -> Reload:
        """Keep a configuration as a version; the outcome has the ticket for it."""
        outcome = outcome or Reload(False, file, 0.0)
        words = _words(outcome)
        ticket = self._versions.add(author, file, data, words, member, instead_of)
        return replace(outcome, saved=(*outcome.saved, ticket))


def _words(outcome: Reload) -> Iterator[str]:
    yield from (f"fabric {change}" for change in outcome.fabrics)
    for bridge in outcome.bridges:
        yield from (f"{bridge.name}: {change}" for change in bridge.changes)
    yield from (f"from the next start on: {change}" for change in outcome.restart)


def _contents(name: str, data: bytes | None) -> Contents:
    if data is None:
        return Contents(name, None, None, f"{name} was too large to be kept")
    try:
        return Contents(name, data, parse_config(data, name))
    except ConfigError as mistake:
        return Contents(name, data, None, "; ".join(map(str, mistake.faults)))


def _lines(old: Contents, new: Contents) -> list[str]:
    """The lines of a difference, of text that may be anything."""
    texts = [(own.data or b"").decode(errors="replace").splitlines() for own in (old, new)]
    names = printable(old.name), printable(new.name)
    return [*unified_diff(texts[0], texts[1], *names, lineterm="")]


def rolled_back(config: Config, versions: Versions, emit: Emit) -> Pushed | None:
    """Find the version to start with in place of the file, after a rollback; None without one.

    config: the file's configuration.
    """
    version = versions.rolled_back(config.source)
    data = None if version is None else version.data
    if version is None or data is None:
        return None
    name = f"version {version.number} of {version.file}"
    pushed = Pushed(data, name, version.by, version.at)
    try:
        pushed.config()
    except ConfigError as error:
        message = f"{name} is not valid any more, so the file is in force: {error}"
        emit(None, CONFIG_REFUSED.event(message, data={"errors": [*map(str, error.faults)]}))
        return None
    return pushed
