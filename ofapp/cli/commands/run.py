"""ofapp run: the controller, by the name that people know (see `ofapp.launcher`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def run(arguments: Sequence[str]) -> NoReturn:
    """Be ofapp-manager."""
    from ofapp.launcher.manager import main

    sys.exit(main(arguments, prog="ofapp run"))
