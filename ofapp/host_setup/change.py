"""A change with a way back: `ofapp deploy apply` and `ofapp fabric apply` alike.

Journal, watcher, confirmation and revert are the same for both.  The way back itself differs.  That
of a host is planned from what is found then (`recover.put_back`), as routes and addresses change
beside it.  That of a fabric's switches is the values of before (`fabric_setup.apply.put_back`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ofapp.host_setup import watcher
from ofapp.host_setup.journal import JournalError, R, Records, State, boot_id, now

SLACK_SECONDS = 60.0
"""For the steps themselves: a process that takes longer hangs."""

Progress = Callable[[int, object], None]
"""Called before each step, with its number from 0."""

PutBack = Callable[[Records[R], R, Progress | None], None]
"""Undoes the change of a record, whose lock is held.  Raises RecoverError."""


class StepError(Exception):
    """A step failed: one line for a person."""


class ApplyError(Exception):
    """It did not work, and everything is as it was before: one line for a person."""


class RecoverError(Exception):
    """Something could not be put back: one line for a person, and it is to be tried again."""


@contextmanager
def reversible(
    store: Records[R], record: R, put_back: PutBack[R], confirm_within: float | None
) -> Iterator[Callable[[int, object], None]]:
    """Record and watch the change that is made inside; the record's lock is held.

    Gives a function to call before each step.  The record ends as confirmed, or as one that waits
    for its confirmation.  Raises ApplyError after everything has been put back.
    """

    def begin(number: int, step: object) -> None:
        nonlocal record
        record = replace(record, step=f"{number + 1}: {step}")
        store.write(record)

    store.write(record)
    try:
        watcher.start(store, record.bridge)
        yield begin
    except (StepError, JournalError, KeyboardInterrupt) as error:
        reason = str(error) or "interrupted"
        put_back(store, replace(record, state=State.RESTORING, reason=reason), None)
        raise ApplyError(reason) from None
    if confirm_within is None:
        ended = record.confirmed()
    else:
        ended = replace(record, state=State.APPLIED, deadline=now() + confirm_within)
    store.write(replace(ended, step=""))


def undo(
    store: Records[R], record: R, put_back: PutBack[R], seconds: float, progress: Progress
) -> None:
    """Undo all that a record has; its lock is held.  Raises JournalError and RecoverError.

    seconds: how long it may take; after that the watcher takes over.
    """
    record = replace(
        record,
        state=State.REVERTING,
        boot=boot_id(),
        process=os.getpid(),
        deadline=now() + seconds,
        reason="reverted",
    )
    store.write(record)
    watcher.start(store, record.bridge)
    put_back(store, record, progress)
