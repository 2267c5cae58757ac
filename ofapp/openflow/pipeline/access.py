"""Port access control: whose frames enter by a controlled port."""

from collections.abc import Iterator

from ofapp.bridge.params.acl import list_number
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    UNTAGGED,
    Action,
    Flow,
    Match,
    PushTag,
    SetRegister,
    in_port,
)
from ofapp.openflow.model.rule import ONWARD, Register, TableId, rule
from ofapp.openflow.model.traps import controlled, trap_rules
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "host",
        100,
        "in_port eth_src",
        Feature.ACCESS,
        "A host that is authorised.",
        ONWARD,
        optional=("vlan_vid",),
        actions="vlan register",
    ),
    rule(
        "open",
        50,
        "in_port",
        Feature.ACCESS,
        "A port that a host has opened for all (`host_mode: multi`).",
        ONWARD,
        actions="register",
    ),
    *trap_rules(TableId.ACCESS),
)


def _port_flows(ingress: Ingress) -> Iterator[Flow]:
    admission = controlled(ingress.port)
    if admission is None:
        return
    here = in_port(ingress.port.number)
    if admission.open:
        mark = _list(admission.acl)
        yield Flow(TableId.ACCESS, 50, (here,), Feature.ACCESS, mark, ingress.onward)
    for mac, vid, acl in admission.hosts:
        untagged = (UNTAGGED,) if vid or admission.untagged else ()
        match = here, Match("eth_src", mac), *untagged
        actions = (*_list(acl), *((PushTag(vid),) if vid else ()))
        yield Flow(TableId.ACCESS, 100, match, Feature.ACCESS, actions, ingress.onward)


def _list(name: str) -> tuple[Action, ...]:
    """The action by which frames get an access list in the place of that of their port."""
    return (SetRegister(Register.ACL, list_number(name)),) if name else ()


ACCESS = Table(
    TableId.ACCESS,
    "access",
    "Port access control (802.1X): whose frames enter. Only frames of controlled ports come here. "
    "The frames of a host that has a separate VLAN have its tag from here on, and those of a host "
    "that has an access list by the server (Filter-Id) that list in place of the port's.",
    _RULES,
    port_flows=_port_flows,
    passes=lambda port, _metered: controlled(port) is not None,
)
