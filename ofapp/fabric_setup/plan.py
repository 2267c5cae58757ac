"""What has to change in a switch so that it can be a member of a fabric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.fabric_setup.settings import (
    Change,
    Controller,
    Controllers,
    Interface,
    Phase,
    Problem,
    Setting,
    Switch,
)

BFD = {"enable": "true", "min_tx": "50", "min_rx": "50", "decay_min_rx": None}
"""Settings of BFD: a silent link is noticed after 3 x 50 ms.  10 ms is less than a busy machine can
keep up; with decay an idle link would be noticed late."""

INTERVALS = "min_tx", "min_rx"
"""Left as they are where they are set: they may be chosen for a host with little CPU."""

NEW_CONTROLLER = {"connection_mode": "out-of-band", "max_backoff": "1000"}
"""Columns of a controller that is added: it is tried again each second."""

PATCH = "patch"


@dataclass(frozen=True)
class Plan:
    """The changes in one switch, and what is against them."""

    member: str
    bridge: str
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()

    def phase(self, phase: Phase) -> tuple[Change, ...]:
        """The changes of a phase."""
        return tuple(change for change in self.changes if change.phase is phase)


def plan(
    params: FabricParams, member: MemberParams, switch: Switch, controllers: tuple[str, ...] = ()
) -> Plan:
    """Return what has to change in a member's switch.

    controllers: targets; without any, the present ones stay.
    """
    interfaces = sorted(switch.interfaces, key=lambda one: one.name)
    links = [one for one in interfaces if is_link(member, one.name)]
    changes = (
        *(change for link in links for change in _link(params, link)),
        *(change for one in interfaces for change in _internal(params, one)),
        *_bridge(switch, controllers),
    )
    return Plan(
        member.name, switch.bridge, changes, (*_problems(member, switch, links, controllers),)
    )


def is_link(member: MemberParams, interface: str) -> bool:
    """Whether an interface is a link to another member."""
    return any(fnmatchcase(interface, pattern) for pattern in member.links)


def _link(params: FabricParams, link: Interface) -> Iterator[Change]:
    if link.type == PATCH:
        return
    if (link.mtu or 0) < params.link_mtu:
        yield _change(
            _mtu(link, link.mtu_request, link.mtu),
            str(params.link_mtu),
            f"frames of {params.mtu} octets with the fabric's headers",
        )
    for key, value in BFD.items():
        before = Setting("Interface", link.name, f"bfd:{key}", link.bfd.get(key))
        chosen = key in INTERVALS and before.value is not None
        if before.value != value and not chosen:
            yield _change(before, value, "a link that fails silently is noticed by the switch")


def _internal(params: FabricParams, interface: Interface) -> Iterator[Change]:
    """Keep the MTU of the host's own ports, which would follow that of the links."""
    if interface.type == "internal" and interface.mtu_request is None:
        mtu = min(interface.mtu or params.mtu, params.mtu)
        yield _change(_mtu(interface, None), str(mtu), "it would follow the MTU of the links")


def _mtu(interface: Interface, request: int | None, mtu: int | None = None) -> Setting:
    """The MTU that is asked for; mtu: the one to return to without a request."""
    name = interface.name
    if request is not None:
        return Setting("Interface", name, "mtu_request", str(request))
    return Setting("Interface", name, "mtu_request", None, None if mtu is None else str(mtu))


def _bridge(switch: Switch, targets: tuple[str, ...]) -> Iterator[Change]:
    def column(name: str, value: str | None) -> Setting:
        return Setting("Bridge", switch.bridge, name, value)

    def key(name: str) -> Setting:
        return column(f"other_config:{name}", switch.other_config.get(name))

    if (pinned := key("datapath-id")).value is None:
        yield _change(pinned, switch.datapath_id, "it would change with the bridge's ports")
    if switch.protocols and "OpenFlow13" not in switch.protocols:
        before = column("protocols", ",".join(switch.protocols))
        yield _change(before, f"{before.value},OpenFlow13", "what the controller speaks")
    if switch.fail_mode != "secure":
        before = column("fail_mode", switch.fail_mode)
        why = "without its controller it would forward by itself, and could loop"
        yield _change(before, "secure", why, Phase.SWITCH)
    for on, name in ((switch.rstp, "rstp_enable"), (switch.stp, "stp_enable")):
        if on:
            why = "the controller runs spanning tree"
            yield _change(column(name, "true"), "false", why, Phase.SWITCH)
    if (in_band := key("disable-in-band")).value != "true":
        why = "hidden flows would pass by those of the controller"
        yield _change(in_band, "true", why, Phase.SWITCH)
    there = {controller.target: controller for controller in switch.controllers}
    if targets and set(targets) != there.keys():
        wanted = (there.get(one, Controller(one, dict(NEW_CONTROLLER))) for one in targets)
        yield Change(
            Phase.SWITCH,
            Controllers(switch.bridge, switch.controllers),
            Controllers(switch.bridge, tuple(wanted)),
            "the controller of the fabric",
        )


def _change(before: Setting, value: str | None, why: str, phase: Phase = Phase.PREPARE) -> Change:
    after = Setting(before.table, before.row, before.column, value)
    return Change(phase, before, after, why)


def _problems(
    member: MemberParams, switch: Switch, links: list[Interface], controllers: tuple[str, ...]
) -> Iterator[Problem]:
    if not links:
        yield Problem(
            f"no port of {switch.bridge} is called {' or '.join(member.links)}",
            f"ovs-vsctl add-port {switch.bridge} PORT, or correct members.{member.name}.links",
        )
    for link in links:
        if link.error:
            yield Problem(f"Open vSwitch cannot use {link.name}: {link.error}", "fix that first")
        if link.bonded:
            yield Problem(
                f"{link.name} is in a bond, and every link of a fabric is a port by itself",
                "ovs-vsctl del-port the bond, and add its interfaces as ports",
            )
        if link.type == PATCH:
            yield Problem(
                f"{link.name} is a patch port: it has no MTU, and BFD does not run on it",
                "none is needed: a patch port does not fail",
                fatal=False,
            )
    if not controllers and not switch.controllers:
        yield Problem(
            f"{switch.bridge} has no controller", "say with --controller tcp:ADDRESS:6653 which"
        )
