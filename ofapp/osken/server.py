"""The listener for switches."""

from __future__ import annotations

import functools
import logging
import ssl
from collections.abc import Callable
from typing import Any, ClassVar

import os_ken.base.app_manager
from os_ken.controller import controller
from os_ken.lib import hub as osken_hub

from ofapp.common import hub

LOG = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 10
"""Longest TLS handshake of a peer, seconds."""


class SwitchServer(osken_hub.StreamServer):  # type: ignore[misc]
    """os-ken's server for switches, with three defects corrected.

    Its `--ciphers` made every connection fail; a peer that never begins its handshake kept a
    descriptor for ever; and the first failed accept (out of descriptors, say) ended the server.
    """

    listening = hub.Event()
    """Set when the first of them listens."""
    targets: ClassVar[list[str]] = []
    """Where they listen, as in `ovs-vsctl set-controller`: tcp:ADDRESS:PORT or ssl:ADDRESS:PORT."""
    report: Callable[[str], None] = staticmethod(lambda _why: None)
    """Called with the reason why no connection can be accepted, and "" when one can again."""

    def __init__(self, address: Any, handle: Any, ciphers: str = "", **tls: Any) -> None:
        context = tls.get("ssl_ctx")
        if ciphers and context is not None:
            context.set_ciphers(ciphers)
        super().__init__(address, handle, **tls)
        if context is not None:
            self.handle = functools.partial(_shake_hands, context, handle)
        host, port = address[:2]
        kind = "tcp" if context is None else "ssl"
        self.targets.append(f"{kind}:{f'[{host}]' if ':' in host else host}:{port}")
        self.listening.set()

    def serve_forever(self) -> None:
        """Accept connections, each in its own greenlet."""
        why = ""
        while True:
            try:
                peer, address = self.server.accept()
            except OSError as error:
                if not why:  # reported once, and not each second
                    why = error.strerror or str(error)
                    LOG.warning("cannot take a connection: %s; going on", why)
                    SwitchServer.report(why)
                hub.sleep(hub.RETRY_SECONDS)
                continue
            if why:
                why = ""
                SwitchServer.report(why)
            hub.spawn(self.handle, peer, address)


def _shake_hands(context: ssl.SSLContext, handle: Any, peer: Any, address: Any) -> None:
    """Serve a peer over TLS, if the handshake succeeds."""
    wrapped, why = None, f"none within {HANDSHAKE_SECONDS} s"
    try:
        with hub.Timeout(HANDSHAKE_SECONDS, False):
            wrapped = context.wrap_socket(peer, server_side=True)
    except OSError as error:  # or ssl.SSLError: the peer does not speak TLS, or has closed
        why = error.strerror or str(error)
    if wrapped is None:
        LOG.warning("%s: no TLS handshake: %s", address, why)
        peer.close()
        return
    handle(wrapped, address)


def serve_with(connected: Callable[[Any, Any], None]) -> None:
    """Have a function serve each connection: called with its socket and the peer's address."""
    controller.datapath_connection_factory = connected


osken_hub.listen = hub.listen  # what os-ken's own servers use
controller.StreamServer = SwitchServer
