"""Two controllers that know nothing of each other, on one switch: one is its master."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

LEASE = 4  # seconds
A, S = frames.host(1), frames.host(77)


@pytest.fixture
def pair(
    vswitchd: VSwitchd, controller_factory: Callable[[], Controller]
) -> Iterator[tuple[Bridge, Controller, Controller]]:
    """A bridge of a first controller, and a second one that came later."""
    first, second = controller_factory(), controller_factory()
    bridge = vswitchd.add_bridge(ports=3)
    first.connect(bridge)
    vswitchd.vsctl("set-controller", bridge.name, first.target, second.target)
    for row in vswitchd.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
        vswitchd.vsctl(
            *("set", "Controller", row, "inactivity_probe=0", "max_backoff=1000"),
            "connection_mode=out-of-band",
        )
    wait_for_standby(second, bridge)
    yield bridge, first, second
    bridge.destroy()


def status(controller: Controller, bridge: Bridge) -> dict[str, object]:
    """What a controller tells of the bridge, which it may not know yet."""
    reply = controller.api("GET", f"/v1/bridges/{bridge.dpid16}")
    return dict(reply.body) if reply.status == 200 else {}


def standby(controller: Controller, bridge: Bridge) -> object:
    """The other controller that is master of the bridge, as a controller reports."""
    return status(controller, bridge).get("standby")


def wait_for_standby(controller: Controller, bridge: Bridge) -> None:
    """Wait until this controller says that it is on standby."""
    wait_for(
        lambda: standby(controller, bridge) is not None,
        "standby",
        tick=bridge.switch.in_pace(),
        seconds=30,
    )


def test_the_second_holds_still_and_says_so(pair: tuple[Bridge, Controller, Controller]) -> None:
    bridge, first, second = pair
    assert standby(second, bridge) == "another controller at 127.0.0.1"
    assert not status(second, bridge)["in_line"]
    assert status(first, bridge)["in_line"]
    assert standby(first, bridge) is None
    (event,) = second.events("bridge.standby")
    assert "another controller at 127.0.0.1 is master of the switch" in event["message"]
    text = second.api("GET", "/metrics").body
    assert f'ofapp_bridge_standby{{bridge="{bridge.dpid16}"' in text
    # A static entry is what they fought over: each took the other's flows for stale ones.
    assert first.put_static(bridge, S, 3).status == 201
    learn(first, bridge, 1, port=1)
    before = {flow.identity for flow in bridge.flows()}
    seen = len(second.events("bridge.standby"))
    first.hang_up()  # both look again
    second.hang_up()
    assert bridge.send(2, frames.ethernet(S, frames.host(2))) == {3}
    learn(first, bridge, 2, port=2)
    assert before <= {flow.identity for flow in bridge.flows()}
    assert second.where(bridge, A) is None
    assert len(second.events("bridge.standby")) == seen


def test_it_takes_over_when_the_first_is_killed(
    pair: tuple[Bridge, Controller, Controller],
) -> None:
    bridge, first, second = pair
    learn(first, bridge, 1, port=1)
    first.kill9()
    bridge.switch.warp(LEASE + 1)
    second.wait_ready(bridge)
    assert standby(second, bridge) is None
    assert second.events("bridge.takeover")
    wait_for(lambda: second.where(bridge, A) == 1, "what the first had learned")
    first.start()
    wait_for_standby(first, bridge)
    assert status(second, bridge)["in_line"]
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {2, 3, LOCAL}


def test_at_once_when_the_first_is_stopped(pair: tuple[Bridge, Controller, Controller]) -> None:
    bridge, first, second = pair
    assert first.terminate() == 0
    second.wait_ready(bridge)  # (its clock stands still but for tenths of a second)


def test_one_that_was_away_for_too_long_lets_go(
    pair: tuple[Bridge, Controller, Controller],
) -> None:
    bridge, first, second = pair
    first.pause()
    bridge.switch.warp(LEASE + 1)
    second.wait_ready(bridge)
    learn(second, bridge, 1, port=1)
    first.resume()
    wait_for_standby(first, bridge)
    assert first.events("bridge.lost")
    assert status(second, bridge)["in_line"]
    assert second.where(bridge, A) == 1
