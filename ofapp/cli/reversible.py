"""What `ofapp deploy` and `ofapp fabric` share: changes that are put back unless confirmed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ofapp.cli.client import ApiError
from ofapp.cli.output import say
from ofapp.common.printable import printable
from ofapp.host_setup.change import ApplyError, RecoverError, StepError
from ofapp.host_setup.journal import JournalError, R, Records, State
from ofapp.host_setup.recover import confirm


def confirm_all(store: Records[R], name: str | None) -> None:
    """Confirm all that waits, unless a bridge or fabric is named."""
    with errors():
        known = [record for each in store.names() if (record := store.read(each))]
        names = [name] if name else [one.bridge for one in known if one.state is State.APPLIED]
        if not names:
            raise JournalError("nothing waits for a confirmation")
        for each in names:
            confirm(store, each)
            report(f"{each}: confirmed")


def report(text: str) -> None:
    """Print, and ignore that the terminal has closed: a change must not stop half-way."""
    with suppress(OSError):
        say(text)
        sys.stdout.flush()


def ignore_hangup() -> None:
    """The session may be lost for a moment while its address moves."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def errors() -> Iterator[None]:
    """Errors as one line, and status 1."""
    try:
        yield
    except (JournalError, RecoverError, StepError) as error:
        raise ApiError(printable(str(error))) from None
    except ApplyError as error:
        raise ApiError(f"{printable(str(error))}; everything is as it was before") from None
