"""The process that restores the host when its changer dies or hangs, or is not confirmed.

Everything it needs is imported before it says that it is ready.  It does not end while something is
left to be put back: Open vSwitch may be away for now.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from ofapp.common.printable import printable
from ofapp.host_setup.change import PutBack, RecoverError
from ofapp.host_setup.journal import JournalError, R, Records, State, Store
from ofapp.host_setup.recover import put_back, unfinished

LOOK_SECONDS = 0.1
RETRY_SECONDS = 2.0


def watch(store: Records[R], bridge: str, put_back: PutBack[R]) -> None:
    """Return when there is nothing left to watch over."""
    while _look(store, bridge, put_back):
        pass


def _look(store: Records[R], bridge: str, put_back: PutBack[R]) -> bool:
    """Whether to look again."""
    try:
        journal = store.read(bridge)
        if journal is None or journal.state is State.CONFIRMED:
            return False
        if journal.state is State.APPLIED and not journal.overdue:
            time.sleep(LOOK_SECONDS)
        elif not _take_over(store, bridge, put_back):
            if journal.overdue:
                _end(store, journal)
            time.sleep(LOOK_SECONDS)
    except RecoverError as error:
        log(f"not yet: {error}")
        time.sleep(RETRY_SECONDS)
    except Exception:  # any error: no other process brings the host back
        log(traceback.format_exc())
        time.sleep(RETRY_SECONDS)
    return True


def _take_over(store: Records[R], bridge: str, put_back: PutBack[R]) -> bool:
    """Put back what has to be; False when another process works on it."""
    with suppress(JournalError), store.lock(bridge):
        left = unfinished(store, bridge)
        if left is not None:
            log(f"putting {bridge} back: {left.reason}")
            put_back(store, left, lambda _, step: log(f"  {step}"))
            log(f"{bridge} is as it was before")
        return True
    return False


def _end(store: Records[R], journal: R) -> None:
    """Kill the process that hangs, if it still is that process."""
    with suppress(OSError):
        handle = os.pidfd_open(journal.process)
        try:
            if store.holds_lock(journal.bridge, journal.process):
                log(f"process {journal.process} hangs at step {journal.step}: killed")
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def log(text: str) -> None:
    lines = "\n  ".join(map(printable, text.splitlines()))  # several of a traceback alone
    print(time.strftime("%Y-%m-%d %H:%M:%S"), lines, flush=True)


def run(store: Records[R], bridge: str, put_back: PutBack[R]) -> None:
    """Say that it is ready, and watch."""
    store.ready_path(bridge).touch()
    watch(store, bridge, put_back)


def main() -> None:
    """DIRECTORY BRIDGE"""
    directory, bridge = sys.argv[1:]
    run(Store(Path(directory)), bridge, put_back)


if __name__ == "__main__":
    main()
