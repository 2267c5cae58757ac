"""The harness itself: a switch that does not get to run for a while."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from tests.support.lab import Stream
from tests.support.ownswitch import BRIDGE, OwnSwitch, dropped
from tests.support.waiting import wait_for


def test_frames_wait_while_a_switch_does_not_run() -> None:
    """A busy machine must not look like a controller that loses frames."""
    with closing(OwnSwitch(Path(shutil.which("ovs-vswitchd") or ""))) as switch:
        switch.start()
        one, other = switch.host(1), switch.host(2)
        for number, host in enumerate((one, other), 1):
            switch.add_port(host.plug, number)
        switch.vsctl("set", "Bridge", BRIDGE, "fail_mode=standalone")
        wait_for(lambda: one.reaches(other.ip, seconds=1), "the hosts to meet", seconds=30)
        with Stream(one, other, 500) as stream:
            stream.more(100)
            with switch.stalled():
                stream.more(1000)  # two seconds
            stream.more(100)
            lost = stream.lost()
        assert (lost, sum(dropped(switch).values())) == (0, 0)
