"""From what the file said of a bridge to what it says now."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge, InputError
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.mac import parse_mac
from ofapp.config.bridge import Bridge as Settings
from ofapp.controller.running import permanent_entries, static_entries


def effects(bridge: Bridge, filed: Settings, new: Settings) -> list[Effect]:
    """Make the bridge what `new` says.  filed: what the file said before, both in effective form.

    Entries that came over the API stay, an entry of the file that the API has moved is the API's.
    """
    now = time.monotonic()
    return [
        *bridge.set_params(new.params(), now),
        *_static(bridge, filed, new, now),
        *_permanent(bridge, filed, new, now),
    ]


def _static(bridge: Bridge, filed: Settings, new: Settings, now: float) -> list[Effect]:
    before = {(own.vlan, parse_mac(own.mac)): own.port for own in static_entries(filed)}
    after = {(own.vlan, parse_mac(own.mac)): own.port for own in static_entries(new)}
    done: list[Effect] = []
    for (vid, mac), port in before.items():
        if (vid, mac) not in after and bridge.pinned.static.get((vid, mac)) == port:
            done += bridge.remove_static(vid, mac)
    for (vid, mac), port in after.items():
        if bridge.pinned.static.get((vid, mac)) != port:
            try:
                done += bridge.add_static(vid, mac, port, now)
            except InputError as error:
                done.append(Event("config.skipped", str(error), Severity.WARNING))
    return done


def _permanent(bridge: Bridge, filed: Settings, new: Settings, now: float) -> list[Effect]:
    before, after = permanent_entries(filed), permanent_entries(new)
    kept = {entry.key for entry in after}
    done: list[Effect] = []
    for entry in before:
        if entry.key not in kept and entry in bridge.permanent:
            done += bridge.remove_permanent(entry, now)
    for entry in after:
        if entry not in bridge.permanent:
            done += bridge.add_permanent(entry, now)
    return done
