"""Entry point of `python -m ofapp`: the same as the command `ofapp`."""

from ofapp.cli import main

main()
