"""`ofapp bench` reads the cycles of a frame from each version of Open vSwitch."""

from __future__ import annotations

from contextlib import closing

from ofapp.bench.devices.ovs import Cycles, parse_cycles
from tests.support.ovs import VSwitchd
from tests.support.waiting import wait_for

FRAME = "in_port(1),eth(src=52:54:00:00:00:09,dst=52:54:00:00:00:0a),eth_type(0x1234)"


def test_the_cycles_of_polling_threads_are_counted() -> None:
    with closing(VSwitchd()) as switch:
        switch.start()
        bridge = switch.add_bridge(ports=1)
        switch.vsctl(
            *("add-port", bridge.name, "polled"),
            *("--", "set", "Interface", "polled", "type=dummy-pmd"),
        )
        for _ in range(5):
            switch.appctl("netdev-dummy/receive", "polled", FRAME)

        def counted() -> Cycles | None:
            switch.step()  # what is shown is of a span of time
            found = parse_cycles(switch.appctl("dpif-netdev/pmd-stats-show"))
            return found if found and found.frames == 5 else None

        cycles = wait_for(counted, "five frames")
        assert cycles is not None
        assert cycles.spent > 0
