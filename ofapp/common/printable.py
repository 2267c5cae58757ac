"""Text from switches, hosts and files as people may see it.

A port or a bridge may bear any name.  A newline in one begins a line of its own in a log, which
then says what its author likes; an escape sequence is carried out by the terminal that shows it.
So whatever is shown goes through here at its edge: the log, the command line, an event's words, a
metric's labels.  Data (an event's, JSON) stay as they are.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text on one line, with `\x1b` for what is not to be seen; what it gives it leaves alone.

    Controls, invisible and private characters, and what changes the direction of the text.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")
