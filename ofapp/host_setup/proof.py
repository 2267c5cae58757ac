"""Conditions that confirm a step: controller connected, spanning tree, gateway reachable.

A gateway answers ARP and neighbour discovery even where it answers no ping, and a link that has
just been made knows no neighbour yet: the kernel finding it is proof that frames pass both ways.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ofapp.host_setup.checks import Reach
from ofapp.host_setup.controller_api import call
from ofapp.host_setup.model import DeployConfig, endpoint
from ofapp.host_setup.netlink import Netlink
from ofapp.host_setup.ovsdb import Database
from ofapp.host_setup.plan import gateways_of
from ofapp.host_setup.state import Host, Layout
from ofapp.host_setup.steps import AwaitController, AwaitGateways

TRY_SECONDS = 2.0
STEADY = 4  # looks in a row: a controller that refuses the bridge lets go of it at once
DISCARD = 9  # RFC 863: the datagram itself does not matter


class ProofError(Exception):
    """It was not seen in time: one line for a person."""


def reach(kernel: Netlink, host: Host, goal: Layout, config: DeployConfig) -> Reach:
    """Try from here, before anything is changed, all that `apply` will depend on."""
    refused: dict[str, str] = {}
    via: dict[str, str] = {}
    for target in config.controllers:
        if problem := _refusal(target):
            refused[target] = problem
        where = endpoint(target)
        link = kernel.leads_to(where[0]) if where else None
        if link is not None and link != "lo":
            via[target] = link
    guarded = config.stp_guard and config.can_loop
    return Reach(
        refused,
        via,
        api_problem(config.api) if guarded else None,
        _silent_gateways(kernel, host, goal),
    )


def await_controller(database: Database, step: AwaitController, api: str, seconds: float) -> None:
    """ProofError unless a controller has the bridge, and keeps it.

    ofapp itself is asked first: it also knows whether all flows are in place, and Open vSwitch
    writes into its database only every five seconds who is connected.
    """
    steady = 0

    def connected() -> bool:
        nonlocal steady
        bridge = database.switch().bridge(step.bridge)
        if bridge is None:
            return False
        answer = _get(api, f"/v1/bridges/{bridge.in_use_id}")
        if answer.get("connected") and answer.get("in_line"):
            return True
        steady = steady + 1 if any(one.connected for one in bridge.controllers) else 0
        return steady >= STEADY

    if not _within(seconds, connected):
        bridge = database.switch().bridge(step.bridge)
        controllers = bridge.controllers if bridge else ()
        errors = "; ".join(f"{one.target}: {one.error or 'no answer'}" for one in controllers)
        raise ProofError(
            f"no controller took {step.bridge} within {seconds:g} s ({errors}); its log says why"
        )
    if step.lag is not None:
        _check_lag(database, step, api)
    if step.spanning_tree:
        _check_spanning_tree(database, step, api)


def _check_lag(database: Database, step: AwaitController, api: str) -> None:
    bridge = database.switch().bridge(step.bridge)
    path = f"/v1/bridges/{bridge.in_use_id if bridge else None}/lags/{step.lag}"
    if not _within(TRY_SECONDS, lambda: bool(_get(api, path))):
        raise ProofError(
            f"the controller has no {step.lag} on {step.bridge}, and its uplinks would be a loop:"
            " see whether its file names the bridge by datapath id as well"
        )


def _check_spanning_tree(database: Database, step: AwaitController, api: str) -> None:
    bridge = database.switch().bridge(step.bridge)
    path = f"/v1/bridges/{bridge.in_use_id if bridge else None}/stp"
    answer: dict[str, Any] = {}

    def answered() -> bool:
        answer.update(_get(api, path))
        return "enabled" in answer

    if not _within(TRY_SECONDS, answered) or not answer["enabled"]:
        raise ProofError(
            f"the controller runs no spanning tree on {step.bridge}, and two uplinks can be a"
            " loop: turn it on (stp: {enabled: true}), or give --no-stp-guard"
        )


def await_gateways(kernel: Netlink, step: AwaitGateways) -> None:
    """ProofError unless all of them answer over the bridge."""
    missing = unanswered(kernel, [(step.bridge, hop) for hop in step.gateways], step.seconds)
    if missing:
        raise ProofError(
            f"the gateway {', '.join(sorted(missing))} does not answer over {step.bridge} within"
            f" {step.seconds:g} s, and did before"
        )


def unanswered(
    kernel: Netlink, neighbours: Iterable[tuple[str, str]], seconds: float
) -> frozenset[str]:
    """Return the (link, address) pairs with addresses that are not resolved in time."""
    left = dict.fromkeys(neighbours)
    for link, address in left:
        kernel.forget_neighbour(link, address)
    asked = 0.0

    def none_left() -> bool:
        nonlocal asked, left
        if time.monotonic() - asked > 0.5:
            asked = time.monotonic()
            for link, address in left:
                _probe(kernel, link, address)
        left = {pair: None for pair in left if not kernel.neighbour(*pair)}
        return not left

    _within(seconds, none_left)
    return frozenset(address for _, address in left)


def controllers_file(url: str) -> str | None:
    """The file that the controller at the REST API reads; None when it has none, or is away."""
    return _get(url, "/v1/config").get("file")


def api_problem(url: str) -> str | None:
    """Why no ofapp answers at the REST API; None when one does."""
    return None if "bridges" in _get(url, "/v1/bridges") else f"no ofapp answers at {url}"


def _silent_gateways(kernel: Netlink, host: Host, goal: Layout) -> frozenset[str]:
    """They are asked where they are now; one that has no place yet has no say."""
    gateways = gateways_of(goal)
    involved = {state.name for state in goal.links}
    places = {
        (link.name, route.gateway)
        for link in host.links
        if link.name in involved and link.state.up
        for route in link.state.routes
        if route.gateway in gateways
    }
    placed = {gateway for _, gateway in places}
    silent = unanswered(kernel, [(link, hop) for link, hop in places if hop], TRY_SECONDS)
    return silent | (frozenset(gateways) - placed)


def _probe(kernel: Netlink, link: str, address: str) -> None:
    """Send something to a neighbour, so that the kernel has to find it."""
    six = ":" in address
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        try:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
            scope = (0, socket.if_nametoindex(link)) if six else ()
            sender.sendto(b"", (address, DISCARD, *scope))
        except OSError:
            return  # no route yet, no rights: asked again, and reported as unanswered in the end


def _refusal(target: str) -> str | None:
    """Why nothing listens there."""
    where = endpoint(target)
    try:
        if where is None:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(TRY_SECONDS)
                probe.connect(target.removeprefix("unix:"))
        else:
            socket.create_connection(where, TRY_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _get(url: str, path: str) -> dict[str, Any]:
    """The answer of the REST API; empty when there is none."""
    try:
        status, body = call(url, path, TRY_SECONDS)
        content = json.loads(body) if status == 200 else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
