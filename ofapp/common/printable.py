"""Text from switches, hosts and files, made safe to display.

A port or a bridge may have any name.  A newline in a name can forge a line of a log; a terminal
executes an escape sequence that it displays.  So all displayed text is escaped on output: the log,
the command line, an event's text, a metric's labels.  Data (an event's, JSON) stay as they are.
"""


def printable(text: str) -> str:
    r"""Escape a text to one line, with `\x1b` and the like; escaping it twice changes nothing.

    Escapes control, invisible and private characters, and those that change the text's direction.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")
