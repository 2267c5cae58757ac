"""Serves a network of `network` on 127.0.0.1, until it is ended or its parent is.  Port 0: any one.

A separate process, so that eventlet and the client do not share a thread.
"""

from __future__ import annotations

import json
import os

from ofapp.api.http.server import ApiAddress, ApiServer
from ofapp.common import hub
from ofapp.osken.server import SwitchServer
from tests.unit.api.network import NETWORKS, SECRETS


def main(arguments: list[str]) -> None:
    """Serve; arguments: the network's name, and the port."""
    parent = os.getppid()
    SwitchServer.listening.set()  # as if switches could connect, so that /readyz answers 200
    server = ApiServer(NETWORKS[arguments[0]](), ApiAddress("127.0.0.1", int(arguments[1])))
    server.start()
    print(server.port, json.dumps(SECRETS), flush=True)
    while os.getppid() == parent:
        hub.sleep(0.2)
