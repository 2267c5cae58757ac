"""The os-ken app: creates the parts of the controller and connects them.

    ofapp-manager ofapp.app

os-ken accepts switches and does the handshake; from then on a `Session` manages each switch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ofapp.common import hub  # (before what it patches is imported)

# isort: split
from ofapp.api.http.server import ApiServer
from ofapp.common.garbage import Calm
from ofapp.config import load_config
from ofapp.controller.bridges.owners import Alone
from ofapp.controller.configuration.versioned import rolled_back
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.problems.certificates import Certificates
from ofapp.controller.state.store import State
from ofapp.launcher import api, cluster
from ofapp.launcher.api import exposures
from ofapp.launcher.lock import lock
from ofapp.launcher.options import config_file
from ofapp.openflow.switch.mastership.ownership import identity
from ofapp.openflow.wire.handshakes import Handshakes, serve_with
from ofapp.osken import ofp
from ofapp.osken.application import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    EventOFPStateChange,
    OSKenApp,
    set_ev_cls,
)

LOG = logging.getLogger(__name__)


class OfApp(OSKenApp):  # type: ignore[misc]
    """A learning bridge on every switch that connects."""

    OFP_VERSIONS = [ofp.OFP_VERSION]  # noqa: RUF012 - os-ken's own form

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        conf = self.CONF
        directory = Path(conf.state_dir)
        self._lock = lock(directory)  # until this process ends
        events = EventLog()
        file = config_file()
        config = load_config(file)
        member = cluster.settings(config.cluster, file.parent if file is not None else Path())
        surface = None
        if member is None:
            state, owners = State(directory, events.emit), Alone(identity(conf.state_dir))
            former = rolled_back(config, state.versions, events.emit)
            config = config if former is None else former.config()
            self.network = Network(config, state, events, owners, config_file)
            self.network.reloader.pushed = former
        else:
            joined = cluster.join(member, directory, events.emit)
            config = joined.configuration.begin() or config
            self.network = Network(config, joined.state, events, joined.owners, config_file)
            joined.share(self.network)
            surface = cluster.surface(member, joined.owners)
        if conf.record:
            self.network.lifetime.record()
        self.network.access.rules = api.rules()
        self.network.sources.certificates = Certificates(
            api.certificates(None if member is None else member.cert)
        )
        self._api = ApiServer(self.network, api.place(), surface)

    def start(self) -> Any:
        """Accept switches and API requests; gives the API's greenlet, whose end is fatal."""
        super().start()
        self.network.start()
        handshakes = Handshakes(self.network.events.emit)
        self._keep(handshakes.watch)
        serve_with(self.network.connections.admit, handshakes)
        calm = Calm()
        calm.begin()
        self._keep(calm.run)
        serving = self._api.start()
        for event in exposures(self.network.access):
            self.network.events.emit(None, event)
        return serving

    def _keep(self, loop: Callable[[], None]) -> None:
        """Run a loop in a greenlet; if it fails, log an event and restart it."""
        hub.keep(self.network.events.fault, loop)

    def service_reload(self) -> None:
        """Reload the configuration file; its errors become an event."""
        self.network.reload("SIGHUP")

    def service_status(self) -> str:
        """The number of connected switches, as text for `systemctl status`."""
        count = len(self.network.connections)
        return f"{count} switch{'' if count == 1 else 'es'} connected"

    def close(self) -> None:
        """Disconnect from the switches; they keep forwarding."""
        self._api.stop()
        self.network.close()

    @set_ev_cls(  # type: ignore[untyped-decorator]
        EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER]
    )
    def _on_state_change(self, event: Any) -> None:
        try:
            if event.state == MAIN_DISPATCHER:
                self.network.connections.connected(event.datapath)
            else:
                self.network.connections.disconnected(event.datapath)
        except Exception as error:  # os-ken would log it, and nothing would manage the switch
            LOG.exception("%s cannot be served", event.datapath.address)
            self.network.events.fault(error)
            event.datapath.close()
