"""What each bridge is told: what the file says of it, and what was set since over the API.

Both are the file's own model of a bridge, so that what runs can be shown as a file, and compared
with what the file says.
"""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.mac import parse_mac
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.permanent import PermanentEntry
from ofapp.config import Config
from ofapp.config.bridge import Bridge
from ofapp.config.compare import Numbers, carried
from ofapp.config.multicast import MulticastBridge, MulticastSettings
from ofapp.controller.state import StaticEntry


class Settings:
    """By datapath id; a bridge that is in the file by its name has to be introduced first."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._names: dict[int, str] = {}
        self._running: dict[int, Bridge] = {}  # of those where something was set at run time
        self._worked_out: tuple[Bridge, BridgeParams] | None = None  # the last

    def introduce(self, datapath_id: int, name: str) -> bool:
        """The bridge's name, as its switch tells it; whether other settings are its own now."""
        before = self.filed(datapath_id)
        self._names[datapath_id] = name
        return self.filed(datapath_id) is not before

    def named(self, datapath_id: int) -> bool:
        """Whether all is known that says which entry of the file is the bridge's."""
        known = datapath_id in self._names or bool(self.config.keys(datapath_id, None))
        return known or not self.config.names_bridges

    def keys(self, datapath_id: int) -> list[str]:
        """The entries of the file that are about this bridge; only the first counts."""
        return self.config.keys(datapath_id, self._names.get(datapath_id))

    def filed(self, datapath_id: int, config: Config | None = None) -> Bridge:
        """What the file says, or what another one would."""
        return (config or self.config).bridge(datapath_id, self._names.get(datapath_id))

    def of(self, datapath_id: int) -> Bridge:
        """What holds now."""
        return self._running.get(datapath_id) or self.filed(datapath_id)

    def params(self, datapath_id: int) -> BridgeParams:
        """The same for the core: one object for all bridges that the file says the same of."""
        bridge = self.of(datapath_id)
        if self._worked_out is None or self._worked_out[0] is not bridge:
            self._worked_out = bridge, bridge.params()
        return self._worked_out[1]

    def set(self, datapath_id: int, bridge: Bridge) -> None:
        """This holds from now on."""
        self.revert(datapath_id)
        if bridge is not self.filed(datapath_id):
            self._running[datapath_id] = bridge

    def carried(self, datapath_id: int, before: Bridge, after: Bridge, numbers: Numbers) -> Bridge:
        """What holds when the file said `before` and says `after`: see `compare.carried`."""
        running = self._running.get(datapath_id)
        return after if running is None else carried(before, running, after, numbers)

    def revert(self, datapath_id: int) -> None:
        """What the file says holds."""
        self._running.pop(datapath_id, None)

    def forget(self, datapath_id: int) -> None:
        """The bridge is gone for good."""
        self.revert(datapath_id)
        self._names.pop(datapath_id, None)


def static_entries(bridge: Bridge) -> list[StaticEntry]:
    """The static entries of the file, VLANs by VID."""
    return [StaticEntry(bridge.vid(own.vlan), own.mac, own.port) for own in bridge.static]


def permanent_entries(bridge: Bridge) -> list[PermanentEntry]:
    """The permanent multicast entries of the file."""
    return [
        PermanentEntry.parse(bridge.vid(own.vlan), own.group, own.port, own.source, own.exclude)
        for own in bridge.mdb
    ]


def static_keys(entries: Iterable[StaticEntry]) -> set[tuple[int, int]]:
    """(vid, mac) of each."""
    return {(entry.vlan, parse_mac(entry.mac)) for entry in entries}


def with_snooping(bridge: Bridge, snooping: MulticastBridge) -> Bridge:
    """The bridge with other snooping, of its VLANs too."""
    own = {name: getattr(snooping, name) for name in MulticastSettings.model_fields}
    vlans = {
        vid: bridge.vlan(vid).model_copy(update={"multicast": snooping.vlan(vid)})
        for vid in bridge.vlans.keys() | snooping.vlans.keys()
    }
    return bridge.model_copy(update={"multicast": MulticastSettings(**own), "vlans": vlans})
