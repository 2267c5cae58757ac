"""What a switch tells of its ports, handled together as it came together.

A thousand ports may come at once, each in a message of its own, and what looks at all ports should
look once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.ports import Port


def heed(
    bridge: Bridge,
    news: list[tuple[bool, Port]],
    now: float,
    apply: Callable[[list[Effect]], None],
) -> None:
    """Tell the bridge of ports, in order: (whether it is gone, as it is or was).

    apply: carries effects out, a few times in turn.  What is told of one port again stays a second
    step: a link that went down and up again is not one that was up all the time.
    """
    step: dict[int, Port] = {}
    for at, (gone, port) in enumerate(news):
        step[port.number] = port
        last = at + 1 == len(news)
        if last or news[at + 1][0] is not gone or news[at + 1][1].number in step:
            if gone:
                apply(bridge.remove_ports(step, now))
            else:
                apply(bridge.put_ports(step.values(), now))
            step = {}
