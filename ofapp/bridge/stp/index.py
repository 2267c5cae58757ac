"""Indexes of the ports of a bridge, which save looking at all of them.

A bridge may have thousands of ports, and a hello is due somewhere all the time.  An index has only
candidates: a port's own variables decide whether it fulfils a condition.
"""

from collections.abc import Callable, Iterator

from ofapp.bridge.stp.port import TreePort


class Candidates:
    """Ports that may fulfil a condition; an iteration drops those that do not.

    Code that makes a port fulfil it adds the port; it need not be removed.
    """

    def __init__(self, test: Callable[[TreePort], bool]) -> None:
        self._test = test
        self._ports: dict[int, TreePort] = {}

    def __iter__(self) -> Iterator[TreePort]:
        for number, port in list(self._ports.items()) if self._ports else ():
            if self._test(port):
                yield port
            else:
                del self._ports[number]

    def add(self, port: TreePort) -> None:
        """Add a port that fulfils the condition now, or may."""
        self._ports[port.port_no] = port

    def discard(self, port: TreePort) -> None:
        """Remove a port that is gone."""
        self._ports.pop(port.port_no, None)
