"""Port-status messages of a switch; those that came together are handled together.

A thousand ports may come at once, each in a separate message, and work over all ports should
be done once for all of them; but other switches wait meanwhile, so a long list is split.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ofapp.bridge.effects import Effect
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.switch.switch_bridge import SwitchBridge

PORTION = 64
"""Ports taken in before others get their turn."""


def arrive(
    bridge: SwitchBridge,
    ports: Iterable[Port],
    apply: Callable[[list[Effect]], None],
    rest: Callable[[], bool],
) -> None:
    """Tell the bridge of all its switch's ports.

    rest: lets others have their turn; gives whether there is still a switch.
    """
    known = {port.number: port for port in ports}
    # And members of aggregations together, so that no path cost follows them one by one.
    local_first = sorted(
        known.values(),
        key=lambda port: (port.number != LOCAL_PORT, not bridge.lags.has(port.name)),
    )
    gone = bridge.not_among(local_first)
    for at in range(0, len(gone), PORTION):
        apply(bridge.remove_ports(gone[at : at + PORTION], time.monotonic()))
        if not rest():
            return
    apply(bridge.retain(local_first, time.monotonic()))
    for at in range(0, len(local_first), PORTION):
        if at and not rest():
            return
        apply(bridge.put_ports(local_first[at : at + PORTION], time.monotonic()))


def handle_port_news(
    bridge: SwitchBridge,
    news: list[tuple[bool, Port]],
    now: float,
    apply: Callable[[list[Effect]], None],
) -> None:
    """Tell the bridge of ports, in order: (whether it is gone, as it is or was).

    apply: carries effects out, a few times in turn.  A second message about one port stays a
    second step: a link that went down and up again is not one that was up all the time.
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
