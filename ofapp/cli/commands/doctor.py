"""ofapp doctor: what is wrong with this host's bridges or with a guest, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption
from ofapp.cli.client import ApiError, Client, Json, path_of
from ofapp.cli.commands.deploy.options import DatabaseOption
from ofapp.cli.output import print_json, say

if TYPE_CHECKING:
    from ofapp.host_setup.diagnose_controller import ControllerReport
    from ofapp.host_setup.finding import Finding, Group
    from ofapp.host_setup.state import Switch


SHOWN = 8
"""Places of one problem that are named, and remedies that are shown."""

WARNINGS = 3
"""Exit status when there are warnings and no error.  2 is for a command that was typed wrong."""


def doctor(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[BRIDGE|GUEST|MAC|IP]",
            help="A bridge, by its name; without it, all bridges. Or a guest that has no network:"
            " the name of its port, a MAC or IP address; on its own host also a libvirt domain, or"
            " a UUID in external_ids of Open vSwitch.",
        ),
    ] = None,
    json: JsonOption = False,
    db: DatabaseOption = None,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Say what is wrong with this host, its Open vSwitch and its controller, and how to fix it.

    With a guest: why it has no network, in one sentence.

    Exit status: 0 when nothing is wrong, 1 with an error, 3 with warnings only.
    """
    # Half a second that other commands need not wait for.
    from ofapp.host_setup.diagnose import diagnose
    from ofapp.host_setup.netlink import Netlink
    from ofapp.host_setup.observe import observe
    from ofapp.host_setup.ovsdb import default_database

    with closing(Netlink()) as kernel:
        host = observe(kernel, db or default_database())
    if name is not None and host.switch.bridge(name) is None:
        raise typer.Exit(_diagnose_hosts(Client(api), host.switch, name, json))
    findings = diagnose(host, _ask(api), name)
    if json:
        print_json([_as_json(finding) for finding in findings])
    else:
        show(findings)
    if findings:
        raise typer.Exit(1 if any(finding.fatal for finding in findings) else WARNINGS)


def _diagnose_hosts(client: Client, switch: Switch, name: str, json: bool) -> int:
    """Say why the hosts that a name stands for have no network; the exit status."""
    from ofapp.host_setup.guests import ports_of

    bridges = client.bridges()
    hosts = _hosts(client, bridges, [name]) or _hosts(client, bridges, ports_of(switch, name))
    if not hosts:
        raise ApiError(
            f"no bridge here is called {name}, and no bridge of the controller knows such a host:"
            " give a bridge, a port, a MAC or IP address, or on the guest's own host a libvirt"
            " domain, or a vm-id or iface-id of external_ids"
        )
    if json:
        print_json(hosts)
    else:
        for host in hosts:
            _show_host(host)
    return int(any(host["problem"] for host in hosts))


def _hosts(client: Client, bridges: list[Json], names: Iterable[str]) -> list[Json]:
    """The hosts that ports or addresses stand for, as the controller diagnoses them."""
    hosts: list[Json] = []
    for name in names:
        for bridge in bridges:
            with suppress(ApiError):
                known = client.get(path_of(bridge, "diagnosis"), {"host": name})["hosts"]
                hosts += [{"bridge": bridge["name"], **host} for host in known]
    return hosts


def _show_host(host: Json) -> None:
    place = f"{host['bridge']} {host['port']}"
    if host["problem"]:
        say(f"error: {place}: {host['problem']}", bold=True)
        say(f"    {host['fix']}")
        return
    addresses = f" with {', '.join(host['addresses'])}" if host["addresses"] else ""
    vlan = f" in VLAN {host['vlan']}" if host["vlan"] else ""
    who = host["mac"] or "hosts behind it"
    say(f"{place}: nothing hinders {who}{vlan}{addresses}")


def _ask(url: str) -> ControllerReport:
    """Ask the controller for what the diagnosis needs."""
    from ofapp.host_setup.diagnose_controller import ControllerReport

    client = Client(url)
    try:
        bridges = {known["datapath_id"]: known for known in client.bridges()}
    except ApiError as error:
        return ControllerReport(url, problem=str(error).partition(" (")[0])
    trees, lags = {}, {}
    for known in bridges:
        with suppress(ApiError):
            trees[known] = client.get(f"/v1/bridges/{known}/stp")
        with suppress(ApiError):
            lags[known] = client.get(f"/v1/bridges/{known}/lags")["lags"]
    fabrics: list[Json] = []
    with suppress(ApiError):  # an older controller has none
        for known in client.get("/v1/fabrics")["fabrics"]:
            fabrics.append(client.get(f"/v1/fabrics/{quote(known['name'], safe='')}"))
    config: Json = {}
    with suppress(ApiError):
        config = client.get("/v1/config")
    problems: list[Json] = []
    with suppress(ApiError):  # an older controller has none
        problems = client.get("/v1/problems")["problems"]
    listens: list[str] = []
    with suppress(ApiError):
        listens = client.get("/v1/version").get("openflow", [])
    return ControllerReport(
        url,
        None,
        bridges,
        trees,
        lags,
        fabrics,
        config.get("members", []),
        problems,
        listens,
    )


def show(findings: tuple[Finding, ...]) -> None:
    """Print the findings, alike ones together."""
    from ofapp.host_setup.finding import grouped

    if not findings:
        say("nothing is wrong")
        return
    for group in grouped(findings):
        kind = "error" if group.fatal else "warning"
        say(f"{kind}: {_places(group.places)}: {_said(group)}", bold=True)
        for fix in group.fixes[:SHOWN]:
            say(f"    {fix}")
    errors = sum(finding.fatal for finding in findings)
    say(f"{_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')}")


def _said(group: Group) -> str:
    """The problem, of several places as a sentence about each."""
    verb = group.problem.split(maxsplit=1)[0] in ("is", "has", "does", "was")
    return f"each {group.problem}" if verb and len(group.places) > 1 else group.problem


def _places(places: tuple[str, ...]) -> str:
    shown = ", ".join(places[:SHOWN])
    if len(places) == 1:
        return shown
    more = f", and {len(places) - SHOWN} more (--json lists them)" if len(places) > SHOWN else ""
    return f"{len(places)} places ({shown}{more})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _as_json(finding: Finding) -> Json:
    return {
        "severity": "error" if finding.fatal else "warning",
        "where": finding.where,
        "problem": finding.problem,
        "fix": finding.fix,
    }
