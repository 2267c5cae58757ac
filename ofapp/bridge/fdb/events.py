"""Events of the forwarding database."""

from ofapp.bridge.event import DEBUG, INFO, WARNING, Event, EventKind, PortNumber
from ofapp.bridge.mac import format_mac

FDB_LIMIT = EventKind(
    "fdb.limit",
    WARNING,
    "An address was not learned: the limit of the bridge, a port or a VLAN was reached.",
    "Find the host behind the port that sends many addresses, or limit the port:"
    " `ofapp port set BRIDGE PORT --fdb-max-learned 100`. If they are all real hosts, raise"
    " `fdb_max_learned`.",
    "limit vlan drop learned",
)
FDB_LIMIT_CLEARED = EventKind(
    "fdb.limit.cleared", INFO, "Addresses can be learned again.", fields="limit vlan refused"
)
FDB_HELD = EventKind(
    "fdb.held",
    WARNING,
    "An address that moves too often is held down on its last port.",
    "Look for a loop, a duplicate address or an unnamed bond; `ofapp fdb release` ends it.",
    "mac vlan port elsewhere reason until moves seconds",
)
FDB_HELD_CLEARED = EventKind(
    "fdb.held.cleared",
    INFO,
    "An address is not held down any more.",
    fields="mac vlan port elsewhere reason until moves seconds",
)
FDB_HELD_LIMIT = EventKind(
    "fdb.held.limit",
    WARNING,
    "The limit of held-down addresses was reached; others may flap.",
    "Look for a loop or a hostile host behind the port: `ofapp fdb held` has the addresses.",
    "limit seen",
)
FDB_HELD_LIMIT_CLEARED = EventKind(
    "fdb.held.limit.cleared", INFO, "Addresses can be held down again."
)
FDB_OWN_ADDRESS = EventKind(
    "fdb.own_address",
    WARNING,
    "A port has received frames with the bridge's own address as the source.",
    "Look for a loop behind the port, or for a host with the same MAC address, such as a cloned"
    " virtual machine; `ofapp fdb show` has the bridge's address as local.",
    "mac vlan frames",
)
FDB_IP_FULL = EventKind(
    "fdb.ip_full",
    WARNING,
    "The table of the hosts' IP addresses is full.",
    "Find the host that claims many addresses: `ofapp fdb show`.",
    "hosts",
)
FDB_IP_FULL_CLEARED = EventKind(
    "fdb.ip_full.cleared", INFO, "There is room for IP addresses of hosts again."
)
LAG_UNNAMED = EventKind(
    "lag.unnamed",
    WARNING,
    "Two ports look like a bond that is not configured.",
    "Make them an aggregation (`lags:`).",
    "ports mac",
)
LAG_UNNAMED_CLEARED = EventKind(
    "lag.unnamed.cleared", INFO, "The two ports no longer look like a bond.", fields="ports"
)
FDB_LEARNED = EventKind(
    "fdb.learned",
    DEBUG,
    "An address was learned (`ofapp fdb monitor`).",
    fields="mac vlan",
    on_request=True,
)
FDB_MOVED = EventKind(
    "fdb.moved",
    DEBUG,
    "A learned address has moved to another port (`ofapp fdb monitor`).",
    fields="mac vlan from",
    on_request=True,
)
FDB_AGED = EventKind(
    "fdb.aged",
    DEBUG,
    "A learned address has aged out (`ofapp fdb monitor`).",
    fields="mac vlan",
    on_request=True,
)
FDB_DELETED = EventKind(
    "fdb.deleted",
    DEBUG,
    "A learned address was deleted, or has made room for another (`ofapp fdb monitor`).",
    fields="mac vlan",
    on_request=True,
)
FDB_FLUSHED = EventKind(
    "fdb.flushed",
    DEBUG,
    "All learned addresses of a port, or of a VLAN on it, were flushed (`ofapp fdb monitor`).",
    fields="vlan addresses",
    on_request=True,
)


def change(kind: EventKind, verb: str, port: int, vid: int, mac: int, old_port: int = 0) -> Event:
    """An event about one address.  old_port: where it was, 0 if it has not moved."""
    address = f"{format_mac(mac)} in VLAN {vid}" if vid else format_mac(mac)
    text: tuple[str | PortNumber, ...] = (f"{address} {verb} ", PortNumber(port))
    data: dict[str, object] = {"mac": format_mac(mac), "vlan": vid}
    if old_port:
        text += (", before on ", PortNumber(old_port))
        data["from"] = old_port
    return kind.event(text, port, data)


def flushed(port: int, vid: int | None, count: int) -> Event:
    """An event about a flush of a port, in one VLAN or in all (None)."""
    place = "" if vid is None else f" in VLAN {vid}"
    text = (
        f"{count} {'address' if count == 1 else 'addresses'}{place} flushed from ",
        PortNumber(port),
    )
    return FDB_FLUSHED.event(text, port, {"vlan": vid, "addresses": count})
