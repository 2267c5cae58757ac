"""Everything is killed at once, and starts again: members before etcd, as after a power cut."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.site import Hellos, Site
from tests.support.waiting import wait_for

HELLO = 6.0
"""Seconds from etcd's return until the first BPDU."""

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))


def test_all_members_and_etcd_are_killed_and_started(site: Site) -> None:
    """No member has to be started twice."""
    etcd = site.etcd
    assert etcd is not None
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
    with Hellos(site.switches[0].listener) as hellos:
        for member in site.members:
            member.kill9()
        etcd.kill()
        said = len(hellos.times)
        with ThreadPoolExecutor() as pool:
            starting = [pool.submit(member.start) for member in site.members]
            for member in site.members:
                wait_for(
                    lambda own=member: "[cluster.waiting]" in own.log(), "it to wait", seconds=60
                )
            etcd.start()
            back = time.monotonic()
            wait_for(lambda: len(hellos.times) > said, "a hello", seconds=60)
            took = hellos.times[said] - back
            for each in starting:
                each.result()
    print(f"the first BPDU came {took:.1f} s after etcd")
    assert not THOROUGH or took < HELLO
    wait_for(site.whole, "all members to be there", seconds=60)
    wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
