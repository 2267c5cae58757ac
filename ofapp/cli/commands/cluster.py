"""ofapp cluster: its members, the owner of each switch, and draining a member."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.output import Column, print_json, say, show_table

app = typer.Typer(no_args_is_help=True)

MemberArgument = Annotated[str, typer.Argument(metavar="MEMBER", help="Name of a member.")]


@app.command("show")
def show_cluster(json: JsonOption = False, client: Client = CONNECT) -> None:
    """Show the members, and which of them owns each switch."""
    cluster = client.get("/v1/cluster")
    if json:
        print_json(cluster)
        return
    if cluster["name"] is None:
        say(cluster["status"])
        return
    age = cluster["renewed"]
    renewed = "it has no lease" if age is None else f"renewed {age:.1f} s ago"
    say(f"cluster {cluster['name']}, seen by {cluster['member']} ({renewed}): {cluster['status']}")
    say()
    show_table(_MEMBERS, cluster["members"])
    say()
    show_table(("datapath_id", "owner", "since", "reason"), cluster["bridges"])
    for invalid in cluster.get("invalid", []):
        say(f"{invalid['key']} in etcd is ignored: {invalid['why']}")


@app.command("drain")
def drain_member(member: MemberArgument, client: Client = CONNECT) -> None:
    """Have a member hand its switches over to the others, and take none until it is undrained.

    Switches that are connected to no other member stay.
    """
    _mark(client, member, "drain")
    say(f"{member} is drained: ofapp cluster show has the switches that it still owns")


@app.command("undrain")
def undrain_member(member: MemberArgument, client: Client = CONNECT) -> None:
    """Have a drained member take its share again."""
    _mark(client, member, "undrain")
    say(f"{member} takes its share again")


def _mark(client: Client, member: str, what: str) -> None:
    client.post(f"/v1/cluster/members/{quote(member, safe='')}/{what}")


def _lease(member: Json) -> str | None:
    return None if member["lease"] is None else f"{member['lease']:g} s"


_MEMBERS: tuple[Column, ...] = (
    *(("MEMBER", "name"), "state", ("SWITCHES", "bridges"), ("LEASE", _lease)),
    *("address", "since"),
)
