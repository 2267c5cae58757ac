"""The process that puts switches back when their changer dies, or the change is not confirmed."""

from __future__ import annotations

import sys
from pathlib import Path

from ofapp.fabric_setup.apply import put_back
from ofapp.fabric_setup.journal import Store
from ofapp.host_setup.watch import run


def main() -> None:
    """DIRECTORY FABRIC"""
    directory, name = sys.argv[1:]
    run(Store(Path(directory)), name, put_back)


if __name__ == "__main__":
    main()
