"""The running configuration: the file's settings of each bridge, and those set at run time.

Both use the file's model of a bridge, so that the running configuration can be shown as a file and
compared with the file.  Run-time settings outlive the process: a port that was isolated at run
time must not open because a controller has crashed, or another one has taken the switch over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import ValidationError

from ofapp.bridge import bridge as core
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.config import Config
from ofapp.config.bridge import Bridge
from ofapp.config.checks import Fault
from ofapp.config.compare import Numbers, carried, differences
from ofapp.config.port import PortSection
from ofapp.controller.configuration.events import CONFIG_AMBIGUOUS
from ofapp.controller.state.document import Store
from ofapp.controller.state.saving import Ticket
from ofapp.controller.state.settings import RunTimeSettings


class RunningConfiguration:
    """Settings by datapath id; where the file uses a bridge's name, it has to be known first.

    numbers: gives the numbers of a bridge's ports, by name.
    """

    def __init__(
        self,
        config: Config,
        store: Store[RunTimeSettings],
        numbers: Callable[[int], Numbers],
    ) -> None:
        self.config = config
        self._store = store
        self._numbers = numbers
        self._names: dict[int, str] = {}
        self._running: dict[int, Bridge] = {}  # bridges with run-time settings
        self._fabrics: tuple[Config, tuple[FabricParams, ...]] | None = None
        self._last_params: tuple[Bridge, BridgeParams] | None = None  # of the last bridge

    @property
    def fabrics(self) -> tuple[FabricParams, ...]:
        """Fabrics of the file."""
        if self._fabrics is None or self._fabrics[0] is not self.config:
            self._fabrics = self.config, self.config.fabric_params()
        return self._fabrics[1]

    def learn_name(self, datapath_id: int, name: str) -> bool:
        """Learn the bridge's name from its switch; whether other entries of the file apply now."""
        before = self.filed(datapath_id)
        self._names[datapath_id] = name
        return self.filed(datapath_id) is not before

    def knows_entry(self, datapath_id: int) -> bool:
        """Whether it is known which entry of the file applies to the bridge."""
        known = datapath_id in self._names or bool(self.config.keys(datapath_id, None))
        return known or not self.config.names_bridges or bool(self.config.role(datapath_id))

    def keys(self, datapath_id: int) -> list[str]:
        """Entries of the file for this bridge; only the first counts."""
        return self.config.keys(datapath_id, self._names.get(datapath_id))

    def ambiguities(self, datapath_id: int) -> Iterator[Event]:
        """Events about two entries of the file for one bridge."""
        keys = self.keys(datapath_id)
        if len(keys) > 1:
            message = f"the file has two entries for this bridge, {keys[0]} counts: {keys[1]} not"
            yield CONFIG_AMBIGUOUS.event(message, data={"entries": keys})

    def filed(self, datapath_id: int, config: Config | None = None) -> Bridge:
        """Settings of the bridge in the file, or in another configuration."""
        return (config or self.config).bridge(datapath_id, self._names.get(datapath_id))

    def of(self, datapath_id: int) -> Bridge:
        """Settings of the bridge that are in force."""
        return self._running.get(datapath_id) or self.filed(datapath_id)

    def params(self, datapath_id: int) -> BridgeParams:
        """The settings for the core: one object for all bridges with the same ones in the file."""
        bridge = self.of(datapath_id)
        if self._last_params is None or self._last_params[0] is not bridge:
            self._last_params = bridge, bridge.params()
        return self._last_params[1]

    def port(self, bridge: core.Bridge, port: Port) -> PortSection:
        """Settings of a port that are in force."""
        return self.of(bridge.datapath_id).port(port.name, port.number)

    def fabric_faults(self, datapath_id: int, bridge: Bridge) -> list[Fault]:
        """Errors in settings of a bridge that is a fabric's."""
        return [*self.config.fabric_faults(datapath_id, bridge)]

    def set(self, datapath_id: int, bridge: Bridge) -> Ticket:
        """Put settings into force; wait for the ticket until they are saved."""
        return self._set(datapath_id, bridge, self._numbers(datapath_id))

    def restore(self, datapath_id: int) -> list[str]:
        """Restore stored run-time settings, except where the file has changed the same value.

        Gives them in words.
        """
        stored = self._store.load(datapath_id)
        if stored is None:
            return []
        try:
            before, running = map(Bridge.model_validate, (stored.filed, stored.running))
        except ValidationError as error:
            self._store.set_aside(datapath_id, f"{error.error_count()} values are invalid")
            return []
        filed = self.filed(datapath_id)
        after = carried(before, running, filed, stored.numbers)
        self._set(datapath_id, after, stored.numbers)
        return [*differences(filed, after, stored.numbers).values()]

    def carried(self, datapath_id: int, before: Bridge, after: Bridge, numbers: Numbers) -> Bridge:
        """Settings after the file has changed from `before` to `after`: see `compare.carried`."""
        running = self._running.get(datapath_id)
        return after if running is None else carried(before, running, after, numbers)

    def forget(self, datapath_id: int) -> None:
        """Forget a bridge that is gone; its stored settings stay for its return."""
        self._running.pop(datapath_id, None)
        self._names.pop(datapath_id, None)

    def _set(self, datapath_id: int, bridge: Bridge, numbers: Numbers) -> Ticket:
        filed = self.filed(datapath_id)
        if bridge is filed or bridge == filed:
            self._running.pop(datapath_id, None)
            return self._store.forget(datapath_id)
        self._running[datapath_id] = bridge
        named = {name: numbers[name] for name in bridge.ports if name in numbers}
        settings = RunTimeSettings(filed.values(), bridge.values(), named)
        return self._store.save(datapath_id, settings)
