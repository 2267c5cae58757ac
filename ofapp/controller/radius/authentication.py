"""Passes the questions of bridges to RADIUS servers, and the answers back."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import AccountSession, AskServer
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams
from ofapp.common import hub
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.radius.client import Client, SecretError
from ofapp.controller.radius.dynamic import Demands
from ofapp.controller.radius.events import SECRET
from ofapp.controller.radius.packets import Demand

REPORTED = 60.0
"""Seconds between two events of a bridge's secret that cannot be read."""
_NOT_ASKED = Answer("silent")


class Authentication:
    """The RADIUS clients of all bridges; bridges with the same parameters share a client.

    demands: what servers demand of sessions.
    """

    def __init__(self, dispatcher: Dispatcher, bridges: Mapping[int, Bridge]) -> None:
        self._dispatcher = dispatcher
        self._bridges = bridges
        self._clients: dict[BridgeParams, Client] = {}
        self._reported: dict[int, float] = {}
        self.demands = Demands(bridges, self._demanded)
        dispatcher.on(AskServer, self._asked)
        dispatcher.on(AccountSession, self._reported_session)

    def client(self, bridge: Bridge) -> Client | None:
        """The client of a bridge; None while it has asked nothing."""
        params = bridge.params.port_access
        return None if params is None else self._clients.get(params)

    def close(self) -> None:
        """Close all sockets."""
        self.demands.close()
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _asked(self, bridge: Bridge, question: AskServer) -> None:
        hub.watch(self._dispatcher.events.fault, self._ask, bridge, question)

    def _ask(self, bridge: Bridge, question: AskServer) -> None:
        params = bridge.params.port_access
        answer = _NOT_ASKED
        if params is not None and params.servers:
            try:
                answer = self._of(params).ask(question, bridge.name, bridge.address)
            except SecretError as error:
                answer = Answer("silent", message=str(error))
                self._report(bridge, answer.message, params.secret_file)
        if self._bridges.get(bridge.datapath_id) is bridge:
            now = time.monotonic()
            effects = bridge.port_access.answer(question.number, answer, now)
            self._dispatcher.apply(bridge, bridge.carry_out(effects, now))

    def _reported_session(self, bridge: Bridge, session: AccountSession) -> None:
        hub.watch(self._dispatcher.events.fault, self._report_session, bridge, session)

    def _report_session(self, bridge: Bridge, session: AccountSession) -> None:
        params = bridge.params.port_access
        if params is None or not params.servers:
            return
        try:
            self._of(params).report(session, bridge.name, bridge.address)
        except SecretError as error:
            self._report(bridge, str(error), params.secret_file)

    def _demanded(self, bridge: Bridge, port: str, mac: int, demand: Demand) -> None:
        now, hosts = time.monotonic(), bridge.port_access
        if demand.change is not None:
            effects = hosts.change(port, mac, demand.change, now)
        else:
            effects = (hosts.clear if demand.ends else hosts.reauthenticate)(port, mac, now)
        self._dispatcher.apply(bridge, bridge.carry_out(effects, now))

    def _of(self, params: BridgeParams) -> Client:
        """The client of bridges with these parameters; with a new one, unused ones are closed."""
        if params in self._clients:
            return self._clients[params]
        needed = {bridge.params.port_access for bridge in self._bridges.values()}
        for unused in self._clients.keys() - needed:
            self._clients.pop(unused).close()
        client = self._clients[params] = Client(params)
        return client

    def _report(self, bridge: Bridge, why: str, file: str) -> None:
        now = time.monotonic()
        if now >= self._reported.get(bridge.datapath_id, -REPORTED) + REPORTED:
            self._reported[bridge.datapath_id] = now
            self._dispatcher.emit(bridge, SECRET.event(why, data={"file": file, "why": why}))
