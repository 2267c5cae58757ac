"""ofapp: the command line.

It is a client of the REST API and does not import the controller, so it starts fast.  The exception
is `ofapp run`, the controller itself.  Commands that set parameters import their declarations from
the core when they run.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; ends the process."""
    if sys.argv[1:2] == ["run"]:
        # Before more is imported: eventlet's monkey-patching does not reach all of it later.
        from ofapp.cli.commands.run import run

        run(sys.argv[2:])
    from ofapp.cli.app import app
    from ofapp.cli.client import ApiError
    from ofapp.cli.completion import prepare
    from ofapp.cli.usage import Abort, UsageError, refusal
    from ofapp.common.printable import printable

    prepare()
    try:
        sys.exit(app(prog_name="ofapp", standalone_mode=False))
    except UsageError as error:
        sys.stdout.flush()
        for line in refusal(error):
            print(printable(line), file=sys.stderr)
        sys.exit(2)
    except Abort:
        print("ofapp: aborted", file=sys.stderr)
        sys.exit(1)
    except ApiError as error:
        sys.stdout.flush()
        for line in f"ofapp: {error}".split("\n"):
            print(printable(line), file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # a shell's exit status for SIGPIPE
