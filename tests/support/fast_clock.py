"""A monotonic clock that runs faster, and an event loop that waits by it.

Imported before all else by a process whose environment has OFAPP_TESTS_SPEED: how many seconds pass
there in a second.  So the intervals of a controller cost a test a part of their time, where nothing
else has timers: the switches of tests/vswitchd have a clock that stands.  Processor time, the time
of day and threads are as ever.
"""

from __future__ import annotations

import os
import time

SPEED = float(os.environ.get("OFAPP_TESTS_SPEED", "1"))
_real, _begun = time.monotonic, time.monotonic()


def _monotonic() -> float:
    return _begun + (_real() - _begun) * SPEED


if SPEED != 1:
    time.monotonic = _monotonic

    import ofapp.common.hub  # noqa: F401  it knows how eventlet is to be imported

    # isort: split
    from eventlet.hubs import epolls

    def _do_poll(self: epolls.Hub, seconds: float) -> object:
        return self.poll.poll(seconds / SPEED if seconds > 0 else seconds)

    epolls.Hub.do_poll = _do_poll
