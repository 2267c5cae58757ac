"""Journal of a deployment on disk, written before and during changes of the host.

One file a bridge, replaced by rename and synced with its directory, so that there is always one
whole journal.  It holds the layouts to go to and to go back to; which step is under way is for
people only: putting things back goes by what is observed.

    applying  -> applied     the steps are done and wait for confirmation
              -> confirmed   no confirmation was needed
    applied   -> confirmed
    applying, applied -> restoring -> (the journal of before, or none)
    confirmed -> reverting -> (none)

A process that changes the host or the journal holds the lock.  The kernel frees it when its holder
dies: that is how the watcher learns of a killed `apply`.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from ofapp.host_setup import DIRECTORY
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.state import Layout
from ofapp.host_setup.wanted import aged

VERSION = 1


class State(StrEnum):
    """See the module."""

    APPLYING = "applying"
    APPLIED = "applied"
    CONFIRMED = "confirmed"
    RESTORING = "restoring"
    REVERTING = "reverting"

    @property
    def unfinished(self) -> bool:
        """Whether a process has to go on: such a journal without a process is a broken-off one."""
        return self not in {State.CONFIRMED, State.APPLIED}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A change that is put back unless it is confirmed."""

    bridge: str
    state: State
    boot: str  # which boot of the machine this was
    process: int  # that applies
    deadline: float | None = None  # CLOCK_BOOTTIME; None: no confirmation needed
    step: str = ""
    reason: str = ""  # why it goes back

    @property
    def overdue(self) -> bool:
        """Whether it should have been confirmed by now.  A reboot is longer than any deadline."""
        return self.boot != boot_id() or (self.deadline is not None and now() >= self.deadline)

    def confirmed(self) -> Self:
        """The record of a change that stays."""
        return replace(self, state=State.CONFIRMED, deadline=None)


@dataclass(frozen=True, kw_only=True)
class Journal(Record):
    """One deployment of one bridge."""

    config: DeployConfig
    database: str  # Open vSwitch's
    origin: Layout  # before the first deployment of this bridge
    fallback: Layout  # where to go back to: before this one, or for a revert the aim itself
    deployed: Layout  # where this one leads to
    made: float  # CLOCK_BOOTTIME
    file: str | None = None  # the controller's, where an aggregation is concerned
    previous: Journal | None = None  # the confirmed deployment that `fallback` is
    version: int = VERSION

    def confirmed(self) -> Self:
        """The journal of a deployment that stays."""
        return replace(super().confirmed(), previous=None)

    @property
    def left_of_deployed(self) -> Layout:
        """`deployed`, with lifetimes as they are by now."""
        return aged(self.deployed, now() - self.made if self.boot == boot_id() else inf)


R = TypeVar("R", bound=Record)


class JournalError(Exception):
    """The journal cannot be read or written: one line for a person."""


def now() -> float:
    """Seconds that go on in suspend and that no clock setting changes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Differs after every boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Records(Generic[R]):
    """The records of a directory, one file each.  form: their type.

    program: the module that watches over their changes.
    """

    program: ClassVar[str]

    def __init__(self, directory: Path, form: TypeAdapter[R]) -> None:
        self.directory = directory
        self._form = form

    def names(self) -> tuple[str, ...]:
        """Bridges that have a journal."""
        return tuple(sorted(path.stem for path in self.directory.glob("*.json")))

    def read(self, bridge: str) -> R | None:
        """The journal of a bridge; JournalError when it cannot be understood."""
        path = self._path(bridge)
        try:
            return self._form.validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise JournalError(f"cannot read {path}: {error.strerror}") from None
        except ValidationError:
            raise JournalError(f"{path} is not a journal of this version of ofapp") from None

    def write(self, journal: R) -> None:
        """Have it on disk.  Raises JournalError."""
        path = self._path(journal.bridge)
        draft = path.with_suffix(".new")
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o755)
            with open(draft, "wb") as file:
                file.write(self._form.dump_json(journal, indent=1))
                file.flush()
                os.fsync(file.fileno())
            draft.rename(path)
            self._sync()
        except OSError as error:
            raise JournalError(f"cannot write {path}: {error.strerror}") from None

    def remove(self, bridge: str) -> None:
        """Forget the deployment."""
        self._path(bridge).unlink(missing_ok=True)
        self._sync()

    def log_path(self, bridge: str) -> Path:
        """Path of the watcher's log."""
        return self.directory / f"{bridge}.log"

    def ready_path(self, bridge: str) -> Path:
        """The watcher makes it when nothing can keep it from its work any more."""
        return self.directory / f"{bridge}.watched"

    @contextmanager
    def lock(self, bridge: str, *, wait: bool = False) -> Iterator[None]:
        """Hold the bridge's lock; JournalError when another holds it and `wait` is not wanted."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o755)
            file = os.open(self.directory / f"{bridge}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise JournalError(f"cannot use {self.directory}: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield
        except BlockingIOError:
            raise JournalError(f"another process is at work on {bridge}") from None
        finally:
            os.close(file)

    def holds_lock(self, bridge: str, process: int) -> bool:
        """Whether a process has the lock's file open: that it is still the one in the journal."""
        lock = self.directory.resolve() / f"{bridge}.lock"
        with suppress(OSError):
            return any(file.readlink() == lock for file in Path(f"/proc/{process}/fd").iterdir())
        return False

    def _path(self, bridge: str) -> Path:
        return self.directory / f"{bridge}.json"

    def _sync(self) -> None:
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_FORM = TypeAdapter(Journal)


class Store(Records[Journal]):
    """The journals of deployments."""

    program = "ofapp.host_setup.watch"

    def __init__(self, directory: Path = DIRECTORY) -> None:
        super().__init__(directory, _FORM)
