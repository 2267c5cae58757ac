"""An actor to plain data and back, for a controller that is restarted: see `absence`.

A dump has the information of each end of a link and the states of the Receive and Mux machines;
an LACPDU says no more.  Timers (`Actor.go_on`) and counters restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ofapp.bridge.lag.lacp.actor import MAX_PORT, Actor
from ofapp.bridge.lag.lacp.core import Core, LagId
from ofapp.bridge.lag.lacp.information import Information, State, System
from ofapp.bridge.lag.lacp.port import AggregationPort, Mux, Receive, Selected
from ofapp.bridge.mac import MAC_MASK
from ofapp.bridge.stp.dumped import flag, whole
from ofapp.bridge.stp.params import Link

if TYPE_CHECKING:
    from ofapp.bridge.lag.params import LagParams

_FORMAT = 1
_ATTACHED = (Mux.ATTACHED, Mux.COLLECTING, Mux.DISTRIBUTING)


class OtherIdentityError(ValueError):
    """A dump that would be another system or aggregation to the partner."""


def dump(actor: Actor) -> dict[str, Any]:
    """The actor as JSON-serialisable data."""
    core = actor._core
    return {
        "format": _FORMAT,
        "address": core.address,
        "identity": _identity(core),
        "lag_id": core.lag_id,
        "fallback": core.fallback,
        "ports": [_dump_port(port) for port in core.ports.values()],
    }


def revive(name: str, params: LagParams, admin_key: int, data: Mapping[str, Any]) -> Actor:
    """Restore the actor with the members and links of the dump. The caller applies later changes
    by `Actor.remove`, `add` and `set_link`, and resumes it by `Actor.go_on`.

    The members in use and the system's address are those of the dump, although the bridge may have
    another address now. Parameters may have changed, except for the priorities.

    Raises ValueError for any data that are not a dump of this version, and OtherIdentityError.
    """
    try:
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']!r} is not {_FORMAT}")
        actor = Actor(name, params, whole("address", data["address"], MAC_MASK), admin_key)
        core = actor._core
        if [*data["identity"]] != _identity(core):
            raise OtherIdentityError("the key or a priority was another")
        for item in data["ports"]:
            port = _revive_port(item)
            if port.port_no in core.ports:
                raise ValueError(f"port {port.port_no} is there twice")
            core.add(port)
        core.lag_id = None if data["lag_id"] is None else _lag_id(data["lag_id"])
        fallback = data["fallback"]
        core.fallback = None if fallback is None else whole("fallback", fallback, MAX_PORT)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a dump of an aggregation: {error!r}") from error
    return actor


def _identity(core: Core) -> list[int]:
    return [core.admin_key, core.params.system_priority, core.params.port_priority]


def _dump_port(port: AggregationPort) -> dict[str, Any]:
    partner = port.partner
    return {
        "port_no": port.port_no,
        "address": port.address,
        "link": [port.link.up, port.link.speed_mbps, port.link.full_duplex],
        "receive": port.receive.value,
        "mux": port.mux.value,
        "defaulted": port.defaulted,
        "partner": [*partner.system, *partner[1:-1], int(partner.state)],
    }


def _revive_port(item: Mapping[str, Any]) -> AggregationPort:
    port_no = whole("port_no", item["port_no"], MAX_PORT)
    if not port_no:
        raise ValueError("no port has the number 0")
    up, speed, duplex = item["link"]
    link = Link(flag("link", up), whole("link", speed), flag("link", duplex))
    port = AggregationPort(port_no, whole("address", item["address"], MAC_MASK), link)
    port.partner = _information(item["partner"])
    port.defaulted = flag("defaulted", item["defaulted"])
    port.receive = Receive(item["receive"])
    if port.enabled is (port.receive is Receive.PORT_DISABLED):
        raise ValueError(f"port {port_no}: its link and its state do not go together")
    mux = Mux(item["mux"])
    if mux in _ATTACHED:  # a member that waited waits again
        port.mux, port.selected = mux, Selected.SELECTED
    return port


def _information(plain: Any) -> Information:
    priority, address, key, port_priority, port, state = plain
    return Information(
        System(_two_octets(priority), whole("partner", address, MAC_MASK)),
        _two_octets(key),
        _two_octets(port_priority),
        _two_octets(port),
        State(whole("partner", state, 0xFF)),
    )


def _lag_id(plain: Any) -> LagId:
    key, (priority, address), partner_key, port = plain
    system = System(_two_octets(priority), whole("lag_id", address, MAC_MASK))
    return LagId(_two_octets(key), system, _two_octets(partner_key), _two_octets(port))


def _two_octets(plain: Any) -> int:
    return whole("partner", plain, 0xFFFF)
