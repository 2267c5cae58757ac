"""Changed parameters of a bridge, to be applied by `Bridge.set_params`."""

from dataclasses import replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, LookAgain, Reprogram
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port


def changed(bridge: Bridge, **sections: Any) -> BridgeParams:
    return replace(bridge.params, **sections)


def changed_port(bridge: Bridge, port: Port, **sections: Any) -> BridgeParams:
    own = replace(bridge.params.port(port.name, port.number), **sections)
    return changed(bridge, ports={**bridge.params.ports, port.name: own})


def reaction(bridge: Bridge, params: BridgeParams, now: float) -> list[Effect]:
    """Apply parameters; gives the effects besides those that every change of parameters has."""
    effects = bridge.set_params(params, now)
    return [
        effect
        for effect in effects
        if not isinstance(effect, (Reprogram, LookAgain))
        and not (isinstance(effect, Event) and effect.kind == "bridge.configured")
    ]
