"""ofapp: the command line.

It is a client of the REST API and does not import the controller, so it starts fast.  The exception
is `ofapp run`, the controller itself.  Commands that set parameters import their declarations from
the core when they run.
"""

from __future__ import annotations

import errno
import os
import sys

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of an output that takes no more."""


def main() -> None:
    """Run the command line; ends the process."""
    if sys.argv[1:2] == ["run"]:
        # Before more is imported: eventlet's monkey-patching does not reach all of it later.
        from ofapp.cli.commands.run import run

        run(sys.argv[2:])
    try:
        status = _run()
        print(end="", flush=True)
    except BrokenPipeError:  # | head
        status = 141  # a shell's exit status for SIGPIPE
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        print(f"ofapp: cannot write the output: {os.strerror(error.errno)}", file=sys.stderr)
        status = 1
    else:
        sys.exit(status)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _run() -> int:
    """Run a command; gives the exit status."""
    from ofapp.cli.app import app
    from ofapp.cli.client import ApiError
    from ofapp.cli.completion import prepare
    from ofapp.cli.usage import Abort, UsageError, refusal
    from ofapp.common.printable import printable

    prepare()
    try:
        return app(prog_name="ofapp", standalone_mode=False) or 0
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer has caught it
            raise ended.__context__ from None
        raise
    except UsageError as error:
        sys.stdout.flush()
        for line in refusal(error):
            print(printable(line), file=sys.stderr)
        return 2
    except Abort:
        print("ofapp: aborted", file=sys.stderr)
        return 1
    except ApiError as error:
        sys.stdout.flush()
        for line in f"ofapp: {error}".split("\n"):
            print(printable(line), file=sys.stderr)
        return 1
