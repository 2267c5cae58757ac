"""All that ofapp uses of eventlet; no other module imports it.

eventlet is in maintenance mode; replacing it means changing this file.
"""

import contextlib
import functools
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ofapp.common.portions import PORTION, Portions

# Names are looked up when we start, if ever: eventlet's own resolver takes 0.4 s to import.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
NATIVE_THREADS = 4
"""For calls that block the whole process otherwise (`in_thread`)."""
os.environ["EVENTLET_THREADPOOL_SIZE"] = str(NATIVE_THREADS)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # eventlet announces its own retirement on every import
    import eventlet
    import eventlet.green.ssl
    import eventlet.greenio
    import eventlet.hubs
    import eventlet.queue
    import eventlet.semaphore
    import eventlet.tpool
    import eventlet.wsgi
    from eventlet.green import socket, ssl
    from eventlet.support.greenlets import GreenletExit as GreenletExit

    # From Python 3.14 on, `warnings` has a lock that eventlet cannot replace, and logs as an error.
    # Nothing waits while it holds that lock.
    if sys.version_info >= (3, 14) and logging.lastResort:
        logging.lastResort.setLevel(logging.CRITICAL)
    eventlet.monkey_patch()
    if logging.lastResort:
        logging.lastResort.setLevel(logging.WARNING)

A = TypeVar("A")
R = TypeVar("R")

LOG = logging.getLogger(__name__)
_SslSocket = eventlet.green.ssl._original_sslsocket
_Socket = eventlet.patcher.original("socket").socket
BACKLOG = 4096
"""Connections that may wait to be accepted; the kernel limits them, too (net.core.somaxconn)."""
RETRY_SECONDS = 1
"""Seconds until a failed accept is tried again, or a greenlet that failed is restarted."""

HttpInput = eventlet.wsgi.Input
HttpProtocol = eventlet.wsgi.HttpProtocol
HTTP_REQUEST = eventlet.wsgi.STATE_REQUEST  # state of a connection that is not idle
Lock = eventlet.semaphore.Semaphore
Queue = eventlet.queue.LightQueue
QueueEmpty = eventlet.queue.Empty
Timeout = eventlet.Timeout
current = eventlet.getcurrent
in_thread = eventlet.tpool.execute  # runs a function there, while other greenlets go on
kill = eventlet.kill
sleep = eventlet.sleep
wsgi_server = eventlet.wsgi.server


def spawn(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Start a greenlet; what it raises is logged."""
    return eventlet.spawn(_logged, function, *arguments, **named)


def spawn_after(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Start a greenlet after so many seconds; what it raises is logged."""
    return eventlet.spawn_after(seconds, _logged, function, *arguments)


def _logged(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        return function(*arguments, **named)
    except GreenletExit:
        return None
    except BaseException:
        LOG.exception("%s ended by an error", getattr(function, "__qualname__", function))
        return None


class Event:
    """Something that greenlets wait for until it is `set`, and from then on until it is cleared.

    As os-ken's, but setting it costs nothing while no greenlet waits: of a thousand switches'
    events some are set for every message that is sent.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: dict[Any, None] = {}

    def is_set(self) -> bool:
        """Whether `wait` returns at once."""
        return self._is_set

    def set(self) -> None:
        """Resume the greenlets that wait, in the hub's next pass."""
        self._is_set = True
        for waiting in self._waiting:
            call_soon(functools.partial(self._let_go, waiting))

    def clear(self) -> None:
        """Make later calls of `wait` wait."""
        self._is_set = False

    def wait(self, patience: float | None = None) -> bool:
        """Wait, at most `patience` seconds; gives whether it is set."""
        if self._is_set:
            return True
        waiter = current()
        self._waiting[waiter] = None
        loop = eventlet.hubs.get_hub()
        timer = None
        if patience is not None:
            timer = loop.schedule_call_global(patience, self._let_go, waiter)
        try:
            loop.switch()
        finally:
            self._waiting.pop(waiter, None)
            if timer is not None:
                timer.cancel()
        return self._is_set

    def _let_go(self, waiting: Any) -> None:
        if waiting in self._waiting:
            del self._waiting[waiting]
            waiting.switch()


_soon: list[Callable[[], Any]] = []


def call_soon(function: Callable[[], Any]) -> None:
    """Call a function in the hub itself, in its next pass; it may switch greenlets but not wait.

    All calls of a pass share one timer: each new host needs more than one call.
    """
    _soon.append(function)
    if len(_soon) == 1:
        eventlet.hubs.get_hub().schedule_call_global(0, _call_all)


def _call_all() -> None:
    functions = _soon.copy()
    _soon.clear()
    for at, function in enumerate(functions):
        try:
            function()
        except BaseException:  # the hub logs it
            for other in functions[at + 1 :]:
                call_soon(other)
            raise


def pause() -> None:
    """Let other greenlets run for a pass of the hub."""
    waiting = [current()]
    call_soon(functools.partial(_go_on, waiting))
    try:
        park()
    finally:
        waiting.clear()


def _go_on(waiting: list[Any]) -> None:
    if waiting:  # it may have been killed meanwhile
        waiting[0].switch()


def send_now(peer: Any, data: bytes) -> int:
    """Send what can be sent without waiting; gives its octets, 0 where that cannot be known."""
    if not isinstance(peer, eventlet.greenio.GreenSocket):
        return 0
    try:
        return int(peer.fd.send(data))
    except OSError:  # if the connection is closed, the next send reports it
        return 0


def hang_up(peer: Any, response: bytes = b"") -> None:
    """Close a connection even while others read or write; send `response` if that cannot block."""
    with contextlib.suppress(OSError):
        if response and not isinstance(peer, ssl.SSLSocket):
            peer.fd.send(response, socket.MSG_DONTWAIT)
    with contextlib.suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)


def has_left(peer: Any) -> bool:
    """Whether the peer has closed the connection, and all that it sent before is read."""
    native = peer if isinstance(peer, ssl.SSLSocket) else peer.fd
    try:
        return not _Socket.recv(native, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


class _Secured(eventlet.green.ssl.GreenSSLSocket):  # type: ignore[misc]
    """A connection with TLS that can be shut down while a greenlet reads or writes it."""

    def shutdown(self, how: int) -> None:
        """Shut the connection down; the parent class also removes TLS under that greenlet."""
        _Socket.shutdown(self, how)


def secured(peer: Any, context: ssl.SSLContext) -> Any:
    """Wrap a connection in TLS, as a server; the handshake is still to be done."""
    secure = context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False)
    secure.__class__ = _Secured  # as eventlet sets its own
    return secure


def shake_hands(peer: Any, turn: Callable[[], AbstractContextManager[None]]) -> None:
    """Do the TLS handshake. Raises OSError, of which ssl.SSLError is a kind.

    turn: context around each of its steps, which compute and do not wait.
    """
    while True:
        with turn():
            try:
                _SslSocket.do_handshake(peer)
                return
            except ssl.SSLWantReadError:
                wanted = {"read": True}
            except ssl.SSLWantWriteError:
                wanted = {"write": True}
        timeout = peer.gettimeout()
        eventlet.hubs.trampoline(peer, timeout=timeout, timeout_exc=TimeoutError, **wanted)


def portions(size: int = PORTION) -> Portions:
    """Split long work into portions, between which other greenlets run."""
    return Portions(functools.partial(sleep, 0), size)


def park() -> None:
    """Suspend this greenlet until another one switches to it."""
    eventlet.hubs.get_hub().switch()


def watch(failed: Callable[[Exception], Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """Spawn a greenlet whose end by an exception is logged and then reported to `failed`.

    Most greenlets are not waited for: one that fails would leave its work undone unnoticed.
    """

    def run() -> None:
        try:
            function(*arguments)
        except Exception as error:
            LOG.exception("%s ended by an error", getattr(function, "__qualname__", function))
            failed(error)

    return spawn(run)


def at_once(function: Callable[[A], R], arguments: Collection[A], seconds: float) -> dict[A, R]:
    """Call `function` for all arguments at the same time; gives the results by argument.

    Calls that take longer than `seconds` are missing; so are calls that raise, which are logged.
    """
    results: dict[A, R] = {}
    left = set(arguments)
    done = Event()

    def call(argument: A) -> None:
        try:
            results[argument] = function(argument)
        finally:
            left.discard(argument)
            if not left:
                done.set()

    for argument in arguments:
        watch(lambda _error: None, call, argument)
    if arguments:
        done.wait(seconds)
    return dict(results)


def keep(
    failed: Callable[[Exception], Any], function: Callable[[], Any], pause: float = RETRY_SECONDS
) -> Any:
    """Do as `watch`, and restart the function `pause` seconds after it has failed."""

    def again(error: Exception) -> None:
        failed(error)
        sleep(pause)
        watch(again, function)

    return watch(again, function)


def listen(address: tuple[str, int] | str, family: int = socket.AF_INET, **options: Any) -> Any:
    """Open a listening socket. Raises `OSError` when the address is in use already.

    eventlet sets SO_REUSEPORT by default, with which a second controller started by mistake on the
    same port gets a share of the switches without any error.
    """
    return eventlet.listen(address, family, **{"reuse_port": False, "backlog": BACKLOG, **options})


def on_signals(
    signals: Iterable[signal.Signals],
    report: Callable[[str], None],
    repeated: Iterable[signal.Signals] = (),
) -> None:
    """Call `report` with the name of each of `signals` that arrives, in a greenlet.

    Python resumes the hub's poll() after a signal handler (PEP 475), so that what the handler
    scheduled would wait for the next timer: the interpreter's wakeup descriptor ends the poll.
    The second time the same signal ends the process, in case stopping hangs; but not those that
    may be `repeated`.  Call it once in a process, as there is one wakeup descriptor.
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
