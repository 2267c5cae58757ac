"""The one place that knows which concurrency library os-ken runs on.

os-ken 4 defaults to native threads, where a handler that raises ends its app's loop silently, so
`ofapp` runs it on eventlet: import this module before anything of os_ken.  eventlet is in
maintenance; whoever replaces it one day changes this file.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable
from typing import Any

os.environ["OSKEN_HUB_TYPE"] = "eventlet"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # eventlet announces its own retirement on every import
    import eventlet
    import eventlet.queue
    import eventlet.wsgi
    from eventlet.green import socket

    eventlet.monkey_patch()
    import os_ken.base.app_manager  # noqa: F401  (before os_ken.controller, which it completes)
    from os_ken.lib import hub as _hub

Event = _hub.Event
GreenletExit = _hub.TaskExit
Queue = eventlet.queue.LightQueue
QueueEmpty = eventlet.queue.Empty
Timeout = eventlet.Timeout
kill = _hub.kill
sleep = eventlet.sleep
spawn = _hub.spawn  # logs what the greenlet raises
wsgi_server = eventlet.wsgi.server


def listen(address: tuple[str, int], family: int = socket.AF_INET, **options: Any) -> Any:
    """A listening socket; `OSError` when somebody listens there already.

    eventlet sets SO_REUSEPORT by default, with which a second controller started by mistake on the
    same port gets a share of the switches, and nobody is told.
    """
    return eventlet.listen(address, family, **{"reuse_port": False, **options})


_hub.listen = listen  # what os-ken's own servers use


def on_signals(
    signals: Iterable[signal.Signals],
    report: Callable[[str], None],
    repeated: Iterable[signal.Signals] = (),
) -> None:
    """Call `report` with the name of each of `signals` that arrives, in a greenlet.

    Python resumes the hub's poll() after a signal handler (PEP 475), so that what the handler
    scheduled would wait for the next timer: the interpreter's wakeup descriptor ends the poll.
    The second time the same signal ends the process, for when stopping hangs; but not those that
    may be `repeated`.
    """
    wanted = frozenset((*signals, *repeated))
    ours, wakeup = socket.socketpair()
    signal.set_wakeup_fd(wakeup.fileno())

    def wait() -> None:
        wakeup  # noqa: B018  (kept open by this reference)
        while True:
            number = ours.recv(1)[0]  # of any signal that Python handles, not only of `wanted`
            if number in wanted:
                report(signal.Signals(number).name)

    for number in repeated:
        signal.signal(number, lambda _number, _frame: None)
    for number in wanted.difference(repeated):
        signal.signal(number, lambda number, _frame: signal.signal(number, signal.SIG_DFL))
    spawn(wait)
