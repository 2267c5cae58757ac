"""Port-status messages of a switch; those that came together are handled together.

A thousand ports may come at once, each in a separate message, and work over all ports should
be done once for all of them; but other switches wait meanwhile, so a long list is split.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from ofapp.bridge.effects import Effect
from ofapp.bridge.ports.names import base_name, identified, news, reported
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.switch.switch_bridge import SwitchBridge

PORTION = 64
"""Ports taken in before others get their turn."""

Apply = Callable[[list[Effect]], None]
"""Carries effects out."""


def arrive(
    bridge: SwitchBridge,
    ports: Iterable[Port],
    apply: Apply,
    rest: Callable[[], bool],
) -> None:
    """Tell the bridge of all its switch's ports.

    rest: lets others have their turn; gives whether there is still a switch.
    """
    known = {port.number: port for port in ports}
    before = bridge.lags.physical(bridge.ports)
    # And members of aggregations together, so that no path cost follows them one by one.
    local_first = sorted(
        identified(known.values()),
        key=lambda port: (port.number != LOCAL_PORT, not bridge.lags.has(port.name)),
    )
    gone = bridge.not_among(local_first)
    for at in range(0, len(gone), PORTION):
        apply(bridge.remove_ports(gone[at : at + PORTION], time.monotonic()))
        if not rest():
            return
    retained = bridge.retain(local_first, time.monotonic())
    apply([*news(before, local_first), *retained])
    for at in range(0, len(local_first), PORTION):
        if at and not rest():
            return
        apply(bridge.put_ports(local_first[at : at + PORTION], time.monotonic()))


def handle_port_news(
    bridge: SwitchBridge,
    messages: list[tuple[bool, Port]],
    now: float,
    apply: Apply,
) -> None:
    """Tell the bridge of ports, in order: (whether it is gone, as it is or was).

    apply: carries effects out, a few times in turn.  A second message about one port stays a
    second step: a link that went down and up again is not one that was up all the time.
    """
    step: dict[int, Port] = {}
    for at, (gone, port) in enumerate(messages):
        step[port.number] = port
        last = at + 1 == len(messages)
        if last or messages[at + 1][0] is not gone or messages[at + 1][1].number in step:
            if gone:
                _remove(bridge, step.keys(), now, apply)
            else:
                _put(bridge, step, now, apply)
            step = {}


def _remove(bridge: SwitchBridge, numbers: Collection[int], now: float, apply: Apply) -> None:
    """Remove ports; another port may have a name for itself then."""
    before = bridge.lags.physical(bridge.ports)
    apply(bridge.remove_ports(numbers, now))
    if any(base_name(port.name) for port in before if port.number in numbers):
        left = (reported(port) for port in before if port.number not in numbers)
        _rename(bridge, before, left, now, apply)


def _put(bridge: SwitchBridge, ports: Mapping[int, Port], now: float, apply: Apply) -> None:
    """Put ports as their switch reports them, by number."""
    before = bridge.lags.physical(bridge.ports)
    known = {port.number: port for port in before if port.number in ports}
    if all(n in known and reported(known[n]).name == port.name for n, port in ports.items()):
        named = [replace(port, name=known[number].name) for number, port in ports.items()]
        apply(bridge.put_ports(named, now))
    else:
        others = (reported(port) for port in before if port.number not in ports)
        _rename(bridge, before, [*others, *ports.values()], now, apply)


def _rename(
    bridge: SwitchBridge, before: list[Port], reports: Iterable[Port], now: float, apply: Apply
) -> None:
    """Put the ports that are new or changed, and those whose names change by that.

    before: all ports of the switch as the bridge had them; reports: as the switch reports them now.
    """
    old, after = {port.number: port for port in before}, identified(reports)
    changed = [port for port in after if port != old.get(port.number)]
    apply([*news(before, after), *bridge.put_ports(changed, now)])
