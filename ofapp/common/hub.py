"""The one place that knows which concurrency library os-ken runs on.

os-ken 4 defaults to native threads, where a handler that raises ends its app's loop silently, so
`ofapp` runs it on eventlet: import this module before anything of os_ken.  eventlet is in
maintenance; whoever replaces it one day changes this file.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import warnings
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ofapp.common.portions import PORTION, Portions

os.environ["OSKEN_HUB_TYPE"] = "eventlet"
# Names are looked up when we start, if ever: eventlet's own resolver takes 0.4 s to import.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
NATIVE_THREADS = 4
"""For what cannot be waited for otherwise (`in_thread`)."""
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

    eventlet.monkey_patch()
    import os_ken.base.app_manager  # (before os_ken.controller, which it completes)
    import os_ken.controller.controller
    from os_ken.lib import hub as _hub

A = TypeVar("A")
R = TypeVar("R")

LOG = logging.getLogger(__name__)
_SslSocket = eventlet.green.ssl._original_sslsocket
_Socket = eventlet.patcher.original("socket").socket
BACKLOG = 4096
"""Connections that may wait to be taken; the kernel has a limit of its own (net.core.somaxconn)."""
HANDSHAKE_SECONDS = 10
"""How long a peer may take over TLS's handshake."""
RETRY_SECONDS = 1
"""Until something is tried again: to take connections, what has ended by an error."""

HttpProtocol = eventlet.wsgi.HttpProtocol
HeaderLineTooLong = eventlet.wsgi.HeaderLineTooLong
HeadersTooLarge = eventlet.wsgi.HeadersTooLarge
Lock = eventlet.semaphore.Semaphore
GreenletExit = _hub.TaskExit
Queue = eventlet.queue.LightQueue
QueueEmpty = eventlet.queue.Empty
Timeout = eventlet.Timeout
current = eventlet.getcurrent
in_thread = eventlet.tpool.execute  # runs a function there, while other greenlets go on
kill = _hub.kill
sleep = eventlet.sleep
spawn = _hub.spawn  # logs what the greenlet raises
spawn_after = _hub.spawn_after  # after so many seconds
wsgi_server = eventlet.wsgi.server


class Event:
    """Something that greenlets wait for until it is `set`, and from then on until it is cleared.

    As os-ken's, but setting it costs nothing while nobody waits: of a thousand switches' events
    some are set for every message that is sent.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: dict[Any, None] = {}

    def is_set(self) -> bool:
        """Whether nobody would have to wait."""
        return self._is_set

    def set(self) -> None:
        """Let go on whoever waits, in the hub's next pass."""
        self._is_set = True
        for waiting in self._waiting:
            call_soon(functools.partial(self._let_go, waiting))

    def clear(self) -> None:
        """Have those wait who come from now on."""
        self._is_set = False

    def wait(self, patience: float | None = None) -> bool:
        """Wait, so many seconds at most; gives whether it is set."""
        if self._is_set:
            return True
        own = current()
        self._waiting[own] = None
        loop = eventlet.hubs.get_hub()
        timer = None
        if patience is not None:
            timer = loop.schedule_call_global(patience, self._let_go, own)
        try:
            loop.switch()
        finally:
            self._waiting.pop(own, None)
            if timer is not None:
                timer.cancel()
        return self._is_set

    def _let_go(self, waiting: Any) -> None:
        if waiting in self._waiting:
            del self._waiting[waiting]
            waiting.switch()


def call_soon(function: Callable[[], Any]) -> None:
    """Call a function in the hub itself, in its next pass; it may switch greenlets but not wait."""
    eventlet.hubs.get_hub().schedule_call_global(0, function)


def send_now(peer: Any, data: bytes) -> int:
    """How many octets could be sent without waiting; 0 as well where that cannot be known."""
    if not isinstance(peer, eventlet.greenio.GreenSocket):
        return 0
    try:
        return int(peer.fd.send(data))
    except OSError:  # if the connection is over, the next who sends hears of it
        return 0


def hang_up(peer: Any, farewell: bytes = b"") -> None:
    """End a connection, whoever is reading or writing there; what cannot be said is not."""
    secure = isinstance(peer, ssl.SSLSocket)
    with contextlib.suppress(OSError):
        if farewell and not secure:
            peer.fd.send(farewell, socket.MSG_DONTWAIT)
    with contextlib.suppress(OSError):
        if secure:  # its own shutdown takes TLS from under who reads there
            _Socket.shutdown(peer, socket.SHUT_RDWR)
        else:
            peer.shutdown(socket.SHUT_RDWR)


def secured(peer: Any, context: ssl.SSLContext) -> Any:
    """A connection that will speak TLS, as a server, once hands are shaken."""
    return context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False)


def shake_hands(peer: Any, turn: Callable[[], AbstractContextManager[None]]) -> None:
    """TLS's handshake; OSError, of which ssl.SSLError is one.

    turn: around each of its steps, which compute and do not wait.
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
    """Portions of long work, between which other greenlets have their turn."""
    return Portions(functools.partial(sleep, 0), size)


def park() -> None:
    """Let others run until somebody switches to this greenlet."""
    eventlet.hubs.get_hub().switch()


def watch(failed: Callable[[Exception], Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """Spawn a greenlet whose end by an exception is logged and then told to `failed`.

    Nobody waits for most greenlets: one that ends by a mistake would leave its work undone, and
    nobody would know.
    """

    def run() -> None:
        try:
            function(*arguments)
        except Exception as error:
            LOG.exception("%s ended by an error", getattr(function, "__qualname__", function))
            failed(error)

    return spawn(run)


def at_once(function: Callable[[A], R], arguments: Collection[A], seconds: float) -> dict[A, R]:
    """What it gives of each, all called at the same time; of those that take longer there is none.

    It is to raise nothing: one that does is logged, and missing.
    """
    found: dict[A, R] = {}
    left = set(arguments)
    done = Event()

    def call(argument: A) -> None:
        try:
            found[argument] = function(argument)
        finally:
            left.discard(argument)
            if not left:
                done.set()

    for argument in arguments:
        watch(lambda _error: None, call, argument)
    if arguments:
        done.wait(seconds)
    return dict(found)


def keep(
    failed: Callable[[Exception], Any], function: Callable[[], Any], pause: float = RETRY_SECONDS
) -> Any:
    """The same, and start it again `pause` seconds after it has ended so."""

    def again(error: Exception) -> None:
        failed(error)
        sleep(pause)
        watch(again, function)

    return watch(again, function)


def listen(address: tuple[str, int] | str, family: int = socket.AF_INET, **options: Any) -> Any:
    """A listening socket; `OSError` when somebody listens there already.

    eventlet sets SO_REUSEPORT by default, with which a second controller started by mistake on the
    same port gets a share of the switches, and nobody is told.
    """
    return eventlet.listen(address, family, **{"reuse_port": False, "backlog": BACKLOG, **options})


_hub.listen = listen  # what os-ken's own servers use


class SwitchServer(_hub.StreamServer):  # type: ignore[misc]
    """os-ken's server for switches, mended.

    Its `--ciphers` went where they are an error of every connection; a peer that never begins its
    handshake kept a descriptor for ever; and the first connection that could not be taken, for want
    of descriptors, say, ended the server.
    """

    listening = Event()
    """Set when the first of them listens."""
    told: Callable[[str], None] = staticmethod(lambda _why: None)
    """Hears why no connection can be taken, and "" when one can again."""

    def __init__(self, address: Any, handle: Any, ciphers: str = "", **tls: Any) -> None:
        context = tls.get("ssl_ctx")
        if ciphers and context is not None:
            context.set_ciphers(ciphers)
        super().__init__(address, handle, **tls)
        if context is not None:
            self.handle = functools.partial(_shake_hands, context, handle)
        self.listening.set()

    def serve_forever(self) -> None:
        """Take connections, each in a greenlet of its own."""
        why = ""
        while True:
            try:
                peer, address = self.server.accept()
            except OSError as error:
                if not why:  # told once, and not each second
                    why = error.strerror or str(error)
                    LOG.warning("cannot take a connection: %s; going on", why)
                    SwitchServer.told(why)
                sleep(RETRY_SECONDS)
                continue
            if why:
                why = ""
                SwitchServer.told(why)
            spawn(self.handle, peer, address)


def _shake_hands(context: ssl.SSLContext, handle: Any, peer: Any, address: Any) -> None:
    """Serve a peer over TLS, if it comes to that."""
    wrapped, why = None, f"none within {HANDSHAKE_SECONDS} s"
    try:
        with Timeout(HANDSHAKE_SECONDS, False):
            wrapped = context.wrap_socket(peer, server_side=True)
    except OSError as error:  # of which ssl.SSLError is one: it speaks something else, or has left
        why = error.strerror or str(error)
    if wrapped is None:
        LOG.warning("%s: no TLS handshake: %s", address, why)
        peer.close()
        return
    handle(wrapped, address)


os_ken.controller.controller.StreamServer = SwitchServer


def on_signals(
    signals: Iterable[signal.Signals],
    report: Callable[[str], None],
    repeated: Iterable[signal.Signals] = (),
) -> None:
    """Call `report` with the name of each of `signals` that arrives, in a greenlet.

    Python resumes the hub's poll() after a signal handler (PEP 475), so that what the handler
    scheduled would wait for the next timer: the interpreter's wakeup descriptor ends the poll.
    The second time the same signal ends the process, for when stopping hangs; but not those that
    may be `repeated`.  For one call in a process, as there is one wakeup descriptor.
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
